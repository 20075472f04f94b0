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

# A case as files have it, up to the empty line (and comments) in front of the next; and as it is compiled, in a namespace.
WRITTEN = re.compile(r"^// case (\w+)(?:: (.*))?\n((?:.*\n)*?)(?=\n(?://.*\n)*// case |\Z)", re.MULTILINE)
CASE = re.compile(r"^namespace (\w+) \{(?:.*\n)*?\}  // namespace \1$", re.MULTILINE)

# Of what a compiler says of a mistake: the sentence, and how it came there, for which clang takes three lines a step. Where a
# policy of the user's own lacks something, the compiler's notes say what.
MOST_LINES = {"g++": 20, "clang++-19": 25, "clang++-14": 25}
MOST_LINES_OF_OWN_POLICY = 32

ERROR = re.compile(r"^.*\berror: .*$", re.MULTILINE)
# A line that stands before an error, and says how the compiler came there; of these, those that name including files.
CAME = re.compile(r"In file included from |\s+from |\S+: (?:In|At) |\S+:\d+:\d+: +(?:required|recursively required|in) ")
INCLUDED = re.compile(r"In file included from |\s+from ")

# What stands in RIGHT(...) belongs to the twin, what stands in WRONG(...) to the mistake.
RIGHT = ["-DTARN_TWIN", "-DRIGHT(...)=__VA_ARGS__", "-DWRONG(...)="]
WRONG = ["-DRIGHT(...)=", "-DWRONG(...)=__VA_ARGS__"]

# What such a file includes is for another target than what was precompiled.
OTHER_TARGET = "#define TARN_PLATFORM_HEADER"


def in_namespaces(text):
    """The file with a namespace around each case. Every line keeps its number."""
    return WRITTEN.sub(lambda found: f"namespace {found[1]} {{" + f"  // expect: {found[2]}" * (found[2] is not None) +
                       f"\n{found[3]}}}  // namespace {found[1]}", text)


def cases_in(path, text):
    """[(name, text)] of a file's cases; a file without such namespaces is one case."""
    return [(found[1], found[0]) for found in CASE.finditer(text)] or [(os.path.splitext(os.path.basename(path))[0], text)]


def only(text, names):
    """The file without its other cases. Every line keeps its number."""
    return CASE.sub(lambda found: found[0] if found[1] in names else "\n" * found[0].count("\n"), text)


def write(root, source, path, text):
    with open(os.path.join(root, source), "w", encoding="utf-8") as file:
        file.write(f'#line 1 "{path}"\n' + text)


def compile_wrong(compiler, root, source, path, text, first):
    """What the compiler says of the mistakes in `text`, without how many there are."""
    write(root, source, path, text)
    all_errors = ["-ferror-limit=0"] if compiler.startswith("clang") else []
    _, said = compilers.compile_only(compiler, root, source, *first, *all_errors, *WRONG)
    lines = said.splitlines(True)
    # Users precompile no such header.
    return "".join(one for one in lines if f"first-{compiler}.h" not in one and not re.match(r"\d+ errors? generated\.$", one))


def said_of_each(said, path, text):
    """{case: what was said of it} where all cases of a file were compiled at once. Nothing, if something of it can't be told
    to be of one case."""
    lines = said.splitlines(True)
    starts = []
    for start in (at for at, line in enumerate(lines) if ERROR.match(line)):
        while start != 0 and CAME.match(lines[start - 1]):
            start -= 1
        starts.append(start)
    case_of_line = {number: found[1] for found in CASE.finditer(text)
                    for number in range(text.count("\n", 0, found.start()) + 1, text.count("\n", 0, found.end()) + 2)}
    of_each = collections.defaultdict(str)
    for start, end in zip(starts, starts[1:] + [len(lines)]):
        how = "".join(line for line in lines[start:end] if not INCLUDED.match(line))
        cases = {case_of_line.get(int(number)) for number in re.findall(rf"^{re.escape(path)}:(\d+):", how, re.MULTILINE)}
        if len(cases) != 1 or None in cases:
            return {}
        of_each[cases.pop()] += "".join(lines[start:end])
    return {} if starts and starts[0] != 0 else of_each


