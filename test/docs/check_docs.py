#!/usr/bin/env python3
"""Checks the documents: their code compiles, their links lead somewhere, and they say what the headers say.

Run in the root of the tree; with --only TEXT, only cases whose name contains TEXT. CONTRIBUTING.md explains to writers what
this checks. A case is a block with a compiler, a document, a policy, a rule ...; the last cases are the self-test
(broken_docs.py), which breaks each check's input.
"""

import collections
import fnmatch
import functools
import glob
import itertools
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.getcwd(), "test/support"))
import compilers
from policy_heads import WORDS, classes_on_an_axis, policies_of

# The least number of code blocks, of those that are run too, and of tests that test/misuse/README.md names. Raise them in the
# change that adds some.
FLOOR = {"code blocks": 105, "code blocks that run": 94, "tests of bad input": 76}

# Nearly all code includes it, and parsing it is most of the work. Where a block's own headers include it, it is put before
# them, as parsed already; whether a block includes all that it needs is seen all the same.
FIRST_TRIED = ("README.md", "docs/tutorial.md")  # by every compiler
PRECOMPILED = "tarn/allocator/pool.h"

AXES = ["size", "locking", "growth", "store", "reuse", "retention", "exhaustion", "checking", "statistics",
        "name"]
NO_POLICIES = ["name_of_tag", "name_of_class", "stack_locking"]  # names of static pools and of macros; lock_free's base
KINDS = ["", "run", "fragment", "file", "rejected", "before", "after"]
# The programs of docs/migration/, which test/migration compiles and runs in pairs.
ELSEWHERE = ["before", "after"]

Block = collections.namedtuple("Block", "document line kind argument text")


# ---- reading ------------------------------------------------------------------------------------------------------------


def load():
    """{path: text} of all that is read, and the paths of all files that a link can lead to."""
    paths = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "bench/README.md", "packaging/README.md", "test/misuse/README.md"]
    paths += glob.glob("docs/**/*.md", recursive=True)
    for pattern in ("policies/**/*.h", "allocator/**/*.h", "test/**/*.cc", "test/*/*.py"):
        paths += glob.glob(pattern, recursive=True)
    tree = {}
    for path in paths:
        with open(path, encoding="utf-8") as file:
            tree[path] = file.read()
    present = set()
    for folder, folders, files in os.walk("."):
        folders[:] = [name for name in folders if not name.startswith((".git", "bazel-", "_virtual_includes"))]
        present.update(os.path.normpath(os.path.join(folder, name)) for name in files)
    return tree, present


def documents(tree):
    return sorted(path for path in tree if path.endswith(".md"))


def fences(text):
    """(line number of the first line inside, info string, lines inside) of every fenced block; None for an open end."""
    found, opened = [], None
    for number, line in enumerate(text.splitlines(), 1):
        mark = re.match(r"\s*(```+)(.*)$", line)
        if opened is None and mark:
            opened = (number + 1, mark.group(2).strip(), [])
        elif opened is not None and mark and not mark.group(2).strip():
            found.append(opened)
            opened = None
        elif opened is not None:
            opened[2].append(line)
    return found + ([(opened[0], None, opened[2])] if opened else [])


def prose(text):
    """The text without what stands in fenced blocks; lines keep their numbers."""
    lines = text.splitlines()
    for start, _, inside in fences(text):
        for i in range(start - 1, start - 1 + len(inside)):
            lines[i] = ""
    return "\n".join(lines)


def blocks_of(tree):
    found = []
    for document in documents(tree):
        for line, info, inside in fences(tree[document]):
            words = (info or "").split()
            if words[:1] == ["cpp"]:
                found.append(Block(document, line, " ".join(words[1:2]), " ".join(words[2:]), "\n".join(inside) + "\n"))
    return found


def compiled_blocks(tree):
    return [block for block in blocks_of(tree) if block.kind not in ELSEWHERE]


def section(text, title):
    """What stands below the heading `## title`, to the next one of that rank."""
    found = re.search(rf"^## {re.escape(title)}\s*$(.*?)(?=^## |\Z)", prose(text), re.MULTILINE | re.DOTALL)
    return found.group(1) if found else ""


def first_cells(text, title):
    """The identifiers that begin the rows of the table whose first column has that title: `name<...>` gives name."""
    table = re.search(rf"^\| {title} \|.*\n\|[-|]+\|\n((?:\|.*\n?)*)", text, re.MULTILINE)
    return re.findall(r"^\|\s*`(?:presets::)?(\w+)", table.group(1), re.MULTILINE) if table else []


