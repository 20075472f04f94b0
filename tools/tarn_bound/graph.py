"""A function as a graph of instructions, and its cycles."""

import re

from tarn_bound.instruction import Instruction

# They don't come back, so no path that counts goes through them.
ENDS = re.compile(r"abort|exit|_exit|_Exit|__stack_chk_fail|__assert_fail|__assert_func|__cxa_(throw|rethrow)|"
                  r"__cxa_pure_virtual|_Unwind_Resume|_ZSt\d+__throw\w*|_ZSt9terminatev")
# The part of a function that the compiler thinks is seldom run.
APART = re.compile(r"\.cold\b")


class Graph:
    """nodes: {address: Instruction}, all that jumps reach from the entry. tails: {address: Edge to another function}: a call
    whose return is this function's."""

    def __init__(self, image, decoder, entry):
        self.entry, self.nodes, self.tails = entry, {}, {}
        todo = [entry]
        while todo:
            at = todo.pop()
            if at not in self.nodes:
                self._follow(image, decoder, at, todo)

    def _follow(self, image, decoder, at, todo):
        """Decodes from `at` on to a jump."""
        conditional = 0
        while at not in self.nodes:
            one = decoder.decode(image.bytes_at(at), at, conditional > 0)
            if one is None:
                one = Instruction(at, 0, "?", fault=f"no instruction at {hex(at)}")
            self.nodes[at] = one
            conditional = max(conditional - 1, 0)
            if hasattr(decoder, "follows"):
                conditional = decoder.follows(one) or conditional
            if one.call is not None and (ENDS.fullmatch(image.name_of(one.call)) or one.after in image.names):
                one.edges, one.stops = [], True  # the callee doesn't return: there is nothing to return to
            next_one = None
            for edge in list(one.edges):
                other = image.names.get(edge.to) or image.outside.get(edge.to)
                if edge.to == one.after and other is None:
                    next_one = edge.to
                elif other and edge.to != self.entry and not APART.search(other):
                    self.tails[one.at] = edge
                    one.edges.remove(edge)
                else:
                    todo.append(edge.to)
            if next_one is None:
                return
            at = next_one

    def following(self, at):
        return [edge.to for edge in self.nodes[at].edges]


def components(nodes, following):
    """The strongly connected parts of a graph, in topological order (Tarjan, without recursion)."""
    index, low, on_stack, stack, found = {}, {}, set(), [], []
    for root in nodes:
        if root in index:
            continue
        index[root] = low[root] = len(index)
        stack.append(root)
        on_stack.add(root)
        work = [(root, iter(following(root)))]
        while work:
            at, others = work[-1]
            for other in others:
                if other not in nodes:
                    continue
                if other not in index:
                    index[other] = low[other] = len(index)
                    stack.append(other)
                    on_stack.add(other)
                    work.append((other, iter(following(other))))
                    break
                if other in on_stack:
                    low[at] = min(low[at], index[other])
            else:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[at])
                if low[at] == index[at]:
                    part = []
                    while not part or part[-1] != at:
                        part.append(stack.pop())
                        on_stack.discard(part[-1])
                    found.append(part)
    return found[::-1]


def is_cycle(part, following):
    return len(part) > 1 or part[0] in following(part[0])
