#!/usr/bin/env python3
"""What a product's header costs who includes it: which headers of the standard library and the system it brings, and how many
lines it has when it is preprocessed, beside those of another header in the same run. A case is a product.

    check_includes.py LIMITS      LIMITS: includes.txt, which says what stands in it
"""

import os
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

import compilers

MARKER = re.compile(r'# \d+ "([^"]+)"')


def parse(text):
    """{product: (most lines in percent, of which header, standard headers)}. The name of a product stands for all of its
    own."""
    found = {}
    for line in text.splitlines():
        words = line.split("#")[0].split()
        if words:
            others = [found[word][2] if word in found else {word} for word in words[3:]]
            found[words[0]] = (int(words[1].rstrip("%")), words[2], set().union(*others))
    return found


def brought(text):
    """The headers that are not tarn's and that a header of tarn's includes, in what `g++ -E -dI` says."""
    ours, found = False, set()
    for line in text.splitlines():
        marker = MARKER.match(line)
        if marker:
            ours = "/tarn/" in marker.group(1)
        elif ours and line.startswith("#include <"):
            found.add(line[len("#include <"):].split(">")[0])
    return found


def preprocessed(root, include, *flags):
    done = subprocess.run(["g++", "-std=c++20", "-I" + root, "-E", *flags, "-x", "c++", "-"], input=f"#include {include}\n",
                          stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout


def lines(root, include):
    """Lines of a header after the preprocessor, without those that are empty."""
    return len(preprocessed(root, include, "-P").splitlines())


def judge(limit, standard, ours, other):
    """What is wrong, or None."""
    percent, beside, allowed = limit
    said = []
    if standard - allowed:
        said.append("brings more than its limit says: " + " ".join(sorted(standard - allowed)))
    if allowed - standard:
        said.append("no longer brings, so take it out of its limit: " + " ".join(sorted(allowed - standard)))
    if 100 * ours > percent * other:
        said.append(f"has {ours} lines: {100 * ours // other} % of the {other} of {beside}, and its limit is {percent} %")
    return "\n".join(said) or None


def selftest():
    text = "\n".join(['# 1 "/x/tarn/a.h" 1', "#include <span>", '# 1 "/usr/include/span" 1', "#include <array>",
                      '# 3 "/x/tarn/a.h" 2', '#include "tarn/b.h"', '# 1 "/x/tarn/b.h" 1', "#include <new> // why"])
    limit = (50, "<x>", {"span", "new"})

    return [
        compilers.same("what tarn includes, and not what that includes", brought(text), {"span", "new"}),
        compilers.same("as the limit says", judge(limit, {"span", "new"}, 50, 100), None),
        compilers.same("a header too many", judge(limit, {"span", "new", "mutex"}, 50, 100),
                       "brings more than its limit says: mutex"),
        compilers.same("a header that is gone", judge(limit, {"span"}, 50, 100),
                       "no longer brings, so take it out of its limit: new"),
        compilers.same("too many lines", judge(limit, {"span", "new"}, 51, 100),
                       "has 51 lines: 51 % of the 100 of <x>, and its limit is 50 %"),
    ]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    root = compilers.include_root()

    def case(product, limit):
        def run():
            header = f'"tarn/allocator/{product}.h"'
            return judge(limit, brought(preprocessed(root, header, "-dI")), lines(root, header), lines(root, limit[1]))

        return f"{product}.h: at most {limit[0]} % of {limit[1]}", run

    with open(sys.argv[1], encoding="utf-8") as file:
        limits = parse(file.read())
    return compilers.report(selftest() + [case(*one) for one in limits.items()])


if __name__ == "__main__":
    sys.exit(main())
