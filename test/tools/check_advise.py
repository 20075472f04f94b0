#!/usr/bin/env python3
"""tools/tarn-advise: programs of which the answer is known get it, with debug information and without; logs that are made here
give exactly these figures; each rule decides as it says; all code to paste compiles; a log that is cut or damaged is read as
far as it goes, and that is said."""

import copy
import json
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
sys.path[:0] = [os.path.join(ROOT, "test/support"), os.path.join(ROOT, "test/tools"), os.path.join(ROOT, "tools")]
sys.dont_write_bytecode = True

import check_record
import compilers
from check_record import Block, log_of
from tarn_advise import building, command, rules, symbols

TOOL = os.path.join(ROOT, "tools/tarn-advise")
RECORD = os.path.join(ROOT, "tools/tarn-record")
SECONDS = 300  # for what hangs
MOST_BYTES = 1 << 29  # of the analysis' memory, whatever is in a log


def run(*words, **how):
    return subprocess.run([sys.executable, "-B", *words], capture_output=True, text=True, timeout=SECONDS, check=False, **how)


def differs(got, wanted):
    """What is wrong with a value, or None. Of a dict, only what is wanted counts."""
    if isinstance(wanted, dict):
        wrong = [f"{key}: {differs(got.get(key), value)}" for key, value in wanted.items() if differs(got.get(key), value)]
        return "; ".join(wrong) or None
    if isinstance(wanted, float):
        return None if isinstance(got, (int, float)) and abs(got - wanted) < 1e-4 else f"{got} instead of {wanted}"
    return None if got == wanted else f"{got!r} instead of {wanted!r}"


# ---- programs -------------------------------------------------------------------------------------------------------------

# Of the site with the most calls: (kind, type), verdict, rules, what is in the code or in the reason.
KNOWN = {
    "one-size": (("class", "order"), "pool", ["F13", "F20", "F22"], "MEMORY_POOL_WITH(order, tarn::geometric_growth<1000>)"),
    "threads": (("class", "message"), "pool", ["F13", "F21", "F22"], "MEMORY_POOL_WITH(message, tarn::thread_cached<>, "),
    "nothing": (("class", "order"), "don't pool", ["F2"], "of its time"),
    "containers": (("node", "std::list<long>"), "pool", ["F11", "F20"], "std::list<long, tarn::stl_allocator<long, "),
    "trees": (("class", "tree"), "pool", ["F10"], "if (block != nullptr && --tree_count == 0) tree_arena.reset();"),
    "arrays": (("array", "std::vector<int>"), "don't pool", ["F3"], "reserve()"),
    "sizes": (("other", None), "don't pool", ["F4"], "more than 16 sizes"),
    "blocks": (("other", None), "pool", ["F14", "F20", "F23"], "<tarn::static_size<40>, tarn::lifo_reuse<>> blocks_pool;"),
    "shared": (("shared", "std::shared_ptr<order>"), "pool", ["F12", "F20"], "allocate_shared<order>(tarn::stl_allocator<"),
}
# Without debug information there are neither lines nor types.
STRIPPED = (("other", None), "pool", ["F14", "F20", "F22"],
            "tarn::pool<tarn::static_size<56>, tarn::geometric_growth<1000>> pool_of_56;")


class World:
    def __init__(self, folder):
        self.folder = folder
        self.reports = {}
        builder = compilers.Builder(folder)
        flags = ["-std=c++20", "-O2", "-g", "-pthread", *compilers.WARNINGS]
        source = os.path.join(ROOT, "test/tools/advised.cc")
        self.program = builder.job("advised", [compilers.present()[0], *flags, source]).result()
        self.analyser = building.cached("analyse", ["analyse.cc"])
        self.stripped = os.path.join(folder, "stripped")
        subprocess.run(["strip", "-o", self.stripped, self.program], check=True)

    def log(self, mode, program=None, *words):
        path = os.path.join(self.folder, f"{mode}{'.stripped' if program else ''}{''.join(words)}.log")
        if not os.path.exists(path):
            done = run(RECORD, *words, "-o", path, "--", program or self.program, mode)
            if done.returncode:
                raise RuntimeError(done.stderr)
        return path

    def analysed(self, *words):
        done = subprocess.run([self.analyser, *words], capture_output=True, text=True, timeout=SECONDS, check=False,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES)))
        if done.returncode or done.stderr:
            raise RuntimeError(f"{done.returncode}: {done.stderr}")
        return json.loads(done.stdout)

    def report(self, log, *words):
        """(the JSON, what the terminal shows)."""
        if log not in self.reports:
            out = log + ".json"
            done = run(TOOL, "--replay=none", "--json", out, *words, log)
            if done.returncode:
                raise RuntimeError(done.stderr)
            with open(out, encoding="utf-8") as file:
                self.reports[log] = json.load(file), done.stdout
        return self.reports[log]


