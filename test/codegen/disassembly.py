"""Reads x86-64 object files with binutils: the cost of the hit path of a function, and where variables lie."""

import re
import subprocess
from dataclasses import dataclass


@dataclass
class Instruction:
    address: int
    text: str
    outside: bool = False  # its operand is an address elsewhere, known to the linker only

    @property
    def conditional(self):
        return re.match(r"j(?!mp)", self.text) is not None

    @property
    def locked(self):
        return re.match(r"(lock|xacquire|xrelease)\b", self.text) is not None or re.match(r"xchg\b.*\(", self.text) is not None

    @property
    def target(self):
        found = re.match(r"(?:bnd )?j\w+ +([0-9a-f]+)\b", self.text)
        return int(found.group(1), 16) if found and not self.outside else None


@dataclass
class Cost:
    instructions: int = 0
    branches: int = 0
    locks: int = 0
    calls: int = 0  # also jumps to another function

    def plus(self, one, call=0):
        return Cost(self.instructions + 1, self.branches + one.conditional, self.locks + one.locked,
                    self.calls + call + one.text.startswith("call"))


def functions(object_file):
    """{name: its instructions} of an object file."""
    said = subprocess.run(["objdump", "-dr", "--no-show-raw-insn", "-w", object_file], stdout=subprocess.PIPE, text=True,
                          check=True).stdout
    found = {}
    for line in said.splitlines():
        if name := re.match(r"[0-9a-f]+ <(.+)>:$", line):
            body = found.setdefault(name.group(1), [])
        elif one := re.match(r" *([0-9a-f]+):\t(.*)$", line):
            # With -w a relocation stands in the line of its instruction, behind tabs.
            text, *relocations = re.split(r"\t", one.group(2).strip(), maxsplit=1)
            body.append(Instruction(int(one.group(1), 16), text.strip(), bool(relocations)))
    return found


def paths(body):
    """The costs of all ways through a function, without loops: (it comes back by itself, Cost)."""
    index = {one.address: i for i, one in enumerate(body)}
    todo = [(0, Cost(), frozenset())]
    while todo:
        i, cost, seen = todo.pop()
        one = body[i]
        if i in seen:
            continue
        seen |= {i}
        inside = one.target in index
        if one.text.startswith(("ret", "repz ret")):
            yield True, cost.plus(one)
        elif re.match(r"(bnd )?jmp", one.text):
            if inside:
                todo.append((index[one.target], cost.plus(one), seen))
            else:
                yield False, cost.plus(one, call=1)
        elif one.text.startswith(("ud2", "hlt")):
            pass
        else:
            if one.conditional and inside:
                todo.append((index[one.target], cost.plus(one), seen))
            elif one.conditional:
                yield False, cost.plus(one, call=1)
            if i + 1 < len(body):
                todo.append((i + 1, cost.plus(one), seen))


def hit(body):
    """The cost of a hit: the dearest way that comes back without a call; where there is none, the cheapest with calls."""
    ways = list(paths(body))
    by_itself = [cost for returns, cost in ways if returns and cost.calls == 0]
    if by_itself:
        return max(by_itself, key=lambda cost: cost.instructions)
    return min((cost for _, cost in ways), key=lambda cost: (cost.calls, cost.instructions))


def sections(object_file):
    """The names of an object file's sections."""
    said = subprocess.run(["objdump", "-h", "-w", object_file], stdout=subprocess.PIPE, text=True, check=True).stdout
    return re.findall(r"^ *\d+ (\S+)", said, re.MULTILINE)


def symbols(object_file):
    """{demangled name: section} of the symbols that an object file defines."""
    said = subprocess.run(["objdump", "-t", "-C", object_file], stdout=subprocess.PIPE, text=True, check=True).stdout
    return {name: section for section, name in re.findall(r"^[0-9a-f]+ .{7} (\S+)\t[0-9a-f]+ +(?:\.hidden )?(.+)$", said,
                                                          re.MULTILINE) if section != "*UND*"}
