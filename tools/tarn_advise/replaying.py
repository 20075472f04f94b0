"""Replays a log through compositions, so that what a suggestion gains is measured.

A plan is {site: composition}. A composition is C++, such as tarn::pool<tarn::static_size<48>>, or "arena" or "malloc". Sites
that a plan doesn't name get their blocks from malloc.

    with Replay(log, [3, 7], groups=path) as it:
        found = it.measure({"all": {3: "tarn::pool<tarn::static_size<48>>", 7: "arena"}}, seconds=10)
        best = it.search(3, 48, seconds=10)

Each figure is from a process of its own, which does the log's calls once, from an empty heap, as the program did. Times are of
the CPU, without what a thread waits for another. Rounds are interleaved, in random order.
"""

import json
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from . import building
from .building import Failed, Rejected

# What must be preloaded for each malloc; libtarn_malloc may have to be built.
MALLOCS = {"malloc": None, "jemalloc": "libjemalloc.so.2", "tcmalloc": "libtcmalloc_minimal.so.4",
           "mimalloc": "libmimalloc.so.2", "libtarn_malloc": None}
MOST_STEPS = 20_000_000
MOST_SITES = 63
LEAST_ROUNDS, MOST_ROUNDS = 5, 25
SECONDS = 600  # for what hangs


class Progress:
    """A line on stderr that is replaced, if that is a terminal."""

    def __init__(self, stream=None):
        self.stream = stream or sys.stderr
        self.is_seen = self.stream.isatty()

    def __call__(self, text):
        if self.is_seen:
            self.stream.write(f"\r\x1b[K{text[:100]}")
            self.stream.flush()


def spread(values):
    """`low` to `high`: half of the values, so that one process that was disturbed decides nothing."""
    low, _, high = statistics.quantiles(values) if len(values) > 1 else values * 3
    least, most = min(values), max(values)
    return {"median": statistics.median(values), "low": max(low, least), "high": min(high, most), "min": least, "max": most}


def why_rejected(said):
    """tarn's own sentence among a compiler's, or the first error."""
    own = re.search(r"tarn(?:-advise)?: .*", said)
    if own:
        return own.group().strip().rstrip('"”’\'')
    error = re.search(r"error: (.*)", said)
    return error.group(1).strip() if error else said.strip()[-300:]


class Program:
    """Compositions of columns, compiled. `numbers`: {(column, composition): number}."""

    def __init__(self, path, numbers):
        self.path, self.numbers = path, numbers


HEADERS = {"pool": "pool", "arena": "arena", "size_class_pool": "size_class_pool", "segregate": "blocks", "by_size": "blocks"}


def headers_of(composition):
    """What must be included: all.h takes seconds to compile."""
    names = set(re.findall(r"tarn::(\w+)<", "tarn::arena<" if composition == "arena" else composition)) & set(HEADERS)
    return [f"tarn/allocator/{HEADERS[name]}.h" for name in names] or ["tarn/allocator/all.h"]


def source_of(pairs, headers):
    headers = [*sorted({one for _, composition in pairs for one in headers_of(composition)}), *headers]
    lines = ['#include "replay_columns.h"', *(f'#include "{one}"' for one in headers), "namespace tarn_advise {",
             "extern const choice choices[] = {"]
    numbers = {}
    for number, (column, composition) in enumerate(pairs):
        numbers[column, composition] = number
        lines.append(f"  TARN_REPLAY({column}, {number}, {'tarn::arena<>' if composition == 'arena' else composition}),")
    lines += ["  {0, 0, false, nullptr},", "};", f"extern const std::size_t choice_count = {len(numbers)};", "}"]
    return "\n".join(lines) + "\n", numbers


