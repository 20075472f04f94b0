"""What the caller says of a program: facts in files, a line each, '#' begins a comment.

  loop FILE:LINE N           the innermost loop with code of that line, in each round, runs at most N times when it is entered
  loop NAME N                each loop of that function
  cost NAME I R W [S [C]]    a call of that function: instructions, reads, writes, bytes of stack, cycles
  never NAME                 the function is never called; no path goes through a call of it

A NAME is a regular expression for the whole name: the symbol, or in C++ with or without arguments and namespaces.
"""

import re
from dataclasses import dataclass, field

from tarn_bound import image
from tarn_bound.instruction import NoInput

NUMBERS = {"loop": (1, 1), "cost": (3, 5), "never": (0, 0)}


@dataclass
class Facts:
    assumed: set = field(default_factory=set)
    places: list = field(default_factory=list)  # (FILE:LINE, bound)
    loops: list = field(default_factory=list)  # (pattern, bound)
    costs: list = field(default_factory=list)  # (pattern, numbers)
    never: list = field(default_factory=list)  # patterns

    def read(self, path):
        try:
            with open(path, encoding="utf-8") as file:
                lines = file.read().splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise NoInput(f"{path}: {error}") from None
        for number, line in enumerate(lines, 1):
            if words := line.split("#")[0].split():
                try:
                    self._add(*words)
                except (TypeError, ValueError, re.error) as error:
                    raise NoInput(f"{path}:{number}: {error}") from None

    def _add(self, kind, name=None, *numbers):
        least, most = NUMBERS.get(kind, (1, 0))
        if name is None or not least <= len(numbers) <= most:
            raise ValueError(f"not a fact: {' '.join([kind, name or '', *numbers])}")
        numbers = tuple(int(one) for one in numbers)
        if min(numbers, default=0) < 0:
            raise ValueError(f"a number below 0: {' '.join([kind, name, *map(str, numbers)])}")
        if kind == "loop" and re.search(r":\d+$", name):
            self.places.append((name, *numbers))
        elif kind == "loop":
            self.loops.append((re.compile(name), *numbers))
        elif kind == "cost":
            self.costs.append((re.compile(name), numbers + (0,) * (5 - len(numbers))))
        else:
            self.never.append(re.compile(name))

    def cost_of(self, name):
        """(instructions, reads, writes, stack, cycles) that the caller gives for a function, or None."""
        return next((numbers for pattern, numbers in self.costs if is_whole(pattern, name)), None)

    def is_never(self, name):
        return any(is_whole(pattern, name) for pattern in self.never)

    def loop_in(self, function):
        """The bound of each loop of a function; None: nothing is said."""
        return min((bound for pattern, bound in self.loops if is_whole(pattern, function)), default=None)


def is_whole(pattern, symbol):
    """Whether it matches a function's whole name: not `log` of `log_error`, for a wrong function would be left out."""
    return any(pattern.fullmatch(name) for name in image.names_of(symbol))
