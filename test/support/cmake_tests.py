#!/usr/bin/env python3
"""The tests for CMake, out of the BUILD files, which both read: there is no other list.

  cmake_tests.py SOURCE BUILD INCLUDE EXCLUDE   writes BUILD/tests.cmake, calls of the functions in tests.cmake, for the tests
                                                that have a tag like INCLUDE, if that is given, and none like EXCLUDE; and
                                                BUILD/runfiles/tarn, the folder that they run in. CMake calls it.

Starlark, as BUILD files use it, is a part of Python: they are executed. A rule or an attribute that isn't known here ends it
with Python's own message, which names the line.
"""

import os
import pathlib
import re
import shlex
import shutil
import sys

import compilers

# What says nothing to CMake. `includes` is for what bench/run, which calls Bazel, unpacks.
IGNORED = {"alwayslink", "include_prefix", "includes", "linkstatic", "testonly", "visibility"}
SIZES = {"small": "short", "medium": "moderate", "large": "long", "enormous": "eternal"}


class Anything:
    """For what a .bzl file says to rule(), and names in implementations, which are never called."""

    def __getattr__(self, name):
        return self

    def __call__(self, *words, **attrs):
        return self


def fail(sentence):
    raise ValueError(sentence)


def call(function, *words, **lists):
    """A call in CMake. No word of ours holds ]==]."""
    words = [*words, *(word for key, values in lists.items() if values for word in (key.upper(), *values))]
    return f"{function}({' '.join(f'[==[{word}]==]' for word in words)})\n"


class Tree:
    """What is written: `first` what all others need, then `targets`, then `tests`. `programs`: what tests find in their folder;
    `read`: the files that it comes from."""

    def __init__(self, source, build, include, exclude):
        self.source, self.build, self.include, self.exclude = source, build, include, exclude
        self.first, self.targets, self.tests = "", "", ""
        self.programs, self.read, self.groups = [], [".bazelrc"], {}  # groups: filegroups' files
        with open(os.path.join(source, ".bazelrc"), encoding="utf-8") as file:
            limits = re.search(r"--test_timeout=([\d,]+)", file.read())[1].split(",")
        self.limits = dict(zip(SIZES.values(), limits))
        ignored = pathlib.Path(source, ".bazelignore").read_text(encoding="utf-8").split()
        for folder, folders, files in os.walk(source):
            here = folder[len(source) + 1:]
            folders[:] = sorted(one for one in folders if one[0] != "." and os.path.join(here, one) not in ignored)
            if "BUILD" in files:
                Folder(self, here)

    def wants(self, tags):
        some = not self.include or any(re.search(self.include, tag) for tag in tags)
        return some and "manual" not in tags and not (self.exclude and any(re.search(self.exclude, tag) for tag in tags))

    def write(self):
        text = call("set", "tarn_warnings", *compilers.WARNINGS) + call(
            "set_property", "DIRECTORY", "APPEND", "PROPERTY", "CMAKE_CONFIGURE_DEPENDS",
            *(os.path.join(self.source, path) for path in self.read))
        pathlib.Path(self.build, "tests.cmake").write_text(text + self.first + self.targets + self.tests, encoding="utf-8")
        runfiles = os.path.join(self.build, "runfiles/tarn")
        shutil.rmtree(runfiles, ignore_errors=True)
        shutil.copytree(self.source, runfiles, copy_function=os.symlink, ignore=lambda folder, names: [
            name for name in names if name.startswith((".git", "bazel-")) or name in ("build", "__pycache__")
            or os.path.join(folder, name) == self.build])
        for path in self.programs:
            os.symlink(os.path.join(self.build, "programs", path), os.path.join(runfiles, path))


