"""The bounds of functions of a program, as text and as JSON."""

from dataclasses import dataclass

from tarn_bound import image as elf
from tarn_bound.analysis import Analysis
from tarn_bound.facts import Facts
from tarn_bound.instruction import NoInput
from tarn_bound.longest import Call, Round, Way

CPUS = ("cortex-m4", "cortex-m0plus")


def decoder_for(image, cpu):
    if cpu and (cpu not in CPUS or not image.is_thumb):
        raise NoInput(f"{image.path}: no cycles are known of --cpu {cpu} for {image.machine}")
    if image.is_thumb:
        from tarn_bound.thumb import Decoder
    elif image.machine == "x64":
        from tarn_bound.x86 import Decoder
    elif image.machine == "AArch64":
        from tarn_bound.aarch64 import Decoder
    elif image.machine == "RISC-V" and image.bits == 32:
        from tarn_bound.riscv import Decoder
    else:
        raise NoInput(f"{image.path}: {image.machine}, {image.bits} bits, isn't known")
    return Decoder(cpu)


@dataclass
class Bound:
    """Of a function. With faults, the cost counts what isn't bounded once."""

    name: str
    cost: tuple  # instructions, reads, writes, cycles
    stack: int
    faults: list
    has_cycles: bool
    without_cycles: list
    way: Way
    image: elf.Image
    loops: list  # LoopFact

    def figures(self):
        found = {"instructions": self.cost[0], "reads": self.cost[1], "writes": self.cost[2], "stack": self.stack}
        if self.has_cycles and not self.without_cycles:
            found["cycles"] = self.cost[3]
        return found

    def as_json(self):
        return {"function": self.name, "bounded": not self.faults, **self.figures(), "why": self.faults,
                "loops": [{"function": one.function, "place": self.image.place(one.header), "bound": one.bound,
                           "shares": one.share} for one in self.loops],
                "path": self.path()}

    def lines(self, with_path):
        if self.faults:
            found = [f"{self.name}: no bound"] + ["  " + one for one in self.faults]
        else:
            found = [f"{self.name}: " + ", ".join(f"{number} {name}" for name, number in self.figures().items())]
        if self.has_cycles and self.without_cycles:
            found.append("  no cycles are known of " + ", ".join(self.without_cycles))
        return found + (["  " + one for one in self.path()] if with_path else [])

    def path(self):
        """The dearest path, a line for each call, loop and line of the program."""
        return _path(self.image, self.way, "")


def _steps(way):
    found = []
    while way is not None:
        if isinstance(way.step, Way):
            found += _steps(way.step)[::-1]
        elif way.step is not None:
            found.append(way.step)
        way = way.before
    return found[::-1]


def _path(image, way, indent):
    steps = _steps(way)
    lines = image.lines([step for step in steps if isinstance(step, int)])
    found, file, numbers = [], None, []
    for step in steps + [None]:
        place = elf.short_path(lines[step][0]) if isinstance(step, int) and lines[step] else ":"
        if place.rpartition(":")[0] != file:
            if file:
                last = f"-{max(numbers)}" if max(numbers) != min(numbers) else ""
                found.append(f"{indent}{file}:{min(numbers)}{last}: {len(numbers)}")
            file, numbers = place.rpartition(":")[0], []
        if file:
            numbers.append(int(place.rpartition(":")[2]))
        if isinstance(step, Call):
            found.append(f"{indent}{elf.short_name(step.name)}: {step.way.cost[0]}")
            found += _path(image, step.way, indent + "  ")
        elif isinstance(step, Round):
            found.append(f"{indent}{step.times} more rounds of the loop at {image.place(step.header)}: "
                         f"{step.times} x {step.way.cost[0]}")
            found += _path(image, step.way, indent + "  ")
    return found


def analysed(image, decoder, facts, at):
    """The Analysis and the Summary of a function. Again while it finds other prices for rounds that loops share."""
    prices = {}
    for _ in range(5):
        analysis = Analysis(image, decoder, facts, prices)
        summary = analysis.function(at)
        if analysis.found_prices == prices:
            break
        prices = analysis.found_prices
    else:
        summary.faults["loops that share rounds, one in the other, whose cost has no end"] = None
    for name in sorted(summary.needs):
        summary.faults[f"a loop without a bound: no TARN_ROUNDS({name}) before its TARN_ROUND({name})"] = None
    return analysis, summary


def bounds(path, choose, cpu="", assumed=(), facts_files=()):
    """The Bounds of the functions that choose(image) names."""
    image = elf.Image(path)
    facts = Facts(set(assumed))
    for one in facts_files:
        facts.read(one)
    unknown = facts.assumed - {name for names in image.unreached.values() for name in names}
    if unknown:
        raise NoInput(f"{path}: no mark names the assumption {', '.join(sorted(unknown))}")
    decoder = decoder_for(image, cpu)
    found = []
    for name in choose(image):
        analysis, summary = analysed(image, decoder, facts, image.symbols[name])
        worst = summary.worst
        found.append(Bound(name, worst.cost, summary.stack, list(summary.faults), decoder.has_cycles,
                           list(analysis.without_cycles), worst, image, list(dict.fromkeys(analysis.loops))))
    return found
