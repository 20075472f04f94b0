#!/usr/bin/env python3
"""Checks that each header given compiles alone, twice included, without a warning. A case is a header."""

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

    return f"{header} alone", run


def main():
    root = compilers.include_root()
    # One compiler: all of them use the same standard library, so what is missing for one is missing for each.
    compiler = compilers.present()[0]
    return compilers.report([case(compiler, header, root) for header in sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
