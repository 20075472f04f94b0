#!/usr/bin/env python3
"""Writes the reference, docs/reference/*.md, from the comments of the headers.

usage: docs/reference/generate.py [--check]

  --check   writes nothing; fails when a page isn't what the headers give

Needs libclang for Python: Debian's python3-clang-19. pages.toml has what stands once on each page, examples/ its example.
"""

import argparse
import collections
import os
import re
import sys
import textwrap
import tomllib

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.dirname(os.path.dirname(HERE))

sys.path.insert(0, HERE)
import headers

NOTE = "<!-- Written by generate.py from the headers' comments, pages.toml and examples/. Don't edit this page. -->\n"
# A sentence that begins so is a line of its own. The first word of the line, and how the sentence begins.
PHRASES = (("Precondition", r"Preconditions?\b[^:.]*:"), ("Returns", r"Returns?\b|Whether\b"), ("Throws", r"Throws:"),
           ("Complexity", r"O\("), ("Thread safety", r"Thread safety:"))
HEAD_LINES = r"^(decides|costs|conflicts|use when)  +"


# ---- a comment as Markdown -------------------------------------------------------------------------------------------------


def in_code(text):
    """Prose with what is code in backticks, and nothing that Markdown would take for its own."""
    parts = re.split(r"(`[^`]*`)", text)
    for index in range(0, len(parts), 2):
        marked = re.sub(
            r"(?<![\w&])(?:::)?~?\w+(?:(?:::|\.|->)~?\w+)*(?:<[^<>\n]*(?:<[^<>\n]*>[^<>\n]*)*>)?(?:::\w+)*(?:\([^()\n]*\))?",
            lambda found: f"`{found[0]}`" if re.search(r"\w\(|::|<.*>|\w_\w", found[0]) and not re.match(r"O\(", found[0]) and
            not re.search(r"://|\.h$", found[0]) else found[0], parts[index])
        pieces = re.split(r"(`[^`]*`)", marked)
        pieces[::2] = [re.sub(r"([<*|\\])", r"\\\1", piece) for piece in pieces[::2]]
        parts[index] = "".join(pieces)
    return "".join(parts)


def paragraphs(comment):
    """(kind, text): "text" as one line, "code" as it stands, "param" with its name in front."""
    found = []
    for line in comment.split("\n"):
        param = re.match(r"\s*\\t?param (\S+?(?:\.\.\.)?)  *(.*)", line)
        head = re.match(HEAD_LINES + r"(.*)", line)
        if param:
            what, throws, thrown = param[2].partition(" Throws: ")
            found.append(["param", f"{param[1]} {what}"])
            found += [["text", f"Throws: {thrown}"]] if throws else []
        elif head:
            found.append(["head", f"{head[1]}: {head[2]}"])
        elif not line.strip():
            found.append(["", ""])
        elif found and found[-1][0] in ("param", "head") and line.startswith("   "):
            found[-1][1] += " " + line.strip()
        elif line.startswith("  "):
            if found and found[-1][0] == "code":
                found[-1][1] += "\n" + line
            else:
                found.append(["code", line])
        elif found and found[-1][0] == "text":
            found[-1][1] += " " + line.strip()
        else:
            found.append(["text", line.strip()])
    return [(kind, text) for kind, text in found if kind]


def sentences(text, is_function):
    """[(phrase or "", what it says)]: the sentences of a paragraph, those with a fixed beginning apart."""
    known = [(word, pattern) for word, pattern in PHRASES if is_function or word != "Returns"]
    begin = "|".join(pattern for _, pattern in known)
    found = []
    for piece in re.split(rf"(?<=[.;)]) +(?={begin})", text):
        for word, pattern in known:
            if re.match(pattern, piece):
                rest = ""
                if word == "Complexity":
                    piece, _, rest = piece.partition(". ")
                piece = re.sub(r"^(Preconditions?: |Throws: |Thread safety: |Returns? )", "", piece)
                found.append((word, re.sub(r"^Whether", "whether", piece)))
                found += [("", rest)] if rest else []
                break
        else:
            found.append(("", piece))
    return found


def whole(text):
    """A sentence where the comment behind a declaration is a part of one."""
    text = text[0].upper() + text[1:] if not text.startswith("`") else text
    return text if text.endswith((".", ":", "?", "!", ")")) else text + "."


