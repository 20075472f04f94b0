"""The rules: from what was counted at a site to a composition, a product, and code; or why it isn't worth a pool.

docs/how-to/advise.md shows RULES; a test compares them."""

import collections
import math
import re

Rule = collections.namedtuple("Rule", "finding advice why")

FEW_CALLS, FEW_SHARE = 1000, 0.01
CALL_NS = 50  # of an allocator that is slow; a program in which that is no hundredth gains nothing
LARGE = 32 * 1024
LONG_LIVED, FEW_LIVE = 0.9, 100_000
TOGETHER = 0.8
CHUNKS = 4 << 10, 4 << 20  # the first and the largest of geometric_growth
SMALL_CACHE = 32 * 1024

RULES = {
    "A1": Rule("under 1 % of the program's calls, or under 1,000", "don't pool", "there is nothing to save"),
    "A2": Rule("at 50 ns a call, all calls would take under 1 % of the program's time", "don't pool",
               "the program doesn't wait for its allocator"),
    "A3": Rule("arrays that grow: vectors, strings, `realloc`", "don't pool; `reserve()`",
               "each size is used once on the way"),
    "A4": Rule("no size has nine of ten calls", "don't pool", "a pool has blocks of one size"),
    "A5": Rule("over 32 KiB", "don't pool", "the time goes into the memory, not into the call"),
    "A6": Rule("nine of ten are never freed, and fewer than 100,000", "don't pool", "nothing is allocated again"),
    "A7": Rule("no frame of the stack is the program's", "don't pool", "there is no code to change"),
    "A8": Rule("replayed, it isn't faster by more than the spread", "don't pool", "measured"),
    "A10": Rule("eight of ten are freed together", "`arena`; `own_pool_allocator` for nodes of one container",
                "all are freed by one call"),
    "A11": Rule("nodes of a list, map or set", "`tarn::map` ..., `stl_allocator`", "nodes have one size"),
    "A12": Rule("`std::make_shared`", "`std::allocate_shared` with `stl_allocator`", "object and counts in one block"),
    "A13": Rule("objects of one class", "`DECLARE_MEMORY_POOL`", "the class changes, not its users"),
    "A14": Rule("other blocks of one size", "`pool<static_size<N>>`", "the size is known"),
    "A20": Rule("one thread allocates and frees", "`no_locking`", "a lock costs more than the rest of the call"),
    "A21": Rule("several threads allocate, or others free", "`thread_cached<>`; from 16 threads on `<64>`, `<256>`",
                "a block goes to the magazine of the thread that frees it: no lock for each block"),
    "A22": Rule("a peak of 4 KiB to 4 MiB", "`geometric_growth<peak>`", "the first chunk has room for all"),
    "A23": Rule("freed in reverse or one at a time, at most 32 KiB", "`lifo_reuse<>`",
                "the newest block is in the cache, and nothing waits for it"),
    "A24": Rule("after a peak of 4 MiB and more, under an eighth of it for half the time", "`return_empty_chunks<>`",
                "the memory is of use elsewhere"),
}


def quantity(number):
    """12,345 or 1.2 million."""
    for unit, name in ((10 ** 9, "billion"), (10 ** 6, "million")):
        if number >= unit:
            return f"{number / unit:.3g} {name}"
    return f"{number:,}"


def in_bytes(number):
    for unit, name in ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")):
        if number >= unit:
            return f"{number / unit:.3g} {name}"
    return f"{number} bytes"


def in_time(ns):
    for unit, name in ((1e9, "s"), (1e6, "ms"), (1e3, "µs")):
        if ns >= unit:
            return f"{ns / unit:.3g} {name}"
    return f"{ns:.3g} ns"


def percent(part):
    return f"{100 * part:.1f} %" if part < 0.1 else f"{100 * part:.0f} %"


# ---- don't pool -----------------------------------------------------------------------------------------------------------

