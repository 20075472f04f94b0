"""tarn-advise's command line, and what it prints."""

import argparse
import json
import os
import subprocess
import sys
import tempfile

import tarn_output
from tarn_output import shown
from . import building, page, replaying, rules, symbols
from .building import Failed

EPILOG = """\
examples:
  tarn-record -o log -- ./server --port 8080     records a program
  tarn-advise log                                which allocations to pool, with the code
  tarn-advise --html advice.html log             a page with pictures
  tarn-advise --json advice.json log             all that was counted
  tarn-advise --replay=full log                  also looks for better policies

What is advised was replayed: without a gain above the spread, it isn't given.
"""
REPLAYS = {"quick": (2_000_000, 10), "full": (replaying.MOST_STEPS, 60)}  # steps at most, and seconds at least
MOST_REPLAYED = 16  # sites
OF_SIZES = 1 << 30  # sites.h: from here on, calls without a stack
SHOWN = 8  # sites not to pool, in the terminal

# ---- from the log to advice -----------------------------------------------------------------------------------------------


def analysed(program, *words):
    """What the analyser says. It reads a damaged log as far as it goes, and shows on a terminal how far it is."""
    done = subprocess.run([program, *words], stdout=subprocess.PIPE, check=False)
    if done.returncode not in (0, 1, 2):
        raise Failed(f"the analysis ended with status {done.returncode}")
    found = json.loads(done.stdout.decode(errors="replace"))
    if "failed" in found:
        raise Failed(found["failed"])
    return found


def described(site, number):
    """A site in words."""
    if site is None:
        return {"kind": "other", "type": None, "element": None, "place": None, "function": None, "has_line": False,
                "frames": [], "where": f"blocks without a stack ({number})"}
    place = site.place
    where = symbols.where(place or site.frames[-1]) if place or site.frames else "?"
    return {"kind": site.kind, "type": site.type, "element": site.element, "place": symbols.where(place) if place else None,
            "function": symbols.qualified(place.function) if place and place.function else None, "where": where,
            "has_line": bool(place and place.file),
            "frames": [symbols.where(frame) for frame in site.frames]}


def read(log, groups, way=None):
    """The analyser's result; each site also has `what`. `groups`: a file to write."""
    if not os.path.isfile(log):
        raise Failed(f"{log}: no such file")
    program = building.cached("analyse", ["analyse.cc"])
    stacks = analysed(program, "--stacks", log)
    sites = symbols.Sites(list(stacks["stacks"].values()), stacks["mappings"], way)
    with open(groups, "w", encoding="utf-8") as file:
        file.writelines(f"{number} {group}\n" for number, group in zip(stacks["stacks"], sites.groups))
    found = analysed(program, log, groups)
    for site in found["sites"]:
        site["id_is_size"] = site["id"] >= OF_SIZES
        known = sites.found[site["id"]] if site["id"] < len(sites.found) else None
        site["what"] = described(known, f"{site['sizes'][0][0]} bytes")
    return found


def notes_of(found):
    """What the reader must know of the log."""
    notes = []
    if found["complete"] is not True:
        notes.append(f"the log isn't complete: {found['complete']}. What was read counts")
    without = sum(site["calls"] for site in found["sites"] if site["id_is_size"])
    calls = sum(site["calls"] for site in found["sites"])
    if calls and without == calls:
        notes.append("the log has no call stacks, so places have no names: record it without --no-stacks")
    elif without * 100 > calls:
        notes.append(f"{rules.percent(without / calls)} of the allocations have no call stack")
    named = sum(site["calls"] for site in found["sites"] if site["what"]["place"] and not site["what"]["has_line"])
    if 2 * named > calls:
        notes.append("the program has no debug information: with -g, lines, classes and containers have names")
    if found["unknown_frees"] * 100 > found["calls"]:
        notes.append(f"{rules.quantity(found['unknown_frees'])} blocks were freed that the log doesn't know")
    return notes


