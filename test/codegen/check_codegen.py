#!/usr/bin/env python3
"""Disassembles pools and counts what a hit executes. A case is a function and a compiler; limits.txt holds the limits.

Usage: check_codegen.py limits.txt hot_path.cc controls.cc statics.cc
"""

import os
import platform
import subprocess
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [FOLDER, os.path.join(FOLDER, "..", "support")]

import compilers
import disassembly

FLAGS = ["-std=c++20", "-O2", "-I.", "-fcf-protection=none", *compilers.WARNINGS]
MEMBERS = ["allocate", "try_allocate", "deallocate"]
BRANCHES = 1  # or what `branches=N` says in the composition's row


def compile_to(compiler, root, source):
    """The object file, or None after saying why not."""
    target = os.path.join(root, os.path.basename(source) + "-" + compiler + ".o")
    done = subprocess.run([compiler, *FLAGS, "-c", "tarn/" + source, "-o", target], cwd=root, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace")
    if done.returncode:
        print(done.stdout)
    return None if done.returncode else target


def read_limits(path):
    """Rows (composition, {member: limit}, like or reason, must be found out, branches)."""
    rows = []
    with open(path, encoding="utf-8") as file:
        for words in (line.split("#")[0].split() for line in file):
            if words:
                limits = dict(zip(MEMBERS, map(int, words[1:4]), strict=True))
                branches = [int(word[9:]) for word in words[4:] if word.startswith("branches=")]
                others = [word for word in words[4:] if not word.startswith("branches=")]
                rows.append((words[0].lstrip("!"), limits, others[0] if others else None, words[0][0] == "!",
                             branches[0] if branches else BRANCHES))
    return rows


def faults(cost, limit, branches):
    """{what is wrong with it: the sentence}"""
    wrong = {}
    if cost.instructions > limit:
        wrong["instructions"] = f"{cost.instructions} instructions, limit {limit}"
    if cost.branches > branches:
        wrong["branches"] = f"{cost.branches} conditional branches, limit {branches}"
    if cost.locks:
        wrong["lock"] = f"{cost.locks} lock prefixes, limit 0"
    if cost.calls:
        wrong["call"] = f"{cost.calls} calls, limit 0"
    return wrong


def hit_case(compiler, costs, row, member):
    composition, limits, other, must_fail, branches = row

    def run():
        cost = costs.get(composition + "_" + member)
        if cost is None:
            return "is not in the object file"
        wrong = faults(cost, limits[member], branches)
        if must_fail:
            return None if other in wrong else f"must be refused for its {other}; found {wrong or 'nothing'}"
        if wrong:
            return "; ".join(wrong.values())
        if other and cost != costs[other + "_" + member]:
            return f"{cost}, but {other} has {costs[other + '_' + member]}"
        return None

    return f"{composition} {member} ({compiler})", run


def is_guard(name):
    return name.startswith("guard variable for")


def static_cases(compiler, good, bad):
    """What may not be in an object file with static pools; and that it is seen where it is."""
    def guards(path):
        return sorted(filter(is_guard, disassembly.symbols(path)))

    def initialisers(path):
        """But the one that tells the system of forks, which has a priority; clang 14 adds an empty one without."""
        of_file = [body for name, body in disassembly.functions(path).items() if name.startswith("_GLOBAL__sub_I")]
        if of_file and all(len(body) == 1 for body in of_file):
            return []
        return [name for name in disassembly.sections(path)
                if name.startswith((".init_array", ".ctors")) and not name.endswith("101")]

    def outside_bss(path):
        pools = {name: section for name, section in disassembly.symbols(path).items()
                 if "static_body<zeroed" in name and name.endswith("::body")}
        return [f"{name} in {section}" for name, section in pools.items() if not section.startswith(".bss")] if pools else [
            "no pool at all"]

    for name, find in [("guard variable", guards), ("initialiser", initialisers), ("pool outside .bss", outside_bss)]:
        yield (f"static pools: no {name} ({compiler})",
               lambda find=find: "found " + ", ".join(find(good)) if find(good) else None)
        yield f"mistake: {name} ({compiler})", lambda find=find: None if find(bad) else "found none"


def print_table(rows, costs):
    print(f"{'instructions on a hit':<26}" + "".join(f"{compiler:>24}" for compiler in costs))
    print(f"{'':<26}" + "".join(f"{'alloc  try  free':>24}" for _ in costs))
    for composition, *_ in rows:
        line = f"{composition:<26}"
        for found in costs.values():
            cells = [found.get(composition + "_" + member) for member in MEMBERS]
            line += f"{'  '.join(f'{cell.instructions:>4}' if cell else '   -' for cell in cells):>24}"
        print(line)


def main():
    limits, hot_path, controls, statics = sys.argv[1:]
    if platform.machine() != "x86_64":
        return compilers.report([(f"{platform.machine()} is not x86-64: nothing is disassembled", lambda: None)])
    rows = read_limits(limits)
    root = compilers.include_root()
    costs = {}
    cases = []
    for compiler in compilers.present():
        objects = [compile_to(compiler, root, source) for source in (hot_path, controls, statics)]
        if None in objects:
            cases.append((f"compiles ({compiler})", lambda: "see above"))
            continue
        found = {name: disassembly.hit(body) for path in objects[:2] for name, body in disassembly.functions(path).items()
                 if name.endswith(tuple("_" + member for member in MEMBERS)) and not name.startswith("_Z")}
        costs[compiler] = found
        cases += [hit_case(compiler, found, row, member) for row in rows for member in MEMBERS]
        cases += static_cases(compiler, objects[2], objects[1])
    print_table(rows, costs)
    return compilers.report(cases)


if __name__ == "__main__":
    sys.exit(main())
