"""Looks for the dearest calls of a pool: directed sequences and random ones."""

import random


class Dearest:
    """The most that calls were seen to cost: instructions, reads, writes, stack, cycles."""

    def __init__(self):
        self.most = [0] * 5
        self.how = ""

    def note(self, cost, depth, how):
        seen = [*cost[:3], depth, cost[3]]
        if seen[0] > self.most[0]:
            self.how = how
        self.most = list(map(max, self.most, seen))


class Player:
    """loops: {take or give: what tarn-bound assumes of the loops of that call}"""

    def __init__(self, machine, name, loops, seed):
        self.machine, self.loops, self.random = machine, loops, random.Random(seed)
        self.pool = machine.objects["pool_" + name]
        symbols = machine.image.symbols
        self.take_at, self.give_at = symbols["take_" + name], symbols["give_" + name]
        self.taken, self.given, self.held, self.phase = Dearest(), Dearest(), [], ""
        if not machine.call(symbols["reserve_" + name], self.pool) & 1:
            raise RuntimeError(f"{name}: reserve() failed")

    def take(self):
        self.machine.expect(self.loops["take"])
        block = self.machine.call(self.take_at, self.pool, counted=True)
        self.taken.note(self.machine.cost, self.machine.depth, f"{self.phase}, {len(self.held)} in use")
        if block:
            if block in self.held:
                self.machine.wrong["a block was given twice"] = None
            self.held.append(block)
            self.machine.uc.mem_write(block, bytes(8))
        return block

    def give(self, i):
        block = self.held[i]
        self.held[i] = self.held[-1]
        self.held.pop()
        self.machine.expect(self.loops["give"])
        self.machine.call(self.give_at, self.pool, block, counted=True)
        self.given.note(self.machine.cost, self.machine.depth, f"{self.phase}, {len(self.held)} in use")

    def play(self, steps):
        """steps: calls of the random walk"""
        anywhere = lambda: self.random.randrange(len(self.held))
        self.phase = "fill"
        while self.take():
            pass
        self.phase = "full"
        for _ in range(3):
            self.take()
        blocks = len(self.held)
        for phase, which in (("empty, newest first", lambda: len(self.held) - 1), ("empty at random", anywhere)):
            self.phase = phase
            while self.held:
                self.give(which())
            self.phase = "fill again"
            while self.take():
                pass
        for some in (1, 63, 64, 65, 127, 128, 129, 192, 256, 257):
            self.phase = f"swings of {some}"
            for _ in range(2 if some <= blocks else 0):
                for _ in range(some):
                    self.give(anywhere())
                for _ in range(some):
                    self.take()
        self.phase = "random walk"
        for _ in range(steps):
            if self.held and self.random.random() < .5:
                self.give(anywhere())
            else:
                self.take()