# ---- the replay -------------------------------------------------------------------------------------------------------------

def replayed(report, groups, mode):
    """Adds what a replay shows to the advice: the gain of each alone, and of all that are left together."""
    if rules.is_idle(report):
        return
    good = [one for one in report["advice"] if one["verdict"] == "pool"][:MOST_REPLAYED]
    steps, seconds = REPLAYS[mode]
    sites = {site["id"]: site for site in report["sites"]}
    with replaying.Replay(report["log"], [one["site"] for one in good], groups=groups, most_steps=steps,
                          say=replaying.Progress()) as replay:
        if mode == "full":
            good = [searched(replay, one, sites[one["site"]], seconds / len(good)) for one in good]
        own, found = measured(replay, good, seconds)
        report["replay"] = {**replay.about(), "results": found}
    report["notes"] += better_malloc(found)
    report["advice"] = rules.in_order([own.get(one["site"], one) for one in report["advice"]])


def measured(replay, good, seconds):
    """({site: advice with its gain}, {"all" that gain together, and each malloc: what it showed})."""
    plans = {one["site"]: {one["site"]: one["composition"]} for one in good}
    everything = {one["site"]: one["composition"] for one in good}
    found = replay.measure({**plans, "all": everything} if good else {}, seconds)
    own = {}
    for one in good:
        result = found[one["site"]]
        gains = {name: replay.gain(one["site"], result, found[name]) for name in replay.mallocs}
        own[one["site"]] = rules.measured(one, gains)
    kept = {one["site"]: plans[one["site"]][one["site"]] for one in own.values() if one["verdict"] == "pool"}
    if kept != everything:
        found = replay.measure({"all": kept} if kept else {}, seconds / 2)
    return own, {name: found[name] for name in ("all", *replay.mallocs) if name in found}


def better_malloc(results):
    """A line, if another malloc is faster than all that is advised, by more than the spread."""
    ours = "all" if "all" in results else "malloc"
    name = min(results, key=lambda name: results[name]["ns"]["median"])
    if name in ("all", "malloc") or results[name]["ns"]["max"] >= results[ours]["ns"]["min"]:
        return []
    return [f"another malloc, {name}, replays in {results[name]['ns']['median']:.3g} ns a call; "
            f"{'what is advised' if ours == 'all' else 'malloc'}, in {results[ours]['ns']['median']:.3g}"]


def searched(replay, one, site, seconds):
    """Advice with the best composition that is found."""
    if one["composition"] == "arena":
        return one
    found, _, _ = replay.search(site["id"], one["composition"], rules.size_of(site), seconds)
    return rules.recomposed(one, site, found[0][0]) if found else one


# ---- the terminal -----------------------------------------------------------------------------------------------------------

def title(found):
    calls = f"{rules.quantity(found['calls'])} calls in {found['seconds']:.3g} s"
    threads = f"{found['threads']} thread" + ("s" if found["threads"] != 1 else "")
    return (f"{found['command'] or found['log']}: {calls}, {threads}; at most {rules.in_bytes(found['peak_bytes'])} in "
            f"{rules.quantity(found['peak_live'])} blocks")


def name_of(what):
    return f"{what['type']}, {what['where']}" if what["type"] else what["where"]


def gain_of(one):
    gain = one["gain"] and one["gain"]["malloc"]
    if gain is None:
        return "not measured"
    held = gain["whole"]["held"]
    return (f"the program saves {gain['gain_ns']:.3g} ns for each (spread {gain['spread_ns']:.2g}), and holds "
            f"{rules.in_bytes(held['plan']['median'])} instead of {rules.in_bytes(held['malloc']['median'])}")


def lines_of(number, one):
    """A suggestion."""
    yield f"{number}. {name_of(one['what'])}: {rules.percent(one['share'])} of the calls; {gain_of(one)}"
    for rule, reason in zip(one["rules"], one["reasons"]):
        yield f"   {rule}: {reason}"
    yield ""
    for line in [*one["include"], *one["code"]]:
        yield f"     {line}"
    yield ""


