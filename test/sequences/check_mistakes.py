#!/usr/bin/env python3
"""Mistakes in the library (mistakes.txt), each of which every_sequence_test must find: a case for each. All are in one program,
which makes the one that TARN_MISTAKE numbers, or none, and must pass then.
"""

import os
import re
import subprocess
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(FOLDER, "..", "support")]

import compilers
import library_code

FLAGS = ["-std=c++20", "-O1", "-g0", "-w", "-pthread"]
SECONDS = 300  # a mistake that makes a circle is stopped by the test's own limits; this is for one that hangs
FIRST = """#include <cstdlib>
inline const long tarn_test_mistake = std::getenv("TARN_MISTAKE") ? std::atol(std::getenv("TARN_MISTAKE")) : 0;
"""


def mistakes():
    """Rows (name, what stands there, what is put there) of mistakes.txt."""
    with open(os.path.join(FOLDER, "mistakes.txt"), encoding="utf-8") as file:
        for number, part in enumerate(file.read().rstrip("\n").split("\n\n")[1:], 1):
            name, old, new = part.split("\n")
            yield name, old[1:], re.sub(r"\bMISTAKE\b", f"(::tarn_test_mistake == {number})", new[1:])


def build(root, rows):
    """The program. Throws RuntimeError."""
    folder = os.path.join(root, "changed")
    library_code.changed(root, [(old, new) for _, old, new in rows], folder)
    with open(os.path.join(root, "first.h"), "w", encoding="utf-8") as first:
        first.write(FIRST)
    sources = [f"tarn/test/{name}" for name in ("sequences/every_sequence_test.cc", "support/boost_main.cc")]
    command = ["g++", *FLAGS, "-include", "first.h", f"-I{folder}", "-I.", *sources, "-l:libboost_unit_test_framework.a"]
    return compilers.Builder(root).job("every_sequence", command).result()


def run(program, number):
    """(exit status, what it said)"""
    done = subprocess.run([program, "--catch_system_errors=no"], env={**os.environ, "TARN_MISTAKE": str(number)}, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS, check=False, errors="replace")
    return done.returncode, done.stdout


def found(program, number):
    status, said = run(program, number)
    fault = re.search(r"\): error: in \"(\w+)\": (.*)", said)
    if status == 0 or fault is None and status > 0:
        return f"exit status {status}, nothing found\n{said[-1000:]}"
    print(f"        {fault[1]}: {fault[2]}" if fault else f"        exit status {status}", flush=True)
    return None


def right(program):
    status, said = run(program, 0)
    return None if status == 0 else said[-3000:]


def main():
    rows = list(mistakes())
    try:
        program = build(compilers.include_root(), rows)
    except RuntimeError as error:
        return compilers.report([("the program with all mistakes is built", lambda: str(error))])
    cases = [("without a mistake the test passes", lambda: right(program))]
    cases += [(f"mistake: {name}", lambda number=number: found(program, number)) for number, (name, *_) in enumerate(rows, 1)]
    return compilers.report(cases)


if __name__ == "__main__":
    sys.exit(main())