def judge(compiler, said_in, said):
    """What is wrong with what a compiler says of a mistake, or None. `said_in`: the text that says how it should be."""
    errors = ERROR.findall(said)
    if not errors:
        return "compiles, but must not"
    expected = re.findall(r"// expect: (.*\S)", said_in)
    for words in expected:
        if not any(words in error for error in errors):
            return f"no error says '{words}':\n" + "\n".join(errors)
    for words in re.findall(r"^\s*// mentions: (.*\S)", said_in, re.MULTILINE):
        if words not in said:
            return f"neither an error nor its notes say '{words}':\n" + said
    lines = said.count("\n")
    most = MOST_LINES_OF_OWN_POLICY if any("tarn: [P" in words for words in expected) else MOST_LINES[compiler]
    if lines > most:
        return f"says {lines} lines, more than {most}:\n{said}"
    if len(errors) != 1 and not re.search(r"^\s*// errors: many\b", said_in, re.MULTILINE):
        return f"gives {len(errors)} errors where one is enough:\n" + "\n".join(errors)
    return None


def right_together(compiler, root, path, text, first):
    """The cases of a file that are refused as they should be where many are compiled at once; not those that define macros, or
    may give several errors. A second error of a case could only be missing where it was said of another, which would have two
    then. What is said at the end of a file is said only where nothing was before: so the rest is compiled again."""
    cases = {name: said_in for name, said_in in cases_in(path, text)
             if "#define" not in said_in and "// errors: many" not in said_in}
    left, right, rounds = set(cases), set(), 0
    while len(left) > 1:
        rounds += 1
        source = f"together-{rounds}-{os.path.basename(path)}-{compiler}.cc"
        said = said_of_each(compile_wrong(compiler, root, source, path, only(text, left), first), path, text)
        found = {name for name in said if name in left and judge(compiler, cases[name], said[name]) is None}
        if not found:
            break
        right |= found
        left -= found
    return right


def wrong_code(compiler, root, path, text, name, said_in, first, right):
    """What is wrong with a mistake that must be refused, or None. `right`: cases of which nothing is. Others are compiled
    alone."""
    if "// expect: " not in said_in:
        return "says nothing to expect: needs '// case name: tarn: ...' or a line '// expect: tarn: ...'"
    if "RIGHT(" not in said_in and "TARN_TWIN" not in said_in:
        return "has no twin: needs the right code in RIGHT(...), or under '#ifdef TARN_TWIN'"
    if name in right:
        return None
    return judge(compiler, said_in, compile_wrong(compiler, root, f"{name}-{compiler}.cc", path, only(text, {name}), first))


def right_code(compiler, root, path, text, first):
    """What is wrong with the twins of a file, all at once, or None."""
    source = f"right-{os.path.basename(path)}-{compiler}.cc"
    write(root, source, path, text)
    compiled, said = compilers.compile_only(compiler, root, source, *first, *RIGHT, *compilers.WARNINGS)
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
            texts[path] = in_namespaces(file.read())
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
        shown = {(compiler, path): workers.submit(right_together, compiler, root, path, text, [] if path in own else first)
                 for compiler, first in zip(wanted, flags) if compiler in for_mistakes(wanted)
                 for path, text in texts.items() if CASE.search(text) and "TARN_NIGHTLY" not in os.environ}
    cases = []
    for compiler, precompiled in zip(wanted, flags):
        for path, text in texts.items():
            first = [] if path in own else precompiled
            right = shown[compiler, path].result() if (compiler, path) in shown else set()
            for name, said_in in cases_in(path, text) if compiler in for_mistakes(wanted) else []:
                cases.append((f"{name} ({compiler})",
                              functools.partial(wrong_code, compiler, root, path, text, name, said_in, first, right)))
            cases.append((f"{path}: what to write instead ({compiler})",
                          functools.partial(right_code, compiler, root, path, text, first)))
    return compilers.report(cases)


if __name__ == "__main__":
    sys.exit(main())
