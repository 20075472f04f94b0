#!/usr/bin/env python3
"""tools/tarn_advise: the replay of a log does what the log says, for each site and in the order that threads depend on. It is
shown to fail on logs, plans and compositions that are wrong. Nothing depends on a time: gains are of rounds made up here."""

import collections
import os
import random
import struct
import sys
import tempfile

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
sys.path[:0] = [os.path.join(ROOT, "test/support"), os.path.join(ROOT, "test/tools"), os.path.join(ROOT, "tools")]

import check_record
import compilers
from tarn_advise import replaying

FIRST_SITE = 1 << 30  # of calls without a stack; sites are numbered in the order in which their sizes are seen
STEP = struct.Struct("<QQIBBBB")  # bytes, old bytes, place, what, alignment, old alignment, column
TAKE, TAKE_ZEROED, RESIZE, GIVE = range(4)
POOL = "tarn::pool<tarn::static_size<48>>"


class Wrong(Exception):
    """What a check found."""


def expect(is_right, why):
    if not is_right:
        raise Wrong(why)


# ---- logs, and what they should become ------------------------------------------------------------------------------------

Call = collections.namedtuple("Call", "thread name address size old alignment", defaults=(None, None, None))


def written(path, calls, **how):
    """A block of the log for each thread, as the recorder has them."""
    blocks = {}
    for ticks, call in enumerate(calls, 1):
        block = blocks.setdefault(call.thread, check_record.Block(call.thread, ticks * 10))
        frees = call.name in ("free", "delete")
        block.add(ticks * 10, call.name, call.address, None if frees else call.size, call.alignment, call.old,
                  took=1 if call.old is not None else 0)
    with open(path, "wb") as file:
        file.write(check_record.log_of(*blocks.values(), **how))
    return path


def drawn(seed, count, threads, sizes=(48, 24, 200), hands_over=True):
    """Calls of some threads, which free each other's blocks, or not."""
    dice, live, calls, unused = random.Random(seed), [], [], list(range(0x10000, 0x10000 + 64 * count, 64))
    for _ in range(count):
        thread = dice.randrange(1, threads + 1)
        own = [at for at, one in enumerate(live) if hands_over or one[1] == thread]
        if own and dice.random() < 0.5 - 0.1 * (len(live) < 20):
            address, _ = live.pop(dice.choice(own))
            calls.append(Call(thread, "free", address))
            unused.append(address)
        else:
            address = unused.pop(dice.randrange(len(unused)))
            calls.append(Call(thread, dice.choice(["malloc", "calloc", "new"]), address, dice.choice(sizes)))
            live.append((address, thread))
    return calls


def model(calls):
    """[(thread, what, bytes, the number of the allocation)] of calls, and the numbers never freed."""
    live, found = {}, []
    for number, call in enumerate(calls):
        if call.name in ("free", "delete"):
            if call.address in live:
                allocation, bytes_ = live.pop(call.address)
                found.append((call.thread, GIVE, bytes_, allocation))
        else:
            live[call.address] = number, call.size
            found.append((call.thread, TAKE_ZEROED if call.name == "calloc" else TAKE, call.size, number))
    return found, sorted(number for number, _ in live.values())


