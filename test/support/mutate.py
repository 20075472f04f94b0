#!/usr/bin/env python3
"""Makes mutants of the library, each one small change in a header, drawn at random, and shows which test kills each.

All are put into one copy of the tree, where a variable of the environment chooses one when a program runs. So each test is
compiled once, by g++ without optimisation, and runs again for each mutant that it reaches, until one test fails. Not drawn is
what can't be chosen then: declarations, and what is decided when a program is compiled; nor orders of atomics, for which
test/schedule is there. What no test kills goes through the commands, alone in a copy.

A line for each: "killed FILE:LINE WHAT by TEST", "SURVIVED ..." or "UNREACHED ...". The exit status is 0 if all are killed.
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

CHECKOUT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
FLAGS = ["g++", "-std=c++20", "-w", "-pthread", "-I..", "-include", "../chosen.h"]
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
CONDITION = re.compile(r"\b(?:if|while) \(((?:[^();{}]|\((?:[^();{}]|\([^();{}]*\))*\))+)\)")
RETURNED = re.compile(r"\breturn ([^;{}]+);")
DECLARED = re.compile(r"(?!return\b|delete\b|throw\b)[\w:<>,&*\[\] ]+ [&*]*\w+(?: = |;|\(|\{)"
                      r"|using |template|friend|case |static ")
NO_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|(?<!\w)\'(?:\\.|[^\'\\\n])\'|^#(?:\\\n|[^\n])*'
                     r'|static_assert\([^;]*;', re.MULTILINE | re.DOTALL)
CHOSEN = """#pragma once
#include <cstdio>
#include <cstdlib>
#include <type_traits>
inline const int mutant_chosen = std::getenv("MUTANT") ? std::atoi(std::getenv("MUTANT")) : 0;
inline unsigned char mutants_reached[1000];
inline struct mutants_reporter {
  ~mutants_reporter() {
    std::FILE* const file = std::getenv("REACHED") ? std::fopen(std::getenv("REACHED"), "w") : nullptr;
    if (file == nullptr) return;
    for (int i = 0; i != 1000; ++i)
      if (mutants_reached[i]) std::fprintf(file, "%d ", i);
    std::fclose(file);
  }
} mutants_reporter_of_program;
constexpr bool is_mutant(int i) {
  if (std::is_constant_evaluated()) return false;
  mutants_reached[i] = 1;
  return mutant_chosen == i;
}
"""


def code_of(text):
    """The text with blanks in place of comments, strings and what is for the preprocessor."""
    return NO_CODE.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)


def changes_of(text):
    """[(line, begin, end, what to put there)], begin and end in the line."""
    code, found = code_of(text), []
    places = [(*m.span(), SWAPS[m[0]]) for m in SWAPPED.finditer(code)]
    places += [(*m.span(), "") for m in DROPPED.finditer(code)]
    places += [(*m.span(1), f"!({text[m.start(1):m.end(1)]})") for m in CONDITION.finditer(code)]
    for begin, end, new in places:
        start = text.rfind("\n", 0, begin) + 1
        if "\n" not in text[begin:end]:
            found.append((text.count("\n", 0, begin) + 1, begin - start, end - start, new))
    return found


def both(text, change, number):
    """A line as it is and changed, by whether the mutant of this number is chosen; None if that can't be."""
    line, begin, end, new = change
    lines, codes = text.split("\n"), code_of(text).split("\n")
    code, old = codes[line - 1].rstrip(), lines[line - 1][:len(codes[line - 1].rstrip())]
    if re.search(r"constexpr|noexcept\(|requires", code):
        return None
    for pattern, form in ((CONDITION, "is_mutant({}) ? bool({}) : bool({})"), (RETURNED, "is_mutant({}) ? ({}) : ({})")):
        for m in pattern.finditer(code):
            if m.start(1) <= begin and end <= m.end(1) and not re.search(r" = |auto|^\{", m[1]):
                changed = old[m.start(1):begin] + new + old[end:m.end(1)]
                return old[:m.start(1)] + form.format(number, changed, old[m.start(1):m.end(1)]) + old[m.end(1):]
    before = next((one.strip() for one in reversed(codes[:line - 1]) if one.strip()), "")
    whole = code.endswith(";") and before[-1:] in ("{", "}", ";") and not codes[line].strip().startswith("else")
    even = code.count("{") == code.count("}") and code.count("(") == code.count(")") and code.startswith("    ")
    if not whole or not even or DECLARED.match(code.strip()):
        return None
    return f"if (is_mutant({number})) {{ {(old[:begin] + new + old[end:]).strip()} }} else {{ {old.strip()} }}"


