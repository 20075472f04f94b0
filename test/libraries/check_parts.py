#!/usr/bin/env python3
"""Passes pools, threads and forks through a program and three libraries, however these are compiled, linked and loaded: the
process has one secret, one number for each thread, one list of each kind, one gate for forks. A case is a combination.

Controls must be found out: headers in which each library has things of its own, in which the secret is an address, or which
let the library go that has what all use. TARN_NIGHTLY=1 runs all combinations.
"""

import collections
import itertools
import os
import re
import subprocess
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [FOLDER, os.path.join(FOLDER, "..", "support")]

import compilers
from builds import FLAGS, changed_header

SECONDS = 600  # A run takes one; this is for one that hangs.

# How a part is compiled, and a library linked.
Kind = collections.namedtuple("Kind", "compiler visibility link", defaults=("",))
# `own`: the program has a part. `how` it gets at the libraries: linked, or dlopen() with local, global or deep binding.
Combination = collections.namedtuple("Combination", "program libraries own how rdynamic first", defaults=(False, None))

LINKS = {"": [], "symbolic": ["-Wl,-Bsymbolic"], "script": ["-Wl,--version-script=only.map"],
         "collected": ["-Wl,--gc-sections"]}
VISIBILITIES = {"default": [], "hidden": ["-fvisibility=hidden"], "inlines": ["-fvisibility-inlines-hidden"]}


def name_of(c):
    libraries = " ".join("-".join(word for word in kind if word) for kind in c.libraries)
    program = f"a program{' with -rdynamic' if c.rdynamic else ''} "
    program += f"of {c.program.compiler} {c.program.visibility}" if c.own else "without pools"
    return f"{program}, {c.how}: {libraries}"


def compiled(builder, source, kind, first, *macros):
    name = "-".join([source, kind.compiler, kind.visibility, *macros, first or ""]) + ".o"
    before = [f"-I{first}"] if first else []
    return builder.job(name, [kind.compiler, "-O0", *before, *FLAGS, *VISIBILITIES[kind.visibility], *macros, "-fPIC", "-c",
                              f"tarn/test/libraries/{source}.cc"])


def linked(builder, c):
    """The paths of the program and the libraries. Throws RuntimeError."""
    libraries = []
    for number, kind in enumerate(c.libraries):
        name = "-".join(["libpart", str(number), *kind, c.first or ""]) + ".so"
        part = compiled(builder, "part", kind, c.first).result()
        libraries.append(builder.job(name, [kind.compiler, "-shared", part, *LINKS[kind.link], "-pthread"]).result())
    objects = [compiled(builder, "parts", Kind("g++", "default"), None, *["-DOWN_PART"] * c.own).result()]
    if c.own:
        objects.append(compiled(builder, "part", c.program, c.first).result())
    flags = ["-rdynamic"] * c.rdynamic + ["-Wl,--no-as-needed", "-Wl,-rpath,$ORIGIN"]
    needed = libraries if c.how == "linked" else []
    name = "parts-" + re.sub(r"\W+", "-", name_of(c)) + (c.first or "")
    return builder.job(name, ["g++", *flags, *objects, *needed, "-pthread"]).result(), libraries


