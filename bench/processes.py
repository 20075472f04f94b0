"""Measures a table for bench/run: each column of each row in a process of its own, in rounds of random order.

The column of the heap is measured four times: with the C library's malloc, and with those that LD_PRELOAD puts in its place.
Each peer is one more of those, a library that the user has built.
"""

import argparse
import concurrent.futures
import contextlib
import json
import os
import random
import re
import subprocess
import sys
import time

import names

# The column that the program names after the malloc it finds in its process, and what must be preloaded for that.
MALLOCS = {
    "malloc": {},
    "jemalloc": {"LD_PRELOAD": "libjemalloc.so.2"},
    "tcmalloc": {"LD_PRELOAD": "libtcmalloc_minimal.so.4"},
    "mimalloc": {"LD_PRELOAD": "libmimalloc.so.2"},
}
# How those that can are told to ask for huge pages, which is the column malloc_huge.
HUGE = {
    "malloc": {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1"},
    "jemalloc": MALLOCS["jemalloc"] | {"MALLOC_CONF": "thp:always"},
    "mimalloc": MALLOCS["mimalloc"] | {"MIMALLOC_LARGE_OS_PAGES": "1"},
}


def peer(text):
    """{name: environment} of NAME=LIBRARY. Throws ArgumentTypeError with what is wrong."""
    name, sign, library = text.partition("=")
    library = os.path.abspath(library)
    if not sign or not re.fullmatch("[a-z][a-z0-9]*", name):
        raise argparse.ArgumentTypeError(f"'{text}' is no NAME=LIBRARY; a name is of small letters and digits")
    if name in names.COLUMNS or name.startswith(("tarn", "bare")):
        raise argparse.ArgumentTypeError(f"'{name}' is the name of another column")
    if not os.path.isfile(library):
        raise argparse.ArgumentTypeError(f"there is no file {library}")
    if re.search(r"[\s:]", library):
        raise argparse.ArgumentTypeError(f"LD_PRELOAD can't name {library}, which has a blank or a colon")
    return {name: {"LD_PRELOAD": library, "TARN_BENCH_PEER": f"{name}={library}"}}


def come_first():
    """Whoever else is here waits, where that is allowed: some figures are wall times. Sessions share the cores with each other,
    and the process has one of its own, so the share of that is set as well."""
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, -20)
        with open("/proc/self/autogroup", "w", encoding="ascii") as share:
            share.write("-20")


def run(program, malloc, benchmarks, flags):
    """The results of `benchmarks` in one process, and what is said about the machine."""
    environment = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"} | malloc
    pattern = "^(" + "|".join(benchmarks) + ")/"
    done = subprocess.run([program, *flags, f"--benchmark_filter={pattern}", "--benchmark_format=json"], env=environment,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, start_new_session=True,
                          preexec_fn=come_first)
    if done.returncode != 0:
        raise SystemExit(f"{pattern} with {malloc}: {done.stderr}")
    document = json.loads(done.stdout or "{}")
    measured = sorted("/".join(one["name"].split("/")[:3]) for one in document.get("benchmarks", []))
    if measured != sorted(benchmarks):  # a library that isn't there leaves the C library's malloc, which has another name
        raise SystemExit(f"with {malloc}, instead of {benchmarks} these were measured: {measured}\n{done.stderr}")
    return document["benchmarks"], document["context"]


def jobs_of(benchmarks, peers):
    """[(environment, [name])]: each benchmark; that of the heap once for each malloc. Peers are measured as they are: how they
    are asked for huge pages, or to give back, isn't known here."""
    jobs = []
    for name in benchmarks:
        row, column = name.rsplit("/", 1)
        malloc, _, suffix = column.partition("_")
        if malloc != "malloc":
            jobs.append(({}, [name]))
            continue
        mallocs = HUGE if suffix == "huge" else MALLOCS if suffix else MALLOCS | peers
        jobs += [(setting, [f"{row}/{malloc}{suffix and '_'}{suffix}"]) for malloc, setting in mallocs.items()]
    return jobs


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", nargs="?", help="without it, only the arguments are checked")
    parser.add_argument("result", nargs="?", help="Google Benchmark's JSON, of all processes")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--parallel", type=int, default=1, help="processes at the same time, where time isn't measured")
    parser.add_argument("--enough", type=float, default=240,
                        help="seconds: where others take their share of the machine, there are fewer rounds, but three")
    parser.add_argument("--row", action="append", default=[], help="only this row; may be repeated")
    parser.add_argument("--peer", action="append", default=[], type=peer, metavar="NAME=LIBRARY", help="one more malloc")
    parser.add_argument("--quick", action="store_true", help="less work, where that isn't time")
    parser.add_argument("--smoke", action="store_true", help="once, and many columns in one process")
    options = parser.parse_args()
    if options.program is None:
        return 0

    listed = subprocess.run([options.program, "--benchmark_list_tests"], stdout=subprocess.PIPE, text=True, check=True)
    listed = ["/".join(line.split("/")[:3]) for line in listed.stdout.split()]
    listed = [name for name in listed if not options.row or name.split("/")[1] in options.row]
    jobs = jobs_of(listed, {name: setting for one in options.peer for name, setting in one.items()})
    flags = ["--quick"] if options.quick else []
    if options.smoke:
        flags = ["--smoke"]
        settings = [setting for i, (setting, _) in enumerate(jobs) if setting not in [other for other, _ in jobs[:i]]]
        jobs = [(setting, [name for one, its in jobs if one == setting for name in its]) for setting in settings]

    measured = []
    context = {}
    began = time.monotonic()
    for number in range(options.rounds):
        if number >= 3 and (time.monotonic() - began) * (number + 1) / number > options.enough:
            break
        random.shuffle(jobs)
        with concurrent.futures.ThreadPoolExecutor(options.parallel) as pool:
            for results, context in pool.map(lambda job: run(options.program, *job, [*flags, f"--seed={number}"]), jobs):
                measured += results
    with open(options.result, "w", encoding="utf-8") as file:
        json.dump({"context": context, "benchmarks": measured}, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
