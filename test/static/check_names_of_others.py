#!/usr/bin/env python3
"""Headers of others define macros. Checks that no header of tarn's uses such a name, on any platform; and that all of them
compile, with a class that has a pool, where these macros are defined and stand for nothing that C++ has.

    check_names_of_others.py NAMES     NAMES: names_of_others.txt, which says what stands in it
"""

import glob
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

import compilers

NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'', re.DOTALL)
DIRECTIVE = re.compile(r"^[ \t]*#(?![ \t]*define)[^\n]*", re.MULTILINE)
NAME = re.compile(r"\b([A-Za-z_]\w*)\b(\s*\()?")

# Headers of others that bring other pools' macros, or that are for one platform.
NOT_HERE = re.compile(r"/(no_[a-z_]+|windows[a-z_]*|none|bare|single_threaded|usdt_\w+|tracy_\w+)\.h$")

USE = """
struct pooled {
  DECLARE_MEMORY_POOL(pooled)
  int its = 0;
};
inline void use() {
  delete new pooled;
  tarn::object_pool<int> objects;
  objects.destroy(objects.construct(1));
  tarn::size_class_pool<tarn::checked> sizes;
  sizes.deallocate(sizes.allocate(40), 40);
  tarn::pool<tarn::static_size<64>, tarn::page_local_reuse<>, tarn::mutex_locking<>> blocks;
  blocks.deallocate(blocks.allocate());
}
"""


def parse(text):
    """{header: {name: whether it has parameters}}"""
    found = {}
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        if not line.startswith(" "):
            header, line = line.split(": ", 1)
            found[header] = {}
        found[header].update((word.removesuffix("()"), word.endswith("()")) for word in line.split())
    return found


def uses(text, macros):
    """[(line, name)] of what the preprocessor would take for one of these macros."""
    code = NOT_CODE.sub(lambda m: "\n" * m[0].count("\n") or " ", text)
    code = DIRECTIVE.sub("", code)
    return [(code.count("\n", 0, m.start()) + 1, m[1]) for m in NAME.finditer(code)
            if m[1] in macros and (m[2] or not macros[m[1]])]


def lexical_case(path, macros):
    def run():
        with open(path, encoding="utf-8") as file:
            return "\n".join(f"{path}:{line}: {name} is a macro of others" for line, name in uses(file.read(), macros)) or None

    return f"names in {path}", run


def brought(text):
    return re.findall(r"^#include (<[^>]*>)", text, re.MULTILINE)


def compiled_case(compiler, root, macros, paths):
    """What others define comes after the standard library's headers, some of which don't bear it either, and before ours."""
    def run():
        standard, ours = set(), []
        for path in paths:
            if NOT_HERE.search(path):
                continue
            ours.append(path)
            with open(path, encoding="utf-8") as file:
                standard.update(brought(file.read()))
        lines = [f"#if __has_include({one})\n#include {one}\n#endif" for one in sorted(standard)]
        lines += [f"#undef {name}\n#define {name}{'(...)' if parameters else ''} @ {name} of others @"
                  for name, parameters in macros.items()]
        lines += [f'#include "tarn/{path}"' for path in ours]
        with open(os.path.join(root, "others.cc"), "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + USE)
        good, said = compilers.compile_only(compiler, root, "others.cc", *compilers.WARNINGS)
        return None if good else "\n".join(said.splitlines()[:20])

    return f"all headers after those macros ({compiler})", run


def macro_new_case(compiler, root):
    """Debug heaps define `new`. Headers don't bear it, the standard library's neither, and ours say so."""
    def run():
        source = f"new-{compiler}.cc"
        with open(os.path.join(root, source), "w", encoding="utf-8") as file:
            file.write("#include <cerrno>\n#include <memory>\n#include <utility>\n"
                       '#define new new(__FILE__, __LINE__)\n#include "tarn/allocator/stl_allocator.h"\n')
        _, said = compilers.compile_only(compiler, root, source)
        errors = re.findall(r"^.*\berror: .*$", said, re.MULTILINE)
        good = len(errors) == 2 and "tarn: [B2]" in errors[0] and "fatal" in errors[1]
        return None if good else "not one sentence and the end:\n" + "\n".join(said.splitlines()[:20])

    return f"a header after #define new ({compiler})", run


def selftest():
    macros = {"near": False, "bit": True}
    return [
        compilers.same("a name, also in a macro of ours", uses("#if near\n#define OURS near\nint near;", macros),
                       [(2, "near"), (3, "near")]),
        compilers.same("a name with parameters, only before them", uses("bit(1) + bit + (bit)(1) + bits(1)", macros),
                       [(1, "bit")]),
        compilers.same("neither text nor comments", uses('"near" // near\n/* bit(1)\n*/ x', macros), []),
        compilers.same("what stands in the list", parse("# near\na.h: near\n  bit()\n"), {"a.h": macros}),
    ]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as file:
        names = parse(file.read())
    root = compilers.include_root()
    paths = sorted(path for folder in ("allocator", "policies") for path in glob.glob(folder + "/**/*.h", recursive=True))
    together = {}
    for macros in names.values():
        for name, parameters in macros.items():
            together[name] = parameters and together.get(name, True)  # without parameters, if any has none
    cases = selftest() + [lexical_case(path, together) for path in paths]
    # The names are the same for each compiler.
    cases.append(compiled_case(compilers.present()[0], root, together, paths))
    cases += [macro_new_case(compiler, root) for compiler in compilers.present()]
    return compilers.report(cases)


if __name__ == "__main__":
    sys.exit(main())
