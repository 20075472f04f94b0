"""Which registers are read later. What is known of others is forgotten, so that paths that differ in nothing else are one."""


class Live:
    def __init__(self, graph, decoder):
        self.lost = decoder.lost
        at_end = frozenset(decoder.results)
        before = {at: frozenset() for at in graph.nodes}
        preceding = {}
        for at in graph.nodes:
            for to in graph.following(at):
                preceding.setdefault(to, []).append(at)
        todo = list(graph.nodes)
        while todo:
            at = todo.pop()
            one = graph.nodes[at]
            after = frozenset().union(*(before[to] for to in graph.following(at)))
            if one.returns or at in graph.tails:
                after |= at_end
            if one.call is not None:
                after -= decoder.lost
            used = one.uses | {what[1] for _, what in one.sets if isinstance(what, tuple)}
            used |= {edge.tested for edge in one.edges}
            if one.call is not None or at in graph.tails:
                used |= decoder.arguments
            fresh = after - {name for name, _ in one.sets} | used
            if fresh != before[at]:
                before[at] = fresh
                todo += preceding.get(at, [])
        self._before = before

    def dead(self, at, state):
        live = self._before.get(at)
        return () if live is None else [name for name, _ in state if name not in live and not name.startswith("choice ")]