class Replay:
    """A log, or the middle of a long one, as steps. `sites`: numbers as analyse.cc prints them; those that plans may name.
    `headers`: what compositions need besides tarn's."""

    def __init__(self, log, sites, *, groups=None, headers=(), most_steps=MOST_STEPS, say=None, mallocs=None):
        if len(sites) > MOST_SITES:
            raise Failed(f"a replay has at most {MOST_SITES} sites, not {len(sites)}")
        self.say, self.headers = say or (lambda text: None), headers
        self.columns = {site: at for at, site in enumerate(dict.fromkeys(sites), 1)}
        self.folder = tempfile.mkdtemp(prefix="tarn-advise.")
        try:
            self.say("reading the log for its replay")
            self.steps = os.path.join(self.folder, "steps")
            words = [building.cached("replay_convert", ["replay_convert.cc"]), log, groups or "-", self.steps, str(most_steps)]
            done = subprocess.run([*words, *map(str, self.columns)], capture_output=True, text=True, errors="replace",
                                  check=False)
            if done.returncode:
                raise Failed(done.stderr.strip() or f"exit status {done.returncode} of the conversion")
            self.facts = json.loads(done.stdout)
            self.notes = done.stderr.splitlines()
            self.empty = self.build([])
            self.mallocs, self.missing = self.those_here(mallocs)
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.say("")
        shutil.rmtree(self.folder, ignore_errors=True)

    def about(self):
        """How the log is replayed, in words and numbers."""
        facts = self.facts
        part = "the whole log" if facts["replayed"] == facts["calls"] else (
            f"{facts['replayed']:,} of {facts['calls']:,} calls, from call {facts['skipped']:,} on; before that, the "
            f"{facts['prelude']:,} blocks that the program had then are allocated")
        threads = ("one thread, in the log's order" if facts["threads"] == 1 else
                   f"{facts['threads']} threads; one that frees another's block waits for its allocation")
        if facts["threads"] == 1 and facts["threads_seen"] > 1:
            freed = any(one["given_by_others"] for one in facts["columns"][1:])
            threads += (f": the program's {facts['threads_seen']} are too many" if freed else
                        ": no thread frees another's blocks of these sites")
        return {"part": part, "threads": threads, "calls": facts["replayed"], "missing": self.missing, "notes": self.notes}

    def those_here(self, wanted):
        """{malloc: library} of those that can be preloaded, and why the others can't."""
        found, missing = {}, {}
        for name, library in MALLOCS.items():
            if wanted is not None and name not in wanted:
                continue
            try:
                library = library or (building.own_malloc() if name == "libtarn_malloc" else None)
            except Failed as error:
                missing[name] = str(error).splitlines()[0]
                continue
            said = self.run(self.empty, {}, library, "check")
            if said["malloc"] == name:
                found[name] = library
            else:
                missing[name] = f"{library} isn't installed"
        return found, missing

    # ---- programs

    def build(self, pairs):
        """A Program of (column, composition). Throws Failed with the composition that doesn't compile, and why."""
        pairs = [pair for pair in dict.fromkeys(pairs) if pair[1] != "malloc"]
        driver = building.cached("replay.o", ["-c", "replay.cc"])
        path = tempfile.mktemp(prefix="replay.", dir=self.folder)
        try:
            numbers = self.compile(pairs, path, ["-Wl,--as-needed", driver])
        except Rejected as error:
            for pair in pairs:  # which one it is, a compiler's notes don't say
                try:
                    self.compile([pair], path, ["-c"])
                except Rejected as one:
                    raise Failed(f"{pair[1]} doesn't compile: {why_rejected(one.said)}") from None
            raise Failed(f"{error}: {why_rejected(error.said)}") from None
        return Program(path, numbers)

    def compile(self, pairs, path, words):
        text, numbers = source_of(pairs, self.headers)
        with open(path + ".cc", "w", encoding="utf-8") as file:
            file.write(text)
        building.compiled(["-I" + building.HERE, "-I" + building.include_root(), path + ".cc", *words, "-ldl"], path)
        return numbers

    # ---- processes

    def run(self, program, plan, library, *mode):
        """What one process says. Throws Failed."""
        chosen = [f"{self.columns[site]}={program.numbers[self.columns[site], composition]}"
                  for site, composition in plan.items() if composition != "malloc"]
        environment = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
        if library:
            environment["LD_PRELOAD"] = library
        try:
            done = subprocess.run([program.path, self.steps, *mode, *chosen], env=environment, capture_output=True, text=True,
                                  errors="replace", timeout=SECONDS, check=False)
        except subprocess.TimeoutExpired:
            raise Failed(f"a replay took more than {SECONDS} seconds") from None
        if done.returncode:
            compositions = ", ".join(plan.values()) or "malloc"
            raise Failed(f"{compositions}: {done.stderr.strip() or f'exit status {done.returncode}'}")
        said = json.loads(done.stdout)
        if said["lost"]:
            raise Failed(f"{', '.join(plan.values()) or said['malloc']}: {said['lost']} blocks lost what was written to them")
        return said

    def check(self, plan):
        """{"calls": [[taken, given] of each column], "targets": functions called through pointers}"""
        return self.run(self.build(self.pairs(plan)), plan, None, "check")

    def pairs(self, plan):
        return [(self.columns[site], composition) for site, composition in plan.items()]

    # ---- measuring

    def measure(self, plans, seconds=10, mallocs=None, over=None):
        """{name: result} of each plan over the process's malloc and, as "malloc", "jemalloc", ..., of an empty plan. Rounds are
        as many as fit into the seconds, but five. `over`: another malloc that plans are measured with."""
        program = self.build([pair for plan in plans.values() for pair in self.pairs(plan)])
        jobs = {name: (program, plan, self.mallocs[over] if over else None) for name, plan in plans.items()}
        jobs |= {name: (self.empty, {}, library) for name, library in (mallocs or self.mallocs).items()}
        found = self.rounds(jobs, seconds)
        return {name: self.result(jobs[name][1], *found[name]) for name in jobs}

    def rounds(self, jobs, seconds, least=LEAST_ROUNDS):
        """{name: ([what each process said], [the same of those that clock the sites])}"""
        found = {name: ([], []) for name in jobs}
        began, number = time.monotonic(), 0
        while number < least or number < MOST_ROUNDS and (time.monotonic() - began) * (number + 1) / number < seconds:
            order = [(name, own) for name in jobs for own in (False, True)]
            random.shuffle(order)
            for done, (name, own) in enumerate(order):
                self.say(f"replay, round {number + 1}: {done + 1} of {len(order)}")
                found[name][own].append(self.run(*jobs[name], *(["own"] if own else [])))
            number += 1
        return found

    def result(self, plan, whole, own):
        """What rounds show. A pool's blocks are without the call that each is taken and freed by here."""
        calls = self.facts["replayed"] or 1
        pooled = sum(self.calls_of(site) for site, composition in plan.items() if composition != "malloc")
        time_ = spread([one["seconds"] * 1e9 - one["call_ns"] * pooled for one in whole])
        shares = [[own_ns / (sum(one["own_ns"]) or 1) for own_ns in one["own_ns"]] for one in own]
        return {
            "plan": plan, "rounds": len(whole), "ns": {key: value / calls for key, value in time_.items()},
            "held": spread([one["held"] for one in whole]), "faults": spread([one["faults"] for one in whole]),
            "site_ns": {site: statistics.median(share[at] for share in shares) * time_["median"] / self.calls_of(site)
                        for site, at in self.columns.items()}}

    def calls_of(self, site):
        its = self.facts["columns"][self.columns[site]]
        return max(1, its["taken"] + its["given"])

    def gain(self, site, result, malloc):
        """What a composition gains over `malloc`. `gain_ns`: what the whole log takes less, for each call of the site. So it
        includes what the rest of the program gains or loses by what is in the caches. `ns`: the site's share of the time, as
        clocked. The spread is what half of the rounds are apart."""
        each = self.facts["replayed"] / self.calls_of(site)
        before, after = malloc["ns"], result["ns"]
        gained = (before["median"] - after["median"]) * each
        noise = max(one["high"] - one["low"] for one in (before, after)) * each
        return {"malloc_ns": malloc["site_ns"][site], "ns": result["site_ns"][site], "gain_ns": gained, "spread_ns": noise,
                "is_gain": gained > noise, "rounds": result["rounds"],
                "whole": {name: {"malloc": malloc[name], "plan": result[name]} for name in ("ns", "held", "faults")}}

    # ---- searching

    def search(self, site, composition, size, seconds=10):
        """The best of the compositions that differ from `composition` in one axis, then of those that differ from the best of
        these in another: [(composition, result)], the best first; malloc's result; compositions that were refused, and why."""
        refused, tried, best = {}, {}, composition
        axes = axes_of(size, self.facts["columns"][self.columns[site]])
        for number, candidates in enumerate(axes):
            names = dict.fromkeys([best, *(with_policy(best, one) for one in candidates)])
            program = self.build_those(site, names, refused)
            jobs = {one: (program, {site: one}, None) for one in names if one not in refused}
            jobs = self.those_that_run(jobs | {"malloc": (self.empty, {}, None)}, refused)
            found = self.rounds(jobs, seconds / (len(axes) + 1))
            tried |= {name: self.result(jobs[name][1], *found[name]) for name in jobs}
            choices = [name for name in jobs if name != "malloc"]
            if not choices:
                break
            best = self.better(tried, best, choices)
            self.say(f"axis {number + 1} of {len(axes)}: {best}")
        malloc = tried.pop("malloc", None)
        return sorted(tried.items(), key=lambda one: (one[0] != best, one[1]["ns"]["median"])), malloc, refused

    @staticmethod
    def better(tried, best, choices):
        """Another than `best` only if it is so beyond the spread: simple before fast."""
        first = min(choices, key=lambda name: tried[name]["ns"]["median"])
        if best not in choices or tried[first]["ns"]["high"] < tried[best]["ns"]["low"]:
            return first
        return best

    def build_those(self, site, names, refused):
        """A program of those that compile."""
        while True:
            left = [(self.columns[site], name) for name in names if name not in refused]
            try:
                return self.build(left)
            except Failed as error:
                wrong = next((name for _, name in left if str(error).startswith(f"{name} doesn't compile")), None)
                if wrong is None:
                    raise
                refused[wrong] = str(error)

    def those_that_run(self, jobs, refused):
        found = {}
        for name, job in jobs.items():
            try:
                self.run(*job, "check")
                found[name] = job
            except Failed as error:
                if name == "malloc":
                    raise
                refused[name] = str(error)
        return found


