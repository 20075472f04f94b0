#!/usr/bin/env python3
"""The mistakes that tests make on purpose, in the library, in programs and in pages, each with the test that must find it.

A test fails where it doesn't find one of its own, so that what is found today is lost only with its entry in a list. The table
shows that: test/mistakes.txt.

usage: mistakes.py [check]     writes the table, or checks that it is that of the lists
"""

import collections
import glob
import os
import re
import sys
import textwrap

import compilers

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", ".."))
TABLE = "test/mistakes.txt"
FIRST = r'^ +\(f?"((?:[^"\\]|\\.)+)", '  # of the rows of a list: a name first

# (test, where its mistakes stand, the pattern of one with its name; what must stand in front of the first, if anything)
LISTS = [
    ("//test/schedule:{}", "test/schedule/*_test.cc", r'(?:found|wrong)\w*<[^;"]*>\(\s*"([^"]+)"', ""),
    ("//test/fuzz:fuzz_test", "test/fuzz/run_fuzz.py", r'Mistake\("\w+", "([^"]+)"', ""),
    ("//test/codegen:codegen", "test/codegen/limits.txt", r"^!(\w+)", ""),
    ("//test/codegen:codegen", "test/codegen/check_codegen.py", r'\("([^"]+)", [a-z_]+\)', "for name, find in"),
    ("//test/libraries:libraries", "test/libraries/check_libraries.py", r'control_case\("([^"]+)"', ""),
    ("//test/libraries:parts", "test/libraries/check_parts.py", r'control_case\(builder, "([^"]+)"', ""),
    ("//test/process:process", "test/process/check_process.py", r"control_case\(parts, wanted\[0\], (\w+ \+ \w+)", ""),
    ("//test/malloc:mutants", "test/malloc/mutants.txt", r"^([^|\n]+?) \| \w+ \| ", ""),
    ("//test/programs:programs", "test/programs/check_programs.py", r'^    "([^"]+)": \("', "MISTAKES ="),
    ("//test/tools:tools_*", "test/tools/check_tools.py", r'"mistake: ([^"]+)"', ""),
    ("//test/tools:leaks", "test/tools/check_leaks.py", r'"(?:control|mistake): ([^"]+)"', ""),
    ("//test/tools:record", "test/tools/check_record.py", r'^    "([^"]+)": \("', "MISTAKES ="),
    ("//test/codegen:arrays", "test/codegen/check_arrays.py", r'"mistake: ([^"(]+) \(', ""),
    ("test/platforms/parts", "test/platforms/examples/run", r'"mistake: ([^"]+)"', ""),
    ("test/observe/run", "test/observe/check_formats.py", r'"([^"]+)": lambda one:', ""),
    ("test/platforms/run", "test/platforms/bare/interrupts.sh", r'found "\$target" "([^"]+)"', ""),
    ("test/platforms/parts", "test/platforms/warnings/run", r'^    "([^"]+)": "', "PLANTED ="),
    ("test/platforms/parts", "test/platforms/nonblocking/callbacks.cc", r"^REFUSED\((\w+)", ""),
    ("test/platforms/parts", "test/platforms/missing/cases.cc", r"CASE == (\d+  // expect: \S+)", ""),
    ("//test/compile_fail:compile_fail", "test/compile_fail/*.cc", r"^// case (\w+)", ""),
    ("//test/misuse:misuse_matrix_test", "test/misuse/kinds.cc", r'^ +\{\d+, "([^"]+)", ', ""),
    ("//test/docs:docs_test", "test/docs/broken_docs.py", FIRST, "BROKEN ="),
    ("//test/docs:safety_test", "test/docs/check_safety.py", r'^    \("mistake: ([^"]+)"', "MISTAKES ="),
    ("//test/sequences:mistakes", "test/sequences/mistakes.txt", r"^([^-+#\n].*)\n-", ""),
    ("//test/qualification:qualification_test", "test/qualification/check_qualification.py",
     r'^    \("(?:mistake: )?([^"]+)",', "LOGS ="),
    ("//test/docs:reference_test", "test/docs/check_reference.py",
     r'^ +"(tarn::[^"]+|[A-Z_]+", "[^"]+)"|^    broken\("([^"]+)"|caught\("([^"]+)"', "BROKEN_HEADERS ="),
    ("test/migration/run", "test/migration/check_pages.py", FIRST, "BROKEN ="),
    ("test/migration/run", "test/migration/check_tool.py", FIRST, "def self_tests"),
    ("test/bounds/run", "test/bounds/controls.py", r'^    "(\w+)": "', "REFUSED ="),
    ("test/bounds/run", "test/bounds/random_functions.py", r'"random functions: (a wrong tarn-bound)', ""),
    ("test/consumer/run", "test/consumer/bazel_rules.py", r'^    \(.*"([^"]+)"\),$', "MISTAKES ="),
    ("test/consumer/run", "packaging/vcpkg/check_port.py", r'^    \(.*"([^"]+)"\),$', "MISTAKES ="),
    ("test/consumer/run", "test/consumer/packages.py", r'^ +\(f?"[\w/.{}]+", .*"([^"]+)"\)', "def detectors"),
    ("//test/support:selftest", "test/support/selftest.py",
     r'^ +(?:\w+)?\(f?"((?:[^"\\]|\\.)+)",|\["?specimen\(program, "([^"]+)"', "def specimens"),
    ("//test/stress:fork_test", "test/stress/fork_test.cc", r"CASE\((children_of_a_careless\w+)", ""),
    ("//test/stress:store_calls_test", "test/stress/store_calls_test.cc", r"CASE\((calls_of_a_store_that_overlap\w+)", ""),
]


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def found():
    """{test: the names of its mistakes}, and how many each list has."""
    tests, counts = collections.defaultdict(set), collections.Counter()
    for test, where, pattern, after in LISTS:
        counts[where] += 0
        for path in glob.glob(os.path.join(ROOT, where)):
            text = read(path)
            names = re.finditer(pattern, text[text.find(after):] if after in text else "", re.MULTILINE)
            its = {" ".join(next(filter(None, one.groups())).split()) for one in names}
            tests[test.format(os.path.basename(path).split(".")[0])] |= its
            counts[where] += len(its)
    return tests, counts