def check_known(report, text, wanted):
    what, verdict, numbers, words = wanted
    site = report["sites"][0]
    one = next(one for one in report["advice"] if one["site"] == site["id"])
    told = "\n".join(one.get("code", one["reasons"]))
    found = (one["what"]["kind"], one["what"]["type"]), one["verdict"], one["rules"]
    if found != (what, verdict, numbers) or words not in told:
        return f"{one['what']}, {one['verdict']}, {one['rules']}, {told}"
    if one["gain"] is not None or ("not measured" in text) != (verdict == "pool"):
        return f"a gain without a replay: {text}"
    if one["reasons"][0] not in text or any(line not in text for line in one.get("code", [])):
        return f"the terminal lacks advice: {text}"
    return None


def check_threads(world):
    site = world.report(world.log("threads"))[0]["sites"][0]
    return differs(site, {"freed_by_other_thread": 1.0, "threads": 1, "calls": 50_000, "frees": 50_000, "never_freed": 0})


def check_containers(world):
    report = world.report(world.log("containers"))[0]
    found = {one["what"]["type"]: "\n".join(one["code"]) for one in report["advice"] if one["verdict"] == "pool"}
    wrong = set(found) ^ {"std::map<long, double>", "std::unordered_map<long, long>", "std::list<long>"}
    wrong |= {type_ for type_, code in found.items() if "tarn::no_locking" not in code}
    return f"{wrong}: {found}" if wrong else None


def check_names(world):
    """addr2line gives the names that llvm-symbolizer gives."""
    log = world.log("shared")
    found = {}
    for way in ("llvm", "addr2line"):
        groups = os.path.join(world.folder, "groups")
        found[way] = [(site["what"]["where"], site["what"]["type"]) for site in command.read(log, groups, way)["sites"][:2]]
    nothing = command.read(log, groups, "nothing")["sites"][0]["what"]["where"]
    if not shutil.which("addr2line") or not any(map(shutil.which, symbols.LLVM)):
        return None
    if found["llvm"] != found["addr2line"] or found["llvm"][0][1] != "std::shared_ptr<order>":
        return str(found)
    return None if re.fullmatch(r"advised\+0x[0-9a-f]+", nothing) else nothing


def check_stripped(world):
    report, text = world.report(world.log("one-size", world.stripped))
    if not re.search(r"^1\. stripped\+0x[0-9a-f]+: 100 % of the calls", text, re.M) or "no debug information" not in text:
        return text
    return check_known(report, text, STRIPPED)


def check_no_stacks(world):
    report, text = world.report(world.log("one-size", None, "--no-stacks"))
    wrong = differs(report["sites"][0], {"size": 56, "calls": 100_000, "id_is_size": True, "stacks": []})
    return wrong or ("" if "the log has no call stacks" in text else text) or None


# ---- logs that are made here ----------------------------------------------------------------------------------------------

def pairs(block, count, at, order, stack=None, size=48, pause=0):
    """`count` blocks, then their frees in this order of numbers."""
    for i in range(count):
        block.add(at + i, "new", 0x10000 + 64 * i, size, stack=stack)
    for number, i in enumerate(order):
        block.add(at + count + pause + number, "delete", 0x10000 + 64 * i)
    return at + count + pause + len(order)


