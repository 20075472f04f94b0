"""Measures the table "threads" for bench/run: each column of each row in a process of its own, in rounds of random order.

The column of the heap is measured four times: with the C library's malloc, and with those that LD_PRELOAD puts in its place.
"""

import argparse
import contextlib
import json
import os
import random
import subprocess
import sys
import time

# The column that the program names after the malloc it finds in its process, and what must be preloaded for that.
MALLOCS = {
    "malloc": None,
    "jemalloc": "libjemalloc.so.2",
    "tcmalloc": "libtcmalloc_minimal.so.4",
    "mimalloc": "libmimalloc.so.2",
}

ENOUGH = 240  # seconds: where others take their share of the machine, there are fewer rounds


def come_first():
    """Whoever else is here waits, where that is allowed: most figures are wall times. Sessions share the cores with each other, and
    the process has one of its own, so the share of that is set as well."""
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, -20)
        with open("/proc/self/autogroup", "w", encoding="ascii") as share:
            share.write("-20")


def run(program, preload, names, flags):
    """The results of the benchmarks `names` in one process, and what is said about the machine."""
    environment = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
    if preload:
        environment["LD_PRELOAD"] = preload
    pattern = "^(" + "|".join(names) + ")/"
    done = subprocess.run([program, *flags, f"--benchmark_filter={pattern}", "--benchmark_format=json"], env=environment,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, start_new_session=True,
                          preexec_fn=come_first)
    if done.returncode != 0:
        raise SystemExit(f"{pattern} with {preload}: {done.stderr}")
    document = json.loads(done.stdout or "{}")
    measured = sorted("/".join(one["name"].split("/")[:3]) for one in document.get("benchmarks", []))
    if measured != sorted(names):  # a library that isn't there leaves the C library's malloc, whose column has another name
        raise SystemExit(f"with {preload}, instead of {names} these were measured: {measured}\n{done.stderr}")
    return document["benchmarks"], document["context"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program")
    parser.add_argument("result", help="Google Benchmark's JSON, of all processes")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--smoke", action="store_true", help="once, and many columns in one process")
    options = parser.parse_args()

    listed = subprocess.run([options.program, "--benchmark_list_tests"], stdout=subprocess.PIPE, text=True, check=True)
    names = ["/".join(line.split("/")[:3]) for line in listed.stdout.split()]
    jobs = [(None, [name]) for name in names if not name.endswith("/malloc")]
    for malloc, preload in MALLOCS.items():
        jobs += [(preload, [name[:-len("malloc")] + malloc]) for name in names if name.endswith("/malloc")]
    flags = []
    if options.smoke:
        flags = ["--smoke"]
        jobs = [(preload, [name for one, names in jobs if one == preload for name in names]) for preload in MALLOCS.values()]

    measured = []
    context = {}
    began = time.monotonic()
    for number in range(options.rounds):
        if number >= 3 and (time.monotonic() - began) * (number + 1) / number > ENOUGH:
            break
        random.shuffle(jobs)
        for preload, names in jobs:
            results, context = run(options.program, preload, names, flags)
            measured += results
    with open(options.result, "w", encoding="utf-8") as file:
        json.dump({"context": context, "benchmarks": measured}, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