class Steps:
    """What replay_file.h says, read."""

    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        numbers = struct.unpack_from("<12Q", data)
        self.operators = numbers[11]
        self.places = numbers[3]
        prelude, prelude_count, left, left_count = numbers[5:9]
        self.prelude = list(STEP.iter_unpack(data[prelude:prelude + prelude_count * STEP.size]))
        self.left = list(STEP.iter_unpack(data[left:left + left_count * STEP.size]))
        self.threads = []
        for at in range(numbers[2]):
            begin, count, holds, hold_count, fullest = struct.unpack_from("<5Q", data, 96 + 40 * at)
            self.threads.append((list(STEP.iter_unpack(data[begin:begin + count * STEP.size])),
                                 list(struct.iter_unpack("<3Q", data[holds:holds + hold_count * 24])), fullest))

    def play(self, dice, ignores_holds=False):
        """The steps of all threads in an order that the holds allow, by chance: [(thread, step)]. Checks what a step finds
        in its place."""
        done, held, order = [0] * len(self.threads), [0] * len(self.threads), []
        places = {step[2]: -1 for step in self.prelude}
        ends = [fullest for _, _, fullest in self.threads]  # all meet there
        while any(done[at] != len(steps) for at, (steps, _, _) in enumerate(self.threads)):
            if done == ends:
                ends = [len(steps) for steps, _, _ in self.threads]
            ready = []
            for at, (steps, holds, _) in enumerate(self.threads):
                def is_next(at=at, holds=holds):
                    return held[at] != len(holds) and holds[held[at]][0] == done[at]
                while is_next() and done[holds[held[at]][2]] >= holds[held[at]][1]:
                    held[at] += 1
                waits = is_next() and not ignores_holds
                if done[at] != ends[at] and not waits:
                    ready.append(at)
            expect(ready, "all threads wait for each other")
            at = dice.choice(ready)
            for _ in range(dice.randrange(1, 50)):  # one runs ahead
                step = self.threads[at][0][done[at]]
                is_taken = step[2] in places
                expect(is_taken != (step[3] in (TAKE, TAKE_ZEROED)), f"step {done[at]} of thread {at}: place {step[2]}")
                if step[3] == GIVE:
                    del places[step[2]]
                else:
                    places[step[2]] = at
                order.append((at, step))
                done[at] += 1
                holds = self.threads[at][1]
                if done[at] == ends[at] or held[at] != len(holds) and holds[held[at]][0] == done[at]:
                    break
        expect(sorted(places) == sorted(step[2] for step in self.left), "what is left isn't what is freed at the end")
        return order


def of_each_thread(rows):
    found = collections.defaultdict(list)
    for thread, *row in rows:
        found[thread].append(tuple(row))
    return found


def check_one_thread(folder):
    """Without blocks that another thread frees, there is one thread, and its steps are the log's in their order."""
    calls = drawn(1, 3000, 3, hands_over=False)
    rows, left = model(calls)
    with replaying.Replay(written(folder + "/log", calls), [FIRST_SITE, FIRST_SITE + 2], mallocs=["malloc"]) as it:
        steps = Steps(it.steps)
        expect(len(steps.threads) == 1 and not steps.threads[0][1], "threads")
        expect([(what, bytes_) for bytes_, _, _, what, *_ in steps.threads[0][0]] == [row[1:3] for row in rows], "steps")
        sizes = list(dict.fromkeys(call.size for call in calls if call.size))
        columns = {sizes[0]: 1, sizes[2]: 2}
        expect(all(step[6] == columns.get(step[0], 0) for step in steps.threads[0][0]), "columns")
        expect(len(steps.left) == len(left), "what is left")
        check_places(rows, [("", step) for step in steps.threads[0][0]])
        counts = collections.Counter((row[1] == GIVE, columns.get(row[2], 0)) for row in rows)
        said = it.check({FIRST_SITE: f"tarn::pool<tarn::static_size<{sizes[0]}>, tarn::mutex_locking<>>"})
        ended = collections.Counter(columns.get(calls[number].size, 0) for number in left)
        expect(said["calls"] == [[counts[False, at], counts[True, at] + ended[at]] for at in range(3)], f"{said}")
        expect("no thread frees another's" in it.about()["threads"], it.about()["threads"])


def check_operators(folder):
    """What the program gets from operator new, the replay gets from there; with a block of malloc, from malloc."""
    rows = [(name, 0x10000 + 64 * i, size) for i, (name, size) in enumerate([("new", 48), ("new", 24), ("malloc", 24),
                                                                            ("new", 200), ("malloc", 8)] * 3)]
    calls = [Call(1, *row) for row in rows] + [Call(1, "free", address) for _, address, _ in rows]
    with replaying.Replay(written(folder + "/log", calls), [FIRST_SITE + at for at in range(3)], mallocs=["malloc"]) as it:
        expect(Steps(it.steps).operators == 0b1010, bin(Steps(it.steps).operators))
        expect(it.check({})["lost"] == 0, "blocks")


