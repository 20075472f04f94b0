#!/usr/bin/env python3
"""Runs each fuzz target on what earlier runs saved, so many times as take 20 seconds, or a quarter of an hour with
TARN_NIGHTLY=1; and each again with mistakes in the library, which it must find. A case is a run.

Usage: run_fuzz.py [targets]     by default all of them
"""

import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [FOLDER, os.path.join(FOLDER, "..", "support")]

import compilers
import mistakes
import saved_inputs

NIGHTLY = "TARN_NIGHTLY" in os.environ

# {target: (executions by day, covered edges at least)}: as many as take about 20 seconds, however long that is; nine tenths of
# what the corpus alone covers.
TARGETS = {"operations": (4_000, 10_000), "pools": (3_500, 10_000), "containers": (6_000, 6_000), "faults": (4_000, 9_400)}
# By night time ends it, so that the run of all has an end.
NIGHTLY_SECONDS = 900
# A mistake that isn't found after so many isn't found. The inputs are the same in every run.
RUNS_FOR_MISTAKES = 20_000
# No run needs so long beside others: for one that hangs.
SECONDS = 3000

COMPILER = "clang++-19"
# Without a look for uses of dead stack frames, which takes a third of the time where much is thrown.
FLAGS = ["-std=c++20", "-g1", "-fsanitize=fuzzer,address,undefined", "-fno-sanitize=vptr", "-fno-sanitize-recover=all",
         "-fsanitize-address-use-after-return=never", *compilers.WARNINGS]
# An input takes milliseconds. The limit of a minute is for one that hangs.
LIMITS = ["-rss_limit_mb=4096", "-timeout=60", "-max_len=600", "-len_control=5"]


class Found(Exception):
    """What a target found, or why it could not run."""


class Target:
    """A program of one target, in a folder of its own."""

    def __init__(self, root, name, first=None):
        self.name = name
        self.folder = tempfile.mkdtemp(prefix=name + "-", dir=root)
        # What must be found is found in a few seconds: compiling, which takes longer, takes half the time without optimisation.
        way = ["-O0", "-g0", f"-I{first}"] if first else ["-O1"]
        self.command = [COMPILER, *FLAGS, *way, "-I.", f"tarn/test/fuzz/{name}.cc"]
        done = subprocess.run([*self.command, "-o", os.path.join(self.folder, name)], cwd=root, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
        if done.returncode:
            raise Found(" ".join(self.command) + "\n" + done.stdout)

    def run(self, *limits):
        """(exit status, what it said, seconds, saved inputs). It adds to a copy of the corpus."""
        corpus = os.path.join(self.folder, "corpus")
        saved = len(saved_inputs.unpack(self.name, corpus))
        environment = dict(os.environ)
        if path := shutil.which("llvm-symbolizer-14") or shutil.which("llvm-symbolizer"):
            environment["ASAN_SYMBOLIZER_PATH"] = path
        start = time.monotonic()
        done = subprocess.run([os.path.join(self.folder, self.name), *LIMITS, *limits, "-print_final_stats=1",
                               f"-artifact_prefix={self.folder}/", corpus], env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", check=False, timeout=SECONDS)
        return done.returncode, done.stdout, time.monotonic() - start, saved

    def find(self, said):
        """The message, the input that led to it, and how to run that again."""
        text = re.findall(r"^(?:tarn: .*|==\d+==ERROR: .*|.*runtime error: .*| +#\d+ .*)$", said, re.MULTILINE)
        lines = [line for line in text if "fuzzer::" not in line][:24]
        for name in sorted(os.listdir(self.folder)):
            if name.startswith(("crash-", "oom-", "timeout-", "leak-")):
                with open(os.path.join(self.folder, name), "rb") as file:
                    lines += ["", "the input, and how to run it in a folder in which `tarn` is a link to the sources:", "",
                              " ".join([*self.command, "-o", self.name]),
                              f"echo {file.read().hex()} | xxd -r -p > {name}", f"./{self.name} {name}"]
        return "\n".join(lines) or said[-3000:]


def numbers(said):
    """Inputs loaded, executions, covered edges, features, inputs in the corpus at the end."""

    def last(pattern):
        found = re.findall(pattern, said, re.MULTILINE)
        return int(found[-1]) if found else 0

    return (last(r"^INFO: seed corpus: files: (\d+)"), last(r"^stat::number_of_executed_units: (\d+)"), last(r"\bcov: (\d+)"),
            last(r"\bft: (\d+)"), last(r"\bcorp: (\d+)"))


def run_target(root, name):
    """(what to say of it, what is wrong or None)"""
    wanted, least_edges = TARGETS[name]
    try:
        target = Target(root, name)
        status, said, seconds, saved = target.run(f"-max_total_time={NIGHTLY_SECONDS}" if NIGHTLY else f"-runs={wanted}")
    except (Found, subprocess.TimeoutExpired) as error:
        return name, str(error)
    loaded, runs, edges, features, kept = numbers(said)
    line = (f"{name}: {runs} executions, {runs / seconds:.0f} per second; {edges} edges, {features} features; "
            f"{loaded} inputs, {kept} in the end")
    if status != 0:
        return line, f"exit status {status}\n{target.find(said)}"
    if saved == 0 or loaded != saved:
        return line, f"{saved} inputs are saved, {loaded} were loaded"
    if runs < wanted and not NIGHTLY:
        return line, f"{wanted} executions expected"
    if edges < least_edges:
        return line, f"at least {least_edges} edges expected"
    return line, None


def run_mistake(root, mistake):
    """As run_target()."""
    line = f"control: {mistake.target} finds {mistake.name}"
    try:
        folder = tempfile.mkdtemp(prefix="mistake-", dir=root)
        mistakes.make(mistake, root, folder)
        target = Target(root, mistake.target, folder)
        status, said, seconds, _ = target.run(f"-runs={RUNS_FOR_MISTAKES}", "-seed=1")
    except (RuntimeError, Found, subprocess.TimeoutExpired) as error:
        return line, str(error)
    found = re.search(r"^(?:tarn: (.*)|==\d+==ERROR: (.*?)(?: on unknown| on address|:? \(| 0x|$).*|.*runtime error: (.*))$",
                      said, re.MULTILINE)
    if status == 0 or found is None:
        return line, f"exit status {status}, nothing found in {numbers(said)[1]} executions\n{said[-1000:]}"
    what = next(filter(None, found.groups()))
    return f"{line}: '{what}' after {numbers(said)[1]} executions, {seconds:.1f} s", None


def main():
    compilers.present([COMPILER])
    wanted = sys.argv[1:] or list(TARGETS)
    root = compilers.include_root()
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(2) as workers:
        jobs = [workers.submit(run_target, root, name) for name in wanted]
        jobs += [workers.submit(run_mistake, root, one) for one in mistakes.MISTAKES if one.target in wanted]
        for job in jobs:
            line, wrong = job.result()
            failed += wrong is not None
            print(("FAIL  " if wrong else "ok    ") + line, flush=True)
            if wrong:
                print("      " + wrong.rstrip().replace("\n", "\n      "), flush=True)
    print(f"{len(jobs) - failed} passed, {failed} failed")
    return 1 if failed or not jobs else 0


if __name__ == "__main__":
    sys.exit(main())
