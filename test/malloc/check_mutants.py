#!/usr/bin/env python3
"""Mistakes in the layer for many sizes, in malloc, in walks, in arenas and in blocks (mutants.txt), each of which a test must
find: a case for each. The tests without one must pass.

usage: check_mutants.py [WORD…]     only mistakes whose names have one of the words
"""

import functools
import os
import subprocess
import sys
import tempfile

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(FOLDER, "..", "support")]

import compilers

FLAGS = ["-std=c++20", "-O0", "-w", "-pthread"]
SECONDS = 90

# {test: (its file, what else is compiled for it)}
TESTS = {
    "arena": ("test/allocator/arena_model_test.cc", []),
    "arenas": ("test/allocator/arena_test.cc", []),
    "blocks": ("test/allocator/blocks_test.cc", []),
    "caches": ("test/allocator/detail/sizes/size_caches_test.cc", []),
    "fork": ("test/allocator/detail/sizes/caches_at_fork_test.cc", []),
    "heap": ("test/allocator/detail/sizes/span_heap_test.cc", []),
    "malloc": ("test/malloc/malloc_test.cc", ["malloc/malloc.cc"]),
    "walks": ("test/allocator/object_pool_walks_test.cc", []),
}

def mutants():
    """Rows (name, test that finds it, header, what stands there, what is put there) of mutants.txt."""
    with open(os.path.join(FOLDER, "mutants.txt"), encoding="utf-8") as file:
        for part in file.read().split("\n\n")[1:]:
            head, *lines = part.rstrip("\n").split("\n")
            yield (*head.split(" | "), *("\n".join(line[1:] for line in lines if line[0] == sign) for sign in "-+"))


class Bench:
    def __init__(self, folder, include):
        self.folder, self.include = folder, include
        self.main = self.compiled("main.o", ["-c"], [os.path.join(include, "tarn/test/support/boost_main.cc")], [])

    def compiled(self, name, flags, sources, first):
        target = os.path.join(self.folder, name)
        done = subprocess.run(["g++", *FLAGS, *flags, *first, "-I", self.include, *sources, "-o", target,
                               *([] if "-c" in flags else ["-l:libboost_unit_test_framework.a"])],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode:
            raise RuntimeError(done.stdout[-3000:])
        return target

    def passes(self, test, number, header=None, text=""):
        """Whether the test passes, with a header of that text before all others."""
        first = []
        if header is not None:
            root = os.path.join(self.folder, f"mutant{number}")
            path = os.path.join(root, "tarn", header)
            os.makedirs(os.path.dirname(path))
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
            first = ["-I", root]
        main, more = TESTS[test]
        sources = [os.path.join(self.include, "tarn", source) for source in (main, *more)]
        program = self.compiled(f"{test}{number}", ["-fno-builtin"], [*sources, self.main], first)
        try:
            done = subprocess.run([program], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=SECONDS, check=False)
            return done.returncode == 0
        except subprocess.TimeoutExpired:
            return False
        finally:
            os.remove(program)


def mutant(bench, number, row):
    _, test, header, text, wrong = row
    with open(os.path.join(bench.include, "tarn", header), encoding="utf-8") as file:
        source = file.read()
    if text not in source:
        return f"{header} has no '{text}' any more"
    return "no test fails" if bench.passes(test, number, header, source.replace(text, wrong)) else None


def main():
    wanted = sys.argv[1:]
    with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as folder:
        bench = Bench(folder, compilers.include_root())
        cases = [(f"{test} passes", functools.partial(lambda test: None if bench.passes(test, "") else "it fails", test))
                 for test in TESTS]
        cases += [(f"mistake: {row[0]}", functools.partial(mutant, bench, number, row)) for number, row in enumerate(mutants())
                  if not wanted or any(word in row[0] for word in wanted)]
        return compilers.report(cases)


if __name__ == "__main__":
    sys.exit(main())