def described(comment, is_function):
    """(prose blocks, {phrase: [texts]}, parameters) of a comment."""
    blocks, phrases, params = [], collections.defaultdict(list), []
    for kind, text in paragraphs(comment):
        if kind == "param":
            name, _, what = text.partition(" ")
            params.append(f"- `{name}`: {in_code(what)}")
        elif kind == "head":  # the axis page has a table of the other lines
            if text.startswith("decides: "):
                blocks.append(whole(in_code(text.removeprefix("decides: "))))
        elif kind == "code":
            blocks.append(f"```text\n{text}\n```")
        else:
            plain = []
            for word, said in sentences(text, is_function):
                if word:
                    phrases[word].append(said)
                else:
                    plain.append(said)
            if plain:
                blocks.append(whole(in_code(" ".join(plain))))
    return blocks, phrases, params


# ---- an entry --------------------------------------------------------------------------------------------------------------


def special(one):
    """What is said of a member that every class has, where its comment doesn't."""
    last = one.name.rsplit("::", 1)[-1]
    if one.kind == "function" and one.parent:
        if re.search(r"= delete\s*$", one.signature):
            return "Deleted: can't be copied or moved." if "&" in one.signature else "Deleted."
        if last.startswith("~"):
            return "Ends the object, as the class says."
        if "= default" in one.signature:
            return "Defaulted."
    return ""


def shown_signature(one):
    """Of a concept, its head: what it demands, its comment says."""
    return one.signature.partition(" = ")[0] if one.kind == "concept" else one.signature


def entry(group, level, page_header):
    """The Markdown of all declarations of one name."""
    first = group[0]
    lines = [f"{'#' * level} {first.name}", ""]
    if first.file != page_header and not first.parent:
        lines += [f"{first.kind.capitalize()}, in `tarn/{first.file}`:" , ""]
    signatures = "\n".join(dict.fromkeys(shown_signature(one) for one in group)).split("\n")
    lines += ["```text", *(part for line in signatures for part in textwrap.wrap(
        line, 116, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)), "```", ""]
    said = set()
    for one in group:
        comment = one.comment or special(one)
        if not comment or comment in said:
            continue
        said.add(comment)
        blocks, phrases, params = described(comment, one.kind == "function")
        facts = [f"- {word}: {in_code(text)}" for word, _ in PHRASES for text in phrases[word]]
        if one.kind == "function" and not one.throws and not phrases["Throws"] and "= delete" not in one.signature:
            facts.append("- Throws: nothing")
        lines += [text + "\n" for text in blocks]
        if params or facts:
            lines += [*params, *facts, ""]
    return "\n".join(lines).rstrip() + "\n"


def groups_of(names):
    """The declarations of each name, in order; overloads together, and members behind their class."""
    found = {}
    for one in names:
        found.setdefault(one.name, []).append(one)
    return found


def ordered(groups):
    """The names of a page: each class with its members behind it."""
    tops = [name for name, group in groups.items() if not group[0].parent or group[0].parent not in groups]

    def below(name):
        yield name
        for other, group in groups.items():
            if group[0].parent == name and other != name:
                yield from below(other)

    return [each for top in tops for each in below(top)]


# ---- pages -----------------------------------------------------------------------------------------------------------------


def wrapped(text):
    """Prose in lines of 120 columns. What stands in fences stays as it is."""
    lines, fenced = [], False
    for line in text.split("\n"):
        if line.startswith("```"):
            fenced = not fenced
        if fenced or line.startswith(("#", "|", "<!--", "```")):
            lines.append(line)
        else:
            lines += textwrap.wrap(line, 120, subsequent_indent="  " if line.startswith("- ") else "", break_long_words=False,
                                   break_on_hyphens=False) or [""]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines))


def joined(text):
    """Paragraphs, each on one line."""
    return re.sub(r"(?<!\n)\n(?!\n)", " ", text.strip())


def header_of(page, names):
    """The header that a page is named after."""
    for header in (f"{page}.h", f"allocator/{page}.h", f"policies/{page}.h", f"policies/detail/{page}.h"):
        if os.path.exists(os.path.join(TREE, header)):
            return header
    return names[0].file


