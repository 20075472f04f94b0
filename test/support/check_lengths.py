#!/usr/bin/env python3
"""Checks that lines, headers and functions aren't too long: a case for each of these limits.

It reads the tree that it lies in, not what its rule names: all that git knows or would take, whichever package it belongs to.
"""

import os
import re
import shutil
import subprocess
import sys

import compilers

COLUMNS = 128  # of every text; .clang-format has the same
HEADER_LINES = 1000  # beyond that, ask which two subjects it is
FUNCTION_LINES = 40  # from the opening brace to the closing one
LIBRARY = ("allocator/", "policies/")  # where headers and functions have a limit

TEXTS = re.compile(r"(.*\.(h|cc|py|bzl|sh|md)|(.*/)?(BUILD|run))")

# What in C++ may hold a brace that is none, and numbers, since they may hold a quote.
NO_CODE = re.compile(r'''(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<number>\b\d[\w'.]*)|R"(?P<mark>[^\s()\\]*)\(.*?\)(?P=mark)"|'''
                     r'''"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])+\'''', re.DOTALL)
NO_FUNCTION = re.compile(r"\b(namespace|class|struct|union|enum|concept)\b|=\s*\{")


def without_messages(text):
    """Markdown without the blocks that quote messages, word for word: those marked as text, or as nothing."""
    lines, block = text.split("\n"), None
    for number, line in enumerate(lines):
        mark = re.match(r"\s*```(.*)", line)
        if mark:
            block = mark[1].strip() if block is None else None
        elif block in ("", "text"):
            lines[number] = ""
    return "\n".join(lines)


def can_be_wrapped(path, line):
    if path.endswith(".md") and line.startswith("|"):
        return False
    if any(url.end() > COLUMNS for url in re.finditer(r"\w+://\S+", line)):
        return False
    return not re.fullmatch(r"[\s/#*>-]*\S+", line)


def long_lines(path, text):
    if path.endswith(".md"):
        text = without_messages(text)
    return [f"{path}:{number} has {len(line)} columns, more than {COLUMNS}" for number, line in enumerate(text.split("\n"), 1)
            if len(line) > COLUMNS and can_be_wrapped(path, line)]


def long_header(path, text):
    lines = len(text.splitlines())
    return [f"{path} has {lines} lines, more than {HEADER_LINES}"] if lines > HEADER_LINES else []


def stripped(text):
    """C++ without comments and what stands in quotes. Every line keeps its number."""
    def replaced(found):
        if found["number"]:
            return "0"
        return (" " if found["comment"] else '""') + "\n" * found[0].count("\n")

    return NO_CODE.sub(replaced, text)


def long_functions(path, text):
    """By the indentation, which clang-format gives: a brace closes what the last line before it with the same begins."""
    lines, said = stripped(text).split("\n"), []
    begins = {}  # {indentation: the number of the last line with it}
    for number, line in enumerate(lines):
        code = line.lstrip()
        if not code or code[0] == "#":
            continue
        indent = len(line) - len(code)
        begins = {other: at for other, at in begins.items() if other <= indent}
        start = begins.get(indent)
        if code[0] == "}" and start is not None:
            opened = next((at for at in range(start, number) if re.search(r"\{[\s\\]*$", lines[at])), number)
            is_other = NO_FUNCTION.search(re.sub(r"[<(].*[>)]", "", lines[start]))
            if number - opened >= FUNCTION_LINES and not is_other:
                said.append(f"{path}:{opened + 1} a function has {number - opened + 1} lines, more than {FUNCTION_LINES}")
        begins[indent] = number
    return said


def cases(paths, read):
    """The cases for these paths, of which only texts count."""
    texts = sorted(path for path in paths if TEXTS.fullmatch(path))
    headers = [path for path in texts if path.startswith(LIBRARY) and path.endswith(".h")]

    def case(what, files, complaints):
        return f"{what}: {len(files)} files", lambda: "\n".join(said for path in files for said in complaints(path, read(path)))

    return [case("lines", texts, long_lines), case("headers", headers, long_header), case("functions", headers, long_functions)]


def files_of(root):
    """What git knows of the tree, and what is new. Without git, all but hidden folders and what is built."""
    if os.path.exists(os.path.join(root, ".git")) and shutil.which("git"):
        command = ["git", "-c", "safe.directory=*", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
        return {path for path in listed.split("\0") if os.path.isfile(os.path.join(root, path))}
    found = set()
    for folder, folders, files in os.walk(root):
        folders[:] = [name for name in folders if not name.startswith((".", "bazel-")) and name not in ("build", "out")]
        found.update(os.path.relpath(os.path.join(folder, name), root) for name in files)
    return found


def tree():
    """The root of the tree that this lies in, and its files."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
    paths = files_of(root)
    if not all(any(path.startswith(folder) for path in paths) for folder in LIBRARY):
        sys.exit(f"{root} isn't tarn's tree")
    return root, paths


def main():
    root, paths = tree()

    def read(path):
        with open(os.path.join(root, path), encoding="utf-8") as file:
            return file.read()

    return compilers.report(cases(paths, read))


if __name__ == "__main__":
    sys.exit(main())
