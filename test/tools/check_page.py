#!/usr/bin/env python3
"""tools/tarn_advise/page.py: the page has all that the report says, none of it is markup, and nothing is fetched from
elsewhere. test/site/browser.py opens it."""

import json
import os
import re
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
sys.path[:0] = [os.path.join(ROOT, "test/support"), os.path.join(ROOT, "tools")]

import compilers
from tarn_advise import page

EVIL = "std::map<</script><img src=x onerror=alert(1)>>"
SVG_NAMESPACE = '"http://www.w3.org/2000/svg"'
OUTSIDE = re.compile(r"https?:|\bsrc\s*=|\bhref\s*=|url\(|@import|\bimport\b|fetch\(|XMLHttp|<link|<iframe|//[a-z0-9-]+\.[a-z]")


def spread(median):
    return {"median": median, "low": median * 0.95, "high": median * 1.05, "min": median * 0.9, "max": median * 1.2}


def result(ns, held, faults):
    return {"ns": spread(ns), "held": spread(held), "faults": spread(faults), "rounds": 5}


def site(number, calls, size, type_, where, **more):
    return {"id": number, "stack": [], "stacks": [number], "size": size, "sizes": [[size or 100, calls]], "sizes_more": 0,
            "alignment": 0, "calls": calls, "frees": calls - 1, "share": calls / 300_000, "bytes": calls * 48,
            "operations": {"new": calls}, "peak_live": calls // 2, "peak_bytes": calls * 24, "never_freed": 1,
            "lifetime_ns": {"p10": 90, "p50": 1500, "p90": 70_000, "p99": 800_000, "max": 9_000_000},
            "order": {"alone": 0, "reverse": 0.25, "in_order": 0.5, "random": 0.25, "together": 0}, "runs": [],
            "freed_by_other_thread": 0.125, "threads": 2, "reallocations": 0, "bursts": {"longest": 7, "mean": 2},
            "timeline": [100, calls * 24, 500],
            "what": {"type": type_, "where": where, "frames": [where, "main.cc:7 (main)"], "kind": "class"}, **more}


def report(sites=60):
    """Of a program with some sites, one of which has a name that would end the script."""
    its = [site(1, 100_000, 48, "order", "book.cc:65 (book::add)"), site(2, 50_000, 24, EVIL, "evil.cc:1 (evil)")]
    its += [site(number, 1000 - number, 8 * number, None, f"other.cc:{number} (f{number})") for number in range(3, sites)]
    its.append(site(sites, 9, None, None, "never.cc:1 (never)", frees=0, lifetime_ns=None))
    results = {"all": result(5.25, 1 << 20, 77), "malloc": result(11.5, 3 << 20, 99), "jemalloc": result(9.75, 2 << 20, 88)}
    gain = {name: {"malloc_ns": 20.5, "ns": 4.25, "gain_ns": 16, "spread_ns": 1.5, "is_gain": True, "rounds": 5,
                   "whole": {part: {"malloc": results[name][part], "plan": results["all"][part]}
                             for part in ("ns", "held", "faults")}} for name in ("malloc", "jemalloc")}
    advice = [{"site": 1, "what": its[0]["what"], "share": 1 / 3, "calls": 199_999, "verdict": "pool", "rules": ["F13", "F20"],
               "reasons": ["objects of order", "one thread allocates and frees"], "product": "DECLARE_MEMORY_POOL",
               "composition": "tarn::pool<tarn::static_size<48>>",
               "include": ['#include "tarn/allocator/memory_pool_macros.h"'],
               "code": ["struct order {", "  DECLARE_MEMORY_POOL(order)", "};"], "gain": gain,
               "cmake": "target_link_libraries(app PRIVATE tarn::tarn)", "bazel": "@tarn//allocator:memory_pool_macros"},
              {"site": 2, "what": its[1]["what"], "share": 1 / 6, "calls": 99_999, "verdict": "don't pool", "rules": ["F3"],
               "reasons": [f"{EVIL} grows"], "gain": None}]
    advice += [{"site": one["id"], "what": one["what"], "share": one["share"], "calls": one["calls"] * 2, "gain": None,
                "verdict": "don't pool", "rules": ["F1"], "reasons": ["few calls"]} for one in its[2:]]
    return {"version": 1, "log": "log", "command": "./server --port 8080", "calls": 300_000, "seconds": 1.5, "threads": 2,
            "complete": "cut: the file ends within block 3", "unknown_frees": 0, "lost": 0, "peak_live": 75_000,
            "peak_bytes": 3_600_000, "timeline": {"width_ns": 500_000_000, "bytes": [100, 3_600_000, 500]},
            "frees": [[1, 1, 80_000], [1, 2, 20_000], [2, 2, 50_000]], "sites": its, "advice": advice,
            "notes": ["the program has no debug information"],
            "replay": {"part": "the whole log", "threads": "one thread, in the log's order", "calls": 300_000,
                       "missing": {"mimalloc": "libmimalloc.so.2 isn't installed"}, "notes": [], "results": results}}