def check_places(rows, order):
    """A free finds its own allocation in its place."""
    places = {}
    for row, (_, step) in zip(rows, order):
        if row[1] == GIVE:
            expect(places.pop(step[2]) == row[3], "a free of another block")
        else:
            places[step[2]] = row[3]


def check_threads(folder):
    """Each thread has its own steps in their order; a free waits for the allocation, whatever the order of the threads."""
    calls = drawn(2, 30000, 4)
    rows, left = model(calls)
    with replaying.Replay(written(folder + "/log", calls), [FIRST_SITE], mallocs=["malloc"]) as it:
        steps = Steps(it.steps)
        expect(len(steps.threads) == 4 and len(steps.left) == len(left), "threads")
        threads = list(dict.fromkeys(row[0] for row in rows))
        for at, (its, _, _) in enumerate(steps.threads):
            wanted = of_each_thread(rows)[threads[at]]
            expect([(what, bytes_) for bytes_, _, _, what, *_ in its] == [row[:2] for row in wanted], f"thread {at}")
        for seed in range(20):
            steps.play(random.Random(seed))
        for seed in range(20):
            try:
                steps.play(random.Random(seed), ignores_holds=True)
            except Wrong:
                break
        else:
            raise Wrong("without the holds nothing is wrong")
        size = next(call.size for call in calls if call.size)
        said = it.check({FIRST_SITE: f"tarn::pool<tarn::static_size<{size}>, tarn::thread_cached<>>"})
        expect(sum(taken for taken, _ in said["calls"]) == sum(call.size is not None for call in calls), f"{said}")
        refused(it, {FIRST_SITE: f"tarn::pool<tarn::static_size<{size}>>"}, "several threads use this site")


def check_few_waits(folder):
    """A thread that frees what another allocates waits once a span, though it needs each of the other's steps. The peak, where
    all threads meet, is within a span."""
    calls = []
    for number in range(5000):
        calls.append(Call(1, "malloc", 0x10000 + number * 64, 48))
        calls += [Call(2, "free", 0x10000 + number * 64)] * (number % 10 != 0)
    calls += [Call(2, "free", 0x10000 + number * 64) for number in range(0, 5000, 10)]
    with replaying.Replay(written(folder + "/log", calls), [FIRST_SITE], mallocs=["malloc"]) as it:
        steps = Steps(it.steps)
        counts = [len(holds) for _, holds, _ in steps.threads]
        expect(10 < counts[0] < 50 and 10 < counts[1] < 50, f"{counts} waits for 5000 steps")
        expect(all(4500 - 512 <= fullest < 5000 + 512 for _, _, fullest in steps.threads), "the peak")
        for seed in range(5):
            steps.play(random.Random(seed))
        it.check({FIRST_SITE: "tarn::pool<tarn::static_size<48>, tarn::thread_cached<>>"})


def check_spans(folder):
    """No thread is ahead of another by more than two spans, though none needs the other's blocks."""
    calls = [Call(1, "malloc", 0x900000, 48), Call(2, "free", 0x900000)]
    for number in range(20000):
        address = 0x10000 + number % 2 * 64
        calls += [Call(1 + number % 2, "malloc", address, 48), Call(1 + number % 2, "free", address)]
    with replaying.Replay(written(folder + "/log", calls), [FIRST_SITE], mallocs=["malloc"]) as it:
        steps = Steps(it.steps)
        done = 0
        for before, until, _ in steps.threads[0][1]:
            expect(before - done <= 512 + 4, f"{before - done} steps without a wait")
            expect(until <= before, f"step {before} waits for {until}")
            done = before
        expect(done > 15000, f"the last wait is before step {done}")


