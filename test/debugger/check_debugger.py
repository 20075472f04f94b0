#!/usr/bin/env python3
"""Drives the real gdb and the real lldb on core dumps of specimen.cc, which says itself what is in its pools: what the scripts
of tools/gdb and tools/lldb tell must be the same, also for optimised programs, by two compilers. So must the maps of
tools/tarn-map, of a core dump and of the examples; the picture and the page hold them; what is wrong is said.

usage: check_debugger.py [--browser]    with --browser, only the page, used in Chromium
"""

import concurrent.futures
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree

FOLDER = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(FOLDER, "../..")
sys.path[:0] = [os.path.join(ROOT, "test/support"), os.path.join(ROOT, "tools")]
sys.dont_write_bytecode = True

import compilers
from tarn_map import maps, picture

SECONDS = 300  # for what hangs
TOOL = os.path.join(ROOT, "tools/tarn-map")
GAME, SERVICE = "examples/game.cc", "examples/service.cc"
GDB, LLDB = "gdb", "lldb-19"
# (debugger, compiler, how it is optimised, argument)
RUNS = [(GDB, "g++", "-O0", ""), (GDB, "g++", "-O2", "damaged"), (GDB, "clang++-19", "-O2", ""),
        (LLDB, "clang++-19", "-O2", ""), (LLDB, "g++", "-O2", "")]
# What must be said of a block.
WORDS = {"used": r"\nin use\b", "free": r"\nfree\b", "front": r"\nfree, at the front of the list",
         "magazine": r"\nfree, in a magazine of (thread slot \d+|the depot)", "never": r"\nnever used",
         "none": r"is in no block of a pool that has a name", "corrupted": r"\nthe pool is corrupted: it lists 0x1234560"}


def run(command, root):
    done = subprocess.run(command, cwd=root, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=SECONDS, errors="replace", check=False)
    return done.stdout


def built(root, compiler, level, source="test/debugger/specimen.cc"):
    name = f"{os.path.basename(source)}{level}-{compiler}"
    if not os.path.exists(os.path.join(root, name)):
        subprocess.run([compiler, "-std=c++20", "-g", level, "-I.", *compilers.WARNINGS, "tarn/" + source, "-o", name,
                        "-pthread"], cwd=root, check=True, timeout=SECONDS)
    return name


def dumped(root, program, argument):
    """What the program said, and its core dump."""
    core = f"{program}{argument.replace(' ', '-')}.core"
    if not os.path.exists(os.path.join(root, core)):
        run([GDB, "-q", "-batch", "-ex", "set startup-with-shell on", "-ex", f"run {argument} > {core}.said", "-ex",
             f"generate-core-file {core}", program], root)
    with open(os.path.join(root, core + ".said"), encoding="utf-8") as file:
        return file.read(), core


def asked(root, debugger, program, core, commands):
    """Answers of a debugger that was given these commands."""
    mark = "answer-ends-here"
    if debugger == GDB:
        script = [f"source {ROOT}/tools/gdb/tarn.py"]
        for command in commands:
            script += [command, f"echo {mark}\\n"]
        steps = [word for line in script for word in ("-ex", line)]
        said = run([GDB, "-q", "-batch", "-ex", "set pagination off", program, core, *steps], root)
    else:
        script = [f"command script import {ROOT}/tools/lldb/tarn.py", f"target create {program} --core {core}"]
        for command in commands:
            script += [command, f"script print('{mark}')"]
        steps = [word for line in script for word in ("-o", line)]
        said = run([LLDB, "-b", "-x", *steps], root)
        said = re.sub(r"^(\(lldb\).*|error: .*DW_TAG.*)\n", "", said, flags=re.MULTILINE)
    return said.split(mark + "\n")


def rows_of(table):
    """{name: (in use, capacity)}"""
    lines = table[table.find("NAME "):].splitlines()[1:]
    rows = [line.split() for line in lines if line.strip()]
    return {row[0]: (row[2], row[3]) for row in rows if len(row) > 8}


def check_words(words, answer):
    """What is wrong with an answer, or None."""
    if words.startswith("used 3 bytes"):
        fits = "3 bytes into it\nin use" in answer
    else:
        fits = any(re.search(WORDS[one], "\n" + answer) for one in words.split(" or "))
    return None if fits else f"wanted {words}, and it says\n{answer}"


def cases(results, root, debugger, compiler, level, argument):
    program = built(root, compiler, level)
    said, core = dumped(root, program, argument)
    title = f"{debugger}, {compiler} {level}{', damaged' if argument else ''}"
    pools = {name: (used, capacity) for name, used, capacity in re.findall(r"^pool (\S+) (\d+) (\d+)$", said, re.MULTILINE)}
    blocks = re.findall(r"^block (\S+) (0x[0-9a-f]+) (.+)$", said, re.MULTILINE)
    if argument:
        pools["lifo"] = ("corrupted", pools["lifo"][1])
        blocks = [(name, address, "corrupted" if name == "lifo" else words) for name, address, words in blocks]
    show, block = ("info pools", "pool block") if debugger == GDB else ("tarn pools", "tarn block")
    answers = asked(root, debugger, program, core, [show, *(f"{block} {address}" for _, address, _ in blocks), block])
    if len(answers) < len(blocks) + 2:
        results.check(f"{title}: an answer to each command", False, "\n".join(answers))
        return answers[0], pools
    results.check(f"{title}: {len(pools)} pools", len(pools) >= 15 and rows_of(answers[0]) == pools,
                  f"wanted {pools}\n{answers[0]}")
    wrong = [f"{name}: {fault}" for (name, _, words), answer in zip(blocks, answers[1:])
             if (fault := check_words(words, answer.replace(" bytes into it\nthe pool", "\nthe pool")))]
    results.check(f"{title}: {len(blocks)} addresses", len(blocks) >= 47 and not wrong, "\n".join(wrong[:3]))
    sites = [answer for (name, _, words), answer in zip(blocks, answers[1:]) if name == "checked" and words == "used"]
    results.check(f"{title}: where a block comes from", "allocated seq 2 thread 1 at orders.cc:12" in sites[0], sites[0])
    results.check(f"{title}: no address", "which address?" in answers[len(blocks) + 1],
                  answers[len(blocks) + 1])
    return answers[0], pools


