#!/usr/bin/env python3
"""tools/tarn-map on a core dump of specimen.cc and on the example of the particles: the numbers are those that the programs
say; the picture and the page hold them; what is wrong is said. With --browser, the page is used in Chromium.

usage: check_map.py [--browser]
"""

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree

FOLDER = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(FOLDER, "../..")
sys.path[:0] = [os.path.join(ROOT, "test/support"), os.path.join(ROOT, "tools"), FOLDER]
sys.dont_write_bytecode = True

import check_debugger
import compilers
from tarn_map import maps, picture

TOOL = os.path.join(ROOT, "tools/tarn-map")


def tool(root, *words):
    return subprocess.run([sys.executable, "-B", TOOL, *words], cwd=root, capture_output=True, text=True,
                          timeout=check_debugger.SECONDS, check=False)


def check_core(results, root):
    program = check_debugger.built(root, "g++", "-O2")
    said, core = check_debugger.dumped(root, program, "")
    pools = {name: (int(used), int(capacity)) for name, used, capacity in
             re.findall(r"^pool (?!arena)(\S+) (\d+) (\d+)$", said, re.MULTILINE)}  # a map has no arenas
    done = tool(root, "--program", program, "--core", core)
    seen = {name: counts for name, counts in re.findall(r"^map 1: (\S+): (.*)$", done.stdout, re.MULTILINE)}
    used = {name: int((re.search(r"in use (\d+)", counts) or [0, 0])[1]) for name, counts in seen.items()}
    all_blocks = {name: sum(int(n) for n in re.findall(r" (\d+)(?:,|$)", counts)) for name, counts in seen.items()}
    results.check(f"a core dump: {len(seen)} pools", len(seen) == len(pools) >= 15 and
                  all(used[name] == pools[name][0] and all_blocks[name] == pools[name][1] for name in pools),
                  f"{done.stdout}{done.stderr}\n{pools}")
    results.check("a magazine's blocks", "free, in a thread's magazine 41" in seen.get("cached", ""), str(seen.get("cached")))
    lldb = check_debugger.asked(root, check_debugger.LLDB, program, core, ["tarn map by_lldb.json"])
    tool(root, "--program", program, "--core", core, "--html", "all.html")
    by_lldb = tool(root, "by_lldb.json").stdout
    results.check("lldb's map is gdb's", by_lldb == done.stdout, "\n".join(lldb) + by_lldb)
    return program, core


def check_game(results, root):
    """Maps at a breakpoint, at the end of each level; the program says how many particles there are then."""
    subprocess.run(["g++", "-std=c++20", "-g", "-O2", "-I.", "tarn/examples/game.cc", "-o", "game", "-pthread"], cwd=root,
                   check=True, timeout=check_debugger.SECONDS)
    at_end = subprocess.run(["./game"], cwd=root, capture_output=True, text=True, check=True).stdout
    wanted = [int(n) for n in re.findall(r"(\d+) at its end", at_end)]
    steps = ["break particle_system::clear", "run > /dev/null"] + ["pool map game.json particles", "continue"] * len(wanted)
    check_debugger.run(["gdb", "-q", "-batch", "-ex", f"source {ROOT}/tools/gdb/tarn.py",
                        *(word for step in steps for word in ("-ex", step)), "game"], root)
    found = maps.read(os.path.join(root, "game.json"))
    used = [one.pools[0].counts()["u"] for one in found]
    results.check(f"the particles, {len(found)} maps", used == wanted and len(wanted) == 3, f"{used}, {wanted}")
    done = tool(root, "game.json", "--svg", "game.svg", "--html", "game.html")
    results.check("a picture and a page are written", done.returncode == 0 and "game.svg written" in done.stdout, done.stderr)
    return found


def may_attach():
    """Whether the system lets gdb look at a process that isn't its own child."""
    try:
        with open("/proc/sys/kernel/yama/ptrace_scope", encoding="utf-8") as file:
            return os.geteuid() == 0 or file.read().strip() == "0"
    except OSError:
        return True


def check_service(results, root):
    """A process that works on meanwhile: each order has a note, whenever one looks."""
    if not may_attach():
        print("-     a running process isn't looked at: the system doesn't allow it")
        return
    subprocess.run(["g++", "-std=c++20", "-g", "-O2", "-I.", "tarn/examples/service.cc", "-o", "service", "-pthread"], cwd=root,
                   check=True, timeout=check_debugger.SECONDS)
    with subprocess.Popen(["./service", "socket"], cwd=root, stdin=subprocess.DEVNULL) as service:
        try:
            said = ""
            while "orders: in use" not in said and service.poll() is None:  # until it has begun
                said = tool(root, "--program", "service", "--pid", str(service.pid), "--times", "2", "--every", "0.2").stdout
            used = {name: int(n) for name, n in re.findall(r"^map 2: (\S+): in use (\d+)", said, re.MULTILINE)}
            results.check("a service that works on", abs(used.get("orders", -9) - used.get("texts/32", 9)) <= 1, said)
        finally:
            service.terminate()
    results.check("it ends as it should", service.returncode == 0, str(service.returncode))


