#!/usr/bin/env python3
"""module/tarn.cppm exports each name that the headers declare in the public namespaces, and no other. It reads texts, so that
a missing line is found where no compiler knows modules; test/consumer/module compiles the module. A case is one
of the two directions, or shows that a wrong line would be found out.

usage: check_module.py module/tarn.cppm
       check_module.py --write    writes its lines, where the tree's top is the current folder
"""

import glob
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

import compilers

PUBLIC = {"tarn": "", "tarn::axis": "axis::", "tarn::pmr": "pmr::", "tarn::presets": "presets::"}
LEAST = 195  # names
# What stands in front of the name that a line at namespace scope declares.
TYPE = re.compile(r"(?:class|struct|union|enum class)\s+(?:\[\[.*?\]\]\s*)?(\w+)\b(?!\s*[<:]:)(?!\s*<)")
ALIAS = re.compile(r"(?:using|concept)\s+(\w+)\s*=")
VALUE = re.compile(r"inline constexpr [\w:<>, ]*?\b(\w+)(?:\{|\s*=|;)")
FUNCTION = re.compile(r"(?:\[\[[^\]]*\]\]\s*)?(?:(?:inline|constexpr|consteval)\s+)*(?:[\w:]+(?:<.*>)?[\s*&]+)+(\w+)\(")
INLINE = re.compile(r"xmalloc_(?:static|dynamic)")  # inline namespaces: their names are tarn's
NAMED_IN_PASSING = {"xmalloc_tag"}  # in the arguments of a template


def declared(text):
    """The names that a header declares in public namespaces. Lines of these begin at the left."""
    found, inside = set(), []
    for line in text.splitlines():
        opened = re.match(r"(?:inline )?namespace ([\w: ]+)\b.*\{$", line)
        if opened:
            inside.append(opened.group(1))
        elif re.match(r"\}\s*// namespace", line):
            inside.pop()
        elif inside and (prefix := PUBLIC.get("::".join(n for n in inside if not INLINE.match(n)))) is not None:
            one = next((m for m in (kind.match(line) for kind in (TYPE, ALIAS, VALUE, FUNCTION)) if m), None)
            if one and one.group(1) != "operator" and not line.startswith(("template", "namespace", "return")):
                found.add(prefix + one.group(1))
    return found


def exported(text):
    return re.findall(r"^using tarn::((?:\w+::)?\w+);$", text, re.MULTILINE)


def headers(first):
    """{path: text} of a header and of all that it includes, as far as they are tarn's."""
    found, todo = {}, [first]
    while todo:
        path = todo.pop()
        if path not in found:
            with open(path, encoding="utf-8") as file:
                found[path] = file.read()
            todo += re.findall(r'^#include "tarn/(.*)"$', found[path], re.MULTILINE)
    return found


def differences(texts, module):
    """(public names that aren't exported, exports that are no such names or stand there twice)"""
    names = set().union(*map(declared, texts)) | NAMED_IN_PASSING
    there = exported(module)
    return sorted(names - set(there)), sorted({name for name in there if name not in names or there.count(name) > 1})


def written(module, names):
    """The module's text with a line for each name, in alphabetical order."""
    for space, prefix in PUBLIC.items():
        own = sorted(name for name in names if name.startswith(prefix) and "::" not in name.removeprefix(prefix))
        lines = "".join(f"using tarn::{name};\n" for name in own)
        module = re.sub(rf"(?<=^export namespace {space} \{{\n)(using .*\n)+", lines, module, flags=re.MULTILINE)
    return module


def says(what, names):
    return f"module/tarn.cppm {what} {', '.join(names)}; run test/generate" if names else None


def not_in_all(texts):
    """The products that all.h, and so the module, leaves out."""
    left = sorted(set(glob.glob("allocator/*.h")) - {"allocator/fwd.h"} - set(texts))
    return f"allocator/all.h doesn't include {', '.join(left)}" if left else None


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    path = "module/tarn.cppm" if sys.argv[1] == "--write" else sys.argv[1]
    with open(path, encoding="utf-8") as file:
        module = file.read()
    included = headers("allocator/all.h")
    texts = list(included.values())
    if sys.argv[1] == "--write":
        with open(path, "w", encoding="utf-8") as file:
            file.write(written(module, set().union(*map(declared, texts)) | NAMED_IN_PASSING))
        return 0
    left, more = differences(texts, module)
    new = ("namespace tarn {\nclass new_pool;\n/// Text.\ntemplate <class T>\nusing newer = T;\nnamespace detail {\nclass no;\n"
           "}  // namespace detail\ninline int newest(int n) {\n}\n}  // namespace tarn\n")
    gone = {"pool", "presets::lean", "xfree"}
    fewer = "".join(line for line in module.splitlines(True) if line[12:-2] not in gone)
    too_many = module + "using tarn::detail::memory;\nusing tarn::gone;\nusing tarn::pool;\n"
    return compilers.report([
        (f"each of {len(exported(module))} public names is exported", lambda: says("doesn't export", left)),
        ("no other, and none twice", lambda: says("exports what isn't public:", more)),
        ("all.h includes every product", lambda: not_in_all(included)),
        compilers.same("a product that is left out", not_in_all(set(included) - {"allocator/multipool.h"}),
                       "allocator/all.h doesn't include allocator/multipool.h"),
        ("there are names", lambda: None if len(exported(module)) >= LEAST else f"fewer than {LEAST}"),
        compilers.same("lines that are missing", differences(texts, fewer)[0], sorted(gone)),
        compilers.same("new names", differences([*texts, new], module)[0], ["new_pool", "newer", "newest"]),
        compilers.same("missing lines are written", written(fewer, set(exported(module))), module),
        compilers.same("lines too many", differences(texts, too_many)[1], ["detail::memory", "gone", "pool"]),
    ])


if __name__ == "__main__":
    sys.exit(main())
