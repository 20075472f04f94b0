#!/usr/bin/env python3
"""Checks files that must not compile. A case is a file and a compiler; test/compile_fail/README.md explains the files."""

import os
import re
import sys

import compilers


def case(compiler, path, text, root, first, twin):
    def run():
        expected = re.findall(r"^\s*// expect: (.*\S)", text, re.MULTILINE)
        if not expected:
            return "says nothing to expect: needs a line '// expect: tarn: ...'"
        if "TARN_TWIN" not in text:
            return "has no twin: needs the right code under '#ifdef TARN_TWIN'"

        compiled, said = compilers.compile_only(compiler, root, "tarn/" + path, *first)
        if compiled:
            return "compiles, but must not"
        errors = re.findall(r"^.*\berror: .*$", said, re.MULTILINE)
        for words in expected:
            if not any(words in error for error in errors):
                return f"no error says '{words}':\n" + "\n".join(errors)
        for words in re.findall(r"^\s*// mentions: (.*\S)", text, re.MULTILINE):
            if words not in said:
                return f"neither an error nor its notes say '{words}':\n" + said
        many_allowed = re.search(r"^\s*// errors: many\b", text, re.MULTILINE)
        if len(errors) != 1 and not many_allowed:
            return f"gives {len(errors)} errors where one is enough:\n" + "\n".join(errors)

        if not twin:
            return None
        compiled, said = compilers.compile_only(compiler, root, "tarn/" + path, *first, "-DTARN_TWIN",
                                                *compilers.WARNINGS)
        return None if compiled else "its twin does not compile:\n" + said

    return f"{path} ({compiler})", run


def main():
    texts = {}
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            texts[path] = file.read()
    headers = sorted(set(re.findall(r'^#include "(tarn/.*)"', "\n".join(texts.values()), re.MULTILINE)))
    root = compilers.include_root()
    cases = []
    wanted = compilers.present()
    for turn, compiler in enumerate(wanted):
        first = compilers.precompiled(compiler, root, headers)
        for number, (path, text) in enumerate(texts.items()):
            twin = number % len(wanted) == turn or "TARN_NIGHTLY" in os.environ
            cases.append(case(compiler, path, text, root, first, twin))
    return compilers.report(cases)


if __name__ == "__main__":
    sys.exit(main())
