#!/usr/bin/env python3
"""Runs real programs with tarn's xallocator in the place of malloc, and with other mallocs, in turns. Prints medians of
processor time and of the peak of memory, with their ratio to the first malloc's; on stderr, the smallest and the largest. What
the programs compute must be the same.

  test/programs/measure_programs.py [--rounds=5] [--only=python,git] [--malloc=NAME=FILE ...]
"""

import argparse
import os
import random
import statistics
import sys
import tempfile

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__))]

import programs

MALLOCS = {
    "glibc": "",
    "jemalloc": "libjemalloc.so.2",
    "tcmalloc": "libtcmalloc_minimal.so.4",
    "mimalloc 2": "libmimalloc.so.2",
}


def here(name, file):
    """Whether the malloc can be loaded."""
    complaint = programs.run(["true"], file).said
    if complaint:
        print(f"skipped: {name}: {complaint}", file=sys.stderr)
    return not complaint


def row(name, unit, digits, figures):
    medians = {malloc: statistics.median(values) for malloc, values in figures.items()}
    first = next(iter(medians.values()))
    ratios = [""] + [f" ({median / first:.2f})" for median in list(medians.values())[1:]]
    cells = [f"{median:.{digits}f}{ratio}" for median, ratio in zip(medians.values(), ratios)]
    print(f"| {name} | {unit} | " + " | ".join(cells) + " |", flush=True)
    print(f"{name}, {unit}: " + ", ".join(f"{malloc} {min(values):.{digits}f} to {max(values):.{digits}f}"
                                          for malloc, values in figures.items()), file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="", help="programs, separated by commas")
    parser.add_argument("--malloc", action="append", default=[], help="NAME=FILE: another malloc")
    given = parser.parse_args()
    root = os.path.realpath(os.path.join(programs.FOLDER, "..", ".."))
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(root, os.path.join(folder, "tarn"))
        mallocs = MALLOCS | dict(one.split("=", 1) for one in given.malloc)
        mallocs = {name: file for name, file in mallocs.items() if here(name, file)}
        mallocs["tarn"] = programs.build_malloc(folder, folder)
        print("| program | | " + " | ".join(mallocs) + " |\n|" + "---|" * (len(mallocs) + 2), flush=True)
        for name, program in programs.programs(folder, folder, root, False).items():
            if given.only and name.split(",")[0] not in given.only.split(","):
                continue
            runs = {malloc: [] for malloc in mallocs}
            for _ in range(given.rounds):
                for malloc in random.sample(list(mallocs), len(mallocs)):
                    with tempfile.TemporaryDirectory(dir=folder) as place:
                        runs[malloc].append(program(mallocs[malloc], place))
            said = {run.said for all_runs in runs.values() for run in all_runs}
            if len(said) != 1:
                sys.exit(f"{name}: the results differ: {said}")
            row(name, "s", 2, {malloc: [run.seconds for run in runs[malloc]] for malloc in mallocs})
            row(name, "MiB", 1, {malloc: [run.peak for run in runs[malloc]] for malloc in mallocs})


if __name__ == "__main__":
    main()
