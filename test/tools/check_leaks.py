#!/usr/bin/env python3
"""What LeakSanitizer finds with each product, next to `new`: docs/misuse.md says the same. A case is a product.

    held   a block that the program knows owns memory: no leak
    freed  a block was freed, but not what it owned: a leak, as with new
    lost   the program knows a block no longer: no leak, because its pool still does; unlike with new
    pool_lost  the program knows a pool no longer, or only what its pages hold by now: a leak

A control must be found out: a page_store that doesn't tell LeakSanitizer of its pages.
"""

import os
import subprocess
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(FOLDER, "..", "support"), os.path.join(FOLDER, "..", "libraries")]

import compilers
from builds import changed_header

SECONDS = 600  # A run takes a moment; this is for one that hangs.
FLAGS = ["-std=c++20", "-O0", "-g1", "-fsanitize=address", "-I.", "-pthread", *compilers.WARNINGS]
LEAST_PRODUCTS, LEAST_LOSSES = 19, 7
SUMMARY = "SUMMARY: AddressSanitizer: "


def found(program, *words):
    """Whether LeakSanitizer found a leak. Throws RuntimeError where something else is wrong."""
    done = subprocess.run([program, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                          timeout=SECONDS, check=False, env={**os.environ, "ASAN_OPTIONS": "detect_leaks=1"})
    leaks = SUMMARY in done.stdout and "byte(s) leaked" in done.stdout
    if not done.stdout.startswith("done\n") or leaks != (done.returncode != 0):
        raise RuntimeError(f"exit status {done.returncode}\n{done.stdout}")
    return leaks


def product_case(program, name):
    def wrong():
        try:
            said = {what: found(program, what, name) for what in ("held", "freed", "lost")}
        except RuntimeError as error:
            return str(error)
        expected = {"held": False, "freed": True, "lost": name == "new"}
        return None if said == expected else f"{said}, expected {expected}"

    return f"a block of {name}", wrong


def loss_case(program, name):
    def wrong():
        try:
            return None if found(program, "pool_lost", name) else "isn't found"
        except RuntimeError as error:
            return str(error)

    return f"a lost {name}", wrong


def control_case(program):
    def wrong():
        silent = [name for name in ("pool,page_store", "pool,sampled") if not found(program, "held", name)]
        return f"not found out: {silent}" if silent else None

    return "control: pages of which LeakSanitizer isn't told", wrong


def main():
    compilers.present(["g++"])
    builder = compilers.Builder(compilers.include_root())
    changed_header(builder, "untold", "policies/platform/leak_roots.h", {"&tarn_add_leak_root != nullptr": "false && bytes",
                                                                         "&tarn_drop_leak_root != nullptr": "false && bytes"})
    programs = [builder.job("leaks" + folder, ["g++", f"-I{folder or '.'}", *FLAGS, "tarn/test/tools/leaks.cc"])
                for folder in ("", "untold")]
    program, untold = [job.result() for job in programs]
    listed = subprocess.run([program, "list"], stdout=subprocess.PIPE, text=True, check=True).stdout.split("\n")[:-1]
    products = [name for name in listed if not name.startswith("lost ")]
    losses = [name[len("lost "):] for name in listed if name.startswith("lost ")]
    cases = [product_case(program, name) for name in products] + [loss_case(program, name) for name in losses]
    passed = compilers.report([*cases, control_case(untold)]) == 0
    return 0 if passed and len(products) >= LEAST_PRODUCTS and len(losses) >= LEAST_LOSSES else 1


if __name__ == "__main__":
    sys.exit(main())
