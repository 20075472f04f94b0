"""Mistakes, each made in one header by replacing a text that stands there once, and the target that must find it."""

import collections
import os

Mistake = collections.namedtuple("Mistake", "target name header old new")

MISTAKES = [
    Mistake("operations", "a block handed out twice", "policies/reuse/detail/block_bitmap.h",
            "words_[w] = bits;", "if (bits != 0 || got != n) words_[w] = bits;"),
    Mistake("operations", "a block lost when half of the front goes", "policies/reuse/detail/array_front.h",
            "    move_top(top() + n);\n", "    move_top(top() + n + (kept != 0));\n"),
    Mistake("pools", "a batch that loses all but one block", "policies/locking/detail/stack_calls.h",
            "stack_.push_chain(first, link_of(last));", "stack_.push_chain(first, link_of(first));"),
    Mistake("pools", "a chunk given back with a block in use", "policies/reuse/detail/fullness_shelves.h",
            "if (used == 0) return 0;", "if (used <= 1) return 0;"),
    Mistake("containers", "a block that isn't aligned", "allocator/detail/classes/class_lookup.h",
            "round_up(larger(bytes, 1), align);", "larger(bytes, 1);"),
    Mistake("containers", "a block whose content doesn't move along", "allocator/xmalloc.h",
            "std::memcpy(other, block, has < bytes ? has : bytes);",
            "std::memcpy(other, block, has < bytes ? has / 2 : bytes);"),
    Mistake("faults", "a chunk that leaks after a failed growth", "allocator/detail/pool/growth.h",
            "    detail::give_back(s, fresh.first());\n    s.supply.restore_second(before);",
            "    s.supply.restore_second(before);"),
    Mistake("faults", "a chunk given back to the other store", "allocator/detail/pool/growth.h",
            "c->from_second = true;", ""),
]


def make(mistake, root, folder):
    """Writes the broken header below `folder`, to be searched before `root`. Throws RuntimeError where the text isn't there."""
    with open(os.path.join(root, "tarn", mistake.header), encoding="utf-8") as file:
        text = file.read()
    if text.count(mistake.old) != 1:
        raise RuntimeError(f"{mistake.header} has no one '{mistake.old.strip()}' any more")
    path = os.path.join(folder, "tarn", mistake.header)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace(mistake.old, mistake.new))
