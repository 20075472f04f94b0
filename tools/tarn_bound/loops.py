"""How often a loop runs: from its marks, or from the caller's facts."""

from tarn_bound.graph import components, is_cycle


class Loops:
    def __init__(self, image, facts, graph, name):
        self.image, self.facts, self.graph, self.name = image, facts, graph, name

    def bound(self, part, header):
        """How often the header is passed each time the loop is entered, or None."""
        own = self.own(part, header)
        found = self._of_marks(part, header, {at: self.image.marks[at] for at in own if at in self.image.marks})
        if found is None:
            found = self._of_facts(part, header, own)
        return found

    def own(self, part, header):
        """The nodes of the loop that are in none within it."""
        return set(part) - self._cycles(set(part) - {header})

    def _of_facts(self, part, header, own):
        """A fact of a line is of this loop if each round passes code of that line."""
        lines = self.image.lines(own)
        found = []
        for place, bound in self.facts.places:
            its = {at for at in own if any(one == place or one.endswith("/" + place) for one in lines[at])}
            if its and self._in_each_round(part, header, its):
                found.append(bound)
        return min(found, default=None) if found else self.facts.loop_in(self.name)

    def _in_each_round(self, part, header, places):
        """Without them, no way leads from the header back to it."""
        return header in places or header not in self._cycles(set(part) - places)

    def choices_in(self, nodes):
        """The pseudo-registers of the choices that these nodes change."""
        return {"choice " + name for at in nodes for of in (self.image.choices, self.image.chosen) for name in of.get(at, ())}

    def shared(self, part, header):
        """(name, how many of its rounds a round of this loop takes at least) where each round takes some, or None."""
        shares = {}
        for at in self.own(part, header):
            for name, count in self.image.shares.get(at, {}).items():
                shares.setdefault(name, {})[at] = count
        for name, places in sorted(shares.items()):
            if self._in_each_round(part, header, set(places)):
                return name, min(places.values())
        return None

    def _of_marks(self, part, header, marks):
        """Each round must pass a mark: without the marked places, no cycle is left. A compiler may make one loop of two, unroll
        one within another, and write a mark several times. One mark, whose copies share its passes, bounds the loop alone. If
        each round passes all of several, one of them is this loop's: the most is a bound. Else their bounds multiply."""
        if not marks or not self._in_each_round(part, header, set(marks)):
            return None
        of_line = {}
        for at, records in marks.items():
            for bound, line in records:
                of_line.setdefault((bound, line), set()).add(at)
        in_each = {one for one, places in of_line.items() if self._in_each_round(part, header, places)}
        if len(in_each) == len(of_line):
            most = max(bound for bound, _ in in_each)
            first = all(of_line[one] == {header} for one in in_each)
            return most if first else most + 1
        rounds = 1
        for bound, _ in of_line:
            rounds *= bound + 1
        return rounds

    def _cycles(self, nodes):
        """The nodes that lie on cycles among these."""
        following = lambda at: [to for to in self.graph.following(at) if to in nodes]
        return {at for part in components(nodes, following) if is_cycle(part, following) for at in part}
