"""What must be refused or found out, and programs that aren't tarn's."""

import json
import os
import shutil
import subprocess
import sys

import builds
import emulator
from tarn_bound import report

HERE = os.path.dirname(os.path.abspath(__file__))
TOOL = os.path.join(builds.ROOT, "tools", "tarn-bound")
REFUSED = {  # function: what tarn-bound must say of it
    "no_mark": "a loop without a bound, at test/bounds/controls.cc:",
    "indirect": "an indirect ",
    "table": " jump",
    "recursive": "a function that calls itself, recursive",
    "two_loops": "a loop without a bound, at test/bounds/controls.cc:",
    "sometimes_marked": "a loop without a bound, at test/bounds/controls.cc:",
    "sized": "a stack frame of a size that isn't known",
    "ungranted": "no TARN_ROUNDS(nobody_grants)",
}
FOUND_OUT = {  # function: what the emulator must say of a call with 8
    "wrong_mark": "was passed more than",
    "wrong_not_if": "was reached, though small is assumed",
    "wrong_rounds": "more rounds of few than were granted",
    "wrong_choice": "of the places marked way, more than one was passed",
}

# No call with 8 may cost more than the bound with these facts.
KEPT = {"aligned": "", "logs": "never log"}


def tool(*words, options=("-B",)):
    """(exit status, stdout, stderr) of tarn-bound."""
    done = subprocess.run([sys.executable, *options, TOOL, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    return done.returncode, done.stdout, done.stderr


def cases(folder):
    """[(name, [why it is wrong])]"""
    found = []
    for build in builds.builds():
        if build.name in ("x86-64", "cortex-m4", "cortex-m0plus", "riscv32"):
            program = builds.compiled(build, os.path.join(HERE, "controls.cc"), folder, "-DTARN_MARKS", "-DWITH_MARKS",
                                      names=[*REFUSED, *FOUND_OUT, *KEPT, "right_mark", "around"])
            found += refused(build, program) + found_out(build, program) + elsewhere(build, folder)
            found += other_functions(build, program, folder)
    return found + statuses(folder)


def refused(build, program):
    found = []
    for name, expected in REFUSED.items():
        status, said, _ = tool(program, name)
        found.append((f"{build.name}: {name} is refused", [] if status == 1 and expected in said else [f"{status}: {said}"]))
    return found


def played(build, program, name, *arguments, assumed=(), facts=()):
    """(Bound, what the emulator counted, what it found wrong)"""
    [bound] = report.bounds(program, lambda _: [name], build.cpu, assumed, facts)
    machine = emulator.Machine(bound.image, report.decoder_for(bound.image, build.cpu), build.cpu, assumed)
    machine.expect(bound.loops)
    machine.call(bound.image.symbols[name], *arguments, counted=True)
    return bound, machine.cost, list(machine.wrong)


def found_out(build, program):
    found = []
    for name, expected in FOUND_OUT.items():
        assumed = ("small",) if name == "wrong_not_if" else ()
        bound, cost, wrong = played(build, program, name, 8, assumed=assumed)
        is_right = not bound.faults and any(expected in one for one in wrong)
        found.append((f"{build.name}: {name} is found out", [] if is_right else [f"{bound.faults}, {wrong}"]))
        if name == "wrong_mark":
            why = [] if cost[0] <= bound.cost[0] else ["its cost alone would have shown it"]
            found.append((f"{build.name}: {name} costs less than its bound", why))
    bound, cost, wrong = played(build, program, "right_mark", 8)
    why = [] if not bound.faults and not wrong and cost[0] == bound.cost[0] else [f"{bound.cost}, {cost}, {wrong}"]
    found.append((f"{build.name}: right_mark is right, to the instruction", why))
    wrong = played(build, program, "right_mark", 9)[2]
    return found + [(f"{build.name}: right_mark is found out where it isn't", [] if wrong else ["nothing is wrong"])]


def other_functions(build, program, folder):
    """Facts are of the loop and the function that they name, not of the loop around it, or of a name that has theirs within."""
    facts = os.path.join(folder, "facts")
    found = []
    for name, fact in KEPT.items():
        with open(facts, "w", encoding="utf-8") as file:
            file.write(fact)
        [bound] = report.bounds(program, lambda _, name=name: [name], build.cpu, (), [facts])
        machine = emulator.Machine(bound.image, report.decoder_for(bound.image, build.cpu), build.cpu, ())
        most = [0] * 5
        for place in range(0, 64, 16):  # of the stack, which some align
            machine.call(bound.image.symbols[name], 8, counted=True, below=place)
            most = list(map(max, most, [*machine.cost, machine.depth]))
        is_right = not bound.faults and all(a <= b for a, b in zip(most, [*bound.cost, bound.stack]))
        found.append((f"{build.name}: {name} costs its bound at most", [] if is_right else [f"{most}, {bound}"]))
    with open(os.path.join(HERE, "controls.cc"), encoding="utf-8") as source:
        line = next(number for number, text in enumerate(source, 1) if "// the inner line" in text)
    with open(facts, "w", encoding="utf-8") as file:
        file.write(f"loop controls.cc:{line} 3")
    status, said, _ = tool(program, "around", "--facts", facts)
    is_right = status == 1 and said.count("a loop without a bound") == 1
    return found + [(f"{build.name}: a fact of a loop isn't one of the loop around it", [] if is_right else [said])]


def elsewhere(build, folder):
    """A program that isn't tarn's, compiled elsewhere: a list of messages, and a loop that a file of facts bounds."""
    source = shutil.copy(os.path.join(HERE, "elsewhere.cc"), folder)
    program = builds.compiled(build, source, folder, names=["fill", "get", "send"])
    facts = os.path.join(HERE, "elsewhere.txt")
    found = []
    status, said, _ = tool(program, "send", "--json")
    is_right = status == 1 and any("elsewhere.cc:" in why for why in json.loads(said)[0]["why"])
    found.append((f"{build.name}: elsewhere.cc without facts has no bound", [] if is_right else [said]))
    status, said, _ = tool(program, "send", "get", "--facts", facts, "--path")
    is_right = status == 0 and "get: " in said and "23 more rounds of the loop at" in said
    found.append((f"{build.name}: elsewhere.cc with facts has a bound, and a path", [] if is_right else [said]))
    [bound] = report.bounds(program, lambda _: ["send"], build.cpu, (), [facts])
    machine = emulator.Machine(bound.image, report.decoder_for(bound.image, build.cpu), build.cpu, ())
    machine.call(bound.image.symbols["fill"])
    machine.expect(bound.loops)
    machine.call(bound.image.symbols["send"], 24, counted=True)
    is_right = machine.cost[0] == bound.cost[0] and not machine.wrong
    why = [] if is_right else [f"{machine.cost}, {bound.cost}"]
    return found + [(f"{build.name}: elsewhere.cc costs what its bound says", why)]


def statuses(folder):
    """Exit statuses, for scripts."""
    program = os.path.join(folder, "cortex-m4-elsewhere.cc.elf")
    text = os.path.join(folder, "text")
    with open(text, "w", encoding="utf-8") as file:
        file.write("loop\n")
    negative = os.path.join(folder, "negative")
    with open(negative, "w", encoding="utf-8") as file:
        file.write("cost get -7 0 0\n")
    expected = {
        ("a bound", 0): (program, "get"),
        ("a bound that is kept", 0): (program, "get", "--at-most", "100"),
        ("a bound that is too high", 1): (program, "get", "--at-most", "1"),
        ("no ELF file", 2): (text, "get"),
        ("no file", 2): (os.path.join(folder, "none"), "get"),
        ("no such function", 2): (program, "put"),
        ("an assumption that no mark names", 2): (program, "get", "--assume", "luck"),
        ("a file that holds no facts", 2): (program, "get", "--facts", text),
        ("a fact with a number below 0", 2): (program, "get", "--facts", negative),
        ("a processor that has no table", 2): (program, "get", "--cpu", "cortex-m7"),
    }
    found = []
    for (name, status), words in expected.items():
        got, said, error = tool(*words)
        is_right = got == status and (status != 2 or error.startswith("tarn-bound: ") and error.count("\n") == 1)
        found.append((f"status {status}: {name}", [] if is_right else [f"{got}: {said}{error}"]))
    got, _, error = tool(program, "get", options=("-B", "-E", "-S"))  # PyPI's packages aren't found
    is_right = got == 2 and error.startswith("tarn-bound: it needs capstone and pyelftools")
    return found + [("status 2: without capstone it says what it needs", [] if is_right else [f"{got}: {error}"])]