def bad_input(tree):
    """(input, names of its tests) of every row of the tables in docs/misuse.md and in test/misuse/README.md."""
    def rows(page):
        cells = [row.split("|") for row in re.findall(r"^\|(.*)\|$", section(tree[page], "Bad input"), re.MULTILINE)[2:]]
        return {row[0].strip(): re.findall(r"`([^`]+)`", row[-1]) for row in cells}

    tests = rows("test/misuse/README.md")
    return list({**dict.fromkeys(rows("docs/misuse.md"), ()), **tests}.items())


def tests_in(tree):
    """What a test can be called: its file below test/ without the ending, that without the folder, or the name of a case.
    Code that must not compile is called after its folder and its case."""
    found = set()
    for path, text in tree.items():
        if path.startswith("test/"):
            file = os.path.splitext(path[len("test/"):])[0]
            found.update([file, os.path.basename(file)])
            found.update(re.findall(r"BOOST_\w*TEST_CASE\w*\(\s*(\w+)", text))
            found.update(re.findall(r'case_for_each \w+\("(\w+)"', text))
            names = re.findall(r"^// case (\w+)", text, re.MULTILINE)
            found.update(os.path.join(os.path.dirname(file), name) for name in names)
    return found


def messages_in(header):
    """Every string that starts with "tarn: ", its adjacent pieces joined."""
    piece = r'"(?:[^"\\\n]|\\.)*"'
    found = re.findall(rf'("tarn: (?:[^"\\\n]|\\.)+"(?:\s*{piece})*)', header)
    return ["".join(text[1:-1] for text in re.findall(piece, one)).replace('\\"', '"') for one in found]


# ---- checks: each returns cases, (name, function returning what is wrong or None) -----------------------------------------


def case(name, wrong):
    """A case whose result is known already."""
    return name, lambda: wrong


def check_fences(tree):
    def wrong(document, text):
        for line, info, _ in fences(text):
            if info is None:
                return f"line {line - 1}: a block that doesn't end"
            words = info.split()
            if words[:1] and words[0].lower() in ("c++", "cc", "cxx", "c", "h", "hpp"):
                return f"line {line - 1}: '{info}': C++ is marked cpp, so that it is compiled"
            if words[:1] == ["cpp"] and " ".join(words[1:2]) not in KINDS:
                return f"line {line - 1}: unknown kind of block '{info}'; known are {', '.join(KINDS[1:])}"
            if words[:1] == ["cpp"] and words[1:2] and words[1] in ELSEWHERE and not document.startswith("docs/migration/"):
                return f"line {line - 1}: '{info}': nobody compiles it outside of docs/migration/"
        return None

    return [case(f"{document}: blocks are marked", wrong(document, tree[document])) for document in documents(tree)]


def check_floor(tree, floor):
    found = compiled_blocks(tree)
    counts = {"code blocks": len(found), "code blocks that run": sum(block.kind == "run" for block in found),
              "tests of bad input": sum(len(tests) for _, tests in bad_input(tree))}
    return [case(f"at least {least} {what}",
                 None if counts[what] >= least else f"only {counts[what]} were found, the floor is {least}")
            for what, least in floor.items()]


def reached(tree, text):
    """The headers of ours that a text includes, and those that these include."""
    found, todo = set(), [text]
    while todo:
        for header in re.findall(r'^#include "(tarn/.*?)"', todo.pop(), re.MULTILINE):
            if header not in found:
                found.add(header)
                todo.append(tree.get(header[len("tarn/"):], ""))
    return found


def check_blocks(tree, headers, wanted):
    """Compiles every block. `headers`: what a fragment may use without an #include; `wanted`: compilers. They take turns, but
    for what newcomers try first, and for what must be rejected: of each other's messages they know nothing. A nightly run has
    every block compiled by all."""
    root = compilers.include_root()
    cases = []
    if not wanted:
        return cases
    turns = itertools.cycle([[one] for one in wanted])
    first = {}
    if any(PRECOMPILED in reached(tree, block.text) for block in compiled_blocks(tree)):
        first = {compiler: compilers.precompiled(compiler, root, [PRECOMPILED], "-pthread") for compiler in wanted}
    for document, blocks in itertools.groupby(compiled_blocks(tree), lambda block: block.document):
        page = tempfile.mkdtemp(prefix="page-", dir=root)  # Files that the page shows, where its own code finds them.
        for block in blocks:
            if block.kind == "file":
                shown = os.path.join(page, "tarn", block.argument)
                os.makedirs(os.path.dirname(shown), exist_ok=True)
                with open(shown, "w", encoding="utf-8") as file:
                    file.write(block.text)
            by_all = block.kind == "rejected" or document in FIRST_TRIED or "TARN_NIGHTLY" in os.environ
            by = wanted if by_all else next(turns)
            includes = PRECOMPILED in reached(tree, source_of(block, headers)) and block.kind != "file"
            cases += [(f"{document}:{block.line} {block.kind or 'compiles'} ({compiler})".replace("  ", " "),
                       functools.partial(try_block, block, compiler, root, page, headers, first[compiler] if includes else []))
                      for compiler in by]
    return cases


