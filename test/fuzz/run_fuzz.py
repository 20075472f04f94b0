#!/usr/bin/env python3
"""Fuzzing: each target on what earlier runs saved, so many times as take 25 seconds, or a quarter of an hour with
TARN_NIGHTLY=1; then with a mistake in the library, which it must find: by night with each. A case is a run.
"""

import collections
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
import library_code
import saved_inputs

NIGHTLY = "TARN_NIGHTLY" in os.environ

# {target: (executions by day, covered edges at least)}: as many as take about 25 seconds, however long that is; nine tenths of
# what the corpus alone covers in the optimised program, whose code has fewer edges.
TARGETS = {"operations": (4_000, 16_500), "pools": (3_500, 16_300), "containers": (4_500, 3_900), "faults": (4_000, 15_100)}
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
# By day without what takes a fifth of compiling, and what other tests find under the same sanitizers.
LEAN = [] if NIGHTLY else ["-fno-sanitize=null,alignment,pointer-overflow", "-fno-sanitize-address-use-after-scope"]
# All targets in one program. Optimised, it takes longer to compile than by day to run.
SEARCH = [*LEAN, "-O1" if NIGHTLY else "-O0", "-pthread", "tarn/test/fuzz/all.cc"]
# An input takes milliseconds. The limit of a minute is for one that hangs.
LIMITS = ["-rss_limit_mb=4096", "-timeout=60", "-max_len=600", "-len_control=5", "-print_final_stats=1"]

# Made by replacing a text that stands once in the library; the target must find it.
Mistake = collections.namedtuple("Mistake", "target name old new")
MISTAKES = [
    Mistake("operations", "a block handed out twice", "words_[w] = bits;", "if (bits != 0 || got != n) words_[w] = bits;"),
    Mistake("operations", "a block lost when half of the front goes",
            "move_top(top() + n);", "move_top(top() + n + (kept != 0));"),
    Mistake("pools", "a batch that loses all but one block",
            "stack_.push_chain(first, link_of(last));", "stack_.push_chain(first, link_of(first));"),
    Mistake("pools", "a chunk given back with a block in use", "if (used == 0) return 0;", "if (used <= 1) return 0;"),
    Mistake("containers", "a block that isn't aligned", "round_up(larger(bytes, 1), align);", "larger(bytes, 1);"),
    Mistake("containers", "a block whose content doesn't move along", "std::memcpy(other, block, has < bytes ? has : bytes);",
            "std::memcpy(other, block, has < bytes ? has / 2 : bytes);"),
    Mistake("faults", "a chunk that leaks after a failed growth", "detail::give_back(s_, first_);", ""),
    Mistake("faults", "a chunk given back to the other store", "c->from_second = got.from_second;", ""),
]


def call(command, folder, **more):
    """(exit status, what it said)"""
    try:
        done = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", check=False, timeout=SECONDS, **more)
        return done.returncode, done.stdout
    except subprocess.TimeoutExpired as late:
        return None, f"{(late.stdout or b'').decode(errors='replace')[-3000:]}\nnot done after {SECONDS} s"


def again(path, build, run):
    """How to run an input again."""
    with open(path, "rb") as file:
        return "\n".join(["", "the input, and how to run it in a folder in which `tarn` is a link to the sources:", "",
                          " ".join(build), f"echo {file.read().hex()} | xxd -r -p > input", run])


def search(builder, name, limits, first=None):
    """(exit status, what it said, executions, covered edges, how a find is run again). Throws RuntimeError."""
    folder = tempfile.mkdtemp(prefix=name + "-", dir=builder.root)
    # What must be found is found in a few seconds: compiling, which takes longer, takes half the time without optimisation.
    way = ["-O0", "-g0", f"-I{first}", f"tarn/test/fuzz/{name}.cc"] if first else SEARCH
    build = [COMPILER, *FLAGS, *way, "-I."]
    program = builder.job(os.path.join(folder, name) if first else "search", build).result()
    corpus = os.path.join(folder, "corpus")  # a copy, to which it adds
    saved = len(saved_inputs.unpack(name, corpus))
    symbolizer = shutil.which("llvm-symbolizer-14") or shutil.which("llvm-symbolizer") or ""
    status, said = call([program, *LIMITS, *limits, f"-artifact_prefix={folder}/", corpus], builder.root,
                        env={**os.environ, "ASAN_SYMBOLIZER_PATH": symbolizer, "TARN_FUZZ_TARGET": name})
    loaded, runs, edges = (int((re.findall(pattern, said, re.MULTILINE) or [0])[-1]) for pattern in (
        r"^INFO: seed corpus: files: (\d+)", r"^stat::number_of_executed_units: (\d+)", r"\bcov: (\d+)"))
    if loaded != saved or not saved:
        raise RuntimeError(f"{saved} inputs are saved, {loaded} were loaded\n{said[-3000:]}")
    found = [os.path.join(folder, one) for one in sorted(os.listdir(folder)) if re.match("crash-|oom-|timeout-|leak-", one)]
    return status, said, runs, edges, "".join(again(one, [*build, "-o", "search"], f"TARN_FUZZ_TARGET={name} ./search input")
                                                   for one in found)


def search_case(builder, name):
    wanted, least_edges = TARGETS[name]

    def wrong():
        start = time.monotonic()
        try:
            status, said, runs, edges, how = search(
                builder, name, [f"-max_total_time={NIGHTLY_SECONDS}" if NIGHTLY else f"-runs={wanted}"])
        except RuntimeError as error:
            return str(error)
        print(f"{name}: {runs} executions, {edges} edges, {time.monotonic() - start:.0f} s with compiling", flush=True)
        if status != 0:
            lines = re.findall(r"^(?:tarn: .*|==\d+==ERROR: .*|.*runtime error: .*| +#\d+ .*)$", said, re.MULTILINE)
            return f"exit status {status}\n" + ("\n".join(lines[:24]) or said[-3000:]) + how
        if runs < wanted and not NIGHTLY or edges < least_edges:
            return f"{runs} executions, {edges} edges: at least {wanted}, {least_edges} expected"
        return None

    return f"{name} finds nothing", wrong


def mistake_case(builder, mistake):
    def wrong():
        try:
            folder = tempfile.mkdtemp(prefix="mistake-", dir=builder.root)
            library_code.changed(builder.root, [(mistake.old, mistake.new)], folder)
            status, said, runs, *_ = search(builder, mistake.target, [f"-runs={RUNS_FOR_MISTAKES}", "-seed=1"], folder)
        except RuntimeError as error:
            return str(error)
        if not status or not re.search(r"^tarn: |^==\d+==ERROR: |runtime error: ", said, re.MULTILINE):
            return f"exit status {status}, nothing found in {runs} executions\n{said[-1000:]}"
        print(f"killed  fuzz: {mistake.name}  by {mistake.target}", flush=True)
        return None

    return f"control: {mistake.target} finds {mistake.name}", wrong


def main():
    builder = compilers.Builder(compilers.include_root())
    compilers.present([COMPILER])
    cases = [search_case(builder, name) for name in TARGETS]
    cases += [mistake_case(builder, one) for one in (MISTAKES if NIGHTLY else MISTAKES[:1])]
    return compilers.report(cases)


if __name__ == "__main__":
    sys.exit(main())
