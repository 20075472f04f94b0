#!/usr/bin/env python3
"""Writes the tested compositions, which follow from the kinds in test/support/kinds.h: test/support/cover.inc, and those of the
products in test/support/products.h, test/support/product_cover.inc.

    test/support/write_cover.py            writes them: rows stay that are still legal, and what they lack is added behind them
    test/support/write_cover.py --anew     writes them without a look at what there is, which gives fewer rows
    test/support/write_cover.py --check    writes nothing; fails where a kind has no row, and a policy or a product no kind
"""

import glob
import os
import re
import subprocess
import sys

import compilers
from policy_heads import policies_of

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
COLUMNS = 128
CLASSES = ("geometric_classes", "listed_classes")  # sizes of products, which pools don't take
SINKS = ("heaptrack_trace", "perfetto_trace")  # parameters of tracing_statistics
SAME = ("run_time_name",)  # a pool that differs from one of another kind in nothing but a value
HEADS = {
    "test/support/cover.inc": """\
// Written by test/support/write_cover.py, out of kinds.h. Each row is a pool; its first word says which parts of the machinery
// it has: it refuses calls (checked) or not (plain), and keeps some blocks beside its chunks (sampled).
// clang-format off
""",
    "test/support/product_cover.inc": """\
// Written by test/support/write_cover.py, out of kinds.h and products.h. Each row is a product, and the policies that it is
// tried with. Together, the rows of a product have every kind that it takes.
// clang-format off
""",
}


def program():
    """What chooses; it prints the rows, with an argument those of the products."""
    root = compilers.include_root()
    command = [compilers.present()[0], "-std=c++20", "-O2", "-I.", "-Wfatal-errors", *compilers.WARNINGS,
               "tarn/test/support/cover.cc"]
    subprocess.run([*command, "-o", "cover"], cwd=root, check=True)
    return os.path.join(root, "cover")


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


def lines_of(name):
    """The rows of a file as `row` takes them."""
    with open(name, encoding="utf-8") as file:
        rows = re.findall(r"^ROW\((\w+), (.*?)\)$", file.read(), re.MULTILINE | re.DOTALL)
    return "".join(f"{path}: {' '.join(text.split())}\n" for path, text in rows)


def covers(anew=False):
    """Yields each file's name, and what is to stand in it."""
    chooses = program()
    for arguments, (name, head) in zip(([], ["products"]), HEADS.items()):
        old = "" if anew or not os.path.exists(name) else lines_of(name)
        chosen = subprocess.run([chooses, *arguments], input=old, stdout=subprocess.PIPE, text=True, check=True).stdout
        yield name, head + "".join(map(row, chosen.splitlines()))


def kinds_without_rows():
    """The kinds that a file has no row for, or None: whoever adds one runs test/generate. That the rows hold every pair is
    compositions_test's."""
    with open("test/support/kinds.h", encoding="utf-8") as file:
        kinds = re.findall(r"^    KIND\((.*)\),$", file.read(), re.M)
    missing = []
    for name in HEADS:
        with open(name, encoding="utf-8") as file:
            rows = " ".join(file.read().split())
        missing += [f"{kind}: {name}" for kind in kinds if not re.search(rf"(?<![\w<]){re.escape(kind)}[,)]", rows)
                    and not ("product" in name and re.match(r"\w*size", kind))]  # a product's sizes are its own
    return f"no row; run test/generate: {', '.join(missing)}" if missing or len(kinds) < 40 else None


def included(header):
    """The headers of the library that a header includes."""
    with open(header, encoding="utf-8") as file:
        return re.findall(r'^#include "tarn/([^"]+)"$', file.read(), re.M)


def unknown_policies():
    """The policies that are no kinds, or None."""
    with open("test/support/kinds.h", encoding="utf-8") as file:
        kinds = set(re.findall(r"KIND\((\w+)", file.read()))
    policies = []
    for path in included("allocator/detail/compose/select.h"):
        with open(path, encoding="utf-8") as file:
            policies += policies_of(path, file.read())
    unknown = sorted(set(policies) - kinds - set(CLASSES + SINKS + SAME))
    if len(policies) < 25:
        return f"only {len(policies)} policies were found"
    return f"no kind in test/support/kinds.h: {', '.join(unknown)}" if unknown else None


def unknown_products():
    """The products that no line of products.h stands for, or None."""
    with open("test/support/products.h", encoding="utf-8") as file:
        words = set(re.findall(r"\w+", " ".join(re.findall(r'"([\w ]+)"', file.read()))))
    headers = [path[len("allocator/"):-2] for path in included("allocator/all.h") if path.startswith("allocator/")]
    unknown = [name for name in headers if name not in words]
    if len(headers) < 14:
        return f"only {len(headers)} products were found"
    return f"of no product in test/support/products.h: {', '.join(unknown)}" if unknown else None


def unknown_cases():
    """The cases that are to show a refusal and aren't in test/compile_fail, or None."""
    with open("test/support/products.h", encoding="utf-8") as file:
        named = re.findall(r'^    \{"\w+", "[^"]+", "(\w+)"\},$', file.read(), re.M)
    cases = set()
    for path in glob.glob("test/compile_fail/*.cc"):
        with open(path, encoding="utf-8") as file:
            cases |= set(re.findall(r"^// case (\w+)", file.read(), re.M))
    if not named:
        return "no refusal was found in test/support/products.h"
    unknown = [name for name in named if name not in cases]
    return f"no case of test/compile_fail: {', '.join(unknown)}" if unknown else None


def main():
    os.chdir(ROOT)
    if "--check" in sys.argv[1:]:
        return compilers.report(
            [
                ("every kind", kinds_without_rows),
                ("every policy", unknown_policies),
                ("every product", unknown_products),
                ("every refusal", unknown_cases),
            ]
        )
    try:
        for name, text in covers("--anew" in sys.argv[1:]):
            with open(name, "w", encoding="utf-8") as file:
                file.write(text)
            print(f"{text.count('ROW(')} rows in {name}")
    except subprocess.CalledProcessError:  # the compiler, or the program, has said why
        return "the compositions weren't chosen: test/support/kinds.h or products.h, or a header that they name, is wrong"
    return 0


if __name__ == "__main__":
    sys.exit(main())