def source_of(block, headers):
    """The translation unit that a block stands for."""
    if block.kind == "file":
        return f'#include "tarn/{block.argument}"\n' * 2
    lines = block.text.split("\n")
    here = f'#line {block.line} "{block.document}"\n'
    if block.kind != "fragment":
        return here + block.text
    includes = [line if line.startswith("#include") else "" for line in lines]
    rest = ["" if line.startswith("#include") else line for line in lines]
    more = "".join(f'#include "{header}"\n' for header in headers)
    parts = [more + here + "\n".join(includes), "void fragment();", "void fragment() {", here + "\n".join(rest), "}", ""]
    return "\n".join(parts)


def try_block(block, compiler, root, page, headers, first):
    with tempfile.TemporaryDirectory(dir=page) as work:
        source, program = os.path.join(work, "block.cc"), os.path.join(work, "block")
        with open(source, "w", encoding="utf-8") as file:
            file.write(source_of(block, headers))
        command = [compiler, "-std=c++20", "-pthread", *first, *compilers.WARNINGS, "-I" + page, "-I" + root]
        if block.kind == "fragment":
            command += ["-Wno-unused-variable", "-Wno-unused-but-set-variable", "-Wno-unused-local-typedefs"]
        command += [source, "-o", program] if block.kind == "run" else ["-fsyntax-only", source]
        good, said = execute(command, 1200)
        if block.kind == "rejected":
            expected = re.findall(r"^\s*// error: (.*\S)", block.text, re.MULTILINE)
            if not expected:
                return "says nothing to expect: needs a line '// error: tarn: ...'"
            if good:
                return "compiles, but must not"
            missing = [words for words in expected if words not in said]
            return f"no error says '{missing[0]}':\n{said}" if missing else None
        if not good:
            return said
        if block.kind == "run":
            good, said = execute([program], 600)
            return None if good else "compiles, but fails when run:\n" + said
        return None


def execute(command, seconds):
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", timeout=seconds)
    except subprocess.TimeoutExpired:
        return False, f"not done after {seconds} s"
    return done.returncode == 0, done.stdout + (f"exit status {done.returncode}" if done.returncode else "")


