#!/usr/bin/env python3
"""Tests what makes CMake's tests out of BUILD files, on small ones; and how ctest's runs are judged and counted."""

import json
import os
import re
import subprocess
import sys
import tempfile

import build_files
import cmake_tests
import compilers
import run_tests

FOLDER = os.path.dirname(os.path.abspath(__file__))

LOAD = 'load("//bazel:defs.bzl", "precompiled_header", "script_test", "tarn_headers", "tarn_test")\n'
LOAD_CC = 'load("@rules_cc//cc:defs.bzl", "cc_binary", "cc_library", "cc_test")\n'


# --- BUILD files.

# A part of tarn's.
DEFS = '''
load("@rules_cc//cc:defs.bzl", "CcInfo", "cc_library", "cc_test")

def tarn_headers(name, hdrs, deps = [], **kwargs):
    cc_library(name = name, hdrs = hdrs, include_prefix = "tarn/" + native.package_name(), deps = deps, **kwargs)
    script_test(name = name + "_headers_test", script = "//test/support:check_headers.py", srcs = hdrs, deps = [":" + name])

def tarn_test(name, srcs, deps = [], copts = ["-include", "$(BINDIR)/test/support/precompiled.h"], **kwargs):
    more = ["//test/support:boost_test", "//test/support:precompiled"]
    cc_test(name = name, srcs = srcs, linkstatic = True, copts = copts, deps = deps + more, **kwargs)

def _impl(ctx):
    ctx.actions.declare_file(ctx.label.name)

precompiled_header = rule(implementation = _impl, attrs = {"hdr": attr.label(mandatory = True)})
script_test = rule(implementation = _impl, test = True, attrs = {"deps": attr.label_list(providers = [CcInfo])})
unknown = rule(implementation = _impl)
'''
SUPPORT = LOAD + LOAD_CC + '''
cc_library(name = "boost_test", srcs = ["boost_main.cc"], alwayslink = True, deps = ["@boost.test//:boost.test"])
precompiled_header(name = "precompiled", hdr = "precompiled.h", deps = ["@boost.test//:boost.test"])
'''


def tree_of(folder, files):
    """A workspace of these files, with those that tests need."""
    with open("bazel/repos.bzl", encoding="utf-8") as file:
        own = {"bazel/defs.bzl": DEFS, "bazel/repos.bzl": file.read(), "test/support/BUILD": SUPPORT}
    support = {"test/support/" + name: "" for name in ("boost_main.cc", "check_headers.py", "precompiled.h")}
    for path, text in {**own, **support, **files}.items():
        os.makedirs(os.path.dirname(os.path.join(folder, path)), exist_ok=True)
        with open(os.path.join(folder, path), "w", encoding="utf-8") as file:
            file.write(text)
    return build_files.Tree(folder)


def text_of(files):
    with tempfile.TemporaryDirectory() as folder:
        writer = cmake_tests.Writer(tree_of(folder, files), os.path.join(folder, "out"))
        text = writer.text()
        links = "".join(f"link {link} {file}\n" for link, file in writer.links.items())
        # Easier to compare: without CMake's quotes, and one call in one line.
        text = re.sub(r"\[==\[|\]==\]", "", text)
        return re.sub(r"\n  ", " ", text + links).replace(folder + "/", "")


def good(name, build, *lines, files=None, unwanted=()):
    """The BUILD file of the package `a`, beside files, gives these lines of CMake, and none of the unwanted."""
    def run():
        text = text_of({"a/BUILD": LOAD + LOAD_CC + build, **(files or {})})
        for line in lines:
            if not re.search(line, text, re.MULTILINE):
                return f"no line '{line}' in\n{text}"
        for line in unwanted:
            if re.search(line, text, re.MULTILINE):
                return f"a line '{line}' in\n{text}"
        return None

    return name, run


def wrong(name, build, sentence):
    """This BUILD file of the package `a` is refused so."""
    def run():
        try:
            text = text_of({"a/BUILD": LOAD + LOAD_CC + build, "a/a.cc": ""})
        except build_files.Wrong as said:
            return None if re.fullmatch(sentence, str(said)) else f"wanted '{sentence}'\ngot    '{said}'"
        return "was taken:\n" + text

    return name + " is refused", run


