#!/usr/bin/env python3
"""Finds prose in documents and comments that a native reader stumbles over. A page may have as many hits as prose.txt says, and
no more; if it has fewer, prose.txt must be written again.

  check_prose.py              checks README, CONTRIBUTING, docs, comments of headers; the last line is 'N passed, N failed'
  check_prose.py write        writes prose.txt
  check_prose.py show FILE…   prints each hit of these files

Rules: word (a list of phrases with what to write instead), sentence (over 35 words), cell (over 25 words in a cell of a table),
heading (the same one twice on a page). Code, what stands in backticks and targets of links aren't prose.
"""

import collections
import glob
import os
import re
import sys

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", ".."))
sys.path[:0] = [os.path.join(ROOT, "test", "support")]
import compilers

KNOWN = "test/docs/prose.txt"
SENTENCE, CELL = 35, 25  # words

THINGS = ("(?:pools?|threads?|process|program|objects?|budget|calls?|chunks?|blocks?|containers?|owners?|source|library|fork|"
          "reservation|magazine|resource|batch|level|job|it|they)")
# (what is found, what to write, an example)
WORDS = [
    (rf"{THINGS}(?: that)?(?: has| have)? (?:ends|ended)\b(?! (?:in|up|on)\b)", "is destroyed, exits, returns", "a pool ends"),
    (r"\b[Mm]ade and ended\b|\bmake and end\b|\bended (?:threads?|pools?|objects?)\b", "destroyed", "ended threads"),
    (r"(?<!null )(?<!byte )\b(?:at|before|after|until|with) (?:its|their|the pool's|a pool's) end\b", "when it is destroyed",
     "at its end"),
    (r"\b(?:is|are|was|were|be|been) told\b(?! (?:apart|from)\b)", "is reported, is notified", "who is told"),
    (r"\b(?:stands|stand)\b(?!-)(?! (?:for|alone|by|out|in the way)\b)", "is, is listed", "it stands there"),
    (r"(?<!address )(?<!addresses )\b(?:lies|lie)\b(?! (?:within|close|next|apart|side|outside|inside|between|beyond)\b)",
     "is, is stored", "where it lies"),
    (r"\b[Ss]o many\b(?! (?:that|of)\b)", "N, that many", "of so many bytes"),
    (r"\b(?:for|of|by|from|but|than|is|and) who\b|(?:^|[.;:|,] )[Ww]ho (?!\w+ed\b)\w+s\b(?![^.|]*\?)|\b[Ww]hoever\b",
     "anyone who, the thread that", "whoever asks"),
    (r"(?:: |^)[Uu]ndefined(?=[.;]|$)", "is undefined behaviour", "no lock: undefined."),
    (r"\b[Ss]hall\b", "should, must", "it shall go"),
    (r"(?<=[a-z,] )meanwhile\b", "during this", "others run meanwhile"),
    (r"\bbesides(?=[.,;:)]|$)|\bbeside\b", "as well, next to", "one beside it"),
    (r"\bin turns\b", "alternately", "run in turns"),
    (r"\b(?:can|could|may|can't|couldn't|all|still) be had\b", "is available", "no block can be had"),
    (r"\b(?:an?|the) \w+ of (?:yours|theirs)\b", "your own", "a handler of yours"),
    (r"\bwholly\b", "completely", "wholly free"),
    (r"\b(?:pools?|chunks?|objects?|budget|threads?|blocks?) (?:is|are|was|were|that (?:is|are)) made\b", "is created",
     "the pool is made"),
    (r"\b(?:is|are|was|were|been) tried\b(?! again)", "is tested", "it is tried with"),
    (r"\b(?:hears?|heard) (?:of|about)\b", "is notified of", "it hears of each"),
    (r"\b(?:is|are|was|be|isn't|aren't) (?:not )?looked at\b", "is checked, is inspected", "it is looked at"),
    (r"\b[Nn]obody's\b", "no thread's", "nobody's block"),
    (r"\bprocessor time\b", "CPU time", "the processor time"),
    (r"(?<=[a-z])(?<!now and)(?<!until)(?<!before)(?<!since)(?<!by) then(?=[.;)]|$)", "in that case", "it is free then."),
    (r", too,", "also, even", "in it, too, and"),
]
PATTERNS = [(re.compile(pattern, re.MULTILINE), better) for pattern, better, _ in WORDS]

Hit = collections.namedtuple("Hit", "line rule text")


def plain(text):
    """Without marks: code is one word, a link is its text."""
    text = re.sub(r"``[^`]+``|`[^`]*`", "CODE", text)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"\*\*|(?<!\w)\*|\*(?!\w)", "", text)


def count_words(text):
    return len(re.findall(r"[\w'’.,%/×-]*\w[\w'’%/-]*", text))


def sentences(text):
    return re.split(r"(?<=[.!?])[)\"]?\s+(?=[A-Z(\"*])", re.sub(r"\b(e\.g|i\.e|vs)\.", r"\1", text))


