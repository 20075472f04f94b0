#!/usr/bin/env python3
"""The safety manual (docs/safety) is complete: each public call of the classes that it is about has a row in failure-modes.md,
each row a test that shows it, and each tag in a test (`// shows: FM-12`, above the case) a row.

  check_safety.py          checks that; the last line is 'N passed, N failed'
  check_safety.py write    writes the last column of the tables, from the tags

The calls are those of the reference, which test/docs/check_reference.py compares with the headers.
"""

import glob
import os
import re
import sys

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", ".."))
sys.path[:0] = [os.path.join(ROOT, "test", "support")]
import compilers

MANUAL, MODES = "docs/safety", "docs/safety/failure-modes.md"
PAGE_OF = {"tarn::basic_pool": "pool", "tarn::block_reservation": "pool", "tarn::static_pool": "static_pool",
           "tarn::object_pool": "object_pool"}
WORDS = 6000
ROW = re.compile(r"^\| (FM-\d+) \|(.*)\|$", re.MULTILINE)
TAG = re.compile(r"^// shows: ((?:FM-\d+ ?)+)\n(?=((?:.*\n){1,4}))", re.MULTILINE)
CASE = re.compile(r"(?:\w*_TEST_CASE\w*\(\s*|^void |^// case )(\w+)", re.MULTILINE)


def load():
    """{path: text} of what is read."""
    paths = [*glob.glob("docs/safety/*.md", root_dir=ROOT), "docs/rules.md", "policies/checking/misuse.h",
             "test/qualification/configuration.h", *(f"docs/reference/{page}.md" for page in set(PAGE_OF.values())),
             *glob.glob("test/**/*.cc", root_dir=ROOT, recursive=True)]
    tree = {}
    for path in paths:
        with open(os.path.join(ROOT, path), encoding="utf-8") as file:
            tree[path] = file.read()
    return tree


