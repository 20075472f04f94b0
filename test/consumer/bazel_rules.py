"""What Bazel 7 to 9 ask of BUILD, .bzl and MODULE.bazel files, as far as it can be read in them without such a Bazel.

check(root) says what is wrong, in sentences. buildifier, which packages.py also calls, knows the language; here stands what it
doesn't ask: that rules and providers which Bazel 9 no longer has built in are loaded, that nothing is used which only a
WORKSPACE has, that every repository is declared, and for whom.
"""

import ast
import fnmatch
import os
import re

# Built in until Bazel 8, by their beginnings and names; Bazel 9 has them in rules_cc, rules_python, rules_shell ...
RULES = re.compile(r"(cc|py|sh|java|proto|objc|android)_(library|binary|test|import|toolchain|toolchain_suite|proto_library)$")
PROVIDERS = {"CcInfo", "cc_common", "CcToolchainInfo", "PyInfo", "JavaInfo", "java_common", "ProtoInfo", "DebugPackageInfo"}
# Gone with WORKSPACE, or before.
GONE = {"native.bind": "Bazel 8 has no bind()", "native.maven_jar": "gone", "native.http_archive": "gone",
        "native.git_repository": "gone", "ctx.host_configuration": "gone", "ctx.host_fragments": "gone"}
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


def loaded(tree):
    """{name: label of the file} of all that is loaded."""
    found = {}
    for call in calls(tree, "load"):
        label = call.args[0].value
        found.update({one.value: label for one in call.args[1:]})
        found.update({one.arg: label for one in call.keywords})
    return found


def check_file(path, text):
    tree = ast.parse(text)
    names = loaded(tree)
    used = {node.id: node.lineno for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    for name, line in used.items():
        if (RULES.match(name) or name in PROVIDERS) and name not in names:
            yield f"{path}:{line}: {name} isn't loaded; Bazel 9 has none built in"
    for node in ast.walk(tree):
        whole = dotted(node) if isinstance(node, ast.Attribute) else ""
        if whole in GONE or whole.startswith("native.") and RULES.match(whole.removeprefix("native.")):
            yield f"{path}:{node.lineno}: {whole}: {GONE.get(whole, 'Bazel 9 has no such rule built in')}"
        if isinstance(node, ast.keyword) and node.arg == "cfg" and getattr(node.value, "value", "") in ("host", "data"):
            yield f"{path}:{node.value.lineno}: cfg = {node.value.value!r} is gone: \"exec\""
    for call in calls(tree, "bind"):
        yield f"{path}:{call.lineno}: bind() is WORKSPACE's alone"
    for name, label in names.items():
        if label == "//bazel:repos.bzl" and path not in WORKSPACE_ONLY:
            yield f"{path}: loads {name} of {label}, which only WORKSPACE may"
        if (RULES.match(name) or name in PROVIDERS) and not label.startswith(("@rules_", "//", ":")):
            yield f"{path}: loads {name} of {label}"


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
    for name in ("local_path_override", "archive_override", "git_override", "single_version_override"):
        if calls(tree, name):
            yield f"MODULE.bazel: {name}: only the root module's overrides count"
    for name in ("workspace", "http_archive", "local_repository"):
        if calls(tree, name):
            yield f"MODULE.bazel: {name}() is WORKSPACE's alone"


def check(root):
    texts = {}
    for path in build_files(root):
        with open(os.path.join(root, path), encoding="utf-8") as file:
            texts[path] = file.read()
    wrong = [one for path, text in texts.items() for one in check_file(path, text)]
    wrong += check_module(texts["MODULE.bazel"])
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
    ("BUILD", 'load("@rules_cc//cc:defs.bzl", "cc_library")\n', "", "cc_library isn't loaded"),
    ("allocator/BUILD", "\n# All products", '\nsh_test(name = "x", srcs = ["x.sh"])\n\n# All products', "sh_test isn't loaded"),
    ("bazel/defs.bzl", "    cc_library(", "    native.cc_library(", "native.cc_library"),
    ("bazel/defs.bzl", '"CcInfo", ', "", "CcInfo isn't loaded"),
    ("bazel/defs.bzl", "    cc_test(", "    native.bind(name = name, actual = name)\n    cc_test(", "no bind()"),
    ("bazel/defs.bzl", 'allow_single_file = True', 'allow_single_file = True, cfg = "host"', "cfg = 'host'"),
    ("BUILD", 'load("@rules_cc', 'load("//bazel:repos.bzl", "tarn_repositories")\nload("@rules_cc', "only WORKSPACE may"),
    ("policies/BUILD", '"@rules_cc//', '"@boost.test//', "for who uses tarn"),
    ("MODULE.bazel", 'version = "0.', 'version = "v0.', "no version"),
    ("MODULE.bazel", '    name = "tarn",\n', "", "no name"),
    ("MODULE.bazel", ">=7.0.0", ">=6.0.0", "bazel_compatibility"),
    ("MODULE.bazel", 'name = "rules_cc", version = "0.2.16"', 'name = "rules_cc"', "a name and a version"),
    ("MODULE.bazel", 'bazel_dep(name = "rules_cc", version = "0.2.16")\n', "", "declares no @rules_cc"),
]
