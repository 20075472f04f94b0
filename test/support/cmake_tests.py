#!/usr/bin/env python3
"""The tests for CMake, out of the BUILD files, which stay the only list.

  cmake_tests.py write SOURCE BUILD   writes BUILD/tests.cmake, calls of the functions in tests.cmake, and the folders that
                                      tests run in. CMake does this whenever it configures.
  cmake_tests.py labels SOURCE        prints the label of each test, sorted
  cmake_tests.py agree SOURCE         a test: that its input, `bazel query 'tests(//...)'`, has the same labels
"""

import os
import re
import shlex
import shutil
import sys
from types import SimpleNamespace

import build_files
from build_files import Wrong, absolute

# The limits of time that a test has by its size, and Bazel's figures for them, in seconds, where .bazelrc has no others.
SIZES = {"small": "short", "medium": "moderate", "large": "long", "enormous": "eternal"}
TIMEOUTS = {"short": 60, "moderate": 300, "long": 900, "eternal": 3600}
BAZELRC = re.compile(r"^test --test_timeout=(\d+),(\d+),(\d+),(\d+)$", re.MULTILINE)

# Where Debian has what bazel/repos.bzl names by a header: (beginning of the header's path, package).
PACKAGES = [("boost/test/", "libboost-test-dev"), ("boost/", "libboost-dev"), ("nlohmann/", "nlohmann-json3-dev")]


def _quoted(word):
    """One argument, whatever is in it. Nothing of ours holds ]==]."""
    return f"[==[{word}]==]"


def _call(function, name, **given):
    """A call of a function in tests.cmake; values are lists."""
    lines = [f"{function}({_quoted(name)}"]
    for key, values in given.items():
        if values:
            lines.append("  " + " ".join([key.upper(), *map(_quoted, values)]))
    return "\n".join(lines) + ")\n"


