#!/usr/bin/env python3
"""Makes mutants of the library, each one small change in a header, drawn at random, and shows which test kills each.

Each is tried in a copy of the tree: by the Boost.Test files that include the header, the likeliest first, compiled by g++
without optimisation, until one fails; then by the commands. It prints a line for each: "killed FILE:LINE WHAT by TEST", or
"SURVIVED". In parentheses stands what isn't counted: it doesn't compile; optimisers make the same code of it; or none of the
likeliest tests has code of it, and no command kills it.
"""

import argparse
import collections
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import check_lengths
import compilers

CHECKOUT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
FLAGS = ["g++", "-std=c++20", "-w", "-pthread", "-I.."]
FEW = 4  # the tests that see a mutant are among the first, or there is none
BOOST = "-l:libboost_unit_test_framework.a"
SWAPS = {" < ": " <= ", " <= ": " < ", " > ": " >= ", " >= ": " > ", " == ": " != ", " != ": " == ", " + ": " - ", " - ": " + ",
         " += ": " -= ", " -= ": " += ", " && ": " || ", " || ": " && ", "++": "--", "--": "++", " << ": " >> ", " >> ": " << ",
         " & ": " | ", " | ": " & ", "true": "false", "false": "true", "0": "1", "1": "0"}
SWAPPED = re.compile(r" (?:[<>=!+-]=|[<>+&|-]|&&|\|\||<<|>>) |\+\+|--|\b(?:true|false|[01])\b(?!['.])")
WORDS = "return|if|while|for|switch|sizeof|static_assert|static_cast|requires|assert|decltype|noexcept"
DROPPED = re.compile(r"!(?=[\w(])"  # a negation; statements that assign or call; a first operand
                     r"|(?<=[;{})][ \n]) *[\w.>\[\]*-]+ [|&+-]?= [^;{}]*(?=;)"
                     rf"|(?<=[;{{}})][ \n]) *(?!(?:{WORDS})\b)(?:[a-z_]\w*(?:::|\.|->))*[a-z_]\w*(?:<[\w:, ]*>)?"
                     r"\([^;{}]*\)(?=;)"
                     r"|(?<=return )[^;{}()?|&]+ (?:&&|\|\|) (?=[^;{}]*;)|(?<=return )[^;{}?]+ \? [^;{}?:]+ : (?=[^;{}]*;)")
ORDER = re.compile(r"(?<=memory_order_)(?:acquire|release|acq_rel|seq_cst)\b")
CONDITION = re.compile(r"\b(?:if|while)(?: constexpr)? \(((?:[^();{}]|\((?:[^();{}]|\([^();{}]*\))*\))+)\)")
NO_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])\'|^#(?:\\\n|[^\n])*'
                     r'|static_assert\([^;]*;', re.MULTILINE | re.DOTALL)


def code_of(text):
    """The text with blanks in place of comments, strings and what is for the preprocessor."""
    return NO_CODE.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)


def names_in(headers):
    """The names of headers and of their classes."""
    texts = [f"class {os.path.basename(path)[:-2]} {code_of(Path(path).read_text())}" for path in headers]
    return set(re.findall(r"(?:struct|class|using) (\w+)", " ".join(texts)))


def mutants_of(text):
    """{line: [(begin, end, what to put there)]}"""
    code, found = code_of(text), {}
    places = [(*m.span(), SWAPS[m[0]]) for m in SWAPPED.finditer(code)]
    places += [(*m.span(), "") for m in DROPPED.finditer(code)]
    places += [(*m.span(), "relaxed") for m in ORDER.finditer(code)]
    places += [(*m.span(1), f"!({text[m.start(1):m.end(1)]})") for m in CONDITION.finditer(code)]
    for begin, end, new in places:
        if "\n" not in text[begin:end]:
            found.setdefault(text.count("\n", 0, begin) + 1, []).append((begin, end, new))
    return found


def call(*command):
    """(whether it succeeded, what it said)"""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", check=False)
    return done.returncode == 0, done.stdout


class Tests:
    """The Boost.Test files of the tree in the working directory."""

    def __init__(self, files, build):
        self.build, self.right, self.includes = build, {}, {}
        self.files = [path for path in files if re.match(r"test/(?!schedule/).*_test\.cc$", path)]
        shutil.copy("test/support/precompiled.h", build)
        self.first = os.path.join(build, "precompiled.h")
        self.words = {path: set(re.findall(r"\w+", Path(path).read_text())) for path in self.files if self.reached(path)}
        self.saying = collections.Counter(word for words in self.words.values() for word in words)
        call(*FLAGS, "-x", "c++-header", self.first, "-o", self.first + ".gch")
        call(*FLAGS, "-c", "test/support/boost_main.cc", "-o", os.path.join(build, "main.o"))

    def reached(self, path):
        """The headers of the tree that a file includes, at any depth."""
        found, todo = set(), [path]
        while todo:
            path = todo.pop()
            if path not in found and os.path.exists(path):
                found.add(path)
                if path not in self.includes:
                    self.includes[path] = re.findall(r'^ *# *include "tarn/(.*)"', Path(path).read_text(), re.MULTILINE)
                todo += self.includes[path]
        return found

    def of(self, header):
        """Those that include a header, the likeliest to notice first: those named after it, then those that say names which few
        say, of it or of the headers that include it."""
        stem, own = os.path.basename(header)[:-2], names_in([header])
        others = names_in(path for path, its in self.includes.items() if header in its and path.endswith(".h"))

        def order(path):
            name = os.path.basename(path)[:-8]
            said = sum((1 if word in own else .25) / self.saying[word] for word in (own | others) & self.words[path])
            return "/stress/" in path, name != stem, stem not in name and name not in stem, -said, len(self.reached(path))
        usable = [path for path in self.files if self.right.get(path, "") is not None]
        return sorted((path for path in usable if header in self.reached(path)), key=order)

    def compiled(self, test, level="-O0"):
        """(a hash of the code or None, what the compiler said)"""
        name = os.path.join(self.build, "test.o")
        good, said = call(*FLAGS, level, *(["-include", self.first] if level == "-O0" else []), "-c", test, "-o", name)
        return hash(Path(name).read_bytes()) if good else None, said

    def passes(self):
        """Whether what was compiled last does, with 4 GiB of data and two minutes at most."""
        program, *objects = (os.path.join(self.build, name) for name in ("program", "test.o", "main.o"))
        limited = f"ulimit -c 0 -d {4 << 20}; exec timeout -s KILL 120 {program}"
        return call(*FLAGS, *objects, BOOST, "-o", program)[0] and call("bash", "-c", limited)[0]

    def right_code(self, test):
        """The hash of its code in the tree as it is; None where it doesn't pass."""
        if test not in self.right:
            code, _ = self.compiled(test)
            self.right[test] = code if code and self.passes() else None
        return self.right[test]


