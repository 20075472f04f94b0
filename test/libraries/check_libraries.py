#!/usr/bin/env python3
"""Builds a program and a plugin in many combinations, runs them, and checks what they share. A case is a run or an object
file.

A combination is: the program's compiler, the plugin's, -fvisibility of both, whether the program is linked with -rdynamic or
without PIE and libraries with -Bsymbolic, and whether it opens the plugin with RTLD_LOCAL or RTLD_GLOBAL or is linked to it.
With the macros of shared_pool.h each static pool has one instance; without, as many as `expected` says: asserted so that a
change is seen. Pools that are objects are used by both sides at once, also over forks, then by the program when the plugin
is gone. Controls, headers in which a check is missing, must be found out. TARN_NIGHTLY=1 runs all combinations.
"""

import collections
import itertools
import os
import re
import subprocess
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [FOLDER, os.path.join(FOLDER, "..", "support")]

import compilers
from builds import COMPILERS, VISIBILITIES, WAYS, Combination, changed_header, source_object

SECONDS = 600  # A run takes one or two; this is for one that hangs.
POOLS = 4  # static ones, as in pools.h
KINDS = 3  # of pools that are objects, as in pools.h
LIVES = 2 * KINDS  # program.cc opens the plugin anew for each
FORKS = 4 * LIVES

# At least so many of each must have been, in one run.
LEAST = {"exchanged": 200 * POOLS, "reclaimed": 4096, "handed over": 500, "collected": 1000, "kept apart": 60}
# And so many in all runs together.
LEAST_IN_ALL = {("with", 1): 11, ("without", 1): 2, ("without", 2): 6, "handed over": 8_000, "forks": 8 * FORKS,
                "unloaded": 3 * LIVES}
NIGHTLY_LEAST = {("with", 1): 130, ("without", 1): 16, ("without", 2): 80, "handed over": 200_000, "forks": 192 * FORKS,
                 "unloaded": 60 * LIVES}


