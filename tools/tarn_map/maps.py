"""Reads maps: lines of JSON, as the debuggers' commands write them. docs/how-to/map.md has the format."""

import json
import re

from tarn_output import one_line

VERSION = 1
MOST_LINES, MOST_BYTES = 100_000, 64 << 20  # maps of a file; bytes of one
MOST = 1 << 64
# letter: (what it says, colour). Of the palette of Okabe and Ito, which the colour-blind tell apart; they differ in lightness,
# too. None: the page's own pale colour.
STATES = {"u": ("in use", "#0072b2"), "f": ("free", "#f0e442"), "F": ("free, at the front of the list", "#e69f00"),
          "t": ("free, in a thread's magazine", "#cc79a7"), "q": ("quarantined", "#d55e00"), "n": ("never used", None)}
RUN = re.compile(r"([a-zA-Z])(\d{1,20})", re.ASCII)
RUNS = re.compile(f"({RUN.pattern})*", re.ASCII)


class Malformed(Exception):
    """The file isn't what it should be; the text says why."""


class Chunk:
    """`runs`: (letter, how many) of its blocks, in order."""

    def __init__(self, first, runs):
        self.first, self.runs = first, runs
        self.blocks = sum(n for _, n in runs)


class Pool:
    def __init__(self, name, block_size, stride, run, policies, chunks):
        self.name, self.block_size, self.stride, self.run, self.policies, self.chunks = (
            name, block_size, stride, run, policies, chunks)

    def counts(self):
        """{letter: blocks}"""
        found = dict.fromkeys(STATES, 0)
        for chunk in self.chunks:
            for letter, n in chunk.runs:
                found[letter] += n
        return found

    def blocks(self):
        return sum(chunk.blocks for chunk in self.chunks)


class Map:
    def __init__(self, label, pools):
        self.label, self.pools = label, pools


def runs_of(text):
    if not RUNS.fullmatch(text):
        raise Malformed("the states of a chunk aren't letters with numbers")
    found = [(letter, number(int(n), "how many blocks are in a state")) for letter, n in RUN.findall(text)]
    for letter, _ in found:
        if letter not in STATES:
            raise Malformed(f"'{letter}' is no state that this program knows")
    return found


def number(value, what):
    if type(value) is not int or not 0 <= value < MOST:  # a bool is an int, too
        raise Malformed(f"{what} isn't a number of 64 bits")
    return value


def text(value, what):
    if not isinstance(value, str):
        raise Malformed(f"{what} is no text")
    return value


def pool_of(p):
    return Pool(text(p["name"], "a name"), *(number(p[name], f"'{name}'") for name in ("block_size", "stride", "run")),
                text(p["policies"], "'policies'"),
                [Chunk(number(int(c["first"], 16), "'first'"), runs_of(c["states"])) for c in p["chunks"]])


def lines_of(path):
    with open(path, "rb") as file:
        for at in range(1, MOST_LINES + 2):
            line = file.readline(MOST_BYTES + 1)
            if not line:
                return
            if len(line) > MOST_BYTES:
                raise Malformed(f"line {at} is no map: it is longer than {MOST_BYTES >> 20} MiB")
            if at > MOST_LINES:
                raise Malformed(f"it has more than {MOST_LINES} lines")
            yield at, line


def read(path):
    """The maps of a file, in its order. Throws Malformed, OSError."""
    found = []
    for at, line in lines_of(path):
        try:
            one = json.loads(line)
            if one.get("version") != VERSION:
                raise Malformed(f"it has version {one_line(str(one.get('version')))}; this program reads version {VERSION}")
            found.append(Map(str(one["label"]), [pool_of(p) for p in one["pools"]]))
        except Malformed as error:
            raise Malformed(f"line {at}: {error}") from None
        except KeyError as error:
            raise Malformed(f"line {at} is no map: it has no {error}") from None
        except RecursionError:
            raise Malformed(f"line {at} is no map: it is nested too deeply") from None
        except (ValueError, TypeError, AttributeError, OverflowError) as error:
            raise Malformed(f"line {at} is no map: {one_line(str(error))}") from None
    if not found or not any(one.pools for one in found):
        raise Malformed("there is no map in it")
    return found
