"""tarn-bound against functions that nobody wrote: random tests, loops with marks, calls and stores, the same in each run. No
call may cost more than its bound. A loop in a loop that a compiler unrolls leaves its mark there: a tarn-bound that takes the
least of such marks is found out."""

import dataclasses
import os
import random

import builds
import emulator
from tarn_bound import analysis, report

SEED, FUNCTIONS, CALLS = 3, 8, 40
HEAD = """#include "tarn/policies/platform/config.h"
extern "C" { unsigned memory[8]; }
extern "C" [[gnu::noinline]] unsigned* pick(unsigned a) { return a & 1 ? memory : nullptr; }
"""
VALUES = [0, 1, 2, 3, 255, 256, 0xFFFFFFFF]


class Writer:
    def __init__(self, seed):
        self.random, self.loops = random.Random(seed), 0

    def one(self, *texts):
        return self.random.choice(texts)

    def variable(self):
        return self.one("a", "b", "c", "d")

    def value(self):
        a, b, number = self.variable(), self.variable(), self.one(0, 1, 2, 5, -1, 255)
        return self.one(a, f"({a} {self.one(*'+-^&|')} {b})", f"({a} {self.one(*'+-^&')} {number})",
                        f"memory[{self.random.randrange(8)}]", f"(unsigned)(unsigned char){a}")

    def test(self):
        a, b = self.variable(), self.variable()
        return self.one(f"{a} == 0", f"{a} != 0", f"{a} == {self.one(0, 1, 2, -1)}u", f"{a} {self.one('<', '>', '==')} {b}",
                        "p != nullptr", "p == nullptr", "q != nullptr", "p == q", f"(unsigned char){a} != 0")

    def block(self, depth, number):
        """Lines of a function's body. number: of functions that may be called."""
        lines = []
        for _ in range(self.random.randrange(1, 4)):
            kind = self.random.random()
            if kind < .3:
                lines.append(f"{self.variable()} = {self.value()};")
            elif kind < .4:
                lines.append(f"memory[{self.random.randrange(8)}] = {self.value()};")
            elif kind < .47:
                lines.append(f"p = {self.one('q', 'nullptr', 'memory', f'pick({self.variable()})')};")
            elif kind < .72 and depth:
                lines += [f"if ({self.test()}) {{", *self.block(depth - 1, number), "} else {",
                          *self.block(depth - 1, number), "}"]
            elif kind < .82 and depth:
                self.loops += 1
                most, i = self.one(1, 2, 3, 5), f"i{self.loops}"
                lines += [f"for (unsigned {i} = 0; {i} < {self.one(most, '(a & 3u)') if most > 2 else most}; ++{i}) {{",
                          f"TARN_AT_MOST({most});", *self.block(depth - 1, number), "}"]
            elif kind < .92 and number:
                lines.append(f"{self.variable()} = f{self.random.randrange(number)}({self.value()}, p, {self.value()});")
            else:
                lines.append(f"if ({self.test()}) return {self.one('0', '1', self.value())};")
        return lines

    def program(self):
        text = HEAD
        for number in range(FUNCTIONS):
            text += f'extern "C" [[gnu::noinline, gnu::used]] unsigned f{number}(unsigned a, unsigned* p, unsigned b) {{\n'
            text += "unsigned c = b, d = a;\nunsigned* q = p;\nstatic_cast<void>(q);\n"
            text += "\n".join(self.block(4, number) + self.block(4, number)) + f"\nreturn {self.value()};\n}}\n"
        return text + "int main() { return 0; }\n"


def cases(folder):
    """[(name, [why it is wrong])]"""
    source = os.path.join(folder, "random.cc")
    with open(source, "w", encoding="utf-8") as file:
        file.write(Writer(SEED).program())
    found = []
    for build in builds.builds():
        if build.name not in ("x86-64", "cortex-m4", "riscv32"):
            continue
        for level in ("-O2", "-Os"):
            its = dataclasses.replace(build, command=build.command[:-1] + [level])
            names = [f"f{number}" for number in range(FUNCTIONS)]
            program = builds.compiled(its, source, folder, "-DTARN_MARKS", "-w", names=names)
            why = [one for name in names for one in wrong(its, program, name)]
            found.append((f"random functions: {build.name} {level}", why))
    found.append(("random functions: a wrong tarn-bound is found out", [] if mistaken(its, program, names) else ["it isn't"]))
    return found


def mistaken(build, program, names):
    """Whether something is found wrong with a tarn-bound that takes the least of a loop's marks."""
    path = os.path.join(builds.ROOT, "tools", "tarn_bound", "loops.py")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    right, scope = analysis.Loops, {}
    assert text.count("most = max(bound for") == 1
    exec(compile(text.replace("most = max(bound for", "most = min(bound for"), path, "exec"), scope)
    analysis.Loops = scope["Loops"]
    try:
        return any(wrong(build, program, name) for name in names)
    finally:
        analysis.Loops = right


def wrong(build, program, name):
    [bound] = report.bounds(program, lambda _: [name], build.cpu)
    if bound.faults:
        return [f"{name}: {bound.faults}"]
    machine = emulator.Machine(bound.image, report.decoder_for(bound.image, build.cpu), build.cpu, ())
    machine.expect(bound.loops)
    most, memory, choose = [0] * 5, machine.objects["memory"], random.Random(SEED)
    for _ in range(CALLS):
        for i in range(8):
            machine.uc.mem_write(memory + 4 * i, choose.choice(VALUES).to_bytes(4, "little"))
        machine.call(bound.image.symbols[name], choose.choice(VALUES), choose.choice((0, memory)), choose.choice(VALUES),
                     counted=True)
        most = list(map(max, most, [*machine.cost[:3], machine.depth, machine.cost[3]]))
    limits = [*bound.cost[:3], bound.stack, bound.cost[3]]
    over = [f"{name}: found {most}, more than {limits}"] if any(a > b for a, b in zip(most, limits)) else []
    return over + [f"{name}: {why}" for why in machine.wrong]
