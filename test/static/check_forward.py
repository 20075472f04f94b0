#!/usr/bin/env python3
"""fwd.h declares every class that the public headers define in namespace tarn, and nothing that isn't there; a program may
include it before or after all others, and name with it alone what it says. A case is a header.

usage: check_forward.py
       check_forward.py --write    adds to fwd.h what it lacks, and takes away what is no more, in the tree's top
"""

import difflib
import glob
import os
import re
import sys
import textwrap

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

import compilers

FORWARD = "allocator/fwd.h"
COLUMNS = 128
CLASS = re.compile(r"(?:class|struct|enum class) (?:\[\[.*?\]\] )?(\w+)(?![\w<:]| <)([^;]*;)?")
# A parameter whose type is deduced by the constructor of name_text: before that is defined, clang 14 takes no two
# declarations for the same.
NOT_DECLARED = {"named", "name_text"}
PROGRAM = """#include "tarn/allocator/fwd.h"
struct order;
void take(tarn::object_pool<order>& orders, const tarn::misuse& what, tarn::handle<order> one);
struct holder {
  tarn::recycling_pool<order, tarn::no_locking>* orders = nullptr;
  tarn::prefetch when;
  tarn::misuse_kind kind;
};
#include "tarn/allocator/all.h"
#include "tarn/allocator/fwd.h"
// What a program calls its own is shadowed by nothing.
tarn::pool<tarn::static_size<64>, tarn::checked, tarn::thread_cached<>>* pool = nullptr;
void *block, *chunk, *memory;
int s, i, n, g, c, list, state;
"""


def is_defined(line):
    return "{" in line or not line.rstrip().endswith(";")


def classes(text):
    """({defined}, {only declared}) in namespace tarn itself."""
    defined, declared, inside = set(), set(), []
    for line in text.splitlines():
        opened = re.match(r"(?:inline )?namespace ([\w: ]+)\b.*\{$", line)
        if opened:
            inside.append(opened.group(1))
        elif re.match(r"\}\s*// namespace", line):
            inside.pop()
        elif inside == ["tarn"]:
            one = CLASS.match(line)
            if one:
                (defined if is_defined(line) else declared).add(one.group(1))
    return defined, declared - defined


def without_defaults(head):
    """The first line of a template without its default arguments."""
    kept, inside, skips = "", "", False
    for at, letter in enumerate(head):
        if letter in "({" or (letter == "<" and not inside.endswith("(")):
            inside += letter
        elif letter in ")}" or (letter == ">" and not inside.endswith("(")):
            inside = inside[:-1]
        if inside == "<" and head[at:at + 3] == " = ":
            skips = True
        elif skips and (not inside or (inside == "<" and letter == ",")):
            skips = False
        kept += "" if skips else letter
    return kept


def declaration(text, name):
    """The lines that declare a class which the header `text` defines."""
    lines = text.splitlines()
    at = next(i for i, line in enumerate(lines) if (one := CLASS.match(line)) and one[1] == name and is_defined(line))
    above = at
    while re.match(r"template\b|requires\b|  ", lines[above - 1]):
        above -= 1
    head = without_defaults(" ".join(line.strip() for line in lines[above:at]))
    class_line = re.match(r"enum class [^{]*\w|\w+ \w+", re.sub(r"\[\[.*?\]\] ", "", lines[at]))[0] + ";"
    return (textwrap.wrap(head, COLUMNS, subsequent_indent=" " * len("template <")) if head else []) + [class_line]


def section_of(path, name):
    if name.endswith("_traits") and path.startswith("policies/"):
        return "what policies say of themselves"
    return re.split(r"[/.]", path)[1] if path.startswith("policies/") else "products"