class Writer:
    """Makes the CMake text of a tree. Paths in it are absolute; what is built stands below `build`."""

    def __init__(self, tree, build):
        self.tree = tree
        self.build = build
        self.outputs = {}  # the label of a generated file: its target
        for target in tree.targets.values():
            for name in self.outputs_of(target):
                self.outputs[f"//{target.package}:{name}"] = target
        self.written = {}  # label: the text that makes it, or None while it is being made
        self.headers = {}  # of each repository of bazel/repos.bzl, one
        self.needs = {}  # the same, of those that tests need
        self.links = {}  # a link below `build`: the file
        self.timeouts = dict(TIMEOUTS)
        self.bazelrc = os.path.join(tree.root, ".bazelrc")
        if os.path.exists(self.bazelrc):
            with open(self.bazelrc, encoding="utf-8") as file:
                for figures in BAZELRC.findall(file.read()):
                    self.timeouts = dict(zip(TIMEOUTS, figures))

    # --- What there is.

    @staticmethod
    def outputs_of(target):
        if target.rule == "genrule":
            return target.get("outs")
        return []

    def find(self, label, target):
        """What a label in an attribute of `target` names: a Target, or the path of a file of the tree."""
        label = absolute(label, target.package)
        if label in self.tree.targets:
            return self.tree.targets[label]
        if label in self.outputs:
            return self.outputs[label]
        folder, name = label[2:].split(":")
        path = os.path.join(folder, name)
        if label.startswith("@") or not os.path.isfile(os.path.join(self.tree.root, path)):
            raise Wrong(f"{target.place}: {target.label} names {label}, which is neither a target nor a file")
        return path

    def files(self, label, target):
        """{path in a test's folder: absolute path} of the files that a label in an attribute of `target` stands for."""
        found = self.find(label, target)
        if isinstance(found, str):
            return {found: os.path.join(self.tree.root, found)}
        one = absolute(label, target.package)
        if found.rule == "genrule":
            outputs = [f"//{found.package}:{name}" for name in self.outputs_of(found)]
            return {os.path.join(found.package, name): self.generated(found, name) for name in self.outputs_of(found)
                    if one not in outputs or one == f"//{found.package}:{name}"}
        if found.rule == "filegroup":
            return self.all_files("srcs", found)
        if found.rule in ("cc_test", "cc_binary"):
            return {os.path.join(found.package, found.name): self.program_path(found)}
        raise Wrong(f"{target.place}: {target.label} uses {found.label}, a {found.rule}, as files")

    def all_files(self, attr, target):
        every = {}
        for label in target.get(attr):
            every.update(self.files(label, target))
        return every

    def generated(self, target, name):
        return os.path.join(self.build, "generated/tarn", target.package, name)

    def program_path(self, target):
        return os.path.join(self.build, "programs", target.package, target.name)

    @staticmethod
    def cmake_name(target):
        return f"{target.package}/{target.name}".strip("/").replace("/", ".")

    def closure(self, target, done=None):
        """What `target` needs, each once, by labels: cc_libraries, precompiled_headers, and None for a repository."""
        done = {} if done is None else done
        for label in target.get("deps"):
            label = absolute(label, target.package)
            if label in done:
                continue
            if label.startswith("@"):
                done[label] = None
                continue
            found = self.find(label, target)
            if isinstance(found, str) or found.rule not in ("cc_library", "precompiled_header"):
                raise Wrong(f"{target.place}: {target.label} depends on {label}, which is no cc_library")
            done[label] = found
            self.closure(found, done)
        return done

    def repository(self, label, target):
        """The name of a repository, by the label of its one library. bazel/repos.bzl says which header it has."""
        name = label[1:].split("//")[0]
        if not self.headers:
            self.tree.call("bazel/repos.bzl", "tarn_dev_repositories", native=SimpleNamespace(existing_rule=lambda name: None),
                           _repository=lambda name, system, **more: self.headers.update({name: system}))
        if name not in self.headers:
            raise Wrong(f"{target.place}: {target.label} depends on {label}, which bazel/repos.bzl doesn't have")
        self.needs[name] = os.path.relpath(self.headers[name], "/usr/include")
        return name

    def spellings(self, text, target):
        """`text` with Bazel's variables replaced by paths as they are in a test's folder."""
        def path(match):
            found = self.files(match[2], target)
            if len(found) != 1 and match[1][-1] != "s":
                raise Wrong(f"{target.place}: {match[0]} is {len(found)} files")
            return " ".join(found)

        text = re.sub(r"\$\((rootpaths?|locations?|execpaths?) ([^)]+)\)", path, text)
        if re.search(r"(?<!\$)\$(?!\$)", text):
            raise Wrong(f"{target.place}: {target.label}: '{text}' has a variable that isn't known to cmake_tests.py")
        return text.replace("$$", "$")

    # --- What is written.

    def make(self, target):
        """Writes how a target is made, after all that it needs."""
        if target.label in self.written:
            return
        self.written[target.label] = ""
        self.written[target.label] = {
            "cc_library": self.library, "cc_binary": self.program, "cc_test": self.program, "genrule": self.genrule,
            "filegroup": self.filegroup, "precompiled_header": self.precompiled,
            "script_test": lambda target: "",
        }[target.rule](target)
        # Again, so that it stands after what it needs.
        self.written[target.label] = self.written.pop(target.label)

    def make_all(self, attr, target):
        """The targets that an attribute names, made."""
        found = [self.find(label, target) for label in target.get(attr)]
        targets = [one for one in found if not isinstance(one, str)]
        for one in targets:
            self.make(one)
        return targets

    def compiled(self, target):
        """What cc_library, cc_binary and cc_test have in common."""
        package = "tarn/" + target.package
        if target.get("include_prefix", package) != package:
            raise Wrong(f"{target.place}: {target.label}: CMake can give its headers no other prefix than {package}")
        sources, headers = [], []
        for path in self.all_files("srcs", target).values():
            (headers if path.endswith((".h", ".inc")) else sources).append(path)
        every = self.closure(target)
        libraries = [library for library in every.values() if library]
        copts, precompiled = self.copts(target, libraries)
        after = []
        for library in libraries:
            self.make(library)
        for one in [target, *libraries]:
            after += [self.cmake_name(made) for attr in ("hdrs", "srcs") for made in self.make_all(attr, one)
                      if made.rule == "genrule"]
        needs = [self.repository(label, target) for label, library in every.items() if library is None]
        return {
            "sources": sources,
            "copts": copts,
            "definitions": [*target.get("defines"), *target.get("local_defines"),
                            *(word for library in libraries for word in library.get("defines"))],
            "linkopts": [*target.get("linkopts"), *(word for library in libraries for word in library.get("linkopts"))],
            "objects": [self.cmake_name(library) for library in libraries if library.get("srcs")],
            "needs": needs,
            "after": sorted(set(after)),
            "precompiled": precompiled,
        }

    def copts(self, target, libraries):
        """The flags of `target`, and the precompiled header that they name, which CMake includes in its own way."""
        copts, precompiled = list(target.get("copts")), []
        for one in libraries:
            header = f"$(BINDIR)/{one.package}/{one.name}.h"
            if one.rule == "precompiled_header" and header in copts:
                at = copts.index(header)
                if copts[at - 1] == "-include":
                    del copts[at - 1:at + 1]
                    precompiled.append(self.cmake_name(one))
        for word in copts:
            if "$" in word:
                raise Wrong(f"{target.place}: {target.label}: '{word}' has a variable that isn't known to cmake_tests.py")
        return copts, precompiled

    def precompiled(self, target):
        needs = [self.repository(label, target) for label, library in self.closure(target).items() if library is None]
        return _call("tarn_precompiled", self.cmake_name(target), label=[target.label],
                     sources=self.files(target.get("hdr"), target).values(), needs=needs)

    def library(self, target):
        if not target.get("srcs"):
            return ""
        return _call("tarn_objects", self.cmake_name(target), label=[target.label], **self.compiled(target))

    def program(self, target):
        data = self.make_all("data", target)
        return _call("tarn_program", self.cmake_name(target), label=[target.label], output=[self.program_path(target)],
                     kind=["SHARED" if target.get("linkshared") else "EXECUTABLE"], **self.compiled(target),
                     data=self.made(data))

    def filegroup(self, target):
        self.make_all("srcs", target)
        return ""

    def made(self, targets):
        """The CMake targets that make the files of these."""
        names = []
        for target in targets:
            if target.rule == "filegroup":
                names += self.made(self.make_all("srcs", target))
            elif target.rule not in ("cc_library", "script_test"):
                names.append(self.cmake_name(target))
        return names

    def genrule(self, target):
        outs = [self.generated(target, name) for name in target.get("outs")]
        inputs = {**self.all_files("srcs", target), **self.all_files("tools", target)}
        command = target.get("cmd")
        for variable, files in (("$(OUTS)", outs), ("$(SRCS)", self.all_files("srcs", target).values())):
            command = command.replace(variable, " ".join(map(shlex.quote, files)))
        if len(outs) == 1:
            command = command.replace("$@", shlex.quote(outs[0]))
        return _call("tarn_generated", self.cmake_name(target), label=[target.label], output=outs,
                     command=["bash", "-c", self.spellings(command, target)],
                     depends=inputs.values(), after=self.made(self.make_all("srcs", target) + self.make_all("tools", target)))

    def runfiles(self, target):
        """{path in the test's folder: absolute path}, of all that it may read."""
        every = {}
        if target.rule == "script_test":
            every.update(self.files(target.get("script"), target))
            every.update(self.all_files("srcs", target))
            for library in self.closure(target).values():
                if library:
                    every.update(self.all_files("hdrs", library))
        else:
            every[os.path.join(target.package, target.name)] = self.program_path(target)
            for library in self.closure(target).values():
                if library:
                    every.update(self.all_files("data", library))
        every.update(self.all_files("data", target))
        for label in target.get("data"):
            found = self.find(label, target)
            if not isinstance(found, str) and found.rule in ("cc_test", "cc_binary"):
                every.update(self.runfiles(found))
        return every

    def test(self, target):
        size = target.get("size", "medium")
        if size not in SIZES or target.get("timeout", "long") not in self.timeouts:
            raise Wrong(f"{target.place}: {target.label}: there is no such size or timeout")
        folder = os.path.join(self.build, "runfiles", target.package, target.name)
        for path, file in self.runfiles(target).items():
            self.links[os.path.join(folder, path)] = file
        if target.rule == "script_test":
            command = [*self.files(target.get("script"), target), *target.get("words"), *self.all_files("srcs", target)]
            programs = self.made(self.make_all("srcs", target) + self.make_all("data", target))
        else:
            command = [os.path.join(target.package, target.name)]
            programs = [self.cmake_name(target)]
            self.make(target)
        command[0] = os.path.join(".", command[0])
        for arg in target.get("args"):
            command += shlex.split(self.spellings(arg, target))
        cpus = [tag[len("cpu:"):] for tag in target.get("tags") if tag.startswith("cpu:")]
        return _call("tarn_test", target.label, programs=programs, command=command, folder=[folder],
                     labels=sorted({tag for tag in target.get("tags") if ":" not in tag}),
                     environment=[f"{name}={self.spellings(value, target)}" for name, value in target.get("env", {}).items()],
                     timeout=[str(self.timeouts[target.get("timeout", SIZES[size])])], processors=cpus)

    def text(self):
        """The whole of tests.cmake in the build folder."""
        tests = []
        for label in self.tree.tests():
            target = self.tree.targets[label]
            if "manual" not in target.get("tags"):
                tests.append(self.test(target))
        needs = "".join(_call("tarn_need", name, header=[header],
                              package=[package for start, package in PACKAGES if header.startswith(start)][:1])
                        for name, header in self.needs.items())
        return f"# Written by cmake_tests.py.\n{self.again()}{needs}{''.join(self.written.values())}{''.join(tests)}"

    def again(self):
        """CMake configures anew where a BUILD file changes, or one comes, or a file that a glob finds."""
        root = self.tree.root
        tops = {path.split("/")[0] for path in self.tree.build_files() if "/" in path}
        flat, deep = {"*/BUILD"}, {top + "/BUILD" for top in tops}
        for package, glob in self.tree.globs:
            (deep if "**" in glob else flat).add(os.path.join(package, glob.replace("**/", "").replace("**", "*")))
        text = "set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS\n  "
        text += "\n  ".join(_quoted(os.path.join(root, path)) for path in [".bazelrc", *self.tree.files]) + ")\n"
        for kind, patterns in (("GLOB", flat), ("GLOB_RECURSE", deep)):
            for pattern in sorted(patterns):
                text += f"file({kind} unused CONFIGURE_DEPENDS {_quoted(os.path.join(root, pattern))})\n"
        return text

    def write(self):
        text = self.text()
        runfiles = os.path.join(self.build, "runfiles")
        shutil.rmtree(runfiles, ignore_errors=True)
        for link, file in self.links.items():
            os.makedirs(os.path.dirname(link), exist_ok=True)
            os.symlink(file, link)
        with open(os.path.join(self.build, "tests.cmake"), "w", encoding="utf-8") as out:
            out.write(text)


def agree(tree, lines):
    """What to print about our labels and those in `lines`, which must be the same."""
    ours, theirs = set(tree.tests()), {line.strip() for line in lines if line.strip()}
    said = [f"FAIL  {label}: Bazel doesn't have it" for label in sorted(ours - theirs)]
    said += [f"FAIL  {label}: cmake_tests.py doesn't have it" for label in sorted(theirs - ours)]
    return said + [f"{len(ours & theirs)} passed, {len(said)} failed"]


def main():
    what, root, *more = sys.argv[1:]
    try:
        tree = build_files.Tree(os.path.abspath(root))
        if what == "agree":
            said = agree(tree, sys.stdin)
            print("\n".join(said))
            return 1 if len(said) > 1 or not tree.tests() else 0
        if what == "labels":
            print("\n".join(tree.tests()))
        else:
            Writer(tree, os.path.abspath(more[0])).write()
    except Wrong as wrong:
        print(wrong, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
