#!/usr/bin/env python3
"""Has Spin search the models for errors, as runs.txt asks. A case is a run; or whether a model says what the code does; or
whether all of a model is ever reached.

Usage: run_models.py mirrors files.pml            whether they say what the code does; needs no Spin
       run_models.py search runs.txt files.pml    the rest
"""

import collections
import concurrent.futures
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support")]

import library_code
import mirrors

NIGHTLY = os.environ.get("TARN_NIGHTLY") == "1"

# {word in runs.txt: the assertion that fails, as pan prints it}
FINDINGS = {
    "popped_by_two": r"owner\[number\]==0",
    "in_two_places": r"owner\[n\]==0|\(x!=0\)&& !\(\(\(seen&.*|\(in_use&free_blocks\)==0",
    "lost": r"owner\[n\]!=0|seen==.*",
    "carved_twice": r"owner\[first\]==255",
    "refused": r" ?!\(\(\(last_try&&.*",
    "not_its_slot": r"holder\[\w+\]==me",
    "id_taken_twice": r"holder\[\w+\]==0",
    "id_not_given_back": r"ids==1",
    "magazine_lost": r"n==made|n<=made",
    "took_from_empty": r"n!=0",
    "put_into_full": r"n!=[1-9]",
    "handed_out_twice": r"\(b!=0\)&& !\(\(\(in_use&.*",
    "written_to_in_use": r"\(content\[.*\]!=0\)&& !\(\(\(in_use&.*",
    "unguarded": r"guard==me",
    "half_changed": r"changing==0",
    "never_ends": r"acceptance cycle",
    "deadlock": r"invalid end state",
}

# Without optimisation clang takes a third of gcc's time. Spin has gcc for a preprocessor.
COMPILER = "clang-19" if shutil.which("clang-19") else "gcc"

# Depth and memory (MB) that no run needs; one that does isn't complete, and fails.
DEPTH = 100000
MEMORY = 6000
INCOMPLETE = ["Search not completed", "max search depth too small", "reached -DMEMLIM", "out of memory", "VECTORSZ"]

Run = collections.namedtuple("Run", "model expected names")
Result = collections.namedtuple("Result", "states depth found unreached seconds fault")


def read_runs(path):
    with open(path, encoding="utf-8") as file:
        lines = [line.split("#")[0].split() for line in file]
    for words in filter(None, lines):
        if words[0] != "nightly":
            yield Run(words[0], words[1], tuple(words[2:]))
        elif NIGHTLY:
            yield Run(words[1], words[2], tuple(words[3:]))


def call(folder, *command):
    done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                          check=False)
    return done.returncode, done.stdout


def finding(said):
    """The word for the assertion that failed; or the assertion."""
    text = re.search(r"^pan:1: (?:assertion violated )?(.*?) \(at depth", said, re.MULTILINE)
    if text is None:
        return None
    bare = text[1][1:-1] if text[1].startswith("(") and text[1].endswith(")") else text[1]
    return next((word for word, pattern in FINDINGS.items() if re.fullmatch(pattern, bare)), text[1])


def search(run, sources):
    """Builds a model's verifier, runs it, reads what it prints."""
    start = time.monotonic()
    long = NIGHTLY and run.expected.isdigit()
    flags = ["-O2", "-DCOLLAPSE"] if long else ["-O0"]  # compiling takes longer than most runs
    fair = "FAIR" in run.names  # looks for what never comes, though no thread that can go on waits for ever
    flags.append("-DNFAIR=3" if fair else "-DSAFETY")
    with tempfile.TemporaryDirectory(prefix="tarn-model-", dir=os.environ.get("TEST_TMPDIR")) as folder:
        for command in [["spin", "-a", *("-D" + name for name in run.names), sources[run.model]],
                        [COMPILER, *flags, "-w", "-DVECTORSZ=512", f"-DMEMLIM={MEMORY}", "-o", "pan", "pan.c"],
                        ["./pan", *(["-a", "-f"] if fair else []), f"-m{DEPTH}", "-w24" if long else "-w22"]]:
            status, said = call(folder, *command)
            if status != 0 or "Error" in said:
                return Result(0, 0, None, {}, 0, f"{' '.join(command)}: exit status {status}\n{said}")
    states = re.search(r"^ *([0-9.e+]+) states, stored", said, re.MULTILINE)
    errors = re.search(r"depth reached (\d+), errors: (\d+)", said)
    if not states or not errors:
        return Result(0, 0, None, {}, 0, said)
    found = finding(said) if int(errors[2]) else None
    left = said.partition("unreached in proctype thread\n")[2].partition("unreached in init")[0]
    total = re.search(r"of (\d+) states\)", left)
    unreached = {int(number): place for place, number in re.findall(r"^\s(?:.*/)?(\S+, state (\d+), .*)$", left, re.MULTILINE)}
    fault = next((sign for sign in INCOMPLETE if sign in said and not found), None)
    return Result(int(float(states[1])), int(errors[1]), found, (int(total[1]) if total else 0, unreached),
                  time.monotonic() - start, fault)


