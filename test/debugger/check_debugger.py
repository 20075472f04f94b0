#!/usr/bin/env python3
"""Drives the real gdb and the real lldb on core dumps of specimen.cc, which says itself what is in its pools: what the scripts
of tools/gdb and tools/lldb tell must be the same, also for optimised programs, by two compilers.

usage: check_debugger.py
"""

import concurrent.futures
import os
import re
import subprocess
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(FOLDER, "../..")
sys.path[:0] = [os.path.join(ROOT, "test/support")]

import compilers

SECONDS = 300  # for what hangs
GDB, LLDB = "gdb", "lldb-19"
# (debugger, compiler, how it is optimised, argument)
RUNS = [(GDB, "g++", "-O0", ""), (GDB, "g++", "-O2", "damaged"), (GDB, "clang++-19", "-O2", ""),
        (LLDB, "clang++-19", "-O2", ""), (LLDB, "g++", "-O2", "")]
# What must be said of a block.
WORDS = {"used": r"\nin use\b", "free": r"\nfree\b", "front": r"\nfree, at the front of the list",
         "magazine": r"\nfree, in a magazine of (thread slot \d+|the depot)", "never": r"\nnever used",
         "none": r"is in no block of a pool that has a name", "corrupted": r"\nthe pool is corrupted: it lists 0x1234560"}


def run(command, root):
    done = subprocess.run(command, cwd=root, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=SECONDS, errors="replace", check=False)
    return done.stdout


def built(root, compiler, level):
    name = f"specimen{level}-{compiler}"
    if not os.path.exists(os.path.join(root, name)):
        subprocess.run([compiler, "-std=c++20", "-g", level, "-I.", *compilers.WARNINGS, "tarn/test/debugger/specimen.cc", "-o",
                        name, "-pthread"], cwd=root, check=True, timeout=SECONDS)
    return name


def dumped(root, program, argument):
    """What the program said, and its core dump."""
    core = f"{program}{argument}.core"
    run([GDB, "-q", "-batch", "-ex", "set startup-with-shell on", "-ex", f"run {argument} > {core}.said", "-ex",
         f"generate-core-file {core}", program], root)
    with open(os.path.join(root, core + ".said"), encoding="utf-8") as file:
        return file.read(), core


def asked(root, debugger, program, core, commands):
    """Answers of a debugger that was given these commands."""
    mark = "answer-ends-here"
    if debugger == GDB:
        script = [f"source {ROOT}/tools/gdb/tarn.py"]
        for command in commands:
            script += [command, f"echo {mark}\\n"]
        steps = [word for line in script for word in ("-ex", line)]
        said = run([GDB, "-q", "-batch", "-ex", "set pagination off", program, core, *steps], root)
    else:
        script = [f"command script import {ROOT}/tools/lldb/tarn.py", f"target create {program} --core {core}"]
        for command in commands:
            script += [command, f"script print('{mark}')"]
        steps = [word for line in script for word in ("-o", line)]
        said = run([LLDB, "-b", "-x", *steps], root)
        said = re.sub(r"^(\(lldb\).*|error: .*DW_TAG.*)\n", "", said, flags=re.MULTILINE)
    return said.split(mark + "\n")


def rows_of(table):
    """{name: (in use, capacity)}"""
    lines = table[table.find("NAME "):].splitlines()[1:]
    rows = [line.split() for line in lines if line.strip()]
    return {row[0]: (row[2], row[3]) for row in rows if len(row) > 8}


def check_words(words, answer):
    """What is wrong with an answer, or None."""
    if words.startswith("used 3 bytes"):
        fits = "3 bytes into it\nin use" in answer
    else:
        fits = any(re.search(WORDS[one], "\n" + answer) for one in words.split(" or "))
    return None if fits else f"wanted {words}, and it says\n{answer}"


