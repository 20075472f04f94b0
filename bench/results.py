"""Google Benchmark's JSON as tables: {table: {row: {column: Figures}}}, and what their keys are called."""

import collections
import glob
import json
import os
import re
import statistics

# The tables of the report, in order: (table, title, unit, {row: what it is}).
SECTIONS = [
    ("free_list", "Free lists: 64-byte blocks, one allocation and one free", "ns", {
        "pair": "pair: allocate, free",
        "hundred": "100 allocations, 100 frees",
        "churn": "churn, 100,000 live",
        "churn_256": "churn, 256-byte blocks",
        "replace": "replace one of 100,000",
    }),
    ("free_list", "Free lists: a million 64-byte blocks, one allocation and one free", "ns", {
        "first_fill": "first fill (no free)",
        "lifo": "freed newest first",
        "fifo": "freed oldest first",
        "random": "freed in random order",
        "first_fill_huge": "first fill, huge pages",
        "random_huge": "random order, huge pages",
    }),
    ("small_objects", "Simple memory pools: a million objects with growth and destruction, one object", "ns", {
        "size_16": "16 bytes",
        "size_40": "40 bytes",
        "size_72": "72 bytes",
        "size_136": "136 bytes",
        "mixed": "mixed, random order",
        "size_16_huge": "16 bytes, huge pages",
        "size_40_huge": "40 bytes, huge pages",
        "size_72_huge": "72 bytes, huge pages",
        "size_136_huge": "136 bytes, huge pages",
        "mixed_huge": "mixed, huge pages",
    }),
    ("stack_heap_pool", "Stack, Heap, Pool: 1000 objects of 1 MB, one object", "µs", {
        "loop": "one by one, all four steps",
        "thousand": "1000 live, all four steps",
    }),
    ("stack_heap_pool", "The same without construction and destruction, one object", "ns", {
        "loop_raw": "one by one",
    }),
    ("physical_reality", "Physical reality: 1000 ints on one thread", "µs", {
        "one_thread": "1000 ints",
    }),
    ("physical_reality", "Physical reality: 1000 ints on four threads, wall time", "µs", {
        "four_threads": "4 x 250 ints",
    }),
    ("static_pool", "Static memory pool: 64-byte blocks, one allocation and one free, no lock", "ns", {
        "pair": "pair",
        "hundred": "100 + 100",
    }),
    ("static_pool", "Static memory pool: the same with a lock", "ns", {
        "locked_pair": "pair",
        "locked_hundred": "100 + 100",
        "two_threads": "pair, 2 threads (wall time)",
    }),
    ("threads", "Many threads: 64-byte blocks of one pool, one allocation and one free, time on a core", "ns", {
        "pair_1": "pair, 1 thread",
        "pair_2": "pair, 2 threads",
        "pair_4": "pair, 4 threads",
        "pair_8": "pair, 8 threads",
        "churn_1": "churn, 1 thread",
        "churn_2": "churn, 2 threads",
        "churn_4": "churn, 4 threads",
        "churn_8": "churn, 8 threads",
        "migrate_1": "migrating objects, 1 thread",
        "migrate_2": "migrating objects, 2 threads",
        "migrate_4": "migrating objects, 4 threads",
        "migrate_8": "migrating objects, 8 threads",
    }),
    ("threads", "Many threads: one allocates, another frees, one object, wall time", "ns", {
        "batches": "producer, consumer: by 64",
        "items": "producer, consumer: one by one",
    }),
    ("containers", "Containers: 10,000 elements inserted and cleared, third run, one element", "ns", {
        "list": "list<int>",
        "map": "map<int, int>",
        "unordered_map": "unordered_map<int, int>",
        "string": "list<string>",
    }),
    ("containers", "Containers: a million elements inserted in random order and cleared, second run, one element", "ns", {
        "map_random": "map<int, int>",
    }),
    ("macros", "Class-level operator new: a 64-byte object, one new and one delete", "ns", {
        "pair": "pair",
        "hundred": "100 + 100",
    }),
    ("macros", "Memory resources behind a pointer: 64 bytes, one allocation and one free", "ns", {
        "pmr_pair": "pair",
        "pmr_hundred": "100 + 100",
    }),
    ("macros", "xmalloc: 64 bytes, one allocation and one free", "ns", {
        "xmalloc_pair": "pair",
        "xmalloc_hundred": "100 + 100",
        "xmalloc_mixed": "16 to 1024 bytes, 1000 live",
    }),
    ("creation", "Creation and growth", "µs", {
        "make": "pool + a block of a million",
        "make_fresh": "the same, memory mapped anew",
        "slowest": "slowest of a million, least run",
    }),
    ("creation", "A million 16-byte blocks: resident bytes for each live byte", "1", {
        "resident": "bytes",
    }),
]

