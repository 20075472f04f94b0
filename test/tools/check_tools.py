#!/usr/bin/env python3
"""Misuses the blocks of families of pools in every way, each in a child process, and looks whether the tools report it:
AddressSanitizer (g++ and clang), MemorySanitizer, and Valgrind. A case is a family under a tool; another is 100,000 operations
of it as they should be, of which none may be reported. The same programs without what the pools tell the tools must not be
found out, or it would be something else that is seen. Prints a table of kinds and tools.

Usage: check_tools.py gcc | clang | valgrind    what needs only g++; or clang; or Valgrind
With TARN_NIGHTLY=1 there are all families, 250,000 operations, clang optimises, each tool has its controls, and every tested
composition is looked at byte by byte; otherwise one family for each kind of free list, and clang's address sanitizer has the
controls for all.
"""

import collections
import os
import re
import shutil
import subprocess
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [FOLDER, os.path.join(FOLDER, "..", "support")]

import compilers

NIGHTLY = "TARN_NIGHTLY" in os.environ
SOURCES = ["families", "misuses", "clean"]
OPERATIONS = 250_000 if NIGHTLY else 100_000  # of each family
LEAST_KINDS, LEAST_FAMILIES, LEAST_COMPOSITIONS, LEAST_BYTES = 20, 35, 68, 15_000_000
FLAGS = ["-std=c++20", "-g1", "-fno-omit-frame-pointer", "-I.", "-pthread", *compilers.WARNINGS]
HEADER = "policies/platform/memory_tools.h"
SYMBOLIZER = next(filter(None, map(shutil.which, ["llvm-symbolizer-19", "llvm-symbolizer-14", "llvm-symbolizer"])), "")

# What is used afterwards was given back to the store, which may tell the tools by itself.
GONE = {"write_after_trim", "read_after_release", "read_after_the_end"}
SECONDS = 1200  # A run takes a few seconds, under Valgrind half a minute; this is for one that hangs.
# Of each free list and of a product: the controls, and by day what g++'s tool is shown, whose library is clang's.
FEW_FAMILIES = ["batch", "lifo", "page-local", "static array", "thread-cached", "size classes"]


