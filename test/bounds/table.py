"""limits.txt, and the table of docs/bounds.md that is made from it."""

import os

HERE = os.path.dirname(os.path.abspath(__file__))
PAGE = os.path.join(os.path.dirname(os.path.dirname(HERE)), "docs", "bounds.md")
BEGIN, END = "<!-- test/bounds/run --write -->", "<!-- end -->"
TITLES = {
    "interrupts": "an array, with `interrupt_locking`",
    "lifo_array": "an array (`static_array_store`), the default",
    "hardened_array": "an array, `hardened`",
    "lifo": "`no_growth`, `lifo_reuse`, reserved",
    "batch": "`no_growth`, `batch_reuse` with a front of 256, reserved",
    "lock_free": "`no_growth`, `lock_free`, reserved",
}
HEAD = """\
# What take_NAME and give_NAME of pools.cc cost at most, by tarn-bound, and the most that the emulator found. No bound may grow.
# test/bounds/run --write writes this file and the table of docs/bounds.md.
#
# processor          composition     call  bound: instructions reads writes stack cycles   found: the same
"""


def write_limits(path, rows):
    with open(path, "w", encoding="utf-8") as file:
        file.write(HEAD)
        for (build, name, call), (bound, found) in rows.items():
            numbers = lambda row: " ".join(f"{n:5}" for n in row)
            file.write(f"{build:<20} {name:<15} {call:<5} {numbers(bound)}   {numbers(found)}\n")


def read_limits(path):
    """{(processor, composition, call): (bound, found)}"""
    rows = {}
    with open(path, encoding="utf-8") as file:
        for words in (line.split("#")[0].split() for line in file):
            if words:
                numbers = [int(word) for word in words[3:]]
                rows[tuple(words[:3])] = numbers[:5], numbers[5:]
    return rows


def page_table(rows, builds):
    lines = ["| pool | processor | `try_allocate`: bound | found | `deallocate`: bound | found | stack |",
             "|---|---|--:|--:|--:|--:|--:|"]
    for name, title in TITLES.items():
        for build in (one for one in builds if (one.name, name, "take") in rows):
            calls = [rows[build.name, name, call] for call in ("take", "give")]
            cells = [_text(row, build.cpu) for bound, found in calls for row in (bound, found)]
            stack = max(bound[3] for bound, _ in calls)
            lines.append(f"| {title} | {build.title} | " + " | ".join(cells) + f" | {stack} |")
            title = ""
    return "\n".join(lines) + "\n"


def _text(row, cpu):
    return f"{row[0]:,}" + (f" / {row[4]:,}" if cpu else "")


def _parts(text):
    before, _, rest = text.partition(BEGIN + "\n")
    _, _, after = rest.partition(END)
    return before, after


def write_page(rows, builds):
    with open(PAGE, encoding="utf-8") as file:
        before, after = _parts(file.read())
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(before + BEGIN + "\n" + page_table(rows, builds) + END + after)


def page_differs(rows, builds):
    """[why] if the page's table isn't that of these rows."""
    with open(PAGE, encoding="utf-8") as file:
        text = file.read()
    if BEGIN + "\n" + page_table(rows, builds) + END in text:
        return []
    return ["it isn't what limits.txt says; test/bounds/run --write writes it"]


def self_tests(rows, above):
    """Mistakes that must be found: a bound that grew, a row that is missing."""
    key, (bound, found) = next(iter(rows.items()))
    grown = {key: ([bound[0] - 1, *bound[1:]], found)}
    cases = [("a bound that grew is found", bool(above({key: rows[key]}, grown)[0][1])),
             ("a bound without a limit is found", bool(above({key: rows[key]}, {})[0][1])),
             ("a limit without a bound is found", len(above({}, {key: rows[key]})) == 1),
             ("a bound at its limit is right", not above({key: rows[key]}, {key: rows[key]})[0][1])]
    return [(name, [] if is_right else ["it isn't"]) for name, is_right in cases]
