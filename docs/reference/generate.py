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

NOTE = "<!-- generate.py writes this page. -->\n"
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
                piece = re.sub(r"^Preconditions? (\w[^:.]*): ", r"(\1) ", piece)
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


def described(comment, kind):
    """(prose blocks, {phrase: [texts]}, parameters) of a comment. Of a policy, what it decides: its axis' page has the rest.
    Of a class, no example: its product's page has programs."""
    blocks, phrases, params = [], collections.defaultdict(list), []
    is_policy = comment.startswith("decides ")
    for what, text in paragraphs(comment):
        if is_policy and what != "head":
            continue
        if what == "param":
            name, _, meaning = text.partition(" ")
            params.append(f"- `{name}`: {in_code(meaning)}")
        elif what == "head":  # the axis page has a table of the other lines
            if text.startswith("decides: "):
                blocks.append(whole(in_code(text.removeprefix("decides: "))))
        elif what == "code" and kind == "class":
            blocks[-1:] = [block.removesuffix(":").removesuffix(".") + "." for block in blocks[-1:]]
        elif what == "code":
            blocks.append(f"```text\n{text}\n```")
        else:
            plain = []
            for word, said in sentences(text, kind == "function"):
                if word:
                    phrases[word].append(said)
                else:
                    plain.append(said)
            if plain:
                blocks.append(whole(in_code(" ".join(plain))))
    return blocks, phrases, params


# ---- an entry --------------------------------------------------------------------------------------------------------------

LISTED = ("member", "enumerator", "constant", "type")
SHORT = (130, 40)  # of what is a row of its class's list: columns of the signature, words of the comment, at most


AS_OTHERS = re.compile(r"As (of|the standard requires of) [\w:', ()]+\.$")  # the class lists only the names of such members


def is_special(one):
    """Whether it is a member whose signature says all: deleted, defaulted, or a destructor without a comment."""
    return one.kind == "function" and bool(one.parent) and not one.comment and (
        bool(re.search(r"= (delete|default)\s*$", one.signature)) or one.name.rsplit("::", 1)[-1].startswith("~"))


def is_silent(one):
    """Whether the list of its class doesn't have it: what is defaulted or deleted. If copying is, the list says so in words."""
    return is_special(one) and not (one.signature.endswith("= default") and one.name.rsplit("::", 1)[-1] in one.parent)


def is_listed(one):
    """Whether it is a row of its class's list: what isn't called, and functions that are said in a sentence."""
    columns, words = SHORT
    if AS_OTHERS.match(one.comment):
        return True
    if not one.parent or len(shown_signature(one)) > columns or "\n" in one.signature:
        return False
    if re.search(r"^( {2,}|\s*\\t?param )", one.comment, re.MULTILINE):
        return False
    return is_special(one) or one.kind in LISTED or one.kind == "function" and 0 < len(one.comment.split()) <= words


def shown_signature(one):
    """Of a concept, its head: what it demands, its comment says. Of a type and a constant, no value that is computed."""
    head, value = (re.split(r" = |(?=\{)", one.signature, maxsplit=1) + [""])[:2]
    is_computed = one.kind in ("type", "constant") and one.parent and re.search(r"detail::|[{]", value)
    return head if one.kind == "concept" or is_computed else one.signature


def is_for_authors(one):
    """Whether only those who write a policy need it: what it declares, and what the pool calls. Its header describes it."""
    return one.kind == "concept" and one.name.endswith("_policy") or one.kind == "member" and \
        one.parent.endswith("_traits")


def shown_comment(one):
    """Of what only authors of policies need, where it is described."""
    if is_for_authors(one):
        return "For your own policies: the header lists the members that a pool calls."
    if one.kind == "class" and one.name.endswith("_traits"):
        return "What your own type declares: the header says what each means."
    return one.comment


def row_text(comment, kind):
    """What a comment says, in one paragraph."""
    blocks, phrases, _ = described(comment, kind)
    return " ".join([*blocks, *(f"{'Returns' if word == 'Returns' else word + ':'} {in_code(text)}"
                                for word, _ in PHRASES for text in phrases[word])])


def split(group):
    """(rows of the class's list, those with an entry) of the declarations of one name: overloads stay together."""
    rest = [one for one in group if not is_special(one)]
    first = next((one.comment for one in rest if one.comment), "")
    if all(is_listed(one._replace(comment=one.comment or first)) for one in rest):
        return group, []
    return [one for one in group if is_special(one)], rest


