"""Google Benchmark's JSON as tables: {table: {row: {column: Figures}}}. What their keys are called says names.py."""

import collections
import glob
import json
import os
import re
import statistics

import names

# What a program takes without a pool: each row has one of these at most.
HEAPS = ("new_delete", "std_allocator", "malloc")

# Rows whose repetitions have one meaning only: what happened at least once without a disturbance. That of the queues is the
# host: where it runs two cores far from each other, for seconds, what goes from one to the other costs three times as much.
LEAST = {("creation", "slowest"), ("creation", "slowest_huge_pages"), ("sizes", "queue_2"), ("sizes", "queue_4")}

# The runs of held_bench.cc, and the percentiles of latency_bench.cc.
RUNS = ("halves_64", "halves_1024", "shrinks_64", "shrinks_1024", "cycles_64", "cycles_1024", "churns_64", "hour_64")
PERCENTILES = ("p50", "p90", "p99", "p999", "p9999", "p99999", "most", "most_switched")

# Rows that have no time, or several: the figure is this counter.
COUNTERS = {("creation", "resident"): "bytes_per_byte", ("resident", "in_order"): "left", ("resident", "random"): "left",
            ("fragmentation", "thinned"): "held", ("fragmentation", "tenths"): "held", ("fragmentation", "halves"): "held",
            ("latency", "first_write"): "p9999"} | {("held", run): "held" for run in RUNS}

# Rows that are a phase of another row.
ROWS_OF_PHASES = ({("reuse", "again"): ("cycle", "take")}
                  | {("held", f"{run}_{phase}"): (run, phase) for run in RUNS for phase in ("trimmed", "pair")}
                  | {("traces", f"{program}_resident"): (program, "resident") for program in names.PROGRAMS}
                  | {("latency", percentile): ("first_write", percentile) for percentile in PERCENTILES})

PHASES = ("first", "second", "third", "setup", "allocate", "construct", "destroy", "release", "take", "free", "again", "pages",
          "bytes_per_byte", "p999", "cpu", "per_second", "moved", "peak", "bytes",
          "trimmed", "switched")


class Figures:
    """The repetitions of one benchmark: `value` in seconds, and its phases."""

    def __init__(self, key, repetitions):
        pick = min if key in LEAST else statistics.median
        main = COUNTERS.get(key, "s_per_op")
        self.values = [one[main] for one in repetitions]
        self.value = pick(self.values)
        self.phases = {name: statistics.median(one[name] for one in repetitions)
                       for name in PHASES if name in repetitions[0]}
        # What a program says in words of its own, for a picture: that of the repetition in the middle.
        self.label = sorted(repetitions, key=lambda one: one[main])[len(repetitions) // 2].get("label", "")

    @property
    def spread(self):
        """The distance between the quartiles, as a part of the median."""
        if len(self.values) < 4 or self.value == 0:
            return 0.0
        low, _, high = statistics.quantiles(self.values, n=4)
        return (high - low) / self.value


def runs_of(folder):
    """({(table, row, column): repetitions}, context) as the files of `folder` have them."""
    runs = collections.defaultdict(list)
    context = {}
    for path in sorted(glob.glob(os.path.join(glob.escape(folder), "*.json"))):
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
        context = document["context"]
        for one in document["benchmarks"]:
            if one.get("error_occurred"):
                raise SystemExit(f"{one['name']}: {one['error_message']}")
            if one["run_type"] == "iteration":  # not an aggregate
                runs[tuple(one["name"].split("/")[:3])].append(one)  # what follows the column are options
    return runs, context


def source_of(table, row):
    """The row that is measured where this one is wanted: the report makes some of others."""
    row = row.removesuffix("_huge")
    return ROWS_OF_PHASES.get((table, row), (row,))[0]


def load(folder, again=None):
    """(tables, context) from all files of `folder`; a row that the folder `again` has is the one there, in all columns."""
    runs, context = runs_of(folder)
    if again:
        repeated, _ = runs_of(again)
        rows = {key[:2] for key in repeated}
        runs = {key: runs[key] for key in runs if key[:2] not in rows} | repeated
    for (table, row), (source, phase) in ROWS_OF_PHASES.items():
        for key in [key for key in runs if key[:2] == (table, source)]:
            runs[table, row, key[2]] = [{"s_per_op": one[phase]} for one in runs[key]]
    tables = {}
    for (table, row, column), repetitions in runs.items():
        tables.setdefault(table, {}).setdefault(row, {})[column] = Figures((table, row), repetitions)
    for rows in tables.values():
        split_huge(rows)
    return tables, context


def split_huge(rows):
    """Columns on huge pages become a row of their own, beside those that can't ask for such pages."""
    for row in list(rows):
        huge = {column: figures for column, figures in rows[row].items() if column.endswith("_huge")}
        if huge:
            others = {column: figures for column, figures in rows[row].items()
                      if not column.startswith(("bare", "tarn")) and column not in huge}
            rows[row + "_huge"] = {**others, **{column[:-len("_huge")]: figures for column, figures in huge.items()}}
            for column in huge:
                del rows[row][column]


def limit_of(row):
    """The fastest hand-written reference of a row: its physical limit."""
    references = [figures.value for column, figures in row.items() if column.startswith("bare")]
    return min(references) if references else None


def heap_of(row):
    """The column of a row that is the heap; None where there is none."""
    return next((column for column in HEAPS if column in row), None)


def look_up(tables, figure):
    """The value of 'table/row/column' or 'table/row/column:phase', the least of 'table/row/one|other'; None: not measured. Of
    the columns 'one|other?' the second counts where it was measured; '*' is every column that isn't tarn's."""
    path, _, phase = figure.partition(":")
    table, row, columns = path.split("/")
    values = []
    if columns == "*":
        columns = "|".join(column for column in tables.get(table, {}).get(row, {}) if not column.startswith(("tarn", "bare")))
    for column in columns.split("|"):
        figures = tables.get(table, {}).get(row, {}).get(column.removesuffix("?"))
        if figures is None and column.endswith("?"):
            continue
        if figures is None:
            return None
        values.append(figures.phases.get(phase) if phase else figures.value)
    return None if None in values else min(values, default=None)


def disturbed(tables):
    """(how many, of how many) figures of threads that never wait are a tenth above their CPU time: others used the cores."""
    figures = [row[column] for name, row in tables.get("threads", {}).items() if name.startswith(("pair", "churn"))
               for column in ("tcmalloc", "bare_arrays", "tarn_cached", "tarn_static_cached")
               if column in row and len(row[column].values) >= 3]
    return sum(one.value > 1.1 * one.phases["cpu"] for one in figures), len(figures)


def spread_out(figure, divisor):
    """'a_{1,2}' and 'b_{1,2}' stand for two pairs: ('a_1', 'b_1') and ('a_2', 'b_2')."""
    braces = re.search(r"\{(.*?)\}", figure)
    if not braces:
        return [(figure, divisor)]
    return [pair for value in braces[1].split(",")
            for pair in spread_out(figure.replace(braces[0], value), divisor.replace(braces[0], value))]
