#!/usr/bin/env python3
"""The scripts of bench/: what `--peers` takes and refuses, the programs that are recorded and those that are skipped, and the
rows that `--check` measures again."""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [FOLDER, os.path.join(FOLDER, "..", "test", "support")]

import compilers
import processes
import report
import results
import traces

# A malloc of its own, and what says which malloc is in the process.
LIBRARY = """
#include <stddef.h>
extern "C" void* __libc_malloc(size_t);
extern "C" void* malloc(size_t bytes) noexcept { return __libc_malloc(bytes); }
"""
NAMES = """
#include <cstdio>
#include "tarn/bench/heap.h"
int main() { std::puts(tarn_bench::name_of_malloc()); }
"""


class Built:
    """What is compiled here, once."""

    def __init__(self, root):
        compiler = compilers.present(["g++", "clang++-19"])[0]
        self.builder = compilers.Builder(root)
        os.symlink(os.path.join(FOLDER, ".."), os.path.join(root, "tarn"))
        for name, text in (("library.cc", LIBRARY), ("names.cc", NAMES)):
            with open(os.path.join(root, name), "w", encoding="utf-8") as file:
                file.write(text)
        self.library = self.job("library.so", compiler, "-shared", "-fPIC", "library.cc")
        self.names = self.job("names", compiler, "-std=c++20", "-I.", "names.cc", "-ldl")
        record = "tarn/tools/tarn_record/"
        self.recorder = self.job("libtarn_record.so", compiler, "-std=c++20", "-shared", "-fPIC", "-fvisibility=hidden",
                                 "-fno-exceptions", "-Wl,--as-needed", record + "recorder.cc", "-ldl", "-pthread")
        self.printer = self.job("tarn_record_print", compiler, "-std=c++20", record + "print.cc")

    def job(self, name, *command):
        return self.builder.job(name, list(command))


def expect(found, expected):
    return None if found == expected else f"{found}\nexpected {expected}"