ONE = 'tarn_test(name = "one", srcs = ["a.cc"]{})\n'


def goods():
    a = {"a/a.cc": ""}
    return [
        good("a test is a program and a test", ONE.format(""),
             r"^tarn_program\(a\.one .* SOURCES a/a\.cc OBJECTS .*PRECOMPILED test\.support\.precompiled\)$",
             r"^tarn_precompiled\(test\.support\.precompiled .*SOURCES test/support/precompiled\.h NEEDS boost\.test\)$",
             r"^tarn_objects\(test\.support\.boost_test .*boost_main\.cc",
             r"^tarn_need\(boost\.test HEADER boost/test/unit_test\.hpp PACKAGE libboost-test-dev\)$",
             r"^tarn_test\(//a:one PROGRAMS a\.one COMMAND \./a/one FOLDER out/runfiles/a/one TIMEOUT 300\)$",
             r"^link out/runfiles/a/one/a/one out/programs/a/one$", files=a),
        good("tags are labels, but for those that say something to Bazel", ONE.format(', tags = ["threads", "cpu:2", "slow"]'),
             r"^tarn_test\(//a:one .* LABELS slow threads TIMEOUT 300 PROCESSORS 2\)$", files=a),
        good("a size is a limit of time", ONE.format(', size = "large"'), r"^tarn_test\(//a:one .*TIMEOUT 900\)$", files=a),
        good("a limit of time goes before a size", ONE.format(', size = "large", timeout = "short"'),
             r"^tarn_test\(//a:one .*TIMEOUT 60\)$", files=a),
        good("a test with flags of its own has no precompiled header", ONE.format(', copts = ["-O1"]'),
             r"^tarn_program\(a\.one .*COPTS -O1 ", unwanted=["tarn_program.*PRECOMPILED"], files=a),
        good("limits of time are those of .bazelrc", ONE.format(', size = "small"'), r"^tarn_test\(//a:one .*TIMEOUT 77\)$",
             files={**a, ".bazelrc": "build -c opt\ntest --test_timeout=77,100,200,300\n"}),
        good("a list comprehension gives a test for each",
             '[tarn_test(name = "%s_%d" % (x, n), srcs = ["a.cc"], local_defines = ["N=%d" % n]) for x in ["p", "q"] '
             'for n in range(2)]\n', *[rf"^tarn_program\(a\.{x}_{n} .*DEFINITIONS N={n} .*" for x in "pq" for n in range(2)],
             files=a),
        good("a glob finds what is there, but for what is excluded and other packages'",
             'filegroup(name = "f", srcs = glob(["**/*.txt"], exclude = ["no*.txt"]))\n'
             'script_test(name = "s", script = "s.py", srcs = [":f"], data = glob(["d/*"]))\n',
             r"COMMAND \./a/s\.py a/1\.txt a/d/2\.txt FOLDER", r"a/s/a/d/3\.dat ",
             r"^file\(GLOB_RECURSE unused CONFIGURE_DEPENDS a/\*\.txt\)", unwanted=["no4", "b/5"],
             files={"a/" + path: "" for path in ("s.py", "1.txt", "d/2.txt", "d/3.dat", "no4.txt", "b/5.txt", "b/BUILD")}),
        good("headers have a test that sees those that they include",
             'tarn_headers(name = "x", hdrs = ["x.h"], deps = [":y"])\ntarn_headers(name = "y", hdrs = ["y.h"])\n',
             r"^tarn_test\(//a:x_headers_test COMMAND \./test/support/check_headers\.py a/x\.h FOLDER ",
             r"^link out/runfiles/a/x_headers_test/a/y\.h a/y\.h$", unwanted=[r"y_headers_test/a/x\.h"],
             files={"a/x.h": "", "a/y.h": ""}),
        good("a library's sources are compiled once, and stand in each program once",
             "".join(f'cc_library(name = "{name}", srcs = ["{name}.cc"], copts = ["-O1"], defines = ["D_{name}"], '
                     f'local_defines = ["L_{name}"], deps = {deps})\n'
                     for name, deps in {"x": [], "y": [":x"], "z": [":x"]}.items()) +
             'cc_test(name = "t", srcs = ["a.cc"], deps = [":y", ":z"])\n'
             'cc_test(name = "u", srcs = ["a.cc"], deps = [":x"])\n',
             r"^tarn_objects\(a\.y LABEL //a:y SOURCES a/y\.cc COPTS -O1 DEFINITIONS D_y L_y D_x OBJECTS a\.x\)$",
             r"^tarn_program\(a\.t [^\n]*DEFINITIONS D_y D_x D_z OBJECTS a\.y a\.x a\.z\)$",
             unwanted=[r"(?s)tarn_objects\(a\.x .*tarn_objects\(a\.x ", r"PRECOMPILED"],
             files={**a, "a/x.cc": "", "a/y.cc": "", "a/z.cc": ""}),
        good("a manual test is a program where another test reads it, no test",
             ONE.format(', tags = ["manual"]') + 'tarn_test(name = "two", srcs = ["a.cc"], tags = ["manual"])\n'
             'script_test(name = "s", script = "s.py", srcs = [":one"], words = ["--now"])\n',
             r"^tarn_program\(a\.one ", r"^tarn_test\(//a:s PROGRAMS a\.one COMMAND \./a/s\.py --now a/one FOLDER",
             unwanted=[r"tarn_test\(//a:one", r"a\.two"], files={**a, "a/s.py": ""}),
        good("arguments name files by where they are for the test",
             'genrule(name = "g", outs = ["g.txt"], tools = ["g.py"], cmd = "$(location g.py) $$HOME $(OUTS)")\n' +
             ONE.format(', data = ["g.txt", "h.txt"], args = ["--", "$(rootpath g.txt)", "x y"], '
                        'env = {"H": "$(rootpath h.txt)"}'),
             r"COMMAND \./a/one -- a/g\.txt x y FOLDER out/runfiles/a/one ENVIRONMENT H=a/h\.txt ",
             r"^tarn_generated\(a\.g .*COMMAND bash -c a/g\.py \$HOME \S*/generated/tarn/a/g\.txt DEPENDS a/g\.py\)$",
             r"^link out/runfiles/a/one/a/g\.txt out/generated/tarn/a/g\.txt$", r"^tarn_program\(a\.one .* DATA a\.g\)$",
             files={**a, "a/g.py": "", "a/h.txt": ""}),
        good("a macro of a .bzl file is called", 'load(":m.bzl", both = "two")\nboth("m", tags = ["memory"])\n',
             r"^tarn_test\(//a:m_1 .*LABELS memory ", r"^tarn_test\(//a:m_2 .*LABELS memory ",
             files={**a, "a/m.bzl": LOAD + 'def two(name, **kwargs):\n    for n in ["1", "2"]:\n'
                    '        tarn_test(name = name + "_" + n, srcs = ["a.cc"], **kwargs)\n'}),
        good("folders in .bazelignore aren't read", ONE.format(""), unwanted=["tarn_test\\(//a/b"],
             files={**a, ".bazelignore": "a/b\n", "a/b/BUILD": "no_such_rule()\n"}),
    ]


