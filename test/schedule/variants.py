#!/usr/bin/env python3
"""Writes a header with variants of tarn's own code: variants.py TABLE OUTPUT mistakes.txt HEADERS... TESTS...

Each variant is the code that mistakes.txt names, in a namespace of its own, tarn::detail::variants::<name>, with a few places
changed. It stops the build where a change no longer fits, or where no test names a variant. `as_it_is` changes nothing but
what every variant of the table has changed.
"""

import os
import re
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(FOLDER, "..", "support")]

import library_code
from library_code import normal

LOCK = "[[maybe_unused]] const auto lock = core_guard();"
ORDER = r" memory_order_(?:acquire|release|acq_rel) "


def read_table(mistakes, which):
    """{word that begins a line: (the variant that it changes, its lines)}"""
    text = re.search(rf"^\[{which}\]$(.*?)(?=^\[|\Z)", re.sub(r"(?m)^#.*\n", "", mistakes), re.MULTILINE | re.DOTALL)[1]
    table = {}
    for word, other, lines in re.findall(r"^(\w+)(?: = (\w+))?((?: .*)?(?:\n .*)*)", text, re.MULTILINE):
        table[word] = other, re.sub(r"\n {4,}", " ", lines).strip().split("\n")
    return table


def functions_in(code, scope):
    """The functions, variables and classes of that name, at any depth; there may be a class's name in front."""
    for name, one in library_code.parts(code):
        if ("::" + name).endswith("::" + scope):
            yield one
        if library_code.is_class(one):
            yield from functions_in(library_code.content(one), scope.removeprefix(name + "::"))


def changed(one, how):
    """(a function's text after a change, how often that fits)"""
    word, _, rest = how.partition(" ")
    if word == "is":
        return one.replace(library_code.content(one), normal(rest)), 1
    if word == "relaxed":  # the orders of these calls
        call = re.compile(re.escape(normal(rest + "(")) + r"(?:[^()]|\((?:[^()]|\([^()]*\))*\))*\) ")
        return call.subn(lambda found: re.sub(ORDER, " memory_order_relaxed ", found[0]), one)
    if word in ("without", "unguarded"):
        old, new = rest or LOCK, ""
    else:
        old, _, new = how.removeprefix("each ").partition(" ->")
    return re.subn(f"(?<= ){re.escape(normal(old).strip())}(?= )", lambda _: normal(new).strip(), one)


def change(text, what):
    """The text of all parts, after a change. Throws LookupError."""
    scope, _, how = what.strip().partition(": ")
    found = [text] if scope == "*" else list(dict.fromkeys(functions_in(text, scope)))
    for step in ["relaxed " + call for call in how.split()[1:]] if how.startswith("relaxed ") else [how]:
        results = [changed(one, step) for one in found]
        fits = sum(count for _, count in results)
        if fits != 1 and not (fits and how.startswith(("each ", "relaxed "))):
            raise LookupError(f"{what}: {step} fits {fits} times")
        for (new, _), old in zip(results, found):
            text = text.replace(old, new)
        found = [new for new, _ in results]
    return text


def gathered(code, lines):
    """(the parts that these lines name and code that stands between them, the headers of the parts)"""
    text, headers = "", set()
    for line in lines:
        if re.fullmatch(r"[\w: ]+", line.strip()):
            for name in line.split():
                found = dict(code.all_of(name))  # the same text twice is one
                text += " ".join(found)
                headers.update(found.values() if len(found) == len(code.all_of(name)) else [])
        else:
            text += normal(line)
    return text, sorted(headers)


def variants(code, table, users):
    """(lines of a namespace for each variant, headers that they need). Throws LookupError."""
    parts, types, common = (table.pop(word, ("", [""]))[1] for word in ("parts", "types", "common"))
    text, headers = gathered(code, parts)
    texts, lines, bases = {"": text}, [], {other for other, _ in table.values()}
    for name, (other, changes) in {"as_it_is": ("", common), **table}.items():
        texts[name] = texts[other] if other else texts.get("as_it_is", text)
        for what in filter(None, changes):
            texts[name] = change(texts[name], what)
        if f"variants::{name}::types" in users:
            lines += [f"namespace {name} {{", texts[name], "struct types {", *types, "};", f"}}  // namespace {name}"]
        elif name not in bases and name != "as_it_is":
            raise LookupError(f"no test names {name}")
    return lines, headers


def main():
    which, output, *files = sys.argv[1:]
    headers, mistakes, tests = (library_code.texts(file for file in files if file.endswith(end))
                                for end in (".h", ".txt", ".cc"))
    table = read_table("".join(mistakes.values()), which)
    try:
        lines, needed = variants(library_code.Code(headers), table, "".join(tests.values()))
    except LookupError as error:
        sys.exit(f"mistakes.txt: [{which}] {error}")
    guard = f"TARN_TEST_SCHEDULE_{which.upper()}_VARIANTS_H_"
    needed += ["test/schedule/process.h", "test/schedule/scheduled.h"]
    lines = ["// Written by variants.py.", f"#ifndef {guard}", f"#define {guard}",
             *(f'#include "tarn/{header}"' for header in needed), "namespace tarn::detail::variants {", *lines,
             "}  // namespace tarn::detail::variants", f"#endif  // {guard}", ""]
    with open(output, "w", encoding="utf-8") as out:
        out.write("\n".join(lines))


if __name__ == "__main__":
    main()
