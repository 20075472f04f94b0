"""Reads maps: lines of JSON, as the debuggers' commands write them. docs/how-to/map.md has the format."""

import json
import re

VERSION = 1
# letter: (what it says, colour). Of the palette of Okabe and Ito, which the colour-blind tell apart; they differ in lightness,
# too. None: the page's own pale colour.
STATES = {"u": ("in use", "#0072b2"), "f": ("free", "#f0e442"), "F": ("free, at the front of the list", "#e69f00"),
          "t": ("free, in a thread's magazine", "#cc79a7"), "q": ("quarantined", "#d55e00"), "n": ("never used", None)}
RUN = re.compile(r"([a-zA-Z])(\d+)")


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
    found = [(letter, int(n)) for letter, n in RUN.findall(text)]
    if "".join(f"{letter}{n}" for letter, n in found) != text:
        raise Malformed("the states of a chunk aren't letters with numbers")
    for letter, _ in found:
        if letter not in STATES:
            raise Malformed(f"'{letter}' is no state that this program knows")
    return found


def read(path):
    """The maps of a file, in its order. Throws Malformed, OSError."""
    found = []
    with open(path, encoding="utf-8") as file:
        for at, line in enumerate(file, 1):
            try:
                one = json.loads(line)
                if one.get("version") != VERSION:
                    raise Malformed(f"it has version {one.get('version')}; this program reads version {VERSION}")
                pools = [Pool(p["name"], p["block_size"], p["stride"], p["run"], p["policies"],
                              [Chunk(int(c["first"], 16), runs_of(c["states"])) for c in p["chunks"]]) for p in one["pools"]]
                found.append(Map(str(one["label"]), pools))
            except Malformed as error:
                raise Malformed(f"line {at}: {error}") from None
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise Malformed(f"line {at} is no map: {error}") from None
    if not found or not any(one.pools for one in found):
        raise Malformed("there is no map in it")
    return found
