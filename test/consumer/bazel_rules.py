"""What Bazel asks of MODULE.bazel and of labels, as far as it can be read without a Bazel that knows modules.

check(root) says what is wrong, in sentences. buildifier, which packages.py also calls, says what else Bazel 9 asks: that rules
and providers are loaded which it no longer has built in.
"""

import ast
import fnmatch
import os
import re

# Files that only WORKSPACE mode reads.
WORKSPACE_ONLY = ("WORKSPACE", "bazel/repos.bzl")
# What everybody has who depends on tarn; other folders are read by who develops it.
PUBLIC = ("BUILD", "allocator/*", "policies/*", "bazel/defs.bzl", "bazel/BUILD")
OWN = {"tarn", "bazel_tools"}


def build_files(root):
    for folder, folders, names in os.walk(root):
        inside = os.path.relpath(folder, root)
        folders[:] = sorted(one for one in folders
                            if not one.startswith((".git", "bazel-")) and (inside, one) != (".", "build"))
        for name in sorted(names):
            if name in ("BUILD", "WORKSPACE", "WORKSPACE.bzlmod", "MODULE.bazel") or name.endswith(".bzl"):
                yield os.path.normpath(os.path.join(inside, name))


def dotted(node):
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return getattr(node, "id", "?")


def calls(tree, name):
    return [node for node in ast.walk(tree) if isinstance(node, ast.Call) and dotted(node.func) == name]


def repositories(text):
    """Names of other repositories in labels."""
    return set(re.findall(r'"@{1,2}([\w.-]+)(?://|")', text)) - OWN


def check_module(text):
    tree = ast.parse(text)
    module = {one.arg: ast.literal_eval(one.value) for call in calls(tree, "module") for one in call.keywords}
    if not re.fullmatch(r"[a-z]([a-z0-9._-]*[a-z0-9])?", module.get("name", "")):
        yield "MODULE.bazel: no name that a module may have"
    if not re.fullmatch(r"\d+\.\d+\.\d+(\.\w+)*", module.get("version", "")):
        yield "MODULE.bazel: no version of the form 1.2.3"
    if module.get("bazel_compatibility") != [">=7.0.0"]:
        yield "MODULE.bazel: bazel_compatibility isn't >=7.0.0"
    for call in calls(tree, "bazel_dep"):
        given = {one.arg: ast.literal_eval(one.value) for one in call.keywords}
        if not given.get("name") or not re.fullmatch(r"\d+(\.\w+)*", given.get("version", "")):
            yield f"MODULE.bazel:{call.lineno}: a bazel_dep needs a name and a version"


def check(root):
    texts = {}
    for path in build_files(root):
        with open(os.path.join(root, path), encoding="utf-8") as file:
            texts[path] = file.read()
    wrong = list(check_module(texts["MODULE.bazel"]))
    every, public = set(), set()
    for call in calls(ast.parse(texts["MODULE.bazel"]), "bazel_dep"):
        given = {one.arg: ast.literal_eval(one.value) for one in call.keywords}
        name = given.get("repo_name", given.get("name"))
        every.add(name)
        if not given.get("dev_dependency"):
            public.add(name)
    for path, text in texts.items():
        if path in WORKSPACE_ONLY or path.startswith(("test/consumer", "WORKSPACE")):
            continue
        known = public if any(fnmatch.fnmatch(path, one) for one in PUBLIC) else every
        for name in sorted(repositories(text) - known):
            wrong.append(f"{path}: MODULE.bazel declares no @{name}" + (" for who uses tarn" if name in every else ""))
    return wrong


# What must be found: a change of one file in place of a text that stands in it, and a word of the sentence.
MISTAKES = [
    ("policies/BUILD", '"@rules_cc//', '"@boost.test//', "for who uses tarn"),
    ("MODULE.bazel", 'version = "0.', 'version = "v0.', "no version"),
    ("MODULE.bazel", 'name = "rules_cc", version = "0.2.16"', 'name = "rules_cc"', "a name and a version"),
    ("MODULE.bazel", 'bazel_dep(name = "rules_cc", version = "0.2.16")\n', "", "declares no @rules_cc"),
]