def example(name):
    """A program of examples/, or a link to another page that has some."""
    if name.startswith("docs/"):
        return [f"Programs: [{name.removeprefix('docs/')}](../{name.removeprefix('docs/')})."]
    with open(os.path.join(HERE, "examples", name), encoding="utf-8") as file:
        return ["## Example", "", "```cpp run", file.read().rstrip(), "```"]


def page_text(page, names, about):
    header = header_of(page, names)
    groups = groups_of(names)
    lines = [NOTE, f"# {page}", "", f"`#include \"tarn/{about.get('include', header)}\"`", "", joined(about["intro"]), "",
             f"Thread safety: {about['threads'].strip()}", "", f"Complexity: {about['complexity'].strip()}", ""]
    lines += [*example(about["example"]), ""]
    for name in ordered(groups):
        lines += [entry(groups[name], 3 if groups[name][0].parent else 2, header), ""]
    return wrapped("\n".join(lines).rstrip() + "\n")


def macros_text(about, settings):
    lines = [NOTE, "# Settings", "", joined(about["intro"]), "", f"Thread safety: {about['threads'].strip()}", "",
             f"Complexity: {about['complexity'].strip()}", ""]
    for name, what in sorted(settings.items()):
        lines += [f"## {name}", "", "```text", f"#define {name}{what.get('value', '')}", "```", "", what["what"].strip(), ""]
    return wrapped("\n".join(lines).rstrip() + "\n")


KINDS = (("class", "Classes"), ("type", "Types and aliases"), ("concept", "Concepts"), ("enumeration", "Enumerations"),
         ("function", "Functions"), ("constant", "Constants"), ("macro", "Macros"))


def anchor(name):
    return re.sub(r"[^\w\- ]", "", name.lower()).replace(" ", "-")


def index_text(pages, about):
    lines = [NOTE, "# Reference", "", joined(about["intro"]), "", "| page | header | what |", "|---|---|---|"]
    for page in sorted(pages):
        names = pages[page]
        header = header_of(page, names) if names else ""
        row = f"`tarn/{header}`" if header else ""
        lines.append(f"| [{page}]({page}.md) | {row} | {about['pages'][page]['title']} |")
    lines.append("")
    tops = {one.name: one for names in pages.values() for one in names if not one.parent}
    for kind, title in KINDS:
        links = [f"[`{name.removeprefix('tarn::')}`]({one.page}.md#{anchor(name)})" for name, one in sorted(tops.items())
                 if one.kind == kind]
        if kind == "macro":
            links += [f"[`{name}`](settings.md#{anchor(name)})" for name in sorted(about["settings"])]
        lines += [f"## {title}", "", ", ".join(links) + ".", ""]
    return wrapped("\n".join(lines).rstrip() + "\n")


def pages_of(found, about):
    """{path below docs/reference: text} of all pages."""
    pages = collections.defaultdict(list)
    for one in found.names:
        pages[one.page].append(one)
    unknown = sorted(set(pages) ^ (set(about["pages"]) - {"settings"})) + sorted(set(found.settings()) ^ set(about["settings"]))
    if unknown or found.unplaced:
        raise SystemExit("docs/reference/pages.toml and the headers don't have the same pages and settings; write what is "
                         f"missing, or take away what is no more: {', '.join(unknown + found.unplaced)}")
    text = {f"{page}.md": page_text(page, names, about["pages"][page]) for page, names in pages.items()}
    text["settings.md"] = macros_text(about["pages"]["settings"], about["settings"])
    pages["settings"] = []
    text["README.md"] = index_text(pages, about)
    return text


def about_pages():
    with open(os.path.join(HERE, "pages.toml"), "rb") as file:
        return tomllib.load(file)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a page isn't what the headers give")
    options = parser.parse_args()
    wrong = []
    text = pages_of(headers.Headers(TREE), about_pages())
    old = {name for name in os.listdir(HERE) if name.endswith(".md")}
    for name in sorted(old | set(text)):
        path = os.path.join(HERE, name)
        there = ""
        if name in old:
            with open(path, encoding="utf-8") as file:
                there = file.read()
        if there == text.get(name):
            continue
        wrong.append(name)
        if not options.check:
            if name in text:
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text[name])
            else:
                os.remove(path)
    print(f"{len(text)} pages, {len(wrong)} {'differ' if options.check else 'written'}: {' '.join(wrong)}")
    return 1 if options.check and wrong else 0


if __name__ == "__main__":
    sys.exit(main())