def run(combination, what, *words):
    """What the program printed, {name: numbers}, and what is wrong."""
    try:
        program, plugin = combination.link()
        done = subprocess.run([program, what, plugin, combination.way, *words], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", timeout=SECONDS, check=False)
    except RuntimeError as error:
        return {}, str(error)
    except subprocess.TimeoutExpired:
        return {}, f"not done after {SECONDS} s"
    if done.returncode != 0 or not done.stdout.endswith("done\n"):
        return {}, f"exit status {done.returncode}\n{done.stdout}"
    said = {name: [int(n) for n in numbers.split()]
            for name, numbers in re.findall(r"^([a-z ]+?)((?: \d+)+)$", done.stdout, re.MULTILINE)}
    few = [f"{name}: {said[name][0]}, at least {least} expected" for name, least in LEAST.items()
           if name in said and said[name][0] < least and not (name == "exchanged" and 2 in said["instances"])]
    return said, few[0] if few else None


def expected(c):
    """Instances of each static pool. With the macros one, but where the library that defines and uses it was told to look
    for nothing elsewhere, and the program has a copy by its linker's doing (-fno-pie; g++'s programs always).
    Without, nothing shares them on purpose: symbols meet where both sides show them. A hidden one is never shown, and a
    program shows its own only to libraries that it is linked to, or to all with -rdynamic."""
    if c.macros == "with":
        return 2 if c.place == "plugin" and c.symbolic and (c.compiler == "g++" or c.code == "-fno-pie") else 1
    return 1 if c.visibility == "default" and not c.symbolic and (c.rdynamic or c.way == "linked") else 2


def statics_case(c, tally):
    def wrong():
        said, fault = run(c, "statics")
        if fault:
            return fault
        tally[c.macros, max(said["instances"])] += 1
        right = [expected(c)] * POOLS
        return None if said["instances"] == right else f"instances {said['instances']}, expected {right}"

    return f"static pools: {c}", wrong


def refused_case(c):
    """The program defines the pools and doesn't show them: the plugin can't be loaded. It never gets pools of its own."""

    def wrong():
        _, fault = run(c, "statics")
        return None if fault and "undefined symbol" in fault else fault or "was loaded"

    return f"not loaded: {c}", wrong


def objects_case(c, first, tally):
    def wrong():
        said, fault = run(c, "objects", first)
        if fault:
            return fault
        tally["handed over"] += said["handed over"][0]
        tally["forks"] += said["forks"][0]
        tally["unloaded"] += said["gone"][0]
        return None if said["lives"] == [LIVES] and said["forks"] == [FORKS] else f"not all was run: {said}"

    return f"pool objects, {first} first: {c}", wrong


def symbols_case(builder, source, compiler, visibility):
    """With the macros an object file only refers to the pools' bodies, except the one that defines them."""

    def wrong():
        try:
            path = source_object(builder, source, compiler, visibility, "with").result()
        except RuntimeError as error:
            return str(error)
        said = subprocess.run(["nm", "-C", path], stdout=subprocess.PIPE, text=True, check=True).stdout
        kinds = re.findall(r" (\w) tarn::detail::static_body<tarn::test::(?!\(anonymous).*>::body$", said, re.MULTILINE)
        expected = "U" if source != "definitions" else "u" if compiler == "g++" else "V"
        return None if kinds == [expected] * POOLS else f"{kinds}, expected {POOLS} of kind {expected}"

    return f"{source} {'defines' if source == 'definitions' else 'refers to'} the pools ({compiler}, {visibility})", wrong


# ---- what must be found out -------------------------------------------------------------------------------------------

NO_DOMAINS = {"policies/locking/detail/thread_slots.h": {"return domain.load(memory_order_relaxed) == me.domain;":
                                                     "return me.offset[0] != 1;"},
              "policies/locking/detail/magazine_exchange.h": {"if (owner != me.domain) return nullptr;": ""}}
NO_SHARING = {"allocator/shared_pool.h": {"extern template struct TARN_SHARED_ ": "static_assert(true); //"}}
KEPT_AT_THE_END = {"policies/detail/reclaim_list.h": {"std::atexit(end_of_reclaim);": ""}}


def control_case(what, c, words, headers, found_out):
    """`headers`: what is replaced in them. `found_out` says from the output of a run of these words, and its fault, whether
    what is missing was noticed."""

    def wrong():
        try:
            for header, changes in headers.items():
                changed_header(c.builder, c.first, header, changes)
        except RuntimeError as error:
            return str(error)
        said, fault = run(c, *words)
        return None if found_out(said, fault or "") else f"not found out; {said} {fault}"

    return f"control: {what} is found out: {c}", wrong


def control_cases(builder):
    domains = Combination(builder, "without", "clang++-19", "clang++-19", "hidden", False, "local", first="no-domains")
    sharing = Combination(builder, "with", "clang++-19", "clang++-19", "hidden", False, "linked", first="no-sharing")
    shown = Combination(builder, "without", "clang++-19", "clang++-19", "default", True, "local", first="kept")
    return [control_case("a register with pools of a library that is gone", shown, ["statics"], KEPT_AT_THE_END,
                         lambda said, fault: "exit status -11" in fault),
            control_case("magazines that don't tell domains apart", domains, ["objects", "program"], NO_DOMAINS,
                         lambda said, fault: re.search("exit status -|fault: a ", fault)),
            control_case("a declaration that is none", sharing, ["statics"], NO_SHARING,
                         lambda said, fault: said.get("instances") == [2] * POOLS)]


# ---- what is run ---------------------------------------------------------------------------------------------------------


def every(builder):
    """(static pools, pool objects, not loaded): all combinations of each."""
    flags = [True, False]
    statics = [Combination(builder, *which, symbolic=symbolic) for *which, symbolic in
               itertools.product(("with", "without"), COMPILERS, COMPILERS, VISIBILITIES, flags, WAYS, flags)]
    objects = [c for c in statics if c.macros == "without"]
    refused = []
    for compiler, visibility, symbolic in itertools.product(COMPILERS, VISIBILITIES, flags):
        both = [builder, "with", compiler, compiler, visibility]
        more = {"symbolic": symbolic}
        statics += [Combination(*both, True, way, place="program", **more) for way in WAYS]
        statics += [Combination(*both, False, "linked", place=place, code=code, **more) for place in ("program", "plugin")
                    for code in ("-fPIE", "-fno-pie")]
        statics += [Combination(*both, False, way, code="-fno-pie", **more) for way in WAYS]
        refused += [Combination(*both, False, way, place="program", **more) for way in ("local", "global")]
    return statics, objects, refused


def some(builder):
    """The same, with each value of each choice, and few files to compile."""
    g, clang = COMPILERS

    def of(macros, compiler, other, visibility, rdynamic, way, **more):
        return Combination(builder, macros, compiler, other, visibility, rdynamic, way, **more)

    statics = [of("with", *pair, "hidden", False, way) for pair in ((g, clang), (clang, g)) for way in WAYS]
    statics += [of("with", clang, clang, "hidden", True, "local", symbolic=True),
                of("with", clang, clang, "default", True, "local"),  # the plugin's functions are the program's, and stay
                of("with", g, g, "hidden", True, "local", place="program"),
                of("with", g, g, "hidden", False, "linked", place="plugin"),
                of("with", g, g, "hidden", False, "linked", place="plugin", symbolic=True),
                of("with", clang, clang, "hidden", False, "linked", place="plugin", symbolic=True)]
    hidden = [of("without", *pair, "hidden", *how) for pair in ((g, clang), (clang, clang))
              for how in ((False, "local"), (True, "linked"))]
    shown = [of("without", clang, clang, "default", *how) for how in ((True, "local"), (False, "linked"), (False, "global"))]
    shown.append(of("without", clang, clang, "default", True, "global", symbolic=True))
    return statics + hidden + shown, hidden + shown, [of("with", g, g, "hidden", False, "local", place="program")]


def main():
    if compilers.present(COMPILERS) != COMPILERS:
        sys.exit("needs " + " and ".join(COMPILERS))
    nightly = "TARN_NIGHTLY" in os.environ
    builder = compilers.Builder(compilers.include_root())
    instances, totals = collections.Counter(), collections.Counter()
    statics, objects, refused = every(builder) if nightly else some(builder)

    cases = [statics_case(c, instances) for c in statics] + [refused_case(c) for c in refused]
    firsts = ["program", "plugin"]
    cases += [objects_case(c, first, totals) for i, c in enumerate(objects)
              for first in (firsts if nightly else [firsts[i // 2 % 2]])]
    cases += [symbols_case(builder, source, *built) for source in ("program", "plugin", "definitions")
              for built in itertools.product(COMPILERS, VISIBILITIES if nightly else ["hidden"])]
    if nightly:
        oldest = compilers.present(["g++", "clang++-14"])[-1]
        cases += [symbols_case(builder, source, oldest, "hidden") for source in ("plugin", "definitions")]
    cases += control_cases(builder)[:None if nightly else 1]

    for c in statics + objects:
        c.compile()
    passed = compilers.report(cases) == 0
    print("\n".join(f"{macros} the macros: {n} of each pool in {times} combinations"
                    for (macros, n), times in sorted(instances.items())))
    print("\n".join(f"{name}: {n}" for name, n in totals.items()))
    few = [name for name, least in (NIGHTLY_LEAST if nightly else LEAST_IN_ALL).items() if (instances | totals)[name] < least]
    for name in few:
        print(f"too few: {name}")
    return 0 if passed and not few else 1


if __name__ == "__main__":
    sys.exit(main())
