"""The report of bench/run: tables, JSON, the picture, and the check against limits.txt. Called with the folder of results."""

import argparse
import collections
import json
import os
import sys

import names
import picture
import results

HERE = os.path.dirname(os.path.abspath(__file__))
SCALE = {"ns": 1e9, "µs": 1e6, "1": 1, "%": 100, "MiB": 2 ** -20}  # from seconds; 1, % and MiB: no time

STEPS = ("setup", "allocate", "construct", "destroy", "release")


def number(value):
    """Three digits that count."""
    if value is None:
        return "-"
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"


def ratio(value, base):
    return "-" if value is None or not base else number(value / base)


class Table:
    """Rows of cells with a title, printed as text or as Markdown."""

    def __init__(self, title, header):
        self.title = title
        self.header = header
        self.rows = []

    def text(self):
        lines = [self.header] + [row for row in self.rows if row]
        widths = [max(len(line[i]) for line in lines) for i in range(len(self.header))]
        out = [self.title, ""]
        for line in [self.header] + self.rows:
            cells = [line[0].ljust(widths[0])] if line else []
            cells += [cell.rjust(width) for cell, width in zip(line[1:], widths[1:])]
            out.append("  ".join(cells).rstrip())
        return "\n".join(out) + "\n"

    def markdown(self):
        lines = [self.header, ["---"] + ["--:"] * (len(self.header) - 1)] + self.rows
        return f"**{self.title}**\n\n" + "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def columns_of(rows):
    """The columns that any of the rows has, in the order of names.COLUMNS; peers stand before tarn's."""
    known = list(names.COLUMNS)
    peers = sorted({column for row in rows for column in row} - set(known))
    first = next(at for at, column in enumerate(known) if column.startswith("malloc_"))
    return [column for column in known[:first] + peers + known[first:] if any(column in row for row in rows)]


def head(column):
    return names.COLUMNS.get(column, column)


def main_table(section, rows, markdown):
    """For each row the medians; in the text also their ratios to the limit and to the heap (new/delete, std::allocator or
    malloc). Percentages are ratios already."""
    _, title, unit, titles = section
    kept = [key for key in titles if key in rows]
    columns = columns_of([rows[key] for key in kept])
    heads = [head(column) for column in columns]
    table = Table(title if unit == "1" else f"{title} ({unit})", [""] + heads if markdown else ["", ""] + heads)
    for key in kept:
        row = rows[key]
        limit = results.limit_of(row)
        heap_column = results.heap_of(row)
        heap = row[heap_column].value if heap_column else None
        values = [row[column].value if column in row else None for column in columns]
        medians = [number(value and value * SCALE[unit]) for value in values]
        to_limit = [ratio(value, limit) for value in values]
        to_heap = [ratio(value, heap) for value in values]
        if markdown or unit == "%":
            table.rows.append([titles[key]] + ([] if markdown else ["median"]) + medians)
        else:
            table.rows.append([titles[key], "median"] + medians)
            if limit:
                table.rows.append(["", "x limit"] + to_limit)
            table.rows.append(["", f"x {names.COLUMNS[heap_column or 'new_delete']}"] + to_heap)
            table.rows.append([])
    return table


def steps_table(rows):
    """The four steps of "Stack, Heap, Pool" and what was paid around them."""
    row = rows["thousand"]
    table = Table("The steps of 1000 live objects of 1 MB, one object (µs)", [""] + list(STEPS) + ["sum"])
    for column in columns_of([row]):
        figures = row[column]
        cells = [number(figures.phases[step] * 1e6) for step in STEPS]
        table.rows.append([head(column)] + cells + [number(figures.value * 1e6)])
    return table


def phases_table(rows):
    """Allocation, free and a second round of the million objects."""
    table = Table("The phases of a million objects: allocate, free; second round without growth, one object (ns)",
                  [""] + [head(column) for column in columns_of(rows.values())])
    titles = next(titles for name, _, _, titles in names.SECTIONS if name == "small_objects")
    for key, title in titles.items():
        if key in rows and "take" in next(iter(rows[key].values())).phases:
            cells = []
            for column in columns_of(rows.values()):
                phases = rows[key][column].phases if column in rows[key] else None
                cells.append(" ".join(number(phases[name] * 1e9) for name in ("take", "free", "again")) if phases else "-")
            table.rows.append([title] + cells)
    return table


def runs_table(rows):
    """The runs of the containers: the first gets memory, the others find it."""
    columns = columns_of(rows.values())
    table = Table("Containers, run by run, one element (ns)", ["", "run"] + [head(column) for column in columns])
    titles = {"map_random": "a million at random"}
    for _, _, _, rest in (section for section in names.SECTIONS if section[0] == "containers"):
        titles = {**rest, **titles}
    for key in (key for key in titles if key in rows):
        for run in ("first", "second", "third"):
            phases = [rows[key][column].phases.get(run) if column in rows[key] else None for column in columns]
            if any(phases):
                table.rows.append([titles[key] if run == "first" else "", run] + [number(one and one * 1e9) for one in phases])
    return table