def peer_case(text, said):
    """What is wrong with a peer is said before anything is built."""
    done = subprocess.run([sys.executable, "-B", processes.__file__, "--peer", text], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    return expect((done.returncode, said in done.stdout), (2 if said else 0, True)) and done.stdout


def run_case(*words, said):
    done = subprocess.run([os.path.join(FOLDER, "run"), *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          check=False)
    return expect((done.returncode, done.stdout), (2, said))


def name_case(built, preload, peer, name):
    """A peer that isn't the malloc of the process isn't measured under its name."""
    library = built.library.result()
    own = {"LD_PRELOAD": library} if preload else {}
    if peer:
        own["TARN_BENCH_PEER"] = f"{peer}={library}"
    outer = {key: value for key, value in os.environ.items() if key not in ("LD_PRELOAD", "TARN_BENCH_PEER")}
    return expect(subprocess.run([built.names.result()], env=outer | own, stdout=subprocess.PIPE, text=True,
                                 check=True).stdout, name + "\n")


def preloaded_case(built):
    """bench/processes.py ends where it measured another malloc than it names."""
    setting = processes.peer(f"mine={built.library.result()}")["mine"]
    if expect(setting["LD_PRELOAD"], built.library.result()):
        return f"{setting}"
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "program")
        with open(program, "w", encoding="utf-8") as file:
            file.write("#!/bin/sh\necho '{\"context\": {}, \"benchmarks\": [{\"name\": \"t/r/malloc\"}]}'\n")
        os.chmod(program, 0o755)
        try:
            processes.run(program, setting, ["t/r/mine"], [])
        except SystemExit as end:
            return None if "instead of ['t/r/mine'] these were measured: ['t/r/malloc']" in str(end) else str(end)
    return "it was taken for the peer"


def traces_case(built, has_programs):
    """Each program that is here is recorded, and what isn't here is said."""
    folder = os.path.dirname(built.recorder.result())
    built.printer.result()
    with tempfile.TemporaryDirectory() as out:
        empty = os.path.join(out, "bin")
        os.mkdir(empty)
        own = {} if has_programs else {"PATH": empty}
        logs = os.path.join(out, "logs")
        done = subprocess.run([sys.executable, "-B", traces.__file__, "--smoke", folder, logs], env={**os.environ, **own},
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        there = [name for name, (program, _) in traces.PROGRAMS.items() if shutil.which(program, path=own.get("PATH"))]
        missing = "".join(f"skipped: traces/{name}: there is no {program} here\n"
                          for name, (program, _) in traces.PROGRAMS.items() if name not in there)
        wrong = expect((done.returncode, done.stdout, sorted(os.listdir(logs))),
                       (0, missing, sorted(f"{one}.log" for one in there)))
        for name in there:
            told = subprocess.run([built.printer.result(), "--summary", os.path.join(logs, name + ".log")], text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
            allocations = re.search(r"^malloc +(\d+)$", told.stdout, re.MULTILINE)
            if told.returncode or not allocations or int(allocations[1]) < 1000:
                wrong = wrong or f"{name}: {told.stdout}"
        return wrong


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


def others_case():
    """The divisor * is the best that isn't tarn's; a column that names.py doesn't know stands before tarn's."""
    tables = tables_of({"t/a/malloc": 3.0, "t/a/new": 2.0, "t/a/tarn_x": 1.0, "t/b/tarn_x": 1.0, "t/a/malloc_trimmed": 4.0})
    found = [results.look_up(tables, figure) for figure in ("t/a/*", "t/b/*", "t/c/*")]
    return (expect(found, [2.0, None, None]) or
            expect(report.columns_of([tables["t"]["a"]]), ["malloc", "new", "tarn_x", "malloc_trimmed"]))


def main():
    with tempfile.TemporaryDirectory() as root:
        return compilers.report(cases_of(Built(root)))


def cases_of(built):
    return [
        ("peers: a library", lambda: peer_case(f"new3={__file__}", "")),
        ("peers: no name", lambda: peer_case(__file__, "is no NAME=LIBRARY")),
        ("peers: a name of two words", lambda: peer_case(f"new_3={__file__}", "is no NAME=LIBRARY")),
        ("peers: another column's name", lambda: peer_case(f"tcmalloc={__file__}", "is the name of another column")),
        ("peers: tarn's name", lambda: peer_case(f"tarn2={__file__}", "is the name of another column")),
        ("peers: no file", lambda: peer_case("new=/none/x.so", "there is no file /none/x.so")),
        ("run: --peers with nothing", lambda: run_case("--peers", said="bench/run: --peers needs NAME=PATH\n")),
        ("run: --peers with no name", lambda: run_case("--peers", "x.so", said="bench/run: --peers needs NAME=PATH\n")),
        ("run: --peers with a folder of no use",
         lambda: run_case(f"--peers=x={FOLDER}", said=f"bench/run: no header of {FOLDER} is in a table\n")),
        ("heap: the C library's", lambda: name_case(built, False, "", "malloc")),
        ("heap: a peer", lambda: name_case(built, True, "mine", "mine")),
        ("heap: a peer that isn't there", lambda: name_case(built, False, "mine", "another malloc")),
        ("processes: another malloc than the peer's", lambda: preloaded_case(built)),
        ("traces: programs are recorded", lambda: traces_case(built, True)),
        ("traces: programs that aren't here are said", lambda: traces_case(built, False)),
        ("check: the best that isn't tarn's", others_case),
        ("processes: a peer is a column", jobs_case),
        ("check: rows of missed limits are measured again", missed_case),
        ("check: met the second time", lambda: again_case(2.0, "met", 0)),
        ("check: missed twice", lambda: again_case(8.0, "MISSED", 1)),
        ("check: a column that may be absent", optional_case),
        ("results: several figures of a run", phases_case),
    ]


if __name__ == "__main__":
    sys.exit(main())
