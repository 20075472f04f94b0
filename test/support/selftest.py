#!/usr/bin/env python3
"""Tests the machinery of the tests: that each thing that must make test/run fail does, and that right code passes.

Usage: selftest.py SPECIMEN, the program built from specimen.cc.
"""

import json
import os
import re
import subprocess
import sys
import tempfile

import check_compile_fail
import check_lengths
import check_rooms
import compilers
import count_cases
import run_tests
from count_cases import Count

FOLDER = os.path.dirname(os.path.abspath(__file__))


def expect(wanted, got):
    return None if wanted == got else f"wanted {wanted}\ngot    {got}"


# --- Counting: a real test program, through the real judge.

def specimen(program, run_test, passed, failed, note):
    def run():
        done = subprocess.run([program, "--run_test=" + run_test], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True)
        good = done.returncode == 0
        return expect(Count("x", passed, failed, note),
                      count_cases.judge("x", done.stdout, good, "PASSED" if good else "FAILED"))

    return f"a test program in which {run_test} runs counts {passed} passed, {failed} failed", run


def specimens(program):
    return [
        specimen(program, "passes", 1, 0, ""),
        specimen(program, "passes,fails,throws", 1, 2, "FAILED"),
        specimen(program, "passes,aborts", 1, 1, "FAILED"),
        specimen(program, "passes,fails_in_helpers", 1, 1, "FAILED"),
        specimen(program, "passes,leaves_early", 0, 1, "PASSED, and counted no case"),
    ]


# --- Where a check that failed stands, and who called the helper that it stands in.

def locations(program):
    """Each check of fails_in_helpers that fails: its own line, then those of the calls around it, outwards."""
    inner = "void check_in_a_helper"
    wanted = [
        [inner, "  check_in_a_helper(false)"],
        [inner, "void check_deeper", "  check_deeper(false)"],
        ["void check_by_boost", "  check_by_boost(false)"],
        ["  CHECK(1 == 2)"],
        ["  (REQUIRE(given)", "  require_in_a_helper({}"],
    ]

    def run():
        with open(os.path.join(FOLDER, "specimen.cc"), encoding="utf-8") as file:
            lines = file.read().splitlines()
        numbers = [next(str(n) for n, line in enumerate(lines, 1) if line.startswith(start))
                   for starts in wanted for start in starts]
        done = subprocess.run([program, "--run_test=fails_in_helpers"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True)
        return expect(numbers, re.findall(r"specimen\.cc\((\d+)\): (?:error|fatal error|note: called)", done.stdout))

    return "a check that fails in a helper names its own line and those of the callers", run


# --- Counting: what Bazel reports.

def event(kind, label, payload):
    return {"id": {kind: {"label": label}}, **payload}


def ran(label, status, log):
    with tempfile.NamedTemporaryFile("w", suffix=".log", delete=False) as file:
        file.write(log)
    output = {"name": "test.log", "uri": "file://" + file.name}
    return event("testResult", label, {"testResult": {"status": status, "testActionOutput": [output]}})


def bazel(name, exit_status, events, wanted):
    def run():
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            file.writelines(json.dumps(one) + "\n" for one in events)
            file.flush()
            return expect(wanted, count_cases.count(file.name, exit_status))

    return name, run


def bazels():
    built = event("targetCompleted", "//a", {"completed": {"success": True}})
    broken = event("targetCompleted", "//b", {"completed": {}})
    good = ran("//a", "PASSED", "1 passed, 0 failed\nnoise\n5 passed, 0 failed\n")
    return [
        bazel("the last total of a log counts", 0, [built, good], [Count("//a", 5, 0)]),
        bazel("a second attempt replaces the first", 0, [ran("//a", "FAILED", "4 passed, 1 failed\n"), good],
              [Count("//a", 5, 0)]),
        bazel("a leak found after the last case fails", 3, [ran("//a", "FAILED", "5 passed, 0 failed\nleak\n")],
              [Count("//a", 5, 1, "FAILED after its cases passed")]),
        bazel("a time-out fails", 3, [ran("//a", "TIMEOUT", "Running 9 test cases...\n")],
              [Count("//a", 0, 1, "TIMEOUT, and counted no case")]),
        bazel("a target that does not build fails", 1, [built, good, broken],
              [Count("//a", 5, 0), Count("//b", 0, 1, "does not build")]),
    ]


# --- Tiers: which tests a configuration takes, and how many at least.

def tiers():
    def takes(tier, config, tags):
        """What Bazel does with --test_tag_filters."""
        filters = run_tests.tag_filter(run_tests.TIERS[tier][config], run_tests.LEFT_OUT[tier]).split(",")
        must = {one for one in filters if one and one[0] != "-"}
        return not any("-" + tag in filters for tag in tags) and (not must or bool(must & set(tags)))

    def forgotten(tier, *tags):
        """Tests with some of these tags that no configuration of the tier takes."""
        bazels = [config for config, how in run_tests.TIERS[tier].items() if how]
        chosen = [[tag for at, tag in enumerate(tags) if number >> at & 1] for number in range(1 << len(tags))]
        # What runs under sanitizers alone may not refuse them: bazel/defs.bzl.
        refusals = {"no_sanitizers", "no_tsan", "any_config"}
        chosen = [some for some in chosen if not {"threads", "memory"} & {*some} or not refusals & {*some}]
        return [some for some in chosen if not any(takes(tier, config, some) for config in bazels)]

    def floor(passed):
        return run_tests.check_floor("quick", "tsan_gcc", [Count("//a", passed, 0)])[1:]

    least = run_tests.LEAST["quick"]["tsan_gcc"]
    return [
        ("the first tier runs every test", lambda: expect([], forgotten("quick", "threads", "memory", "optimised"))),
        ("the first tier leaves what is slow", lambda: expect(False, takes("quick", "gcc_debug", ["slow", "any_config"]))),
        *((f"{tier} runs every test", lambda tier=tier: expect([], forgotten(
            tier, "threads", "memory", "optimised", "slow", "any_config", "needs_clang", "no_sanitizers", "no_tsan")))
          for tier in ("full", "nightly")),
        ("a configuration with cases enough passes", lambda: expect([], floor(least))),
        ("a configuration with too few cases fails",
         lambda: expect([Count("tsan_gcc", 0, 1, f"{least - 1} cases passed, fewer than {least}")], floor(least - 1))),
    ]


# --- The scripts that compile single files.

def check(script, name, file_name, text, wanted, least=1):
    """`wanted` is a pattern that the script's output must hold, with so many failed cases or more; None: it must be content."""

    def run():
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, file_name), "w", encoding="utf-8") as file:
                file.write(text)
            done = subprocess.run([os.path.join(FOLDER, script), file_name], cwd=folder, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True)
        cases = len(re.findall(r"^(?:ok|FAIL) ", done.stdout, re.MULTILINE))
        failed = len(re.findall(r"^FAIL ", done.stdout, re.MULTILINE))
        right = (done.returncode == (0 if wanted is None else 1) and cases > 0
                 and (failed == 0 if wanted is None else failed >= least)
                 and done.stdout.endswith(f"{cases - failed} passed, {failed} failed\n")
                 and re.search(wanted or "", done.stdout))
        return None if right else f"exit status {done.returncode}, wanted '{wanted}', got:\n{done.stdout}"

    return f"{script}: {name}", run