# What is tried of each axis, in this order; "": the default. The last word of each policy decides which axis it is of.
AXES = {"reuse": ["", "tarn::lifo_reuse<>", "tarn::page_local_reuse<>"],
        "growth": ["", "tarn::geometric_growth<{peak}>", "tarn::fixed_growth<{part}>"],
        "locking": ["tarn::thread_cached<>", "tarn::mutex_locking<>"],
        "store": ["", "tarn::page_store<>", "tarn::page_store<tarn::huge_pages>"]}
AXIS_OF = {"reuse": r"tarn::\w+_reuse<.*?>", "growth": r"tarn::\w*growth<.*?>", "store": r"tarn::page_store<(?:[\w:]*)>",
           "locking": r"tarn::(?:no_locking|lock_free|thread_cached<.*?>|mutex_locking<.*?>)"}


def axes_of(size, facts):
    """[[(axis, policy)]] worth a try: locking only if there are threads, huge pages only if there is as much."""
    bytes_ = facts["peak_live"] * size
    numbers = {"peak": max(64, facts["peak_live"]), "part": max(64, facts["peak_live"] // 8)}
    axes = []
    for axis, policies in AXES.items():
        if axis == "locking" and facts["threads"] < 2:
            continue
        some = [policy for policy in policies if "huge" not in policy or bytes_ >= 4 << 20]
        if axis == "growth" and bytes_ <= 4096:
            continue
        axes.append([(axis, policy.format(**numbers)) for policy in some])
    return axes


def with_policy(composition, change):
    """A pool's composition with another policy of an axis."""
    axis, policy = change
    if not composition.startswith("tarn::pool<"):
        return composition
    inner = re.sub(r",\s*" + AXIS_OF[axis] + r"(?=\s*(?:,|$))", "", composition[len("tarn::pool<"):-1])
    return f"tarn::pool<{inner}{policy and ', '}{policy}>"


def is_less(one, other):
    """Whether a time is less than another by more than the spread of either: half of its rounds."""
    return other["median"] - one["median"] > max(its["high"] - its["low"] for its in (one, other))


def replay(log, plan, seconds=10, **more):
    """The gain of each site of a plan alone, and of all together; each against every malloc that is here."""
    with Replay(log, list(plan), **more) as it:
        plans = {f"site {site}": {site: composition} for site, composition in plan.items()} | {"all": dict(plan)}
        found = it.measure(plans, seconds)
        return {**it.about(), "results": found, "gains": {
            site: {name: it.gain(site, found[f"site {site}"], found[name]) for name in it.mallocs} for site in plan}}
