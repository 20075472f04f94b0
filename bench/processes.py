"""Measures a table for bench/run: each column of each row in a process of its own, in rounds of random order.

The column of the heap is measured four times: with the C library's malloc, and with those that LD_PRELOAD puts in its place.
Each peer that bench/peers.py built is one more of those.
"""

import argparse
import concurrent.futures
import contextlib
import json
import os
import random
import subprocess
import sys
import time

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


def come_first():
    """Whoever else is here waits, where that is allowed: some figures are wall times. Sessions share the cores with each other,
    and the process has one of its own, so the share of that is set as well."""
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, -20)
        with open("/proc/self/autogroup", "w", encoding="ascii") as share:
            share.write("-20")


def run(program, malloc, names, flags):
    """The results of the benchmarks `names` in one process, and what is said about the machine."""
    environment = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"} | malloc
    pattern = "^(" + "|".join(names) + ")/"
    done = subprocess.run([program, *flags, f"--benchmark_filter={pattern}", "--benchmark_format=json"], env=environment,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, start_new_session=True,
                          preexec_fn=come_first)
    if done.returncode != 0:
        raise SystemExit(f"{pattern} with {malloc}: {done.stderr}")
    document = json.loads(done.stdout or "{}")
    measured = sorted("/".join(one["name"].split("/")[:3]) for one in document.get("benchmarks", []))
    if measured != sorted(names):  # a library that isn't there leaves the C library's malloc, whose column has another name
        raise SystemExit(f"with {malloc}, instead of {names} these were measured: {measured}\n{done.stderr}")
    return document["benchmarks"], document["context"]


def jobs_of(names, peers):
    """[(environment, [name])]: each benchmark; that of the heap once for each malloc. Peers are measured as they are: how they
    are asked for huge pages, or to give back, isn't known here."""
    jobs = []
    for name in names:
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
    parser.add_argument("program")
    parser.add_argument("result", help="Google Benchmark's JSON, of all processes")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--parallel", type=int, default=1, help="processes at the same time, where time isn't measured")
    parser.add_argument("--enough", type=float, default=240,
                        help="seconds: where others take their share of the machine, there are fewer rounds, but three")
    parser.add_argument("--row", action="append", default=[], help="only this row; may be repeated")
    parser.add_argument("--peer", action="append", default=[], metavar="NAME=LIBRARY", help="one more malloc; may be repeated")
    parser.add_argument("--quick", action="store_true", help="less work, where that isn't time")
    parser.add_argument("--smoke", action="store_true", help="once, and many columns in one process")
    options = parser.parse_args()

    listed = subprocess.run([options.program, "--benchmark_list_tests"], stdout=subprocess.PIPE, text=True, check=True)
    names = ["/".join(line.split("/")[:3]) for line in listed.stdout.split()]
    names = [name for name in names if not options.row or name.split("/")[1] in options.row]
    jobs = jobs_of(names, {name: {"LD_PRELOAD": library} for name, _, library in (one.partition("=") for one in options.peer)})
    flags = ["--quick"] if options.quick else []
    if options.smoke:
        flags = ["--smoke"]
        settings = [setting for i, (setting, _) in enumerate(jobs) if setting not in [other for other, _ in jobs[:i]]]
        jobs = [(setting, [name for one, names in jobs if one == setting for name in names]) for setting in settings]

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
