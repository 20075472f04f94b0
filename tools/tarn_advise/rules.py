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
OF_SEVERAL_SIZES = "F15", "F16", "F17"
CHUNKS = 4 << 10, 4 << 20  # the first and the largest of geometric_growth
SMALL_CACHE = 32 * 1024
FREQUENT = 9, 10  # of the calls
FEW_SIZES, STEPS = 4, (8, 16)  # what sizes are rounded up to
WASTE = 64 * 1024
RESIZED = 100  # one block of so many is reallocated; replay_convert.cc
MORE_MEMORY = 1 << 20

RULES = {
    "F1": Rule("under 1 % of all calls, or under 1,000", "don't pool", "nothing to save"),
    "F2": Rule("at 50 ns a call, all calls take under 1 % of the time", "don't pool", "nothing to save"),
    "F3": Rule("growing arrays: vectors, strings; a hundredth to `realloc`", "don't pool; `reserve()`",
               "each size is used once"),
    "F4": Rule("several sizes, and none of F15 to F17 gains", "don't pool", "a pool has one size"),
    "F5": Rule("over 32 KiB", "don't pool", "the memory takes the time"),
    "F6": Rule("nine of ten never freed, fewer than 100,000", "don't pool", "nothing is reused"),
    "F7": Rule("only libraries in the stack", "don't pool", "no code to change"),
    "F8": Rule("replayed, no gain above the spread, or half more memory", "don't pool", "measured"),
    "F9": Rule("another policy is faster by more than the spread", "that policy", "measured"),
    "F10": Rule("eight of ten freed together, by the one thread that allocated them; no nodes", "`arena`",
                "one call frees all"),
    "F11": Rule("nodes of a container", "`tarn::map` ..., `stl_allocator`", "one size"),
    "F12": Rule("`std::make_shared`", "`std::allocate_shared`", "one size"),
    "F13": Rule("objects of a class", "`DECLARE_MEMORY_POOL`", "their users don't change"),
    "F14": Rule("other blocks of one size", "`pool`", "one size"),
    "F15": Rule("several sizes, and blocks of the largest waste a quarter or 64 KiB at most", "`pool` of the largest",
                "a free needs no size"),
    "F16": Rule("up to four sizes, rounded up to 8 or 16 bytes", "`by_size`", "a pool for each"),
    "F17": Rule("other sizes, if replayed", "`size_class_pool`", "a pool for each class of sizes"),
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


def in_digits(number):
    return f"{number:,.0f}" if number >= 100 else f"{number:.2g}"


def percent(part):
    if 0 < part < 0.001:
        return "under 0.1 %"
    return f"{100 * part:.1f} %" if part < 0.1 else f"{100 * part:.0f} %"


def is_frequent(calls, site):
    return calls * FREQUENT[1] >= site["calls"] * FREQUENT[0]


def size_of(site):
    """The size of nine blocks in ten, or the largest of the sizes that have so many."""
    if site["size"] is not None:
        return site["size"]
    largest = calls = 0
    for size, count in site["sizes"]:
        largest, calls = max(largest, size), calls + count
        if is_frequent(calls, site):
            break
    return largest


def has_larger(site):
    """Whether there may be blocks larger than size_of()."""
    return site["sizes_more"] > 0 or any(size > size_of(site) for size, _ in site["sizes"])


def few_sizes(site):
    """At most four sizes, rounded up, that nine of ten calls fit into; None: there are more."""
    for step in STEPS:
        counts = collections.Counter()
        for size, count in site["sizes"]:
            counts[-(-max(size, 1) // step) * step] += count
        kept = counts.most_common(FEW_SIZES)
        while kept and is_frequent(sum(count for _, count in kept[:-1]), site):
            kept.pop()
        if kept and is_frequent(sum(count for _, count in kept), site):
            return sorted(size for size, _ in kept)
    return None


def largest_of(site):
    """The largest of all sizes, if blocks of it waste little; otherwise None."""
    largest = max(size for size, _ in site["sizes"])
    wasted = site["peak_live"] * largest - site["peak_bytes"]
    return largest if not site["sizes_more"] and largest <= LARGE and wasted <= max(WASTE, site["peak_bytes"] / 4) else None


def sizes_in_words(site):
    count, (size, calls) = f"{len(site['sizes'])}" if not site["sizes_more"] else "more than 16", site["sizes"][0]
    return f"{count} sizes, of which the most frequent, {size} bytes, has {percent(calls / site['calls'])}"


def is_dropped(site):
    """Whether its blocks are freed together, by the thread that allocated them."""
    return site["order"]["together"] >= TOGETHER and site["frees"] * 2 >= site["calls"] and is_local(site)


def is_cleared(site):
    """Whether, in addition, none of its blocks is left then, so that an arena can be reset."""
    return site["what"]["kind"] in IN_ARENAS and is_dropped(site) and site["together"]["cleared"] >= TOGETHER


def meets(one, other):
    """Whether runs of frees that clear one site are at the time of those of another. Of both, only the first are known."""
    until = min(site["runs"][-1][1] for site in (one, other))
    for site, its in ((one, other), (other, one)):
        runs = [run for run in site["runs"] if run[0] <= until]
        met = sum(count for begin, end, count in runs if any(run[0] <= end and begin <= run[1] for run in its["runs"]))
        if met < TOGETHER * sum(count for *_, count in runs):
            return False
    return True


def sharing(sites, program):
    """Lists of sites, two or more, that may share an arena: each meets the first."""
    found = []
    for site in sites:
        if site["id_is_size"] or not site["runs"] or against(site, program) or not is_cleared(site):
            continue
        its = next((one for one in found if meets(one[0], site)), None)
        if its is None:
            found.append(its := [])
        its.append(site)
    return [one for one in found if len(one) > 1]


def joint(sites, all_):
    """What is told of a site that stands for several; `all_` has what was counted of all of them."""
    parts = [site["what"] for site in sites]
    frames = [parts[0]["where"], *(f"and {one['where']}" for one in parts[1:])]
    what = {"kind": "other", "type": None, "element": None, "place": parts[0]["place"], "function": None,
            "short": listed([one["short"] for one in parts]), "frames": frames,
            "has_line": any(one["has_line"] for one in parts), "parts": parts,
            "where": listed([name_of_place(one) for one in parts])}
    return {**all_, "id_is_size": False, "what": what}


def name_of_place(what):
    return f"{what['type']}, {what['where']}" if what["type"] else what["where"]


def listed(words):
    """a, b and c."""
    return " and ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]


def is_idle(program):
    """Whether a program makes too few calls for any malloc to matter."""
    return program["calls"] * CALL_NS < program["seconds"] * 1e9 / 100


def is_local(site):
    """Whether one thread has all its blocks."""
    return site["threads"] == 1 and site["freed_by_other_thread"] == 0


# ---- don't pool -----------------------------------------------------------------------------------------------------------

def against(site, program):
    """(rule, reason) that speaks against a pool, or None."""
    what = site["what"]
    calls = site["calls"] + site["frees"]
    is_array = what["kind"] in ("array", "string")
    if calls < FEW_CALLS:
        return "F1", f"only {quantity(calls)} calls"
    if site["share"] < FEW_SHARE:
        return "F1", f"{quantity(calls)} calls are {percent(site['share'])} of the program's"
    if is_idle(program):
        return "F2", (f"the program makes {quantity(program['calls'])} calls in {program['seconds']:.3g} s: "
                      f"at {CALL_NS} ns each, {percent(program['calls'] * CALL_NS / 1e9 / program['seconds'])} of its time")
    if site["id_is_size"] is False and what["kind"] == "other" and what["place"] is None:
        return "F7", "no frame of the stack is the program's"
    if is_array:
        return "F3", f"{what['type']} grows from size to size: reserve() what it will need, where that is known"
    if site["reallocations"] * RESIZED >= site["calls"]:
        return "F3", (f"realloc() gets {quantity(site['reallocations'])} of {quantity(site['calls'])} blocks: allocate at once "
                      "what they will need, where that is known")
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

# composition: what is replayed; None: a pool of the site's size
Code = collections.namedtuple("Code", "product headers lines composition", defaults=(None,))


def joined(*parts):
    return ", ".join(part for part in parts if part)


def bare(type_):
    """ns::order<int> -> order."""
    return type_.partition("<")[0].rpartition("::")[2]


def name_of(site, kind):
    """Of a pool or an arena: add_pool, or pool_of_56; of several places, common_arena."""
    if "parts" in site["what"]:
        return f"common_{kind}"
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
    pool = f"tarn::pool<{joined(size_policy(size_of(site), site['alignment']), *policies)}>"
    if has_larger(site):
        pool = f"tarn::segregate<{max(size_of(site), 1)}, {pool}, tarn::heap_block>"
        return Code("segregate", ["tarn/allocator/blocks.h", "tarn/allocator/pool.h"], of_any_size(site, pool))
    return for_size(size_of(site))(site, policies)


def for_size(size):
    """A pool that has no other blocks."""
    def write(site, policies):
        name = name_of(site, "pool")
        pool = f"tarn::pool<{joined(size_policy(size, site['alignment']), *policies)}>"
        return Code("pool", ["tarn/allocator/pool.h"], [
            f"{pool} {name};", f"// {name}.allocate() and {name}.deallocate(block), for {site['what']['short']}"], pool)
    return write


def of_any_size(site, type_):
    """The lines for something that asks for the size of what is freed."""
    name = name_of(site, "pools")
    return [*(f"{type_} {name};".split("\n")),
            f"// {name}.allocate(bytes) and {name}.deallocate(block, bytes), for {site['what']['short']}"]


def for_few_sizes(site, policies):
    pools = [f"tarn::up_to<{size}, tarn::pool<{joined(size_policy(size, site['alignment']), *policies)}>>"
             for size in few_sizes(site)]
    parts = [*pools, "tarn::heap_block"]
    return Code("by_size", ["tarn/allocator/blocks.h", "tarn/allocator/pool.h"],
                of_any_size(site, f"tarn::by_size<{(','+chr(10)+' ' * len('tarn::by_size<')).join(parts)}>"),
                f"tarn::by_size<{joined(*parts)}>")


def for_many_sizes(site, policies):
    type_ = f"tarn::size_class_pool<{joined(*policies)}>"
    return Code("size_class_pool", ["tarn/allocator/size_class_pool.h"], of_any_size(site, type_), type_)


def for_arena(site, _):
    """As it is replayed: the arena goes back once none is left, and its users don't change."""
    if site["what"]["kind"] == "class" and "parts" not in site["what"]:
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
                     f"    if (block != nullptr && --{name}_count == 0) {name}_arena.reset();", "  }", "};"], "arena")
    name = name_of(site, "arena")
    parts = site["what"].get("parts", [site["what"]])
    how = {f"{name}.create<{one['type']}>(...)" if one["kind"] == "class" else f"{name}.allocate(bytes)" for one in parts}
    places = list(dict.fromkeys(one["short"] for one in parts))
    return Code("arena", ["tarn/allocator/arena.h"],
                [f"tarn::arena<> {name};", f"// {listed(sorted(how))}, for {listed(places)}; nothing where they are freed;",
                 f"// {name}.reset() once none of them is used any more"], "arena")


# A product for a site. is_measured: given only if a replay shows that it gains. size: of its blocks.
Choice = collections.namedtuple("Choice", "rule reason write size is_measured", defaults=(False,))


def of_several_sizes(site):
    """Choices for a site with several sizes, the simplest first."""
    largest, few, words = largest_of(site), few_sizes(site), sizes_in_words(site)
    if largest is not None:
        yield Choice("F15", f"{words}; all fit into {largest}", for_size(largest), largest)
    if few is not None:
        is_all = not site["sizes_more"] and all(size <= few[-1] for size, _ in site["sizes"])
        rest = "" if is_all else "; larger blocks stay with malloc"
        fit = listed([str(size) for size in few])
        yield Choice("F16", f"{words}; nine of ten fit into {fit}{rest}", for_few_sizes, few[-1])
    yield Choice("F17", words, for_many_sizes, size_of(site), True)


def cleared(site):
    """Why an arena."""
    its = site["together"]
    if its["runs"] == its["left_none"]:
        runs = "one run, which leaves none" if its["runs"] == 1 else f"{quantity(its['runs'])} runs, each of which leaves none"
        return f"{percent(its['cleared'])} are freed in {runs}"
    return (f"{quantity(its['left_none'])} of {quantity(its['runs'])} runs of frees left none, and freed "
            f"{percent(its['cleared'])}; where some are left, reset() must wait")


def choices_of(site):
    """What may be done with a site, the best guess first; nothing if a pool has no use."""
    kind, size = site["what"]["kind"], size_of(site)
    if is_cleared(site):
        return [Choice("F10", cleared(site), for_arena, size)]
    if site["size"] is None:
        return list(of_several_sizes(site)) if kind in IN_ARENAS else []
    if kind == "node":
        return [Choice("F11", f"nodes of {site['what']['type']}", for_nodes, size)]
    if kind == "shared":
        return [Choice("F12", f"std::make_shared<{site['what']['element']}>", for_shared, size)]
    if kind == "class":
        return [Choice("F13", f"objects of {site['what']['type']}", for_class, size)]
    return [Choice("F14", f"blocks of {size} bytes", for_blocks, size)]


BUILD = {"cmake": "target_link_libraries(app PRIVATE tarn::tarn)", "bazel": 'deps = ["@tarn"]'}


def about(site):
    return {"site": site["id"], "what": site["what"], "share": site["share"], "calls": site["calls"] + site["frees"],
            "gain": None}


def suggestion(site, choice):
    """A dict that goes into the JSON."""
    if choice.write is for_arena:
        found = []
    elif choice.write in (for_few_sizes, for_many_sizes):  # how much each of their pools has isn't known
        found = [one for one in policies_of(site, choice.size) if one[0] in ("F20", "F21")]
    else:
        found = policies_of(site, choice.size)
    policies = [policy for _, policy, _ in found if policy]
    if choice.write in (for_nodes, for_shared) and "tarn::return_empty_chunks<>" not in policies:
        policies = [*dict.fromkeys([*policies, "tarn::lifo_reuse<>"])]  # their default
    code = choice.write(site, policies)
    headers = [header if header[0] == "<" else f'"{header}"' for header in code.headers]
    pool = f"tarn::pool<{joined(size_policy(choice.size, site['alignment']), *policies)}>"
    return {**about(site), "verdict": "pool", "rules": [choice.rule, *(one[0] for one in found)],
            "reasons": [choice.reason, *(one[2] for one in found)], "product": code.product, "block": choice.size,
            "composition": code.composition or pool, "include": [f"#include {header}" for header in headers],
            "code": [*code.lines, *not_resized(site)], **BUILD}


def not_resized(site):
    """A line of code, if some of its blocks were reallocated, or of those that are taken for its own."""
    its = site["reallocations"]
    return [f"// not for blocks that realloc() gets: {quantity(its)} of {quantity(site['calls'])} here"] if its else []


def options(site, program):
    """What is replayed of a site: one suggestion, or several of which the first that is as good as any is given."""
    return [] if against(site, program) else [suggestion(site, choice) for choice in choices_of(site)]


def advise(site, program):
    """What to do with a site, unmeasured."""
    wrong = against(site, program)
    first = None if wrong else next(iter(choices_of(site)), None)
    if wrong or first is None or first.is_measured:
        rule, reason = wrong or ("F4", sizes_in_words(site))
        return {**about(site), "verdict": "don't pool", "rules": [rule], "reasons": [reason]}
    return suggestion(site, first)


def recomposed(advice, site, composition):
    """Advice with another composition, which a search found."""
    if composition == advice["composition"]:
        return advice
    choice = next(one for one in choices_of(site) if one.rule == advice["rules"][0])
    policies = symbols.arguments_of(composition)[1][1:]
    kept = [one for one in policies_of(site, choice.size) if one[1] in ("", *policies)]
    tried = [policy for policy in policies if policy not in [one[1] for one in kept]]
    return {**advice, "composition": composition,
            "code": [*choice.write(site, policies).lines, *not_resized(site)],
            "rules": [choice.rule, *(one[0] for one in kept), "F9"],
            "reasons": [choice.reason, *(one[2] for one in kept), f"{joined(*tried) or 'the default'} was faster than others"]}


def holds_more(gain):
    """Whether a plan holds half more memory than malloc, if that is much."""
    held = {name: its["median"] for name, its in gain["whole"]["held"].items()}
    return held["plan"] > held["malloc"] + max(MORE_MEMORY, held["malloc"] / 2)


def why_not(advice, gain):
    """What a replay showed of advice that isn't worth it."""
    said = f"replayed with {advice['composition']}, the program"
    if gain["is_gain"]:
        held = gain["whole"]["held"]
        return f"{said} holds {in_bytes(held['plan']['median'])} instead of {in_bytes(held['malloc']['median'])}"
    within = f", within the spread of {in_digits(gain['spread_ns'])}" if abs(gain["gain_ns"]) <= gain["spread_ns"] else ""
    return (f"{said} {'saves' if gain['gain_ns'] > 0 else 'loses'} {in_digits(abs(gain['gain_ns']))} ns for each of these "
            f"calls{within}")


def measured(tried):
    """The best of what was replayed, [(advice, {malloc: gain})], the simplest first. What is worse, or within the spread, isn't
    advised, and of two that are as good, the simpler is."""
    best = None
    for advice, gains in tried:
        gain = gains["malloc"]
        if gain["is_gain"] and not holds_more(gain):
            if best is None or gain["whole"]["ns"]["plan"]["high"] < best["gain"]["malloc"]["whole"]["ns"]["plan"]["low"]:
                best = {**advice, "gain": gains}
    if best:
        return best
    advice, gains = max(tried, key=lambda one: one[1]["malloc"]["gain_ns"])
    several = advice["rules"][0] in OF_SEVERAL_SIZES
    reason = why_not(advice, gains["malloc"])
    return {**{key: advice[key] for key in ("site", "what", "share", "calls")}, "gain": gains, "verdict": "don't pool",
            "rules": ["F4" if several else "F8", *advice["rules"]],
            "reasons": [f"{advice['reasons'][0].partition(';')[0]}; {reason}" if several else reason]}


def in_order(advice):
    """What gains the most first; unmeasured, what is called the most; then what isn't worth a pool."""
    def gained(one):
        gain = one["gain"] and one["gain"]["malloc"]
        return gain["gain_ns"] * one["calls"] if gain and one["verdict"] == "pool" else -math.inf
    return sorted(advice, key=lambda one: (one["verdict"] != "pool", -gained(one), -one["share"], one["site"]))
