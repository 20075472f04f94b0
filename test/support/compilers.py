"""Compiles single files with every compiler that is here, and builds programs. Shared by the check_*.py scripts."""

import atexit
import concurrent.futures
import os
import shutil
import subprocess
import sys
import tempfile
import threading

# The same as in .bazelrc.
WARNINGS = ["-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror"]

ALL = ["g++", "clang++-19", "clang++-14"]


def present(wanted=None):
    """The compilers to use, at least one: those of `wanted` (default: all that tarn supports) that are on this machine. Where
    TARN_COMPILERS names some, only these, and each must be there."""
    wanted = wanted or ALL
    allowed = os.environ.get("TARN_COMPILERS", "").split()
    for name in allowed:
        if name not in ALL:
            sys.exit(f"TARN_COMPILERS names {name}, which is none of {', '.join(ALL)}")
        if not shutil.which(name):
            sys.exit(f"TARN_COMPILERS names {name}, which isn't installed")
    found = [name for name in wanted if (name in allowed if allowed else shutil.which(name))]
    if not found:
        sys.exit(f"no compiler to use: looked for {', '.join(wanted)}" + (f" among {', '.join(allowed)}" if allowed else ""))
    return found


def include_root():
    """A folder in which "tarn/..." is the tree that this runs in, whatever that is called: for compile_only()."""
    folder = tempfile.mkdtemp(prefix="tarn-include-", dir=os.environ.get("TEST_TMPDIR"))
    atexit.register(shutil.rmtree, folder)
    os.symlink(os.getcwd(), os.path.join(folder, "tarn"))
    return folder


def compile_only(compiler, root, source, *flags):
    """(succeeded, what the compiler said). Checks `source`, a path below the include root, and generates no code."""
    command = [compiler, "-std=c++20", "-fsyntax-only", "-I.", *flags, source]
    done = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace")
    return done.returncode == 0, done.stdout


def precompiled(compiler, root, headers, *flags):
    """Flags that include `headers` as if parsed before: a case then costs a tenth. None of them where they don't compile.
    `flags`: others that the case has and that matter to the headers."""
    name = "first-" + compiler + ".h"
    with open(os.path.join(root, name), "w", encoding="utf-8") as first:
        first.writelines(f'#include "{header}"\n' for header in headers)
    clang = compiler.startswith("clang")
    once = ["-fpch-instantiate-templates"] if clang else []  # what the headers use of templates; not again for each case
    done = subprocess.run([compiler, "-std=c++20", "-I.", *flags, *once, "-x", "c++-header", name, "-o", name + ".gch"],
                          cwd=root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if done.returncode != 0:
        return []
    path = os.path.join(root, name)
    return ["-include-pch", path + ".gch"] if clang else ["-include", path]


class Builder:
    """Makes files in a folder, each once, two at a time. A job names its file; its result is the file's path. Throws
    RuntimeError with what the compiler said."""

    def __init__(self, root):
        self.root = root
        self.workers = concurrent.futures.ThreadPoolExecutor(2)
        self.lock = threading.Lock()
        self.jobs = {}

    def job(self, name, command):
        with self.lock:
            if name not in self.jobs:
                self.jobs[name] = self.workers.submit(self.call, name, command)
            return self.jobs[name]

    def call(self, name, command):
        done = subprocess.run([*command, "-o", name], cwd=self.root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace", check=False)
        if done.returncode:
            raise RuntimeError(" ".join(command) + "\n" + done.stdout)
        return os.path.join(self.root, name)


def same(name, got, wanted):
    """A case of a script's test of itself."""
    return f"self-test: {name}", lambda: None if got == wanted else f"wanted {wanted}\ngot    {got}"


def report(cases):
    """Runs the cases, each (name, function returning what is wrong or None); prints them; returns the exit status. The name of
    a mistake that must be found begins with "mistake: "."""
    failed, script = 0, os.path.basename(sys.argv[0]).removesuffix(".py")
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
        for name, wrong in workers.map(lambda case: (case[0], case[1]()), cases):
            found = not wrong and name.startswith("mistake: ")
            print(f"killed  {name[9:]}  by {script}" if found else ("FAIL  " if wrong else "ok    ") + name, flush=True)
            if wrong:
                failed += 1
                print("      " + wrong.rstrip().replace("\n", "\n      "), flush=True)
    print(f"{len(cases) - failed} passed, {failed} failed")
    return 1 if failed or not cases else 0


class Results:
    """Counts cases that are run one after the other, and prints each."""

    def __init__(self):
        self.passed = self.failed = 0

    def check(self, name, is_right, why=""):
        print(f"{'ok   ' if is_right else 'FAIL '} {name}" + ("" if is_right else "\n      " + why.replace("\n", "\n      ")))
        self.passed += bool(is_right)
        self.failed += not is_right

    def report(self):
        """Prints the sum. Returns the exit status."""
        print(f"{self.passed} passed, {self.failed} failed")
        return 0 if self.failed == 0 else 1
