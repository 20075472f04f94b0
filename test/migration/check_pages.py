"""The programs of docs/migration: each before and after compile, run, and print what the page says.

A page shows programs in pairs: a block `cpp before LIBRARY`, a block `cpp after` and a block `text output`. They are read from
the page itself, so that the page and what is tested can't differ. LIBRARY is one of LIBRARIES.

usage: check_pages.py [PAGE]...   in the root of the tree; the last line is 'N passed, N failed'
"""

import collections
import functools
import glob
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(ROOT, "test", "support"), os.path.join(ROOT, "test", "docs")]
import check_docs
import compilers

# How a program before is compiled. None: it can't be, since no package has the library; then the program after alone is run.
LIBRARIES = {
    "boost": [],
    "std": [],
    "foonathan": ["-isystem", "/usr/include/foonathan_memory", "-isystem",
                  f"/usr/include/{os.uname().machine}-linux-gnu/foonathan_memory", "-lfoonathan_memory"],
    "stand_in": ["-I" + os.path.join(HERE, "stand_ins")],
    "unavailable": None,
}

# The sections that each page has, in this order. One about several libraries has a section for each, with programs.
SECTIONS = ["Old and new", "What differs", "What tarn doesn't have", "Before and after"]
SEVERAL = ["articles.md", "eastl-etl.md"]
NO_PROGRAMS = ["README.md", "tarn-migrate.md"]

Pair = collections.namedtuple("Pair", "page line library before after output")


class Wrong(Exception):
    """A sentence about what is wrong in a page."""


def pairs_of(page, text):
    """The pairs of a page. Throws Wrong where blocks aren't in threes."""
    blocks = [(line, info.split(), "\n".join(inside) + "\n") for line, info, inside in check_docs.fences(text)
              if info and (info.split()[:2] in (["cpp", "before"], ["cpp", "after"], ["text", "output"]))]
    found = []
    for i in range(0, len(blocks), 3):
        three = blocks[i:i + 3]
        kinds = [" ".join(info[:2]) for _, info, _ in three]
        if kinds != ["cpp before", "cpp after", "text output"]:
            raise Wrong(f"{page}:{three[0][0]}: wanted blocks 'cpp before', 'cpp after', 'text output'; got {kinds}")
        line, info, before = three[0]
        library = " ".join(info[2:])
        if library not in LIBRARIES:
            raise Wrong(f"{page}:{line}: unknown library '{library}'; known are {', '.join(LIBRARIES)}")
        found.append(Pair(page, line, library, before, three[1][2], three[2][2]))
    return found


def check_form(page, text):
    """What is wrong with a page's parts, or None."""
    headings = [line[3:].strip() for line in check_docs.prose(text).splitlines() if line.startswith("## ")]
    if os.path.basename(page) in SEVERAL:
        for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
            if "```cpp after" not in section:
                return f"it has no program in {section.splitlines()[0]!r}"
    elif headings != SECTIONS:
        return f"its sections are {headings}, not {SECTIONS}"
    try:
        return None if pairs_of(page, text) else "it has no program before and after"
    except Wrong as wrong:
        return str(wrong)


