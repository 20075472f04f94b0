#!/usr/bin/env python3
"""The site in headless Chromium, opened without a server: test/site/run --all calls this. The last line is
'N passed, N failed'."""

import os
import subprocess
import sys
import tempfile

from playwright.sync_api import sync_playwright

TREE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(TREE, folder) for folder in ("test/support", "test/site", "test/tools", "docs/site")]
import check_page
import check_site
import compilers
import stage

SITE = "file://" + os.path.join(TREE, "build/site/html/")
WIDE, PHONE = {"width": 1300, "height": 900}, {"width": 390, "height": 844}
PAGES = ["index.html", "docs/chooser.html", "docs/axes/locking.html", "docs/how-to/particles.html", "docs/reference/pool.html",
         "docs/benchmarks.html"]
# Twelve ways through the chooser: {question: answer}, in the order in which they are clicked.
PATHS = [
    {"product": "pool"},
    {"product": "pool", "size": "bytes", "locking": "often", "reuse": "few"},
    {"product": "pool", "size": "run_time", "store": "buffer", "checking": "release"},
    {"product": "pool", "locking": "now_and_then", "exhaustion": "wait", "growth": "limit"},
    {"product": "pool", "store": "resource", "exhaustion": "heap"},
    {"product": "static_pool", "store": "array", "locking": "now_and_then"},
    {"product": "object_pool", "store": "huge", "checking": "sampled"},
    {"product": "object_pool", "store": "pages", "retention": "pages"},
    {"product": "class_new", "checking": "all"},
    {"product": "containers", "locking": "one", "reuse": "close"},
    {"product": "size_class_pool", "locking": "often", "exhaustion": "ask"},
    {"product": "size_class_pool", "store": "array", "checking": "later"},
]


def search_finds(page):
    page.goto(SITE + "index.html")
    page.get_by_placeholder("Search").first.click()
    page.keyboard.type("thread_cached", delay=20)
    found = page.locator(".md-search-result__item a").first
    found.wait_for(timeout=30_000)
    words = page.locator(".md-search-result__list").inner_text()
    return None if "thread_cached" in words else f"it finds: {words[:300]}"


def search_leads(page):
    """From each of the words that people have for it, one of the first three pages is the right one."""
    wrong = []
    for words, wanted in check_site.LED.items():
        page.goto(SITE + "index.html")
        page.get_by_placeholder("Search").first.click()
        page.keyboard.type(words)
        page.locator(".md-search-result__item a").first.wait_for(timeout=30_000)
        page.wait_for_timeout(300)  # the list is shown in pieces
        links_found = page.eval_on_selector_all(".md-search-result__item a", "all => all.map(a => a.href)")
        pages = list(dict.fromkeys(one.removeprefix(SITE).split("?")[0].split("#")[0] for one in links_found))[:3]
        if not any(wanted in one for one in pages):
            wrong.append(f"{words}: {pages}")
    return "\n".join(wrong) or None


def nothing_found(page):
    """The search says so where there is nothing, so that the case above can fail."""
    page.goto(SITE + "index.html")
    page.get_by_placeholder("Search").first.click()
    page.keyboard.type("xyzzyplugh", delay=20)
    page.get_by_text("No matching documents").wait_for(timeout=30_000)
    return "something" if page.locator(".md-search-result__item").count() else None


def copies(page):
    page.goto(SITE + "docs/tutorial.html")
    button = page.locator("button.md-clipboard, .md-code__button").first
    button.wait_for(state="attached", timeout=10_000)
    return None


def toggles(page):
    page.goto(SITE + "index.html")
    seen = []
    for _ in range(2):
        seen.append(page.locator("body").get_attribute("data-md-color-scheme"))
        page.locator("label.md-header__button[for^=__palette]:visible").first.click()
        page.wait_for_timeout(300)
    return None if sorted(seen) == ["default", "slate"] else f"schemes: {seen}"


def fits(page, path):
    """Whether nothing of a page lies beside a phone's screen."""
    page.goto(SITE + path)
    width = page.evaluate("document.scrollingElement.scrollWidth")
    return None if width <= PHONE["width"] else f"{width} pixels wide"


def too_wide(page):
    page.set_content('<div style="width: 500px">.</div>')
    return None if page.evaluate("document.scrollingElement.scrollWidth") > PHONE["width"] else "nothing lies beside the screen"


def chosen(page, answers):
    """Clicks through the chooser; compiles what it shows, and runs it."""
    page.goto(SITE + "docs/chooser.html")
    for question, answer in answers.items():
        page.locator(f'input[name="{question}"][value="{answer}"]').check()
    if page.locator(".chooser-warning").count():
        return page.locator(".chooser-warning").inner_text()
    code = page.locator(".chooser-result pre code").inner_text()
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "chosen")
        with open(program + ".cc", "w", encoding="utf-8") as file:
            file.write(code)
        done = subprocess.run(["g++", "-std=c++20", *compilers.WARNINGS, "-I" + compilers.include_root(), program + ".cc", "-o",
                               program, "-pthread"], capture_output=True, text=True, check=False)
        if done.returncode:
            return code + done.stderr
        ran = subprocess.run([program], capture_output=True, text=True, timeout=60, check=False)
        return None if ran.returncode == 0 else f"{code}exit status {ran.returncode}\n{ran.stderr}"


