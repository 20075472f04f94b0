#!/usr/bin/env python3
"""Runs an example, and compares what it prints with what its source says: the comment below "// Prints:".

usage: check_example.py SOURCE PROGRAM [ARGUMENTS...]
       check_example.py self-test
"""

import os
import re
import subprocess
import sys

import compilers

SECONDS = 600  # for a program that hangs; they take less than one


def promised(source):
    """What the source says that the program prints, or None."""
    found = re.search(r"^// Prints:\n//\n((?://(?:   .*)?\n)+)", source, re.MULTILINE)
    return found and re.sub(r"^//(   )?", "", found[1], flags=re.MULTILINE)


def run(command):
    """(exit status, output)"""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return None, f"not done after {SECONDS} s"
    return done.returncode, done.stdout


def fault(source, status, said):
    """What is wrong with a run, or None."""
    wanted = promised(source)
    if wanted is None:
        return "the source has no comment below '// Prints:'"
    if status != 0:
        return f"exit status {status}\n{said}"
    if said != wanted:
        return f"it prints:\n{said}the source says:\n{wanted}"
    return None


SOURCE = "// A.\n//\n// Prints:\n//\n//   one\n//\n//   two\n#include <cstdio>\n"

SELF_TESTS = [
    compilers.same("what the source says", fault(SOURCE, 0, "one\n\ntwo\n"), None),
    compilers.same("another line", fault(SOURCE, 0, "one\n\n2\n") is None, False),
    compilers.same("a line that is missing", fault(SOURCE, 0, "one\n\n") is None, False),
    compilers.same("a line too many", fault(SOURCE, 0, "one\n\ntwo\nthree\n") is None, False),
    compilers.same("a status", fault(SOURCE, 1, "one\n\ntwo\n") is None, False),
    compilers.same("a source that says nothing", fault(SOURCE.replace("Prints", "Says"), 0, "one\n\ntwo\n") is None, False),
]


def main():
    path, *command = sys.argv[1:]
    if path == "self-test":
        return compilers.report(SELF_TESTS)
    with open(path, encoding="utf-8") as file:
        source = file.read()
    name = os.path.splitext(os.path.basename(path))[0]
    command[0] = os.path.abspath(command[0])
    return compilers.report([(f"{name} prints what {path} says", lambda: fault(source, *run(command)))])


if __name__ == "__main__":
    sys.exit(main())
