"""The command: its arguments, and what it prints."""

import argparse
import json
import re
import sys

from tarn_bound.instruction import NoInput

USAGE = """The worst case of a function and of all that it calls, read from a linked program's machine code.

Prints instructions, reads, writes, bytes of stack and, for Cortex-M4 and M0+, cycles; or why there is no bound. Needs capstone
and pyelftools (pip install capstone pyelftools). Exits with 0 if each function has a bound, 1 if one has none, 2 if the input
can't be read.
"""


def arguments(given):
    parser = argparse.ArgumentParser(prog="tarn-bound", description=USAGE,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", metavar="PROGRAM", help="a linked ELF file: x86-64, Thumb, AArch64 or RISC-V 32")
    parser.add_argument("functions", nargs="+", metavar="FUNCTION",
                        help="a symbol, or a regular expression that matches whole ones")
    parser.add_argument("--cpu", default="", metavar="NAME", help="cortex-m4 or cortex-m0plus: count cycles, too")
    parser.add_argument("--assume", action="append", default=[], metavar="NAME",
                        help="what TARN_NOT_IF(NAME) marks isn't reached; may be repeated")
    parser.add_argument("--facts", action="append", default=[], metavar="FILE",
                        help="facts on loops and functions; may be repeated")
    parser.add_argument("--path", action="store_true", help="show the dearest path: calls, loops, lines")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--at-most", type=int, metavar="N", help="exit with 1 above that many instructions")
    return parser.parse_args(given)


def symbols_of(image, wanted):
    try:
        found = sorted(name for name in image.symbols if name == wanted or ".cold" not in name and re.fullmatch(wanted, name))
    except re.error as error:
        raise NoInput(f"{wanted}: {error}") from None
    if not found:
        from tarn_bound import image as elf
        near = [name for name in image.symbols if wanted in elf.names_of(name)]
        why = f"; its symbol is {' or '.join(sorted(near)[:3])}" if near else "" if image.symbols else ": it is stripped"
        raise NoInput(f"{image.path} has no function {wanted}{why}")
    return found


def main(given=None):
    said = arguments(sys.argv[1:] if given is None else given)
    try:
        from tarn_bound import report
    except ImportError as missing:
        print(f"tarn-bound: it needs capstone and pyelftools: pip install capstone pyelftools ({missing})", file=sys.stderr)
        return 2
    try:
        bounds = report.bounds(said.program, lambda image: [one for name in said.functions for one in symbols_of(image, name)],
                               said.cpu, said.assume, said.facts)
    except NoInput as wrong:
        print(f"tarn-bound: {wrong}", file=sys.stderr)
        return 2
    if said.json:
        print(json.dumps([one.as_json() for one in bounds], indent=1))
    else:
        for one in bounds:
            print("\n".join(one.lines(said.path)))
    over = said.at_most is not None and any(one.cost[0] > said.at_most for one in bounds)
    return int(over or any(one.faults for one in bounds))