def trial(tests, path, change, options):
    """What kills a mutant; None: nothing; otherwise why it isn't counted, in parentheses."""
    text = Path(path).read_text()
    mutant, tried = text[:change[0]] + change[2] + text[change[1]:], []
    preprocess = [*FLAGS, "-E", "-P", "-x", "c++", path]
    before = call(*preprocess)
    try:
        Path(path).write_text(mutant)
        if call(*preprocess) == before:
            return "(same code)"
        for test in tests.of(path):
            code, said = tests.compiled(test)
            passes = code and tests.passes()
            Path(path).write_text(text)
            right = tests.right_code(test)
            Path(path).write_text(mutant)
            if right and not passes:
                return test if code or "static assertion failed" in said else "(compiles not)"
            tried += [(test, code != right)] if right else []
            if len(tried) == (options.tests if any(seen for _, seen in tried) else FEW):
                break
        seen = [test for test, seen in tried if seen][:FEW]
        optimised = [tests.compiled(test, "-O2")[0] for test in seen]
        Path(path).write_text(text)
        if seen and optimised == [tests.compiled(test, "-O2")[0] for test in seen]:
            return "(same code)"
        Path(path).write_text(mutant)
        killer = next((command for command in options.then if not call("bash", "-c", command)[0]), None)
        return killer or (None if seen else "(not seen)")
    finally:
        Path(path).write_text(text)


SPECIMEN = """// a < b
#if 0 == 1
int f(int a) {
  if (a < 2 && !done(a)) return a > 3 ? 4 : 5;
  x_ = a + 6;
  note("a == b");
  return order.load(memory_order_acquire);
}
"""
ITS_MUTANTS = {(4, "<", "<="), (4, "&&", "||"), (4, "a < 2 && !done(a)", "!(a < 2 && !done(a))"), (4, "!", ""), (4, ">", ">="),
               (4, "a > 3 ? 4 :", ""), (5, "x_ = a + 6", ""), (5, "+", "-"), (6, 'note("a == b")', ""),
               (7, "acquire", "relaxed")}


def self_test():
    found = {(line, SPECIMEN[begin:end].strip(), new.strip()) for line, changes in mutants_of(SPECIMEN).items()
             for begin, end, new in changes}
    return compilers.report([compilers.same("the mutants of a small text", sorted(found), sorted(ITS_MUTANTS))])


def main():
    if sys.argv[1:] == ["self-test"]:
        return self_test()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=int(time.time()), help="the same seed draws the same mutants of a tree")
    parser.add_argument("--count", type=int, default=40, help="so many mutants (40)")
    parser.add_argument("--tests", type=int, default=20, help="at most so many tests of a mutant (20)")
    parser.add_argument("--then", action="append", default=[], metavar="COMMAND", help="run in the copy if no test kills it, "
                        "such as 'test/run --full'; may be repeated, the cheapest first")
    options = parser.parse_args()
    drawn = random.Random(options.seed)
    with tempfile.TemporaryDirectory(prefix="tarn-mutants-") as folder:
        files = sorted(check_lengths.files_of(CHECKOUT))
        for path in [*files, "user.bazelrc"]:
            if os.path.isfile(os.path.join(CHECKOUT, path)):
                os.makedirs(os.path.dirname(os.path.join(folder, "tarn", path)), exist_ok=True)
                shutil.copy(os.path.join(CHECKOUT, path), os.path.join(folder, "tarn", path))
        os.chdir(os.path.join(folder, "tarn"))
        os.mkdir("../build")
        tests, killed, tried = Tests(files, "../build"), 0, 0
        headers = [path for path in files if re.match(r"(allocator|policies)/.*\.h$", path)]
        lines = [(path, *row) for path in headers for row in mutants_of(Path(path).read_text()).items()]
        drawn.shuffle(lines)
        while tried != options.count and lines:
            path, line, changes = lines.pop()
            begin, end, new = change = drawn.choice(changes)
            result, text = trial(tests, path, change, options), Path(path).read_text()
            what = f"{path}:{line}  {text[begin:end].strip()} -> {new.strip() or 'nothing'}"
            if result and result[0] == "(":
                print(f"{result}  {what}", flush=True)
                continue
            tried, killed = tried + 1, killed + bool(result)
            here = text.splitlines()[line - 1].strip()
            print(f"killed  {what}  by {result}" if result else f"SURVIVED  {what}\n    {here}", flush=True)
    print(f"seed {options.seed}: {killed} of {tried} killed")
    return 0 if killed == tried else 1


if __name__ == "__main__":
    sys.exit(main())
