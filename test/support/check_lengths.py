#!/usr/bin/env python3
"""Checks that lines, headers and functions aren't too long. A case is a folder and one of these limits.

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
DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(\w+)((?:\\\n|[^\n])*)", re.MULTILINE)


# --- Lines.

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


# --- Headers.

def long_header(path, text):
    lines = len(text.splitlines())
    return [f"{path} has {lines} lines, more than {HEADER_LINES}"] if lines > HEADER_LINES else []


# --- Functions.

def stripped(text):
    """C++ without comments and what stands in quotes. Every line keeps its number."""
    def replaced(found):
        if found["number"]:
            return "0"
        return (" " if found["comment"] else '""') + "\n" * found[0].count("\n")

    return NO_CODE.sub(replaced, text)


def flat(head):
    """What stands before a brace, with an @ for all in parentheses, a # for all in brackets, and no template parameters."""
    head = re.sub(r"operator\s*(\(\s*\)|[^\w\s(]+)|\[\[.*?\]\]|\b(public|private|protected)\s*:(?!:)",
                  lambda found: " operator " if found[0].startswith("operator") else " ", head, flags=re.DOTALL)
    head = head.replace("->", " to ")
    for group, sign in ((r"\([^()]*\)", "@"), (r"\[[^\[\]]*\]", "#"), (r"<[^<>]*>", " ")):
        while re.search(group, head):
            head = re.sub(group, sign, head)
    return head.strip()


def kind_of(head):
    """What a brace after `head` opens: a "scope" (a namespace, a type), a "function", or other "braces"."""
    text = flat(head)
    if "(" in text:  # an argument
        return "braces"
    if re.search(r'\b(namespace|class|struct|union|enum)\b|\bextern\s*""$', text):
        return "scope"
    if re.search(r"(=|&&|\|\||!|\brequires)\s*requires\s*@?$", text):
        return "braces"
    if re.search(r"=\s*#\s*@?(\s|mutable|constexpr|noexcept|@|to\b.*)*$", text):  # a lambda that is no function's
        return "function"
    if "@" not in text and not text.endswith("operator") or re.search(r"(?<![=!<>])=(?!=)", text):
        return "braces"
    if re.search(r"@[^:]*(?<!:):(?!:)", text):  # a constructor's, or one of its members'
        return "function" if re.search(r"(@|\}|\.\.\.)$", text) else "braces"
    return "function"


def name_of(head):
    names = re.findall(r"(operator\s*(?:\(\s*\)|[^\w\s(]+|[\w:]+)|~?\w+)\s*(?=\()", head)
    none = re.compile(r"alignas|decltype|explicit|noexcept|requires|sizeof|__\w+|[A-Z_]+")
    return next((name for name in names if not none.fullmatch(name)), "a function")


class Scanner:
    """Finds functions in stripped C++. `found`: (line of the opening brace, name, lines)."""

    def __init__(self):
        self.found = []
        self.open = []  # (kind, line, what stands before the brace)
        self.head = ""
        self.before = []  # for each #if: what was open

    def directive(self, word, rest, line):
        """Of an #if and its #else both go on where it began; what a macro stands for goes on nowhere."""
        if word.startswith("if"):
            self.before.append((list(self.open), self.head))
        elif word.startswith("el") and self.before:
            opened, self.head = self.before[-1]
            self.open = list(opened)
        elif word == "endif" and self.before:
            self.before.pop()
        elif word == "define":
            macro = Scanner()
            macro.code(re.sub(r"^\s*\w+(\([^)]*\))?", "", rest).replace("\\\n", "\n"), line)
            self.found += macro.found

    def code(self, text, line):
        for char in text:
            inside = any(kind == "function" for kind, _, _ in self.open)
            if char == "{":
                self.open.append(("braces" if inside else kind_of(self.head), line, self.head))
                self.head = ""
            elif char == "}":
                if self.open:
                    self.close(line)
            elif char == ";" and self.head.count("(") == self.head.count(")"):
                self.head = ""
            elif not inside:
                self.head += char
            line += char == "\n"

    def close(self, line):
        kind, opened, head = self.open.pop()
        self.head = head + "{}" if kind == "braces" else ""
        if kind == "function":
            self.found.append((opened, name_of(head), line - opened + 1))


def functions(text):
    text, scanner, at = stripped(text), Scanner(), 0
    for found in [*DIRECTIVE.finditer(text), None]:
        end = found.start() if found else len(text)
        scanner.code(text[at:end], 1 + text.count("\n", 0, at))
        if found:
            scanner.directive(found[1], found[2], 1 + text.count("\n", 0, end))
            at = found.end()
    return scanner.found


def long_functions(path, text):
    return [f"{path}:{line} {name} has {lines} lines, more than {FUNCTION_LINES}" for line, name, lines in functions(text)
            if lines > FUNCTION_LINES]


# --- All of them.

def cases(paths, read):
    """The cases for these paths, of which only texts count."""
    texts = sorted(path for path in paths if TEXTS.fullmatch(path))
    headers = [path for path in texts if path.startswith(LIBRARY) and path.endswith(".h")]

    def case(what, folder, files, complaints):
        def run():
            return "\n".join(line for path in files for line in complaints(path, read(path))) or None

        return f"{what} of {folder or 'the root'}: {len(files)} files", run

    found = []
    for what, files, complaints in (("lines", texts, long_lines), ("headers", headers, long_header),
                                    ("functions", headers, long_functions)):
        by_folder = {}
        for path in files:
            by_folder.setdefault(os.path.dirname(path), []).append(path)
        found += [case(what, folder, its_files, complaints) for folder, its_files in by_folder.items()]
    return found


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