def all_tables(tables, markdown):
    out = []
    for section in names.SECTIONS:
        rows = tables.get(section[0], {})
        if any(key in rows for key in section[3]):
            out.append(main_table(section, rows, markdown))
            if "thousand" in section[3] and "thousand" in rows:
                out.append(steps_table(rows))
            if "size_16" in section[3]:
                out.append(phases_table(rows))
        if "map_random" in section[3] and rows:
            out.append(runs_table(rows))
    return out


def short(divisor, figure):
    """The divisor without its row where that is the figure's, and without its phase."""
    path = divisor.partition(":")[0]
    table, row, column = path.split("/")
    return column if figure.startswith(f"{table}/{row}/") else f"{row}/{column}"


Limit = collections.namedtuple("Limit", "figure divisor minus sense bound")


def read_limits(path):
    """The lines of limits.txt, each of braces as several; `divisor` is empty where there is none."""
    with open(path, encoding="utf-8") as file:
        lines = [line.split("#")[0].split() for line in file]
    return [Limit(figure, divisor.lstrip("-"), divisor.startswith("-") and divisor != "-", sense, float(bound))
            for pattern, base, sense, bound in filter(None, lines) for figure, divisor in results.spread_out(pattern, base)]


def found_for(limit, tables):
    """What was measured of it; None: nothing was."""
    value = results.look_up(tables, limit.figure)
    base = results.look_up(tables, limit.divisor) if limit.divisor else 1
    if value is None or not base:
        return None
    return value - base if limit.minus else value / base


def is_met(limit, found):
    return found <= limit.bound if limit.sense == "<=" else found >= limit.bound


def missed_rows(tables, limits):
    """(table, row) of what bench/run measures again before a limit is said to be missed: the rows of its figures."""
    rows = set()
    for limit in limits:
        found = found_for(limit, tables)
        if found is not None and not is_met(limit, found):
            rows |= {tuple(figure.split("/")[:2]) for figure in (limit.figure, limit.divisor) if figure}
    return sorted({(table, results.source_of(table, row)) for table, row in rows})


def check(tables, first, limits):
    """(lines, how many were missed): each limit as met or missed. What wasn't measured is said, not counted: one by one in a
    table that was, and how many there are in others. `first`: the tables before rows were measured again."""
    lines = []
    missed = elsewhere = 0
    for limit in limits:
        found = found_for(limit, tables)
        sign = "-" if limit.minus else "/"
        name = f"{limit.figure} {sign} {short(limit.divisor, limit.figure)}" if limit.divisor else limit.figure
        if found is None:
            if limit.figure.partition("/")[0] in tables:
                lines.append(f"not measured  {name}")
            else:
                elsewhere += 1
            continue
        met = is_met(limit, found)
        missed += not met
        before = found_for(limit, first)
        again = f"  (measured again; {before:.3g} before)" if before not in (None, found) else ""
        lines.append(f"{'met   ' if met else 'MISSED'}  {name:58} {found:<10.3g} {limit.sense} {limit.bound:g}{again}")
    if elsewhere:
        lines.append(f"{elsewhere} limits of tables that were not measured")
    return lines, missed


def write_json(tables, context, path):
    document = {"context": context, "tables": {
        table: {row: {column: {"median": figures.value, "spread": figures.spread, "repetitions": figures.values,
                               **figures.phases}
                      for column, figures in columns.items()} for row, columns in rows.items()}
        for table, rows in tables.items()}}
    with open(path, "w", encoding="utf-8") as file:
        json.dump(document, file, indent=1)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", help="what bench/run wrote; results go there too")
    parser.add_argument("--markdown", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--missed", action="store_true", help="prints the rows of missed limits, to measure again")
    options = parser.parse_args()

    raw = os.path.join(options.folder, "raw")
    limits = read_limits(os.path.join(HERE, "limits.txt"))
    if options.missed:
        for row in missed_rows(results.load(raw)[0], limits):
            print(*row)
        return 0
    tables, context = results.load(raw, os.path.join(raw, "again"))
    text = "\n".join(table.text() for table in all_tables(tables, False))
    with open(os.path.join(options.folder, "tables.txt"), "w", encoding="utf-8") as file:
        file.write(text)
    write_json(tables, context, os.path.join(options.folder, "results.json"))
    print("\n".join(table.markdown() for table in all_tables(tables, True)) if options.markdown else text)
    count, of = results.disturbed(tables)
    if count:
        print(f"Others used the cores: {count} of {of} figures of many threads are a tenth and more above their CPU time.\n")
    written = ["tables.txt", "results.json"]
    written += picture.draw_all(tables, options.folder)
    print("written:", ", ".join(os.path.join(options.folder, name) for name in written))
    if options.check:
        lines, missed = check(tables, results.load(raw)[0], limits)
        print("", *lines, sep="\n")
        if missed:
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
