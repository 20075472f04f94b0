#!/usr/bin/env python3
"""What ctest runs. CMake's own ways to judge a test see its exit status or its output, never both.

  run FOLDER NAME PROGRAM...  one test program, in a fresh TEST_TMPDIR below FOLDER; keeps its count there
  clear FOLDER                forgets the counts: before the tests
  sum FOLDER                  adds them up: after the tests
"""

import json
import os
import shutil
import subprocess
import sys
import urllib.parse

import count_cases


def _keep(path, count):
    with open(path, "w", encoding="utf-8") as file:
        json.dump(vars(count), file)


def run(folder, name, *command):
    file_name = urllib.parse.quote(name, safe="")
    path = os.path.join(folder, "counts", file_name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    # What holds where ctest ends us because the time is over.
    _keep(path, count_cases.Count(name, 0, 1, "did not end"))
    scratch = os.path.join(folder, "tmp", file_name)
    shutil.rmtree(scratch, ignore_errors=True)
    os.makedirs(scratch)
    if not os.path.exists(command[0]):
        _keep(path, count_cases.Count(name, 0, 1, "isn't built"))
        print(f"{command[0]} isn't built")
        return 1
    said = []
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env={**os.environ, "TEST_TMPDIR": scratch, "PYTHONDONTWRITEBYTECODE": "1"}) as program:
        for line in program.stdout:
            sys.stdout.buffer.write(line)
            sys.stdout.flush()
            said.append(line.decode(errors="replace"))
    status = program.returncode
    ended = f"exit status {status}" if status >= 0 else f"signal {-status}"
    count = count_cases.judge(name, "".join(said), status == 0, ended)
    _keep(path, count)
    shutil.rmtree(scratch, ignore_errors=True)
    if count.failed:
        print(f"FAILED {name}: {count.failed} failed{count.note and ', ' + count.note}")
    return 1 if count.failed else 0


def clear(folder):
    shutil.rmtree(os.path.join(folder, "counts"), ignore_errors=True)
    return 0


def add_up(folder):
    counts = []
    there = os.path.join(folder, "counts")
    if not os.path.exists(there):  # as when ctest only lists the tests
        return 0
    for name in sorted(os.listdir(there)):
        with open(os.path.join(there, name), encoding="utf-8") as file:
            counts.append(count_cases.Count(**json.load(file)))
    for one in counts:
        if one.failed:
            print(f"FAILED {one.name}: {one.failed} failed{one.note and ', ' + one.note}")
    left_out = os.path.join(folder, "left_out.txt")
    if os.path.exists(left_out):
        with open(left_out, encoding="utf-8") as file:
            print(file.read(), end="")
    passed, failed = sum(one.passed for one in counts), sum(one.failed for one in counts)
    print(f"\n{len(counts)} test programs\n{passed} passed, {failed} failed", flush=True)
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit({"run": run, "clear": clear, "sum": add_up}[sys.argv[1]](*sys.argv[2:]))
