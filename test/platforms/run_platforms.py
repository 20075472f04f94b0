"""The portable core of the tests (test/platforms/core), on the targets of targets.txt.

usage: test/platforms/run [--all] [--only TARGET]... [--write-docs]

Installs what is missing, by name; builds the core for each target, and runs it there or in an emulator. The last line is
'N passed, N failed': the cases of all targets, and one for each that can only be compiled. It fails when a case failed, when a
target can't be built or run, when fewer cases passed than targets.txt asks for, and when the table in docs/platforms.md isn't
what follows from targets.txt. Two minutes on two idle cores; with --all, ten to forty.

  --all            all targets, not only those of the short tier, and all compositions on each, not half of them
  --only TARGET    only this target, of whatever tier; may be repeated. All compositions
  --write-docs     writes the table into docs/platforms.md
"""

import argparse
import concurrent.futures
import os
import platform
import re
import subprocess
import sys
import time
from dataclasses import dataclass, replace

HERE = os.path.dirname(os.path.abspath(__file__))
CHECKOUT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(CHECKOUT, "test", "support"))

import count_cases

OUT = os.path.join(CHECKOUT, "build", "platforms")  # ignored by git
PYTHON = os.path.join(OUT, "python")  # PyPI's packages
CORE = os.path.join(HERE, "core")
DOCS = os.path.join(CHECKOUT, "docs", "platforms.md")
SERVICES = ("cas", "pages", "fork", "threads", "std_threads", "library")
COLUMNS = ("name", "tier", "cases", "compile", "run", "services", "needs", "target", "compiler", "library")
WARNINGS = ("-Wall", "-Wextra", "-Werror")
BUILD_SECONDS, RUN_SECONDS = 1200, 300
# In the short tier half of the compositions for each target, the one half for every second: each is tried on one or two
# targets, and with --all on all.
ALL_SHARES, HALVES = 0b111111, (0b010101, 0b101010)
MARKS = ("<!-- platforms:table -->", "<!-- /platforms:table -->")


@dataclass(frozen=True)
class Target:
    """A row of targets.txt."""

    name: str
    tier: str
    cases: str
    compile: str
    run: str
    services: str
    needs: str
    target: str
    compiler: str
    library: str
    shares: int = ALL_SHARES  # of the compositions, a bit each


@dataclass
class Result:
    """What a target counts for, and why it failed."""

    passed: int = 0
    failed: int = 0
    note: str = ""
    version: str = ""
    seconds: float = 0


def read_targets(path=os.path.join(HERE, "targets.txt")):
    with open(path, encoding="utf-8") as file:
        rows = [[cell.strip() for cell in line.split("|")] for line in file if line.strip() and not line.startswith("#")]
    for row in rows:
        if (len(row) != len(COLUMNS) or row[1] not in ("short", "all") or not row[2].isdecimal()
                or set(row[5].split()) - set(SERVICES)):
            raise SystemExit(f"targets.txt: not a row: {' | '.join(row)}")
    return [Target(*row) for row in rows]


# ---- packages

def install(targets):
    """Installs what is missing, or ends the program with a sentence."""
    needs = dict.fromkeys(need for target in targets for need in target.needs.split())
    lines = ["set -u", f". {CHECKOUT}/bazel/require.sh"]
    for package, probe in (need.split("=", 1) for need in needs if not need.startswith("pip:")):
        lines.append(f'require {package} "tests of other platforms" {probe}')
    wanted = " ".join(need.removeprefix("pip:") for need in needs if need.startswith("pip:"))
    lines += ["require_pip"] * bool(wanted) + ["install_missing", f"install_python {PYTHON} {wanted}"]
    if subprocess.run(["bash", "-c", "\n".join(lines)], check=False).returncode:
        raise SystemExit("test/platforms/run: packages are missing")


# ---- one target

def folder_of(target):
    folder = os.path.join(OUT, target.name)
    os.makedirs(folder, exist_ok=True)
    # The library is included as tarn/..., whatever its folder's name is.
    link = os.path.join(folder, "tarn")
    if not os.path.islink(link):
        os.symlink(CHECKOUT, link)
    return folder


