#!/usr/bin/env python3
"""Builds a program and a plugin in many combinations, runs them, and checks what they share. A case is a run or an object
file.

A combination is: the program's compiler, the plugin's, -fvisibility of both, whether the program is linked with -rdynamic or
without PIE and libraries with -Bsymbolic, and whether it opens the plugin with RTLD_LOCAL or RTLD_GLOBAL or is linked to it.
With the macros of shared_pool.h each static pool has one instance; without, as many as `expected` says: asserted so that a
change is seen. Controls, headers in which a check is missing, must be found out. TARN_NIGHTLY=1 runs all combinations. Pools
that are objects go through several libraries in check_parts.py.
"""

import itertools
import os
import re
import subprocess
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [FOLDER, os.path.join(FOLDER, "..", "support")]

import compilers
import library_code
from builds import COMPILERS, VISIBILITIES, WAYS, Combination, source_object

SECONDS = 600  # A run takes one or two; this is for one that hangs.
POOLS = 4  # as in pools.h

# At least so many of each must have been, in one run.
LEAST = {"exchanged": 200 * POOLS, "reclaimed": 4096}


def run(combination):
    """What the program printed, {name: numbers}, and what is wrong."""
    try:
        program, plugin = combination.link()
        done = subprocess.run([program, plugin, combination.way], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", timeout=SECONDS, check=False)
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


def statics_case(c):
    def wrong():
        said, fault = run(c)
        if fault:
            return fault
        right = [expected(c)] * POOLS
        return None if said["instances"] == right else f"instances {said['instances']}, expected {right}"

    return f"static pools: {c}", wrong


def refused_case(c):
    """The program defines the pools and doesn't show them: the plugin can't be loaded. It never gets pools of its own."""

    def wrong():
        _, fault = run(c)
        return None if fault and "undefined symbol" in fault else fault or "was loaded"

    return f"not loaded: {c}", wrong


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

NO_SHARING = [("extern template struct TARN_SHARED_ ", "static_assert(true); //")]
KEPT_AT_THE_END = [("std::atexit(end_of_library);", "")]


def control_case(what, c, changes, found_out):
    """`changes`: what is replaced in the library. `found_out` says from the output of a run, and its fault, whether what is
    missing was noticed."""

    def wrong():
        try:
            library_code.changed(c.builder.root, changes, os.path.join(c.builder.root, c.first))
        except RuntimeError as error:
            return str(error)
        said, fault = run(c)
        if not found_out(said, fault or ""):
            return f"not found out; {said} {fault}"
        print(f"killed  libraries: {what}  by check_libraries")
        return None

    return f"control: {what} is found out: {c}", wrong


def control_cases(builder):
    sharing = Combination(builder, "with", "clang++-19", "clang++-19", "hidden", False, "linked", first="no-sharing")
    shown = Combination(builder, "without", "clang++-19", "clang++-19", "default", True, "local", first="kept")
    return [control_case("a register with pools of a library that is gone", shown, KEPT_AT_THE_END,
                         lambda said, fault: "exit status -11" in fault),
            control_case("a declaration that is none", sharing, NO_SHARING,
                         lambda said, fault: said.get("instances") == [2] * POOLS)]


# ---- what is run ---------------------------------------------------------------------------------------------------------


def every(builder):
    """(used, not loaded): all combinations of each."""
    flags = [True, False]
    statics = [Combination(builder, *which, symbolic=symbolic) for *which, symbolic in
               itertools.product(("with", "without"), COMPILERS, COMPILERS, VISIBILITIES, flags, WAYS, flags)]
    refused = []
    for compiler, visibility, symbolic in itertools.product(COMPILERS, VISIBILITIES, flags):
        both = [builder, "with", compiler, compiler, visibility]
        more = {"symbolic": symbolic}
        statics += [Combination(*both, True, way, place="program", **more) for way in WAYS]
        statics += [Combination(*both, False, "linked", place=place, code=code, **more) for place in ("program", "plugin")
                    for code in ("-fPIE", "-fno-pie")]
        statics += [Combination(*both, False, way, code="-fno-pie", **more) for way in WAYS]
        refused += [Combination(*both, False, way, place="program", **more) for way in ("local", "global")]
    return statics, refused


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
    return statics + hidden + shown, [of("with", g, g, "hidden", False, "local", place="program")]


def main():
    if compilers.present(COMPILERS) != COMPILERS:
        sys.exit("needs " + " and ".join(COMPILERS))
    nightly = "TARN_NIGHTLY" in os.environ
    builder = compilers.Builder(compilers.include_root())
    statics, refused = every(builder) if nightly else some(builder)

    cases = [statics_case(c) for c in statics] + [refused_case(c) for c in refused]
    cases += [symbols_case(builder, source, *built) for source in ("program", "plugin", "definitions")
              for built in itertools.product(COMPILERS, VISIBILITIES if nightly else ["hidden"])]
    if nightly:
        oldest = compilers.present(["g++", "clang++-14"])[-1]
        cases += [symbols_case(builder, source, oldest, "hidden") for source in ("plugin", "definitions")]
    cases += control_cases(builder)[:None if nightly else 1]

    for c in statics:
        c.compile()
    return compilers.report(cases)


if __name__ == "__main__":
    sys.exit(main())