def table(tests):
    lines = ["# Mistakes, and the tests that find them: written by test/support/mistakes.py."]
    for test in sorted(tests):
        lines += ["", f"{test}: {len(tests[test])}",
                  *textwrap.wrap("; ".join(sorted(tests[test])), 128, initial_indent="  ", subsequent_indent="  ",
                                 break_long_words=False, break_on_hyphens=False)]
    return "\n".join(lines) + "\n"


def names_of(text):
    """{(test, name)} of a table."""
    blocks = re.findall(r"^(\S+): \d+\n((?:  .*\n)+)", text, re.MULTILINE)
    return {(test, name) for test, names in blocks for name in " ".join(names.split()).split("; ")}


def main():
    tests, counts = found()
    if sys.argv[1:] != ["check"]:
        with open(os.path.join(ROOT, TABLE), "w", encoding="utf-8") as file:
            file.write(table(tests))
        return 0
    have, now = names_of(read(TABLE)), names_of(table(tests))
    said = [f"{test} no longer finds: {name}" for test, name in sorted(have - now)]
    said += [f"{test} finds, too: {name}" for test, name in sorted(now - have)]
    cases = [("the table is that of the lists", "\n".join(said + ["test/support/mistakes.py writes it"] * bool(said)) or None)]
    cases += [(f"{where} has mistakes", None if n else "none is found: has it another form?") for where, n in counts.items()]
    return compilers.report([(name, lambda wrong=wrong: wrong) for name, wrong in cases])


if __name__ == "__main__":
    sys.exit(main())
