"""Runs the tests in every configuration and adds up their cases. Called by test/run, which documents it."""

import argparse
import os
import subprocess
import sys
import tempfile
import time

import count_cases
from count_cases import Count

# clang 14 compiles without optimisation, with asserts: a third of the time, and another look at the same code.
BAZEL = {
    "gcc": ["--config=opt", "--config=gcc"],
    "clang19": ["--config=opt", "--config=clang"],
    "clang14": ["--config=clang14"],
    "sanitizers": ["--config=sanitizers"],
    "asan": ["--config=asan"],
    "ubsan": ["--config=ubsan"],
    "tsan": ["--config=tsan"],
    "tsan_gcc": ["--config=tsan_gcc"],
}
# What is worth its time in a long run.
NIGHTLY = {"clang14": ["--config=opt"], "sanitizers": ["--copt=-O1"]}
# What costs g++ most, where clang 19, or another test with g++, compiles the same templates at -O2: at -O1, in two thirds of
# the time. ASan's reports have no lines, which take a fifth (UBSan's have them): --config=sanitizers gives them. Nor does it look
# for uses of dead stack frames, which takes a quarter where tests run long.
DAILY = {"gcc": ["--per_file_copt=^test/(misuse/families|clients/|allocator/(bounded_store|conformance|containers|fault_|"
                 "instantiate_all|memory_resource|object_pool|size_class_pool|stl_allocator)).*@-O1"],
         "sanitizers": ["--copt=-g0", "--copt=-fsanitize-address-use-after-return=never"]}
TSAN = ["tsan", "tsan_gcc"]
SANITIZERS = ["sanitizers", "asan", "ubsan", *TSAN]
DEFAULT = ["gcc", "clang19", "clang14", "sanitizers", *TSAN, "consumer"]
# What these run where nobody asks for more: where the threads are; where what an optimiser does shows most, since clang 19
# without optimisation compiles everything once more for the sanitizers; and all but what runs long, and with others too.
PART = {config: ["//test/stress/...", "//test/allocator:reclaim_test", "//test/allocator:exhaustion_test",
                 "//test/allocator:sampled_guard_pages_test", "//test/misuse:threads_test", "//test/policies:guarded_slots_test",
                 "//test/policies:pool_names_test", "//test/policies:secret_test"] for config in TSAN}
PART["clang19"] = ["//test/allocator:model_test_%d" % shard for shard in range(4)] + [
    "//test/allocator:%s_test" % test for test in [
        "coroutine", "handle", "locking", "memory_pool_macros", "memory_resource", "object_pool", "static_pool", "stl_allocator"]
] + ["//test/misuse/...", "//test/policies/...", "//test/schedule/...", "//test/stress/..."]
PART["clang14"] = ["//...", "-//test/misuse/...", "-//test/stress/..."] + [
    "-//test/allocator:%s_test" % test for test in ["bounded_store", "fault_injection", "page_store", "reclaim"]]

NO_TESTS = 4  # Bazel's exit status where all tests were filtered out.

FLOOR = "test/floor"


def read_floor(path=FLOOR):
    """{configuration: the least number of cases that must pass}"""
    with open(path, encoding="utf-8") as file:
        lines = [line.split("#")[0].split() for line in file]
    return {words[0]: int(words[1]) for words in lines if words}


def check_floor(config, counts, floor):
    """The counts, and one more failed case if too few passed."""
    passed = sum(one.passed for one in counts)
    if config not in floor:
        return counts + [Count("floor", 0, 1, f"{FLOOR} has no line for {config}")]
    if passed < floor[config]:
        return counts + [Count("floor", 0, 1, f"{passed} cases passed, {FLOOR} asks for {floor[config]}")]
    return counts


def targets(text, part):
    """What to build and test: `part`, and of that what matches --filter. None where nothing does."""
    if text:
        every = " ".join("except " + one[1:] if one[0] == "-" else "union " + one for one in part)
        query = f'filter("{text}", tests({every.removeprefix("union ")})) except attr(tags, "\\bmanual\\b", //...)'
        found = subprocess.run(["bazel", "query", "--noshow_progress", query],
                               stdout=subprocess.PIPE, text=True, check=True).stdout.split()
        return found or None
    return part


