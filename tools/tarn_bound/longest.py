"""The dearest path through a graph. A loop counts as its dearest round, as often as it runs.

A cost is a tuple (instructions, reads, writes, cycles); the most of each is kept, whichever path it is from. The path that is
shown is the one of the most instructions.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tarn_bound import knowledge
from tarn_bound.graph import components, is_cycle
from tarn_bound.instruction import UNKNOWN

MOST_STATES = 24  # at one place; above that, only what all agree on is kept
ZERO = (0, 0, 0, 0)


def plus(a, b):
    return tuple(x + y for x, y in zip(a, b))


def times(n, a):
    return tuple(n * x for x in a)


def most(a, b):
    return a if a is b else tuple(map(max, a, b))


@dataclass
class Way:
    """What it costs at most to come somewhere, and how: the step before, and what happens there."""

    cost: tuple
    before: Way | None = None
    step: object = None  # an address, a Call or a Round


@dataclass
class Call:
    name: str
    way: Way  # through the callee


@dataclass
class Round:
    header: int
    times: int
    way: Way  # through one round


@dataclass
class Walk:
    """leaving: {(address outside, state): Way}. ends: {state: Way} of those that return."""

    leaving: dict = field(default_factory=dict)
    ends: dict = field(default_factory=dict)


def keep(ways, key, way):
    """The dearer of two ways to one place."""
    old = ways.get(key)
    if old is None:
        ways[key] = way
    else:
        better = way if way.cost[0] > old.cost[0] else old
        ways[key] = Way(most(old.cost, way.cost), better.before, better.step)


class Longest:
    """step(node, state): what is behind it, a list of (edge or None, state, cost, step). shared(name, share, cost of a round,
    nodes): is told of loops that share their rounds with others."""

    def __init__(self, graph, loops, live, step, shared, faults):
        self.graph, self.loops, self.live, self.step, self.shared, self.faults = graph, loops, live, step, shared, faults
        self.ends, self.taken = set(), {}  # nodes that return; {node: those that ways come from}
        self.rounds = {}  # {header: (bound, (name, share) of shared rounds, nodes)}: what was assumed of loops

    def walk(self, nodes, entry, state, header=None):
        """All ways from entry through these nodes. An edge to the header leaves them."""
        following = lambda at: [to for to in self.graph.following(at) if to in nodes and to != header]
        arrived = {entry: {state: Way(ZERO)}}
        walk = Walk()
        for part in components(nodes, following):
            inside = set(part)
            doors = [at for at in part if at in arrived]
            for door in doors:
                ways = self._joined(arrived.pop(door))
                for known, way in ways.items():
                    if is_cycle(part, following):
                        done = self._loop(inside, door, known, way)
                    else:
                        done = self._node(door, known, way)
                    for end, its in done.ends.items():
                        keep(walk.ends, end, its)
                    for (to, after), its in done.leaving.items():
                        if to in nodes and to != header:
                            keep(arrived.setdefault(to, {}), after, its)
                        else:
                            keep(walk.leaving, (to, after), its)
        return walk

    def on_ways(self):
        """The nodes that ways to a return pass."""
        found, todo = set(), list(self.ends)
        while todo:
            at = todo.pop()
            if at not in found:
                found.add(at)
                todo += self.taken.get(at, ())
        return found

    def _joined(self, ways):
        if len(ways) <= MOST_STATES:
            return ways
        states = iter(ways)
        state, all_of_them = next(states), {}
        for other in states:
            state = knowledge.both(state, other)
        for way in ways.values():
            keep(all_of_them, state, way)
        return all_of_them

    def _node(self, at, state, way):
        walk = Walk()
        for edge, after, cost, what in self.step(at, state):
            its = Way(plus(way.cost, cost), way, what)
            if edge is None:
                self.ends.add(at)
                keep(walk.ends, after, its)
                continue
            if edge.tested:
                after = knowledge.tested(after, edge.tested, edge.is_zero)
            if after is not None:
                self.taken.setdefault(edge.to, set()).add(at)
                its.cost = plus(its.cost, (0, 0, 0, edge.more_cycles))
                keep(walk.leaving, (edge.to, knowledge.without(after, self.live.dead(edge.to, after))), its)
        return walk

    def _rounds(self, inside, door, cost):
        """How often a loop counts that can be passed again."""
        n = self.loops.bound(inside, door)
        share = self.loops.shared(inside, door) if n is None else None
        self.rounds[door] = n, share, inside
        if share:
            self.shared(*share, cost, inside)  # what more rounds cost is counted where they are granted
        elif n is None:
            self.faults.no_bound(door, self.loops.own(inside, door))
        return n or 1

    def _loop(self, inside, door, state, way):
        changed = {name for at in inside for name, _ in self.graph.nodes[at].sets}
        if any(self.graph.nodes[at].call is not None for at in inside):
            changed |= self.live.lost
        changed |= self.loops.choices_in(inside)
        start = knowledge.after(state, tuple((name, UNKNOWN) for name in changed))
        one = self.walk(inside, door, start, door)
        back = {}
        for (to, _), its in one.leaving.items():
            if to == door:
                keep(back, None, its)
        n = self._rounds(inside, door, back[None].cost) if back else 1
        entered = way
        if n > 1:
            entered = Way(plus(way.cost, times(n - 1, back[None].cost)), way, Round(door, n - 1, back[None]))
        done = Walk()
        for key, its in one.leaving.items():
            if key[0] != door:
                keep(done.leaving, key, Way(plus(entered.cost, its.cost), entered, its))
        for end, its in one.ends.items():
            keep(done.ends, end, Way(plus(entered.cost, its.cost), entered, its))
        return done