COLUMNS = {
    "stack": "stack",
    "vector": "one vector",
    "no_allocation": "threads only",
    "new_delete": "new/delete",
    "std_allocator": "std::allocator",
    "malloc": "malloc",
    "jemalloc": "jemalloc",
    "tcmalloc": "tcmalloc",
    "mimalloc": "mimalloc",
    "boost_pool": "Boost.Pool",
    "boost_singleton": "Boost singleton",
    "pmr_unsync": "std::pmr",
    "pmr_sync": "pmr sync",
    "seed_pool": "the text's pool",
    "bare_list": "bare list",
    "bare_list_locked": "bare list+mutex",
    "bare_list_own": "bare list, own",
    "bare_front": "bare front",
    "bare_allocator": "bare allocator",
    "bare_operator": "bare operator",
    "bare_lists": "bare magazine lists",
    "bare_arrays": "bare magazine arrays",
    "tarn_default": "tarn",
    "tarn_lifo": "tarn lifo",
    "tarn_grouped": "tarn grouped",
    "tarn_static": "tarn static",
    "tarn_static_lifo": "static lifo",
    "tarn_cached": "tarn thread_cached",
    "tarn_static_cached": "static thread_cached",
    "tarn_lock_free": "tarn lock_free",
    "tarn_spin": "tarn spin_mutex",
    "tarn_mutex": "tarn mutex",
    "tarn_grouped_mutex": "grouped mutex",
    "tarn_static_mutex": "static mutex",
    "tarn_own": "tarn, own",
    "tarn_made_once": "tarn, made once",
    "tarn_pmr": "tarn pmr",
    "tarn_pmr_sync": "tarn pmr sync",
    "tarn_pmr_sync_alone": "pmr sync, 1 thread",
    "tarn_block_resource": "block_resource",
    "tarn_stl": "stl_allocator",
    "tarn_stl_unlocked": "stl no_locking",
    "tarn_stl_batch": "stl batch",
    "tarn_macro": "macro",
    "tarn_macro_pool": "its pool",
    "tarn_macro_unlocked": "macro no_locking",
    "tarn_macro_pool_unlocked": "pool no_locking",
    "tarn_xmalloc": "xmalloc",
    "tarn_xmalloc_alone": "xmalloc, 1 thread",
}

# What a program takes without a pool: each row has one of these at most.
HEAPS = ("new_delete", "std_allocator", "malloc")

# Rows whose repetitions have one meaning only: what happened at least once without a disturbance.
LEAST = {("creation", "slowest")}

# Rows that have no time: the figure is this counter.
COUNTERS = {("creation", "resident"): "bytes_per_byte"}

PHASES = ("first", "second", "third", "setup", "allocate", "construct", "destroy", "release", "take", "free", "again", "pages",
          "bytes_per_byte", "p999", "cpu", "per_second", "moved")


class Figures:
    """The repetitions of one benchmark: `value` in seconds, and its phases."""

    def __init__(self, key, repetitions):
        pick = min if key in LEAST else statistics.median
        main = COUNTERS.get(key, "s_per_op")
        self.values = [one[main] for one in repetitions]
        self.value = pick(self.values)
        self.phases = {name: statistics.median(one[name] for one in repetitions)
                       for name in PHASES if name in repetitions[0]}

    @property
    def spread(self):
        """The distance between the quartiles, as a part of the median."""
        if len(self.values) < 4 or self.value == 0:
            return 0.0
        low, _, high = statistics.quantiles(self.values, n=4)
        return (high - low) / self.value


def load(folder):
    """(tables, context) from all files of `folder`."""
    runs = collections.defaultdict(list)
    context = {}
    for path in sorted(glob.glob(os.path.join(folder, "*.json"))):
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
        context = document["context"]
        for one in document["benchmarks"]:
            if one.get("error_occurred"):
                raise SystemExit(f"{one['name']}: {one['error_message']}")
            if one["run_type"] == "iteration":  # not an aggregate
                runs[tuple(one["name"].split("/")[:3])].append(one)  # what follows the column are options
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
                      if not column.startswith(("bare", "tarn"))}
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
    """The value of 'table/row/column' or 'table/row/column:phase', the least of 'table/row/one|other'; None: not measured."""
    path, _, phase = figure.partition(":")
    table, row, columns = path.split("/")
    values = []
    for column in columns.split("|"):
        figures = tables.get(table, {}).get(row, {}).get(column)
        if figures is None:
            return None
        values.append(figures.phases.get(phase) if phase else figures.value)
    return None if None in values else min(values)


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
