"""What the analysis knows of an instruction. The decoders, one for each processor, make them."""

from __future__ import annotations

from dataclasses import dataclass, field

FLAGS = "flags"  # as if a register: it holds zero where a comparison found two values equal


class NoInput(Exception):
    """The file can't be analysed."""


@dataclass
class Edge:
    """A way to the next instruction."""

    to: int
    more_cycles: int = 0
    tested: str = ""  # the register that was tested, or FLAGS
    is_zero: bool = False  # what it holds on this way: zero, or not


@dataclass
class Instruction:
    at: int
    size: int
    text: str
    reads: int = 0
    writes: int = 0
    cycles: int | None = 0  # None: nobody says how many
    stack: int | None = 0  # bytes by which the stack grows; None: it isn't known
    below: int = 0  # bytes that it uses below the stack pointer
    frame: int = 0  # bytes that it uses below the frame pointer
    edges: list = field(default_factory=list)
    call: int | None = None  # the function that it calls
    returns: bool = False
    stops: bool = False  # the program ends here, so no path goes through it
    fault: str = ""  # why a path through it has no bound
    uses: frozenset = frozenset()  # registers
    sets: tuple = ()  # (register, what): UNKNOWN, a number, ("copy", register), ("compare", register, register or number)

    @property
    def after(self):
        return self.at + self.size

    def goes_on_already(self):
        return any(edge.to == self.after for edge in self.edges)

    def goes_on(self):
        self.edges = [Edge(self.after)]
        return self


UNKNOWN = "unknown"
NOT_ZERO = "not zero"
