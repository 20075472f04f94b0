"""What a program answers, read by those that know the formats: jsonschema, prometheus_client, promtool. Each must refuse a text
that is wrong."""

import copy
import json
import os
import re
import subprocess

import jsonschema
import prometheus_client.openmetrics.parser
import prometheus_client.parser

import running
from tarn_watch import asking

STRANGE = 'a "quoted\\ name"\n\u20ac\ufffd'
IN_USE = {"orders": 70, "messages": 20, "limited": 8, STRANGE: 0}
METRICS = {"blocks_in_use": "in_use", "blocks_peak": "peak", "blocks_waiting": "waiting", "blocks_capacity": "capacity",
           "block_size_bytes": "block_size", "block_stride_bytes": "stride", "chunks": "chunks", "held_bytes": "bytes_held",
           "growths_total": "growths", "refused_total": "refused"}
READERS = {"prometheus": prometheus_client.parser.text_string_to_metric_families,
           "openmetrics": prometheus_client.openmetrics.parser.text_string_to_metric_families}


def validator(root):
    with open(os.path.join(root, "docs/products/snapshot.schema.json"), encoding="utf-8") as file:
        schema = json.load(file)
    jsonschema.Draft202012Validator.check_schema(schema)
    return schema, jsonschema.Draft202012Validator(schema)


def json_case(root, path):
    schema, valid = validator(root)
    said = json.loads(asking.ask(path, "json"))
    valid.validate(said)
    if {pool["name"]: pool["in_use"] for pool in said["pools"]} != IN_USE:
        return f"other pools: {said}"
    known = set(schema["$defs"]["pool"]["properties"])
    met = set().union(*(set(pool) for pool in said["pools"]))
    if known != met:
        return f"the schema and the answer differ in {sorted(known ^ met)}"
    return None


def refused_case(root, path):
    """The schema refuses what is no snapshot."""
    valid = validator(root)[1]
    said = json.loads(asking.ask(path, "json"))

    def broken(change):
        wrong = copy.deepcopy(said)
        change(wrong)
        return wrong

    changes = {"another version": lambda one: one.update(version=2),
               "no pools": lambda one: one.pop("pools"),
               "a negative number": lambda one: one["pools"][0].update(in_use=-1),
               "a number as text": lambda one: one["pools"][0].update(peak="1"),
               "a member less": lambda one: one["pools"][0].pop("capacity"),
               "a file without a line": lambda one: one["pools"][0].pop("line"),
               "no address": lambda one: one["pools"][0].update(address="7f")}
    taken = [what for what, change in changes.items() if valid.is_valid(broken(change))]
    return f"valid: {taken}" if taken else None


def metrics_case(path, kind):
    pools = {pool["name"]: pool for pool in asking.pools(path)}
    found = {}
    for family in READERS[kind](asking.ask(path, kind).decode()):
        for sample in family.samples:
            wanted = "counter" if sample.name.endswith("_total") else "gauge"
            if family.type != wanted or not family.documentation:
                return f"{family}"
            found[sample.name, sample.labels["pool"]] = sample.value
            if sample.labels["id"] != pools[sample.labels["pool"]]["address"]:
                return f"another id: {sample}"
    wanted = {("tarn_pool_" + metric, name): pool[member] for metric, member in METRICS.items() for name, pool in pools.items()}
    return None if found == wanted else f"{found}\n{wanted}"


def wrong_metrics_case(path, kind):
    text = asking.ask(path, kind).decode()
    wrong = {"prometheus": text.replace('pool="', "pool=", 1), "openmetrics": text.removesuffix("# EOF\n")}[kind]
    try:
        list(READERS[kind](wrong))
    except ValueError:
        return None
    return "a wrong text was read"


def promtool(text):
    done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True, timeout=running.SECONDS,
                          check=False)
    return done.returncode, done.stdout + done.stderr


def promtool_case(path):
    text = asking.ask(path, "prometheus").decode()
    status, said = promtool(text)
    if status or said.strip():
        return said
    if promtool(text.replace("# TYPE tarn_pool_chunks gauge", "# TYPE tarn_pool_chunks counter"))[0] == 0:
        return "promtool takes a counter that isn't called one"
    return None


def slab_case(path):
    lines = asking.ask(path, "slab").decode().splitlines()
    row = re.compile(r"(\S+) (\d+) (\d+) (\d+) (\d+) (\d+) : tunables 0 0 0 : slabdata (\d+) (\d+) 0")
    rows = [row.fullmatch(line) for line in lines[2:]]
    if lines[0] != "slabinfo - version: 2.1" or not all(rows):
        return "\n".join(lines)
    found = {one[1]: (int(one[2]), int(one[3])) for one in rows}
    wanted = {re.sub("[\x00- ]", "_", pool["name"]): (pool["in_use"], pool["capacity"]) for pool in asking.pools(path)}
    return None if found == wanted else f"{found}\n{wanted}"


def cases(root, path):
    """`path`: where a program answers whose pools are IN_USE."""
    def one(name, check, *words):
        return running.case(name, lambda: check(*words))

    return [one("JSON is as the schema says, and all of the schema is met", json_case, root, path),
            one("the schema refuses what is no snapshot", refused_case, root, path),
            *(one(f"prometheus_client reads {kind}: every value", metrics_case, path, kind) for kind in READERS),
            *(one(f"prometheus_client refuses wrong {kind}", wrong_metrics_case, path, kind) for kind in READERS),
            one("promtool check metrics", promtool_case, path),
            one("slab has the columns of slabinfo", slab_case, path)]