def against(site, program):
    """(rule, reason) that speaks against a pool, or None."""
    what, size, order = site["what"], site["size"], site["order"]
    calls = site["calls"] + site["frees"]
    is_array = what["kind"] in ("array", "string") or site["reallocations"] * 10 >= site["calls"]
    if calls < FEW_CALLS or site["share"] < FEW_SHARE:
        return "A1", f"{quantity(calls)} calls are {percent(site['share'])} of the program's"
    if program["calls"] * CALL_NS < program["seconds"] * 1e9 / 100:
        return "A2", (f"the program makes {quantity(program['calls'])} calls in {program['seconds']:.3g} s: "
                      f"at {CALL_NS} ns each, {percent(program['calls'] * CALL_NS / 1e9 / program['seconds'])} of its time")
    if site["id_is_size"] is False and what["kind"] == "other" and what["place"] is None:
        return "A7", "no frame of the stack is the program's"
    if is_array:
        name = what["type"] or "the array"
        return "A3", f"{name} grows from size to size: reserve() what it will need, where that is known"
    if size is None and order["together"] < TOGETHER:
        return "A4", (f"{len(site['sizes']) if not site['sizes_more'] else 'more than 16'} sizes, of which the most frequent, "
                      f"{site['sizes'][0][0]} bytes, has {percent(site['sizes'][0][1] / site['calls'])}")
    largest = size if size is not None else max(bytes_ for bytes_, _ in site["sizes"])
    if largest > LARGE:
        return "A5", f"{in_bytes(largest)} each"
    if site["never_freed"] >= LONG_LIVED * site["calls"] and site["calls"] < FEW_LIVE:
        return "A6", f"{quantity(site['never_freed'])} of {quantity(site['calls'])} blocks are never freed"
    return None


# ---- the axes -------------------------------------------------------------------------------------------------------------