def wrongs():
    return [
        wrong("a rule that isn't known", 'cc_tset(name = "x")\n', r"a/BUILD:3: name 'cc_tset' is not defined"),
        wrong("a loaded rule that isn't known", 'load("@rules_cc//cc:defs.bzl", "cc_import")\ncc_import(name = "x")\n',
              r"a/BUILD:4: the rule 'cc_import' isn't known to build_files.py"),
        wrong("a rule of a .bzl file that isn't known", 'load("//bazel:defs.bzl", new = "unknown")\nnew(name = "x")\n',
              r"a/BUILD:4: the rule 'unknown' isn't known to build_files.py"),
        wrong("a macro that isn't there", 'load("//bazel:defs.bzl", "tarn_tset")\n',
              r"a/BUILD:3: //bazel:defs.bzl has no 'tarn_tset'"),
        wrong("a variable in flags that isn't known", ONE.format(', copts = ["-I$(GENDIR)"]'),
              r"a/BUILD:3: //a:one: '-I\$\(GENDIR\)' has a variable that isn't known to cmake_tests\.py"),
        wrong("an attribute that isn't known", ONE.format(", shard_count = 2"),
              r"a/BUILD:3: cc_test 'one': the attribute 'shard_count' isn't known to build_files.py"),
        wrong("Python that isn't Starlark", 'open("/etc/passwd")\n', r"a/BUILD:3: name 'open' is not defined"),
        wrong("a mistake of spelling", "tarn_test(name = \n", r"a/BUILD:\d+: .*"),
        wrong("a second target of a name", ONE.format("") * 2, r"a/BUILD:4: there are two of //a:one"),
        wrong("a file that isn't there", ONE.format(', data = ["no.txt"]'),
              r"a/BUILD:3: //a:one names //a:no\.txt, which is neither a target nor a file"),
        wrong("a library that isn't there", ONE.format(', deps = ["//b:c"]'), r"a/BUILD:3: //a:one names //b:c, .*"),
        wrong("a dependency that is no library", ONE.format(', deps = [":f"]') + 'filegroup(name = "f")\n',
              r"a/BUILD:3: //a:one depends on //a:f, which is no cc_library"),
        wrong("a repository that isn't there", ONE.format(', deps = ["@zlib//:z"]'),
              r"a/BUILD:3: //a:one depends on @zlib//:z, which bazel/repos\.bzl doesn't have"),
        wrong("a prefix of headers other than the folder's",
              'cc_library(name = "l", include_prefix = "other", srcs = ["a.cc"])\n' + ONE.format(', deps = [":l"]'),
              r"a/BUILD:3: //a:l: CMake can give its headers no other prefix than tarn/a"),
        wrong("a variable that isn't known", ONE.format(', args = ["$(TARGET_CPU)"]'),
              r"a/BUILD:3: //a:one: '\$\(TARGET_CPU\)' has a variable that isn't known to cmake_tests\.py"),
        wrong("a size that isn't known", ONE.format(', size = "vast"'),
              r"a/BUILD:3: //a:one: there is no such size or timeout"),
    ]


