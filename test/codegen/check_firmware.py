#!/usr/bin/env python3
"""Compiles a static pool over an array for size, and looks at how large it is: code, and memory beside its blocks.

Usage: check_firmware.py firmware.cc large_firmware.cc
"""

import os
import platform
import subprocess
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [FOLDER, os.path.join(FOLDER, "..", "support")]

import compilers

FLAGS = ["-std=c++20", "-Os", "-I.", "-fcf-protection=none", "-fno-exceptions", "-fno-rtti", "-fno-asynchronous-unwind-tables",
         "-fno-unwind-tables", *compilers.WARNINGS]
BLOCKS = 32 * 48  # bytes
TEXT = 112  # bytes of code, for x86-64; by hand 79
BESIDE = 16  # bytes of memory beside the blocks


def sizes(compiler, root, source):
    """(text, data, bss) in bytes, or None after saying why not."""
    target = os.path.join(root, os.path.basename(source) + "-" + compiler + ".o")
    done = subprocess.run([compiler, *FLAGS, "-c", "tarn/" + source, "-o", target], cwd=root, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace")
    if done.returncode:
        print(done.stdout)
        return None
    lines = subprocess.run(["size", target], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    return tuple(int(word) for word in lines[1].split()[:3])


def faults(size):
    """The names of what is too large."""
    text, data, bss = size
    return {name for name, is_wrong in [("text", text > TEXT), ("data", data != 0), ("bss", bss > BLOCKS + BESIDE)] if is_wrong}


def main():
    good, bad = sys.argv[1:]
    if platform.machine() != "x86_64":
        sys.exit(f"check_firmware.py: the limits are for x86-64, not for {platform.machine()}")
    root = compilers.include_root()
    passed = failed = 0
    for compiler in compilers.present():
        for source, expected in [(good, set()), (bad, {"text", "data"})]:
            size = sizes(compiler, root, source)
            is_right = size is not None and (faults(size) == set() if not expected else expected <= faults(size))
            print(f"{'ok   ' if is_right else 'FAIL '} {os.path.basename(source)}, {compiler}: text, data, bss {size}; "
                  f"limits {TEXT}, 0, {BLOCKS + BESIDE}")
            passed, failed = passed + is_right, failed + (not is_right)
    print(f"{passed} passed, {failed} failed")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
