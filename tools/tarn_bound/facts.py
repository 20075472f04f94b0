"""What the caller says of a program: facts in files, a line each, '#' begins a comment.

  loop FILE:LINE N           a loop with code of that line runs at most N times each time it is entered
  loop NAME N                each loop of the functions whose name matches, a regular expression
  cost NAME I R W [S [C]]    a call of that function: instructions, reads, writes, bytes of stack, cycles
  never NAME                 the function is never called; no path goes through a call of it
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
    used: set = field(default_factory=set)

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
        return next((numbers for pattern, numbers in self.costs if pattern.fullmatch(name)), None)

    def is_never(self, name):
        return any(pattern.search(name) or pattern.search(image.demangled(name)) for pattern in self.never)

    def loop_at(self, places, function):
        """The bound of a loop with code of these lines, in that function; None: nothing is said."""
        found = [bound for place, bound in self.places if any(one == place or one.endswith("/" + place) for one in places)]
        found = found or [bound for pattern, bound in self.loops if pattern.search(image.demangled(function))]
        return min(found, default=None)