def compile_fail(name, text, wanted):
    """Each compiler must say so."""
    return check("check_compile_fail.py", name, "case.cc", text, wanted,
                 len(check_compile_fail.for_mistakes(compilers.present())))


WRONG = 'template <class T> struct pool { static_assert(sizeof(T) > 1, "tarn: [R1] too small"); };\n'
SPLIT = "RIGHT(pool<int> p;)\nWRONG(pool<char> p;)\n"
SAYS = ": tarn: [R1] too small\n"


def compile_fails():
    good, bad = (f"{before}\n// case {name}{SAYS}{SPLIT}" for name, before in (("good", WRONG), ("bad", "")))
    return [
        compile_fail("right cases of one file pass", good + bad, None),
        compile_fail("wrong code that compiles fails, beside a case that doesn't", good + bad.replace("char", "long"),
                     r"ok    good \((?:.*\n)*FAIL  bad \(.*\n.*must not"),
        compile_fail("another message fails", good + bad.replace("too small", "too large"), r"FAIL  bad \(.*\n.*no error says"),
        compile_fail("a twin that does not compile fails", "// expect" + SAYS + WRONG + SPLIT.replace("int", "char"), "a twin"),
        compile_fail("two errors fail", good + bad.replace("char> p;", "char> p; int i = nothing;"), "gives 2 errors"),
        compile_fail("a case without expectation fails", good + bad.replace(SAYS, "\n"), "nothing to expect"),
        compile_fail("a case without twin fails", good + bad.replace(SPLIT, "pool<char> p;\n"), r"FAIL  bad \(.*\n.*no twin"),
    ]


