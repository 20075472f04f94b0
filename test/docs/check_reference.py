#!/usr/bin/env python3
"""Checks the reference, docs/reference/, against what clang finds in the headers, both ways, and the spelling of all prose.

Run in the root of the tree. A case is a page, a public name, a heading, a document. The last cases are the self-test: in copies
of the headers, a comment is removed and a name added, a word is misspelt, and each must be found.

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

FLOOR = 570  # public names, at least
IGNORED = "test/docs/spelling.txt"
PROSE = ("*.md", "docs/**/*.md", "docs/**/*.toml", "allocator/**/*.h", "policies/**/*.h")
HEADING = re.compile(r"^##+ (.*)$", re.MULTILINE)
ROW = re.compile(r"^\* .*\n(?:  .*\n)*", re.MULTILINE)


def case(name, wrong):
    return name, lambda: wrong


# ---- entries ---------------------------------------------------------------------------------------------------------------


def entries(pages):
    """{name: its entry's text} of all pages. Names that share a comment share an entry."""
    found = {}
    for page, text in pages.items():
        if page != "README.md":
            parts = HEADING.split(re.sub(r"^```cpp.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL))
            for names, said in zip(parts[1::2], parts[2::2]):
                first, *more = names.split(", ")
                scope = first.rpartition("::")[0]
                found.update({name: said for name in [first, *(f"{scope}::{name}" for name in more)]})
    found.pop("Example", None)
    return found


def rows(entry):
    """{signature: what is said of it} of the list in a class's entry."""
    found = {}
    for row in ROW.findall(entry):
        codes, _, said = re.sub(r"\n +", " ", row).partition("`: ")
        found.update({code: said.strip() for code in re.findall(r"`([^`]+)`", codes + "`")})
    return found


def said_in(entry):
    """What an entry says besides its signature and the list of members."""
    signature = r"^```.*?^```$|^`[^`\n]*`(?:\s\(`tarn/[^`]*`\))?$"
    return re.sub(signature, "", ROW.sub("", entry), flags=re.MULTILINE | re.DOTALL).strip()


def wrong_rows(group, there, of_class):
    """What the declarations of a name lack in the list of their class, or None. Enumerators on one line have the comment of
    their type."""
    said = rows(there.get(group[0].parent, ""))
    group = [one for one in group if not generate.is_silent(one)]
    missing = [listed for one in group if (listed := generate.listed_signature(one)) not in said]
    if missing:
        return f"the list of {group[0].parent} doesn't have '{missing[0]}'"
    group = [one for one in group if not generate.is_special(one)]
    text = " ".join(said[generate.listed_signature(one)] for one in group).strip()
    for_authors = generate.is_for_authors(group[0]) if group else False
    if group and not text and not (group[0].comment and (for_authors or group[0].comment == of_class)):
        return "it has no comment"
    return next((wrong for wrong in (wrong_function(one, text) for one in group) if wrong), None)


def wrong_function(one, said):
    """What is not said of a function, or None."""
    if one.kind != "function" or generate.AS_OTHERS.match(one.comment):
        return None
    if one.result not in ("", "void") and not re.search(r"\breturns?\b|- Returns:", said, re.IGNORECASE):
        return "its comment doesn't say what it returns"
    if one.throws and "Throws" not in said and not one.signature.endswith("= default"):
        return "it isn't noexcept, and its comment doesn't say what it throws"
    return None


def wrong_entry(group, there, of_class):
    """What the entries of a public name lack, or None."""
    name = group[0].name
    where = f"{group[0].file}:{group[0].line}"
    listed, group = generate.split(group) if group[0].parent else ([], group)
    if listed and (wrong := wrong_rows(listed, there, of_class)):
        return f"{where}: {wrong}"
    if group and name not in there:
        return f"{where}: it has no entry"
    text = there[name] if group else ""
    if group and not said_in(text):
        return f"{where}: it has no comment"
    for one in group:
        flat = re.sub(r"\n +", " ", text).split("\n")
        is_there = text.startswith(f"\n\n`{generate.short_signature(group)}`")
        if missing := [line for line in generate.shown_signature(one).split("\n") if not is_there and line not in flat]:
            return f"{where}: the entry doesn't have '{missing[0]}'"
        if wrong := wrong_function(one, text):
            return f"{where}: {wrong}"
    return None


def check_entries(names, settings, pages):
    """A case for each public name, which must have an entry that says something, and for each entry, which must name one."""
    there, groups = entries(pages), generate.groups_of(names)
    comments = {name: group[0].comment for name, group in groups.items()}
    cases = [case(name, wrong_entry(group, there, comments.get(group[0].parent))) for name, group in groups.items()]
    cases += [case(name, None if name in there else "it has no entry") for name in settings]
    strays = sorted(set(there) - set(groups) - set(settings))
    listed = {(one.parent, generate.listed_signature(one)) for one in names}
    strays += sorted(code for name, said in there.items() for code in rows(said) if (name, code) not in listed)
    cases.append(case(f"{len(there)} entries name something", f"no header has {', '.join(strays)}" if strays else None))
    return cases


def check_pages(wanted, pages):
    """A case for each page: it is what the generator makes of the headers."""
    return [case(f"docs/reference/{name}", None if wanted.get(name) == pages.get(name) else
                 "it isn't what the headers say; run test/generate") for name in sorted({*wanted, *pages})]


def checked_in(folder):
    found = {}
    for path in glob.glob(os.path.join(folder, "*.md")):
        with open(path, encoding="utf-8") as file:
            found[os.path.basename(path)] = file.read()
    return found


# ---- spelling --------------------------------------------------------------------------------------------------------------


def misspelt(files):
    """{file: what codespell says of it}. Code in backticks isn't read."""
    done = subprocess.run(["codespell", "--ignore-words", IGNORED, "--ignore-regex", "`[^`]*`", *files], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode not in (0, 64, 65) and "==>" not in done.stdout:
        raise SystemExit("codespell: " + done.stdout)
    found = collections.defaultdict(list)
    for line in done.stdout.splitlines():
        if "==>" in line:
            found[line.split(":")[0].removeprefix("./")].append(line)
    return {file: "\n".join(lines) for file, lines in found.items()}


def check_spelling(files):
    """A case for each folder that has prose."""
    said = misspelt(files)
    folders = collections.defaultdict(list)
    for file in files:
        folders[os.path.dirname(file) or "."].append(file)
    return [case(f"spelling of {len(inside)} files in {folder}", "\n".join(said[file] for file in inside if file in said))
            for folder, inside in sorted(folders.items())]


def written():
    """The files with prose: documents, and headers with their comments."""
    found = {os.path.normpath(path) for pattern in PROSE for path in glob.glob(pattern, recursive=True)}
    return sorted(path for path in found if "_virtual_includes" not in path)


# ---- the test of these tests -----------------------------------------------------------------------------------------------

# In a copy of the headers, all at once: (file, what is replaced by what, the name that must be found, and what is said of it).
BROKEN_HEADERS = [
    ("allocator/detail/pool/members.h", "  /// Like reserve(), but returns whether it succeeded.\n", "\n",
     "tarn::basic_pool::try_reserve", "it has no comment"),
    ("allocator/detail/pool/members.h", "Returns a block: ", "A block: ",
     "tarn::basic_pool::allocate", "what it returns"),
    ("allocator/detail/pool/members.h", "/// Throws: std::bad_alloc if it can't get all of them; then none", "/// Else none",
     "tarn::basic_pool::allocate_batch", "what it throws"),
    ("allocator/object_pool.h", "/// Throws: std::bad_alloc if there is no block, and", "/// Else",
     "tarn::object_pool::construct", "what it throws"),
    ("policies/checking/misuse.h", "  double_free,         // the block is free already", "  double_free,\n",
     "tarn::misuse_kind::double_free", "it has no comment"),
    ("policies/checking/misuse.h", "  unsigned line = 0;               // of that file", "\n  unsigned line = 0;\n",
     "tarn::misuse::line", "it has no comment"),
    ("policies/reuse.h",
     "  bool needs_chunks = true;        // adopted() informs the list of each chunk; false: the list only carves",
     "\n  bool needs_chunks = true;\n", "tarn::reuse_traits::needs_chunks", "it has no comment"),
    ("allocator/presets.h", "/// One thread at a time uses the pool, and nothing is known about the number of objects.\n", "\n",
     "tarn::presets::local", "it has no comment"),
    ("allocator/registry.h", "namespace tarn {\n", "namespace tarn {\ninline int added_function() noexcept { return 1; }\n\n",
     "tarn::added_function", "it has no comment"),
    ("allocator/handle.h", " public:\n", " public:\n  static constexpr int added_constant = 1;\n\n",
     "tarn::handle::added_constant", "it has no comment"),
    ("allocator/shared_pool.h", "#define TARN_DEFINE_SHARED_POOL", "#define ADDED_MACRO(x) x\n#define TARN_DEFINE_SHARED_POOL",
     "ADDED_MACRO", "it has no comment"),
]


def wrong_in(cases):
    return {name: found for name, found in ((name, wrong()) for name, wrong in cases) if found}


def caught(what, good):
    return case(f"mistake: {what}", None if good else "it isn't detected")


def headers_self_test():
    """A copy of the headers without some comments, and with names that nobody described."""
    with tempfile.TemporaryDirectory() as tree:
        for folder in headers.FOLDERS:
            shutil.copytree(folder, os.path.join(tree, folder), ignore=shutil.ignore_patterns("_virtual_includes"))
        shutil.copy("version.h", tree)
        for file, old, new, *_ in BROKEN_HEADERS:
            path = os.path.join(tree, file)
            with open(path, encoding="utf-8") as header:
                text = header.read()
            if text.count(old) < 1:
                return [case(f"self-test: {file}", f"it has no '{old}' to break")]
            os.chmod(path, 0o644)
            with open(path, "w", encoding="utf-8") as header:
                header.write(text.replace(old, new, 1))
        found = headers.Headers(tree)
        about = generate.about_pages()
        text = generate.pages_of(found, about)
        wrong = wrong_in(check_entries(found.names, found.settings(), text))
    cases = [caught(f"{name}: {what}", what in wrong.get(name, "")) for _, _, _, name, what in BROKEN_HEADERS]
    others = sorted(set(wrong) - {name for _, _, _, name, _ in BROKEN_HEADERS})
    return cases + [case("self-test: nothing else is found there", f"found {', '.join(others)}" if others else None)]


def spelling_self_test():
    with tempfile.TemporaryDirectory() as folder:
        names = {"wrong.md": "How to recieve a block.\n", "wrong.h": "// It occured.\n", "right.md": "How to receive `teh`.\n"}
        for name, text in names.items():
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        found = {os.path.basename(file) for file in misspelt([os.path.join(folder, name) for name in names])}
    return [compilers.same("misspelt words in a page and in a header", found, {"wrong.md", "wrong.h"})]


def main():
    if not shutil.which("codespell"):
        sys.exit("codespell is missing: install Debian's package of that name")
    found = headers.Headers(os.getcwd())
    pages = checked_in("docs/reference")
    count = len({one.name for one in found.names})
    cases = [case(f"{count} public names", None if count >= FLOOR else f"the floor is {FLOOR}")]
    gone = sorted(set(headers.HIDDEN) - found.hidden)
    wrong = f"headers.py leaves out what no header has: {', '.join(gone)}" if gone else None
    cases.append(case("what is left out is there", wrong))
    cases += check_entries(found.names, found.settings(), pages)
    cases += check_pages(generate.pages_of(found, generate.about_pages()), pages)
    cases += check_spelling(written())
    return compilers.report(cases + headers_self_test() + spelling_self_test())


if __name__ == "__main__":
    sys.exit(main())