def written(forward, texts):
    """fwd.h with what the headers, {path: text}, define and it doesn't declare, in the alphabetical order of its section; and
    without what none of them defines."""
    homes = {name: path for path, text in texts.items() for name in classes(text)[0]}
    public = {name: path for name, path in homes.items() if is_public(path)}
    lacks = sorted(set(public) - classes(forward)[1] - NOT_DECLARED)
    done, section, before = [], None, []
    for line in forward.splitlines() + [None]:
        if line is not None and line.startswith(("template ", "          ")):
            before.append(line)
            continue
        one = CLASS.match(line or "")
        ends = line is None or line.startswith(("// ---- ", "namespace ", "}")) or (not line and section)
        for name in [name for name in lacks if section_of(public[name], name) == section and (ends or (one and name < one[1]))]:
            done += declaration(texts[public[name]], name)
            lacks.remove(name)
        if line is not None and line.startswith("// ---- "):
            section = line.strip("/ -")
        elif ends:
            section = None
        if line is not None and not (one and section and one[1] not in homes):
            done += before + [line]
        before = []
    return "\n".join(done) + "\n"


def is_public(path):
    return "/detail/" not in path and "/platform/" not in path and path != FORWARD


def missing(names, declared):
    left = sorted(names - declared - NOT_DECLARED)
    return f"fwd.h doesn't declare {', '.join(left)}; run test/generate" if left else None


def selftest(forward, texts):
    gone = ("template <class Members>\nclass block_reservation;\n", "enum class maintained : unsigned char;\n",
            "template <class Inner, memory_budget* Budget>\nclass budgeted;\n", "struct growth_traits;\n",
            "template <std::size_t First, std::size_t Max, std::size_t Factor, std::size_t Cap, std::size_t Bytes>\n"
            "struct geometric_growth;\n", re.search(r"template <[^>]*>\nclass basic_pool;\n", forward)[0])
    other = forward.replace("class buffer_store;\n", "class buffer_store;\ntemplate <class T>\nclass cellar_store;\n")
    for lines in gone:
        other = other.replace(lines, "")
    text = "\n".join(["namespace tarn {", "namespace detail {", "struct inner {", "}  // namespace detail", "class one : two {",
                      "struct three {};", "class four;", "struct three<int> {", "enum class five : char {", "  struct six {",
                      "}  // namespace tarn", "struct seven {"])

    return [
        compilers.same("what is defined and what is declared", classes(text), ({"one", "three", "five"}, {"four"})),
        compilers.same("all declared", missing({"one"}, {"one", "two"}), None),
        ("self-test: what is missing is written, and what is no more goes",
         lambda: "\n".join(difflib.unified_diff(forward.splitlines(), written(other, texts).splitlines(), lineterm=""))),
        compilers.same("default arguments", without_defaults("template <class A = b<c, 1>, int N = (2 > 1), int M>"),
                       "template <class A, int N, int M>"),
        compilers.same("one not declared", missing({"one", "two"}, {"two"}), "fwd.h doesn't declare one; run test/generate"),
    ]


def main():
    texts = {}
    for path in sorted(glob.glob("allocator/*.h") + glob.glob("policies/**/*.h", recursive=True)):
        with open(path, encoding="utf-8") as file:
            texts[path] = file.read()
    forward = texts.pop(FORWARD)
    if "--write" in sys.argv[1:]:
        with open(FORWARD, "w", encoding="utf-8") as file:
            file.write(written(forward, texts))
        return 0
    found = {path: classes(text) for path, text in texts.items()}
    declared = classes(forward)[1]
    everything = set().union(*(defined for defined, _ in found.values()))
    public = {path: defined for path, (defined, _) in found.items() if defined and is_public(path)}

    def unknown():
        left = sorted(declared - everything)
        return "no header defines " + ", ".join(left) if left else None

    root = compilers.include_root()
    with open(os.path.join(root, "forward.cc"), "w", encoding="utf-8") as file:
        file.write(PROGRAM)

    def compiles(compiler):
        def run():
            done, said = compilers.compile_only(compiler, root, "forward.cc", *compilers.WARNINGS)
            return None if done else said
        return f"before and after all.h ({compiler})", run

    cases = [(path, lambda defined=defined: missing(defined, declared)) for path, defined in public.items()]
    if len(cases) < 40:
        cases.append(("the headers", lambda: f"only {len(cases)} with classes: more were there"))
    cases += [("nothing else", unknown)] + [compiles(one) for one in compilers.present()]
    return compilers.report(selftest(forward, texts) + cases)


if __name__ == "__main__":
    sys.exit(main())
