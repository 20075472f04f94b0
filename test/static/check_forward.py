#!/usr/bin/env python3
"""fwd.h declares every class that the public headers define in namespace tarn, and nothing that isn't there; a program may
include it before or after all others, and name with it alone what it says. A case is a header."""

import glob
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

import compilers

CLASS = re.compile(r"(?:class|struct|enum class) (?:\[\[.*?\]\] )?(\w+)(?![\w<:]| <)([^;]*;)?")
# A parameter whose type the constructor of name_text deduces: before that is defined, clang 14 takes no two declarations for the
# same.
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
            if one and line.rstrip().endswith(";") and "{" not in line:
                declared.add(one.group(1))
            elif one:
                defined.add(one.group(1))
    return defined, declared - defined


def missing(names, declared):
    left = sorted(names - declared - NOT_DECLARED)
    return "fwd.h doesn't declare " + ", ".join(left) if left else None


def selftest():
    text = "\n".join(["namespace tarn {", "namespace detail {", "struct inner {", "}  // namespace detail", "class one : two {",
                      "struct three {};", "class four;", "struct three<int> {", "enum class five : char {", "  struct six {",
                      "}  // namespace tarn", "struct seven {"])

    return [
        compilers.same("what is defined and what is declared", classes(text), ({"one", "three", "five"}, {"four"})),
        compilers.same("all declared", missing({"one"}, {"one", "two"}), None),
        compilers.same("one not declared", missing({"one", "two"}, {"two"}), "fwd.h doesn't declare one"),
    ]


def main():
    found = {}
    for path in sorted(glob.glob("allocator/*.h") + glob.glob("policies/**/*.h", recursive=True)):
        with open(path, encoding="utf-8") as file:
            found[path] = classes(file.read())
    declared = found["allocator/fwd.h"][1]
    everything = set().union(*(defined for defined, _ in found.values()))
    public = {path: defined for path, (defined, _) in found.items()
              if defined and "/detail/" not in path and "/platform/" not in path}

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
    return compilers.report(selftest() + cases + [("nothing else", unknown)] + [compiles(one) for one in compilers.present()])


if __name__ == "__main__":
    sys.exit(main())
