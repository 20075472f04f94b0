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
MOST_LETTERS = 60  # of the program's words
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


def described(site, number, callers=()):
    """A site in words."""
    if site is None:
        return {"kind": "other", "type": None, "element": None, "place": None, "function": None, "has_line": False,
                "frames": [], "where": f"blocks without a stack ({number})", "short": f"blocks of {number}"}
    place = site.place
    frames = site.frames if place else site.frames[-1:]
    where = symbols.place(frames, callers) if frames else "?"
    return {"kind": site.kind, "type": site.type, "element": site.element, "place": symbols.where(place) if place else None,
            "function": symbols.qualified(place.function) if place and place.function else None, "where": where,
            "short": symbols.short_place(frames, callers) if frames else "?", "has_line": bool(place and place.file),
            "frames": [symbols.where(frame) for frame in site.frames]}


def read(log, groups, way=None):
    """The analyser's result; each site also has `what`. `groups`: a file to write."""
    if not os.path.isfile(log):
        raise Failed(f"{log}: no such file")
    program = building.cached("analyse", ["analyse.cc"])
    stacks = analysed(program, "--stacks", log)
    sites = symbols.Sites(list(stacks["stacks"].values()), stacks["mappings"], way, stacks["program"])
    of_stacks = dict(zip(stacks["stacks"], sites.groups))
    write_groups(groups, of_stacks)
    found = analysed(program, log, groups)
    found["rebuilt"] = sites.others
    for site in found["sites"]:
        site["id_is_size"] = site["id"] >= OF_SIZES
        known = site["id"] < len(sites.found)
        site["what"] = described(sites.found[site["id"]] if known else None, f"{site['sizes'][0][0]} bytes",
                                 sites.callers[site["id"]] if known else ())
    share_arenas(program, found, of_stacks, groups)
    return found


def write_groups(path, of_stacks):
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(f"{stack} {group}\n" for stack, group in of_stacks.items())


def share_arenas(program, found, of_stacks, groups):
    """Makes one site of those whose blocks die at the same times, if a second analysis shows that none is left then."""
    wanted = {sites[0]["id"]: sites for sites in rules.sharing(found["sites"], found)}
    if not wanted:
        return
    first_of = {site["id"]: first for first, sites in wanted.items() for site in sites}
    write_groups(groups, {stack: first_of.get(group, group) for stack, group in of_stacks.items()})
    for all_ in analysed(program, found["log"], groups)["sites"]:
        if all_["id"] in wanted:
            site = rules.joint(wanted[all_["id"]], all_)
            if rules.is_cleared(site):
                found["sites"] = [one for one in found["sites"] if first_of.get(one["id"]) != site["id"]] + [site]
            else:
                first_of = {one: first for one, first in first_of.items() if first != site["id"]}
    write_groups(groups, {stack: first_of.get(group, group) for stack, group in of_stacks.items()})
    found["sites"].sort(key=lambda site: -site["share"])


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
    for path in found["rebuilt"]:
        notes.append(f"{path} was built anew since the log was written, so its places have no names: record again")
    if found["unknown_frees"] * 100 > found["calls"]:
        notes.append(f"{rules.quantity(found['unknown_frees'])} blocks were freed that the log doesn't know")
    return notes


# ---- the replay -------------------------------------------------------------------------------------------------------------

def replayed(report, groups, mode):
    """Adds what a replay shows to the advice: the gain of each alone, and of all that are left together."""
    if rules.is_idle(report):
        return
    sites = {site["id"]: site for site in report["sites"]}
    tried = {one["site"]: rules.options(sites[one["site"]], report) for one in report["advice"]}
    tried = dict([one for one in tried.items() if one[1]][:MOST_REPLAYED])
    steps, seconds = REPLAYS[mode]
    with replaying.Replay(report["log"], list(tried), groups=groups, most_steps=steps, say=replaying.Progress()) as replay:
        if mode == "full":
            tried = {site: [searched(replay, one, sites[site], seconds / len(tried)) for one in its]
                     for site, its in tried.items()}
        own, found = measured(replay, tried, seconds)
        report["replay"] = {**replay.about(), "results": found, "preload": {
            name: os.path.basename(its) for name, its in replay.mallocs.items() if its}}
    report["advice"] = rules.in_order([own.get(one["site"], one) for one in report["advice"]])


def measured(replay, tried, seconds):
    """({site: advice with its gain}, {"all" that gain together, and each malloc: what it showed}). `tried`: {site: [advice]}"""
    plans = {(site, number): {site: one["composition"]} for site, its in tried.items() for number, one in enumerate(its)}
    everything = {site: its[0]["composition"] for site, its in tried.items()}
    found = replay.measure({**plans, "all": everything} if plans else {}, seconds)
    own = {}
    for site, its in tried.items():
        gains = [{name: replay.gain(site, found[site, number], found[name]) for name in replay.mallocs}
                 for number in range(len(its))]
        own[site] = rules.measured(list(zip(its, gains)))
    kept = {site: one["composition"] for site, one in own.items() if one["verdict"] == "pool"}
    if kept != everything:
        found = replay.measure({"all": kept} if kept else {}, seconds / 2)
    found = {name: found[name] for name in ("all", *replay.mallocs) if name in found}
    other = better_malloc(found)
    if other and kept:
        both = replay.measure({"both": kept}, seconds / 4, {other: replay.mallocs[other]}, other)
        found[f"all over {other}"] = both["both"]
    return own, found