def absent_compiler():
    done = subprocess.run([sys.executable, "-B", "-c", "import compilers; compilers.present()"], cwd=FOLDER, text=True,
                          stderr=subprocess.PIPE, env={"TARN_COMPILERS": "g++", "PATH": "/nowhere"}, check=False)
    return expect((1, "TARN_COMPILERS names g++, which isn't installed\n"), (done.returncode, done.stderr))


def header(name, text, wanted):
    return check("check_headers.py", name, "alone.h", text, wanted)


def headers():
    guard = "#ifndef ALONE_H\n#define ALONE_H\n{}\n#endif\n"
    right = "#include <cstddef>\ninline std::size_t one() { return 1; }"
    refuses = "#if __cplusplus < 202002L\n#error \"tarn: [B1] too old\"\n#include \"no_such_file\"\n#endif\n"
    return [
        header("a right header passes", guard.format(refuses + right), None),
        header("an older standard isn't refused", guard.format(right), "not one sentence"),
        header("a missing include fails", guard.format("inline std::size_t one() { return 1; }"), "size_t"),
    ]


def rooms():
    """What check_rooms.py says of small trees."""

    def one(name, header, text, wanted):
        def run():
            said = [wrong() for _, wrong in check_rooms.cases([header], {header: text}.get)]
            return expect(wanted, "".join(line for line in said if line))

        return f"rooms: {name}", run

    def includes(name, header, other, wanted):
        return one(name, header, f'#include "tarn/{other}"\n', wanted)

    def mirror(name, path, wanted):
        return f"rooms: {name}", lambda: expect(wanted, check_rooms.tests(["policies/reuse/a.h", path])[1]())

    twice = {"a.h": "one_in_process<one, 0x101>::get()", "b.h": "one_in_process<other, 0x101>::get()"}
    return [
        includes("the core uses the pool", "allocator/detail/core/a.h", "allocator/detail/pool/b.h",
                 "allocator/detail/core/a.h (core) includes allocator/detail/pool/b.h (pool)"),
        includes("an include of what is in no room", "policies/reuse.h", "tools/a.h",
                 "policies/reuse.h includes tools/a.h, which is in no room"),
        one("a policy asks for a compiler", "policies/reuse/a.h", "#if __GNUC__ > 12",
            "policies/reuse/a.h:1 says __GNUC__, which is a compiler's or a system's: that belongs into policies/platform"),
        one("a policy includes a system's header", "policies/reuse/a.h", "#include <unistd.h>",
            "policies/reuse/a.h:1 includes <unistd.h>, which is no header of the standard library"),
        mirror("tests of an axis that isn't there", "test/policies/attic/a_test.cc",
               "test/policies/attic mirrors no room: no header lies in policies/attic"),
        ("rooms: one number for two objects",
         lambda: expect("0x101: one, other", check_rooms.numbers(list(twice), twice.get)[1]())),
    ]


def lengths():
    """What check_lengths.py says of a tree of one file: `wanted` of it is wrong, or nothing where that is None."""

    def one(name, path, text, wanted):
        said = [wrong() for _, wrong in check_lengths.cases([path], {path: text}.get)]
        return f"lengths: {name}", lambda: expect([f"{path}{wanted}"] if wanted else [], [line for line in said if line])

    words = "word " * 25  # 125 columns
    body = "  ++i;\n"
    return [
        one("a line of 129 columns", "bench/run", "\n" + words + "word\n", ":2 has 129 columns, more than 128"),
        one("an address, and a table in Markdown", "docs/a.md", words + "https://example.org\n| " + words * 2 + "|", None),
        one("code in a page", "docs/a.md", f"```\n{words * 2}\n```\n```cpp run\n{words * 2}\n```\n",
            ":5 has 250 columns, more than 128"),
        one("a function of 41 lines", "policies/a.h", "template <class T>\nvoid f(int i,\n       T) {\n" + body * 39 + "}\n",
            ":3 a function has 41 lines, more than 40"),
        one("a long type of short members", "policies/a.h", "struct a : b<c> {\n" + "  void f() {\n  }\n" * 30 + "};\n", None),
    ]


def main():
    program = os.path.abspath(sys.argv[1])
    return compilers.report(specimens(program) + [locations(program)] + bazels() + tiers() + compile_fails() +
                            [("a compiler that isn't there is missed", absent_compiler)] + headers() + rooms() + lengths())


if __name__ == "__main__":
    sys.exit(main())