class Folder:
    """A BUILD file's, which is executed; its members with the names of rules are these."""

    def __init__(self, tree, path):
        self.tree, self.path, anything = tree, path, Anything()
        self.rules = {name: self.rule(name) for name in (
            "cc_binary", "cc_library", "cc_test", "genrule", "precompiled_header", "script_test", "filegroup")}
        self.scope = dict.fromkeys(("CcInfo", "DefaultInfo", "attr", "depset", "exports_files", "package", "rule"),
                                   anything)
        self.scope.update(self.rules, fail=fail, glob=self.glob, load=self.load, native=self)
        self.execute(os.path.join(path, "BUILD"))

    def execute(self, path):
        self.tree.read.append(path)
        text = pathlib.Path(self.tree.source, path).read_text(encoding="utf-8")
        exec(compile(text, path, "exec"), self.scope)  # pylint: disable=exec-used
        self.scope.update(self.rules)  # which a .bzl file has defined for Bazel

    def load(self, label, *names):
        if label[0] != "@":
            self.execute(self.file(label))
            for name in names:
                self.scope[name]  # pylint: disable=pointless-statement

    def rule(self, name):
        return lambda **attrs: getattr(self, name)(**{key: attrs[key] for key in attrs if key not in IGNORED})

    def package_name(self):
        return self.path

    def glob(self, include, exclude=(), allow_empty=True):
        here = pathlib.Path(self.tree.source, self.path)
        some, others = ({path for one in patterns for path in here.glob(one)} for patterns in (include, exclude))
        return sorted(str(path.relative_to(here)) for path in some - others if path.is_file())

    # --- Labels. A program stands where a file of its label would.

    def file(self, label):
        folder, colon, name = label.rpartition(":") if ":" in label or label[:2] != "//" else (label, ":", label.split("/")[-1])
        return os.path.join(folder[2:] if folder else "" if label[:2] == "//" else self.path, name)

    def name(self, label):
        path = self.file(label)
        return "boost.test" if label[0] == "@" else ("" if "/" in path else "root.") + path.replace("/", ".")

    def names(self, labels):
        """The targets of those that are no files. Of other libraries, CMake must know Boost.Test; others' headers are found."""
        return [self.name(label) for label in labels if label.startswith("@boost.test") or
                label[0] != "@" and not os.path.isfile(os.path.join(self.tree.source, self.file(label)))]

    def sources(self, labels):
        return [os.path.join(self.tree.source, self.file(label)) for label in labels]

    def spelled(self, text):
        return re.sub(r"\$\((?:rootpath|location) ([^)]+)\)", lambda found: self.file(found[1]), text).replace("$$", "$")

    # --- Rules.

    def compiled(self, function, name, srcs=(), hdrs=(), data=(), deps=(), copts=(), linkopts=(), defines=(), local_defines=(),
                 tags=(), output=(), shared=()):  # pylint: disable=too-many-arguments,unused-argument
        precompiled = ["YES"] if "-include" in copts else []
        self.tree.targets += call(
            function, self.name(name), sources=self.sources(one for one in srcs if not one.endswith((".h", ".inc"))),
            deps=self.names(deps), copts=() if precompiled else copts, linkopts=linkopts, defines=defines,
            private=local_defines, after=self.names([*srcs, *hdrs, *data]), precompiled=precompiled, output=output,
            shared=shared)

    def cc_library(self, **attrs):
        self.compiled("tarn_library", **attrs)

    def cc_binary(self, name, linkshared=False, **attrs):
        self.tree.programs.append(self.file(name))
        self.compiled("tarn_program", name, output=[self.file(name)], shared=["YES"] if linkshared else [], **attrs)

    def cc_test(self, name, args=(), size="medium", timeout=None, tags=(), **attrs):
        self.cc_binary(name, **attrs)
        self.test(name, [name], [], args, size, timeout, tags)

    def script_test(self, name, script, srcs=(), words=(), data=(), deps=(), args=(), size="medium", timeout=None, tags=()):
        # pylint: disable=too-many-arguments,unused-argument
        self.test(name, [script, *srcs, *data], [*words, *map(self.file, srcs)], args, size, timeout, tags)

    def test(self, name, needs, words, args, size, timeout, tags):
        if self.tree.wants(tags):
            words = words + [word for arg in args for word in shlex.split(self.spelled(arg))]
            self.tree.tests += call(
                "tarn_test", f"//{self.path}:{name}", command=["./" + self.file(needs[0]), *words], needs=self.names(needs),
                labels=[tag for tag in tags if ":" not in tag], timeout=[self.tree.limits[timeout or SIZES[size]]],
                processors=[tag[4:] for tag in tags if tag.startswith("cpu:")])

    def precompiled_header(self, name, hdr, deps):
        self.tree.first += call("tarn_precompiled", self.name(name), *self.sources([hdr]), deps=self.names(deps))

    def generated(self, name, outs, command):
        self.tree.targets += call("tarn_generated", self.name(name), outs=list(map(self.file, outs)), command=command)
        for out in outs:
            self.tree.targets += call("add_custom_target", self.name(out))
            self.tree.targets += call("add_dependencies", self.name(out), self.name(name))

    def genrule(self, name, outs, cmd, tools, srcs=()):  # pylint: disable=unused-argument
        files = (path for one in srcs for path in self.tree.groups.get(self.file(one), [self.file(one)]))
        for variable, paths in {"$(OUTS)": map(self.file, outs), "$@": map(self.file, outs), "$(SRCS)": files}.items():
            cmd = cmd.replace(variable, " ".join(paths))
        self.generated(name, outs, ["sh", "-c", self.spelled(cmd)])

    def filegroup(self, name, srcs):
        self.tree.groups[self.file(name)] = list(map(self.file, srcs))


if __name__ == "__main__":
    Tree(*map(os.path.abspath, sys.argv[1:3]), *sys.argv[3:]).write()
