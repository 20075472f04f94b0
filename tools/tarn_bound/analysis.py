"""The worst case of a function and of all that it calls."""

from __future__ import annotations

from dataclasses import dataclass, field

from tarn_bound import image as elf
from tarn_bound import knowledge
from tarn_bound.graph import Graph
from tarn_bound.instruction import NOT_ZERO, UNKNOWN
from tarn_bound.live import Live
from tarn_bound.longest import ZERO, Call, Longest, Way, keep, plus
from tarn_bound.loops import Loops


@dataclass
class Summary:
    """Of a function, called with what is known of its arguments."""

    ends: dict = field(default_factory=dict)  # {what is known of the result: Way}
    faults: dict = field(default_factory=dict)  # {why there is no bound: None}: ordered, each once
    stack: int = 0  # bytes
    needs: set = field(default_factory=set)  # names of rounds that its loops share, and that the caller must grant

    @property
    def worst(self):
        ways = {}
        for way in self.ends.values():
            keep(ways, None, way)
        return ways.get(None, Way(ZERO))


@dataclass(frozen=True)
class LoopFact:
    """What was assumed of a loop: its header is passed `bound` times each time it is entered; or each round takes some of the
    rounds that loops share, (name, how many)."""

    function: str
    header: int
    bound: int | None
    share: tuple | None
    inside: frozenset
    around: frozenset  # the rest of the function


class Faults:
    def __init__(self, image, name, found):
        self.image, self.name, self.found = image, name, found

    def add(self, what):
        self.found[what] = None

    def at(self, what, address):
        self.add(f"{what}, at {self.image.place(address)} in {elf.short_name(self.name)}")

    def no_bound(self, door, nodes):
        """Names a loop by the line that most of its code comes from."""
        lines = self.image.lines(sorted(nodes))
        places = [elf.short_path(lines[at][0]) for at in sorted(nodes) if lines[at]]
        place = max(places, key=places.count, default=hex(door))
        self.add(f"a loop without a bound, at {place} in {elf.short_name(self.name)}")


