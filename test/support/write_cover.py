#!/usr/bin/env python3
"""Writes test/support/cover.inc, the tested compositions, which follow from the kinds in test/support/kinds.h.

    test/support/write_cover.py            writes it
    test/support/write_cover.py --check    writes nothing; fails where the file isn't what would be written
"""

import os
import subprocess
import sys

import compilers

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
COVER = "test/support/cover.inc"
COLUMNS = 128
HEAD = """\
// Written by test/support/write_cover.py, out of kinds.h. Each row is a pool; its first word says which parts of the machinery
// it has: it refuses calls (checked) or not (plain), and keeps some blocks beside its chunks (sampled).
// clang-format off
"""


def chosen():
    """What cover.cc prints."""
    root = compilers.include_root()
    program = os.path.join(root, "cover")
    command = [compilers.present()[0], "-std=c++20", "-O2", "-I.", *compilers.WARNINGS, "tarn/test/support/cover.cc"]
    subprocess.run([*command, "-o", program], cwd=root, check=True)
    return subprocess.run([program], stdout=subprocess.PIPE, text=True, check=True).stdout


def policies(text):
    """A list of template arguments, each as it is spelled."""
    found, depth = [""], 0
    for letter in text:
        depth += (letter == "<") - (letter == ">")
        if letter == "," and depth == 0:
            found.append("")
        else:
            found[-1] += letter
    return [one.strip() for one in found]


def row(line):
    path, text = line.split(": ")
    lines, words = [], ["ROW(" + path, *policies(text)]
    for word in [word + "," for word in words[:-1]] + [words[-1] + ")"]:
        if lines and len(lines[-1]) + 1 + len(word) <= COLUMNS:
            lines[-1] += " " + word
        else:
            lines.append("    " * bool(lines) + word)
    return "\n".join(lines) + "\n"


def cover():
    return HEAD + "".join(map(row, chosen().splitlines()))


def difference():
    """What is wrong with the file, or None."""
    try:
        wanted = cover()
    except subprocess.CalledProcessError as error:
        return str(error)
    if os.path.exists(COVER):
        with open(COVER, encoding="utf-8") as file:
            if file.read() == wanted:
                return None
    return f"{COVER} isn't what follows from test/support/kinds.h; run test/support/write_cover.py"


def main():
    os.chdir(ROOT)
    if "--check" in sys.argv[1:]:
        return compilers.report([(COVER, difference)])
    text = cover()
    with open(COVER, "w", encoding="utf-8") as file:
        file.write(text)
    print(f"{text.count('ROW(')} compositions")
    return 0


if __name__ == "__main__":
    sys.exit(main())