def judge(run, result):
    """What is wrong with it, or None."""
    if result.fault:
        return result.fault
    if run.expected.isdigit():
        if result.found:
            return "must be right; found " + result.found
        if result.states < int(run.expected):
            return f"{result.states} states; at least {run.expected} expected"
        return None
    if run.expected not in FINDINGS:
        return "no such word"
    return None if result.found == run.expected else f"must be {run.expected}; found {result.found or 'nothing'}"


def never_reached(results):
    """The statements that none of the right runs reaches, compared among runs of equally many statements."""
    groups = collections.defaultdict(list)
    for result in results:
        groups[result.unreached[0]].append(result.unreached[1])
    if not groups:
        return "no right run"
    common = [{n: runs[0][n] for n in set.intersection(*map(set, runs))} for total, runs in groups.items() if total]
    least = min(common, key=len, default={0: "?"})
    places = [place for _, place in sorted(least.items())]
    return "\n".join(places[:10] + [f"and {len(places) - 10} more"] * (len(places) > 10)) or None


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def mirror_cases(path, code):
    """(name, what is wrong): with the code, and with code in which one of the mirrored calls has another name."""
    claims = mirrors.claims(read(path))
    yield (f"{os.path.basename(path)} mirrors {sum(map(len, claims.values()))} functions",
           "\n".join(mirrors.differences(read(path), code)) or ("none" if not claims else None))
    missed = []
    tried = 0
    for owner, functions in claims.items():
        for name in {re.split(r"\.|::", token)[-1] for _, tokens in functions for token in tokens}:
            tried += 1
            if not mirrors.differences(read(path), code.renamed(owner, name)):
                missed.append(f"{owner} {name}")
    yield f"{os.path.basename(path)}: each of {tried} changes of the code is noticed", ", ".join(missed) or None


def main():
    what, *paths = sys.argv[1:]
    failed = passed = 0

    def report(name, wrong):
        nonlocal failed, passed
        failed, passed = failed + bool(wrong), passed + (not wrong)
        print(("FAIL  " if wrong else "ok    ") + name, flush=True)
        if wrong:
            print("      " + wrong.rstrip().replace("\n", "\n      "), flush=True)

    if what == "mirrors":
        code = library_code.Code(library_code.texts(glob.glob("policies/**/*.h", recursive=True)))
        for path in paths:
            for case in mirror_cases(path, code):
                report(*case)
    elif missing := [tool for tool in ("spin", "gcc") if not shutil.which(tool)]:
        report("models", f"{' and '.join(missing)} not found: no model was checked. test/run installs what is missing.")
    else:
        table, *models = paths
        sources = {os.path.basename(path)[:-4]: os.path.abspath(path) for path in models}
        right = collections.defaultdict(list)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
            runs = list(read_runs(table))
            for run, result in zip(runs, workers.map(lambda run: search(run, sources), runs)):
                report(f"{run.model} {' '.join(run.names)}: {result.states} states, depth {result.depth}, "
                       f"{result.seconds:.1f} s, {result.found or 'nothing'} found", judge(run, result))
                if run.expected.isdigit() and not judge(run, result):
                    right[run.model].append(result)
                elif not judge(run, result):
                    print(f"killed  models: {run.model} {' '.join(run.names)}  by models", flush=True)
        for model in sorted({run.model for run in runs}):
            report(f"{model}: all of it is reached", never_reached(right[model]))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
