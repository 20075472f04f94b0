"""Bounds of pools by tools/tarn-bound, beside what an emulator finds. Called by test/bounds/run.

A case is a call of a composition on a processor: it has a bound, not above limits.txt; no call that the emulator finds costs
more; the bound is not much more than what is found; and what the marks claim is true of every call.
"""

import concurrent.futures
import os
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(ROOT, "tools"), os.path.join(ROOT, "test", "support"), HERE]

import adversary
import builds
import compilers
import controls
import emulator
import random_functions
import table
from tarn_bound import report

# {composition: the most that bound / found may be}
COMPOSITIONS = {"lifo_array": 1.0, "interrupts": 1.0, "hardened_array": 2.0, "lifo": 2.0, "batch": 2.0, "lock_free": 2.1}
LOOSER = {"cortex-m0plus": 3.0, "cortex-m0plus-Os": 4.0}  # "lifo": it divides by a function, which counts as for 32 bits
ASSUMED = ("no_misuse", "store_idle", "no_nulls", "secret_drawn")
LIMITS = os.path.join(HERE, "limits.txt")


def figures(bound):
    return [*bound.cost[:3], bound.stack, bound.cost[3]]


def looked_at(build, folder):
    """{(composition, call): (bound, found)} of a build, and [(name, why)] of what is wrong."""
    compositions = [name for name in COMPOSITIONS if name != "lock_free" or build.has_lock_free]
    names = [f"{call}_{name}" for name in compositions for call in ("take", "give", "reserve")]
    program = builds.compiled(build, os.path.join(HERE, "pools.cc"), folder, "-DTARN_MARKS", names=names)
    rows, wrong = {}, []
    for name in compositions:
        found, machine_wrong, bounds = played(program, build, name)
        wrong += [(f"{build.name} {name}: what the marks say", list(machine_wrong))]
        for call, bound in bounds.items():
            rows[name, call] = figures(bound), found[call]
            why = list(bound.faults)
            if any(a > b for a, b in zip(found[call], figures(bound))):
                why.append(f"found {found[call]}, which is more than the bound {figures(bound)}")
            most = LOOSER.get(build.name, 2.0) if name == "lifo" else COMPOSITIONS[name]
            if bound.cost[0] > most * found[call][0]:
                why.append(f"the bound {bound.cost[0]} is more than {most} times {found[call][0]}, which was found")
            wrong.append((f"{build.name} {name}: {call}", why))
    return rows, wrong


def played(program, build, name):
    """({call: the most that was found}, what was claimed and isn't so, {call: Bound})"""
    bounds, assumed = {}, ASSUMED + (("alone",) if name == "lock_free" else ())
    for call in ("take", "give"):
        facts = [os.path.join(HERE, file.format(call)) for file in build.facts]
        [bounds[call]] = report.bounds(program, lambda _, call=call: [f"{call}_{name}"], build.cpu, assumed, facts)
    its = bounds["take"].image
    machine = emulator.Machine(its, report.decoder_for(its, build.cpu), build.cpu, assumed)
    player = adversary.Player(machine, name, {call: bound.loops for call, bound in bounds.items()}, seed=1)
    player.play(steps=1000)
    return {"take": player.taken.most, "give": player.given.most}, machine.wrong, bounds


def above(rows, limits):
    """[(name, why)] of bounds above their limits."""
    found = []
    for (build, name, call), (bound, _) in rows.items():
        limit = limits.get((build, name, call))
        why = []
        if limit is None:
            why = ["limits.txt has no row for it; test/bounds/run --write writes one"]
        elif any(a > b for a, b in zip(bound, limit[0])):
            why = [f"{bound}, above its limit {limit[0]}"]
        found.append((f"{build} {name}: {call}, its limit", why))
    found += [(f"{' '.join(row)}: in limits.txt", ["nothing is compiled for it"]) for row in limits.keys() - rows.keys()]
    return found


def main():
    words = sys.argv[1:]
    if words not in ([], ["--write"]):
        sys.exit("usage: test/bounds/run [--write]")
    rows, cases = {}, []
    with tempfile.TemporaryDirectory(prefix="tarn-bounds-") as folder:
        with concurrent.futures.ProcessPoolExecutor(os.cpu_count()) as pool:
            all_of_them = builds.builds()
            work = [pool.submit(looked_at, build, folder) for build in all_of_them]
            others = [pool.submit(one.cases, folder) for one in (controls, random_functions)]
            for build, one in zip(all_of_them, work):
                its, wrong = one.result()
                rows.update({(build.name, *key): value for key, value in its.items()})
                cases += wrong
            cases += [case for one in others for case in one.result()]
    if words:
        table.write_limits(LIMITS, rows)
        table.write_page(rows, all_of_them)
    cases += above(rows, table.read_limits(LIMITS)) + table.self_tests(rows, above)
    cases.append(("docs/bounds.md: its table", table.page_differs(table.read_limits(LIMITS), all_of_them)))
    results = compilers.Results()
    for name, why in cases:
        results.check(name, not why, "\n".join(why))
    return results.report()


if __name__ == "__main__":
    sys.exit(main())
