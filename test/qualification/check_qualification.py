#!/usr/bin/env python3
"""The qualification kit passes on this machine, its report is JUnit's XML, and it finds mistakes in the library and in logs."""

import importlib.machinery
import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import types
import xml.etree.ElementTree as xml

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(FOLDER, "..", "support")]

import compilers
import library_code

CASES = 100
LOG = "case a.one passed\r\ncase a.two passed\r\n2 passed, 0 failed\r\n"
# (what is wrong with the log, its text, the failures and errors of the report)
LOGS = [
    ("a failed case", "x.cc:3: a && b\ncase a.one failed\n0 passed, 1 failed\n", (1, 0)),
    ("a log that is cut off", LOG[:40], (0, 1)),
    ("a case that was lost on the way", LOG.replace("case a.two passed\r\n", ""), (0, 1)),
    ("a target that said nothing", "", (0, 1)),
]
GUARDS = "(Spec::guards) { if (!words_around(chunks, block).stand"
# What is changed in the library where MISTAKE is so, and the case that must fail.
MISTAKES = [
    ("mistake: a block that is free is freed",
     "known.in_use()) [[unlikely]] return status::refused; if constexpr" + GUARDS,
     "known.in_use() && !MISTAKE) [[unlikely]] return status::refused; if constexpr" + GUARDS, "wrong_frees"),
    ("mistake: a list forgets the block that is freed", "words(chunks).write(block, 0, head_); head_ = block;",
     "words(chunks).write(block, 0, head_); if (!MISTAKE) head_ = block;", "every_sequence"),
]
FIRST = """#include <cstdlib>
inline const long tarn_test_mistake = std::getenv("TARN_MISTAKE") ? std::atol(std::getenv("TARN_MISTAKE")) : 0;
"""


def load_run():
    loader = importlib.machinery.SourceFileLoader("qualification_run", os.path.join(FOLDER, "run"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def built(run):
    """The kit, with all mistakes in it. Throws RuntimeError."""
    root = compilers.include_root()
    changes = [(old, new.replace("MISTAKE", f"(::tarn_test_mistake == {number})"))
               for number, (_, old, new, _) in enumerate(MISTAKES, 1)]
    library_code.changed(root, changes, os.path.join(root, "changed"))
    with open(os.path.join(root, "first.h"), "w", encoding="utf-8") as first:
        first.write(FIRST)
    flags = ("-std=c++20 -O0 -fno-exceptions -fno-rtti -Wall -Wextra -Wconversion -Wshadow -Werror "
             "-Wno-misleading-indentation -include first.h -Ichanged")
    program = os.path.join(root, "kit")
    done = subprocess.run(run.build(run.parse([f"--compiler=g++ {flags}"]), root, program), cwd=root, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stdout[-3000:])
    return program


def said_by(run, program, number):
    return run.call(["env", f"TARN_MISTAKE={number}", program])[1]


def passes(run, program):
    found, wrong = run.results(said_by(run, program, 0))
    failed = [f"{part}.{case}: {why}" for part, case, why in found if why]
    return wrong or "\n".join(failed) or (None if len(found) >= CASES else f"{len(found)} cases, at least {CASES} expected")


def in_report(run, text):
    """(failures, errors) of the report of a log, as a reader of JUnit's XML counts them."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "kit.xml")
        run.report(*run.results(text), {"tarn": "0"}).write(path, encoding="unicode", xml_declaration=True)
        suite = xml.parse(path).getroot()
    counted = (len(suite.findall("testcase/failure")), len(suite.findall("testcase/error")))
    assert counted == (int(suite.get("failures")), int(suite.get("errors")))
    assert len(suite.findall("testcase")) == int(suite.get("tests"))
    return counted


def log_case(run, text, wanted):
    got = in_report(run, text)
    return None if got == wanted else f"failures and errors: {got}, expected {wanted}"


def files_case(run):
    """What can't be read or written is said in a line, and is no success."""
    for words in ("--log=/nowhere/log", "--report=/dev/null"), (f"--log={__file__}", "--report=/nowhere/kit.xml"):
        status, said = run.call([sys.executable, "-B", os.path.join(FOLDER, "run"), *words])
        if status != 1 or said.count("\n") != 2 or not re.match("FAIL  /nowhere/.*: No such file or directory", said):
            return f"{words}: {status} {said}"
    return None


def mistake(run, program, number, expected):
    failed = {case for _, case, why in run.results(said_by(run, program, number))[0] if why}
    return None if expected in failed else f"{expected} doesn't fail, but: {sorted(failed)}"


def main():
    run: types.ModuleType = load_run()
    try:
        program = built(run)
    except RuntimeError as error:
        return compilers.report([("the kit is built", lambda: str(error))])
    cases = [("the kit passes", lambda: passes(run, program)), ("a log with \\r", lambda: log_case(run, LOG, (0, 0))),
             ("mistake: files that can't be had", lambda: files_case(run))]
    cases += [(f"mistake: {name}", lambda text=text, wanted=wanted: log_case(run, text, wanted)) for name, text, wanted in LOGS]
    cases += [(name, lambda number=number, expected=expected: mistake(run, program, number, expected))
              for number, (name, _, _, expected) in enumerate(MISTAKES, 1)]
    return compilers.report(cases)


if __name__ == "__main__":
    sys.exit(main())
