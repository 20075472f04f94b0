"""Reads the BUILD files: which targets there are, with what attributes.

Starlark, as they use it, is a part of Python. So they and the .bzl files are executed, with functions of ours in place of
Bazel's: a rule records a Target. What isn't known here (a rule, an attribute) is an error with its place, never left out.
"""

import builtins
import os
import re
import sys
from dataclasses import dataclass, field

_COMMON = {"name", "tags", "testonly", "visibility"}
_TEST = {"args", "env", "size", "timeout"}
_CC = {"copts", "data", "defines", "deps", "linkopts", "linkstatic", "local_defines", "srcs"}

# The rules, each with the attributes whose meaning cmake_tests.py knows. Those of our .bzl files are among them.
RULES = {
    "cc_binary": _COMMON | _CC | {"linkshared"},
    "cc_library": _COMMON | _CC | {"alwayslink", "hdrs", "include_prefix"},
    "cc_test": _COMMON | _CC | _TEST,
    "filegroup": _COMMON | {"srcs"},
    "genrule": _COMMON | {"cmd", "outs", "srcs", "tools"},
    "precompiled_header": _COMMON | {"deps", "hdr"},
    "script_test": _COMMON | _TEST | {"data", "deps", "script", "srcs", "words"},
}

# What Starlark has of its own.
_STARLARK = ["all", "any", "bool", "dict", "enumerate", "getattr", "hasattr", "hash", "int", "len", "list", "max", "min",
             "print", "range", "repr", "sorted", "str", "tuple", "zip"]


class Wrong(Exception):
    """A sentence about what is wrong in a BUILD file, with its place where that is known."""

    def __init__(self, sentence, place=None):
        super().__init__(f"{place}: {sentence}" if place else str(sentence))
        self.placed = place is not None


@dataclass
class Target:
    rule: str
    package: str
    name: str
    place: str
    attrs: dict = field(repr=False)

    @property
    def label(self):
        return f"//{self.package}:{self.name}"

    def get(self, attr, default=()):
        return self.attrs.get(attr, default)


def absolute(label, package):
    """The one spelling of a label that stands in a package: //folder:name, or @repository//folder:name."""
    match = re.fullmatch(r"(@[\w.-]+)?(?://([^:]*))?(?::?([^:]+))?", label)
    if match is None or (match[2] is None and (match[1] or match[3] is None)):
        raise Wrong(f"'{label}' is no label")
    repository, folder, name = match[1] or "", match[2], match[3]
    if folder is None:
        return f"//{package}:{name}"
    return f"{repository}//{folder}:{name or folder.split('/')[-1]}"


class _Rule:
    """A rule of Bazel's, or what rule() gives: calling it records a target. A .bzl file gives it its name by assigning it."""

    def __init__(self, reader, name=None):
        self.reader = reader
        self.name = name

    def __call__(self, **attrs):
        self.reader.record(self.name, attrs)


class _Anything:
    """For what says something to rule() alone, and to implementations, which are never called: attr.label(...), ..."""

    def __getattr__(self, name):
        return self

    def __call__(self, *args, **kwargs):
        return self


def _pattern(glob):
    """A glob as a regular expression for a path below the package."""
    parts = [re.escape(part).replace(r"\*\*", ".*").replace(r"\*", "[^/]*") for part in glob.split("/")]
    return re.compile("/".join(parts).replace(".*/", "(?:.*/)?"))