def run_program(source, flags, compiler, work):
    """What a program prints. Throws Wrong where it doesn't compile, or fails."""
    path, program = os.path.join(work, "program.cc"), os.path.join(work, "program")
    with open(path, "w", encoding="utf-8") as file:
        file.write(source)
    done = subprocess.run([compiler, "-std=c++20", "-pthread", *compilers.WARNINGS, path, "-o", program, *flags],
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", timeout=600, check=False)
    if done.returncode:
        raise Wrong("doesn't compile:\n" + done.stdout)
    done = subprocess.run([program], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", timeout=120, check=False)
    if done.returncode:
        raise Wrong(f"exit status {done.returncode}\n{done.stdout}")
    return done.stdout


def try_program(pair, which, compiler, root):
    """What is wrong with one program of a pair, or None."""
    source = getattr(pair, which)
    flags = LIBRARIES[pair.library] if which == "before" else ["-I" + root]
    if "tarn" in pair.before:
        return "the program before names tarn"
    if "tarn/" not in pair.after:
        return "the program after doesn't use tarn"
    with tempfile.TemporaryDirectory() as work:
        try:
            printed = run_program(source, flags, compiler, work)
        except Wrong as wrong:
            return str(wrong)
    return None if printed == pair.output else f"the page says\n{pair.output}and it printed\n{printed}"


def page_cases(page, text, root, wanted):
    cases = [(f"{page}: its parts", functools.partial(check_form, page, text))]
    if check_form(page, text) is not None:
        return cases
    for pair in pairs_of(page, text):
        for which in ("before", "after"):
            if which == "before" and LIBRARIES[pair.library] is None:
                continue
            cases += [(f"{page}:{pair.line} {which} ({compiler})", functools.partial(try_program, pair, which, compiler, root))
                      for compiler in wanted]
    return cases


def index_case(pages, index):
    missing = [name for name in pages if not re.search(rf"\({re.escape(name)}[#)]", index)]
    return "the index names every page", lambda: f"not {', '.join(missing)}" if missing else None


# ---- the check of the check: a small right page, and one broken copy of it for each way to be wrong

RIGHT = """# From std

Words.

## Old and new

## What differs

## What tarn doesn't have

## Before and after

```cpp before std
#include <cstdio>
int main() { std::puts("one"); }
```

```cpp after
#include "tarn/allocator/fwd.h"
#include <cstdio>
int main() { std::puts("one"); }
```

```text output
one
```
"""

BROKEN = [
    ("a section that is missing", "## What differs\n", "", "its sections"),
    ("an unknown library", "before std", "before boots", "unknown library"),
    ("a program before that prints something else", 'int main() { std::puts("one"); }\n```\n\n```cpp after',
     'int main() { std::puts("two"); }\n```\n\n```cpp after', "it printed\ntwo"),
    ("a program after with a warning", '"tarn/allocator/fwd.h"', '"tarn/allocator/fwd.h"\nstatic int unused;',
     "doesn't compile"),
    ("a program after that fails", 'std::puts("one"); }\n```\n\n```text', 'std::puts("one"); return 3; }\n```\n\n```text',
     "exit status 3"),
    ("a program after without tarn", '#include "tarn/allocator/fwd.h"\n', "", "doesn't use tarn"),
]


def self_tests(root, compiler):
    def faults(text):
        return [said for said in (run() for _, run in page_cases("page.md", text, root, [compiler])) if said]

    def right():
        return "\n".join(faults(RIGHT)) or None

    def without_a_program():
        said = check_form("articles.md", "# Some\n\n## one\n\n```cpp after\n```\n\n## other\n")
        return None if "no program in 'other'" in str(said) else f"it says {said}"

    def broken(old, new, words):
        if RIGHT.count(old) != 1:
            return f"'{old}' doesn't stand in the right page exactly once"
        said = faults(RIGHT.replace(old, new))
        return None if any(words in one for one in said) else f"nobody says '{words}':\n" + "\n".join(said)

    def one(name, old, new, words):
        return f"mistake: {name}", lambda: broken(old, new, words)

    unnamed = ("mistake: a page that the index doesn't name",
               lambda: None if index_case(["a.md"], "see b.md")[1]() else "nobody says so")
    return [("self-test: a right page", right), unnamed,
            ("mistake: a library without a program", without_a_program)] + [one(*row) for row in BROKEN]


def all_cases(only=()):
    pages = list(only) or sorted(glob.glob("docs/migration/*.md"))
    texts = {}
    for page in pages:
        with open(page, encoding="utf-8") as file:
            texts[page] = file.read()
    root = compilers.include_root()
    wanted = compilers.present() if "TARN_NIGHTLY" in os.environ else compilers.present(["g++"])
    cases = [] if only else self_tests(root, wanted[0])
    for page in pages:
        if os.path.basename(page) not in NO_PROGRAMS:
            cases += page_cases(page, texts[page], root, wanted)
    if not only:
        cases.append(index_case([os.path.basename(page) for page in pages if not page.endswith("README.md")],
                                texts["docs/migration/README.md"]))
    return cases


def main():
    os.chdir(ROOT)
    return compilers.report(all_cases(sys.argv[1:]))


if __name__ == "__main__":
    sys.exit(main())
