#!/usr/bin/env python3
"""The scripts of bench/: what `--peers` builds and what it says that it skips, and the rows that `--check` measures again."""

import json
import os
import subprocess
import sys
import tempfile

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [FOLDER, os.path.join(FOLDER, "..", "test", "support")]

import compilers
import peers
import processes
import report
import results

# What a CMake does, in place of a minute of compiling: makes the libraries, or fails, or succeeds and makes none.
MAKES = 'case $1 in --build) : >"$2/libmimalloc.so.3"; : >"$2/libsnmallocshim.so" ;; esac\n'
FAILS = "echo no compiler; exit 1\n"


def called(cmake, sources, name="peers"):
    """(exit status, stdout, stderr) of peers.py with a folder that has {path: content}, and a CMake that is this script. The
    folder is `DIR` in what is returned."""
    with tempfile.TemporaryDirectory() as root:
        folder = os.path.join(root, name)
        for path, content in sources.items():
            os.makedirs(os.path.dirname(os.path.join(folder, path)), exist_ok=True)
            with open(os.path.join(folder, path), "w", encoding="utf-8") as file:
                file.write(content)
        commands = os.path.join(root, "bin")
        os.mkdir(commands)
        if cmake is not None:
            with open(os.path.join(commands, "cmake"), "w", encoding="utf-8") as file:
                file.write("#!/bin/sh\n" + cmake)
            os.chmod(file.name, 0o755)
        done = subprocess.run([sys.executable, "-B", peers.__file__, folder], env={**os.environ, "PATH": commands},
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
        return done.returncode, done.stdout.replace(folder, "DIR"), done.stderr.replace(folder, "DIR")


def expect(found, expected):
    return None if found == expected else f"{found}\nexpected {expected}"


def mimalloc(version):
    return {f"mi-{version}/include/mimalloc.h": f"#define MI_MALLOC_VERSION {version}   // and more\n"}


SNMALLOC = {"other name/src/snmalloc/snmalloc.h": "#pragma once\n"}
BOTH = mimalloc(30403) | SNMALLOC
EMPTY = {"README": ""}
NOT_FOUND = "skipped: {}: not found in DIR\n"
NONE = NOT_FOUND.format("mimalloc3") + NOT_FOUND.format("snmalloc")
LIBRARIES = {"mimalloc3": "mimalloc3=DIR/built-for-tarn/mimalloc3/libmimalloc.so.3\n",
             "snmalloc": "snmalloc=DIR/built-for-tarn/snmalloc/libsnmallocshim.so\n"}


def skipped(reason):
    """What is said of both, for one reason; {} is the peer."""
    return "".join(f"skipped: {name}: {reason.format(name, peers.PEERS[name].library)}\n" for name in LIBRARIES)


LOG = "see DIR/built-for-tarn/{0}/log.txt"
PEERS_CASES = [
    ("peers: both are built", MAKES, BOTH, (0, "".join(LIBRARIES.values()), "")),
    ("peers: an empty folder is said to have none", MAKES, EMPTY, (0, "", NONE)),
    ("peers: one of two is said to be skipped", MAKES, SNMALLOC, (0, LIBRARIES["snmalloc"], NOT_FOUND.format("mimalloc3"))),
    ("peers: an older mimalloc isn't taken for 3", MAKES, mimalloc(227), (0, "", NONE)),
    ("peers: the folder itself is a source", MAKES, {"src/snmalloc/snmalloc.h": ""},
     (0, LIBRARIES["snmalloc"], NOT_FOUND.format("mimalloc3"))),
    ("peers: one that doesn't build is said to be skipped", FAILS, BOTH, (0, "", skipped("doesn't build, " + LOG))),
    ("peers: a build that makes nothing is said", "exit 0\n", BOTH, (0, "", skipped("the build made no {1}, " + LOG))),
    ("peers: that there is no CMake is said", None, BOTH, (0, "", skipped("there is no cmake here"))),
    ("peers: no folder is an error", MAKES, {}, (1, "", "--peers: no folder 'DIR'\n")),
]


def blank_case():
    status, out, said = called(MAKES, BOTH, "a blank")
    return expect((status, out, said.count("LD_PRELOAD can't name")), (0, "", 2))


def jobs_case():
    """A peer is one more malloc, but not where the heap is told something."""
    columns = ["malloc", "malloc_huge", "malloc_trimmed", "tarn"]
    jobs = processes.jobs_of(["t/r/" + one for one in columns], {"new": {"LD_PRELOAD": "n.so"}})
    names = [name for _, [name] in jobs]
    wanted = [*processes.MALLOCS, "new", *(f"{one}_huge" for one in processes.HUGE),
              *(f"{one}_trimmed" for one in processes.MALLOCS), "tarn"]
    return expect(names, ["t/r/" + one for one in wanted]) or expect(jobs[4][0], {"LD_PRELOAD": "n.so"})


def tables_of(figures, again=None):
    """The tables that the report reads where {benchmark: seconds} were measured, and some rows again."""
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(os.path.join(folder, "again"))
        for path, values in (("all.json", figures), ("again/all.json", again or {})):
            runs = [{"name": name, "run_type": "iteration", "s_per_op": value} for name, value in values.items()]
            with open(os.path.join(folder, path), "w", encoding="utf-8") as file:
                json.dump({"context": {}, "benchmarks": runs}, file)
        return results.load(folder, os.path.join(folder, "again"))[0]


def limits_of(text):
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(text)
        file.flush()
        return report.read_limits(file.name)


RUN = {"t/a_1/x": 3.0, "t/a_1/y": 2.0, "t/a_2/x": 1.0, "t/a_2/y": 2.0, "t/b_huge/x": 3.0}
LIMITS = "t/a_{1,2}/x t/a_{1,2}/y <= 1\n"


def words(found):
    """The lines of a check, each as a list of words, and how many were missed."""
    lines, missed = found
    return [line.split() for line in lines], missed


def missed_case():
    limits = limits_of(LIMITS + "t/b_huge/x t/a_2/y <= 1\nu/c/x - <= 1\n")
    return expect(report.missed_rows(tables_of(RUN), limits), [("t", "a_1"), ("t", "a_2"), ("t", "b")])


def again_case(value, verdict, number):
    """The second figures count, in all columns of the row, and the first are said."""
    first = tables_of(RUN)
    tables = tables_of(RUN, {"t/a_1/x": value, "t/a_1/y": 4.0})
    expected = [[verdict, "t/a_1/x", "/", "y", f"{value / 4:g}", "<=", "1", "(measured", "again;", "1.5", "before)"],
                ["met", "t/a_2/x", "/", "y", "0.5", "<=", "1"]]
    return expect(words(report.check(tables, first, limits_of(LIMITS))), (expected, number))


def phases_case():
    """A run of which several figures are reported is a row for each of them, and is what is measured again."""
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "all.json"), "w", encoding="utf-8") as file:
            runs = [{"name": "held/hour_64/x", "run_type": "iteration", "held": held, "trimmed": 1.5, "pair": 1e-9,
                     "label": str(held)} for held in (4, 2, 3)]
            json.dump({"context": {}, "benchmarks": runs}, file)
        tables = results.load(folder)[0]
    figures = ("held/hour_64/x", "held/hour_64/x:trimmed", "held/hour_64_trimmed/x", "held/hour_64_pair/x")
    limits = limits_of("held/hour_64_trimmed/x - <= 1\n")
    return (expect([results.look_up(tables, figure) for figure in figures], [3, 1.5, 1.5, 1e-9])
            or expect(tables["held"]["hour_64"]["x"].label, "3")
            or expect(report.missed_rows(tables, limits), [("held", "hour_64")]))


def optional_case():
    """A peer that wasn't measured doesn't count; what must be there does."""
    tables = tables_of(RUN)
    found = [results.look_up(tables, figure) for figure in ("t/a_1/x|y?", "t/a_1/x|none?", "t/a_1/x|none")]
    return expect(found, [2.0, 3.0, None])


def main():
    cases = [(name, lambda cmake=cmake, sources=sources, expected=expected: expect(called(cmake, sources), expected))
             for name, cmake, sources, expected in PEERS_CASES]
    cases += [
        ("peers: a path that LD_PRELOAD can't name is said", blank_case),
        ("processes: a peer is a column", jobs_case),
        ("check: rows of missed limits are measured again", missed_case),
        ("check: met the second time", lambda: again_case(2.0, "met", 0)),
        ("check: missed twice", lambda: again_case(8.0, "MISSED", 1)),
        ("check: a column that may be absent", optional_case),
        ("results: several figures of a run", phases_case),
    ]
    return compilers.report(cases)


if __name__ == "__main__":
    sys.exit(main())
