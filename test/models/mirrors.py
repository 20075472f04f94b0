"""Compares what the models say of the code with the code: which calls that matter stand in a function, in which order.

A model's comment holds, for each header that it mirrors,

   mirrors policies/locking/lock_free.h
     pop         head_.load link_of .load head_.compare_exchange_weak

A call matters if it is on an atomic, or named in such a line for that header. Subscripts are left out. A name that is there
twice is that of two functions, in the header's order. Lines without a name go on.
"""

import re

ATOMIC = r"load|store|exchange|compare_exchange_weak|compare_exchange_strong|fetch_\w+"
CALL = re.compile(r"((?:[A-Za-z_]\w*(?:\[[^\]]*\])?(?:\.|->|::))+|\.|)([A-Za-z_]\w*)\(")


def claims(model):
    """{header: [(function, calls)]}, from the text of a model."""
    found = {}
    header = None
    for line in model.splitlines():
        words = line.replace("*/", "").lstrip("/* ").split()
        indent = len(line) - len(line.lstrip("/* "))
        if words[:1] == ["mirrors"] and len(words) == 2:
            header = found.setdefault(words[1], [])
        elif header is not None and indent >= 9 and header:
            header[-1][1].extend(words)
        elif header is not None and indent >= 5 and words:
            header.append((words[0], words[1:]))
        else:
            header = None
    return found


def bodies(code, name):
    """The bodies of the functions of that name."""
    code = re.sub(r"//[^\n]*|\bdetail::", "", code)
    for start in re.finditer(rf"(?<![\w.>:~]){name}\([^()]*\)[\w\s]*\{{", code):
        depth = 1
        end = start.end()
        while depth:
            depth += {"{": 1, "}": -1}.get(code[end], 0)
            end += 1
        yield code[start.end():end - 1]


def calls(body, watched):
    """The calls in it that matter."""
    found = []
    for prefix, name in CALL.findall(body):
        whole = re.sub(r"\[[^\]]*\]", "", prefix).replace("->", ".") + name
        if whole in watched or (prefix.endswith((".", ">")) and re.fullmatch(ATOMIC, name)):
            found.append(whole)
    return found


def differences(model, read):
    """What the model says that isn't so. `read(path)` returns a header's text."""
    wrong = []
    for header, functions in claims(model).items():
        code = read(header)
        watched = {call for _, said in functions for call in said}
        seen = {}
        for name, said in functions:
            all_of_name = list(bodies(code, name))
            which = seen[name] = seen.get(name, -1) + 1
            if which >= len(all_of_name):
                wrong.append(f"{header}: no function {name}")
            elif calls(all_of_name[which], watched) != said:
                wrong.append(f"{header} {name}: the model mirrors {' '.join(said)}\n"
                             f"  the code has {' '.join(calls(all_of_name[which], watched))}")
    return wrong
