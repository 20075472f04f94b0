"""tarn-advise's command line, and what it prints."""

import argparse
import json
import os
import subprocess
import sys
import tempfile

import tarn_building
import tarn_output
from tarn_building import Failed
from tarn_output import shown
from . import rules, symbols

EPILOG = """\
examples:
  tarn-record -o log -- ./server --port 8080     records a program
  tarn-advise log                                which allocations to pool, with the code
  tarn-advise --json advice.json log             all that was counted

What is advised is replayed first: without a gain above the spread, it isn't given.
"""
ANALYSER = "tarn_advise_analyse", os.path.join("tarn_advise", "analyse.cc")
OF_SIZES = 1 << 30  # sites.h: from here on, calls without a stack
SHOWN = 8  # sites not to pool, in the terminal

# ---- from the log to advice -----------------------------------------------------------------------------------------------


def analysed(program, *words):
    """What the analyser says. It reads a damaged log as far as it goes."""
    said = None if sys.stderr.isatty() else subprocess.PIPE  # how far it is
    done = subprocess.run([program, *words], stdout=subprocess.PIPE, stderr=said, check=False)
    if done.returncode not in (0, 1):
        raise Failed((done.stderr or b"").decode(errors="replace") or f"the analyser ended with {done.returncode}")
    return json.loads(done.stdout.decode(errors="replace"))


def described(site, number):
    """A site in words."""
    if site is None:
        return {"kind": "other", "type": None, "element": None, "place": None, "function": None, "frames": [],
                "where": f"blocks without a stack ({number})"}
    place = site.place
    where = symbols.where(place or site.frames[-1]) if place or site.frames else "?"
    return {"kind": site.kind, "type": site.type, "element": site.element, "place": symbols.where(place) if place else None,
            "function": symbols.qualified(place.function) if place and place.function else None, "where": where,
            "frames": [symbols.where(frame) for frame in site.frames]}


def read(log, program, way=None):
    """The analyser's result; each site also has `what`."""
    if not os.path.isfile(log):
        raise Failed(f"{log}: no such file")
    stacks = analysed(program, "--stacks", log)
    numbers = list(map(int, stacks["stacks"]))
    sites = symbols.Sites(list(stacks["stacks"].values()), stacks["mappings"], way)
    with tempfile.NamedTemporaryFile("w", prefix="tarn-advise-", suffix=".groups") as groups:
        groups.writelines(f"{number} {group}\n" for number, group in zip(numbers, sites.groups))
        groups.flush()
        found = analysed(program, log, groups.name)
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
    if found["unknown_frees"] * 100 > found["calls"]:
        notes.append(f"{rules.quantity(found['unknown_frees'])} blocks were freed that the log doesn't know")
    return notes


def advice_on(found):
    return rules.in_order([rules.advise(site, found) for site in found["sites"]])


# ---- the terminal -----------------------------------------------------------------------------------------------------------

def title(found):
    calls = f"{rules.quantity(found['calls'])} calls in {found['seconds']:.3g} s"
    threads = f"{found['threads']} thread" + ("s" if found["threads"] != 1 else "")
    return (f"{found['command'] or found['log']}: {calls}, {threads}; at most {rules.in_bytes(found['peak_bytes'])} in "
            f"{rules.quantity(found['peak_live'])} blocks")


def name_of(what):
    return f"{what['type']}, {what['where']}" if what["type"] else what["where"]


def gain_of(one):
    gain = one["gain"]
    if gain is None:
        return "not measured"
    return f"{gain['ns']:.3g} ns a call instead of {gain['malloc_ns']:.3g} (spread {gain['spread_ns']:.2g})"


def lines_of(number, one):
    """A suggestion."""
    yield f"{number}. {name_of(one['what'])}: {rules.percent(one['share'])} of the calls; {gain_of(one)}"
    for rule, reason in zip(one["rules"], one["reasons"]):
        yield f"   {rule}: {reason}"
    yield ""
    for line in [*one["include"], *one["code"]]:
        yield f"     {line}"
    yield ""


def text_of(report):
    """What the terminal shows."""
    advice = report["advice"]
    good = [one for one in advice if one["verdict"] == "pool"]
    bad = [one for one in advice if one["verdict"] != "pool"]
    lines = [title(report), *(f"  {note}" for note in report["notes"]), ""]
    for number, one in enumerate(good, 1):
        lines += lines_of(number, one)
    if good:
        lines += [f"The build: {good[0]['cmake']} (CMake), or {' '.join(sorted({one['bazel'] for one in good}))} (Bazel)", ""]
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
    program = os.path.join(os.path.abspath(given.built), ANALYSER[0]) if given.built else tarn_building.cached(
        *ANALYSER, folders=("tarn_advise", "tarn_record"))
    report = read(given.log, program)
    report["notes"] = notes_of(report)
    report["advice"] = advice_on(report)
    if given.json:
        write(given.json, json.dumps(report, indent=1) + "\n")
    sys.stdout.write(text_of(report))
    return 0


def main():
    parser = argparse.ArgumentParser(prog="tarn-advise", description="Says which allocations of a recorded program are worth a "
                                     "pool, which, and why.", epilog=EPILOG,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("log", metavar="LOG", help="what tarn-record wrote")
    parser.add_argument("--json", metavar="FILE", help="write all that was counted, and the advice")
    parser.add_argument("--built", metavar="FOLDER", help=f"where {ANALYSER[0]} is built")
    given = parser.parse_args()
    try:
        return work(given)
    except Failed as error:
        return tarn_output.failed("tarn-advise", str(error), 2)