def self_tests(results, table, pools):
    """What must be found out is."""
    other = re.sub(r"^(cached +\d+ +)\d+", r"\g<1>777", table, flags=re.MULTILINE)
    results.check("self-test: another number", rows_of(table) == pools != rows_of(other))
    results.check("self-test: a pool too few", rows_of(table.replace("cached ", "", 1)) != pools)
    results.check("self-test: another state", check_words("front", "block #1\nin use") is not None)
    results.check("self-test: a block that isn't found", check_words("used", "0x1 is in no block of a pool that has a name"))


def check_printer(results, root):
    """In a frame of the program: a variable that is a pool."""
    program = built(root, "g++", "-O0")
    said = run([GDB, "-q", "-batch", "-ex", f"source {ROOT}/tools/gdb/tarn.py", "-ex", "break abort", "-ex", "run > /dev/null",
                "-ex", "frame function main", "-ex", "print standard", program], root)
    results.check("gdb prints a pool", 'pool "standard" <64 bytes>, 200 of 448 blocks in use, 3 chunks' in said, said)


def check_service(results, root):
    """An example, optimised, which aborts in the middle of its work."""
    service = built(root, "g++", "-O2", SERVICE)
    _, core = dumped(root, service, "socket crash")
    answer = asked(root, GDB, service, core, ["info pools"])[0]
    rows = rows_of(answer)
    right = {"messages", "orders", "sessions", "texts/32"} <= set(rows) and all(
        int(used) <= int(capacity) != 0 for used, capacity in rows.values())
    results.check("the service that aborted", right and abs(int(rows["orders"][0]) - int(rows["texts/32"][0])) <= 1,
                  answer)  # each order has a note, whenever it stops


def check_stripped(results, root):
    """Without debug information it says so."""
    program = built(root, "g++", "-O2")
    run(["strip", "-g", "-o", "stripped", program], root)
    _, core = dumped(root, "stripped", "")
    answer = asked(root, GDB, "stripped", core, ["info pools"])[0]
    results.check("a program without debug information", "No pool has a name" in answer, answer)


def tool(root, *words):
    return subprocess.run([sys.executable, "-B", TOOL, *words], cwd=root, capture_output=True, text=True,
                          timeout=SECONDS, check=False)


def check_map_of_core(results, root):
    program = built(root, "g++", "-O2")
    said, core = dumped(root, program, "")
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
    lldb = asked(root, LLDB, program, core, ["tarn map by_lldb.json"])
    tool(root, "--program", program, "--core", core, "--html", "all.html")
    by_lldb = tool(root, "by_lldb.json").stdout
    results.check("lldb's map is gdb's", by_lldb == done.stdout, "\n".join(lldb) + by_lldb)
    return program, core


def check_game(results, root):
    """Maps at a breakpoint, at the end of each level; the program says how many particles there are then."""
    game = built(root, "g++", "-O2", GAME)
    at_end = subprocess.run(["./" + game], cwd=root, capture_output=True, text=True, check=True).stdout
    wanted = [int(n) for n in re.findall(r"(\d+) at its end", at_end)]
    steps = ["break particle_system::clear", "run > /dev/null"] + ["pool map game.json particles", "continue"] * len(wanted)
    words = [word for step in (f"source {ROOT}/tools/gdb/tarn.py", *steps) for word in ("-ex", step)]
    run([GDB, "-q", "-batch", *words, game], root)
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


def check_map_of_service(results, root):
    """A process that works on meanwhile: each order has a note, whenever one looks."""
    if not may_attach():
        print("-     a running process isn't looked at: the system doesn't allow it")
        return
    program = built(root, "g++", "-O2", SERVICE)
    with subprocess.Popen(["./" + program, "socket"], cwd=root, stdin=subprocess.DEVNULL) as service:
        try:
            said = ""
            while "orders: in use" not in said and service.poll() is None:  # until it has begun
                said = tool(root, "--program", program, "--pid", str(service.pid), "--times", "2", "--every", "0.2").stdout
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
    if "--browser" in sys.argv[1:]:
        check_map_of_core(results, root)
        check_game(results, root)
        check_browser(results, root)
        return results.report()
    programs = dict.fromkeys((compiler, level) for _, compiler, level, _ in RUNS)
    programs |= dict.fromkeys(("g++", "-O2", source) for source in (GAME, SERVICE))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as workers:
        list(workers.map(lambda how: built(root, *how), programs))
    for one in RUNS:
        table, pools = cases(results, root, *one)
    self_tests(results, table, pools)
    check_printer(results, root)
    check_service(results, root)
    check_stripped(results, root)
    program, core = check_map_of_core(results, root)
    check_picture(results, root, check_game(results, root))
    check_map_of_service(results, root)
    check_mistakes(results, root, program, core)
    return results.report()


if __name__ == "__main__":
    sys.exit(main())