def warns(page):
    """Answers that can't be combined: the rule, and a link to it that leads somewhere."""
    page.goto(SITE + "docs/chooser.html")
    for question, answer in {"store": "array", "growth": "steps"}.items():
        page.locator(f'input[name="{question}"][value="{answer}"]').check()
    link = page.locator(".chooser-warning a")
    if link.inner_text() != "R3":
        return link.inner_text()
    link.click()
    page.wait_for_timeout(300)
    anchor = page.url.partition("#")[2]
    return None if anchor and page.locator(f'[id="{anchor}"]').count() == 1 else f"{page.url} has no such heading"


def all_pages():
    folder = SITE.removeprefix("file://")
    found = [os.path.relpath(os.path.join(at, name), folder) for at, _, names in os.walk(folder) for name in names]
    moved = {page.removesuffix(".md") + ".html" for page in stage.redirects()}  # they lead on before they can be looked at
    return sorted(path for path in found if path.endswith(".html") and path not in moved | {"404.html"})


def all_fit(page):
    """Every page of the site, of which those above are looked at one by one."""
    wrong = [f"{path}: {what}" for path in all_pages() if (what := fits(page, path))]
    return "\n".join(wrong) or None


def links(page):
    """Every link leads to a file that is there. A folder is none: without a server it would be shown as a listing."""
    wrong = []
    for path in all_pages():
        page.goto(SITE + path)
        for target in page.eval_on_selector_all("a[href]", "all => all.map(a => a.href)"):
            file = target.partition("#")[0].removeprefix("file://")
            if target.startswith("file:") and not os.path.isfile(file):
                wrong.append(f"{path}: {target}")
    return "\n".join(wrong) or None


def advice(page, its=None):
    """tarn-advise's page: all of it is there, sorted and found, and no name is markup."""
    wrong = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    with tempfile.TemporaryDirectory() as folder:
        with open(os.path.join(folder, "advice.html"), "w", encoding="utf-8") as file:
            file.write(check_page.page.page(its or check_page.report()))
        page.goto("file://" + file.name)
        page.wait_for_timeout(300)
        for summary in page.locator("summary").all():
            summary.click()
        text = page.locator("main").inner_text()
        wanted = ["./server --port 8080", "the file ends within block 3", "20.5 ns → 4.25 ns", "DECLARE_MEMORY_POOL(order)",
                  "F13", "tarn::tarn", "jemalloc", "9.8 ns", "libmimalloc.so.2 isn't installed", "thread 2", "20,000",
                  check_page.EVIL]
        wrong += [f"{one} isn't there" for one in wanted if one not in text]
        drawn = page.locator("svg").count(), page.locator("svg rect").count(), page.locator("img").count()
        if drawn[0] != 3 or drawn[1] < 25 or drawn[2]:
            wrong.append(f"{drawn} pictures, bars, images")
        first = page.locator("tbody tr").first
        for column, wanted in (("size", "other.cc:59"), ("site", "never.cc"), ("calls", "order")):
            page.locator("th", has_text=column).last.click()
            if wanted not in first.inner_text():
                wrong.append(f"by {column}: {first.inner_text()}")
        page.get_by_placeholder("find a site").fill("F42)")
        if page.locator("tbody tr").count() != 1:
            wrong.append(f"{page.locator('tbody tr').count()} sites are found")
        width, most = page.evaluate("document.scrollingElement.scrollWidth"), page.viewport_size["width"]
        if width > most:
            wrong.append(f"{width} pixels wide")
    return "\n".join(wrong) or None


def main():
    failed = passed = 0
    with sync_playwright() as tools:
        browser = tools.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        fetched = []

        def run(name, size, act, *more):
            nonlocal failed, passed
            context = browser.new_context(viewport=size)
            page = context.new_page()
            page.on("request", lambda request: fetched.append(request.url))
            try:
                wrong = act(page, *more)
            except Exception as thrown:  # what playwright throws when it waits in vain
                wrong = str(thrown)
            context.close()
            print(("FAIL  " if wrong else "ok    ") + name, flush=True)
            if wrong:
                print("      " + wrong.replace("\n", "\n      "), flush=True)
            failed += bool(wrong)
            passed += not wrong

        run("search finds thread_cached", WIDE, search_finds)
        run(f"search leads from {len(check_site.LED)} words to a page", WIDE, search_leads)
        run("search finds nothing where there is nothing", WIDE, nothing_found)
        run("code can be copied", WIDE, copies)
        run("light and dark", WIDE, toggles)
        run("links", WIDE, links)
        for path in PAGES:
            run(f"{path} fits on a phone", PHONE, fits, path)
        run("every page fits on a phone", PHONE, all_fit)
        run("self-test: a page that doesn't fit", PHONE, too_wide)
        for number, answers in enumerate(PATHS, 1):
            run(f"the chooser, way {number}: {', '.join(answers.values())}", PHONE if number % 2 else WIDE, chosen, answers)
        run("the chooser warns", WIDE, warns)
        run("tarn-advise's page", WIDE, advice)
        run("tarn-advise's page on a phone", PHONE, advice)
        run("self-test: tarn-advise's page without its advice", WIDE, lambda page: None if advice(
            page, {**check_page.report(), "advice": []}) else "nothing is missed")
        outside = [url for url in fetched if not url.startswith(("file:", "data:", "about:", "blob:"))]
        run("nothing was fetched from elsewhere", WIDE, lambda page: "\n".join(outside) or None)
        browser.close()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
