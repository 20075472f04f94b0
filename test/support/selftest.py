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
        specimen(program, "fails", 0, 1, "FAILED"),
        specimen(program, "passes,fails,throws", 1, 2, "FAILED"),
        specimen(program, "passes,aborts", 1, 1, "FAILED"),
        specimen(program, "passes,fails_in_helpers", 1, 1, "FAILED"),
        specimen(program, "passes,is_killed", 0, 1, "FAILED, and counted no case"),
        specimen(program, "passes,leaves_early", 0, 1, "PASSED, and counted no case"),
        specimen(program, "no_such_case", 0, 1, "FAILED, and counted no case"),
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
        bazel("failed cases count, whatever the exit status", 0, [ran("//a", "PASSED", "5 passed, 2 failed\n")],
              [Count("//a", 5, 2)]),
        bazel("zero cases fail", 0, [ran("//a", "PASSED", "0 passed, 0 failed\n")],
              [Count("//a", 0, 1, "PASSED, and counted no case")]),
        bazel("a target that does not build fails", 1, [built, good, broken],
              [Count("//a", 5, 0), Count("//b", 0, 1, "does not build")]),
        bazel("a bad exit status without any failed test fails", 1, [built, good],
              [Count("//a", 5, 0), Count("bazel", 0, 1, "exit status 1")]),
    ]


# --- Tiers: which tests a configuration takes, and the floor.

def floors():
    counts = [Count("//a", 5, 0)]
    low = Count("floor", 0, 1, "5 cases passed, test/floor asks for 6")
    missing = Count("floor", 0, 1, "test/floor has no line for full gcc: test/run --raise-floor adds it")

    def raised(text, tier, passed, wanted):
        with tempfile.NamedTemporaryFile("w+", suffix=".floor") as file:
            file.write(text)
            file.flush()
            run_tests.raise_floor(tier, passed, file.name)
            return expect(wanted, run_tests.read_floor(file.name))

    have = "# what it is\nquick gcc 5\nfull gcc 9  # of all\n"
    return [
        ("as many cases as the floor pass",
         lambda: expect(counts, run_tests.check_floor("full", "gcc", counts, {("full", "gcc"): 5}))),
        ("fewer cases than the floor fail",
         lambda: expect(counts + [low], run_tests.check_floor("full", "gcc", counts, {("full", "gcc"): 6}))),
        ("a configuration without a floor fails",
         lambda: expect(counts + [missing], run_tests.check_floor("full", "gcc", counts, {("quick", "gcc"): 5}))),
        ("--raise-floor raises a number, of its tier alone",
         lambda: raised(have, "quick", {"gcc": 7}, {("quick", "gcc"): 7, ("full", "gcc"): 9})),
        ("--raise-floor adds what has no line",
         lambda: raised(have, "full", {"tsan": 2}, {("quick", "gcc"): 5, ("full", "gcc"): 9, ("full", "tsan"): 2})),
        ("--raise-floor lowers nothing", lambda: raised(have, "full", {"gcc": 8}, {("quick", "gcc"): 5, ("full", "gcc"): 9})),
    ]


