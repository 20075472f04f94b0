#!/usr/bin/env python3
"""The site of the documents, and the chooser: test/site/run calls this. The last line is 'N passed, N failed'.

The site: it builds, with every link and anchor checked, and no page loads anything from elsewhere. The chooser: each answer and
each pair of answers, for each product, compiles, or is refused by the compiler with the rule that the chooser names.
--all: what takes a browser, too: browser.py.
"""

import concurrent.futures
import itertools
import json
import os
import re
import subprocess
import sys
import tempfile

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TREE, "test/support"), os.path.join(TREE, "docs/site")]
import chooser_data
import compilers
import stage

HTML = os.path.join(TREE, "build/site/html")
EVERY = 1 if "--all" in sys.argv[1:] else 9  # of the pairs that compile, as many are compiled
RULE = re.compile(r"tarn: \[([A-Z]\d+)\]")
LEAST = 1400  # compositions


# ---- the site

def build():
    done = subprocess.run(["docs/site/run", "--build-only"], cwd=TREE, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr if done.returncode else None


def pages():
    return sorted(os.path.join(at, name) for at, _, names in os.walk(HTML) for name in names if name.endswith(".html"))


def loads_from_elsewhere(page):
    """What a page would fetch from another host, or None. Links that a reader may click don't count."""
    with open(page, encoding="utf-8") as file:
        text = file.read()
    found = re.findall(r"""<(?:script|img|iframe|source)\b[^>]*\bsrc=["']?(https?:[^"'\s>]+)""", text)
    found += re.findall(r"""<link\b(?![^>]*rel=["']?(?:canonical|next|prev))[^>]*\bhref=["']?(https?:[^"'\s>]+)""", text)
    return f"{os.path.relpath(page, HTML)} loads {found[0]}" if found else None


def strict(text):
    """Whether MkDocs accepts a page, as it is set up for the site."""
    with tempfile.TemporaryDirectory() as folder:
        os.makedirs(os.path.join(folder, "pages"))
        for name, words in (("index.md", text), ("other.md", "# Other\n\n## There\n")):
            with open(os.path.join(folder, "pages", name), "w", encoding="utf-8") as file:
                file.write(words)
        with open(os.path.join(TREE, "docs/site/mkdocs.yml"), encoding="utf-8") as file:
            settings = file.read().replace("extra_css:\n  - site/site.css\n", "")
        with open(os.path.join(folder, "mkdocs.yml"), "w", encoding="utf-8") as file:
            file.write(settings + "nav:\n  - index.md\n  - other.md\n")
        return subprocess.run([sys.executable, "-B", "-m", "mkdocs", "build", "--strict", "--site-dir", folder + "/html"],
                              cwd=folder, env={**os.environ, "PYTHONPATH": os.path.join(TREE, "build/site/python")},
                              capture_output=True, check=False).returncode == 0


def leads_nowhere(old, new):
    """What is wrong with a page that has become part of another, or None."""
    page, _, anchor = new.partition("#")
    if os.path.exists(os.path.join(TREE, old)):
        return f"{old} is there"
    with open(os.path.join(HTML, old[:-len(".md")] + ".html"), encoding="utf-8") as file:
        there = re.search(r"url=([^\"]+)", file.read())[1].partition("#")[0]
    there = os.path.normpath(os.path.join(HTML, os.path.dirname(old), there))
    if not os.path.exists(there) or not os.path.exists(os.path.join(TREE, page)):
        return f"{old} leads to {there}, which isn't there"
    with open(there, encoding="utf-8") as file:
        return None if not anchor or f'id="{anchor}"' in file.read() else f"{new}: no such heading"


def unlisted():
    """What stage.py says where docs/README.md doesn't name a page that is there."""
    entries = [(None, [(None, page) for page in stage.pages_of("docs")[1:]])]
    kept = stage.navigation
    stage.navigation = lambda: entries
    try:
        with tempfile.TemporaryDirectory() as folder:
            stage.stage(os.path.join(folder, "source"))
    except stage.Unlisted as wrong:
        return str(wrong)
    finally:
        stage.navigation = kept
    return ""


def site_cases():
    same = compilers.same
    cases = [("the site builds", build())]
    found = pages()
    cases.append(("at least 90 pages", None if len(found) >= 90 else f"{len(found)} pages"))
    wrong = [one for one in map(loads_from_elsewhere, found) if one]
    cases.append((f"{len(found)} pages load nothing from elsewhere", "\n".join(wrong) or None))
    moved = stage.redirects()
    wrong = [one for one in itertools.starmap(leads_nowhere, moved.items()) if one]
    cases.append((f"{len(moved)} old pages lead to new ones", "\n".join(wrong) or None))
    cases = [(name, lambda wrong=wrong: wrong) for name, wrong in cases]
    with tempfile.TemporaryDirectory() as folder:
        page = os.path.join(folder, "page.html")
        with open(page, "w", encoding="utf-8") as file:
            file.write('<script src="https://example.org/x.js"></script>')
        cases.append(same("a page that loads a script from elsewhere", loads_from_elsewhere(page) is None, False))
    return cases + [
        same("right links", strict("# A\n\n[other](other.md#there)\n"), True),
        same("a link to no page", strict("# A\n\n[other](another.md)\n"), False),
        same("a link to no heading", strict("# A\n\n[other](other.md#here)\n"), False),
        same("a page that docs/README.md leaves out", "no table of docs/README.md leads to it" in unlisted(), True),
    ]


# ---- the search

# Names as a reader types them, and what the first page that is found must have.
SEARCHED = {word: word for word in """
    shared_ptr hive monotonic_buffer_resource unordered_map allocate_shared thread_cached mutex_locking lock_free static_size
    static_array_store page_store geometric_growth try_allocate memory_resource object_pool named TARN_CHECK xmalloc
    descriptor observing_thread""".split()}
SEARCHED |= {"plf::hive": "hive", "std::pmr::vector": "vector", "tarn::object_pool": "object_pool", "named<": "named",
             "operator new": "operator"}
# What people call it who don't know tarn's word, and a page that must be among the first three.
LED = {
    "slab": "vocabulary", "arena": "products/arena", "freelist": "vocabulary", "bump allocator": "comparison",
    "node allocator": "products/containers", "scratch": "vocabulary", "frame allocator": "how-to/compose",
    "object cache": "products/objects", "fragmentation": "vocabulary", "memory leak": "how-to/leaks", "double free": "misuse",
    "use after free": "misuse", "thread-local cache": "vocabulary", "real-time": "choosing", "RTOS": "firmware",
    "LD_PRELOAD": "how-to/malloc", "malloc replacement": "how-to/malloc", "huge pages": "axes/store", "out of memory": "errors",
    "quota": "vocabulary", "interrupt": "how-to/interrupts", "coroutine": "how-to/coroutines",
    "std::pmr": "products/memory-resource",
    "boost pool": "migration/boost-pool", "prometheus": "how-to/watch", "fork": "axes/locking", "handles": "products/objects",
    "unique_ptr": "object_pool", "signal handler": "how-to/interrupts", "alignment": "size",
}
NOWHERE = "zzqqzz"


def searched():
    """{words: None, or where it was found, and which words of the first are marked}, by the theme's own script."""
    command = ["node", os.path.join(TREE, "test/site/search.js"), HTML, *SEARCHED, *LED, NOWHERE]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def search_cases():
    found = searched()
    wrong = {words: found[words] for words, marked in SEARCHED.items()
             if not found[words] or marked.lower() not in found[words][1]}
    lost = {words: found[words] and found[words][0] for words, page in LED.items()
            if not found[words] or not any(page in one for one in found[words][0])}
    return [(f"search finds {len(SEARCHED)} names", lambda: str(wrong) if wrong else None),
            (f"search leads from {len(LED)} words to a page", lambda: str(lost) if lost else None),
            compilers.same("search finds nothing where there is nothing", found[NOWHERE], None)]


# ---- the chooser

def compositions():
    command = ["node", os.path.join(TREE, "test/site/compositions.js"), TREE]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


def name_of(one):
    return ", ".join(f"{question} {answer}" for question, answer in one["choice"].items() if answer != "default")


class Compiling:
    """Compiles what the chooser says, several in a file: what is refused is compiled again alone."""

    def __init__(self, headers):
        self.root = compilers.include_root()
        self.flags = compilers.precompiled("g++", self.root, headers)

    def rules(self, number, some):
        """The rules that refuse any of these; None: they compile."""
        text = "".join(f"namespace n{at} {{\n{inside(one['code'])}}}\n" for at, one in enumerate(some))
        source = os.path.join(self.root, f"chosen{number}.cc")
        with open(source, "w", encoding="utf-8") as file:
            file.write(text)
        command = ["g++", "-std=c++20", "-I.", *self.flags, "-fsyntax-only", source]
        done = subprocess.run(command, cwd=self.root, capture_output=True, text=True, check=False)
        return (set(RULE.findall(done.stderr)) or {done.stderr[:500]}) if done.returncode else None


def inside(code):
    """A program as a part of another: without its includes, with another name for main()."""
    return re.sub(r"#include.*\n", "", code).replace("int main()", "inline void run()")


def wrong_with(one, rules):
    """What is wrong with what the chooser says of a composition, or None."""
    if one["rule"] is None:
        return f"{name_of(one)}: the chooser says that it compiles; {', '.join(sorted(rules))}" if rules else None
    if rules is None:
        return f"{name_of(one)}: the chooser names {one['rule']}, but it compiles"
    return None if one["rule"] in rules else f"{name_of(one)}: the chooser names {one['rule']}, the compiler {sorted(rules)}"


def chooser_cases():
    found = compositions()
    headers = ["memory_resource"] + sorted({header for one in found for header in one["headers"]})
    compiling = Compiling([header for header in headers if "/" in header])
    good = [one for one in found if one["rule"] is None][::EVERY]
    bad = [one for one in found if one["rule"] is not None]
    few = [next(one for one in bad if one["rule"] == rule) for rule in sorted({one["rule"] for one in bad})]
    bad = bad if EVERY == 1 else few + bad[::EVERY]
    batches = [good[at:at + 12] for at in range(0, len(good), 12)]

    def batch(number):
        if compiling.rules(f"b{number}", batches[number]) is None:
            return []
        alone = [(one, compiling.rules(f"b{number}_{at}", [one])) for at, one in enumerate(batches[number])]
        return [wrong_with(*one) for one in alone]

    with concurrent.futures.ThreadPoolExecutor(2) as workers:
        wrong = [one for some in workers.map(batch, range(len(batches))) for one in some if one]
        refused = workers.map(lambda at: wrong_with(bad[at], compiling.rules(f"r{at}", [bad[at]])), range(len(bad)))
        wrong += [one for one in refused if one]
    same = compilers.same
    least = None if len(found) >= LEAST else f"{len(found)} compositions"
    return [
        (f"{len(found)} compositions", lambda: least),
        (f"{len(good)} of them compile, {len(bad)} are refused by {len(few)} rules", lambda: "\n".join(wrong) or None),
        same("a rule that doesn't refuse", wrong_with({**good[0], "rule": "R3"}, None) is None, False),
        same("a refusal that nobody told", wrong_with(good[0], {"R3"}) is None, False),
        same("another rule", wrong_with({**good[0], "rule": "R3"}, {"R4"}) is None, False),
        same("six rules at least", len(few) >= 6, True),
        same("each rule has its words", all(one["says"] for one in chooser_data.data(TREE)["conflicts"]), True),
    ]


def main():
    os.chdir(TREE)
    return compilers.report(site_cases() + search_cases() + chooser_cases())


if __name__ == "__main__":
    sys.exit(main())
