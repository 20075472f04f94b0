"""Tests the runner: that each thing that must make it fail does, and that what is right passes."""

import dataclasses
import os
import subprocess
import sys
import tempfile

import run_platforms
from run_platforms import Result

TARGET = run_platforms.Target("x", "all", "5", "g++", "native:none", "cas", "", "A", "g++", "libstdc++")
MAIN = """
#include "tarn/test/platforms/core/check.h"
using namespace tarn::test;
static void holds() { CHECK(2 > 1); }
static void fails() { CHECK(1 > 2); }
constexpr entry cases[] = {CASE(holds), CASE(fails), {"absent", nullptr}};
int main(int, char** arguments) {
  const part parts[] = {make_part("specimens", cases)};
  return run_parts(parts, 1, arguments[1]);
}
"""


def expect(wanted, got):
    return None if wanted == got else f"wanted {wanted}\n      got    {got}"


def counts(result):
    return result.passed, result.failed


def specimen(folder):
    """A program of check.h."""
    source, program = os.path.join(folder, "main.cc"), os.path.join(folder, "main")
    with open(source, "w", encoding="utf-8") as file:
        file.write(MAIN)
    os.symlink(run_platforms.CHECKOUT, os.path.join(folder, "tarn"))
    native = dataclasses.replace(TARGET, services="cas pages fork threads std_threads library")
    subprocess.run(["g++", *run_platforms.flags_of(native), "-I.", source, "tarn/test/platforms/core/check.cc", "-o", program],
                   cwd=folder, check=True)
    return program


def ran(program, text):
    done = subprocess.run([program, text], stdout=subprocess.PIPE, text=True, check=False)
    return counts(run_platforms.judge(done.returncode, done.stdout))


def row(text):
    """Whether a file of that row is read."""
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        try:
            return len(run_platforms.read_targets(file.name))
        except SystemExit:
            return "refused"


def docs(text, wanted):
    with tempfile.NamedTemporaryFile("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        return counts(run_platforms.check_docs(wanted, False, file.name))


def cases(program):
    start, end = run_platforms.MARKS
    judge, check = run_platforms.judge, run_platforms.check_floor
    missing = dataclasses.replace(TARGET, run="no-such-emulator")

    def emulated():
        return counts(judge(*run_platforms.said_by(missing, run_platforms.run_command(missing, program), 60)))

    return [
        ("a check that fails counts", lambda: expect((1, 1), ran(program, ""))),
        ("checks that hold pass", lambda: expect((1, 0), ran(program, "holds"))),
        ("a program of no case fails", lambda: expect((0, 1), ran(program, "nothing"))),
        ("a case that is absent doesn't count", lambda: expect((0, 1), ran(program, "absent"))),
        ("a program that says nothing fails", lambda: expect((0, 1), counts(judge(0, "")))),
        ("one that crashes after its cases fails", lambda: expect((5, 1), counts(judge(139, "5 passed, 0 failed\n")))),
        ("one that is stopped fails", lambda: expect((0, 1), counts(judge(124, "compositions: 3 cases ran\n")))),
        ("an emulator that isn't there fails", lambda: expect((0, 1), emulated())),
        ("a compiler that isn't there fails",
         lambda: expect((0, 1), counts(run_platforms.try_target(dataclasses.replace(TARGET, compile="no-such-compiler"))))),
        ("as many cases as targets.txt asks for pass", lambda: expect((5, 0), counts(check(TARGET, Result(5))))),
        ("fewer cases fail", lambda: expect((4, 1), counts(check(TARGET, Result(4))))),
        ("a failed case stays failed", lambda: expect((4, 2), counts(check(TARGET, Result(4, 2))))),
        ("a row with a column too few is refused", lambda: expect("refused", row("x | all | 5 | g++ | no | cas | | A\n"))),
        ("a row with an unknown service is refused",
         lambda: expect("refused", row("x | all | 5 | g++ | no | cash | | A | g++ | libc\n"))),
        ("a right row is read", lambda: expect(1, row("# x\nx | all | 5 | g++ | no | cas | | A | g++ | libc\n"))),
        ("the table in the documents passes", lambda: expect((1, 0), docs(f"a\n{start}\nt\n{end}\nb\n", "t"))),
        ("another table fails", lambda: expect((0, 1), docs(f"a\n{start}\nother\n{end}\nb\n", "t"))),
        ("a document without one fails", lambda: expect((0, 1), docs("a\nb\n", "t"))),
        ("the table has the cases", lambda: expect(True, "| run | 5 |" in run_platforms.table([TARGET]))),
    ]


def main():
    passed = failed = 0
    with tempfile.TemporaryDirectory() as folder:
        run_platforms.OUT = os.path.join(folder, "out")
        for name, run in cases(specimen(folder)):
            complaint = run()
            passed, failed = passed + (complaint is None), failed + (complaint is not None)
            if complaint:
                print(f"failed: {name}\n      {complaint}")
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