class Tool:
    """How a program is built for it and run under it, and which kinds it can see."""

    def __init__(self, name, compiler, flags, report, sees, prefix=()):
        self.name, self.compiler, self.flags, self.report = name, compiler, flags, re.compile(report)
        self.sees, self.prefix = sees, list(prefix)

    def lacks(self):
        """What it needs and isn't here, as a sentence; or None."""
        if self.compiler not in compilers.present():
            return f"{self.compiler} is not here, or not named in TARN_COMPILERS"
        if self.prefix and not (shutil.which("valgrind") and os.path.exists("/usr/include/valgrind/memcheck.h")):
            return "valgrind, or its header valgrind/memcheck.h, is not here: test/run installs them"
        return None

    def run(self, program, *words, names=True):
        options = {"symbolize": str(int(names)), "external_symbolizer_path": SYMBOLIZER, "detect_leaks": "1"}
        text = ":".join(f"{name}={value}" for name, value in options.items() if value)
        msan = text.replace(":detect_leaks=1", "")
        return subprocess.run([*self.prefix, program, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", timeout=SECONDS, check=False,
                              env={**os.environ, "ASAN_OPTIONS": text, "MSAN_OPTIONS": msan})


def reads(kind):
    return kind.startswith("read") or kind == "compare"


ADDRESS = r"AddressSanitizer: (?:use-after-poison|heap-use-after-free|SEGV)"
MEMORY = r"MemorySanitizer: (?:use-of-uninitialized-value|SEGV)"
MEMCHECK = r"Invalid (?:read|write) of size|Unaddressable byte\(s\) found|depends on uninitialised value"
ASAN_CLANG = Tool("ASan, clang", "clang++-19", ["-O1" if NIGHTLY else "-O0", "-fsanitize=address"], ADDRESS,
                  lambda kind: kind != "read_before_write")
ASAN_GCC = Tool("ASan, g++", "g++", ["-O0", "-fsanitize=address"], ADDRESS, lambda kind: kind != "read_before_write")
MSAN = Tool("MSan", "clang++-19", ["-O0", "-fsanitize=memory"], MEMORY, reads)
VALGRIND = Tool("Valgrind", "g++", ["-O1", "-DTARN_VALGRIND"], MEMCHECK, lambda kind: True,
                ["valgrind", "-q", "--error-exitcode=9", "--leak-check=no"])
GROUPS = {"gcc": [ASAN_GCC], "clang": [ASAN_CLANG, MSAN], "valgrind": [VALGRIND]}


def program_of(builder, tool, first=None):
    """The job of the program; `first`: a folder whose headers come before the tree's. Only the families include what tells the
    tools: the other sources are compiled once for a tool."""
    name = re.sub(r"\W+", "-", tool.name)
    objects = []
    for source in SOURCES:
        flags, which = [*FLAGS, *tool.flags], ""
        if source == "families" and (first or not NIGHTLY):
            flags.append("-DTARN_FEW_FAMILIES")
        if source == "families" and first:
            flags, which = ["-I" + first, *flags, "-O0", "-g0"], "-" + first
        objects.append(builder.job(f"{name}{which}-{source}.o", [tool.compiler, *flags, "-c", f"tarn/test/tools/{source}.cc"]))

    def link():
        target = f"{name}-{first or 'told'}"
        return builder.job(target, [tool.compiler, *tool.flags, "-pthread", *[job.result() for job in objects]]).result()

    return link


def silent_header(builder, first):
    """The header whose functions do nothing, as in a build without tools."""
    with open(os.path.join(builder.root, "tarn", HEADER), encoding="utf-8") as file:
        text, changes = re.subn(r"defined\(TARN_", "defined(NO_TARN_", file.read())
    if changes < 8:
        sys.exit(f"{HEADER} isn't as expected: {changes} conditions")
    path = os.path.join(builder.root, first, "tarn", HEADER)
    os.makedirs(os.path.dirname(path))
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def kinds_in(said):
    """{kind: (what was said of it, exit status or None where the family can't)}"""
    found = re.findall(r"^== (\w+)\n(.*?)^-- (\w+)\n", said, re.MULTILINE | re.DOTALL)
    return {kind: (text, None if status == "no" else int(status)) for kind, text, status in found}


def is_reported(tool, text, status):
    return status != 0 and tool.report.search(text) is not None


class Table:
    """[kind][tool]: families in which it was reported, and in which it can be done."""

    def __init__(self, tools):
        self.tools = tools
        self.cells = collections.defaultdict(lambda: collections.defaultdict(lambda: [0, 0]))
        self.operations = collections.Counter()

    def note(self, kind, tool, reported):
        cell = self.cells[kind][tool.name]
        cell[0] += reported
        cell[1] += 1

    def show(self):
        print(f"{'reported, of families that can do it':<40}" + "".join(f"{tool.name:>14}" for tool in self.tools))
        for kind, cells in self.cells.items():
            row = [f"{cells[tool.name][0]} of {cells[tool.name][1]}" if tool.sees(kind) else "-" for tool in self.tools]
            print(f"{kind.replace('_', ' '):<40}" + "".join(f"{cell:>14}" for cell in row))
        print(f"{'operations without a report':<40}" + "".join(f"{self.operations[tool.name]:>14,}" for tool in self.tools))


def misuse_case(tool, link, family, table, named):
    """`named`: the report must name the kind's function."""

    def wrong():
        try:
            done = tool.run(link(), family, names=named)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            return str(error)
        found = kinds_in(done.stdout)
        faults = []
        if len(found) < LEAST_KINDS:
            faults.append(f"{len(found)} kinds, at least {LEAST_KINDS} expected\n{done.stdout[-2000:]}")
        for kind, (text, status) in found.items():
            if status is None:
                continue
            reported = is_reported(tool, text, status)
            table.note(kind, tool, reported)
            if tool.sees(kind) and not reported:
                faults.append(f"{kind}: not reported, status {status}\n{text[:2000]}")
            elif reported and named and f"{kind}(" not in text and kind not in text:
                faults.append(f"{kind}: the report doesn't name it\n{text[:2000]}")
        return "\n".join(faults)

    return f"{tool.name}: {family}", wrong


def clean_case(tool, link, family, table):
    def wrong():
        try:
            done = tool.run(link(), family, str(OPERATIONS))
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            return str(error)
        said = re.fullmatch(r"operations (\d+)\n", done.stdout)
        if done.returncode != 0 or said is None:
            return f"exit status {done.returncode}\n{done.stdout[:3000]}"
        table.operations[tool.name] += int(said[1])
        return None if int(said[1]) >= OPERATIONS else f"only {said[1]} operations"

    return f"{tool.name}: nothing to report: {family}", wrong


def control_case(tool, link, family):
    def wrong():
        try:
            found = kinds_in(tool.run(link(), family, names=False).stdout)
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            return str(error)
        done = {kind: said for kind, said in found.items() if said[1] is not None and tool.sees(kind) and kind not in GONE}
        seen = [kind for kind, said in done.items() if is_reported(tool, *said)]
        least = 6 if tool.name == "MSan" else 12
        if seen:
            return "reported: " + ", ".join(seen)
        return None if len(done) >= least else f"{len(done)} kinds, at least {least} expected"

    return f"mistake: {tool.name} sees nothing where it isn't told: {family}", wrong


def every_case(builder, first=None):
    """`first`: as for program_of(); then it must be found out that nothing is closed."""
    tool = ASAN_CLANG
    name = "every-" + (first or "told")
    before = ["-I" + first] if first else []
    job = builder.job(name, [tool.compiler, *before, *FLAGS, "-O0", *tool.flags[1:], "tarn/test/tools/every_composition.cc"])

    def wrong():
        try:
            done = tool.run(job.result())
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            return str(error)
        if first:
            return None if done.returncode == 1 and "isn't closed" in done.stdout else f"not found out\n{done.stdout[:2000]}"
        said = re.search(r"^(\d+) compositions, (\d+) bytes open, (\d+) bytes closed$", done.stdout, re.MULTILINE)
        if done.returncode != 0 or said is None:
            return f"exit status {done.returncode}\n{done.stdout[:3000]}"
        compositions, opened, closed = map(int, said.groups())
        if compositions < LEAST_COMPOSITIONS or min(opened, closed) < LEAST_BYTES:
            return f"too few: {said[0]}"
        print(said[0])
        return None

    return ("mistake: nothing is closed" if first else "every composition is told of") + f" ({tool.name})", wrong


def families_of(tool, link):
    """The names of those in the tool's program."""
    found = subprocess.run([link(), "list"], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    if found[:len(FEW_FAMILIES)] != FEW_FAMILIES or NIGHTLY and len(found) < LEAST_FAMILIES:
        sys.exit(f"{len(found)} families, at least {LEAST_FAMILIES} expected, {', '.join(FEW_FAMILIES)} first")
    return found


def main():
    if sys.argv[1:] not in [[group] for group in GROUPS]:
        sys.exit(__doc__)
    wanted = GROUPS[sys.argv[1]]
    builder = compilers.Builder(compilers.include_root())
    table = Table(wanted)
    silent_header(builder, "silent")
    cases = [(f"{tool.name} can be tried", lambda why=tool.lacks(): why) for tool in wanted if tool.lacks()]
    tools = [tool for tool in wanted if not tool.lacks()]
    if not tools:
        return compilers.report(cases)
    links = {tool: program_of(builder, tool) for tool in tools}
    if ASAN_CLANG in tools and NIGHTLY:
        cases += [every_case(builder, first) for first in (None, "silent")]
    silent = {tool: program_of(builder, tool, "silent") for tool in tools if NIGHTLY or tool is ASAN_CLANG}
    families = {tool: families_of(tool, link) for tool, link in links.items()}
    for tool in tools:
        slow = not tool.prefix  # a sanitizer looks up the names for each report
        cases += [misuse_case(tool, links[tool], family, table, not slow or family == FEW_FAMILIES[0])
                  for family in families[tool]]
        cases += [clean_case(tool, links[tool], family, table) for family in families[tool]]
    cases += [control_case(tool, link, family) for tool, link in silent.items() for family in FEW_FAMILIES]
    status = compilers.report(cases)
    table.show()
    return status


if __name__ == "__main__":
    sys.exit(main())