def made_logs():
    """{name: (log, what the first site must have, what all must have)}."""
    reverse = Block(1, 0)
    pairs(reverse, 7, 1000, range(6, -1, -1), 5)
    in_order = Block(1, 0)
    pairs(in_order, 7, 1000, range(7))
    shuffled = Block(1, 0)
    pairs(shuffled, 7, 1000, (3, 1, 5, 2, 4, 0, 6))
    together = Block(1, 0)
    at = 1000
    for _ in range(2):
        at = pairs(together, 10, at, (3, 1, 5, 2, 4, 0, 6, 9, 8, 7))
    slowly = Block(1, 0)  # other calls in between
    for i in range(10):
        slowly.add(1000 + i, "new", 0x10000 + 64 * i, 48, stack=1)
    for i in range(10):
        slowly.add(2000 + 10 * i, "delete", 0x10000 + 64 * i)
        for j in range(3):
            slowly.add(2001 + 10 * i + 2 * j, "malloc", 0x90000, 8, stack=2).add(2002 + 10 * i + 2 * j, "free", 0x90000)
    lives = Block(1, 0)
    for i in range(100):
        lives.add(10_000 * i, "new", 0x1000, 8).add(10_000 * i + (50 if i < 90 else 5000), "delete", 0x1000)
    moves = Block(1, 0).add(10, "malloc", 0x1000, 16, stack=3).add(20, "realloc", 0x2000, 32, old=0x1000, took=5, stack=3)
    moves.add(30, "realloc", 0x2000, 40, old=0x2000, took=5, stack=3).add(40, "free", 0x2000).add(50, "free", 0x7000)
    moves.add(60, "malloc", 0x3000, 100, 64, stack=3).add(70, "malloc", 0x3000, 10, stack=3)
    first = Block(1, 0).add(10, "new", 0x1000, 24).add(20, "new", 0x2000, 24).add(30, "new", 0x3000, 24)
    second = Block(2, 5).add(25, "delete", 0x1000).add(35, "delete", 0x2000).add(36, "new", 0x4000, 24)
    many = Block(1, 0)  # whose places in a table collide
    dice = random.Random(1)
    addresses = dice.sample(range(16, 1 << 20, 16), 5000)
    for i, address in enumerate(addresses):
        many.add(i, "new", address, 16)
    dice.shuffle(addresses)
    for i, address in enumerate(addresses):
        many.add(5000 + i, "delete", address)
    sizes = Block(1, 0)
    for i in range(100):
        sizes.add(i, "malloc", 0x1000 + 4096 * i, 8 if i < 89 else 100 + i, stack=9)
    return {
        "reverse": (log_of(reverse), {"order": {"reverse": 6 / 7, "alone": 1 / 7, "random": 0.0, "together": 0.0}, "id": 5,
                                      "peak_live": 7, "peak_bytes": 336, "bursts": {"longest": 7, "mean": 7.0}, "stacks": [5]},
                    {"calls": 14, "seconds": 1013e-9, "threads": 1, "complete": True}),
        "in order": (log_of(in_order), {"order": {"in_order": 6 / 7, "alone": 1 / 7}, "never_freed": 0, "size": 48}, {}),
        "at random": (log_of(shuffled), {"order": {"random": 5 / 7, "in_order": 1 / 7, "alone": 1 / 7}}, {}),
        "together": (log_of(together), {"order": {"together": 1.0}, "runs": [[1010, 1019, 10], [1030, 1039, 10]]}, {}),
        "slowly": (log_of(slowly), {"share": 60 / 80}, {"calls": 80}),
        "lifetimes": (log_of(lives), {"lifetime_ns": {"p10": 50, "p50": 50, "p90": 50, "p99": 5000, "max": 5000}}, {}),
        "realloc": (log_of(moves), {"reallocations": 2, "calls": 5, "frees": 1, "never_freed": 1, "alignment": 64,
                                    "peak_bytes": 100, "peak_live": 1, "operations": {"malloc": 3, "realloc": 2}},
                    {"unknown_frees": 1, "lost": 1, "calls": 7}),
        "threads": (log_of(first, second), {"freed_by_other_thread": 1.0, "threads": 2, "never_freed": 2}, {
            "frees": [[1, 2, 2]], "threads": 2}),
        "many": (log_of(many), {"frees": 5000, "never_freed": 0, "peak_live": 5000}, {"unknown_frees": 0, "lost": 0}),
        "sizes": (log_of(sizes), {"size": None, "sizes_more": 0, "calls": 100, "frees": 0, "lifetime_ns": None}, {}),
    }


def check_made(world, name, data, site, whole):
    path = os.path.join(world.folder, f"made {name}")
    with open(path, "wb") as file:
        file.write(data)
    found = world.analysed(path)
    if "lifetime_ns" in site and site["lifetime_ns"]:  # to a tenth
        found["sites"][0]["lifetime_ns"] = {key: wanted if abs(got - wanted) <= wanted / 8 else got for (key, wanted), got in
                                            zip(site["lifetime_ns"].items(), found["sites"][0]["lifetime_ns"].values())}
    order = found["sites"][0]["order"].values()
    if found["sites"][0]["frees"] and abs(sum(order) - 1) > 1e-4:
        return f"the order's fractions are {list(order)}"
    return differs(found["sites"][0], site) or differs(found, whole)


def check_slowly(world):
    """What is freed with the program's other work between isn't freed together."""
    sites = {site["id"]: site for site in world.analysed(os.path.join(world.folder, "made slowly"))["sites"]}
    return differs(sites[1]["order"], {"together": 0.0, "in_order": 0.9})


def check_sampled(world):
    """A call without a stack is of the site that its thread used last for its size."""
    one = Block(1, 0)
    for i in range(100):
        one.add(10 * i, "malloc", 0x1000, 8, stack=1 if i % 10 == 0 else None).add(10 * i + 1, "free", 0x1000)
        one.add(10 * i + 2, "malloc", 0x1000, 16, stack=2 if i % 20 == 0 else None).add(10 * i + 3, "free", 0x1000)
    path = os.path.join(world.folder, "sampled")
    with open(path, "wb") as file:
        file.write(log_of(one))
    with open(path + ".groups", "w", encoding="utf-8") as file:
        file.write("1 7\n2 8\n")
    found = {site["id"]: (site["calls"], site["stacks"]) for site in world.analysed(path, path + ".groups")["sites"]}
    return differs(found, {7: (100, [1]), 8: (100, [2])}) or (None if len(found) == 2 else str(found))


def check_strange(world):
    """Numbers that no log has take no memory, and are one site."""
    one = Block(1 << 31, 0)
    for i in range(10):
        one.add(i, "new", (1 << 63) + 16 * i, (1 << 62) + i, stack=(1 << 31) + i)
    path = os.path.join(world.folder, "strange")
    with open(path, "wb") as file:
        file.write(log_of(one))
    with open(path + ".groups", "w", encoding="utf-8") as file:
        file.write("4294967295 7\n")
    if world.analysed("--stacks", path)["stacks"] != {str((1 << 31) + i): [] for i in range(10)}:
        return "the stacks are others"
    found = [world.analysed(path, *words)["sites"] for words in ([], [path + ".groups"])]
    return next((f"{len(sites)} sites" for sites in found if len(sites) != 1), None) or differs(
        found[0][0], {"calls": 10, "id": (1 << 30) - 1, "never_freed": 10})


