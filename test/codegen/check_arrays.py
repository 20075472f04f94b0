#!/usr/bin/env python3
"""Compiles static pools and products over an array, and looks where they lie: what has a value from the start lies in the
program's file, as large as it is. An object is all zero; of a static pool without a destructor the blocks are.

Usage: check_arrays.py arrays.cc bad_arrays.cc
"""

import os
import re
import subprocess
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [FOLDER, os.path.join(FOLDER, "..", "support")]

import compilers

FLAGS = ["-std=c++20", "-O0", "-I.", *compilers.WARNINGS]
OWN = 128 * 1024  # bytes: less than any array in arrays.cc, and more than what else a static pool consists of


def variables(path):
    """(name, bytes, section) of what is looked at."""
    said = subprocess.run(["objdump", "-t", "-w", path], stdout=subprocess.PIPE, text=True, check=True).stdout
    found = re.findall(r"^[0-9a-f]+ .{7} (\.\S+)\s+([0-9a-f]+)\s+(?:\.hidden )?(\S+)$", said, re.M)
    names = subprocess.run(["c++filt"], input="\n".join(name for *_, name in found), stdout=subprocess.PIPE, text=True,
                           check=True).stdout.split("\n")
    for (section, size, _), name in zip(found, names):
        if not section.startswith((".text", ".group")) and name.startswith(("tarn::test::object<", "tarn::detail::static_")):
            yield name, int(size, 16), section


def in_file(path):
    """What lies in the program's file and shouldn't."""
    return [f"{name}, {size} bytes, in {section.split('._Z')[0]}" for name, size, section in variables(path)
            if not section.startswith(".bss") and (name.startswith("tarn::test::object<") or size > OWN)]


def compile_to(compiler, root, source):
    target = os.path.join(root, os.path.basename(source) + "-" + compiler + ".o")
    subprocess.run([compiler, *FLAGS, "-c", "tarn/" + source, "-o", target], cwd=root, check=True)
    return target


def cases(compiler, root, good, bad):
    def of_all():
        path = compile_to(compiler, root, good)
        n = len(list(variables(path)))
        return "\n      ".join(in_file(path)) or (None if n > 400 else f"only {n} variables were found")

    def controls():
        found = in_file(compile_to(compiler, root, bad))
        return None if len(found) == 2 else "found " + (", ".join(found) or "none")

    yield f"no array with a value ({compiler})", of_all
    yield f"mistake: two arrays with a value ({compiler})", controls


def main():
    good, bad = sys.argv[1:]
    root = compilers.include_root()
    # Where a variable lies follows from the front end: clang 14's and 19's say the same, and both are asked by night.
    present = compilers.present(None if "TARN_NIGHTLY" in os.environ else ["g++", "clang++-19"])
    return compilers.report([one for compiler in present for one in cases(compiler, root, good, bad)])


if __name__ == "__main__":
    sys.exit(main())