def together(report):
    """The replay of all that is advised."""
    found = report["replay"]["results"]
    malloc, mix = found["malloc"], found.get("all")
    others = [f"{name} {its['ns']['median']:.3g}" for name, its in found.items() if name not in ("all", "malloc")]
    others = f" ({', '.join(others)})" if others else ""
    if mix:
        yield f"All together: {mix['ns']['median']:.3g} ns a call instead of {malloc['ns']['median']:.3g}{others}"
        yield (f"  {rules.in_bytes(mix['held']['median'])} instead of {rules.in_bytes(malloc['held']['median'])}; "
               f"{mix['faults']['median']:,} page faults instead of {malloc['faults']['median']:,}")
    else:
        yield f"The program's malloc: {malloc['ns']['median']:.3g} ns a call{others}"
    yield f"  replayed: {report['replay']['part']}; {report['replay']['threads']}"
    yield ""


def text_of(report):
    """What the terminal shows."""
    advice = report["advice"]
    good = [one for one in advice if one["verdict"] == "pool"]
    bad = [one for one in advice if one["verdict"] != "pool"]
    lines = [title(report), *(f"  note: {note}" for note in report["notes"]), ""]
    for number, one in enumerate(good, 1):
        lines += lines_of(number, one)
    if report.get("replay"):
        lines += together(report)
    if good:
        lines += [f"Build with {rules.BUILD['cmake']} in CMake, or {rules.BUILD['bazel']} in Bazel.", ""]
    else:
        lines += ["Nothing here is worth a pool.", ""]
    large = [one for one in bad if one["share"] >= rules.FEW_SHARE][:SHOWN]
    lines += ["Don't pool:"] if bad else []
    for one in large:
        lines.append(f"  {rules.percent(one['share']):>6}  {name_of(one['what'])}: {one['rules'][0]}, {one['reasons'][0]}")
    if len(bad) > len(large):
        rest = sum(one["share"] for one in bad) - sum(one["share"] for one in large)
        lines.append(f"  {rules.percent(rest):>6}  {len(bad) - len(large)} others")
    return "".join(shown(line).rstrip() + "\n" for line in lines)


# ---- the command ------------------------------------------------------------------------------------------------------------

def write(path, text):
    try:
        with open(path, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
    except (OSError, ValueError) as error:
        raise Failed(f"{path}: {getattr(error, 'strerror', None) or error}") from error


def work(given):
    with tempfile.TemporaryDirectory(prefix="tarn-advise.") as folder:
        groups = os.path.join(folder, "groups")
        report = read(given.log, groups)
        report["notes"] = notes_of(report)
        report["advice"] = rules.in_order([rules.advise(site, report) for site in report["sites"]])
        if given.replay != "none":
            try:
                replayed(report, groups, given.replay)
            except Failed as error:
                report["notes"].append(f"nothing was measured: {error}")
    if given.json:
        write(given.json, json.dumps(report, indent=1) + "\n")
    if given.html:
        write(given.html, page.page(report))
    sys.stdout.write(text_of(report))
    return 0


def main():
    parser = argparse.ArgumentParser(prog="tarn-advise", description="Says which allocations of a recorded program are worth a "
                                     "pool, which, and why.", epilog=EPILOG,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("log", metavar="LOG", help="what tarn-record wrote")
    parser.add_argument("--json", metavar="FILE", help="write all that was counted, and the advice")
    parser.add_argument("--html", metavar="FILE", help="write a page with the advice, all sites, and pictures")
    parser.add_argument("--replay", choices=["none", *REPLAYS], default="quick",
                        help="measure what is advised: at most 2 million calls of the log (quick); more, and search for better "
                        "policies (full)")
    given = parser.parse_args()
    try:
        return work(given)
    except Failed as error:
        return tarn_output.failed("tarn-advise", str(error), 2)
