#!/usr/bin/env python3
"""Has Spin search the model of forks for errors, as runs.txt asks. A case is a run; or whether all of the model is reached.

Usage: run_models.py fork.pml runs.txt
"""

import collections
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support")]

import compilers

NIGHTLY = os.environ.get("TARN_NIGHTLY") == "1"

# {word in runs.txt: what fails, as pan prints it}
FINDINGS = {"half_changed": "changing==0", "never_ends": "acceptance cycle", "deadlock": "invalid end state"}

# Without optimisation clang takes a third of gcc's time. Spin has gcc for a preprocessor.
COMPILER = "clang-19" if shutil.which("clang-19") else "gcc"

# Depth and memory (MB) that no run needs; one that does isn't complete, and fails.
DEPTH = 100000
MEMORY = 6000
INCOMPLETE = ["Search not completed", "max search depth too small", "reached -DMEMLIM", "out of memory", "VECTORSZ"]

Run = collections.namedtuple("Run", "expected names")
Result = collections.namedtuple("Result", "states found unreached seconds fault")


def read_runs(path):
    with open(path, encoding="utf-8") as file:
        lines = [line.split("#")[0].split() for line in file]
    for words in filter(None, lines):
        if words[0] == "nightly" and not NIGHTLY:
            continue
        _, expected, *names = words[words[0] == "nightly":]
        yield Run(expected, tuple(names))


def search(run, source):
    """Builds the model's verifier, runs it, reads what it prints."""
    start = time.monotonic()
    flags = ["-O2", "-DCOLLAPSE"] if NIGHTLY else ["-O0"]  # compiling takes longer than most runs
    fair = "FAIR" in run.names  # looks for what never comes, though no thread that can go on waits for ever
    with tempfile.TemporaryDirectory(prefix="tarn-model-", dir=os.environ.get("TEST_TMPDIR")) as folder:
        for command in [["spin", "-a", *("-D" + name for name in run.names), source],
                        [COMPILER, *flags, "-DNFAIR=3" if fair else "-DSAFETY", "-w", f"-DMEMLIM={MEMORY}", "-o", "pan",
                         "pan.c"],
                        ["./pan", *(["-a", "-f"] if fair else []), f"-m{DEPTH}", "-w24" if NIGHTLY else "-w22"]]:
            done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                  errors="replace", check=False)
            said = done.stdout
            if done.returncode != 0 or "Error" in said:
                return Result(0, None, {}, 0, f"{' '.join(command)}: exit status {done.returncode}\n{said}")
    states = re.search(r"^ *([0-9.e+]+) states, stored", said, re.MULTILINE)
    errors = re.search(r"depth reached \d+, errors: (\d+)", said)
    if not states or not errors:
        return Result(0, None, {}, 0, said)
    found = re.search(r"^pan:1: (?:assertion violated )?\(?(.*?)\)? \(at depth", said, re.MULTILINE) if int(errors[1]) else None
    left = said.partition("unreached in proctype thread\n")[2].partition("unreached in init")[0]
    total = re.search(r"of (\d+) states\)", left)
    unreached = {int(number): place for place, number in re.findall(r"^\s(?:.*/)?(\S+, state (\d+), .*)$", left, re.MULTILINE)}
    fault = next((sign for sign in INCOMPLETE if sign in said and not found), None)
    return Result(int(float(states[1])), found and found[1], (int(total[1]) if total else 0, unreached),
                  time.monotonic() - start, fault)


def judge(run, result):
    """What is wrong with it, or None."""
    if result.fault:
        return result.fault
    if not run.expected.isdigit():
        return None if result.found == FINDINGS[run.expected] else f"must be {run.expected}; found {result.found or 'nothing'}"
    if result.found:
        return "must be right; found " + result.found
    return None if result.states >= int(run.expected) else f"{result.states} states; at least {run.expected} expected"


def never_reached(results):
    """The statements that none of the right runs reaches, compared among runs of equally many statements."""
    groups = collections.defaultdict(list)
    for total, unreached in (result.unreached for result in results):
        groups[total].append(unreached)
    common = [{n: runs[0][n] for n in set.intersection(*map(set, runs))} for total, runs in groups.items() if total]
    least = min(common, key=len, default={0: "no right run"})
    return "\n".join(place for _, place in sorted(least.items())) or None


def main():
    source, table = map(os.path.abspath, sys.argv[1:])
    results = compilers.Results()
    missing = [tool for tool in ("spin", "gcc") if not shutil.which(tool)]
    if missing:
        results.check("models", False, f"{' and '.join(missing)} not found: test/run installs what is missing")
        return results.report()
    right, runs = [], list(read_runs(table))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
        for run, result in zip(runs, workers.map(lambda run: search(run, source), runs)):
            wrong = judge(run, result)
            results.check(f"fork {' '.join(run.names)}: {result.states} states, {result.seconds:.1f} s, "
                          f"{result.found or 'nothing'} found", not wrong, wrong or "")
            if run.expected.isdigit():
                right += [result] if not wrong else []
            elif not wrong:
                print(f"killed  models: fork {' '.join(run.names)}  by models", flush=True)
    unreached = never_reached(right)
    results.check("all of the model is reached", not unreached, unreached or "")
    return results.report()


if __name__ == "__main__":
    sys.exit(main())