def environment(target):
    # zig loses files of a cache that several of it use at once; wine keeps its registry in a folder.
    folder = folder_of(target)
    return {**os.environ, "ZIG_LOCAL_CACHE_DIR": os.path.join(folder, "zig"),
            "ZIG_GLOBAL_CACHE_DIR": os.path.join(folder, "zig-global"), "WINEPREFIX": os.path.join(folder, "wine"),
            "WINEDEBUG": "-all", "PYTHONPATH": os.pathsep.join([PYTHON, os.environ.get("PYTHONPATH", "")]),
            "TARN_TEST_SECONDS": str(RUN_SECONDS)}


def said_by(target, command, seconds):
    """(exit status, output) of a command in the target's folder."""
    try:
        done = subprocess.run(command, cwd=folder_of(target), env=environment(target), stdin=subprocess.DEVNULL, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace", timeout=seconds, check=False)
        return done.returncode, done.stdout
    except subprocess.TimeoutExpired:
        return 124, f"stopped after {seconds} seconds"
    except OSError as error:
        return 127, str(error)


def compiler_of(target):
    words = target.compile.split()
    if words[0] == "zig":
        return [sys.executable, "-m", "ziglang", *words[1:]]
    return words


def flags_of(target):
    services = target.services.split()
    flags = [f"-DTARN_TEST_{one.upper()}={int(one in services)}" for one in SERVICES]
    # Not optimised: it compiles sooner. Where a program is bare, 4 MiB of code must do: with -O0 it has 1 % more.
    optimised = "-Og" if target.run == "bare" else "-O0"
    return ["-std=c++20", optimised, "-g0", *WARNINGS, f"-DTARN_TEST_BARE={int(target.run == 'bare')}",
            f"-DTARN_TEST_SHARES={target.shares}", *flags]


def build_command(target, program):
    sources = sorted(os.path.join("tarn/test/platforms/core", name) for name in os.listdir(CORE) if name.endswith(".cc"))
    if target.run == "bare":
        return [f"{HERE}/bare/link.sh", target.name, program, *sources, "--", *flags_of(target), *target.compile.split()[1:]]
    return [*compiler_of(target), *flags_of(target), "-I.", *sources, "-o", program, *link_flags(target)]


def link_flags(target):
    return ["-pthread"] if "std_threads" in target.services.split() else []


def run_command(target, program):
    if target.run.startswith("native:"):
        return [program] if platform.machine() == "x86_64" else [target.run.removeprefix("native:"), program]
    emulators = {"wine": ["/usr/lib/wine/wine64"], "wasi": [sys.executable, os.path.join(HERE, "wasi.py")],
                 "bare": [f"{HERE}/bare/run.sh", target.name]}
    return [*emulators.get(target.run, [target.run]), program]


def first_errors(text, most=3):
    lines = [line for line in text.splitlines() if re.search(r"error|undefined|panic|failed|stopped", line)]
    return "\n      ".join((lines or text.splitlines()[-most:])[:most])


def version_of(target):
    if target.run == "bare":
        said = said_by(target, ["bash", "-c", f'. {HERE}/bare/targets.sh; target {target.name}; "$compiler" --version'], 60)[1]
    else:
        words = 4 if target.compile.startswith("zig") else 1
        said = said_by(target, [*compiler_of(target)[:words], "--version"], 120)[1]
    return said.splitlines()[0] if said else "?"


def judge(status, said):
    """The Result of a program that ran. What it said lies beside it."""
    count = count_cases.judge("", said, status == 0, f"exit status {status}")
    return Result(count.passed, count.failed, f"{count.note} {first_errors(said)}" if count.failed else "")


def try_target(target):
    start = time.monotonic()
    program = os.path.join(folder_of(target), "core" + {"wine": ".exe", "wasi": ".wasm", "bare": ".elf"}.get(target.run, ""))
    if os.path.exists(program):
        os.remove(program)
    version = version_of(target)
    status, said = said_by(target, build_command(target, program), BUILD_SECONDS)
    if status != 0 or not os.path.exists(program):
        result = Result(0, 1, f"doesn't build: {first_errors(said)}")
    elif target.run == "no":
        result = Result(1, 0, "compiled and linked")
    else:
        if target.run == "wine":
            said_by(target, ["/usr/lib/wine/wine64", "wineboot", "--init"], RUN_SECONDS)
        status, said = said_by(target, run_command(target, program), RUN_SECONDS)
        with open(program + ".txt", "w", encoding="utf-8") as file:
            file.write(said)
        result = judge(status, said)
    result.version, result.seconds = version, time.monotonic() - start
    return result


# ---- the least number of cases, and the table in the documents

def check_floor(target, result):
    """The result, with one more failed case if too few passed."""
    least = int(target.cases) if target.shares == ALL_SHARES else int(target.cases) // 2
    if result.passed < least and result.failed == 0:
        note = f"{result.passed} cases passed, targets.txt asks for {least}"
        return Result(result.passed, 1, note, result.version, result.seconds)
    return result


def table(targets):
    lines = ["| target | compiler | library | tests | cases |", "|---|---|---|---|--:|"]
    for target in targets:
        how, cases = ("compiled and linked", "") if target.run == "no" else ("run", target.cases)
        lines.append(f"| {target.target} | {target.compiler} | {target.library} | {how} | {cases} |")
    return "\n".join(lines)


def docs_with(text, wanted):
    """The document with another table; None where it has no place for one."""
    parts = re.split("|".join(map(re.escape, MARKS)), text)
    return f"{parts[0]}{MARKS[0]}\n{wanted}\n{MARKS[1]}{parts[2]}" if len(parts) == 3 else None


def check_docs(wanted, write, path=DOCS):
    with open(path, encoding="utf-8") as file:
        text = file.read()
    right = docs_with(text, wanted)
    if right is not None and write and right != text:
        with open(path, "w", encoding="utf-8") as file:
            file.write(right)
        text = right
    if right == text:
        return Result(1, 0)
    return Result(0, 1, "its table isn't what follows from targets.txt: test/platforms/run --write-docs")


# ---- all

def parse(arguments, targets):
    parser = argparse.ArgumentParser(prog="test/platforms/run", add_help=False, allow_abbrev=False, usage=__doc__)
    parser.add_argument("-h", "--help", action="store_true")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--only", action="append", choices=[target.name for target in targets])
    parser.add_argument("--write-docs", action="store_true")
    options = parser.parse_args(arguments)
    if options.help:
        print(__doc__, end="")
        sys.exit(0)
    return options


def show(name, result, more=""):
    print(f"{'FAIL' if result.failed else 'ok  '}  {name}: {result.passed} cases passed, {result.failed} failed{more}"
          + (f"\n      {result.note}" if result.note else ""), flush=True)


def main():
    targets = read_targets()
    options = parse(sys.argv[1:], targets)
    chosen = [one for one in targets if (one.name in options.only if options.only else options.all or one.tier == "short")]
    if not options.only and not options.all:
        chosen = [replace(one, shares=HALVES[number % 2]) for number, one in enumerate(chosen)]
    install(chosen)
    results = {}
    with concurrent.futures.ThreadPoolExecutor(max_workers=os.cpu_count()) as workers:
        running = {workers.submit(try_target, target): target for target in chosen}
        for done in concurrent.futures.as_completed(running):
            target, result = running[done], done.result()
            results[target.name] = result = check_floor(target, result)
            show(target.name, result, f"; {result.seconds:.0f} s; {result.version}")
    docs = check_docs(table(targets), options.write_docs)
    show("docs/platforms.md", docs)
    every = [*results.values(), docs]
    passed, failed = sum(one.passed for one in every), sum(one.failed for one in every)
    print(f"{passed} passed, {failed} failed", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