class Mutants:
    """Numbered from 1, in the headers of the tree in the working directory."""

    def __init__(self, drawn, headers, count):
        self.texts = {path: Path(path).read_text() for path in headers}
        self.all, self.killer, self.reached, self.tries = {}, {}, {}, collections.Counter()
        places = [(path, change) for path, text in self.texts.items() for change in changes_of(text)]
        drawn.shuffle(places)
        while places and len(self.all) < count:
            path, change = places.pop()
            if (path, change[0]) not in {(other, its[0]) for other, its, _ in self.all.values()}:
                line = both(self.texts[path], change, len(self.all) + 1)
                if line:
                    self.all[len(self.all) + 1] = path, change, line

    def write(self, alone=None):
        """All, or one alone, or none (0)."""
        texts = {path: text.split("\n") for path, text in self.texts.items()}
        for number, (path, (line, begin, end, new), together) in self.all.items():
            old = texts[path][line - 1]
            if alone in (None, number):
                texts[path][line - 1] = together if alone is None else old[:begin] + new + old[end:]
        for path, lines in texts.items():
            Path(path).write_text("\n".join(lines))

    def drop(self, said):
        """Those that a compiler complains of. Returns whether there are any."""
        errors = "\n".join(re.findall(r"^.*: error: .*$", said, re.MULTILINE))
        of = [[n for n, (path, change, _) in self.all.items() if f"{path}:{change[0]}:" in text] for text in (errors, said)]
        bad = of[0] or of[1]
        for number in bad:
            del self.all[number]
        self.write()
        return bool(bad)

    def alive(self):
        return [number for number in self.all if number not in self.killer]

    def describe(self, number):
        path, (line, begin, end, new), _ = self.all[number]
        text = self.texts[path].split("\n")[line - 1]
        what = f"{path}:{line}  {text[begin:end].strip()} -> {new.strip() or 'nothing'}"
        if number in self.killer:
            return f"killed  {what}  by {self.killer[number]}"
        return f"{'SURVIVED' if number in self.reached else 'UNREACHED'}  {what}\n    {text.strip()}"


def call(*command, **more):
    """(whether it succeeded, what it said)"""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", check=False, env={**os.environ, **more})
    return done.returncode == 0, done.stdout


def limited(program, seconds, **more):
    """With 4 GiB of data at most."""
    return call("bash", "-c", f"ulimit -c 0 -d {4 << 20}; exec timeout -s KILL {seconds} {program}", **more)[0]


def try_test(test, mutants):
    """Compiles a test, and runs it for each mutant that it reaches."""
    while not (done := call(*FLAGS, "-c", test, "-o", "../test.o"))[0]:
        if not mutants.drop(done[1]):  # it needs more than a compiler
            return
    Path("../reached").write_text("")
    begin = time.monotonic()
    linked = call(*FLAGS, "../test.o", "../main.o", BOOST, "-o", "../test")[0]
    if not linked or not limited("../test", 300, REACHED="../reached"):
        return
    seconds = int(20 + 10 * (time.monotonic() - begin))
    for number in set(map(int, Path("../reached").read_text().split())) & set(mutants.alive()):
        mutants.reached[number] = mutants.reached.get(number, 0) + 1
        if not limited("../test", seconds, MUTANT=str(number)):
            mutants.killer[number] = test


def likeliest(tests, mutants):
    """The test to try next: for the mutant that fewest were tried for, one that is named after its header, or says names of it,
    or of those that include it, which few say."""
    number = min(mutants.alive(), key=lambda one: mutants.tries[one])
    mutants.tries[number] += 1
    path, words = mutants.all[number][0], {test: set(re.findall(r"\w+", test + Path(test).read_text())) for test in tests}
    users = [text for text in mutants.texts.values() if f'"tarn/{path}"' in text]
    wanted = collections.Counter({os.path.basename(path)[:-2]: 8})
    for text, weight in [(mutants.texts[path], 4), *((text, 1) for text in users)]:
        wanted.update({name: weight for name in set(re.findall(r"(?:struct|class) (\w+)", code_of(text)))})
    saying = {name: 1 + sum(name in its for its in words.values()) for name in wanted}

    def order(test):
        return os.path.basename(path)[:-2] in test, sum(wanted[name] / saying[name] for name in wanted if name in words[test])
    return max(tests, key=order)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=int(time.time()), help="the same seed draws the same mutants of a tree")
    parser.add_argument("--count", type=int, default=40, help="so many mutants (40)")
    parser.add_argument("--tests", type=int, default=40, help="so many tests at most (40)")
    parser.add_argument("--then", action="append", default=[], metavar="COMMAND", help="run in the copy for each that no test "
                        "kills, such as 'test/run --full'; may be repeated, the cheapest first")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="tarn-mutants-") as folder:
        files = sorted(check_lengths.files_of(CHECKOUT))
        for path in [*files, "user.bazelrc"]:
            if os.path.isfile(os.path.join(CHECKOUT, path)):
                os.makedirs(os.path.dirname(os.path.join(folder, "tarn", path)), exist_ok=True)
                shutil.copy(os.path.join(CHECKOUT, path), os.path.join(folder, "tarn", path))
        os.chdir(os.path.join(folder, "tarn"))
        Path("../chosen.h").write_text(CHOSEN)
        call(*FLAGS, "-c", "test/support/boost_main.cc", "-o", "../main.o")
        headers = [path for path in files if re.match(r"(allocator|policies)/(?!.*/windows).*\.h$", path)]
        mutants = Mutants(random.Random(options.seed), headers, options.count)
        mutants.write()
        tests = [path for path in files if re.match(r"test/(?!schedule|stress|clients).*_test\.cc$", path)
                 and "/tested_pools.h" not in Path(path).read_text()]
        for _ in range(min(options.tests, len(tests))):
            if mutants.alive():
                tests.remove(test := likeliest(tests, mutants))
                try_test(test, mutants)
                print(f"{test}: {len(mutants.alive())} of {len(mutants.all)} live", file=sys.stderr, flush=True)
        for number in mutants.alive() if options.then else []:
            mutants.write(alone=number)
            killers = (command for command in options.then if not call("bash", "-c", command)[0])
            mutants.killer.update({number: command for command in [next(killers, None)] if command})
        print("\n".join(map(mutants.describe, mutants.all)))
    print(f"seed {options.seed}: {len(mutants.killer)} of {len(mutants.all)} killed, "
          f"{sum(number not in mutants.reached for number in mutants.alive())} reached by no test")
    return 0 if not mutants.alive() else 1


if __name__ == "__main__":
    sys.exit(main())