def tiers():
    def takes(tier, config, wanted, *tags):
        """What Bazel does with --test_tag_filters."""
        filters = run_tests.tag_filter(run_tests.TIERS[tier][config], run_tests.LEFT_OUT[tier]).split(",")
        must = {one for one in filters if one and one[0] != "-"}
        got = not any("-" + tag in filters for tag in tags) and (not must or bool(must & set(tags)))
        what = f"a test tagged {', '.join(tags)}" if tags else "a test without tags"
        return f"{tier} {config} {'takes' if wanted else 'leaves'} {what}", lambda: expect(wanted, got)

    def refused(name, *arguments):
        def run():
            # A process: what this one's threads say would get mixed.
            done = subprocess.run([sys.executable, "-c", f"import run_tests; run_tests.parse({list(arguments)})"], cwd=FOLDER,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            reason = done.stderr.splitlines()[-1:]
            right = done.returncode == 2 and any(words in "".join(reason) for words in ("tier", "whole", "not allowed"))
            return None if right else f"exit status {done.returncode}: {done.stderr}"

        return name, run

    def every_flag_is_known():
        with open(os.path.join(FOLDER, "run_tests.txt"), encoding="utf-8") as file:
            text = file.read()
        return expect([], [name for tier in run_tests.TIERS.values() for name in tier if name not in text])

    def no_tag_of_bazels():
        taken = {"small", "medium", "large", "enormous", "short", "moderate", "long", "eternal"}
        filters = [run_tests.tag_filter(configuration, run_tests.LEFT_OUT[tier])
                   for tier, configurations in run_tests.TIERS.items()
                   for configuration in configurations.values() if configuration]
        return expect(set(), taken & {tag.lstrip("-") for text in filters for tag in text.split(",")})

    return [
        takes("quick", "gcc_debug", True), takes("quick", "gcc_debug", True, "any_config"),
        takes("quick", "gcc_debug", False, "slow"), takes("quick", "gcc_debug", False, "needs_clang"),
        takes("quick", "gcc_debug", False, "nightly"), takes("quick", "gcc_debug", False, "threads"),
        takes("quick", "gcc_debug", False, "memory"), takes("full", "gcc_debug", False, "threads"),
        takes("full", "gcc_debug", False, "memory"), takes("full", "gcc_debug", False, "memory", "optimised"),
        takes("full", "gcc_debug", False, "any_config", "first_tier"), takes("quick", "gcc_debug", True, "first_tier"),
        takes("full", "gcc", True, "memory", "optimised"), takes("full", "gcc", False, "memory"),
        takes("quick", "gcc_sanitizers", False), takes("quick", "gcc_sanitizers", True, "memory"),
        takes("quick", "gcc_sanitizers", False, "memory", "no_sanitizers"), takes("quick", "tsan_gcc", True, "threads"),
        takes("quick", "tsan_gcc", False, "threads", "slow"), takes("quick", "tsan_gcc", False, "threads", "no_tsan"),
        takes("full", "gcc_debug", True, "slow"), takes("full", "gcc_debug", True, "needs_clang", "any_config"),
        takes("full", "gcc_debug", False, "nightly"), takes("full", "gcc", False, "nightly", "optimised"),
        takes("full", "clang14", False, "any_config", "optimised"), takes("full", "clang14", False, "slow"),
        takes("full", "clang14", True, "optimised"),
        takes("full", "clang19", True, "optimised"), takes("full", "clang19", False), takes("full", "sanitizers", True, "slow"),
        takes("nightly", "gcc", True, "nightly"), takes("nightly", "tsan", True),
        takes("nightly", "tsan", False, "no_sanitizers"),
        refused("two tiers at once are refused", "--full", "--nightly"),
        refused("a configuration of another tier is refused", "--config=clang14"),
        refused("a floor isn't raised by a part of the tests", "--raise-floor", "--filter=x"),
        ("--help names every configuration", every_flag_is_known),
        ("no tag is a size or a limit of time of Bazel's, which its filters take for tags", no_tag_of_bazels),
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
SPLIT = "#ifdef TARN_TWIN\npool<int> p;\n#else\npool<char> p;\n#endif\n"
SAYS = "// expect: tarn: [R1] too small\n"


def compile_fails():
    return [
        compile_fail("a right file passes", SAYS + WRONG + SPLIT, None),
        compile_fail("wrong code that compiles fails", SAYS + WRONG + SPLIT.replace("char", "long"), "must not"),
        compile_fail("another message fails", SAYS.replace("too small", "too large") + WRONG + SPLIT, "no error says"),
        compile_fail("one of two messages fails", SAYS + "// expect: tarn: [R2]\n" + WRONG + SPLIT, "says 'tarn: .R2.'"),
        compile_fail("the words elsewhere than in an error fail", SAYS + WRONG.replace("too small", "other") +
                     "/* tarn: [R1] too small */ " + SPLIT, "no error says"),
        compile_fail("words that a note lacks fail", SAYS + "// mentions: counts\n" + WRONG + SPLIT, "notes say 'counts'"),
        compile_fail("a twin that does not compile fails", SAYS + WRONG + SPLIT.replace("int", "char"), "a twin"),
        compile_fail("a twin with a warning fails", SAYS + WRONG + SPLIT.replace("pool<int> p;", "char c = 300;"),
                     "a twin"),
        compile_fail("two errors fail", SAYS + WRONG + SPLIT.replace("#endif", "int i = nothing;\n#endif"),
                     "gives 2 errors"),
        compile_fail("two errors pass where many are allowed",
                     SAYS + "// errors: many\n" + WRONG + SPLIT.replace("#endif", "int i = nothing;\n#endif"), None),
        compile_fail("a file without expectation fails", WRONG + SPLIT, "nothing to expect"),
        compile_fail("a file without twin fails", SAYS + WRONG + "pool<char> p;\n", "no twin"),
    ]


def cases_of_one_file():
    def one(name):
        return f"{SAYS}namespace {name} {{\n{SPLIT}}}  // namespace {name}\n\n"

    good, file = one("good"), WRONG + one("good") + one("other")
    return [
        compile_fail("cases of one file are compiled apart", file, None),
        compile_fail("a case that compiles fails beside one that does not", WRONG + good + one("bad").replace("char", "long"),
                     r"ok    good \((?:.*\n)*FAIL  bad \(.*\n.*must not"),
        compile_fail("a case that gives another message fails", WRONG + good + one("bad").replace("too small", "too large"),
                     r"ok    good \((?:.*\n)*FAIL  bad \(.*\n.*no error says"),
        compile_fail("a case without expectation fails", WRONG + good + one("bad").replace(SAYS, ""),
                     r"FAIL  bad \(.*\n.*nothing to expect"),
        compile_fail("a case without twin fails", WRONG + good + one("bad").replace(SPLIT, "pool<char> p;\n"),
                     r"FAIL  bad \(.*\n.*no twin"),
        compile_fail("one twin of two that does not compile fails", WRONG + good + one("bad").replace("int", "char"), "a twin"),
        compile_fail("a case that does not end fails", WRONG + good + one("bad").replace("}  // namespace bad", "}"),
                     "outside of a case"),
    ]


def compilers_named():
    """What TARN_COMPILERS does: `found` is what a script that can use `wanted` gets of it, or what it says instead."""

    def one(name, value, wanted, found, path=os.environ["PATH"]):
        def run():
            code = f"import compilers; print(*compilers.present({wanted}))"
            done = subprocess.run([sys.executable, "-B", "-c", code], cwd=FOLDER, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, text=True, env={"TARN_COMPILERS": value, "PATH": path})
            return expect(found, done.stdout.rstrip("\n"))

        return f"TARN_COMPILERS: {name}", run

    return [
        one("only what it names is used", "g++", None, "g++"),
        one("what a script can't use isn't looked for", "g++", ["clang++-19", "g++"], "g++"),
        one("nothing that a script can use", "g++", ["clang++-19"], "no compiler to use: looked for clang++-19 among g++"),
        one("a compiler that isn't there", "g++", None, "TARN_COMPILERS names g++, which isn't installed", path="/nowhere"),
        one("a compiler that tarn doesn't know", "g++ tcc", None,
            "TARN_COMPILERS names tcc, which is none of g++, clang++-19, clang++-14"),
    ]


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
        header("a missing guard fails", "struct once {};\n", "redefinition"),
        header("a warning fails", guard.format("inline char half(int i) { return i / 2; }"), "conversion"),
    ]


def rooms():
    """What check_rooms.py says of small trees."""

    def one(name, header, includes, wanted):
        def run():
            tree = {header: "".join(f'#include "tarn/{other}"\n' for other in includes)}
            said = [wrong() for _, wrong in check_rooms.cases(list(tree), tree.get)]
            return expect(wanted, "".join(line for line in said if line))

        return f"rooms: {name}", run

    def says(name, header, text, wanted):
        """What it says of a header with this text."""
        def run():
            said = [wrong() for _, wrong in check_rooms.cases([header], {header: text}.get)]
            return expect(wanted, "".join(line for line in said if line))

        return f"rooms: {name}", run

    a_policy = "policies/reuse/a.h"
    foreign = a_policy + ":1 says {}, which is a compiler's or a system's: that belongs into policies/platform"

    def mirror(name, tests, wanted):
        """What it says of these tests beside a product, a policy and a room inside."""
        library = ["allocator/pool.h", "policies/reuse/a.h", "policies/reuse/detail/b.h", "policies/detail/BUILD",
                   "allocator/detail/core/chunk.h"]
        return f"rooms: {name}", lambda: expect(wanted, check_rooms.tests(library + tests)[1]())

    def numbered(name, second, wanted):
        """What it says of two objects of the process, the second with this number."""
        tree = {"a.h": "one_in_process<one, 0x101>::get()", "b.h": f"one_in_process<other, {second}>::get()"}
        return f"rooms: {name}", lambda: expect(wanted, check_rooms.numbers(list(tree), tree.get)[1]() or "")

    return [
        numbered("two numbers for two objects", "0x102", ""),
        numbered("one number for two objects", "0x101", "0x101: one, other"),
        one("a policy uses its axis' detail", "policies/reuse/a.h", ["policies/reuse/detail/b.h", "policies/detail/c.h"], ""),
        one("a pool uses the core", "allocator/detail/pool/a.h", ["allocator/detail/core/b.h"], ""),
        one("a header in no room", "allocator/detail/attic/a.h", [], "allocator/detail/attic/a.h is in no room"),
        one("an include of what is in no room", "policies/reuse.h", ["tools/a.h"],
            "policies/reuse.h includes tools/a.h, which is in no room"),
        one("policies use the allocator", "policies/reuse/a.h", ["allocator/pool.h"],
            "policies/reuse/a.h (policies) includes allocator/pool.h (products)"),
        one("the core uses the pool", "allocator/detail/core/a.h", ["allocator/detail/pool/b.h"],
            "allocator/detail/core/a.h (core) includes allocator/detail/pool/b.h (pool)"),
        one("the platform uses a policy", "policies/platform/a.h", ["policies/detail/b.h"],
            "policies/platform/a.h (policies/platform) includes policies/detail/b.h (policies/detail)"),
        one("an axis uses another's detail", "policies/reuse/a.h", ["policies/locking/detail/b.h"],
            "policies/reuse/a.h includes policies/locking/detail/b.h, which belongs to another axis"),
        one("detail uses another axis' detail", "policies/reuse/detail/a.h", ["policies/locking/detail/b.h"],
            "policies/reuse/detail/a.h (policies/<axis>/detail) includes policies/locking/detail/b.h (policies/<axis>/detail)"),
        says("a policy of standard C++", a_policy,
             "#include <bit>\n#if defined(__cpp_exceptions) && __cplusplus > 202002L  // not __linux__\n[[nodiscard]] int a(); "
             'const char* b = "asm";', ""),
        *(says(f"a policy says {word}", a_policy, text, foreign.format(word)) for word, text in (
            ("__linux__", "#ifdef __linux__"), ("_WIN32", "#if defined(_WIN32)"), ("__GNUC__", "#if __GNUC__ > 12"),
            ("_MSC_VER", "#if !defined(_MSC_VER)"), ("_GLIBCXX_MUTEX", "#ifdef _GLIBCXX_MUTEX"), ("__SANITIZE_THREAD__",
             "#if defined(__SANITIZE_THREAD__)"), ("__builtin_expect", "return __builtin_expect(a, 1);"),
            ("__atomic_load_n", "return __atomic_load_n(&a, 0);"), ("__int128", "unsigned __int128 a;"),
            ("asm", 'asm volatile("nop");'), ("[[gnu::cold]]", "[[gnu::cold]] void a();"),
            ("__attribute__", "__attribute__((noinline)) void a();"), ("#pragma once", "#pragma once"))),
        says("the platform may", "policies/platform/a.h", "#include <unistd.h>\n#ifdef __linux__", ""),
        *(says(f"a policy includes <{header}>", a_policy, f"#include <{header}>",
               f"{a_policy}:1 includes <{header}>, which is no header of the standard library")
          for header in ("unistd.h", "sys/mman.h", "bits/functexcept.h", "pthread.h", "string.h")),
        mirror("tests of a product, of an axis, and of a room inside",
               ["test/allocator/a_test.cc", "test/policies/reuse/a_test.cc", "test/allocator/detail/core/a_test.cc"], None),
        mirror("tests that are of no room", ["test/stress/a_test.cc", "test/allocator/a_test.cc"], None),
        mirror("tests of an axis that isn't there", ["test/policies/attic/a_test.cc"],
               "test/policies/attic mirrors no room: no header lies in policies/attic"),
        mirror("tests of a room that isn't there", ["test/allocator/detail/pool/BUILD", "test/allocator/detail/core/a_test.cc"],
               "test/allocator/detail/pool mirrors no room: no header lies in allocator/detail/pool"),
        mirror("tests of a folder without headers", ["test/policies/detail/a_test.cc"],
               "test/policies/detail mirrors no room: no header lies in policies/detail"),
        mirror("tests below a room", ["test/policies/reuse/large/a_test.cc"],
               "test/policies/reuse/large mirrors no room: no header lies in policies/reuse/large"),
        mirror("a tree without tests", ["test/stress/a_test.cc"], "there are no tests below test/policies and test/allocator"),
    ]


def lengths():
    """What check_lengths.py says of a tree of one file: `wanted` of it is wrong, or nothing where that is None."""

    def one(name, path, text, wanted):
        def run():
            said = [wrong() for _, wrong in check_lengths.cases([path], {path: text}.get)]
            return expect([f"{path}{wanted}"] if wanted else [], [line for line in said if line])

        return f"lengths: {name}", run

    def line(name, path, text, number=None):
        """`number`: of the one line that is too long."""
        length = number and len(text.split("\n")[number - 1])
        return one(name, path, text, number and f":{number} has {length} columns, more than 128")

    def function(name, before, wanted=None, after="\n", end="\n"):
        """What `before` begins has 40 lines, or 41 where it is `wanted`; `end` stands at the end of each line."""
        text = before + "{" + end + ("  ++i;" + end) * (39 if wanted else 38) + "}" + after
        at = before.count("\n") + 1
        return one(name, "policies/reuse/a.h", text, wanted and f":{at} {wanted} has 41 lines, more than 40")

    words = "word " * 25  # 125 columns
    return [
        line("a line of 128 columns", "bench/run", words + "wor\n"),
        line("a line of 129 columns", "bench/run", "\n" + words + "word\n", 2),
        line("columns are no bytes", "test/a.py", "# " + "é " * 60 + "\n"),
        line("what is no text", "test/floor", words * 2),
        line("a table in Markdown", "docs/a.md", "| " + words * 2 + "|"),
        line("a table elsewhere", "test/a.h", "| " + words * 2 + "|", 1),
        line("an address", "docs/a.md", words + "https://example.org"),
        line("an address within the columns", "docs/a.md", "https://example.org " + words, 1),
        line("one word", "allocator/a.h", "  // " + "long" * 40),
        line("one word behind others", "allocator/a.h", "  // so " + "long" * 40, 1),
        line("a macro", "allocator/a.h", "#define A \\\n  " + words * 2 + "\\\n  b", 2),
        line("a message in a page", "docs/a.md", "```text\n" + words * 2 + "\n```\n\n```\n" + words * 2 + "\n```\n"),
        line("code in a page", "docs/a.md", "```\na\n```\n```cpp run\n// " + words * 2 + "\n```\n", 5),
        line("words behind code in a page", "docs/a.md", "```cpp\na\n```\n" + words * 2 + "\n```\na\n```\n", 4),
        one("a header of 1000 lines", "policies/detail/a.h", "// a\n" * 1000, None),
        one("a header of 1001 lines", "policies/detail/a.h", "// a\n" * 1001, " has 1001 lines, more than 1000"),
        one("a long header of a test", "test/support/a.h", "// a\n" * 251, None),
        function("a function of 40 lines", "void f() "),
        function("a function of 41 lines", "int i;\nvoid f() ", "f"),
        function("a member", "namespace a {\nclass b final : c<d> {\n public:\n  auto f(int i = {}) const -> int ", "f",
                 "\n};\n}\n"),
        function("a constructor", "struct b {\n  explicit b(int i) : a_{i}, c_(i) ", "b", "\n  int a_;\n};\n"),
        function("an operator", "template <class T>\n  requires(sizeof(T) < 8)\nbool operator<(T a, T b) ", "operator<"),
        function("a lambda by itself", "inline constexpr auto f = [](int i) ", "a function", ";\n"),
        function("a function of a macro", "#define F(name) \\\n  void name() ", "name", end=" \\\n"),
        one("a lambda in a function", "policies/a.h", "void f() {\n  [] {\n" + "    ++i;\n" * 38 + "  }();\n}\n",
            ":1 f has 42 lines, more than 40"),
        one("a long function of a test", "test/a.h", "void f() {\n" + "  ++i;\n" * 50 + "}\n", None),
        one("a long type", "policies/a.h", "struct a {\n" + "  int i;\n" * 50 + "};\n", None),
        one("braces in quotes", "policies/a.h", "void f() {  // {\n  g(\"{\", '{', 1'0);\n}\n" + "int i;\n" * 50, None),
        one("two branches", "policies/a.h", "#if A\nvoid f() {\n#else\nvoid g() {\n#endif\n}\n" + "int i;\n" * 50, None),
    ]


def main():
    program = os.path.abspath(sys.argv[1])
    return compilers.report(specimens(program) + [locations(program)] + bazels() + floors() + tiers() + compile_fails() +
                            cases_of_one_file() + compilers_named() + headers() + rooms() + lengths())


if __name__ == "__main__":
    sys.exit(main())