def data_in(text):
    return json.loads(re.search(r"^const report = (.*);$", text, re.MULTILINE).group(1))


def outside(text):
    """References to elsewhere in the page, without the report."""
    rest = re.sub(r"^const report = .*;$", "", text, flags=re.MULTILINE).replace(SVG_NAMESPACE, "")
    code = "\n".join(re.sub(r"(^|\s)// .*", "", line) for line in rest.splitlines())
    return OUTSIDE.findall(code)


def differences(text, its):
    """What of the report isn't in the page as it is."""
    found = data_in(text)
    wrong = [key for key in ("log", "command", "calls", "seconds", "threads", "complete", "peak_live", "peak_bytes", "timeline",
                             "frees", "notes", "replay") if found.get(key) != its[key]]
    sites = {one["id"]: one for one in found["sites"]}
    for one in its["sites"][:page.MOST_SITES]:
        wrong += [f"site {one['id']}: {key}" for key in page.SITE if sites.get(one["id"], {}).get(key) != one[key]]
    for one in its["advice"]:
        if one["verdict"] == "pool" or one["share"] >= 0.01:
            shown = next((other for other in found["advice"] if other["site"] == one["site"]), {})
            wrong += [f"advice {one['site']}: {key}" for key in page.ADVICE if shown.get(key) != one.get(key)]
    return wrong


def check_all():
    return ", ".join(differences(page.page(report()), report())) or None


def check_left_out():
    """The detector fires: a page that lacks a site, or a figure."""
    its, other = report(), report()
    del other["sites"][5]
    other["replay"]["results"]["all"]["held"]["median"] += 1
    wrong = differences(page.page(other), its)
    return None if {"replay", "site 6: calls"} <= set(wrong) else f"{wrong}"


def check_many():
    """More sites than the page lists, and what they sum up to."""
    found = data_in(page.page(report(sites=page.MOST_SITES + 50)))
    kept = [one["calls"] for one in found["sites"]]
    if len(kept) != page.MOST_SITES or found["sites_more"] != 50 or kept != sorted(kept, reverse=True):
        return f"{len(kept)} sites, {found['sites_more']} more"
    return None


def check_nothing():
    """A program that allocates nothing, and a report without a replay."""
    its = report()
    its |= {"sites": [], "advice": [], "frees": [], "calls": 0, "timeline": {"width_ns": 1, "bytes": [0]}, "complete": True}
    del its["replay"]
    found = data_in(page.page(its))
    return None if found["sizes"] == [] and "replay" not in found else f"{found}"


def check_markup():
    text = page.page(report())
    if text.count("</script>") != 1 or "<img" in text:
        return "a name is markup"
    return None if any(EVIL == one["what"]["type"] for one in data_in(text)["sites"]) else "the name isn't there"


def check_outside():
    return ", ".join(outside(page.page(report()))) or None


def check_seen(addition):
    return None if outside(page.page(report()).replace("</style>", f"</style>{addition}")) else "isn't seen"


def check_sizes():
    its = {"sites": [{"sizes": [[1, 5], [24, 7], [32, 1], [33, 2]]}, {"sizes": [[64, 3], [200, 4]]}]}
    found = page.buckets_of(its["sites"])
    return None if found == [[1, 5], [2, 0], [4, 0], [8, 0], [16, 0], [32, 8], [64, 5], [128, 0], [256, 4]] else f"{found}"


def main():
    cases = [(f"page: {name}", check) for name, check in {
        "has everything": check_all, "what is left out is seen": check_left_out, "many sites": check_many,
        "nothing": check_nothing, "names are no markup": check_markup, "nothing from elsewhere": check_outside,
        "sizes": check_sizes}.items()]
    cases += [(f"page: seen: {addition}", lambda addition=addition: check_seen(addition)) for addition in (
        '<script src="x.js"></script>', "<style>@import 'x.css';</style>", '<img src="//example.com/x.png">',
        "<p>https://example.com</p>", '<link rel="icon">', "<style>p { background: url(x.png) }</style>")]
    return compilers.report(cases)


if __name__ == "__main__":
    sys.exit(main())