def check_middle(folder):
    """Of a long log there is the middle, and before it what the program had then."""
    calls = drawn(3, 5000, 1)
    with replaying.Replay(written(folder + "/log", calls), [FIRST_SITE], most_steps=1000, mallocs=["malloc"]) as it:
        rows, _ = model(calls[:2000])
        live = collections.Counter()
        for _, what, bytes_, _ in rows:
            live[bytes_] += 1 if what != GIVE else -1
        steps = Steps(it.steps)
        expect(collections.Counter(step[0] for step in steps.prelude) == +live, "blocks from before")
        rows, _ = model(calls[:3000])
        expect([(what, bytes_) for bytes_, _, _, what, *_ in steps.threads[0][0]] == [row[1:3] for row in rows[2000:]], "steps")
        expect(it.facts["skipped"] == 2000 and it.facts["replayed"] == 1000 and "1,000 of 5,000 calls" in it.about()["part"],
               f"{it.about()}")
        it.check({FIRST_SITE: f"tarn::pool<tarn::static_size<{max(live)}>>"})


def check_cut(folder):
    """A log that was cut is replayed as far as it goes, and that is said."""
    path = written(folder + "/log", drawn(4, 4000, 1))
    os.truncate(path, os.path.getsize(path) // 2)
    with replaying.Replay(path, [FIRST_SITE], mallocs=["malloc"]) as it:
        expect(1000 < it.facts["replayed"] < 3000, f"{it.facts}")
        expect(any("cut: the file ends within block 0" in note for note in it.about()["notes"]), f"{it.about()}")
        it.check({})
    for path, said in ((folder + "/none", "none: no such log"), (__file__, "no log of tarn-record")):
        try:
            with replaying.Replay(path, [FIRST_SITE]):
                raise Wrong(f"{path} was read")
        except replaying.Failed as error:
            expect(said in str(error), str(error))


def check_strange(folder):
    """What nobody can have, of a damaged log, isn't asked for."""
    calls = [Call(1, "malloc", 0x1000, 1 << 60), Call(1, "aligned_alloc", 0x2000, 48, None, 1 << 40),
             Call(1, "new", 0x3000, 48), Call(1, "malloc", 0x4000, 20), Call(1, "realloc", 0x5000, (1 << 64) - 1, 0x4000),
             Call(1, "free", 0x3000)]
    with replaying.Replay(written(folder + "/log", calls), [FIRST_SITE], mallocs=["malloc"]) as it:
        said = it.check({})
        expect(sum(allocated for allocated, _ in said["calls"]) == 2, f"{said}")


def check_moved(folder):
    """Blocks of other sizes, and a site whose blocks are reallocated."""
    calls = [Call(1, "malloc", 0x1000, 48), Call(1, "malloc", 0x2000, 20), Call(1, "realloc", 0x3000, 90, 0x2000),
             Call(1, "posix_memalign", 0x4000, 48, None, 256), Call(1, "free", 0x1000), Call(1, "free", 0x4000),
             Call(1, "free", 0x3000)]
    with replaying.Replay(written(folder + "/log", calls), [FIRST_SITE, FIRST_SITE + 1], mallocs=["malloc"]) as it:
        said = it.check({FIRST_SITE: POOL})
        expect(said["calls"] == [[0, 0], [2, 2], [1, 1]], f"{said}")
        refused(it, {FIRST_SITE + 1: POOL}, "blocks of this site are reallocated")
        expect(it.check({FIRST_SITE: "arena"})["calls"] == said["calls"], "an arena")
        expect(it.check({FIRST_SITE: "tarn::size_class_pool<>"})["calls"] == said["calls"], "classes")


def check_few_moved(folder):
    """A site with under a hundredth of reallocations is replayed without these blocks; with more, it can't be a pool's."""
    for count, is_refused in ((200, False), (199, True)):
        calls = [Call(1, "malloc", 0x1000 + 64 * number, 48) for number in range(count)]
        calls += [Call(1, "realloc", 0x90000, 90, 0x1000 + 64 * 50), Call(1, "realloc", 0x91000, 91, 0x90000)]
        calls += [Call(1, "malloc", 0x1000 + 64 * 50, 48), Call(1, "free", 0x91000), Call(1, "free", 0x1000 + 64 * 50)]
        with replaying.Replay(written(folder + "/log", calls), [FIRST_SITE], mallocs=["malloc"]) as it:
            if is_refused:
                refused(it, {FIRST_SITE: POOL}, "blocks of this site are reallocated")
            else:
                said = it.check({FIRST_SITE: POOL})
                expect(said["calls"] == [[1, 1], [count, count]], f"{said}")


def check_sizes(folder):
    """Blocks by their sizes, also for threads. What a pool of classes gets back it gives again, though it has reset(), too. An
    arena doesn't while a block is in use."""
    calls = [Call(1, "malloc", 0x1000, 4000)]
    calls += [Call(1, name, 0x3000, None if name == "free" else 4000) for _ in range(5000) for name in ("malloc", "free")]
    calls.append(Call(1, "malloc", 0x3000, 4001))  # now it has the most
    by_size = "tarn::by_size<tarn::up_to<48, tarn::pool<tarn::static_size<48>{0}>>, tarn::heap_block>"
    with replaying.Replay(written(folder + "/log", calls), [FIRST_SITE], mallocs=["malloc"]) as it:
        held = {what: it.run(it.build([(1, what)]), {FIRST_SITE: what}, None)["held"] for what in
                ("tarn::size_class_pool<>", by_size.format(""), "arena")}
        expect(held["arena"] > 15 << 20 and all(one < 5 << 20 for what, one in held.items() if what != "arena"), f"{held}")
    with replaying.Replay(written(folder + "/log", drawn(9, 3000, 2)), [FIRST_SITE, FIRST_SITE + 1], mallocs=["malloc"]) as it:
        it.check({FIRST_SITE: by_size.format(", tarn::thread_cached<>"),
                  FIRST_SITE + 1: "tarn::size_class_pool<tarn::thread_cached<>>"})
        refused(it, {FIRST_SITE: by_size.format("")}, "several threads use this site")


def check_better(_):
    """A time is less only beyond the spread, of which a single slow round is no part."""
    def ns(median, spread=.5, most=20):
        return {"median": median, "low": median - spread / 2, "high": median + spread / 2, "max": most, "min": 0}
    for one, other, wanted in ((ns(7.1), ns(9.8), True), (ns(9.4), ns(9.8), False), (ns(9.8), ns(7.1), False),
                               (ns(7.1, 3), ns(9.8), False), (ns(7.1), ns(9.8, 3), False)):
        expect(replaying.is_less(one, other) == wanted, f"{one}, {other}")


def check_own_malloc(folder):
    """tarn's malloc is built and compared; one that can't be preloaded is said."""
    path, both = written(folder + "/log", drawn(10, 300, 1)), ["malloc", "libtarn_malloc"]
    with replaying.Replay(path, [FIRST_SITE], mallocs=both) as it:
        expect(list(it.mallocs) == ["malloc", "libtarn_malloc"], f"{it.missing}")
        before, replaying.building.own_malloc = replaying.building.own_malloc, lambda: "libtarn_none.so"
        try:
            found = it.those_here(both)
        finally:
            replaying.building.own_malloc = before
        expect(found == ({"malloc": None}, {"libtarn_malloc": "libtarn_none.so isn't installed"}), f"{found}")


def refused(it, plan, words):
    try:
        it.check(plan)
    except replaying.Failed as error:
        return expect(words in str(error), str(error))
    raise Wrong(f"{plan} is accepted")


# ---- plans ----------------------------------------------------------------------------------------------------------------

def check_fair(folder):
    """Malloc in malloc's place: the same calls, and as many functions behind the pointers as with pools everywhere."""
    with replaying.Replay(written(folder + "/log", drawn(5, 3000, 1)), [FIRST_SITE, FIRST_SITE + 1], mallocs=["malloc"]) as it:
        none, same = it.check({}), it.check({FIRST_SITE: "malloc"})
        large = "tarn::pool<tarn::static_size<200>>"
        pools = it.check({FIRST_SITE: large, FIRST_SITE + 1: large})
        expect(none == same and none["calls"] == pools["calls"], f"{none}, {same}, {pools}")
        expect([one["targets"] for one in (none, same, pools)] == [6] * 3, f"{none}, {same}, {pools}")


# An allocator that has one block, and one that takes 20,000 turns of a loop.
BROKEN = """
#include <cstddef>
#include <cstdlib>
struct twice {
  void* allocate(std::size_t, std::size_t) { return one; }
  void deallocate(void*, std::size_t, std::size_t) {}
  alignas(16) char one[64];
};
struct slow {
  void* allocate(std::size_t bytes, std::size_t) {
    for (volatile int i = 0; i != 20000;) i = i + 1;
    return std::malloc(bytes);
  }
  void deallocate(void* block, std::size_t, std::size_t) { std::free(block); }
};
"""


def broken_in(folder):
    with open(folder + "/broken.h", "w", encoding="ascii") as file:
        file.write(BROKEN)
    return file.name


def check_compositions(folder):
    """What doesn't compile is named, with tarn's own sentence; what loses blocks is found."""
    with replaying.Replay(written(folder + "/log", drawn(6, 300, 1, (48,))), [FIRST_SITE], headers=[broken_in(folder)],
                          mallocs=["malloc"]) as it:
        refused(it, {FIRST_SITE: "tarn::pool<tarn::static_size<8>, tarn::batch_reuse<>>"},
                "tarn::pool<tarn::static_size<8>, tarn::batch_reuse<>> doesn't compile: tarn: [R6] batch_reuse was combined "
                "with blocks under 16 bytes")
        refused(it, {FIRST_SITE: "tarn::pool<tarn::no_such_policy>"}, "no_such_policy")
        refused(it, {FIRST_SITE: "int"}, "doesn't compile: tarn-advise: a composition is a pool, an arena")
        refused(it, {FIRST_SITE: "twice"}, "blocks lost what was written to them")


def check_search(folder):
    """Each axis, also where a candidate doesn't compile; the compositions are those that it says."""
    facts = {"peak_live": 200_000, "threads": 1}
    axes = replaying.axes_of(48, facts)
    expect([axis[0][0] for axis in axes] == ["reuse", "growth", "store"] and
           ("store", "tarn::page_store<tarn::huge_pages>") in axes[2], f"{axes}")
    few = replaying.axes_of(48, {"peak_live": 10, "threads": 2})
    expect([axis[0][0] for axis in few] == ["reuse", "locking", "store"], f"{few}")
    changed = replaying.with_policy("tarn::pool<tarn::static_size<8, 4>, tarn::batch_reuse<tarn::prefetch::none, 128>, "
                                    "tarn::thread_cached<>>", ("reuse", "tarn::lifo_reuse<>"))
    expect(changed == "tarn::pool<tarn::static_size<8, 4>, tarn::thread_cached<>, tarn::lifo_reuse<>>", changed)
    none = replaying.with_policy(changed, ("reuse", ""))
    expect(none == "tarn::pool<tarn::static_size<8, 4>, tarn::thread_cached<>>", none)
    calls = [call for number in range(100) for call in
             (Call(1, "malloc", 0x1000 + number * 64, 8),)] + [Call(1, "free", 0x1000 + number * 64) for number in range(100)]
    with replaying.Replay(written(folder + "/log", calls), [FIRST_SITE], mallocs=["malloc"]) as it:
        tried, malloc, wrong = it.search(FIRST_SITE, "tarn::pool<tarn::static_size<8>, tarn::batch_reuse<>>", 8, seconds=0)
        expect(list(wrong) == ["tarn::pool<tarn::static_size<8>, tarn::batch_reuse<>>"] and "[R6]" in wrong[list(wrong)[0]],
               f"{wrong}")
        expect(len(tried) >= 3 and malloc["rounds"] == replaying.LEAST_ROUNDS, f"{tried}")


def check_gains(folder):
    """Of rounds made up here: what is worse, or within the spread, is no gain, and a simple composition is kept."""
    with replaying.Replay(written(folder + "/log", drawn(7, 1000, 1, (48,))), [FIRST_SITE], mallocs=["malloc"]) as it:
        def result(*ns, plan=None):
            plan = plan or {}
            whole = [{"seconds": one / 1e6, "held": 0, "faults": 0, "call_ns": 2.0} for one in ns]  # of 1000 calls
            return it.result(plan, whole, [{"own_ns": [100, 300]}])
        malloc = result(40, 41, 42)
        for ns, gains in (((20, 21, 22), True), ((40, 41, 42), False), ((38, 40, 41), False), ((60, 61, 62), False),
                          ((20, 21, 70), False), ((20, 21, 22, 21, 20, 21, 70), True)):
            gain = it.gain(FIRST_SITE, result(*ns), malloc)
            expect(gain["is_gain"] == gains, f"{ns}: {gain}")
        gain = it.gain(FIRST_SITE, result(20, 21, 22), malloc)
        each = 1000 / it.calls_of(FIRST_SITE)
        expect(abs(gain["gain_ns"] - 20 * each) < 1e-9 and abs(gain["malloc_ns"] - 41 * each * 0.75) < 1e-9, f"{gain}")
        inline = it.gain(FIRST_SITE, result(20, 21, 22, plan={FIRST_SITE: POOL}), malloc)
        expect(abs(inline["gain_ns"] - gain["gain_ns"] - 2) < 1e-9, f"{inline}, a pool without a call")
        tried = {"simple": result(20, 22, 24), "less": result(19, 21, 23), "fast": result(10, 11, 12)}
        expect(it.better(tried, "simple", ["simple", "less"]) == "simple", "within the spread")
        expect(it.better(tried, "simple", ["simple", "less", "fast"]) == "fast", "beyond the spread")


def check_worse(folder):
    """A composition that is slow by construction: measured, it has no gain."""
    with replaying.Replay(written(folder + "/log", drawn(8, 2000, 1, (48,))), [FIRST_SITE], headers=[broken_in(folder)],
                          mallocs=["malloc"]) as it:
        found = it.measure({"slow": {FIRST_SITE: "slow"}}, seconds=0)
        gain = it.gain(FIRST_SITE, found["slow"], found["malloc"])
        expect(not gain["is_gain"] and gain["gain_ns"] < 0, f"{gain}")


CHECKS = {"one thread": check_one_thread, "operators": check_operators, "threads": check_threads,
          "threads in step": check_spans,
          "few waits": check_few_waits, "the middle of a log": check_middle, "a cut log": check_cut,
          "sizes and reallocations": check_moved, "few reallocations": check_few_moved,
          "sizes that can't be": check_strange, "several sizes": check_sizes, "another malloc": check_better,
          "tarn's malloc": check_own_malloc,
          "the same dispatch": check_fair, "compositions": check_compositions, "search": check_search, "gains": check_gains,
          "what is worse": check_worse}


def outcome(check):
    with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as folder:
        try:
            check(folder)
        except (Wrong, replaying.Failed) as error:
            return str(error)
    return None


def main():
    replaying.SECONDS = 60
    os.environ["CXX"] = compilers.present()[0]
    os.environ.setdefault("XDG_CACHE_HOME", tempfile.mkdtemp(dir=os.environ.get("TEST_TMPDIR")))
    return compilers.report([(f"replay: {name}", lambda check=check: outcome(check)) for name, check in CHECKS.items()])


if __name__ == "__main__":
    sys.exit(main())