def section(text, name):
    """What a page says of a class: the text below its heading, up to the next of the same level."""
    found = re.search(rf"^## `?{name}`?$(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    return found[1] if found else ""


def call_in(signature):
    """The name of the function that a signature declares; "" for types, constants and what is deleted."""
    text = re.sub(r"^template <.*>\n|\b(?:no)?except\([^)]*\)|requires.*", "", signature, flags=re.DOTALL)
    text = re.sub(r"explicit\([^()]*(?:\([^()]*\)[^()]*)*\)", "", text)
    if re.match(r"(?:using|class|struct|static constexpr (?:bool|auto)) ", text) or "= delete" in signature or "(" not in text:
        return ""
    found = re.search(r"(operator[^\w(]*(?: \w+)?|~?\w+)\(", text)
    return found[1].strip() if found else ""


def calls(tree, name):
    """The public functions of a class, by the reference."""
    text = section(tree[f"docs/reference/{PAGE_OF[name]}.md"], name)
    for other in PAGE_OF:  # the subheadings of another class are its own
        text = re.sub(rf"^### {other}::.*?(?=^##|\Z)", "", text, flags=re.MULTILINE | re.DOTALL) if other != name else text
    found = set()
    for bullet in re.findall(r"^\* (`.*?`)(?::|$)", re.sub(r"\n  ", " ", text), re.MULTILINE):
        found |= {call_in(one) for one in re.findall(r"`([^`]+)`", bullet)}
    for heading, below in re.findall(rf"^### {name}::([^\n]+)\n(.*?)(?=^##|\Z)", text, re.MULTILINE | re.DOTALL):
        code = re.search(r"```text\n(.*?)```|^`(.+)`$", below, re.MULTILINE | re.DOTALL)
        if code and not re.search(r"^(?:class|struct) ", code[1] or code[2], re.MULTILINE):
            found |= set(heading.split("::")[-1].split(", "))
    return found - {""}


def rows(tree):
    """[(class, id, cells)] of the tables."""
    found = []
    for name in PAGE_OF:
        for number, cells in ROW.findall(section(tree[MODES], name)):
            found.append((name, number, [cell.strip() for cell in cells.split("|")]))
    return found


def tags(tree):
    """{id: what the tests are called that have it}, and the tags above nothing that is a case."""
    found, loose = {}, []
    for path, text in tree.items():
        if not path.endswith(".cc"):
            continue
        for numbers, lines in TAG.findall(text):
            case = CASE.search(lines)
            if case is None:
                loose.append(f"{path}: {numbers.strip()}")
                continue
            for number in numbers.split():
                found.setdefault(number, []).append(f"`{path.removeprefix('test/')}`: `{case[1]}`")
        loose += [f"{path}: {line}" for line in re.findall(r"^.*\bshows: FM.*$", text, re.MULTILINE)
                  if not re.match(r"// shows: (?:FM-\d+ ?)+$", line)]
    return found, loose


def column(tests):
    """The last cell of a row."""
    return "; ".join(sorted(tests)) or "none"


def numbered(tree, kind):
    """The numbers that pages define, as the first cell of a row: AoU-1 ..."""
    return [one for path, text in sorted(tree.items()) if path.startswith(MANUAL)
            for one in re.findall(rf"^\| ({kind}-\d+) \|", text, re.MULTILINE)]


def prose(tree):
    return {path: text for path, text in tree.items() if path.startswith(MANUAL)}


# ---- what must hold: each returns the complaints ----------------------------------------------------------------------------


def calls_without_row(tree):
    table = rows(tree)
    for name in PAGE_OF:
        have = {call for its, _, cells in table if its == name for call in re.findall(r"`([^`]+)`", cells[0])}
        want = calls(tree, name)
        yield from (f"{name}::{call} has no row" for call in sorted(want - have))
        # A destructor is a call of each class; the reference has those of which there is something to say.
        yield from (f"{name}::{call} is no call of the reference" for call in sorted(have - want) if call[0] != "~")


def rows_without_test(tree):
    found, loose = tags(tree)
    for _, number, cells in rows(tree):
        if len(cells) != 5:
            yield f"{number} has {len(cells)} cells behind its number, not 5"
        elif number not in found:
            yield f"{number}: no test says that it shows it"
        elif cells[-1] != column(found[number]):
            yield f"{number}: the tests are {column(found[number])}; test/docs/check_safety.py write"
    yield from (f"no case has this tag: {one}" for one in loose)


def tags_without_row(tree):
    have = {number for _, number, _ in rows(tree)}
    yield from (f"{number}: no row, but a tag in {', '.join(its)}" for number, its in sorted(tags(tree)[0].items())
                if number not in have)


def names_of_nothing(tree):
    """Assumptions, rows, rules and kinds of misuse that the manual names, and that aren't there."""
    known = set(numbered(tree, "AoU") + numbered(tree, "FM"))
    rules = set(re.findall(r"^### ([A-Z]\d+):", tree["docs/rules.md"], re.MULTILINE))
    kinds = set(re.findall(r"^  (\w+),", tree["policies/checking/misuse.h"], re.MULTILINE))
    for path, text in prose(tree).items():
        yield from (f"{path} names {one}" for one in sorted(set(re.findall(r"\b(?:AoU|FM)-\d+\b", text)) - known))
        yield from (f"{path} names rule {one}" for one in sorted(set(re.findall(r"\brule ([A-Z]\d+)\b", text)) - rules))
    for _, number, cells in rows(tree):
        yield from (f"{number} names a misuse {one}" for one in re.findall(r"`(\w+)`(?!:)", cells[3]) if one not in kinds)


def numbers_twice(tree):
    for kind in ("AoU", "FM"):
        all_of_it = numbered(tree, kind)
        yield from (f"{one} twice" for one in sorted(set(all_of_it)) if all_of_it.count(one) > 1)


def assumptions_without_check(tree):
    text = tree[f"{MANUAL}/assumptions.md"]
    lines = re.findall(r"^\| (AoU-\d+) \|(.*)\|$", text, re.MULTILINE)
    yield from (f"{number}: by what is it checked?" for number, cells in lines if not cells.split("|")[-1].strip())
    if not lines:
        yield "there is no assumption"


def too_many_words(tree):
    count = sum(len(re.findall(r"\S*\w\S*", text)) for text in prose(tree).values())
    if count > WORDS:
        yield f"{count} words, at most {WORDS}"


def another_configuration(tree):
    header = tree["test/qualification/configuration.h"]
    code = re.search(r'^#include "tarn.*?(?=\n\n#endif)', header, re.MULTILINE | re.DOTALL)[0]
    if code not in tree[f"{MANUAL}/configuration.md"]:
        yield "configuration.md doesn't show the text of test/qualification/configuration.h"


CHECKS = [calls_without_row, rows_without_test, tags_without_row, names_of_nothing, numbers_twice, assumptions_without_check,
          too_many_words, another_configuration]


# ---- mistakes that must be found -------------------------------------------------------------------------------------------


def changed(tree, path, old, new):
    text = re.sub(old, new, tree[path], count=1, flags=re.MULTILINE)
    if text == tree[path]:
        raise LookupError(f"{path} has no {old}")
    return {**tree, path: text}


KIT = "test/qualification/kit.cc"
MISTAKES = [
    ("mistake: a row is taken away", calls_without_row, MODES, r"^\| FM-24 \|.*\n", ""),
    ("mistake: a call that no row has", calls_without_row, "docs/reference/pool.md", r"^\* (?=`bool owns)",
     "* `void added_call() noexcept`: New.\n* "),
    ("mistake: a row of a call that is gone", calls_without_row, "docs/reference/pool.md", r"^### tarn::basic_pool::trim$",
     "### tarn::basic_pool::shrink"),
    ("mistake: a test without its tag", rows_without_test, KIT, r"^// shows: FM-24 FM-25\n", ""),
    ("mistake: a test of another name", rows_without_test, KIT, r"^void trim_and_release\(", "void trimmed("),
    ("mistake: a tag above no case", rows_without_test, KIT, r"^// shows: FM-24 FM-25\n", "// shows: FM-24 FM-25\n\n\n\n\n\n"),
    ("mistake: a tag of no row", tags_without_row, KIT, r"FM-24 FM-25", "FM-24 FM-999"),
    ("mistake: an assumption that isn't there", names_of_nothing, MODES, r"AoU-\d+", "AoU-999"),
    ("mistake: a kind of misuse that isn't there", names_of_nothing, MODES, r"`foreign_pointer`", "`strange_pointer`"),
    ("mistake: a number twice", numbers_twice, f"{MANUAL}/assumptions.md", r"^\| AoU-2 \|", "| AoU-1 |"),
    ("mistake: an assumption that nothing checks", assumptions_without_check, f"{MANUAL}/assumptions.md",
     r"^(\| AoU-2 \|[^|]*\|)[^|]*\|$", r"\1 |"),
    ("mistake: a manual that grows", too_many_words, f"{MANUAL}/README.md", r"\Z", "word " * WORDS),
    ("mistake: a page with another configuration", another_configuration, f"{MANUAL}/configuration.md", r"stops_misuse = ",
     "stops_all = "),
]


def found(tree, check, change):
    """None if the check complains of the change, and didn't before."""
    return None if set(check(changed(tree, *change))) - set(check(tree)) else "it isn't found"


def cases(tree):
    for check in CHECKS:
        yield check.__name__.replace("_", " "), lambda check=check: "\n".join(check(tree)) or None
    for name, check, *change in MISTAKES:
        yield name, lambda check=check, change=change: found(tree, check, change)


def write(tree):
    found, _ = tags(tree)
    text = tree[MODES]
    for number, cells in ROW.findall(text):
        new = "|".join([*cells.split("|")[:-1], f" {column(found.get(number, []))}"])
        text = text.replace(f"| {number} |{cells}|\n", f"| {number} |{new} |\n")
    with open(os.path.join(ROOT, MODES), "w", encoding="utf-8") as file:
        file.write(text)


def main():
    if sys.argv[1:] == ["write"]:
        write(load())
        return 0
    return compilers.report(list(cases(load())))


if __name__ == "__main__":
    sys.exit(main())
