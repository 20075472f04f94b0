#!/usr/bin/env python3
"""Checks the reference, docs/reference/, against what clang finds in the headers, both ways, and the spelling of all prose.

Run in the root of the tree. A case is a page, a public name, a heading, a document. The last cases are the self-test: in copies
of headers and pages, an entry is taken away, a comment removed, an entry invented, a word misspelt, and each must be found.

Needs libclang for Python and codespell: Debian's python3-clang-19 and codespell.
"""

import collections
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path[:0] = [os.path.join(os.getcwd(), folder) for folder in ("test/support", "docs/reference")]
import compilers
import generate
import headers

FLOOR = 550  # public names, at least
HEADING = re.compile(r"^##+ (.*)$", re.MULTILINE)


def case(name, wrong):
    return name, lambda: wrong


# ---- entries ---------------------------------------------------------------------------------------------------------------


def entries(pages):
    """{name: its entry's text} of all pages."""
    found = {}
    for page, text in pages.items():
        if page != "README.md":
            parts = HEADING.split(re.sub(r"^```cpp.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL))
            found.update(zip(parts[1::2], parts[2::2]))
    found.pop("Example", None)
    return found


def said_in(entry):
    """What an entry says besides its signature and what follows from that."""
    return re.sub(r"^```.*?^```$|^(\w+, in `.*`:|- Throws: nothing)$", "", entry, flags=re.MULTILINE | re.DOTALL).strip()


def wrong_entry(group, there):
    """What the entry of a public name lacks, or None."""
    name = group[0].name
    where = f"{group[0].file}:{group[0].line}"
    if name not in there:
        return f"{where}: it has no entry"
    text = there[name]
    said = said_in(text)
    if not said:
        return f"{where}: it has no comment"
    for one in group:
        if one.signature not in re.sub(r"\n +", " ", text):
            return f"{where}: the entry doesn't have '{one.signature}'"
        if one.kind != "function" or generate.special(one):
            continue
        if one.result not in ("", "void") and not re.search(r"\breturns?\b|- Returns:", text, re.IGNORECASE):
            return f"{where}: its comment doesn't say what it returns"
        if one.throws and "Throws" not in text:
            return f"{where}: it isn't noexcept, and its comment doesn't say what it throws"
    return None


def check_entries(names, settings, pages):
    """A case for each public name, which must have an entry that says something, and for each entry, which must name one."""
    there, groups = entries(pages), generate.groups_of(names)
    cases = [case(name, wrong_entry(group, there)) for name, group in groups.items()]
    cases += [case(name, None if name in there else "it has no entry") for name in settings]
    strays = sorted(set(there) - set(groups) - set(settings))
    cases.append(case(f"{len(there)} entries name something", f"no header has {', '.join(strays)}" if strays else None))
    return cases


def check_pages(wanted, pages):
    """A case for each page: it is what the generator makes of the headers."""
    return [case(f"docs/reference/{name}", None if wanted.get(name) == pages.get(name) else
                 "it isn't what docs/reference/generate.py writes; run that") for name in sorted({*wanted, *pages})]


def checked_in(folder):
    found = {}
    for path in glob.glob(os.path.join(folder, "*.md")):
        with open(path, encoding="utf-8") as file:
            found[os.path.basename(path)] = file.read()
    return found
