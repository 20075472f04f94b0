#!/usr/bin/env python3
"""Checks that each header given compiles alone, twice included, without a warning; and that, for an older standard, one that
users include ends the compilation with the sentence that names the flag. A case is a header and one of the two.
"""

import os
import re
import sys
import tempfile

import compilers


def case(compiler, header, root):
    def run():
        with tempfile.NamedTemporaryFile("w", suffix=".cc", dir=root) as source:
            source.write(f'#include "tarn/{header}"\n#include "tarn/{header}"\n')
            source.flush()
            good, said = compilers.compile_only(compiler, root, os.path.basename(source.name), *compilers.WARNINGS)
        return None if good else said

    return f"{header} alone", run


def old_case(compiler, header, root):
    def run():
        with tempfile.NamedTemporaryFile("w", suffix=".cc", dir=root) as source:
            source.write(f'#include "tarn/{header}"\n')
            source.flush()
            _, said = compilers.compile_only(compiler, root, os.path.basename(source.name), "-std=c++17")
        errors = re.findall(r"^.*\berror: .*$", said, re.MULTILINE)
        good = len(errors) == 2 and "tarn: [B1]" in errors[0] and "fatal" in errors[1]
        return None if good else "not one sentence and the end:\n" + said

    return f"{header} for C++17", run


def main():
    root = compilers.include_root()
    # One compiler: all of them use the same standard library, so what is missing for one is missing for each.
    compiler = compilers.present()[0]
    cases = [case(compiler, header, root) for header in sys.argv[1:]]
    cases += [old_case(compiler, header, root) for header in sys.argv[1:] if not re.search(r"(^|/)(detail|platform)/", header)]
    return compilers.report(cases)


if __name__ == "__main__":
    sys.exit(main())
