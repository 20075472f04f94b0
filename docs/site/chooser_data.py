"""The chooser's data: chooser.json, with what each policy costs from the lines above it, and what each rule says
from docs/rules.md. Nothing is written twice."""

import glob
import json
import os
import re
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../test/support"))
from policy_heads import heads_of


def read(tree, path):
    with open(os.path.join(tree, path), encoding="utf-8") as file:
        return file.read()


def cost_of(tree, policy):
    """The `costs` line of a policy's four."""
    name = re.match(r"tarn::(\w+)", policy)[1]
    for header in glob.glob(os.path.join(tree, "policies/**/*.h"), recursive=True):
        head = heads_of(header, read(tree, header)).get(name)
        if head:
            found = re.search(r"^// costs +(.*?)^// conflicts", head, re.MULTILINE | re.DOTALL)
            return re.sub(r"\s*\n// +", " ", found[1]).strip()
    raise LookupError(f"no header of policies/ says what {name} costs")


def data(tree):
    found = json.loads(read(tree, "docs/site/chooser.json"))
    for question in found["questions"]:
        for answer in question["answers"]:
            if "policy" in answer:
                answer["costs"] = cost_of(tree, answer["policy"])
    rules = read(tree, "docs/rules.md")
    for conflict in found["conflicts"]:
        conflict["says"], conflict["anchor"] = says(rules, conflict["rule"])
    return found


def says(rules, number):
    """The words of a rule's message, and the anchor of its heading."""
    found = re.search(rf"^### ({number}: [^\n]*)\n+`tarn: \[{number}\] ([^`]*)`", rules, re.MULTILINE)
    return " ".join(found[2].split()), re.sub(r"[^\w\- ]", "", found[1].lower()).replace(" ", "-")


def script(tree):
    return "window.tarnChooserData = " + json.dumps(data(tree), ensure_ascii=True) + ";\n"
