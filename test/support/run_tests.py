"""Runs the tests of a tier in its configurations and adds up their cases. Called by test/run, which documents it.

What a test belongs to is said by the tags in its BUILD file alone; CONTRIBUTING.md lists them. Here stands which tags a
configuration takes and leaves.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass

import count_cases
from count_cases import Count


@dataclass(frozen=True)
class Configuration:
    """How one `bazel test` is called."""

    flags: tuple
    only: str = ""  # the tag that a test must have
    without: tuple = ()  # tags that it must not have


NEEDS = ("needs_clang", "needs_cmake", "needs_programs", "needs_valgrind")
# The same result in every configuration: the first of a tier runs these, the others leave them.
ONCE = ("any_config",)
UNDER_ASAN = ONCE + ("no_sanitizers",)
UNDER_TSAN = UNDER_ASAN + ("no_tsan",)
# ASan's reports have no lines, which take a fifth (UBSan's have them): --config=asan gives them. Nor does it look for uses of
# dead stack frames, which takes a quarter where tests run long.
BRIEF = ("--copt=-g0", "--copt=-fsanitize-address-use-after-return=never")

# In the first tier g++'s sanitizers leave to clang's, in --full, what costs more to compile than it finds: lines, null and
# alignment at each access, pointers that wrap around, uses of a scope's objects after it. ASan's checks are calls: compiled
# sooner, run a fifth slower.
LEAN = ("--copt=-g0", "--copt=-fno-sanitize=null,alignment,pointer-overflow", "--copt=-fno-sanitize-address-use-after-scope",
        "--copt=--param=asan-instrumentation-with-call-threshold=0")

# {tier: {configuration: what it runs}}. A test that is slow stays out of the first tier, one that is nightly out of both. In
# the first tier each test runs once: under the sanitizer that its tag asks for, which finds what a plain run finds, or plain.
# So it does in the second, there under clang's sanitizers; what is tagged `optimised` g++ optimises, since all else is compiled
# in half the time without. In the last tier each runs in all.
QUICK = {
    "gcc_sanitizers": Configuration(("--config=gcc_sanitizers", *LEAN), "memory", UNDER_ASAN),
    "tsan_gcc": Configuration(("--config=tsan_gcc",), "threads", UNDER_TSAN),
    "gcc_debug": Configuration(("--config=gcc_debug",), "", ("memory", "threads")),
}
FULL = {
    "gcc_debug": Configuration(("--config=gcc_debug",), "", ("memory", "threads", "optimised")),
    "gcc": Configuration(("--config=opt", "--config=gcc"), "optimised"),
    "sanitizers": Configuration(("--config=sanitizers", *BRIEF), "memory", UNDER_ASAN),
    "tsan": Configuration(("--config=tsan",), "threads", UNDER_TSAN),  # g++'s, which sees other races, is in the first tier
    "benchmarks": None,
    "mallocs": None,
    "cmake_list": None,
    "consumer": None,
    "platforms": None,
    "platform_parts": None,
    "migration": None,
    "bounds": None,
    "site": None,
    "observe": None,
}
NIGHTLY = {
    "gcc": Configuration(("--config=opt", "--config=gcc")),
    "gcc_debug": Configuration(("--config=gcc_debug",), "", ONCE),
    "clang19": Configuration(("--config=opt", "--config=clang"), "", ONCE),
    "clang14": Configuration(("--config=opt", "--config=clang14"), "", ONCE),
    "sanitizers": Configuration(("--config=sanitizers", "--copt=-O1"), "", UNDER_ASAN),
    "gcc_sanitizers": Configuration(("--config=gcc_sanitizers",), "", UNDER_ASAN),
    "tsan": Configuration(("--config=tsan",), "", UNDER_TSAN),
    "tsan_gcc": Configuration(("--config=tsan_gcc",), "", UNDER_TSAN),
    "benchmarks": None,
    "mallocs": None,
    "cmake_list": None,
    "consumer": None,
    "platforms": None,
    "platform_parts": None,
    "migration": None,
    "bounds": None,
    "site": None,
    "observe": None,
    "fresh": None,
    "packages": None,
}
TIERS = {"quick": QUICK, "full": FULL, "nightly": NIGHTLY}
LEFT_OUT = {"quick": ("slow", "nightly", *NEEDS), "full": ("nightly",), "nightly": ()}

# What can't be a target of our Bazel, since it starts one of its own, or needs the machine for itself.
COMMANDS = {
    "cmake_list": ["test/support/check_cmake"],
    "benchmarks": ["bench/run", "--smoke", "--out"],  # and a folder
    "mallocs": ["bench/malloc/run", "--smoke"],
    "consumer": ["test/consumer/run"],
    "platforms": ["test/platforms/run"],
    "platform_parts": ["test/platforms/parts"],
    "migration": ["test/migration/run"],
    "bounds": ["test/bounds/run"],
    "site": ["test/site/run"],
    "observe": ["test/observe/run"],
    "fresh": ["test/fresh/run"],
    "packages": ["test/fresh/run", "--pass=5"],
}

# What a command is told more in the last tier.
AT_NIGHT = {"platforms": ["--all"], "platform_parts": ["--all"], "migration": ["--all"], "site": ["--all"]}

# The longest that a command may take, in seconds: one that waits for ever fails, and the others still run. The slowest takes a
# quarter of it. A Bazel test has a limit of its own, in .bazelrc.
LIMITS = {"full": 1800, "nightly": 4 * 3600}

# {tier: {configuration: the least number of cases that must pass}}, 1 where none is given. Round, and well below what does: a
# configuration that has lost its tests fails, and who adds or removes some needs to change nothing here.
LEAST = {
    "quick": {"gcc_sanitizers": 1800, "tsan_gcc": 250, "gcc_debug": 1900},
    "full": {"gcc_debug": 4200, "gcc": 2100, "sanitizers": 1800, "tsan": 270,
             "benchmarks": 45, "mallocs": 14, "cmake_list": 9, "consumer": 25, "platforms": 180, "platform_parts": 200,
             "migration": 60, "bounds": 150, "site": 9, "observe": 12},
    "nightly": {"clang14": 2000, "tsan_gcc": 1900, "platforms": 1100, "platform_parts": 230, "migration": 100, "bounds": 150,
                "site": 25, "observe": 12, "packages": 5},
}

NO_TESTS = 4  # Bazel's exit status where all tests were filtered out.


def check_floor(tier, config, counts):
    """The counts, and one more failed case if too few passed."""
    passed, least = sum(one.passed for one in counts), LEAST[tier].get(config, 1)
    return counts + [Count(config, 0, 1, f"{passed} cases passed, fewer than {least}")] * (passed < least)


def tag_filter(configuration, left_out):
    """For --test_tag_filters: one tag that a test must have, if any, and those that it must not have."""
    wanted = [configuration.only] if configuration.only else []
    return ",".join(wanted + ["-" + tag for tag in dict.fromkeys((*configuration.without, *left_out))])


def matching(text):
    """The labels of tests that contain `text`."""
    query = f'filter("{re.escape(text)}", tests(//...)) except attr(tags, "\\bmanual\\b", //...)'
    return subprocess.run(["bazel", "query", "--noshow_progress", query],
                          stdout=subprocess.PIPE, text=True, check=True).stdout.split()


def run_bazel(name, configuration, options):
    """The counts of one `bazel test`."""
    chosen = matching(options.filter) if options.filter else ["//..."]
    if not chosen:
        return []
    left_out = LEFT_OUT[options.tier]
    with tempfile.TemporaryDirectory(prefix="tarn-test-") as folder:
        events = os.path.join(folder, "events.json")
        command = ["bazel", "test", *configuration.flags, "--keep_going", "--test_summary=terse",
                   "--build_event_json_file=" + events, "--show_progress_rate_limit=15",
                   # All else is the benchmarks, which bench/run builds.
                   "--build_tests_only", "--test_tag_filters=" + tag_filter(configuration, left_out)]
        if options.tier == "quick":
            command.append("--test_env=TARN_COMPILERS=g++")
        if options.tier == "nightly":
            # A seed of its own for each run: Boost.Test prints it.
            command += ["--test_env=TARN_NIGHTLY=1", "--test_env=BOOST_TEST_RANDOM=" + str(options.seed), "--test_timeout=7200"]
        if not sys.stdout.isatty():
            command += ["--curses=no", "--color=no"]
        print("+ " + " ".join(command[:2] + list(configuration.flags) + ["...", "--"] + chosen), flush=True)
        status = subprocess.run(command + ["--"] + chosen, stdin=subprocess.DEVNULL, check=False).returncode
        if not os.path.exists(events):
            return [Count("bazel", 0, 1, f"exit status {status}")]
        if options.filter and status == NO_TESTS:
            return []
        return count_cases.count(events, status)


def run_command(name, tier):
    """The counts of a command that ends with a count of its own."""
    with tempfile.TemporaryDirectory(prefix="tarn-test-") as folder:
        command = COMMANDS[name] + ([folder] if COMMANDS[name][-1] == "--out" else [])
        command += AT_NIGHT.get(name, []) if tier == "nightly" else []
        print("+ " + " ".join(command), flush=True)
        one = count_cases.run(name, ["timeout", "-k", "10", str(LIMITS[tier]), *command])
        return [one] if one.note != "exit status 124" else [Count(name, one.passed, one.failed or 1, f"over {LIMITS[tier]} s")]


def parse(arguments):
    every = list(dict.fromkeys(name for tier in TIERS.values() for name in tier))
    parser = argparse.ArgumentParser(prog="test/run", usage="see test/run --help", add_help=False, allow_abbrev=False)
    tier = parser.add_mutually_exclusive_group()
    for name in ("full", "nightly"):
        tier.add_argument("--" + name, action="store_const", dest="tier", const=name)
    parser.add_argument("--config", action="append", choices=every)
    parser.add_argument("--filter", default="")
    parser.set_defaults(tier="quick", seed=int(time.time()))
    options = parser.parse_args(arguments)
    configurations = TIERS[options.tier]
    for name in options.config or []:
        if name not in configurations:
            having = " or ".join("--" + tier for tier, others in TIERS.items() if name in others)
            parser.error(f"--config={name} stands in another tier: add {having}")
    return options


def main():
    options = parse(sys.argv[1:])
    configurations = TIERS[options.tier]
    configs = list(options.config or configurations)
    if options.filter and not options.config:
        configs = [name for name in configs if configurations[name]]
    rows = []
    for config in configs:
        print(f"\n===== {config} =====", flush=True)
        start = time.monotonic()
        how = configurations[config]
        counts = run_bazel(config, how, options) if how else run_command(config, options.tier)
        if not options.filter:
            counts = check_floor(options.tier, config, counts)
        for one in counts:
            if one.failed:
                print(f"FAILED {one.name}: {one.failed} failed{one.note and ', ' + one.note}", flush=True)
        rows.append((config, len(counts), sum(one.passed for one in counts), sum(one.failed for one in counts),
                     LEAST[options.tier].get(config, 1), time.monotonic() - start))
        print("{}: {} passed, {} failed, {:.0f} s".format(config, rows[-1][2], rows[-1][3], rows[-1][5]), flush=True)

    print("\nconfiguration   targets  passed  failed  least  seconds")
    for row in rows:
        print("{:<14}  {:>7}  {:>6}  {:>6}  {:>5}  {:>7.0f}".format(*row))
    passed, failed = sum(row[2] for row in rows), sum(row[3] for row in rows)
    if not passed:
        print("no test case ran")
    print(f"\n{passed} passed, {failed} failed", flush=True)
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