def blocks(lines):
    """(first line, kind, text) of a page: headings, cells, paragraphs."""
    fenced, start, buffer = False, 0, []
    for number, line in enumerate(lines + [""], 1):
        bare = line.strip()
        mark = bare.startswith(("```", "~~~"))
        item = re.match(r"(?:[-*+]|\d+\.)\s+", bare)
        if buffer and (mark or item or not bare or bare.startswith(("#", "|", "<!--"))):
            yield start, "text", " ".join(buffer)
            buffer = []
        if mark:
            fenced = not fenced
        elif fenced or not bare or bare.startswith("<!--") or re.fullmatch(r"[|\s:-]+", bare):
            continue
        elif bare.startswith("#"):
            yield number, "heading", bare.lstrip("#").strip()
        elif bare.startswith("|"):
            row = re.sub(r"`[^`]*`", "`x`", bare.strip("|")).replace("\\|", "")
            yield from ((number, "cell", cell.strip()) for cell in row.split("|"))
        else:
            start = start if buffer else number
            buffer.append(bare[item.end():] if item else bare)


def comments(lines):
    """The same of a header: its comments, without code in them."""
    start, buffer = 0, []
    for number, line in enumerate(lines + [""], 1):
        found = re.match(r"\s*//[/!]?<?( ?)(.*)$", line)
        text = found[2] if found else ""
        is_code = re.match(r"\s{2,}\S|namespace|\}|----", text) or re.search(r"[;{}]\s*(?://.*)?$", text)
        parameter = re.match(r"\s*(?:\\t?(?:param|return)|(?:decides|costs|conflicts|use when) {2})", text)
        if buffer and (not text.strip() or is_code or parameter):
            yield start, "text", " ".join(buffer)
            buffer = []
        if text.strip() and not is_code:
            start = start if buffer else number
            buffer.append(re.sub(r"^\s*\\t?param \w+\s*|^(?:decides|costs|conflicts|use when)\s+", "", text).strip())


def hits_of(path, text):
    lines, found, headings = text.split("\n"), [], set()
    for line, kind, raw in (comments if path.endswith(".h") else blocks)(lines):
        prose = plain(raw)
        if kind == "heading" and prose.lower() in headings:
            found.append(Hit(line, "heading", f'"{prose}" is there twice'))
        headings |= {prose.lower()} if kind == "heading" else set()
        for pattern, better in PATTERNS:
            found += [Hit(line, "word", f'"{one[0].strip(" .;:|")}" -> {better}') for one in pattern.finditer(prose)]
        if kind == "cell" and count_words(prose) > CELL:
            found.append(Hit(line, "cell", f"{count_words(prose)} words: {prose[:70]}"))
        if kind != "heading":
            found += [Hit(line, "sentence", f"{count_words(one)} words: {one[:70]}") for one in sentences(prose)
                      if count_words(one) > SENTENCE and one.count("CODE") * 2 < count_words(one)]
    return found


def counted():
    """{(page, rule): hits}. Comments count together, by their folder."""
    counts = collections.Counter()
    for path in ["README.md", "CONTRIBUTING.md"] + sorted(glob.glob("docs/**/*.md", recursive=True)):
        counts.update((path, hit.rule) for hit in hits_of(path, read(path)))
    for folder in ("allocator", "policies"):
        for path in sorted(glob.glob(f"{folder}/**/*.h", recursive=True)):
            counts.update((folder, hit.rule) for hit in hits_of(path, read(path)))
    return counts


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def known():
    rows = (line.rsplit(None, 2) for line in read(KNOWN).splitlines() if not line.startswith("#"))
    return {(path, rule): int(count) for path, rule, count in rows}


def compare(now, then):
    """(what became worse, what became better)"""
    rows = [(" ".join(one), now.get(one, 0), then.get(one, 0)) for one in sorted(set(now) | set(then))]
    return ([f"{row}: {is_now}, and {was} before" for row, is_now, was in rows if is_now > was],
            [f"{row}: {is_now} of {was}" for row, is_now, was in rows if is_now < was])


def self_tests():
    def rules(text, path="x.md"):
        return [hit.rule for hit in hits_of(path, text)]

    long = "word " * 30
    same = compilers.same
    return [
        *(same(f"{example!r} is found", "word" in rules(example + "\n"), True) for _, _, example in WORDS),
        same("code and targets aren't prose", rules("`a pool ends` [page](a_pool_ends.md)\n\n```\na pool ends\n```\n"), []),
        same("a long sentence", rules(f"A {long}{long}.\n"), ["sentence"]),
        same("a long cell", rules(f"| a |\n|---|\n| {long} |\n"), ["cell"]),
        same("a heading twice", rules("## One\n\n## one\n"), ["heading"]),
        same("a comment", rules("int a;  // a pool ends here\n/// When a pool ends, it goes.\n", "x.h"), ["word"]),
        same("more than before", compare({("a", "word"): 2}, {("a", "word"): 1})[0], ["a word: 2, and 1 before"]),
        same("fewer than before", compare({}, {("a", "word"): 1}), ([], ["a word: 0 of 1"])),
    ]


def main():
    os.chdir(ROOT)
    command, *files = sys.argv[1:] or [""]
    if command == "show":
        for path in files:
            print("".join(f"{path}:{hit.line}: {hit.rule}: {hit.text}\n" for hit in hits_of(path, read(path))), end="")
        return 0
    now = counted()
    if command == "write":
        with open(KNOWN, "w", encoding="utf-8") as file:
            file.write("# What check_prose.py finds: a page, or all comments of a folder, a rule, how often. Written by it.\n")
            file.write("".join(f"{' '.join(one)} {now[one]}\n" for one in sorted(now)))
        return 0
    worse, better = compare(now, known())
    return compilers.report(self_tests() + [
        ("no page became worse", lambda: "\n".join(worse) or None),
        ("prose.txt is up to date", lambda: "\n".join(better + ["write it: check_prose.py write"]) if better else None)])


if __name__ == "__main__":
    sys.exit(main())
