#!/usr/bin/env python3
"""Where what the check of the reference needs isn't installed, it says so in one sentence. Run in the root of the tree; what is
missing is hidden, so that this runs on any machine."""

import os
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.getcwd(), "test/support"))

import compilers

RUN = ("import runpy, sys\n{}\nsys.argv = ['check_reference.py']\n"
       "runpy.run_path('test/docs/check_reference.py', run_name='__main__')")
WITHOUT_MODULE = "sys.modules['clang'] = None"
# Python's half of libclang, which finds no library.
HALF = """class Anything(type):
    def __getattr__(cls, name): return name
class LibclangError(Exception): pass
class Index:
    @staticmethod
    def create(): raise LibclangError()
class CursorKind(metaclass=Anything): pass
AccessSpecifier = AvailabilityKind = Diagnostic = TokenKind = TranslationUnit = TypeKind = CursorKind
"""


def said(before, tools):
    """(exit status, lines that were written)"""
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(os.path.join(folder, "clang"))
        for name, text in {"clang/__init__.py": "", "clang/cindex.py": HALF, "codespell": "#!/bin/sh\n"}.items():
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        os.chmod(os.path.join(folder, "codespell"), 0o755)
        environment = {**os.environ, "PYTHONPATH": folder, "PATH": folder if tools else "/nowhere"}
        done = subprocess.run([sys.executable, "-B", "-c", RUN.format(before)], env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode, done.stdout.splitlines()


def case(name, word, before="", tools=True):
    def run():
        status, lines = said(before, tools)
        return None if status == 1 and len(lines) == 1 and word in lines[0] else f"exit status {status}\n" + "\n".join(lines)

    return f"one sentence without {name}", run


def main():
    return compilers.report([
        case("Python's module", "python3-clang-19", before=WITHOUT_MODULE),
        case("the library", "python3-clang-19"),
        case("codespell", "codespell", tools=False),
    ])


if __name__ == "__main__":
    sys.exit(main())
