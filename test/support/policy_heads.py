"""The policies that a header of policies/ has: those with the four lines *decides, costs, conflicts, use when*."""

import os
import re

# What users call a template of options.
CALLED = {"hardened_with": "hardened", "checked_with": "checked", "switchable_checking_with": "switchable_checking"}
WORDS = ["decides", "costs", "conflicts", "use when"]


def heads_of(path, text):
    """{policy: its lines}. They stand above its class, or at the top of the file that is named after it."""
    found = {}
    for head in re.finditer(r"^// decides .*\n(?://.*\n)*", text, re.MULTILINE):
        below = re.match(r"(?:(?:///|template\b|requires\b|  ).*\n)*(?:class|struct) (\w+)", text[head.end():])
        if head.start() == 0:
            name = os.path.basename(path)[:-len(".h")]
        else:
            name = CALLED.get(below[1], below[1]) if below else f"nothing in line {text.count(chr(10), 0, head.end()) + 1}"
        found[name] = head[0]
    return found


def policies_of(path, text):
    """{policy: the words of its lines}."""
    return {name: re.findall(r"^// (decides|costs|conflicts|use when) ", head, re.MULTILINE)
            for name, head in heads_of(path, text).items()}


def classes_on_an_axis(text):
    """{class: axis} of those that say `using axis = …`."""
    found = {}
    for said in re.finditer(r"^ +using axis = (?:tarn::)?axis::(\w+);", text, re.MULTILINE):
        name = re.findall(r"^(?:class|struct) (\w+)", text[:said.start()], re.MULTILINE)[-1]
        found[CALLED.get(name, name)] = said[1]
    return found