class Analysis:
    """prices: {name: [(cost of a round, how many of the shared rounds it takes)]}, of an analysis before this one"""

    def __init__(self, image, decoder, facts, prices):
        self.image, self.decoder, self.facts, self.prices = image, decoder, facts, prices
        self.graphs, self.summaries, self.active, self.loops = {}, {}, [], []
        self.without_cycles = {}  # instructions whose cycles nobody gives
        self.found_prices = {}

    def function(self, at, state=knowledge.NOTHING):
        """The Summary of the function at an address."""
        key = (at, state)
        if key in self.summaries:
            return self.summaries[key]
        name = self.image.name_of(at)
        given = self.facts.cost_of(name)
        if given is not None:
            instructions, reads, writes, stack, cycles = given
            stack += self.decoder.entry_stack
            result = Summary({knowledge.NOTHING: Way((instructions, reads, writes, cycles))}, {}, stack)
        elif at in self.image.arm:
            result = Summary({knowledge.NOTHING: Way(ZERO)}, {f"{name} is ARM code, and only Thumb (-mthumb) is known": None})
        elif at in self.image.outside or not self.image.bytes_at(at):
            result = Summary({knowledge.NOTHING: Way(ZERO)}, {f"a call of {name}, which isn't in the file": None})
        elif at in self.active:
            return Summary({knowledge.NOTHING: Way(ZERO)}, {f"a function that calls itself, {elf.short_name(name)}": None})
        else:
            self.active.append(at)
            result = self._analyse(at, state, name)
            self.active.pop()
        self.summaries[key] = result
        return result

    def _analyse(self, at, state, name):
        if at not in self.graphs:
            graph = Graph(self.image, self.decoder, at)
            self.graphs[at] = graph, Live(graph, self.decoder), self._useful(graph)
        graph, live, useful = self.graphs[at]
        result = Summary()
        faults = Faults(self.image, name, result.faults)
        below = {}  # {address of a call: Summary of the callee}
        spent = {}  # {name of shared rounds: nodes of the loops that share them}

        def shared(what, share, cost, nodes):
            spent.setdefault(what, set()).update(nodes)
            self.found_prices.setdefault(what, set()).add((cost, share))

        longest = Longest(graph, Loops(self.image, self.facts, graph, name), live,
                          lambda address, known: self._step(graph, useful, address, known, faults, below), shared, faults)
        if at in useful:
            ends = longest.walk(useful, at, state).ends
            for known, way in ends.items():
                keep(result.ends, knowledge.only(known, self.decoder.results), way)
        for header, (n, share, nodes) in longest.rounds.items():
            self.loops.append(LoopFact(name, header, n, share, frozenset(nodes), frozenset(graph.nodes) - nodes))
        result.stack = self._stack(graph, longest.on_ways(), below, faults)
        for address, callees in below.items():
            for what in set().union(*(callee.needs for callee in callees)):
                spent.setdefault(what, set()).add(address)
        result.needs = {what for what, nodes in spent.items() if self._reach(graph, useful, what) & nodes}
        return result

    def _reach(self, graph, useful, name):
        """The nodes that are reached before rounds of that name are granted."""
        found, todo = set(), [graph.entry]
        while todo:
            at = todo.pop()
            if at in useful and at not in found and name not in self.image.grants.get(at, {}):
                found.add(at)
                todo += graph.following(at)
        return found

    def _granted(self, at):
        """What the rounds cost that are granted here: as if the dearest loop took them all."""
        cost = ZERO
        for name, rounds in self.image.grants.get(at, {}).items():
            most = ZERO
            for price, share in self.prices.get(name, ()):
                most = tuple(max(x, -(-rounds * y // share)) for x, y in zip(most, price))
            cost = plus(cost, most)
        return cost

    def _useful(self, graph):
        """The nodes on ways to a return, without places that aren't reached."""
        dead = {at for at, one in graph.nodes.items()
                if one.stops or self.image.unreached.get(at, set()) & self.facts.assumed or
                any(self.facts.is_never(self.image.name_of(target)) for target in self._targets(graph, at))}
        forward, todo = set(), [graph.entry]
        while todo:
            at = todo.pop()
            if at not in forward and at not in dead:
                forward.add(at)
                todo += graph.following(at)
        preceding = {}
        for at in forward:
            for to in graph.following(at):
                preceding.setdefault(to, []).append(at)
        useful = set()
        todo = [at for at in forward if self._is_end(graph, at)]
        while todo:
            at = todo.pop()
            if at not in useful:
                useful.add(at)
                todo += preceding.get(at, [])
        return useful

    @staticmethod
    def _targets(graph, at):
        called, tail = graph.nodes[at].call, graph.tails.get(at)
        return ([called] if called is not None else []) + ([tail.to] if tail is not None else [])

    @staticmethod
    def _is_end(graph, at):
        one = graph.nodes[at]
        return one.returns or at in graph.tails or (one.fault and not one.edges)

    def _step(self, graph, useful, at, state, faults, below):
        """[(edge, state, cost, what)] behind an instruction; edge None: the function returns."""
        one = graph.nodes[at]
        if one.fault:
            faults.at(one.fault, at)
        if one.cycles is None:
            self.without_cycles[one.text.split(" ")[0]] = None
        cost = (1, one.reads, one.writes, one.cycles or 0)
        if at in self.image.grants:
            cost = plus(cost, self._granted(at))
        after = self._chosen(at, knowledge.after(state, one.sets))
        if after is None:
            return []
        found = []
        if one.call is not None:
            for known, way, total in self._called(one.call, after, cost, faults, below, at):
                what = Call(self.image.name_of(one.call), way)
                found += [(edge, known, total, what) for edge in one.edges if edge.to in useful]
        else:
            found = [(edge, after, cost, at) for edge in one.edges if edge.to in useful]
        if at in graph.tails:
            edge = graph.tails[at]
            before = knowledge.tested(after, edge.tested, edge.is_zero) if edge.tested else after
            if before is not None:
                cost = (*cost[:3], cost[3] + edge.more_cycles)
                for known, way, total in self._called(edge.to, before, cost, faults, below, at):
                    found.append((None, known, total, Call(self.image.name_of(edge.to), way)))
        if one.returns or (one.fault and not one.edges and at not in graph.tails):
            found.append((None, after, cost, at))
        return found

    def _chosen(self, at, state):
        """The state behind marks of choices; None: one was passed before. A choice is as if a register."""
        if at not in self.image.choices and at not in self.image.chosen:
            return state
        known = dict(state)
        if any(known.get("choice " + name) == 1 for name in self.image.chosen.get(at, ())):
            return None
        sets = [("choice " + name, 0) for name in self.image.choices.get(at, ())]
        return knowledge.after(state, tuple(sets + [("choice " + name, 1) for name in self.image.chosen.get(at, ())]))

    def _called(self, target, state, cost, faults, below, at):
        """[(state behind it, way through the callee, cost with that of the call)], one for each kind of result."""
        callee = self.function(target, knowledge.only(state, self.decoder.arguments))
        for why in callee.faults:
            faults.add(why if " in " in why or "itself" in why else f"{why}, at {self.image.place(at)} in "
                       f"{elf.short_name(faults.name)}")
        below.setdefault(at, []).append(callee)
        kept = knowledge.after(state, tuple((name, UNKNOWN) for name in self.decoder.lost))
        return [(knowledge.after(kept, self._results(known)), way, plus(cost, way.cost))
                for known, way in callee.ends.items()]

    @staticmethod
    def _results(known):
        return tuple((name, value if isinstance(value, int) else NOT_ZERO) for name, value in known)

    def _stack(self, graph, passed, below, faults):
        """Bytes of stack at most, the callees' with it. A register that restores the stack only ever shrinks it."""
        depth = {graph.entry: self.decoder.entry_stack}
        deepest, todo, visits = 0, [graph.entry], 0
        is_leaf = all(one.call is None for one in graph.nodes.values())
        framed = 2 * self.decoder.entry_stack  # behind the push of the frame pointer
        while todo:
            at = todo.pop()
            one = graph.nodes[at]
            if one.stack is None:
                faults.at(f"a stack frame of a size that isn't known, {one.text}", at)
                return 0
            here = depth[at] + one.stack
            used = max((callee.stack for callee in below.get(at, ())), default=0)
            deepest = max(deepest, here + one.below, framed + one.frame if one.frame and is_leaf else 0)
            deepest = max(deepest, here + used - (self.decoder.entry_stack if at in graph.tails and used else 0))
            for to in graph.following(at):
                if to in passed and here > depth.get(to, -1):
                    depth[to] = here
                    todo.append(to)
            visits += 1
            if visits > 100 * len(graph.nodes) + 1000:
                faults.add(f"a loop that grows the stack in {elf.short_name(faults.name)}")
                return 0
        return deepest
