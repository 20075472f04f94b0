#!/usr/bin/env python3
"""Checks that each header given compiles alone, twice included, without a warning. A case is a header and a compiler."""

import os
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

    return f"{header} ({compiler})", run


def main():
    root = compilers.include_root()
    # clang 14 sees every header through the tests; here the two newest suffice, because each costs a compilation.
    return compilers.report([case(compiler, header, root)
                             for header in sys.argv[1:] for compiler in compilers.present(["g++", "clang++-19"])])


if __name__ == "__main__":
    sys.exit(main())