def anchors(text):
    """The anchors of a document's headings, as GitHub makes them."""
    found, seen = set(), collections.Counter()
    for heading in re.findall(r"^#+ (.*?)\s*$", prose(text), re.MULTILINE):
        slug = re.sub(r"[^\w\- ]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()).replace(" ", "-")
        found.add(slug if not seen[slug] else f"{slug}-{seen[slug]}")
        seen[slug] += 1
    return found


def links_of(text):
    """Targets of [text](target) and ![text](target), not in code."""
    return re.findall(r"\]\(<?([^)\s>]+)", re.sub(r"`[^`\n]*`", "", prose(text)))


def check_links(tree, present):
    def wrong(document, target):
        if re.match(r"[a-z]+:", target):
            return None if target.startswith(("https:", "mailto:")) else "neither https: nor a relative path"
        path, _, anchor = target.partition("#")
        if path.startswith("/"):
            return "not relative"
        path = os.path.normpath(os.path.join(os.path.dirname(document), path)) if path else document
        if path not in present and not any(other.startswith(path + "/") for other in present):
            return f"{path} doesn't exist"
        if anchor and (path not in tree or anchor not in anchors(tree[path])):
            return f"{path} has no heading for #{anchor}"
        return None

    cases = []
    for document in documents(tree):
        found = sorted(set(links_of(tree[document])))
        faults = [f"{target}: {fault}" for target, fault in ((one, wrong(document, one)) for one in found) if fault]
        cases.append(case(f"{document}: {len(found)} links", "\n".join(faults) or None))
    return cases


def check_misuse(tree):
    """Every checking policy is on the page that says what is detected."""
    page = tree["docs/misuse.md"]
    policies = [name for path in tree if path.startswith("policies/checking/") for name in policies_of(path, tree[path])]
    missing = [one for one in policies if not re.search(rf"^\|.*`{one}\b", page, re.MULTILINE)]
    return [case(f"docs/misuse.md: {len(policies)} policies", f"no table has {', '.join(missing)}" if missing else None)]


def check_reading_order(tree):
    """docs/README.md leads to every page, or to the README.md of its folder, which does."""
    def linked_from(index):
        folder = os.path.dirname(index)
        return {os.path.normpath(os.path.join(folder, one.partition("#")[0])) for one in links_of(tree[index])}

    linked = linked_from("docs/README.md")
    for index in sorted(linked):
        if re.fullmatch(r"docs/[\w-]+/README\.md", index) and index in tree:
            linked |= linked_from(index)
    return [case(f"{document} is in docs/README.md", None if document in linked else "no link leads to it")
            for document in documents(tree) if document.startswith("docs/") and document != "docs/README.md"]


def check_policies(tree):
    """Every policy has its four lines and a row; every row has its policy."""
    cases = []
    for axis in AXES:
        page, policies = f"docs/axes/{axis}.md", set()
        rows = first_cells(section(tree.get(page, ""), "Policies"), "policy")
        for path, text in sorted(tree.items()):
            if not re.fullmatch(rf"policies/{axis}(/\w+)?\.h", path):
                continue
            heads, classes = policies_of(path, text), classes_on_an_axis(text)
            policies.update(heads if classes else ())
            for name in [one for one in classes if one not in NO_POLICIES]:
                wrong = None
                if classes[name] != axis:
                    wrong = f"it lies in {axis}/ and says axis {classes[name]}"
                elif heads.get(name) != WORDS:
                    wrong = "above it, the lines decides, costs, conflicts, use when are missing, or in another order"
                elif name not in rows:
                    wrong = f"{page} has no row for it below '## Policies'"
                cases.append(case(f"{path}: {name}", wrong))
        strays = sorted(set(rows) - policies)
        cases.append(case(f"{page}: {len(rows)} rows", f"no such policy: {', '.join(strays)}" if strays else
                          None if rows else "no rows below '## Policies'"))
    return cases


def check_rules(tree):
    """docs/rules.md and the headers say the same, both ways; a rule stands below its number. On the page, an ellipsis stands
    for what differs between messages."""
    page = "docs/rules.md"
    in_docs, heading = {}, ""
    for title, *message in re.findall(r"^(#+ .*)|^`(tarn: [^`]+)`|^(tarn: .*)", tree[page], re.MULTILINE):
        heading = title or heading
        if any(message):
            in_docs.setdefault(" ".join("".join(message).split()), heading)
    in_headers = {}
    for path, text in sorted(tree.items()):
        if path.endswith(".h"):
            for message in messages_in(text):
                in_headers.setdefault(message, path)

    patterns = {line: re.compile(".+".join(map(re.escape, line.split("…")))) for line in in_docs}

    def wrong(message):
        number = re.match(r"tarn: \[(\w+)\]", message)
        line = next((line for line, pattern in patterns.items() if pattern.fullmatch(message)), None)
        if line is None:
            return f"{in_headers[message]} says it, {page} doesn't"
        if number and not re.search(rf"\b{number.group(1)}\b", in_docs[line]):
            return f"it stands below '{in_docs[line]}'"
        return None

    strays = [line for line, pattern in patterns.items() if not any(map(pattern.fullmatch, in_headers))]
    cases = [case(message, wrong(message)) for message in sorted(in_headers)]
    cases += [case(line, f"{page} says it, no header does") for line in strays]
    return cases or [case("messages", "none found")]


def check_presets(tree):
    presets = set(re.findall(r"^using (\w+) =", tree.get("allocator/presets.h", ""), re.MULTILINE))
    test = "test/allocator/presets_test.cc"
    return [case(f"preset {name}", None if re.search(rf"\bpresets::{name}\b", tree.get(test, "")) else f"{test} doesn't use it")
            for name in sorted(presets)] or [case("presets", "none found")]


def check_products(tree):
    """Every product has a row in docs/README.md, and every row its product; what users write stands on a product's page."""
    products = {os.path.splitext(os.path.basename(path))[0] for path in tree if re.fullmatch(r"allocator/\w+\.h", path)}
    rows = set(first_cells(section(tree["docs/README.md"], "Products"), "header"))
    cases = [case(f"product {name}", None if name in products and name in rows else
                  "docs/README.md has no row for it below '## Products'" if name in products else
                  f"allocator/{name}.h doesn't exist") for name in sorted(products | rows)]
    pages = "\n".join(prose(text) for path, text in tree.items() if path.startswith("docs/products/"))
    for header, written in (("memory_pool_macros.h", r"^#define ((?!TARN_)\w+)\("), ("containers.h", r"^using (\w+) =")):
        names = re.findall(written, tree.get(f"allocator/{header}", ""), re.MULTILINE)
        missing = sorted(name for name in names if not re.search(rf"^\|.*`{name}\b", pages, re.MULTILINE))
        cases.append(case(f"allocator/{header}: {len(names)} names",
                          f"in no table of docs/products/: {', '.join(missing)}" if missing else
                          None if names else "no names were found in it"))
    return cases


ATOMIC = re.compile(r"^ *(?!//).*\b(?:atomic_word|shared_cell|Atomic|atomic|cell)<[^;()&]*>[^;()&={*]* (\w+)(?:\[[^\]]*\])? *"
                    r"(?:=[^;]*|\{[^;]*)?;")


def order_above(lines, at):
    """What the comment above an atomic says of its order. Atomics one below the other share it."""
    while ATOMIC.match(lines[at - 1]):
        at -= 1
    while re.match(r" *template\b", lines[at - 1]):
        at -= 1
    first = at
    while re.match(r" *//", lines[first - 1]):
        first -= 1
    return " ".join(line.strip(" /") for line in lines[first:at]).partition("Order: ")[2]


def check_atomics(tree):
    """A case for each atomic: the comment above it says its order, and no call of it in that header has another one."""
    cases = []
    for path, text in sorted(tree.items()):
        lines = text.split("\n") if path.endswith(".h") else []
        said = collections.defaultdict(list)
        for at, line in enumerate(lines):
            if atomic := ATOMIC.match(line):
                said[atomic[1]].append(order_above(lines, at))
        for word, orders in said.items():
            calls = re.findall(rf"\b{word}(?:\[[^;\]]*\])?(?:\.|->)\w+\(([^;]*?)\)[;,) \n]", text)
            text_of_calls = " ".join(calls).replace("order_acq_rel", "order_acquire memory_order_release")
            used = set(re.findall(r"memory_order_(acquire|release|seq_cst)", text_of_calls))
            other = sorted(one for one in used if one not in " ".join(orders))
            cases.append(case(f"{path}: order of {word}", "no comment above it begins with 'Order:'" if "" in orders else
                              f"its comment doesn't say {', '.join(other)}" if other else None))
    return cases or [case("atomics", "none found")]


def check_bad_input(tree):
    """Every row of bad input has tests, in test/misuse/README.md, and these exist; so do the files that the page names."""
    page, names, known = "docs/misuse.md", "test/misuse/README.md", tests_in(tree)

    def wrong(tests):
        missing = [test for test in tests if not fnmatch.filter(known, test)]
        return f"no such test: {', '.join(missing)}" if missing else None if tests else f"{names} has no test of it"

    cases = [case(f"{page}: {what}", wrong(tests)) for what, tests in bad_input(tree)]
    files = sorted(set(re.findall(r"`(test/[^`]*\.\w+)`", prose(tree[page]))))
    return cases + [case(f"{page}: {file}", None if file in tree else "it doesn't exist") for file in files]


def all_checks(tree, present, headers, wanted, floor):
    return (check_fences(tree) + check_floor(tree, floor) + check_links(tree, present) + check_reading_order(tree) +
            check_policies(tree) + check_rules(tree) + check_presets(tree) + check_products(tree) +
            check_atomics(tree) + check_bad_input(tree) + check_misuse(tree) +
            check_blocks(tree, headers, wanted))


def main():
    """In front of --only: `text`, for all but the blocks, or `code`, for these alone."""
    import broken_docs  # It imports this file in turn.
    tree, present = load()
    headers = sorted("tarn/" + path for path in tree if re.fullmatch(r"allocator/\w+\.h", path))
    words = sys.argv[1:]
    only = words[-1] if "--only" in words else ""
    cases = [] if words[:1] == ["code"] else broken_docs.cases() + all_checks(tree, present, headers, [], FLOOR)
    cases += [] if words[:1] == ["text"] else check_blocks(tree, headers, compilers.present())
    return compilers.report([one for one in cases if only in one[0]])


if __name__ == "__main__":
    sys.modules["check_docs"] = sys.modules["__main__"]
    sys.exit(main())
