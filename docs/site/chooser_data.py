"""The chooser's data: chooser.json, with what each policy costs from the first lines of its header, and what each rule says
from docs/rules.md. Nothing is written twice."""

import glob
import json
import os
import re


def read(tree, path):
    with open(os.path.join(tree, path), encoding="utf-8") as file:
        return file.read()


def cost_of(tree, policy):
    """The `costs` line of a policy's four: above its class, or at the top of the header that is named after it."""
    name = re.match(r"tarn::(\w+)", policy)[1]
    for header in glob.glob(os.path.join(tree, "policies/*.h")) + glob.glob(os.path.join(tree, "policies/*/*.h")):
        text = read(tree, header)
        for head in re.finditer(r"^// decides .*\n(?://.*\n)*", text, re.MULTILINE):
            below = re.match(r"(?:(?:///|template\b|requires\b|  ).*\n)*(?:class|struct) (\w+)", text[head.end():])
            owner = os.path.basename(header)[:-2] if head.start() == 0 else below[1].removesuffix("_with")
            if owner == name:
                found = re.search(r"^// costs +(.*?)^// conflicts", head[0], re.MULTILINE | re.DOTALL)
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
    found = re.search(rf"^### ({number}: [^\n]*)\n+```text\ntarn: \[{number}\] (.*?)\n", rules, re.MULTILINE)
    return found[2], re.sub(r"[^\w\- ]", "", found[1].lower()).replace(" ", "-")


def script(tree):
    return "window.tarnChooserData = " + json.dumps(data(tree), ensure_ascii=True) + ";\n"