def check_picture(results, root, found):
    tree = xml.etree.ElementTree.parse(os.path.join(root, "game.svg")).getroot()
    words = "".join(tree.itertext())
    counts = found[-1].pools[0].counts()
    results.check("the picture's legend has the numbers", all(f"{maps.STATES[letter][0]}: {n}" in words
                                                              for letter, n in counts.items() if n), words[:500])
    small = maps.Pool("small", 64, 64, 0, "", [maps.Chunk(4096, [("u", 3), ("f", 2), ("n", 5)])])
    drawn = xml.etree.ElementTree.fromstring(picture.svg(small, ""))
    fills = [one.get("fill") or one.get("class") for one in drawn.iter("{http://www.w3.org/2000/svg}rect")]
    results.check("a cell for each block", [fills.count(maps.STATES[letter][1]) for letter in "uf"] == [4, 3] and
                  fills.count("n") == 6, str(fills))  # and one each in the legend
    results.check("a cell of many blocks", picture.cells(maps.Chunk(0, [("u", 10), ("f", 5), ("n", 1)]), 4) ==
                  ["u", "u", "u", "f"], str(picture.cells(maps.Chunk(0, [("u", 10), ("f", 5), ("n", 1)]), 4)))
    million = maps.Pool("<million>", 64, 64, 0, "", [maps.Chunk(0, [("u", 500_000), ("f", 500_000)])])
    text = picture.svg(million, "")
    results.check("a million blocks: a small picture, and its name", len(text) < 1_000_000 and "&lt;million&gt;" in text and
                  "a cell is 25 blocks" in text, text[:300])


def check_mistakes(results, root, program, core):
    def fails(name, words, said):
        done = tool(root, *words)
        results.check(name, done.returncode == 2 and said in done.stderr and "Traceback" not in done.stderr,
                      f"{done.returncode} {done.stderr}")

    with open(os.path.join(root, "cut.json"), "w", encoding="utf-8") as file, \
            open(os.path.join(root, "game.json"), encoding="utf-8") as whole:
        file.write(whole.readline()[:500])
    for name, text in (("other", '{"version":2,"pools":[]}'), ("empty", ""), ("state", json.dumps({
            "version": 1, "label": "1", "pools": [{"name": "a", "block_size": 8, "stride": 8, "run": 0, "policies": "",
                                                   "chunks": [{"first": "0x10", "states": "u1x2"}]}]}))):
        with open(os.path.join(root, name + ".json"), "w", encoding="utf-8") as file:
            file.write(text)
    fails("a file that was cut off", ["cut.json"], "cut.json: line 1 is no map")
    fails("another version", ["other.json"], "it has version 2; this program reads version 1")
    fails("no map", ["empty.json"], "there is no map in it")
    fails("an unknown state", ["state.json"], "'x' is no state that this program knows")
    fails("no file", ["none.json"], "none.json: No such file or directory")
    fails("no pool of that name", ["game.json", "--pool", "nobody"], "no pool is called nobody")
    fails("neither a file nor a program", [], "name a file of maps, or --program")
    fails("no core dump", ["--program", program, "--core", "none"], "gdb couldn't look at the pools")
    fails("a program that isn't there", ["--program", "none", "--core", core], "none: no such program")
    fails("a folder that isn't there", ["game.json", "--svg", "none/a.svg"], "none/a.svg: No such file or directory")
    helped = tool(root, "--help")
    results.check("--help", helped.returncode == 0 and "examples:" in helped.stdout, helped.stderr)


def check_browser(results, root):
    """Hover, zoom, slider, another pool; light and dark."""
    from playwright.sync_api import sync_playwright  # only for this
    with sync_playwright() as tools:
        browser = tools.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        for scheme in ("light", "dark"):
            page = browser.new_page(viewport={"width": 1000, "height": 700}, color_scheme=scheme)
            faults = []
            page.on("pageerror", lambda error, faults=faults: faults.append(str(error)))
            page.goto("file://" + os.path.join(root, "game.html"))
            results.check(f"{scheme}: the legend", "in use: 5,425" in page.inner_text("#legend"), page.inner_text("#legend"))
            page.mouse.move(6, 80)
            tip = page.inner_text("#tip")
            results.check(f"{scheme}: the pointer tells of a block",
                          re.search(r"^0x[0-9a-f]+\nblock \d+ of chunk 0x", tip), tip)
            page.evaluate("document.getElementById('slider').value = 2; document.getElementById('slider').oninput()")
            results.check(f"{scheme}: the slider", "in use: 5,364" in page.inner_text("#legend") and
                          page.inner_text("#label") == "3", page.inner_text("#legend"))
            page.click("#fit")
            before = page.evaluate("zoom")
            page.mouse.move(300, 300)
            page.mouse.wheel(0, -300)
            page.wait_for_function(f"zoom > {before}")
            page.click("#fit")
            results.check(f"{scheme}: zoom, and back", page.evaluate("zoom") == before and not faults, str(faults))
            page.goto("file://" + os.path.join(root, "all.html"))
            page.select_option("#pool", "cached")
            results.check(f"{scheme}: another pool", "thread's magazine: 41" in page.inner_text("#legend"),
                          page.inner_text("#legend"))
        browser.close()


def main():
    results = compilers.Results()
    root = compilers.include_root()
    program, core = check_core(results, root)
    found = check_game(results, root)
    if "--browser" in sys.argv[1:]:
        check_browser(results, root)
    else:
        check_service(results, root)
        check_picture(results, root, found)
        check_mistakes(results, root, program, core)
    return results.report()


if __name__ == "__main__":
    sys.exit(main())
