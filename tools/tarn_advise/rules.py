"""The rules: from what was counted at a site to a composition, a product, and code; or why it isn't worth a pool.

docs/how-to/advise.md shows RULES; a test compares them."""

import collections
import math
import re

from . import symbols

Rule = collections.namedtuple("Rule", "finding advice why")

FEW_CALLS, FEW_SHARE = 1000, 0.01
CALL_NS = 50  # of an allocator that is slow; a program in which that is no hundredth gains nothing
LARGE = 32 * 1024
LONG_LIVED, FEW_LIVE = 0.9, 100_000
TOGETHER = 0.8
IN_ARENAS = "class", "other"  # kinds of sites
CHUNKS = 4 << 10, 4 << 20  # the first and the largest of geometric_growth
SMALL_CACHE = 32 * 1024

RULES = {
    "F1": Rule("under 1 % of all calls, or under 1,000", "don't pool", "nothing to save"),
    "F2": Rule("at 50 ns a call, all calls take under 1 % of the time", "don't pool", "nothing to save"),
    "F3": Rule("growing arrays: vectors, strings, `realloc`", "don't pool; `reserve()`", "each size is used once"),
    "F4": Rule("no size has nine of ten calls", "don't pool", "a pool has one size"),
    "F5": Rule("over 32 KiB", "don't pool", "the memory takes the time"),
    "F6": Rule("nine of ten never freed, fewer than 100,000", "don't pool", "nothing is reused"),
    "F7": Rule("only libraries in the stack", "don't pool", "no code to change"),
    "F8": Rule("replayed, no gain above the spread", "don't pool", "measured"),
    "F9": Rule("another policy is faster by more than the spread", "that policy", "measured"),
    "F10": Rule("eight of ten freed together, by the one thread that allocated them; no nodes", "`arena`",
                "one call frees all"),
    "F11": Rule("nodes of a container", "`tarn::map` ..., `stl_allocator`", "one size"),
    "F12": Rule("`std::make_shared`", "`std::allocate_shared`", "one size"),
    "F13": Rule("objects of a class", "`DECLARE_MEMORY_POOL`", "their users don't change"),
    "F14": Rule("other blocks of one size", "`pool`", "one size"),
    "F20": Rule("one thread allocates and frees", "`no_locking`", "a lock is the largest cost"),
    "F21": Rule("several do", "`thread_cached<>`, from 16 threads on `<64>`, `<256>`", "no lock for a block"),
    "F22": Rule("a peak of 4 KiB to 4 MiB", "`geometric_growth<peak>`", "one chunk"),
    "F23": Rule("freed newest first, peak of at most 32 KiB", "`lifo_reuse<>`", "the block is in the cache"),
    "F24": Rule("a peak of 4 MiB, then an eighth for half the time", "`return_empty_chunks<>`", "others can use it"),
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
    if 0 < part < 0.001:
        return "under 0.1 %"
    return f"{100 * part:.1f} %" if part < 0.1 else f"{100 * part:.0f} %"


def size_of(site):
    """The size of nine blocks in ten, or the largest of the frequent ones."""
    return site["size"] if site["size"] is not None else max(size for size, _ in site["sizes"])


def is_dropped(site):
    """Whether its blocks are freed together, by the thread that allocated them."""
    return site["order"]["together"] >= TOGETHER and site["frees"] * 2 >= site["calls"] and is_local(site)


def is_idle(program):
    """Whether a program makes too few calls for any malloc to matter."""
    return program["calls"] * CALL_NS < program["seconds"] * 1e9 / 100


def is_local(site):
    """Whether one thread has all its blocks."""
    return site["threads"] == 1 and site["freed_by_other_thread"] == 0


# ---- don't pool -----------------------------------------------------------------------------------------------------------

def against(site, program):
    """(rule, reason) that speaks against a pool, or None."""
    what, size = site["what"], site["size"]
    calls = site["calls"] + site["frees"]
    is_array = what["kind"] in ("array", "string") or site["reallocations"] * 10 >= site["calls"]
    if calls < FEW_CALLS or site["share"] < FEW_SHARE:
        return "F1", f"{quantity(calls)} calls are {percent(site['share'])} of the program's"
    if is_idle(program):
        return "F2", (f"the program makes {quantity(program['calls'])} calls in {program['seconds']:.3g} s: "
                      f"at {CALL_NS} ns each, {percent(program['calls'] * CALL_NS / 1e9 / program['seconds'])} of its time")
    if site["id_is_size"] is False and what["kind"] == "other" and what["place"] is None:
        return "F7", "no frame of the stack is the program's"
    if is_array:
        name = what["type"] or "the array"
        return "F3", f"{name} grows from size to size: reserve() what it will need, where that is known"
    if size is None and not (is_dropped(site) and what["kind"] in IN_ARENAS):
        return "F4", (f"{len(site['sizes']) if not site['sizes_more'] else 'more than 16'} sizes, of which the most frequent, "
                      f"{site['sizes'][0][0]} bytes, has {percent(site['sizes'][0][1] / site['calls'])}")
    if size_of(site) > LARGE:
        return "F5", f"{in_bytes(size_of(site))} each"
    if site["never_freed"] >= LONG_LIVED * site["calls"] and site["calls"] < FEW_LIVE:
        return "F6", f"{quantity(site['never_freed'])} of {quantity(site['calls'])} blocks are never freed"
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
    if is_local(site):
        found.append(("F20", "", "in this run, one thread allocates and frees"))
    else:
        threads = site["threads"]
        slots = "" if threads < 16 else "64" if threads < 64 else "256"
        passed = "each thread has its own free blocks"
        if site["freed_by_other_thread"]:
            passed = (f"{percent(site['freed_by_other_thread'])} are freed by another thread than allocated them, whose "
                      "magazine takes them without a lock")
        found.append(("F21", f"tarn::thread_cached<{slots}>",
                      f"{threads} thread{'s' if threads > 1 else ''} allocate{'' if threads > 1 else 's'}; {passed}"))
    peak = site["peak_live"]
    if CHUNKS[0] < peak * size <= CHUNKS[1]:
        found.append(("F22", f"tarn::geometric_growth<{rounded_up(peak)}>", f"at most {quantity(peak)} at a time, "
                      f"{in_bytes(peak * size)}"))
    if order["reverse"] + order["alone"] >= TOGETHER and peak * size <= SMALL_CACHE and found[0][0] == "F20":
        found.append(("F23", "tarn::lifo_reuse<>", f"{percent(order['reverse'] + order['alone'])} are freed newest first"))
    if site["peak_bytes"] >= CHUNKS[1] and settles(site["timeline"], site["peak_bytes"]):
        found = [one for one in found if one[0] != "F22"]
        found.append(("F24", "tarn::return_empty_chunks<>",
                      f"a peak of {in_bytes(site['peak_bytes'])}, and little of it later"))
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
    return type_.partition("<")[0].rpartition("::")[2]


def name_of(site, kind):
    """Of a pool or an arena: add_pool, or pool_of_56."""
    word = re.sub(r"\W+", "_", re.sub(r"<.*>", "", site["what"]["function"] or "").rpartition("::")[2]).strip("_")
    return f"{word}_{kind}" if word else f"{kind}_of_{size_of(site)}"


def container_parts(text):
    """std::map<int, long, cmp> -> (map, [int, long, cmp])."""
    name, arguments = symbols.arguments_of(text)
    return name.removeprefix("std::"), arguments


def defaults_of(name, key):
    if name.startswith("unordered_"):
        return [f"std::hash<{key}>", f"std::equal_to<{key}>"]
    return [f"std::less<{key}>"] if name.endswith(("map", "set")) else []


def with_allocator(site, allocator):
    """The container of a site, with an allocator as its last argument."""
    name, arguments = container_parts(site["what"]["type"])
    keys = 2 if name.endswith("map") else 1
    rest = defaults_of(name, arguments[0])
    rest[:len(arguments) - keys] = arguments[keys:]
    return f"std::{name}<{joined(*arguments[:keys], *rest, allocator)}>"


def container_headers(site):
    name = container_parts(site["what"]["type"])[0].removeprefix("unordered_").replace("multi", "")
    return [f"<{'unordered_' if 'unordered_' in site['what']['type'] else ''}{name}>"] + (
        ["<functional>"] if name in ("map", "set") else []) + (["<utility>"] if name == "map" else [])


def alias(site):
    return re.sub(r"\W+", "_", bare(container_parts(site["what"]["type"])[1][0])).strip("_") + "_" + (
        container_parts(site["what"]["type"])[0])


def for_allocator(site, policies):
    """The same with stl_allocator's defaults, shared_locking and lifo_reuse<>, instead of a pool's."""
    kept = [policy for policy in policies if policy not in ("tarn::lifo_reuse<>", "tarn::thread_cached<>")]
    if not any("_reuse<" in policy or "return_empty" in policy for policy in policies):
        kept.append("tarn::batch_reuse<>")
    return [*(["tarn::no_locking"] if is_local(site) else []), *kept]


def for_nodes(site, policies):
    """The log doesn't say which container a node is of. With a pool for each, many small ones would cost a chunk each."""
    policies = for_allocator(site, policies)
    name, arguments = container_parts(site["what"]["type"])
    headers, text = ["tarn/allocator/containers.h"], f"tarn::{name}<{joined(*arguments)}>"
    if policies:
        headers = [*container_headers(site), "tarn/allocator/stl_allocator.h"]
        text = with_allocator(site, f"tarn::stl_allocator<{joined(site['what']['element'], *policies)}>")
    hint = ["// if one container has most of them: tarn::own_pool_allocator and tarn::clear_at_once(container)"]
    return Code("stl_allocator", headers,
                [f"using {alias(site)} = {text};", *(hint if is_dropped(site) and name != "deque" else [])])


def for_shared(site, policies):
    policies = for_allocator(site, policies)
    type_ = site["what"]["element"]
    return Code("stl_allocator", ["<memory>", "tarn/allocator/stl_allocator.h"],
                ["template <class... Arguments>", f"std::shared_ptr<{type_}> make_{bare(type_)}(Arguments&&... arguments) {{",
                 f"  return std::allocate_shared<{type_}>(tarn::stl_allocator<{joined(type_, *policies)}>(),",
                 f"  {' ' * len(f'return std::allocate_shared<{type_}>(')}static_cast<Arguments&&>(arguments)...);", "}"])


def for_class(site, policies):
    name = bare(site["what"]["type"])
    macro = f"DECLARE_MEMORY_POOL({name})" if policies == ["tarn::thread_cached<>"] else (
        f"DECLARE_MEMORY_POOL_WITH({joined(name, *policies)})")
    head = ["template <class... Types>"] if "<" in site["what"]["type"] else []
    full = f"  // {site['what']['type']}" if site["what"]["type"] != name else ""
    return Code("DECLARE_MEMORY_POOL", ["tarn/allocator/memory_pool_macros.h"],
                [*head, f"struct {name} {{{full}", "  // ... as it is", f"  {macro}", "};"])


def for_blocks(site, policies):
    name = name_of(site, "pool")
    return Code("pool", ["tarn/allocator/pool.h"],
                [f"tarn::pool<{joined(size_policy(site['size'], site['alignment']), *policies)}> {name};",
                 f"// {name}.allocate() and {name}.deallocate(block), for {site['what']['where']}"])


def for_arena(site, _):
    """As it is replayed: the arena goes back once none is left, and its users don't change."""
    if site["what"]["kind"] == "class":
        name = bare(site["what"]["type"])
        head = ["template <class... Types>"] if "<" in site["what"]["type"] else []
        full = f"  // {site['what']['type']}" if site["what"]["type"] != name else ""
        return Code("arena", ["<cstddef>", "tarn/allocator/arena.h"],
                    [f"inline tarn::arena<> {name}_arena;", f"inline std::size_t {name}_count = 0;", *head,
                     f"struct {name} {{{full}", "  // ... as it is",
                     "  static void* operator new(std::size_t bytes) {",
                     f"    void* const block = {name}_arena.allocate(bytes);", f"    ++{name}_count;",
                     "    return block;", "  }",
                     "  static void operator delete(void* block) noexcept {",
                     f"    if (block != nullptr && --{name}_count == 0) {name}_arena.reset();", "  }", "};"])
    name = name_of(site, "arena")
    return Code("arena", ["tarn/allocator/arena.h"],
                [f"tarn::arena<> {name};",
                 f"// {name}.allocate(bytes) for {site['what']['where']}, and {name}.reset() where the last is freed"])


def product_of(site):
    """(rule, reason, how to write it, whether it is replayed as an arena)."""
    kind, order = site["what"]["kind"], site["order"]
    if is_dropped(site) and kind in IN_ARENAS:
        return "F10", f"{percent(order['together'])} are freed in runs that leave nothing", for_arena, True
    if kind == "node":
        return "F11", f"nodes of {site['what']['type']}", for_nodes, False
    if kind == "shared":
        return "F12", f"std::make_shared<{site['what']['element']}>", for_shared, False
    if kind == "class":
        return "F13", f"objects of {site['what']['type']}", for_class, False
    return "F14", f"blocks of {site['size']} bytes", for_blocks, False


BUILD = {"cmake": "target_link_libraries(app PRIVATE tarn::tarn)", "bazel": 'deps = ["@tarn"]'}


def advise(site, program):
    """What to do with a site: a dict that goes into the JSON."""
    said = {"site": site["id"], "what": site["what"], "share": site["share"], "calls": site["calls"] + site["frees"],
            "gain": None}
    wrong = against(site, program)
    if wrong:
        return {**said, "verdict": "don't pool", "rules": [wrong[0]], "reasons": [wrong[1]]}
    rule, reason, write, is_arena = product_of(site)
    size = size_of(site)
    found = [] if is_arena else policies_of(site, size)
    policies = [policy for _, policy, _ in found if policy]
    if write in (for_nodes, for_shared) and "tarn::return_empty_chunks<>" not in policies:
        policies = [*dict.fromkeys([*policies, "tarn::lifo_reuse<>"])]  # their default
    code = write(site, policies)
    composition = "arena" if is_arena else f"tarn::pool<{joined(size_policy(size, site['alignment']), *policies)}>"
    headers = [header if header[0] == "<" else f'"{header}"' for header in code.headers]
    return {**said, "verdict": "pool", "rules": [rule, *(one[0] for one in found)],
            "reasons": [reason, *(one[2] for one in found)], "product": code.product, "composition": composition,
            "include": [f"#include {header}" for header in headers], "code": code.lines, **BUILD}


def recomposed(advice, site, composition):
    """Advice with another composition, which a search found."""
    if composition == advice["composition"]:
        return advice
    rule, reason, write, _ = product_of(site)
    policies = symbols.arguments_of(composition)[1][1:]
    kept = [one for one in policies_of(site, size_of(site)) if one[1] in ("", *policies)]
    tried = [policy for policy in policies if policy not in [one[1] for one in kept]]
    return {**advice, "composition": composition, "code": write(site, policies).lines,
            "rules": [rule, *(one[0] for one in kept), "F9"],
            "reasons": [reason, *(one[2] for one in kept), f"{joined(*tried) or 'the default'} was faster than others"]}


def measured(advice, gains):
    """Advice with what its replay showed, {malloc: gain}. What is worse, or within the spread, isn't advised."""
    gain = gains["malloc"]
    if gain["is_gain"]:
        return {**advice, "gain": gains}
    kept = {key: advice[key] for key in ("site", "what", "share", "calls")}
    within = f", within the spread of {gain['spread_ns']:.2g}" if abs(gain["gain_ns"]) <= gain["spread_ns"] else ""
    return {**kept, "gain": gains, "verdict": "don't pool", "rules": ["F8", *advice["rules"]],
            "reasons": [f"replayed with {advice['composition']}, the program {'saves' if gain['gain_ns'] > 0 else 'loses'} "
                        f"{abs(gain['gain_ns']):.3g} ns for each of these calls{within}"]}


def in_order(advice):
    """What gains the most first; unmeasured, what is called the most; then what isn't worth a pool."""
    def gained(one):
        gain = one["gain"] and one["gain"]["malloc"]
        return gain["gain_ns"] * one["calls"] if gain and one["verdict"] == "pool" else -math.inf
    return sorted(advice, key=lambda one: (one["verdict"] != "pool", -gained(one), -one["share"], one["site"]))