def listed_signature(one):
    """The signature in one line; of a member that is described elsewhere, the name."""
    short = one.name.rpartition("::")[2] + ("()" if one.kind == "function" else "")
    return short if AS_OTHERS.match(one.comment) or is_for_authors(one) else shown_signature(one).replace("\n", " ")


def rows(members, about_class):
    """The list of the members that are told in a sentence. Those with one comment share a row, and so do overloads."""
    found, copied = {}, True
    for name, group in groups_of(members).items():
        first = next((one.comment for one in group if one.comment), name)
        for one in split(group)[0]:
            if is_silent(one):
                copied &= "(const " not in one.signature
                continue
            found.setdefault("" if is_special(one) or is_for_authors(one) else one.comment or first, []).append(one)
    lines = []
    for said, those in sorted(found.items(), key=lambda row: row[0] == ""):  # what is deleted comes last
        text = row_text(said, those[0].kind) if said != about_class and said != those[0].name else ""
        code = ", ".join(f"`{each}`" for each in dict.fromkeys(map(listed_signature, those)))
        lines.append(f"* {code}: {text}" if text else f"* {code}")
    return lines + ([] if copied else ["* Can't be copied or moved."])


def heading(names):
    """A heading of several names: from the second on, without the class that they share."""
    first, *more = dict.fromkeys(names)
    scope = first.rpartition("::")[0] + "::"
    return ", ".join([first, *(name.removeprefix(scope) for name in more)])


def short_signature(group):
    """The signature of a declaration that is the only one of its name, if it fits on a line."""
    line = shown_signature(group[0]).replace("\n", " ")
    return line if len({shown_signature(one) for one in group}) == 1 and len(line) <= 110 else ""


def long_signature(group):
    """Lines of at most 116 columns. Of names for types with the same parameters, these once."""
    signatures = "\n".join(dict.fromkeys(shown_signature(one) for one in group)).split("\n")
    if group[0].kind == "type":
        heads = collections.defaultdict(list)
        for one in group:
            *head, name = shown_signature(one).split("\n")
            heads["".join(head)].append(name)
        signatures = [line for head, names in heads.items() for line in [head] * bool(head) + names]
    return [part for line in signatures for part in textwrap.wrap(
        line, 116, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)]


def entry(group, members, page_header):
    """The Markdown of the declarations of one name, or of several that share a comment, and of what its class lists."""
    first = group[0]
    lines = [f"{'###' if first.parent else '##'} {heading(one.name for one in group)}", ""]
    is_apart = first.file != page_header and not first.parent and "/detail/" not in first.file
    place = f" (`tarn/{first.file}`)" if is_apart else ""
    if short := short_signature(group):
        lines += [f"`{short}`{place}", ""]
    else:
        lines += [place.strip(" ()"), "", "```text", *long_signature(group), "```", ""]
    said = set()
    for one in group:
        comment = shown_comment(one)
        if not comment or comment in said:
            continue
        said.add(comment)
        blocks, phrases, params = described(comment, one.kind)
        facts = [f"- {word}: {in_code(text)}" for word, _ in PHRASES for text in phrases[word]]
        lines += [text + "\n" for text in blocks]
        if params or facts:
            lines += [*params, *facts, ""]
    lines += rows(members, first.comment)
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


def entries_of(names):
    """[(declarations, members)]: what a page has an entry for. Neighbours with the same comment, and no members, share one."""
    groups, found = groups_of(names), []
    for name in ordered(groups):
        group = split(groups[name])[1] if groups[name][0].parent else groups[name]
        if not group:
            continue
        members = [one for one in names if one.parent == name]
        before = found[-1] if found else None
        fits = before and len(heading(one.name for one in [*before[0], *group])) <= 116
        if fits and not members and not before[1] and group[0].comment and all(
                (one.comment, one.parent, one.kind, one.file) ==
                (group[0].comment, group[0].parent, group[0].kind, group[0].file) for one in [*before[0], *group]):
            before[0].extend(group)
        else:
            found.append((group, members))
    return found


# ---- pages -----------------------------------------------------------------------------------------------------------------


