"""The report as one HTML page that needs nothing besides itself."""

import json
import os

HERE = os.path.dirname(os.path.abspath(os.path.realpath(__file__)))
MOST_SITES = 400  # in the table: those with the most calls
MOST_CURVES = 5  # sites whose bytes over time are drawn
SITE = ("id", "size", "sizes", "sizes_more", "calls", "frees", "share", "peak_live", "peak_bytes", "never_freed", "lifetime_ns",
        "order", "freed_by_other_thread", "threads", "reallocations", "bursts")
ADVICE = ("site", "share", "calls", "verdict", "rules", "reasons", "product", "composition", "include", "code", "cmake",
          "bazel", "gain")
WHAT = ("type", "where", "frames")


def some(of, names):
    return {name: of[name] for name in names if name in of}


def buckets_of(sites):
    """[[the largest bytes, calls]] by powers of two, of all sites."""
    found = {}
    for site in sites:
        for bytes_, calls in site["sizes"]:
            largest = 1 << max(0, (bytes_ - 1).bit_length()) if bytes_ > 1 else 1
            found[largest] = found.get(largest, 0) + calls
    if not found:
        return []
    largest = range(min(found).bit_length() - 1, max(found).bit_length())
    return [[1 << power, found.get(1 << power, 0)] for power in largest]


def data_of(report):
    """What the page shows of a report."""
    sites = sorted(report["sites"], key=lambda site: -site["calls"])
    said = {one["site"]: one for one in report.get("advice", [])}
    rows = [{**some(site, SITE), "what": some(site["what"], WHAT), "verdict": said.get(site["id"], {}).get("verdict"),
             "rule": (said.get(site["id"], {}).get("rules") or [""])[0]} for site in sites[:MOST_SITES]]
    curves = sorted(sites, key=lambda site: -site["peak_bytes"])[:MOST_CURVES]
    advised = [one for one in report.get("advice", []) if one["verdict"] == "pool" or one["share"] >= 0.01]
    return {**some(report, ("log", "command", "calls", "seconds", "threads", "complete", "peak_live", "peak_bytes", "timeline",
                            "frees", "notes", "headline", "replay")),
            "sites": rows, "sites_more": len(sites) - len(rows), "sizes": buckets_of(sites),
            "sizes_more": sum(site["sizes_more"] for site in sites),
            "curves": [{"id": site["id"], "bytes": site["timeline"]} for site in curves],
            "advice": [{**some(one, ADVICE), "what": some(one["what"], WHAT)} for one in advised]}


def page(report):
    """The HTML of a report, which is what --json writes."""
    with open(os.path.join(HERE, "page.html"), encoding="utf-8") as file:
        text = file.read()
    within = json.dumps(data_of(report), separators=(",", ":"))
    within = within.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")  # no name ends the script
    return text.replace("/*REPORT*/null", within, 1)