# --- Two lists of labels.

def agreement(name, lines, *wanted):
    def run():
        with tempfile.TemporaryDirectory() as folder:
            said = cmake_tests.agree(tree_of(folder, {"a/BUILD": LOAD + ONE.format(""), "a/a.cc": ""}), lines)
        return None if said == list(wanted) else "\n".join(said)

    return name, run


def agreements():
    return [
        agreement("equal lists agree", ["//a:one\n", "\n"], "1 passed, 0 failed"),
        agreement("a test that Bazel lacks is named", [], "FAIL  //a:one: Bazel doesn't have it", "0 passed, 1 failed"),
        agreement("a test that CMake lacks is named", ["//a:one", "//a:two"],
                  "FAIL  //a:two: cmake_tests.py doesn't have it", "1 passed, 1 failed"),
    ]


# --- What ctest runs.

def ctest_case(*words):
    return subprocess.run([sys.executable, "-B", os.path.join(FOLDER, "ctest_case.py"), *words], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)


def judged(name, program, status, note):
    """A test program that does so ends with `status`, and the sum says the same."""
    def run():
        with tempfile.TemporaryDirectory() as folder:
            one = ctest_case("run", folder, "//a:one", "/bin/sh", "-c", program)
            every = ctest_case("sum", folder)
            scratch = os.path.exists(os.path.join(folder, "tmp", "%2F%2Fa%3Aone"))
        if one.returncode != status or every.returncode != status or note not in every.stdout or scratch:
            return f"exit statuses {one.returncode}, {every.returncode}:\n{one.stdout}\n{every.stdout}"
        return None

    return f"ctest: {name}", run


