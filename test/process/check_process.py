#!/usr/bin/env python3
"""Uses static pools through the whole life of a process, in every order in which three units can be linked. A case is a run.

Each unit's static objects hold blocks from before main() until after it; atexit handlers, thread-local destructors, detached
threads and a library that is loaded and unloaded use the pools while the process ends. Two controls, pools that are made late
or that end, must be found out. TARN_NIGHTLY=1: with g++ too, under the address sanitizer, and without exceptions.
"""

import itertools
import os
import re
import subprocess
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(FOLDER, "..", "support")]

import compilers

ORDERS = ["".join(order) for order in itertools.permutations("012")]
FLAGS = ["-std=c++20", "-I.", "-pthread", *compilers.WARNINGS]
PLAIN = ["-O0"]
CHECKED = ["-O1", "-g1", "-fsanitize=address", "-fno-omit-frame-pointer"]
NARROW = ["-O1", "-fno-exceptions", "-fno-rtti"]
ENDS, LATE = ["-DCONTROL_ENDS"], ["-DCONTROL_LATE"]

SECONDS = 600  # A run takes less than one; this is for one that hangs.

# What one run counts: three units, a handler of each before and after main() and one of main's, threads as in program.cc.
EXACT = {"before main": 3, "after main": 3, "at exit": 7, "thread ends": 11, "detached ends": 8, "containers end": 6,
         "library begins": 2, "library ends": 2, "left": 0, "faults": 0}
LEAST = {"detached runs": 300, "runs while the process ends": 30, "library runs": 100}


class Parts:
    """Of the program, each made once."""

    def __init__(self):
        self.builder = compilers.Builder(compilers.include_root())

    def objects(self, compiler, flags):
        """The jobs of program.cc and of the three units."""
        jobs = []
        for name, source, more in [("program", "program", [])] + [("unit" + n, "unit", ["-DUNIT=" + n]) for n in "012"]:
            target = "-".join([name, compiler, *[flag.lstrip("-") for flag in flags]]).replace("=", "-") + ".o"
            command = [compiler, *FLAGS, *flags, *more, "-c", f"tarn/test/process/{source}.cc"]
            jobs.append(self.builder.job(target, command))
        return jobs

    def library(self, compiler, flags):
        """The job of the library that comes and goes. g++ would mark it as one that stays."""
        target = "-".join(["library", compiler, *[flag.lstrip("-") for flag in flags]]).replace("=", "-") + ".so"
        really = ["-fno-gnu-unique"] if compiler == "g++" else []
        return self.builder.job(target, [compiler, *FLAGS, *flags, *really, "-shared", "-fPIC", "-fvisibility=hidden",
                                         "tarn/test/process/library.cc"])

    def program(self, compiler, flags, order):
        program, *units = [job.result() for job in self.objects(compiler, flags)]
        name = "-".join(["run", compiler, order, *[flag.lstrip("-") for flag in flags]]).replace("=", "-")
        shown = "-Wl,--export-dynamic-symbol=note_in_program"
        command = [compiler, *flags, "-pthread", program, *[units[int(n)] for n in order], shown, "-ldl"]
        return self.builder.job(name, command).result()


def run(parts, compiler, flags, order):
    """Exit status and output."""
    program = parts.program(compiler, flags, order)
    words = [] if any(flag.startswith("-DCONTROL") for flag in flags) else [parts.library(compiler, flags).result()]
    # What an unloaded library's pools hold stays, and nothing refers to it any more.
    done = subprocess.run([program, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                          timeout=SECONDS, check=False, env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"})
    return done.returncode, done.stdout


def life_case(parts, compiler, flags, order):
    def wrong():
        try:
            status, said = run(parts, compiler, flags, order)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            return str(error)
        found = {name: int(n) for name, n in re.findall(r"^([a-z ]+) (\d+)$", said, re.MULTILINE) if name != "order"}
        faults = [f"{name}: {found.get(name)}, expected {n}" for name, n in EXACT.items() if found.get(name) != n]
        faults += [f"{name}: {found.get(name)}, at least {n} expected" for name, n in LEAST.items() if found.get(name, 0) < n]
        if f"order {order}\n" not in said:
            faults.append("the units' objects were made in another order")
        if status != 0:
            faults.append(f"exit status {status}")
        if not faults:
            print(f"counted: {', '.join(f'{name} {n}' for name, n in found.items())}", flush=True)
        return "\n".join(faults + [said]) if faults else None

    return f"{order} ({compiler} {' '.join(flags)})", wrong


def control_case(parts, compiler, flags, order, expected):
    """Must be found out: by the program's own checks, or by the address sanitizer."""

    def wrong():
        try:
            status, said = run(parts, compiler, flags, order)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            return str(error)
        said = f"exit status {status}\n{said}"
        return None if status != 0 and re.search(expected, said) else f"no '{expected}' in\n{said}"

    return f"mistake: {order} ({compiler} {' '.join(flags)})", wrong


def main():
    parts = Parts()
    nightly = "TARN_NIGHTLY" in os.environ
    wanted = compilers.present(["clang++-19", "g++"])
    wanted = wanted if nightly else wanted[:1]  # the first compiles them in half the time
    cases = [life_case(parts, compiler, PLAIN, order) for compiler in wanted for order in ORDERS]
    cases += [control_case(parts, wanted[0], PLAIN + ENDS, "012", "faults [1-9]")]
    cases += [control_case(parts, wanted[0], PLAIN + LATE, order, r"faults [1-9]|status -11")
              for order in ("120", "201", "210")]
    if nightly:
        cases += [life_case(parts, wanted[0], CHECKED, "120"), life_case(parts, "g++", NARROW, "201")]
        cases += [control_case(parts, wanted[0], CHECKED + ENDS, "012", "heap-use-after-free")]
    for compiler in wanted:
        parts.objects(compiler, PLAIN)
    return compilers.report(cases)


if __name__ == "__main__":
    sys.exit(main())