def better_malloc(results):
    """The malloc that is faster than all that is advised, by more than the spread; None: none is."""
    name = min((name for name in results if not name.startswith("all")), key=lambda name: results[name]["ns"]["median"])
    ours = results.get("all", results["malloc"])
    return name if name != "malloc" and replaying.is_less(results[name]["ns"], ours["ns"]) else None


def searched(replay, one, site, seconds):
    """Advice with the best composition that is found."""
    if not one["composition"].startswith("tarn::pool<"):
        return one
    found, _, _ = replay.search(site["id"], one["composition"], one["block"], seconds)
    return rules.recomposed(one, site, found[0][0]) if found else one


# ---- the terminal -----------------------------------------------------------------------------------------------------------

def title(found):
    calls = f"{rules.quantity(found['calls'])} calls in {found['seconds']:.3g} s"
    threads = f"{found['threads']} thread" + ("s" if found["threads"] != 1 else "")
    command = found["command"] or found["log"]
    command = command if len(command) <= MOST_LETTERS else command[:MOST_LETTERS - 3] + "..."
    return (f"{command}: {calls}, {threads}; at most {rules.in_bytes(found['peak_bytes'])} in "
            f"{rules.quantity(found['peak_live'])} blocks")


def headline(report):
    """What to do, in a line."""
    good = sum(one["verdict"] == "pool" for one in report["advice"])
    pools = f"{good} suggestion{'s' * (good != 1)}"
    found = report.get("replay", {}).get("results")
    if not found:
        return f"{pools}, not measured." if good else "Nothing here is worth a pool."
    ns = {name: f"{its['ns']['median']:.3g}" for name, its in found.items()}
    other = better_malloc(found)
    if other is None:
        return f"{pools}: {ns['all']} ns a call instead of {ns['malloc']}." if good else "Nothing here is worth a pool."
    how = f"Preload {other} (LD_PRELOAD={report['replay']['preload'][other]})"
    if not good:
        return f"{how}: {ns[other]} ns a call instead of {ns['malloc']}. Nothing here is worth a pool."
    both = found[f"all over {other}"]["ns"]
    if replaying.is_less(both, found[other]["ns"]):
        return (f"{how}, and pool what follows: {both['median']:.3g} ns a call instead of {ns['malloc']}; the malloc "
                f"alone, {ns[other]}; pools alone, {ns['all']}.")
    return (f"{how} rather than pool: {ns[other]} ns a call instead of {ns['malloc']}. What follows gives "
            f"{ns['all']}, and with {other}, {both['median']:.3g}.")


def gain_of(one):
    gain = one["gain"] and one["gain"]["malloc"]
    if gain is None:
        return "not measured"
    held = gain["whole"]["held"]
    return (f"the program saves {rules.in_digits(gain['gain_ns'])} ns for each (spread {rules.in_digits(gain['spread_ns'])}), "
            f"and holds {rules.in_bytes(held['plan']['median'])} instead of {rules.in_bytes(held['malloc']['median'])}")


def lines_of(number, one):
    """A suggestion."""
    yield f"{number}. {rules.name_of_place(one['what'])}: {rules.percent(one['share'])} of the calls; {gain_of(one)}"
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
               f"{mix['faults']['median']:,.0f} page faults instead of {malloc['faults']['median']:,.0f}")
    else:
        yield f"The program's malloc: {malloc['ns']['median']:.3g} ns a call{others}"
    yield f"  replayed: {report['replay']['part']}; {report['replay']['threads']}"
    yield ""


def text_of(report):
    """What the terminal shows."""
    advice = report["advice"]
    good = [one for one in advice if one["verdict"] == "pool"]
    bad = [one for one in advice if one["verdict"] != "pool"]
    lines = [report["headline"], title(report), *(f"  note: {note}" for note in report["notes"]), ""]
    for number, one in enumerate(good, 1):
        lines += lines_of(number, one)
    if report.get("replay"):
        lines += together(report)
    if good:
        lines += [f"Build with {rules.BUILD['cmake']} in CMake, or {rules.BUILD['bazel']} in Bazel.", ""]
    large = [one for one in bad if one["share"] >= rules.FEW_SHARE][:SHOWN]
    lines += ["Don't pool:"] if bad else []
    said = None
    for one in large:
        reason = "" if one["reasons"][0] == said else f", {one['reasons'][0]}"
        said = one["reasons"][0]
        lines.append(f"  {rules.percent(one['share']):>6}  {rules.name_of_place(one['what'])}: {one['rules'][0]}{reason}")
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
        report["headline"] = headline(report)
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
