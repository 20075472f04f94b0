"""Counts test cases in what a `bazel test` said: its build event file, and the log of each test.

Every test program prints 'N passed, N failed' last. One that says nothing, or zero, or contradicts its exit status
was not a test: it counts as one failed case.

count_cases.py PROGRAM...   runs a test program for ctest, which judges its exit status or its output, never both
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import urllib.parse
from dataclasses import dataclass

TOTAL = re.compile(r"^(\d+) passed, (\d+) failed$", re.MULTILINE)


@dataclass
class Count:
    name: str
    passed: int
    failed: int
    note: str = ""


def judge(name, log, good, status):
    """What one run of a test program counts for, from its output and whether it ended well."""
    totals = TOTAL.findall(log)
    passed, failed = map(int, totals[-1]) if totals else (0, 0)
    if passed + failed == 0:
        return Count(name, 0, 1, f"{status}, and counted no case")
    if not good and failed == 0:
        return Count(name, passed, 1, f"{status} after its cases passed")
    return Count(name, passed, failed, "" if good else status)


def run(name, command, **how):
    """What a program counts for that ends with a count of its own. Shows what it says."""
    said = []
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", **how) as running:
        for line in running.stdout:
            print(line, end="", flush=True)
            said.append(line)
    return judge(name, "".join(said), running.returncode == 0, f"exit status {running.returncode}")


def _events(path):
    with open(path, encoding="utf-8") as file:
        for line in file:
            event = json.loads(line)
            (kind, key), = event["id"].items()
            yield kind, key, event


def _log_of(result):
    for output in result.get("testActionOutput", []):
        if output["name"] == "test.log":
            with open(urllib.parse.unquote(urllib.parse.urlparse(output["uri"]).path), errors="replace") as file:
                return file.read()
    return ""


def count(event_file, exit_status):
    """One Count for each test that ran, and one for each target that failed to build."""
    runs = {}
    unbuilt = set()
    for kind, key, event in _events(event_file):
        if kind == "testResult":
            # A later attempt replaces an earlier one.
            runs[key["label"], key.get("run"), key.get("shard")] = event.get("testResult", {})
        elif kind == "targetCompleted" and not event.get("completed", {}).get("success"):
            unbuilt.add(key["label"])

    counts = []
    for (label, _, _), result in runs.items():
        status = result.get("status", "NO STATUS")
        counts.append(judge(label, _log_of(result), status == "PASSED", status))
    tested = {label for label, _, _ in runs}
    counts += [Count(label, 0, 1, "does not build") for label in sorted(unbuilt - tested)]
    if exit_status and not any(one.failed for one in counts):
        counts.append(Count("bazel", 0, 1, f"exit status {exit_status}"))
    return counts


def main():
    with tempfile.TemporaryDirectory(prefix="tarn-test-") as folder:
        one = run("", sys.argv[1:], env={**os.environ, "TEST_TMPDIR": folder, "PYTHONDONTWRITEBYTECODE": "1"})
    if one.failed:
        print(f"FAILED: {one.failed} failed{one.note and ', ' + one.note}")
    return 1 if one.failed else 0


if __name__ == "__main__":
    sys.exit(main())
