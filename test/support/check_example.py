#!/usr/bin/env python3
"""Runs an example, and compares what it prints with what its page says: the block marked `text` below "## What it prints".

usage: check_example.py PAGE PROGRAM [ARGUMENTS...]
       check_example.py self-test
"""

import os
import re
import subprocess
import sys

import compilers

SECONDS = 600  # for a program that hangs; they take less than one


def promised(page):
    """What the page says that the program prints, or None."""
    found = re.search(r"^## What it prints\s*$.*?^```text\n(.*?)^```\s*$", page, re.MULTILINE | re.DOTALL)
    return found and found[1]


def run(command):
    """(exit status, output)"""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return None, f"not done after {SECONDS} s"
    return done.returncode, done.stdout


def fault(page, status, said):
    """What is wrong with a run, or None."""
    wanted = promised(page)
    if wanted is None:
        return "the page has no block marked text below '## What it prints'"
    if status != 0:
        return f"exit status {status}\n{said}"
    if said != wanted:
        return f"it prints:\n{said}the page says:\n{wanted}"
    return None


PAGE = "# A\n\n```text\nx\n```\n\n## What it prints\n\n```text\none\ntwo\n```\n"

SELF_TESTS = [
    compilers.same("what the page says", fault(PAGE, 0, "one\ntwo\n"), None),
    compilers.same("another line", fault(PAGE, 0, "one\n2\n") is None, False),
    compilers.same("a line that is missing", fault(PAGE, 0, "one\n") is None, False),
    compilers.same("a line too many", fault(PAGE, 0, "one\ntwo\nthree\n") is None, False),
    compilers.same("a status", fault(PAGE, 1, "one\ntwo\n") is None, False),
    compilers.same("a page that says nothing", fault(PAGE.replace("What", "That"), 0, "x\n") is None, False),
]


def main():
    path, *command = sys.argv[1:]
    if path == "self-test":
        return compilers.report(SELF_TESTS)
    with open(path, encoding="utf-8") as file:
        page = file.read()
    name = os.path.splitext(os.path.basename(path))[0]
    command[0] = os.path.abspath(command[0])
    return compilers.report([(f"{name} prints what {path} says", lambda: fault(page, *run(command)))])


if __name__ == "__main__":
    sys.exit(main())
