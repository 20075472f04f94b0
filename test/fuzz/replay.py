#!/usr/bin/env python3
"""Runs what earlier fuzzing saved through the targets, under g++'s address sanitizer. A case is the corpus of a target, or a
regression. With TARN_NIGHTLY=1 also a control, a mistake in the library that some input must find.

Usage: replay.py [targets]     by default all of them
"""

import os
import re
import subprocess
import sys
import tempfile

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [FOLDER, os.path.join(FOLDER, "..", "support")]

import compilers
import mistakes
import saved_inputs

TARGETS = ["containers", "faults", "operations", "pools"]
COMPILER = "g++"
# Its warnings are about attributes of clang's; run_fuzz.py compiles the same with all warnings.
COMMAND = [COMPILER, "-std=c++20", "-O0", "-g1", "-fsanitize=address", "-Wno-attributes", "-I.", "-pthread",
           "tarn/test/fuzz/replay.cc"]
CONTROL = "a block handed out twice"  # one of mistakes.py
SECONDS = 600  # Hundred times what it takes: for an input that hangs.


def program(builder, mistake=None):
    """The job of the program."""
    if mistake is None:
        return builder.job("replay", COMMAND)
    folder = tempfile.mkdtemp(prefix="mistake-", dir=builder.root)
    mistakes.make(mistake, builder.root, folder)
    return builder.job(os.path.basename(folder) + ".out", [COMPILER, "-I" + folder, *COMMAND[1:], "-g0"])


def run(job, target, paths):
    """(inputs that it ran through, exit status, what it said). Throws RuntimeError."""
    try:
        done = subprocess.run([job.result(), target, *paths], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", check=False, timeout=SECONDS)
    except subprocess.TimeoutExpired as late:
        last = re.findall(r"^(.*), \d+ bytes$", (late.stdout or b"").decode(errors="replace"), re.MULTILINE)[-1:]
        raise RuntimeError(f"not done after {SECONDS} s, with {''.join(last)}") from None
    total = re.search(r"^(\d+) inputs$", done.stdout, re.MULTILINE)
    return int(total[1]) if total else 0, done.returncode, done.stdout


def last_input(said):
    """What it said of the last input, and how to run that again."""
    path = re.findall(r"^(.*), \d+ bytes$", said, re.MULTILINE)[-1:]
    report = said[said.rfind(" bytes\n") + 7:][:3000] if path else said[-3000:]
    if not path:
        return report
    with open(path[0], "rb") as file:
        return "\n".join([report, "the input, and how to run it in a folder in which `tarn` is a link to the sources:", "",
                          " ".join([*COMMAND, "-o", "replay"]), f"echo {file.read().hex()} | xxd -r -p > input"])


def replay_case(job, target, what, paths):
    def wrong():
        try:
            ran, status, said = run(job, target, paths)
        except RuntimeError as error:
            return str(error)
        if not paths:
            return "nothing is saved"
        if status != 0:
            return f"exit status {status}\n{last_input(said)}\n./replay {target} input"
        return None if ran == len(paths) else f"{ran} inputs ran, {len(paths)} are saved"

    return f"{target}: {what}", wrong


def control_case(builder, mistake, paths):
    def wrong():
        try:
            ran, status, said = run(program(builder, mistake), mistake.target, paths)
        except RuntimeError as error:
            return str(error)
        found = status != 0 and re.search(r"^tarn: |AddressSanitizer", said, re.MULTILINE)
        return None if found else f"exit status {status}, {ran} inputs, nothing found\n{said[-1000:]}"

    return f"control: {mistake.target} finds {mistake.name}", wrong


def main():
    compilers.present([COMPILER])
    wanted = sys.argv[1:] or TARGETS
    builder = compilers.Builder(compilers.include_root())
    job = program(builder)
    cases, saved = [], {}
    for target in wanted:
        folder = os.path.join(builder.root, "inputs", target)
        saved[target] = saved_inputs.unpack(target, folder)
        others = [name for name, _ in saved_inputs.regressions(target)]
        corpus = [path for path in saved[target] if os.path.basename(path) not in others]
        cases.append(replay_case(job, target, f"{len(corpus)} inputs of the corpus", corpus))
        cases += [replay_case(job, target, f"regression {name}", [os.path.join(folder, name)]) for name in others]
    if "TARN_NIGHTLY" in os.environ:
        cases += [control_case(builder, one, saved[one.target]) for one in mistakes.MISTAKES
                  if one.name == CONTROL and one.target in wanted]
    return compilers.report(cases)


if __name__ == "__main__":
    sys.exit(main())
