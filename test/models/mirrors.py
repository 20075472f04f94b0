"""Compares what the models say of the code with the code: which calls that matter stand in a function, in which order.

A model's comment holds, for each class that it mirrors, in whichever header that stands,

   mirrors tagged_stack
     pop         head_.load link_of .load head_.compare_exchange_weak

A call matters if it is on an atomic, or named in such a line for that class. Subscripts are left out. A name that is there
twice is that of two functions, in the class's order. Lines without a name go on.
"""

import re

import library_code

ATOMIC = r"load|store|exchange|compare_exchange_weak|compare_exchange_strong|fetch_\w+"
CALL = re.compile(r"((?:[A-Za-z_]\w*(?:\[[^\]]*\])?(?:\.|->|::))+|\.|)([A-Za-z_]\w*)\(")


def claims(model):
    """{class: [(function, calls)]}, from the text of a model."""
    found = {}
    owner = None
    for line in model.splitlines():
        words = line.replace("*/", "").lstrip("/* ").split()
        indent = len(line) - len(line.lstrip("/* "))
        if words[:1] == ["mirrors"] and len(words) == 2:
            owner = found.setdefault(words[1], [])
        elif owner is not None and indent >= 9 and owner:
            owner[-1][1].extend(words)
        elif owner is not None and indent >= 5 and words:
            owner.append((words[0], words[1:]))
        else:
            owner = None
    return found


def calls(function, watched):
    """The calls in it that matter."""
    found = []
    body = re.sub(r" (?=\W)|(?<=\W) ", "", library_code.content(function))
    for prefix, name in CALL.findall(body):
        whole = re.sub(r"\[[^\]]*\]", "", prefix).replace("->", ".") + name
        if whole in watched or (prefix.endswith((".", ">")) and re.fullmatch(ATOMIC, name)):
            found.append(whole)
    return found


def differences(model, code):
    """What the model says that isn't so. `code`: the library's."""
    wrong = []
    for owner, functions in claims(model).items():
        watched = {call for _, said in functions for call in said}
        seen = {}
        for name, said in functions:
            which = seen[name] = seen.get(name, -1) + 1
            try:
                found = [one for one in code.functions(f"{owner}::{name}") if " {" in one]
            except LookupError:
                found = []
            if which >= len(found):
                wrong.append(f"{owner}: no function {name}")
            elif calls(found[which], watched) != said:
                wrong.append(f"{owner} {name}: the model mirrors {' '.join(said)}\n"
                             f"  the code has {' '.join(calls(found[which], watched))}")
    return wrong
