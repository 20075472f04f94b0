#!/usr/bin/env python3
"""Lays out what MkDocs reads: stage.py FOLDER

The pages are there as in the tree, so that their links to each other hold. Files of the tree that pages link to are put
next to them as text; blocks `cpp run` become `cpp`, and `text output` `text`; the chooser gets its data. The navigation is that
of docs/README.md: a page that none of its tables leads to is an error.
"""

import json
import os
import re
import shutil
import sys

import chooser_data
import shim

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HERE = os.path.dirname(os.path.abspath(__file__))
TOP = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"]
SECTIONS = ["learn", "do", "look up", "understand"]
LINK = re.compile(r"(\]\(<?)([^)\s>]+)")
FENCE = re.compile(r"^( *```)(cpp|text)\b.*$", re.MULTILINE)
# A page without a table of contents, those that the search prefers, and one that it leaves out.
HEADS = {"docs/chooser.md": "hide: toc", "docs/vocabulary.md": "search:\n  boost: 2", "docs/errors.md": "search:\n  boost: 2",
         "docs/misuse.md": "search:\n  boost: 2", "CHANGELOG.md": "search:\n  exclude: true"}
INLINE = {"#products": "docs/products", "#axes": "docs/axes"}  # folders without an index; docs/README.md lists their pages


class Unlisted(Exception):
    """A page that the navigation wouldn't have."""


def read(path):
    with open(os.path.join(TREE, path), encoding="utf-8") as file:
        return file.read()


def pages_of(folder):
    found = []
    for at, _, names in os.walk(os.path.join(TREE, folder)):
        found += [os.path.relpath(os.path.join(at, name), TREE) for name in names if name.endswith(".md")]
    return sorted(found)


def title(text):
    return re.search(r"^# (.+?)\s*$", text, re.MULTILINE)[1].replace("`", "")


def outside_code(text, change):
    """change(part) of every part that is in no block of code."""
    parts = re.split(r"(^ *```.*?^ *```[^\S\n]*$)", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if n % 2 else change(part) for n, part in enumerate(parts))


def staged(path, text, files):
    """The text of a page for the site. Adds to `files` what it links to of the tree and isn't a page."""
    folder = os.path.dirname(path)

    def link(match):
        target, _, anchor = match[2].partition("#")
        there = os.path.normpath(os.path.join(folder, target))
        if not target or re.match(r"[a-z]+:", target) or there in TOP or there.startswith("docs/") and there.endswith(".md"):
            return match[0]
        if os.path.isdir(os.path.join(TREE, there)):
            there = os.path.join(there, "BUILD")
        if there.startswith("docs/") and there.endswith((".png", ".svg")):
            return match[0]
        files.add(there)
        return match[1] + os.path.relpath(f"source/{there}.txt", folder or ".") + ("#" + anchor if anchor else "")

    return FENCE.sub(r"\1\2", outside_code(text, lambda part: LINK.sub(link, part)))


def linked(index):
    """The pages that a page links to, in its order."""
    targets = [target.partition("#")[0] for _, target in LINK.findall(read(index))]
    return list(dict.fromkeys(os.path.normpath(os.path.join(os.path.dirname(index), one)) for one in targets if one))


def in_folder(folder, index):
    """The navigation of a folder: its pages in the order in which `index` links to them."""
    inside = pages_of(folder)
    order = [page for page in linked(index) if page in inside]
    missing = [page for page in inside if page not in order and page != index]
    if missing:
        raise Unlisted(f"{missing[0]}: {index} doesn't lead to it, so the site wouldn't")
    return ([index] if index in inside else []) + [page for page in order if page != index]


def navigation():
    """[(title, path or such a list)]"""
    text = read("docs/README.md")
    sections = [("tarn", [("tarn", "README.md"), ("All pages", "docs/README.md")])]
    for section in SECTIONS:
        table = re.search(rf"^\| {section} \|.*\n\|[-|]+\|\n((?:\|.*\n)*)", text, re.MULTILINE)
        entries = []
        for row in table[1].splitlines():
            for name, target in re.findall(r"\[([^\]]+)\]\(([^)]+)\)", row.split("|")[1]):
                if target in INLINE:
                    entries.append((name.capitalize(), [(None, page) for page in in_folder(INLINE[target], "docs/README.md")]))
                elif target.endswith("/README.md"):
                    folder = "docs/" + os.path.dirname(target)
                    entries.append((name.strip("/").capitalize(),
                                    [(None, page) for page in in_folder(folder, f"docs/{target}")]))
                else:
                    entries.append((None, "docs/" + target))
        sections.append((section.capitalize(), entries))
    sections.append(("Project", [(None, page) for page in TOP[1:] if os.path.exists(os.path.join(TREE, page))]))
    return sections


def yaml(entries, depth=0):
    lines = []
    for name, what in entries:
        if isinstance(what, list):
            lines += [f"{'  ' * depth}- {name}:", *yaml(what, depth + 1)]
        else:
            lines.append(f"{'  ' * depth}- " + (f"{name}: {what}" if name else f"{json.dumps(title(read(what)))}: {what}"))
    return lines


def paths_in(entries):
    return [path for _, what in entries for path in (paths_in(what) if isinstance(what, list) else [what])]


def redirects():
    """{old page: new page with or without an anchor}, as redirects.txt has them."""
    lines = (line.split() for line in read("docs/site/redirects.txt").splitlines() if not line.startswith("#"))
    return dict(line for line in lines if line)


def write(folder, path, text):
    path = os.path.join(folder, path)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def stage(folder):
    shutil.rmtree(folder, ignore_errors=True)
    entries = navigation()
    pages = [page for page in TOP if os.path.exists(os.path.join(TREE, page))] + pages_of("docs")
    for page in pages:
        if page not in paths_in(entries):
            raise Unlisted(f"{page}: no table of docs/README.md leads to it, so the site wouldn't")
    files = set()
    for page in pages:
        head = f"---\n{HEADS[page]}\n---\n\n" if page in HEADS else ""
        write(folder, "pages/" + page, head + staged(page, read(page), files))
    for file in sorted(files):
        write(folder, f"pages/source/{file}.txt", read(file))
    for picture in (name for name in os.listdir(os.path.join(TREE, "docs")) if name.endswith((".png", ".svg"))):
        os.makedirs(os.path.join(folder, "pages/docs"), exist_ok=True)
        shutil.copy(os.path.join(TREE, "docs", picture), os.path.join(folder, "pages/docs", picture))
    for file in ("site.css", "chooser.js"):
        write(folder, "pages/site/" + file, read("docs/site/" + file))
    write(folder, "pages/site/iframe-worker.js", shim.script(os.path.join(os.path.dirname(folder), "iframe-worker.js")))
    write(folder, "pages/site/chooser_data.js", chooser_data.script(TREE))
    lines = ["hooks:", f"  - {HERE}/hooks.py", "nav:", *yaml(entries, 1), ""]
    write(folder, "mkdocs.yml", read("docs/site/mkdocs.yml") + "\n".join(lines))


def main():
    try:
        stage(sys.argv[1])
    except Unlisted as wrong:
        sys.exit(f"docs/site/run: {wrong}")


if __name__ == "__main__":
    sys.exit(main())