def sums():
    """Counts of an earlier run are forgotten, the others added up; where no test ran, nothing is said."""
    with tempfile.TemporaryDirectory() as folder:
        def run(name, text):
            ctest_case("run", folder, name, "/bin/sh", "-c", f"echo {text}")
        run("//a:old", "0 passed, 7 failed")
        ctest_case("clear", folder)
        nothing = ctest_case("sum", folder)
        run("//a:one", "3 passed, 0 failed")
        run("//a:two", "4 passed, 0 failed")
        both = ctest_case("sum", folder)
    if (nothing.returncode, nothing.stdout) != (0, ""):
        return f"{nothing.returncode}: {nothing.stdout}"
    return None if both.returncode == 0 and both.stdout.endswith("2 test programs\n7 passed, 0 failed\n") else both.stdout


def ctest_cases():
    return [
        judged("cases that pass", "echo 3 passed, 0 failed", 0, "\n3 passed, 0 failed"),
        judged("it has a folder of its own", 'touch "$TEST_TMPDIR/x" && echo 1 passed, 0 failed', 0, "1 passed"),
        judged("a case that fails", "echo 3 passed, 1 failed; exit 1", 1, "//a:one: 1 failed, exit status 1\n"),
        judged("a case that fails, with a good exit status", "echo 3 passed, 1 failed", 1, "//a:one: 1 failed"),
        judged("no line with a count", "echo all is well", 1, "counted no case"),
        judged("no case", "echo 0 passed, 0 failed", 1, "counted no case"),
        judged("a bad exit status after its cases passed", "echo 3 passed, 0 failed; exit 3", 1,
               "exit status 3 after its cases passed"),
        judged("it is killed", "echo 3 passed, 0 failed; kill -9 $$", 1, "signal 9 after its cases passed"),
        ("ctest: the sum is of this run", sums),
    ]


def read_presets():
    with open("CMakePresets.json", encoding="utf-8") as file:
        every = json.load(file)
    own = {one["name"]: one.get("cacheVariables", {}) for one in every["configurePresets"]}
    return every, {name: {**own["tests"], **variables} for name, variables in own.items() if name != "tests"}


def presets():
    """What is built is what is run: a test preset filters by what its configuration builds."""
    every, configured = read_presets()
    wrong_ones = []
    for one in every["testPresets"]:
        if one.get("hidden"):
            continue
        variables = configured[one["configurePreset"]]
        labels = [one["filter"].get(side, {}).get("label", "") for side in ("include", "exclude")]
        if labels != [variables["TARN_TEST_INCLUDE"], variables["TARN_TEST_EXCLUDE"]]:
            wrong_ones.append(one["name"])
    if len(every["testPresets"]) != len(every["configurePresets"]):
        wrong_ones.append("their number")
    return ", ".join(wrong_ones)


def tiers():
    """The presets choose by tags as the configurations of the first tier do; but each stands alone, and leaves nothing to
    another."""
    _, configured = read_presets()
    tags = {*run_tests.NEEDS, *run_tests.UNDER_TSAN, "slow", "memory", "nightly", "optimised", "threads"}
    left_to_others = {one.only for one in run_tests.QUICK.values()}
    wrong_ones = []
    for preset, name in {"quick": "gcc_debug", "release": "gcc_debug", "asan": "gcc_sanitizers", "tsan": "tsan_gcc"}.items():
        wanted = run_tests.QUICK[name]
        include, exclude = configured[preset]["TARN_TEST_INCLUDE"], configured[preset]["TARN_TEST_EXCLUDE"]
        if {tag for tag in tags if re.search(exclude, tag)} != {*wanted.without, *run_tests.LEFT_OUT["quick"]} - left_to_others:
            wrong_ones.append(f"{preset}: {exclude}")
        if {tag for tag in tags if include and re.search(include, tag)} != {wanted.only} - {""}:
            wrong_ones.append(f"{preset}: {include}")
    return ", ".join(wrong_ones)


def main():
    return compilers.report(goods() + wrongs() + agreements() + ctest_cases() + [
        ("presets build what they run", presets),
        ("presets choose what the first tier does", tiers),
    ])


if __name__ == "__main__":
    sys.exit(main())