def rounded_up(number):
    """To two digits: 12,345 -> 13,000."""
    step = 10 ** max(0, len(str(number)) - 2)
    return -(-number // step) * step


def settles(timeline, peak):
    """Whether little of the peak is left for at least half of the time, behind the last time that half of it was in use."""
    last = max((i for i, one in enumerate(timeline) if 2 * one >= peak), default=0)
    rest = timeline[last + 1:]
    return 2 * len(rest) >= len(timeline) and bool(rest) and 8 * sum(rest) <= peak * len(rest)


def policies_of(site, size):
    """[(rule, policy as C++ or nothing for a default, reason)]."""
    found, order = [], site["order"]
    if site["threads"] == 1 and site["freed_by_other_thread"] == 0:
        found.append(("A20", "", "one thread allocates and frees"))
    else:
        threads = site["threads"]
        slots = "" if threads < 16 else "64" if threads < 64 else "256"
        passed = (f"{percent(site['freed_by_other_thread'])} are freed by another thread than allocated them, whose magazine takes "
                  "them without a lock" if site["freed_by_other_thread"] else "each thread has its own free blocks")
        found.append(("A21", f"tarn::thread_cached<{slots}>",
                      f"{threads} thread{'s' if threads > 1 else ''} allocate{'' if threads > 1 else 's'}; {passed}"))
    peak = site["peak_live"]
    if CHUNKS[0] < peak * size <= CHUNKS[1]:
        found.append(("A22", f"tarn::geometric_growth<{rounded_up(peak)}>", f"at most {quantity(peak)} at a time, "
                      f"{in_bytes(peak * size)}"))
    if order["reverse"] + order["alone"] >= TOGETHER and peak * size <= SMALL_CACHE and found[0][0] == "A20":
        found.append(("A23", "tarn::lifo_reuse<>", f"{percent(order['reverse'] + order['alone'])} are freed newest first"))
    if site["peak_bytes"] >= CHUNKS[1] and settles(site["timeline"], site["peak_bytes"]):
        found = [one for one in found if one[0] != "A22"]
        found.append(("A24", "tarn::return_empty_chunks<>", f"a peak of {in_bytes(site['peak_bytes'])}, and little of it later"))
    return found


def size_policy(size, alignment):
    size = max(size, 1)
    if alignment <= 16:
        return f"tarn::static_size<{size}>"
    return f"tarn::static_size<{-(-size // alignment) * alignment}, {alignment}>"


# ---- products, and code to paste --------------------------------------------------------------------------------------------

Code = collections.namedtuple("Code", "product headers lines")


def joined(*parts):
    return ", ".join(part for part in parts if part)


def bare(type_):
    """ns::order<int> -> order."""
    return re.sub(r"<.*>$", "", type_).rpartition("::")[2] if "<" not in type_ else re.sub(r"<.*$", "", type_).rpartition("::")[2]


def name_of(site):
    place = site["what"]["function"] or "block"
    word = re.sub(r"\W+", "_", re.sub(r"<.*>", "", place).rpartition("::")[2]).strip("_")
    return (word or "block") + "_blocks"


def container_parts(text):
    """std::map<int, long, cmp> -> (map, [int, long, cmp])."""
    from . import symbols
    name, arguments = symbols.arguments_of(text)
    return name.removeprefix("std::"), arguments


DEFAULTS = {"map": ["std::less<{0}>"], "multimap": ["std::less<{0}>"], "set": ["std::less<{0}>"], "multiset": ["std::less<{0}>"],
            "unordered_map": ["std::hash<{0}>", "std::equal_to<{0}>"], "unordered_multimap": ["std::hash<{0}>", "std::equal_to<{0}>"],
            "unordered_set": ["std::hash<{0}>", "std::equal_to<{0}>"],
            "unordered_multiset": ["std::hash<{0}>", "std::equal_to<{0}>"], "list": [], "forward_list": []}


def with_allocator(site, allocator):
    """The container of a site, with an allocator as its last argument."""
    name, arguments = container_parts(site["what"]["type"])
    keys = 2 if name.endswith("map") else 1
    rest = [one.format(arguments[0]) for one in DEFAULTS[name]]
    rest[:len(arguments) - keys] = arguments[keys:]
    return f"std::{name}<{joined(*arguments[:keys], *rest, allocator)}>"


def container_headers(site):
    name = container_parts(site["what"]["type"])[0].removeprefix("unordered_").replace("multi", "")
    return [f"<{'unordered_' if 'unordered_' in site['what']['type'] else ''}{name}>"] + (
        ["<functional>"] if name in ("map", "set") else []) + (["<utility>"] if name == "map" else [])


def alias(site):
    return re.sub(r"\W+", "_", bare(container_parts(site["what"]["type"])[1][0])).strip("_") + "_" + (
        container_parts(site["what"]["type"])[0])


def for_nodes(site, policies):
    policies = [policy for policy in policies if policy not in ("tarn::lifo_reuse<>", "tarn::thread_cached<>")]
    is_local = site["threads"] == 1 and site["freed_by_other_thread"] == 0
    policies = (["tarn::no_locking"] if is_local else []) + policies
    name, arguments = container_parts(site["what"]["type"])
    if not policies:
        text = f"using {alias(site)} = tarn::{name}<{joined(*arguments)}>;"
        return Code("stl_allocator", ["tarn/allocator/containers.h"], [text])
    text = with_allocator(site, f"tarn::stl_allocator<{joined(site['what']['element'], *policies)}>")
    return Code("stl_allocator", [*container_headers(site), "tarn/allocator/stl_allocator.h"], [f"using {alias(site)} = {text};"])


def for_nodes_together(site, policies):
    policies = [policy for policy in policies if policy != "tarn::lifo_reuse<>"]
    text = with_allocator(site, f"tarn::own_pool_allocator<{joined(site['what']['element'], *policies)}>")
    return Code("own_pool_allocator", [*container_headers(site), "tarn/allocator/own_pool_allocator.h"],
                [f"using {alias(site)} = {text};",
                 "// tarn::clear_at_once(container) frees all nodes without a visit, if their destructors do nothing"])


def for_shared(site, policies):
    policies = [policy for policy in policies if policy not in ("tarn::lifo_reuse<>", "tarn::thread_cached<>")]
    type_ = site["what"]["element"]
    if site["threads"] == 1 and site["freed_by_other_thread"] == 0:
        policies = ["tarn::no_locking", *policies]
    return Code("stl_allocator", ["<memory>", "tarn/allocator/stl_allocator.h"],
                ["template <class... Arguments>", f"std::shared_ptr<{type_}> make_{bare(type_)}(Arguments&&... arguments) {{",
                 f"  return std::allocate_shared<{type_}>(tarn::stl_allocator<{joined(type_, *policies)}>(),",
                 f"  {' ' * len(f'return std::allocate_shared<{type_}>(')}static_cast<Arguments&&>(arguments)...);", "}"])


def for_class(site, policies):
    name = bare(site["what"]["type"])
    macro = f"DECLARE_MEMORY_POOL({name})" if policies == ["tarn::thread_cached<>"] else (
        f"DECLARE_MEMORY_POOL_WITH({joined(name, *policies)})")
    return Code("DECLARE_MEMORY_POOL", ["tarn/allocator/memory_pool_macros.h"],
                [*(["template <class... Types>"] if "<" in site["what"]["type"] else []),
                 f"struct {name} {{  // {site['what']['type']}", "  // ... as it is", f"  {macro}", "};"])


def for_blocks(site, policies):
    name = name_of(site)
    return Code("pool", ["tarn/allocator/pool.h"],
                [f"tarn::pool<{joined(size_policy(site['size'], site['alignment']), *policies)}> {name};",
                 f"// {name}.allocate() and {name}.deallocate(block), for {site['what']['where']}"])


def for_arena(site, _):
    locking = [] if site["threads"] == 1 else ["tarn::mutex_locking<>"]
    name = name_of(site).removesuffix("_blocks") + "_arena"
    how = f"{name}.create<T>(...)" if site["what"]["kind"] == "class" else f"{name}.allocate(bytes)"
    return Code("arena", ["tarn/allocator/arena.h"],
                [f"tarn::arena<{joined(*locking)}> {name};",
                 f"// {how} for {site['what']['where']}; {name}.reset() where they are freed"])


def product_of(site):
    """(rule, reason, how to write it, whether it is replayed as an arena)."""
    kind, order = site["what"]["kind"], site["order"]
    is_together = order["together"] >= TOGETHER and site["frees"] * 2 >= site["calls"]
    count = f"{percent(order['together'])} are freed in runs that leave nothing"
    if is_together and kind == "node" and len(site["runs"]) < 16 and site["threads"] == 1:
        return "A10", f"{count}: {site['what']['type']} ends as a whole", for_nodes_together, False
    if is_together and kind in ("class", "other"):
        return "A10", count, for_arena, True
    if kind == "node":
        return "A11", f"nodes of {site['what']['type']}", for_nodes, False
    if kind == "shared":
        return "A12", f"std::make_shared<{site['what']['element']}>", for_shared, False
    if kind == "class":
        return "A13", f"objects of {site['what']['type']}", for_class, False
    return "A14", f"blocks of {site['size']} bytes", for_blocks, False


BUILD = {"cmake": "target_link_libraries(app PRIVATE tarn::tarn)  # find_package(tarn REQUIRED)"}


def advise(site, program):
    """What to do with a site: a dict that goes into the JSON."""
    said = {"site": site["id"], "what": site["what"], "share": site["share"], "calls": site["calls"] + site["frees"],
            "gain": None}
    wrong = against(site, program)
    if wrong:
        return {**said, "verdict": "don't pool", "rules": [wrong[0]], "reasons": [wrong[1]]}
    rule, reason, write, is_arena = product_of(site)
    size = site["size"] if site["size"] is not None else max(bytes_ for bytes_, _ in site["sizes"])
    found = [] if is_arena else policies_of(site, size)
    policies = [policy for _, policy, _ in found if policy]
    code = write(site, policies)
    composition = "arena" if is_arena else f"tarn::pool<{joined(size_policy(size, site['alignment']), *policies)}>"
    headers = [header if header[0] == "<" else f'"{header}"' for header in code.headers]
    return {**said, "verdict": "pool", "rules": [rule, *(one[0] for one in found)],
            "reasons": [reason, *(one[2] for one in found)], "product": code.product, "composition": composition,
            "include": [f"#include {header}" for header in headers], "code": code.lines,
            "cmake": "target_link_libraries(app PRIVATE tarn::tarn)",
            "bazel": f'deps = ["@tarn//allocator:{bazel_target(code.headers)}"]'}


def bazel_target(headers):
    return next(header for header in headers if header.startswith("tarn/")).rpartition("/")[2].removesuffix(".h")


def measured(advice, gain):
    """Advice with what its replay showed. gain: ns a call before and after, the spread, ...; worse or within the spread: none."""
    if gain["malloc_ns"] - gain["ns"] > gain["spread_ns"]:
        return {**advice, "gain": gain}
    kept = {key: advice[key] for key in ("site", "what", "share", "calls")}
    return {**kept, "gain": gain, "verdict": "don't pool", "rules": ["A8", *advice["rules"]],
            "reasons": [f"replayed with {advice['composition']}: {gain['ns']:.3g} ns a call instead of {gain['malloc_ns']:.3g}, "
                        f"which is within the spread of {gain['spread_ns']:.2g}"
                        if abs(gain["malloc_ns"] - gain["ns"]) <= gain["spread_ns"] else
                        f"replayed with {advice['composition']}: {gain['ns']:.3g} ns a call instead of {gain['malloc_ns']:.3g}"]}


def in_order(advice):
    """What gains the most first; unmeasured, what is called the most; then what isn't worth a pool."""
    def gained(one):
        gain = one["gain"]
        return (gain["malloc_ns"] - gain["ns"]) * one["calls"] if gain and one["verdict"] == "pool" else -math.inf
    return sorted(advice, key=lambda one: (one["verdict"] != "pool", -gained(one), -one["share"], one["site"]))