def wrapped(text):
    """Prose in lines of 120 columns. What stands in fences stays as it is, and so does a signature in a list."""
    lines, fenced = [], False
    for line in text.split("\n"):
        if line.startswith("```"):
            fenced = not fenced
        if fenced or line.startswith(("#", "|", "<!--", "```")):
            lines.append(line)
        else:
            is_row = line.startswith("* ")
            is_code = is_row or line.startswith("`")
            whole_code = re.sub(r"(^\* )?`[^`]*`", lambda code: code[0].replace(" ", "\0"), line) if is_code else line
            lines += [one.replace("\0", " ") for one in textwrap.wrap(
                whole_code, 120, subsequent_indent="  " if line.startswith(("- ", "* ")) else "", break_long_words=False,
                break_on_hyphens=False)] or [""]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines))


def joined(text):
    """Paragraphs, each on one line."""
    return re.sub(r"(?<!\n)\n(?!\n)", " ", text.strip())


def headers_of(page, about):
    """The headers that a page is about: the one that it is named after, and those of the pages that it has taken in."""
    places = [[f"{name}.h", f"allocator/{name}.h", f"policies/{name}.h"] for name in (page, *about.get("with", ()))]
    found = [next((one for one in those if os.path.exists(os.path.join(TREE, one))), "") for those in places]
    return [one for one in found if one]


def example(name):
    """A program of examples/."""
    with open(os.path.join(HERE, "examples", name), encoding="utf-8") as file:
        return ["## Example", "", "```cpp run", file.read().rstrip(), "```", ""]


def head_text(title, includes, about):
    lines = [NOTE, f"# {title}", "", *([", ".join(f"`#include \"tarn/{one}\"`" for one in includes), ""] if includes else []),
             joined(about["intro"]), ""]
    for word, key in (("Thread safety", "threads"), ("Complexity", "complexity")):
        lines += [f"{word}: {about[key].strip()}", ""] if key in about else []
    return lines + (example(about["example"]) if "example" in about else [])


def page_text(page, names, about):
    inside = headers_of(page, about)
    lines = head_text(page, inside, about)
    for group, members in entries_of(names):
        lines += [entry(group, members, inside[0] if len(inside) == 1 else ""), ""]
    return lines


def settings_text(settings):
    lines = []
    for name, what in sorted(settings.items()):
        lines += [f"## {name}", "", "```text", f"#define {name}{what.get('value', '')}", "```", "", what["what"].strip(), ""]
    return lines


KINDS = (("class", "Classes"), ("type", "Types and aliases"), ("concept", "Concepts"), ("enumeration", "Enumerations"),
         ("function", "Functions"), ("constant", "Constants"), ("macro", "Macros"))


def anchor(name):
    return re.sub(r"[^\w\- ]", "", name.lower()).replace(" ", "-")


def index_text(pages, about):
    lines = [NOTE, "# Reference", "", joined(about["intro"]), "", "| page | what |", "|---|---|"]
    lines += [f"| [{page}]({page}.md) | {about['pages'][page]['title']} |" for page in sorted(pages)]
    lines.append("")
    links = collections.defaultdict(dict)
    for page, names in pages.items():
        for group, _ in entries_of(names):
            at = anchor(heading(one.name for one in group))
            named_by_page = group[0].kind == "type" and page in ("containers", "presets")
            for one in group if not group[0].parent and not named_by_page else []:
                links[one.kind][one.name] = f"[`{one.name.removeprefix('tarn::')}`]({page}.md#{at})"
    links["macro"].update({name: f"[`{name}`](settings.md#{anchor(name)})" for name in about["settings"]})
    for kind, title in KINDS:
        lines += [f"## {title}", "", ", ".join(links[kind][name] for name in sorted(links[kind])) + ".", ""]
    return lines


def pages_of(found, about):
    """{path below docs/reference: text} of all pages."""
    joins = {name: page for page, what in about["pages"].items() for name in what.get("with", ())}
    pages = collections.defaultdict(list)
    for one in sorted(found.names, key=lambda one: list(joins).index(one.page) if one.page in joins else -1):
        pages[joins.get(one.page, one.page)].append(one)
    unknown = sorted(set(pages) ^ set(about["pages"])) + sorted(set(found.settings()) ^ set(about["settings"])) + \
        sorted(set(joins) - {one.page for one in found.names})
    if unknown or found.unplaced:
        raise SystemExit("docs/reference/pages.toml and the headers don't have the same pages and settings; write what is "
                         f"missing, or take away what is no more: {', '.join(unknown + found.unplaced)}")
    text = {f"{page}.md": page_text(page, names, about["pages"][page]) for page, names in pages.items()}
    text["settings.md"] += settings_text(about["settings"])
    text["README.md"] = index_text(pages, about)
    return {name: wrapped("\n".join(lines).rstrip() + "\n") for name, lines in text.items()}


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