class Tree:
    """All of a workspace. `targets` by label; `files`: the BUILD and .bzl files read; `globs`: (package, pattern)."""

    def __init__(self, root):
        self.root = root
        self.targets = {}
        self.files = []
        self.globs = []
        self._modules = {}
        self._package = None
        self._build_file = None
        for path in self.build_files():
            self._build_file = path
            self._package = os.path.dirname(path)
            self._execute(path)
        self._package = None

    def build_files(self):
        """Their paths, as Bazel would find them: not in hidden folders, nor in those that .bazelignore names."""
        ignored = {"build"}
        if os.path.exists(os.path.join(self.root, ".bazelignore")):
            with open(os.path.join(self.root, ".bazelignore"), encoding="utf-8") as file:
                ignored.update(line.strip() for line in file)
        found = []
        for folder, folders, files in os.walk(self.root):
            here = "" if folder == self.root else os.path.relpath(folder, self.root)
            folders[:] = sorted(name for name in folders if name[0] != "." and os.path.join(here, name) not in ignored)
            found += [os.path.join(here, name) for name in ("BUILD.bazel", "BUILD") if name in files][:1]
        return found

    # --- What BUILD files call.

    def _execute(self, path):
        """The globals of a file after it was executed."""
        if path in self._modules:
            return self._modules[path]
        scope = self._scope()
        try:
            with open(os.path.join(self.root, path), encoding="utf-8") as file:
                code = compile(file.read(), path, "exec")
            self.files.append(path)
            exec(code, scope)  # pylint: disable=exec-used
        except SyntaxError as error:
            raise Wrong(f"{path}:{error.lineno}: {error.msg}") from None
        except Exception as error:  # pylint: disable=broad-except
            if isinstance(error, Wrong) and error.placed:
                raise
            line, trace = 1, error.__traceback__
            while trace:
                if trace.tb_frame.f_code.co_filename == path:
                    line = trace.tb_lineno
                trace = trace.tb_next
            raise Wrong(error, f"{path}:{line}") from None
        for name, value in scope.items():
            if isinstance(value, _Rule) and value.name is None:
                value.name = name
        self._modules[path] = scope
        return scope

    def _scope(self):
        def load(label, *names, **renamed):
            wanted = {**{name: name for name in names}, **renamed}
            if label.startswith("@"):  # a rule, or what only implementations of rules use
                scope.update({here: _Rule(self, there) for here, there in wanted.items()})
                return
            given = self._execute(absolute(label, self._package)[2:].replace(":", "/").lstrip("/"))
            for here, there in wanted.items():
                if there not in given:
                    raise Wrong(f"{label} has no '{there}'")
                scope[here] = given[there]

        def fail(*words):
            raise Wrong(" ".join(map(str, words)))

        starlark = {name: getattr(builtins, name) for name in _STARLARK}
        starlark.update({"None": None, "True": True, "False": False, "reversed": lambda what: list(reversed(what)),
                         "type": lambda what: type(what).__name__.replace("str", "string")})
        scope = {rule: _Rule(self, rule) for rule in RULES if rule in ("filegroup", "genrule")}
        scope.update({
            "__builtins__": starlark, "attr": _Anything(), "depset": _Anything(), "DefaultInfo": _Anything(), "load": load,
            "exports_files": lambda *files, **more: None, "fail": fail, "glob": self._glob, "native": self,
            "package": lambda **more: None, "rule": lambda **more: _Rule(self), "repository_rule": lambda **more: _Rule(self)})
        return scope

    def package_name(self):
        """native.package_name()"""
        return self._package

    def _glob(self, include, exclude=(), allow_empty=True):  # pylint: disable=unused-argument
        found = []
        base = os.path.join(self.root, self._package)
        for folder, folders, files in os.walk(base):
            here = os.path.relpath(folder, base)
            # What stands in a package of its own isn't this one's.
            folders[:] = [name for name in folders if name[0] != "."
                          and not {"BUILD", "BUILD.bazel"} & set(os.listdir(os.path.join(folder, name)))]
            found += [os.path.normpath(os.path.join(here, name)) for name in files]
        self.globs += [(self._package, pattern) for pattern in include]
        wanted, unwanted = list(map(_pattern, include)), list(map(_pattern, exclude))
        return sorted(path for path in found if any(one.fullmatch(path) for one in wanted)
                      and not any(one.fullmatch(path) for one in unwanted))

    def _place(self):
        """FILE:LINE in the BUILD file that is being executed."""
        frame = sys._getframe()  # pylint: disable=protected-access
        while frame:
            if frame.f_code.co_filename == self._build_file:
                return f"{self._build_file}:{frame.f_lineno}"
            frame = frame.f_back
        return f"{self._build_file}:1"

    def record(self, rule, attrs):
        if rule not in RULES:
            raise Wrong(f"the rule '{rule}' isn't known to build_files.py")
        name = attrs.get("name")
        for attr in attrs:
            if attr not in RULES[rule]:
                raise Wrong(f"{rule} '{name}': the attribute '{attr}' isn't known to build_files.py")
        given = {attr: value for attr, value in attrs.items() if value is not None}
        target = Target(rule, self._package, name, self._place(), given)
        if target.label in self.targets:
            raise Wrong(f"there are two of {target.label}")
        self.targets[target.label] = target

    # --- What readers of it ask.

    def tests(self):
        """The labels of `bazel query 'tests(//...)'`: manual ones too."""
        return sorted(label for label, target in self.targets.items() if target.rule.endswith("_test"))

    def call(self, path, function, **given):
        """Calls a function of a .bzl file; what `given` holds replaces Bazel's names there."""
        scope = self._execute(path)
        scope.update(given)
        return scope[function]()
