#!/usr/bin/env python3
"""Checks code that must not compile. A case is a mistake and a compiler, or what to write instead of a file's mistakes and a
compiler; test/compile_fail/README.md explains the files.
"""

import collections
import concurrent.futures
import functools
import os
import re
import sys

import compilers

# The comments directly above a namespace, and the namespace, whose closing line says its name again.
CASE = re.compile(r"^(?://.*\n)*namespace (\w+) \{\n(?:.*\n)*?\}  // namespace \1$", re.MULTILINE)

# Of what a compiler says of a mistake: the sentence, and how it came there, for which clang takes three lines a step. Where a
# policy of the user's own lacks something, the compiler's notes say what.
MOST_LINES = {"g++": 20, "clang++-19": 26, "clang++-14": 26}
MOST_LINES_OF_OWN_POLICY = 32

# What stands in RIGHT(...) belongs to the twin, what stands in WRONG(...) to the mistake.
RIGHT = ["-DTARN_TWIN", "-DRIGHT(...)=__VA_ARGS__", "-DWRONG(...)="]
WRONG = ["-DRIGHT(...)=", "-DWRONG(...)=__VA_ARGS__"]

# What such a file includes is for another target than what was precompiled.
OTHER_TARGET = "#define TARN_PLATFORM_HEADER"


def cases_in(path, text):
    """[(name, text)] of a file's cases; a file without such namespaces is one case."""
    return [(found[1], found[0]) for found in CASE.finditer(text)] or [(os.path.splitext(os.path.basename(path))[0], text)]


def alone(text, name):
    """The file without its other cases. Every line keeps its number."""
    return CASE.sub(lambda found: found[0] if found[1] == name else "\n" * found[0].count("\n"), text)


def wrong_code(compiler, root, path, text, name, said_in, first):
    """What is wrong with a mistake that must be refused, or None. `said_in`: the text that says how."""
    expected = re.findall(r"^\s*// expect: (.*\S)", said_in, re.MULTILINE)
    if not expected:
        return "says nothing to expect: needs a line '// expect: tarn: ...'"
    if "RIGHT(" not in said_in and "TARN_TWIN" not in said_in:
        return "has no twin: needs the right code in RIGHT(...), or under '#ifdef TARN_TWIN'"
    source = f"{name}-{compiler}.cc"
    with open(os.path.join(root, source), "w", encoding="utf-8") as file:
        file.write(f'#line 1 "{path}"\n' + alone(text, name))
    compiled, said = compilers.compile_only(compiler, root, source, *first, *WRONG)
    if compiled:
        return "compiles, but must not"
    errors = re.findall(r"^.*\berror: .*$", said, re.MULTILINE)
    for words in expected:
        if not any(words in error for error in errors):
            return f"no error says '{words}':\n" + "\n".join(errors)
    for words in re.findall(r"^\s*// mentions: (.*\S)", said_in, re.MULTILINE):
        if words not in said:
            return f"neither an error nor its notes say '{words}':\n" + said
    lines = sum(f"first-{compiler}.h" not in line for line in said.splitlines())  # users precompile no such header
    most = MOST_LINES_OF_OWN_POLICY if any("tarn: [P" in words for words in expected) else MOST_LINES[compiler]
    if lines > most:
        return f"says {lines} lines, more than {most}:\n{said}"
    many_allowed = re.search(r"^\s*// errors: many\b", said_in, re.MULTILINE)
    if len(errors) != 1 and not many_allowed:
        return f"gives {len(errors)} errors where one is enough:\n" + "\n".join(errors)
    return None


def right_code(compiler, root, path, text, first):
    """What is wrong with the twins of a file, all at once, or None."""
    outside = CASE.sub("", text)
    if outside != text and "// expect:" in outside:
        return "has an expectation outside of a case: needs 'namespace name {' below it, and '}  // namespace name'"
    compiled, said = compilers.compile_only(compiler, root, "tarn/" + path, *first, *RIGHT, *compilers.WARNINGS)
    return None if compiled else "a twin does not compile:\n" + said


def for_mistakes(wanted):
    """The compilers that are shown the mistakes: by day not the oldest clang, if others are here. All compile twins."""
    if "TARN_NIGHTLY" in os.environ:
        return wanted
    return [compiler for compiler in wanted if compiler != "clang++-14"] or wanted


def included(text):
    """The headers of tarn that a text includes itself."""
    return re.findall(r'^#include "(tarn/.*)"', text, re.MULTILINE)


def main():
    texts = {}
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            texts[path] = file.read()
    # Precompiled is what several files include: g++ works for each case through all that was precompiled. Not what one of them
    # includes behind a macro that it reads, nor the header of a policy: a case may be about one that is missing.
    own = {path for path, text in texts.items() if OTHER_TARGET in text}
    others = [text for path, text in texts.items() if path not in own]
    named = collections.Counter(header for text in others for header in set(included(text)))
    behind_macros = {header for text in others for header in included(text.partition("#define")[2])}
    headers = sorted((header for header, files in named.items() if files > 1 and header not in behind_macros
                      and header.startswith("tarn/allocator/")), key=lambda header: (header != "tarn/allocator/pool.h", header))
    root = compilers.include_root()
    wanted = compilers.present()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
        flags = list(workers.map(lambda compiler: compilers.precompiled(compiler, root, headers), wanted))
    cases = []
    for compiler, precompiled in zip(wanted, flags):
        for path, text in texts.items():
            first = [] if path in own else precompiled
            for name, said_in in cases_in(path, text) if compiler in for_mistakes(wanted) else []:
                cases.append((f"{name} ({compiler})",
                              functools.partial(wrong_code, compiler, root, path, text, name, said_in, first)))
            cases.append((f"{path}: what to write instead ({compiler})",
                          functools.partial(right_code, compiler, root, path, text, first)))
    return compilers.report(cases)


if __name__ == "__main__":
    sys.exit(main())
