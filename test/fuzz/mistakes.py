"""Mistakes, each made in the headers by replacing a text that stands there once, and the target that must find it."""

import collections

Mistake = collections.namedtuple("Mistake", "target name old new")

MISTAKES = [
    Mistake("operations", "a block handed out twice", "words_[w] = bits;", "if (bits != 0 || got != n) words_[w] = bits;"),
    Mistake("operations", "a block lost when half of the front goes",
            "    move_top(top() + n);\n", "    move_top(top() + n + (kept != 0));\n"),
    Mistake("pools", "a batch that loses all but one block",
            "stack_.push_chain(first, link_of(last));", "stack_.push_chain(first, link_of(first));"),
    Mistake("pools", "a chunk given back with a block in use", "if (used == 0) return 0;", "if (used <= 1) return 0;"),
    Mistake("containers", "a block that isn't aligned", "round_up(larger(bytes, 1), align);", "larger(bytes, 1);"),
    Mistake("containers", "a block whose content doesn't move along", "std::memcpy(other, block, has < bytes ? has : bytes);",
            "std::memcpy(other, block, has < bytes ? has / 2 : bytes);"),
    Mistake("faults", "a chunk that leaks after a failed growth",
            "    detail::give_back(s, fresh.first());\n    s.supply.restore_second(before);",
            "    s.supply.restore_second(before);"),
    Mistake("faults", "a chunk given back to the other store", "c->from_second = true;", ""),
]