def run_bazel(config, options, first):
    """The counts of one `bazel test`."""
    everything = options.nightly or options.config
    chosen = targets(options.filter, ["//..."] if everything else PART.get(config, ["//..."]))
    if chosen is None:
        return []
    filters = [] if first else ["any_config"]  # These give the same result everywhere: once is enough.
    if config in SANITIZERS:
        filters.append("no_sanitizers")
    if config in TSAN:
        filters.append("no_tsan")
    # Nothing is built that doesn't run, but for the benchmarks once.
    unbuilt = filters + ([] if first or options.nightly and config not in SANITIZERS else ["benchmark"])
    with tempfile.TemporaryDirectory(prefix="tarn-test-") as folder:
        events = os.path.join(folder, "events.json")
        command = ["bazel", "test", *BAZEL[config], "--keep_going", "--test_summary=terse",
                   "--build_event_json_file=" + events, "--show_progress_rate_limit=15",
                   "--test_tag_filters=" + ",".join("-" + tag for tag in filters),
                   "--build_tag_filters=" + ",".join("-" + tag for tag in unbuilt)]
        if options.nightly:
            command += ["--test_env=TARN_NIGHTLY=1", "--test_timeout=3600", *NIGHTLY.get(config, [])]
        if not everything:
            command += DAILY.get(config, [])
        if not sys.stdout.isatty():
            command += ["--curses=no", "--color=no"]
        print("+ " + " ".join(command[:4] + ["...", "--"] + chosen), flush=True)
        status = subprocess.run(command + ["--"] + chosen, stdin=subprocess.DEVNULL).returncode
        if not os.path.exists(events):
            return [Count("bazel", 0, 1, f"exit status {status}")]
        if options.filter and status == NO_TESTS:
            return []
        return count_cases.count(events, status)


def run_consumer():
    """The counts of test/consumer/run, which starts a Bazel of its own and so can't be a target of ours."""
    print("+ test/consumer/run", flush=True)
    said = []
    with subprocess.Popen(["test/consumer/run"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace") as consumer:
        for line in consumer.stdout:
            print(line, end="", flush=True)
            said.append(line)
    status = consumer.returncode
    return [count_cases.judge("test/consumer/run", "".join(said), status == 0, f"exit status {status}")]


def parse(arguments):
    parser = argparse.ArgumentParser(prog="test/run", usage="see test/run --help", add_help=False)
    parser.add_argument("--config", action="append", choices=[*BAZEL, "consumer"])
    parser.add_argument("--filter", default="")
    parser.add_argument("--nightly", action="store_true")
    return parser.parse_args(arguments)


def main():
    options = parse(sys.argv[1:])
    configs = list(options.config or DEFAULT)
    if options.filter and not options.config:
        configs.remove("consumer")
    first = next((config for config in configs if config in BAZEL), None)
    floor = read_floor()

    rows = []
    for config in configs:
        print(f"\n===== {config} =====", flush=True)
        start = time.monotonic()
        counts = run_consumer() if config == "consumer" else run_bazel(config, options, config == first)
        if not options.filter and config in DEFAULT:
            counts = check_floor(config, counts, floor)
        for one in counts:
            if one.failed:
                print(f"FAILED {one.name}: {one.failed} failed{one.note and ', ' + one.note}", flush=True)
        rows.append((config, len(counts), sum(one.passed for one in counts), sum(one.failed for one in counts),
                     floor.get(config, "-"), time.monotonic() - start))
        print("{}: {} passed, {} failed".format(config, rows[-1][2], rows[-1][3]), flush=True)

    print("\nconfiguration  targets  passed  failed  floor  seconds")
    for row in rows:
        print("{:<13}  {:>7}  {:>6}  {:>6}  {:>5}  {:>7.0f}".format(*row))
    passed, failed = sum(row[2] for row in rows), sum(row[3] for row in rows)
    if not passed:
        print("no test case ran")
    print(f"\n{passed} passed, {failed} failed", flush=True)
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