def fault(builder, c, what="all", seconds=300):
    """What is wrong, or None. `seconds`: after which the program ends itself."""
    try:
        program, libraries = linked(builder, c)
        done = subprocess.run([program, what, str(seconds), c.how, *libraries], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", timeout=SECONDS, check=False)
    except RuntimeError as error:
        return str(error)
    except subprocess.TimeoutExpired:
        return f"not done after {SECONDS} s"
    return None if done.stdout == "done\n" and done.returncode == 0 else f"exit status {done.returncode}\n{done.stdout}"


def some():
    """Each value of each choice, with few files to compile."""
    gcc, inlines, clang = Kind("g++", "default"), Kind("g++", "inlines"), Kind("clang++-19", "hidden")
    links = [gcc._replace(link=link) for link in ("symbolic", "script", "collected")]
    return [
        Combination(gcc, [gcc] * 3, True, "local"),
        Combination(gcc, [gcc] * 3, True, "global", True),
        Combination(gcc, [gcc] * 3, True, "linked"),
        Combination(gcc, [gcc] * 3, False, "deep"),
        Combination(gcc, links, True, "local", True),
        Combination(gcc, [clang, gcc, inlines], True, "deep"),
        Combination(inlines, [inlines, links[1], clang], True, "linked", True),
        Combination(clang, [clang] * 3, True, "local"),
        Combination(clang, [clang] * 3, False, "global"),
        Combination(clang, [clang, gcc, links[0]], False, "local"),
        Combination(clang, [clang] * 3, False, "linked"),
    ]


def every():
    kinds = [Kind(*which) for which in itertools.product(("g++", "clang++-19"), VISIBILITIES, LINKS)]
    mixed = [kinds[i::len(kinds) // 3][:3] for i in range(len(kinds) // 3)]
    return [Combination(libraries[0]._replace(link=""), libraries, own, how, rdynamic) for libraries in
            [[kind] * 3 for kind in kinds] + mixed
            for own, how, rdynamic in itertools.product((True, False), ("local", "global", "deep", "linked"), (True, False))
            if own or not rdynamic]


def mixed_case(builder, compiler, order):
    """Files with and without exceptions that use one pool. `order`: whose copies of functions the linker meets first."""

    def wrong():
        flags = {"with": "-fexceptions", "without": "-fno-exceptions"}
        try:
            paths = [builder.job(f"mixed-{compiler}-{which}.o", [compiler, "-O0", *FLAGS, flags[which], "-c",
                                                                 "tarn/test/libraries/mixed.cc"]).result() for which in order]
            program = builder.job(f"mixed-{compiler}-{order[0]}", [compiler, *paths, "-pthread"]).result()
        except RuntimeError as error:
            return str(error)
        done = subprocess.run([program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        return None if (done.returncode, done.stdout) == (0, "done\n") else f"exit status {done.returncode}\n{done.stdout}"

    return f"files with and without exceptions ({compiler}), those {order[0]} first", wrong


OWN_THINGS = {"policies/platform/one_in_process.h": {"#if defined(__x86_64__)": "#if 0"}}
SECRET_BY_ADDRESS = {"policies/platform/linux.h": {"random_bytes = 25;": "random_bytes = 0;"}}
NOT_KEPT = {"policies/platform/one_in_process.h": {"tarn_open_library(path, lazy_noload_nodelete) != nullptr":
                                                   "lazy_noload_nodelete != 0"}}


def control_case(builder, what, c, headers, found_out, *run):
    def wrong():
        try:
            for header, changes in headers.items():
                changed_header(builder, c.first, header, changes)
        except RuntimeError as error:
            return str(error)
        found = fault(builder, c, *run)
        return None if found and re.search(found_out, found) else f"not found out: {found}"

    return f"control: {what} is found out", wrong


def control_cases(builder):
    clang = Kind("clang++-19", "hidden")
    return [control_case(builder, "a library with things of its own",
                         Combination(clang, [clang] * 3, False, "local", first="own-things"), OWN_THINGS,
                         "a thread has two numbers(.|\n)*there are two of one thing"),
            control_case(builder, "a library with a gate of its own",
                         Combination(clang, [clang] * 3, False, "local", first="own-things"), OWN_THINGS,
                         "exit status -14", "forks", 8),
            control_case(builder, "a secret that is an address",
                         Combination(clang, [clang] * 3, False, "local", first="address"), SECRET_BY_ADDRESS,
                         "there are two secrets(.|\n)*a right program got a report"),
            control_case(builder, "a library that goes with what all use",
                         Combination(clang, [clang] * 3, False, "local", first="not-kept"), NOT_KEPT, "exit status -")]


def main():
    wanted = ["g++", "clang++-19"]
    if compilers.present(wanted) != wanted:
        sys.exit("needs " + " and ".join(wanted))
    builder = compilers.Builder(compilers.include_root())
    with open(os.path.join(builder.root, "only.map"), "w", encoding="utf-8") as script:
        script.write("{ global: part_functions; local: *; };\n")
    cases = [(name_of(c), lambda c=c: fault(builder, c)) for c in (every() if "TARN_NIGHTLY" in os.environ else some())]
    cases += [mixed_case(builder, compiler, order) for compiler in wanted
              for order in (["with", "without"], ["without", "with"])]
    return compilers.report(cases + control_cases(builder))


if __name__ == "__main__":
    sys.exit(main())