def cases(results, root, debugger, compiler, level, argument):
    program = built(root, compiler, level)
    said, core = dumped(root, program, argument)
    title = f"{debugger}, {compiler} {level}{', damaged' if argument else ''}"
    pools = {name: (used, capacity) for name, used, capacity in re.findall(r"^pool (\S+) (\d+) (\d+)$", said, re.MULTILINE)}
    blocks = re.findall(r"^block (\S+) (0x[0-9a-f]+) (.+)$", said, re.MULTILINE)
    if argument:
        pools["lifo"] = ("corrupted", pools["lifo"][1])
        blocks = [(name, address, "corrupted" if name == "lifo" else words) for name, address, words in blocks]
    show, block = ("info pools", "pool block") if debugger == GDB else ("tarn pools", "tarn block")
    answers = asked(root, debugger, program, core, [show, *(f"{block} {address}" for _, address, _ in blocks), block])
    if len(answers) < len(blocks) + 2:
        results.check(f"{title}: an answer to each command", False, "\n".join(answers))
        return answers[0], pools
    results.check(f"{title}: {len(pools)} pools", len(pools) >= 15 and rows_of(answers[0]) == pools,
                  f"wanted {pools}\n{answers[0]}")
    wrong = [f"{name}: {fault}" for (name, _, words), answer in zip(blocks, answers[1:])
             if (fault := check_words(words, answer.replace(" bytes into it\nthe pool", "\nthe pool")))]
    results.check(f"{title}: {len(blocks)} addresses", len(blocks) >= 47 and not wrong, "\n".join(wrong[:3]))
    sites = [answer for (name, _, words), answer in zip(blocks, answers[1:]) if name == "checked" and words == "used"]
    results.check(f"{title}: where a block comes from", "allocated seq 2 thread 1 at orders.cc:12" in sites[0], sites[0])
    results.check(f"{title}: no address", "which address?" in answers[len(blocks) + 1],
                  answers[len(blocks) + 1])
    return answers[0], pools


def self_tests(results, table, pools):
    """What must be found out is."""
    other = re.sub(r"^(cached +\d+ +)\d+", r"\g<1>777", table, flags=re.MULTILINE)
    results.check("self-test: another number", rows_of(table) == pools != rows_of(other))
    results.check("self-test: a pool too few", rows_of(table.replace("cached ", "", 1)) != pools)
    results.check("self-test: another state", check_words("front", "block #1\nin use") is not None)
    results.check("self-test: a block that isn't found", check_words("used", "0x1 is in no block of a pool that has a name"))


def check_printer(results, root):
    """In a frame of the program: a variable that is a pool."""
    program = built(root, "g++", "-O0")
    said = run([GDB, "-q", "-batch", "-ex", f"source {ROOT}/tools/gdb/tarn.py", "-ex", "break abort", "-ex", "run > /dev/null",
                "-ex", "frame function main", "-ex", "print standard", program], root)
    results.check("gdb prints a pool", 'pool "standard" <64 bytes>, 200 of 448 blocks in use, 3 chunks' in said, said)


def check_service(results, root):
    """examples/service.cc, optimised, which aborts in the middle of its work."""
    subprocess.run(["g++", "-std=c++20", "-g", "-O2", "-I.", "tarn/examples/service.cc", "-o", "service", "-pthread"], cwd=root,
                   check=True, timeout=SECONDS)
    core = "service.core"
    run([GDB, "-q", "-batch", "-ex", "run socket crash > service.said", "-ex", f"generate-core-file {core}", "service"],
        root)
    answer = asked(root, GDB, "service", core, ["info pools"])[0]
    rows = rows_of(answer)
    right = {"messages", "orders", "sessions", "texts/32"} <= set(rows) and all(
        int(used) <= int(capacity) != 0 for used, capacity in rows.values())
    results.check("the service that aborted", right and abs(int(rows["orders"][0]) - int(rows["texts/32"][0])) <= 1,
                  answer)  # each order has a note, whenever it stops


def check_stripped(results, root):
    """Without debug information it says so."""
    program = built(root, "g++", "-O2")
    run(["strip", "-g", "-o", "stripped", program], root)
    _, core = dumped(root, "stripped", "")
    answer = asked(root, GDB, "stripped", core, ["info pools"])[0]
    results.check("a program without debug information", "No pool has a name" in answer, answer)


def main():
    results = compilers.Results()
    root = compilers.include_root()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
        list(workers.map(lambda how: built(root, *how), dict.fromkeys((compiler, level) for _, compiler, level, _ in RUNS)))
    for one in RUNS:
        table, pools = cases(results, root, *one)
    self_tests(results, table, pools)
    check_printer(results, root)
    check_service(results, root)
    check_stripped(results, root)
    return results.report()


if __name__ == "__main__":
    sys.exit(main())