def check_cut(world):
    """A log that ends in the middle, and one with a damaged block: what is left counts, and it is said."""
    with open(world.log("one-size"), "rb") as file:
        data = bytearray(file.read())
    cut = os.path.join(world.folder, "cut.log")
    with open(cut, "wb") as file:
        file.write(data[:len(data) // 2 + 12345])
    report, text = world.report(cut)
    if not re.search(r"the log isn't complete: .*cut: the file ends within block", text):
        return text
    if not 40_000 < report["calls"] < 190_000 or "cut: " not in report["complete"]:
        return f"{report['calls']} calls, {report['complete']}"
    return None if report["advice"][0]["what"]["type"] == "order" else text


def check_words(world):
    """Wrong words and files: one line, and the status 2."""
    log = world.log("one-size")
    other = os.path.join(world.folder, "other")
    with open(other, "w", encoding="utf-8") as file:
        file.write("no log\n" * 1000)
    for words, said in [(["nowhere"], "nowhere: no such file"), ([other], "no log of tarn-record"),
                        ([world.folder], "no such file"),
                        (["--replay=none", "--json", "/nowhere/x", log], "/nowhere/x: No such file")]:
        done = run(TOOL, *words)
        if done.returncode != 2 or done.stderr.count("\n") != 1 or said not in done.stderr or done.stdout:
            return f"{words}: {done.returncode} {done.stderr!r} {done.stdout!r}"
    for words in ([], ["--replay=some", log], ["--no-such-word", log], [log, log]):
        done = run(TOOL, *words)
        if done.returncode != 2 or "usage: tarn-advise" not in done.stderr:
            return f"{words}: {done.returncode} {done.stderr!r}"
    return None


# ---- rules ----------------------------------------------------------------------------------------------------------------

PROGRAM = {"calls": 10_000_000, "seconds": 1.0}
ORDER = {"alone": 0.0, "reverse": 0.0, "in_order": 0.0, "random": 1.0, "together": 0.0}


def what(kind="class", type_="order", element=None, place="a.cc:1 (f)", function="f"):
    return {"kind": kind, "type": type_, "element": element or type_, "place": place, "function": function, "frames": [],
            "has_line": True, "where": place or "?"}


def site_of(**changes):
    found = {"id": 1, "id_is_size": False, "what": what(), "size": 48, "sizes": [[48, 100_000]], "sizes_more": 0,
             "alignment": 0, "calls": 100_000, "frees": 100_000, "share": 0.5, "bytes": 4_800_000, "peak_live": 1000,
             "peak_bytes": 48_000,
             "never_freed": 0, "order": ORDER, "runs": [], "freed_by_other_thread": 0.0, "threads": 1, "reallocations": 0,
             "bursts": {"longest": 1, "mean": 1.0}, "timeline": [48_000] * 10}
    return copy.deepcopy({**found, **changes})


def order(**parts):
    return {**ORDER, "random": 1 - sum(parts.values()), **parts}


NODE = what("node", "std::map<int, thing>", "std::pair<const int, thing>")
FALLS = [10 << 20] * 2 + [1 << 18] * 8
POOL = ["F13", "F20", "F22"]
# (what is told apart, what decides it, the program, what must come out)
RULED = [
    ("few calls", {"share": 0.0099}, {}, ["F1"]), ("a share of 1 %", {"share": 0.01}, {}, POOL),
    ("under 1,000", {"calls": 500, "frees": 499}, {}, ["F1"]), ("1,000", {"calls": 500, "frees": 500}, {}, POOL),
    ("a program that rarely allocates", {}, {"seconds": 50.1}, ["F2"]),
    ("one that does often", {}, {"seconds": 49.9}, POOL),
    ("a vector", {"what": what("array", "std::vector<int>", "int")}, {}, ["F3"]),
    ("a string", {"what": what("string", "std::string", "char")}, {}, ["F3"]),
    ("realloc", {"reallocations": 10_000}, {}, ["F3"]), ("little realloc", {"reallocations": 9_999}, {}, POOL),
    ("sizes", {"size": None, "sizes": [[8, 50_000], [16, 50_000]]}, {}, ["F4"]),
    ("sizes that go together", {"size": None, "sizes": [[8, 50_000], [16, 50_000]], "order": order(together=.8)}, {}, ["F10"]),
    ("sizes that another thread frees together",
     {"size": None, "sizes": [[8, 50_000]], "order": order(together=.8), "freed_by_other_thread": .1}, {}, ["F4"]),
    ("nodes of several sizes", {"what": NODE, "size": None, "sizes": [[8, 50_000]], "order": order(together=.8)}, {}, ["F4"]),
    ("large", {"size": 32769, "peak_live": 1}, {}, ["F5"]), ("nearly large", {"size": 32768, "peak_live": 1}, {}, POOL),
    ("kept", {"calls": 99_999, "never_freed": 90_000}, {}, ["F6"]),
    ("kept, but many", {"calls": 100_000, "never_freed": 90_000}, {}, POOL),
    ("of a library", {"what": what("other", None, None, None, None)}, {}, ["F7"]),
    ("without stacks", {"what": what("other", None, None, None, None), "id_is_size": True}, {}, ["F14", "F20", "F22"]),
    ("together", {"order": order(together=.8)}, {}, ["F10"]), ("not quite", {"order": order(together=.79)}, {}, POOL),
    ("together, by another thread", {"order": order(together=1.0), "freed_by_other_thread": 1.0}, {}, ["F13", "F21", "F22"]),
    ("nodes together", {"what": NODE, "order": order(together=1.0)}, {}, ["F11", "F20", "F22"]),
    ("nodes", {"what": NODE}, {}, ["F11", "F20", "F22"]),
    ("make_shared", {"what": what("shared", "std::shared_ptr<thing>", "thing")}, {}, ["F12", "F20", "F22"]),
    ("other blocks", {"what": what("other", None)}, {}, ["F14", "F20", "F22"]),
    ("threads", {"threads": 2}, {}, ["F13", "F21", "F22"]),
    ("passed on", {"freed_by_other_thread": 0.01}, {}, ["F13", "F21", "F22"]),
    ("a small peak", {"peak_live": 85}, {}, ["F13", "F20"]), ("a large peak", {"peak_live": 100_000}, {}, ["F13", "F20"]),
    ("newest first", {"order": order(reverse=.5, alone=.3), "peak_live": 100}, {}, ["F13", "F20", "F22", "F23"]),
    ("newest first, of many", {"order": order(reverse=.5, alone=.3)}, {}, POOL),
    ("a peak that is over", {"timeline": FALLS, "peak_bytes": 10 << 20, "peak_live": 200_000}, {}, ["F13", "F20", "F24"]),
    ("a peak near the end", {"timeline": [10 << 20] * 6 + FALLS[6:], "peak_bytes": 10 << 20, "peak_live": 200_000}, {},
     ["F13", "F20"]),
    ("a peak that recurs", {"timeline": [*FALLS, 10 << 20], "peak_bytes": 10 << 20, "peak_live": 200_000}, {}, ["F13", "F20"]),
]


def check_rule(changes, program, wanted):
    found = rules.advise(site_of(**changes), {**PROGRAM, **program})
    if found["rules"] != wanted or any(one not in rules.RULES for one in wanted) or len(found["reasons"]) != len(wanted):
        return f"{found['rules']} instead of {wanted}: {found['reasons']}"
    return None if (found["verdict"] == "pool") == (int(wanted[0][1:]) >= 10) else found["verdict"]


def check_any():
    """Whatever a site is like, there is an answer, and each policy and each size of it has a value."""
    dice = random.Random(1)
    kinds = [what(), NODE, what("shared", "std::shared_ptr<thing>", "thing"), what("other", None, None, None, None),
             what("other", None), what("node", "std::deque<int>", "int"), what("array", "std::vector<int>", "int")]
    verdicts = set()
    for _ in range(3000):
        parts = [dice.random() for _ in ORDER]
        site = site_of(what=dice.choice(kinds), size=dice.choice([None, 0, 1, 48, 4096, 1 << 20]), sizes=[[8, 10], [0, 1]],
                       order={name: part / sum(parts) for name, part in zip(ORDER, parts)},
                       threads=dice.choice([1, 2, 16, 300]), freed_by_other_thread=dice.choice([0.0, 0.5]),
                       frees=dice.choice([0, 100_000]),
                       alignment=dice.choice([0, 8, 64, 4096]), peak_live=dice.choice([1, 100, 10 ** 7]),
                       id_is_size=dice.random() < .5, timeline=dice.choice([FALLS, [1]]))
        if dice.random() < .3:
            site["order"] = order(together=1.0)
        found = rules.advise(site, PROGRAM)
        text = " ".join([*found.get("code", []), found.get("composition", ""), *found["reasons"]])
        if "None" in text or re.search(r"<0[,>]|, ,|, >", text):
            return f"{site}: {text}"
        verdicts.add(found["rules"][0])
    return None if verdicts == {"F3", "F4", "F5", "F7", "F10", "F11", "F12", "F13", "F14"} else str(verdicts)


def gain(gained, spread, is_gain):
    part = {"median": 1.0, "min": 1.0, "max": 1.0}
    return {"malloc": {"malloc_ns": 20.0, "ns": 20.0 - gained, "gain_ns": gained, "spread_ns": spread, "is_gain": is_gain,
                       "rounds": 3, "whole": {name: {"malloc": part, "plan": part} for name in ("ns", "held", "faults")}}}


def check_measured():
    """What a replay shows to be worse, or within the spread, isn't advised."""
    advice = rules.advise(site_of(), PROGRAM)
    for number, is_gain in ((9.0, True), (0.5, False), (-5.0, False)):
        found = rules.measured(advice, gain(number, 1.0, is_gain))
        wanted = ("pool", "F13") if is_gain else ("don't pool", "F8")
        if (found["verdict"], found["rules"][0]) != wanted or ("code" in found) != is_gain:
            return f"gain {number}: {found}"
        if ("within the spread" in found["reasons"][0]) != (number == 0.5):
            return f"gain {number}: {found['reasons']}"
    return None


def result(ns):
    return {"ns": {"median": ns, "min": ns - .1, "max": ns + .1}, "held": {"median": 4096}, "faults": {"median": 7},
            "rounds": 3}


class Replay:
    """Says what each site gains, and which plans it was asked for."""
    mallocs = {"malloc": None, "othermalloc": "libother.so"}

    def __init__(self, gained, other):
        self.gained, self.other, self.asked = gained, other, []

    def measure(self, plans, _):
        self.asked.append(plans)
        mix = 10.0 - sum(self.gained[site] for site in plans.get("all", {}))
        return {**{name: result(mix) for name in plans}, "malloc": result(10.0), "othermalloc": result(self.other)}

    def gain(self, site, _, malloc):
        assert malloc["ns"]["median"] in (10.0, self.other)
        return gain(self.gained[site], 1.0, self.gained[site] > 1)["malloc"]


def check_replayed():
    """What gains nothing isn't part of the mix either, and another malloc that is better is named."""
    advice = [rules.advise(site_of(id=number), PROGRAM) for number in (1, 2)]
    for gained, other, kept, is_better in (({1: 4.0, 2: 3.0}, 5.0, [1, 2], False), ({1: 4.0, 2: -3.0}, 5.0, [1], True),
                                           ({1: .5, 2: -3.0}, 9.9, [], False), ({1: .5, 2: -3.0}, 9.0, [], True)):
        replay = Replay(gained, other)
        own, found = command.measured(replay, advice, 1)
        if [site for site, one in own.items() if one["verdict"] == "pool"] != kept or ("all" in found) != bool(kept):
            return f"{gained}: {own}, {found}"
        if list(replay.asked[-1].get("all", {})) != kept or len(replay.asked) != (1 if len(kept) == 2 else 2):
            return f"{gained}: asked for {replay.asked}"
        notes = command.better_malloc(found)
        if bool(notes) != is_better or is_better and "othermalloc" not in notes[0]:
            return f"{gained}: {notes}"
        said = "\n".join(command.together({"replay": {"results": found, "part": "a part", "threads": "one thread"}}))
        if ("All together: " in said) != bool(kept) or "othermalloc" not in said:
            return said
    return None


def check_sorted():
    """What gains most is first, then what wasn't measured, then what isn't worth it."""
    def one(number, share, gained=None, calls=1000, verdict="pool"):
        return {"site": number, "share": share, "calls": calls, "verdict": verdict, "gain": gained and gain(gained, 0, True)}
    found = rules.in_order([one(1, .9, verdict="don't pool"), one(2, .5), one(3, .1, 5.0), one(4, .2, 3.0, 9000), one(5, .6)])
    return differs([one["site"] for one in found], [4, 3, 5, 2, 1])


def check_numbers():
    """Numbers as the advice has them."""
    return differs([rules.rounded_up(number) for number in (1, 99, 100, 101, 1000, 1001, 12_345)],
                   [1, 99, 100, 110, 1000, 1100, 13_000]) or differs(
        [rules.percent(part) for part in (0, .0009, .001, .0999, .1, 1)],
        ["0.0 %", "under 0.1 %", "0.1 %", "10.0 %", "10 %", "100 %"]) or differs(
        [rules.in_bytes(number) for number in (1023, 1024, 52 << 20)], ["1023 bytes", "1 KiB", "52 MiB"])


def check_recomposed():
    site = site_of(what=NODE)
    found = rules.advise(site, PROGRAM)
    other = rules.recomposed(found, site, "tarn::pool<tarn::static_size<48>, tarn::page_local_reuse<>>")
    if other["rules"] != ["F11", "F20", "F9"] or "tarn::page_local_reuse<>" not in other["code"][0]:
        return str(other)
    plain = rules.recomposed(found, site, "tarn::pool<tarn::static_size<48>>")
    return None if "tarn::batch_reuse<>" in plain["code"][0] and "geometric" not in plain["code"][0] else str(plain)


def check_table():
    """docs/how-to/advise.md has the rules as they are."""
    with open(os.path.join(ROOT, "docs/how-to/advise.md"), encoding="utf-8") as file:
        rows = re.findall(r"^\| (F\d+) \| (.*?) \| (.*?) \| (.*?) \|$", file.read(), re.M)
    return differs(rows, [(number, *rule) for number, rule in rules.RULES.items()])


# ---- code to paste --------------------------------------------------------------------------------------------------------

def templates():
    """Sites for each kind of code that can come out."""
    policies = [{}, {"threads": 3}, {"threads": 70}, {"order": order(reverse=1.0), "peak_live": 100},
                {"timeline": FALLS, "peak_bytes": 10 << 20, "peak_live": 200_000}]
    kinds = [what(), what("shared", "std::shared_ptr<thing>", "thing"), what("other", None), NODE,
             what("class", "outer::inner<int>", function="outer::inner<int>::make"),
             what("node", "std::list<thing>", "thing"), what("node", "std::deque<int>", "int"),
             what("node", "std::set<int, std::greater<int>>", "int"), what("node", "std::unordered_set<int>", "int"),
             what("node", "std::unordered_multimap<int, thing>", "std::pair<const int, thing>")]
    for number, kind in enumerate(kinds):
        for changes in policies if number < 4 else policies[:2]:
            yield site_of(what=kind, **changes)
    for kind in kinds:
        yield site_of(what=kind, order=order(together=1.0), alignment=64, size=64)
    yield site_of(what=what("other", None, None, None, None), id_is_size=True, alignment=128, size=130)


def program_of(found):
    """A program that has all code to paste. An alias is used once, too."""
    headers = dict.fromkeys(line for one in found for line in one["include"])
    lines = [*headers, "struct thing { int a; };"]
    for number, one in enumerate(found):
        lines += [f"namespace case_{number} {{", *one["code"]]
        lines += [f"inline {alias} it;" for line in one["code"] for alias in re.findall(r"^using (\w+) =", line)]
        lines.append("}")
    return "\n".join([*lines, "int main() {}", ""])


def check_code(folder):
    """All kinds of code compile; so do the compositions that are replayed."""
    found = [rules.advise(site, PROGRAM) for site in templates()]
    if any(one["verdict"] != "pool" for one in found):
        return str([one["rules"] for one in found])
    text = program_of(found)
    with open(os.path.join(folder, "pasted.cc"), "w", encoding="utf-8") as file:
        file.write(text)
        file.write('#include "tarn/allocator/pool.h"\n')
        compositions = dict.fromkeys(one["composition"] for one in found if one["composition"] != "arena")
        file.writelines(f"inline {composition} pool_{number};\n" for number, composition in enumerate(compositions))
    root = compilers.include_root()
    done, said = compilers.compile_only(compilers.present()[0], root, os.path.join(folder, "pasted.cc"), *compilers.WARNINGS)
    return None if done else said[:4000]


# ---- names ----------------------------------------------------------------------------------------------------------------

NAMES = {
    "std::list<int, std::allocator<int> >::push_back(int const&)": "std::list<int, std::allocator<int> >::push_back",
    "void f<int>(std::vector<int> const&)": "f<int>", "main": "main", "operator new(unsigned long)": "operator new",
    "std::pair<int, int> ns::make<std::less<int> >(int (*)(int))": "ns::make<std::less<int> >",
    "(anonymous namespace)::work(int)": "(anonymous namespace)::work", "book::operator()(int) const": "book::operator",
    "node* tree<node>::add<int>(int&&) [clone .constprop.0]": "tree<node>::add<int>", "f() const": "f",
    "std::ostream& operator<< <char>(std::ostream&, char)": "operator<char>",
    "run()::{lambda(int)#1}::operator()(int) const": "run()::{lambda(int)#1}::operator",
}
WRITTEN = {
    "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >": "std::string",
    "std::vector<std::pair<int, long>, std::allocator<std::pair<int, long> > >": "std::vector<std::pair<int, long>>",
    "std::list<(anonymous namespace)::a, std::allocator<(anonymous namespace)::a> >": "std::list<a>",
    "std::map<int, a<b<c<d<int> > > >, std::less<int>, std::allocator<std::pair<int const, int> > >":
        "std::map<int, a<b<c<d<int>>>>>", "int const": "const int",
}
OTHERS = {"std::vector<int>::push_back(int&&)": True, "operator new(unsigned long)": True, "xmalloc": True, "g_malloc0": True,
          "sqlite3MemMalloc": True,
          "_ZNSt3mapIN4Json5Value8CZStringES1_E6insertEv": True, "_ZN4Json5Value4sizeEv": False,
          "arena::allocate(unsigned long)": True, "book::add(int)": False, "main": False,
          "renew": False, "allocator_test::run()": False, "call": False, "my::std::f()": False}
FRAMES = [  # (functions, innermost first; what allocates)
    (["std::__new_allocator<std::_Rb_tree_node<std::pair<int const, long> > >::allocate(unsigned long, void const*)",
      "std::_Rb_tree<int, std::pair<int const, long>, std::_Select1st<std::pair<int const, long> >, std::less<int>, "
      "std::allocator<std::pair<int const, long> > >::_M_get_node()"],
     ("node", "std::map<int, long>", "std::pair<const int, long>")),
    (["std::_Rb_tree<int, int, std::_Identity<int>, std::greater<int>, std::allocator<int> >::_M_insert_equal<int>(int&&)"],
     ("node", "std::multiset<int, std::greater<int>>", "int")),
    (["std::__cxx11::list<int, std::allocator<int> >::push_back(int const&)"], ("node", "std::list<int>", "int")),
    (["std::_Hashtable<int, std::pair<int const, int>, std::allocator<std::pair<int const, int> >, std::__detail::_Select1st, "
      "std::equal_to<int>, std::hash<int>, x>::_M_allocate_buckets(unsigned long)"],
     ("array", "std::unordered_map<int, int>", "std::pair<const int, int>")),
    (["std::__1::__tree<std::__1::__value_type<int, long>, std::__1::__map_value_compare<int, x>, y>::__construct_node()"],
     ("node", "std::map<int, long>", "std::pair<const int, long>")),
    (["std::__1::__hash_table<std::__1::__hash_value_type<int, long>, a, b, c>::__construct_node()"],
     ("node", "std::unordered_map<int, long>", "std::pair<const int, long>")),
    (["std::__1::list<int, std::__1::allocator<int> >::push_back(int const&)"], ("node", "std::list<int>", "int")),
    (["std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >::_M_create(unsigned long&)",
      "std::vector<std::__cxx11::basic_string<char> >::push_back()"], ("string", "std::string", "char")),
    (["std::make_unique<order, int>(int&&)"], ("class", "order", "order")), (["std::function<void ()>::function()"], None),
    (["std::__cxx11::list<f()::{lambda()#1}, std::allocator<f()::{lambda()#1}> >::push_back(f()::{lambda()#1}&&)"], None),
]


# Frames at the call of operator new and behind it, the line of the source, and the class that is told.
CLASSES = [
    (["f()"], ["base::base()", "ns::order::order(int)", "f()"], "order* a = new order(1);", "ns::order"),
    (["f()"], ["ns::order::order(int)", "f()"], "", "ns::order"), (["f()"], ["f()"], "return new ns::order{};", "ns::order"),
    (["book::book()"], ["book::book()"], "", None), (["f()"], ["f()"], "x = new char[10];", None),
    (["f()"], ["f()"], "x = new int(1);", None), (["f()"], ["f()"], "a = new x; b = new y;", None),
    (["T* make<order>()"], ["T* make<order>()"], "return new T(1);", None),
    (["T* make<order>()"], ["order::order()", "T* make<order>()"], "return new T(1);", "order"),
    (["f()"], ["helper::helper()", "f()"], "return new order;", "order"),
    (["f()"], ["list<int>::list()", "f()"], "auto* a = new list<int>();", "list<int>"),
]


def check_classes(folder):
    for number, (at, behind, line, wanted) in enumerate(CLASSES):
        source = os.path.join(folder, f"source{number}.cc")
        with open(source, "w", encoding="utf-8") as file:
            file.write(line + "\n")
        frames = [[symbols.Frame(function, source, 1, "prog", 0) for function in names] for names in (at, behind)]
        found = symbols.class_of(frames[0][-1], [frames[1]])
        if found != wanted:
            return f"{line}, {behind}: {found} instead of {wanted}"
    return None


# A class as one place writes it, in a function; the classes of all places; the class that is meant.
IN_FULL = [("Token", "cpp::List::read()", {"Token", "cpp::Token"}, "cpp::Token"),
           ("Token", "other::read()", {"Token", "cpp::Token"}, "Token"), ("Token", "cpp::f()", {"Token"}, "Token"),
           ("Token", "a::b::f()", {"a::Token", "a::b::Token"}, "Token"), ("a::T", "a::f()", {"a::T", "b::T"}, "a::T")]


def check_symbols():
    for name, function, classes, wanted in IN_FULL:
        if symbols.in_full(name, function, classes) != wanted:
            return f"{name} in {function}: {symbols.in_full(name, function, classes)}"
    for text, wanted in NAMES.items():
        if symbols.qualified(text) != wanted:
            return f"{text}: {symbols.qualified(text)}"
    for text, wanted in WRITTEN.items():
        if symbols.plain(text) != wanted:
            return f"{text}: {symbols.plain(text)}"
    for function, wanted in OTHERS.items():
        if symbols.is_others(symbols.Frame(function, "", 0, "/usr/bin/prog", 0)) != wanted:
            return f"{function}: of others is {not wanted}"
    for functions, wanted in FRAMES:
        found = symbols.container_of([symbols.Frame(function, "", 0, "", 0) for function in functions])
        if found != wanted:
            return f"{functions}: {found}"
    return None


# ---- all of them ----------------------------------------------------------------------------------------------------------

def cases_of(world):
    cases = [(f"program: {mode}", lambda mode=mode: check_known(*world.report(world.log(mode)), KNOWN[mode])) for mode in KNOWN]
    for check in (check_threads, check_containers, check_names, check_stripped, check_no_stacks, check_cut, check_words,
                  check_sampled, check_strange):
        cases.append((check.__name__.removeprefix("check_").replace("_", " "), lambda check=check: check(world)))
    cases += [(f"made: {name}", lambda name=name, rest=rest: check_made(world, name, *rest))
              for name, rest in made_logs().items()]
    cases.append(("made: not together", lambda: check_slowly(world)))
    cases += [(f"rule: {name}", lambda rest=rest: check_rule(*rest)) for name, *rest in RULED]
    cases += [("any site", check_any),
              ("measured", check_measured), ("replayed", check_replayed), ("sorted", check_sorted),
              ("numbers", check_numbers),
              ("another composition", check_recomposed),
              ("the table", check_table), ("code", lambda: check_code(world.folder)), ("names", check_symbols)]
    return cases


def main():
    with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as folder:
        os.environ["XDG_CACHE_HOME"] = os.path.join(folder, "cache")
        world = World(folder)
        failed, cases = 0, cases_of(world)
        results = compilers.Results()
        for name, check in cases:
            try:
                wrong = check()
            except Exception as error:  # pylint: disable=broad-exception-caught
                wrong = f"{type(error).__name__}: {error}"
            results.check(name, not wrong, wrong or "")
        return results.report()


if __name__ == "__main__":
    sys.exit(main())
