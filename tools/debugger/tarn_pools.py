"""What a debugger can tell of tarn's pools, from the memory of a process or of a core dump: nothing in it is called.

`Debugger` is what gdb's and lldb's scripts give: values with their members, memory and names. Everything else is here: which
pools there are (those with a name: policies/name.h), and what became of a block of theirs.

A process may have stopped anywhere, and its memory may be damaged. So every walk is bounded, and an address that is none of the
pool's ends it: the pool is then called corrupted.
"""

import itertools
import json
import os
import re
import struct

MOST_CHUNKS = 1_000_000
MOST_POOLS = 1_000_000
MOST_BLOCKS = 1 << 30  # of a chunk
LONGEST_TEXT = 256
BATCH = 64
FIRST_SLOT = 1  # slot 0 is no thread's
WORDS = {"n": "never used", "F": "free, at the front of the list", "t": "free, in a magazine of ", "f": "free", "u": "in use"}


class Unknown(Exception):
    """What can't be read: no debug information, or damaged memory."""


class Corrupted(Exception):
    """The pool's own data can't be right."""


def text_at(debugger, address):
    """The text that a pointer points to, without what would move the cursor; cut after some letters."""
    found = b""
    while address and len(found) < LONGEST_TEXT:
        letter = debugger.memory(address + len(found), 1)
        if letter == b"\0":
            break
        found += letter
    return "".join(c if c.isprintable() else "?" for c in found.decode(errors="replace"))


def number(value):
    """Of an integer, a pointer, or an atomic one."""
    for member in ("value_", "word_"):
        inner = value.member(member)
        if inner is not None:
            return number(inner)
    return value.number()


def arguments(name):
    """The template arguments in a type's name."""
    start = name.find("<")
    if start < 0:
        return []
    found, depth, begin = [], 0, start + 1
    for at in range(start, len(name)):
        letter = name[at]
        if letter in "<({":
            depth += 1
        elif letter in ">)}":
            depth -= 1
        if (letter == "," and depth == 1) or depth == 0:
            found.append(name[begin:at].strip())
            begin = at + 1
            if depth == 0:
                return found
    return found


def short(policy):
    return re.sub(r"<.*", "", policy).split("::")[-1]


class Chunk:
    """A chunk: `value` is its record."""

    def __init__(self, value):
        self.value = value
        self.first = number(value.need("first"))
        self.blocks = number(value.need("blocks"))
        self.carved = number(value.need("carved"))
        if not 0 <= self.carved <= self.blocks <= MOST_BLOCKS:
            raise Corrupted("a chunk has an impossible number of blocks")


class Place:
    """Where an address lies: in which chunk, in which block, how many bytes into that."""

    def __init__(self, chunk, slot, block, offset):
        self.chunk, self.slot, self.block, self.offset = chunk, slot, block, offset


class Pool:
    """A pool of the registry."""

    SUBJECT = "looked_at"  # the variable of its type in the function which the registry calls for it

    def __init__(self, debugger, listed):
        self.debugger = debugger
        self.listed = listed
        its = listed.need("its_")
        self.address = number(listed.need("pool_"))
        shape = listed.need("shape_")
        self.block_size, self.stride, self.offset, self.words, self.run = (
            number(shape.need(name)) for name in ("block_size", "stride", "offset", "words", "run"))
        if self.stride <= 0 or self.block_size < 0 or self.run < 0:
            raise Corrupted("the registry has a pool of impossible blocks")
        self.name = text_at(debugger, number(its.need("name")))
        if number(its.need("has_size")):
            self.name += f"/{self.block_size}"
        for name in ("capacity", "chunks", "bytes", "growths", "refused", "peak"):
            setattr(self, name, number(listed.need(name + "_")))
        self._state = self._chunks = None

    # ---- types -----------------------------------------------------------------------------------------------------------

    @property
    def state(self):
        """The pool itself."""
        if self._state is None:
            function = number(self.listed.need("calls_").pointed().need("tell"))
            self._state = self.debugger.object(function, self.SUBJECT, self.address)
        return self._state

    def policies(self):
        """How it locks, which free block is next, where chunks come from; empty where that isn't known."""
        try:
            named = arguments(self.state.type_name())
            traits = arguments(named[0])
            return ", ".join(short(traits[i]) for i in (2, 5, 4))
        except (Unknown, IndexError):
            return ""

    # ---- chunks ----------------------------------------------------------------------------------------------------------

    def all_chunks(self):
        if self._chunks is None:
            self._chunks = list(self._walk_chunks())
        return self._chunks

    def _walk_chunks(self):
        chunks = self.state.need("chunks").need("map_")
        only = chunks.member("chunk_")
        if only is not None:
            if number(only.need("first")) != 0:
                yield Chunk(only)
            return
        waiting, seen = [chunks.need("root_")], set()
        while waiting:
            link = waiting.pop()
            if number(link) == 0:
                continue
            if number(link) in seen or len(seen) > MOST_CHUNKS:
                raise Corrupted("its chunks point in a ring")
            seen.add(number(link))
            record = link.pointed()
            yield Chunk(record)
            waiting += [record.need("left"), record.need("right")]

    def distance(self, slot):
        return slot * self.stride + (slot // self.run * 64 if self.run else 0)

    def block_at(self, chunk, slot):
        return chunk.first + self.distance(slot) + self.offset

    def place_of(self, address):
        """Where the address lies, or None."""
        for chunk in self.all_chunks():
            if not 0 <= address - chunk.first < self.distance(chunk.blocks - 1) + self.stride:
                continue
            within, slot = address - chunk.first, 0
            if self.run:
                run = self.run * self.stride + 64
                slot, within = within // run * self.run, within % run
            slot += min(within // self.stride, self.run - 1 if self.run else within)
            block = self.block_at(chunk, slot)
            return Place(chunk, slot, block, address - block)
        return None

    def checked(self, address):
        """An address of a block, as a list keeps it."""
        place = self.place_of(address)
        if place is None or place.offset != 0 or place.slot >= place.chunk.carved:
            raise Corrupted(f"it lists {address:#x}, where none of its blocks begins")
        return address

    def carved(self):
        return sum(chunk.carved for chunk in self.all_chunks())

    # ---- free blocks -----------------------------------------------------------------------------------------------------

    def pointers(self, address, n):
        return self.debugger.words(address, n)

    def in_front(self):
        """Blocks at the front of the list, the newest first."""
        front = self.state.need("list").member("front_")
        if front is None:
            return []
        # Of a pool that holds an array, the places are counted from the second word of `nook_`.
        base = front.need("nook_").element(1).address() if front.type_name().endswith("true>") else 0
        top, end = ((base + number(front.need(name))) % 2**64 for name in ("top_", "end_"))
        if top > end or (end - top) // 8 > self.carved() + BATCH:
            raise Corrupted("the front of its list isn't where it should be")
        return [self.checked(block) for block in self.pointers(top, (end - top) // 8) if block != 0]

    def in_threads(self):
        """{block: what keeps it} of thread_cached's magazines."""
        locking = self.state.need("locking")
        found = {}
        slots = locking.member("slots_")
        if slots is None:
            return found
        for thread, slot in self._slots(slots):
            if number(slot.need("current")) == 0:
                continue
            if number(slot.need("changing")) != 0:
                raise Unknown("a thread was changing its magazines")
            bottom, top = number(slot.need("bottom")), number(slot.need("top"))
            spare = slot.need("spare") if number(slot.need("spare_is_full")) else None
            for block in self._magazine(bottom, top):
                found[block] = f"thread slot {thread}"
            if spare is not None and number(spare) != 0:
                for block in self._full(spare.pointed()):
                    found[block] = f"thread slot {thread}"
        full, n = locking.need("depot_").need("full_"), 0
        while number(full) != 0:
            n += 1
            if n > self.carved():
                raise Corrupted("its magazines point in a ring")
            for block in self._full(full.pointed()):
                found[block] = "the depot"
            full = full.pointed().need("next")
        return found

    @staticmethod
    def _slots(slots):
        own = slots.need("slots_").elements()
        for i in range(FIRST_SLOT, len(own)):
            yield i, own[i]
        for group, place in enumerate(slots.need("far_").elements()):
            far = place.member("value_") or place
            if number(far) != 0:
                for i in range(16):
                    yield len(own) + group * 16 + i, far.element(i)

    def _magazine(self, bottom, top):
        if not 0 <= top - bottom <= 8 * (16 << 6):
            raise Unknown("a thread was changing its magazines")
        return [self.checked(block) for block in self.pointers(bottom, (top - bottom) // 8)]

    def _full(self, magazine):
        bottom = magazine.address() + 16
        return self._magazine(bottom, bottom + 8 * ((16 << number(magazine.need("size"))) - 2))

    def behind(self):
        """Free blocks behind the front, as a set, or None: only records say it."""
        chain = self.state.need("list")
        if chain.member("shelves_") is not None:
            return self._bitmaps()
        # Chunks of a pool of objects have bits, into which walks move what is free.
        walked = self._bitmaps() if any(chunk.value.member("bitmap") is not None for chunk in self.all_chunks()) else set()
        return walked | self._listed(chain)

    def _listed(self, chain):
        if self.state.need("locking").member("stack_") is not None:
            return self._stacked()
        if chain.member("batches_") is not None:
            return self._batches(chain.need("batches_"))
        found, block = set(), number(chain.need("head_"))
        while block != 0:
            if block in found:
                raise Corrupted("its free list is a ring")
            found.add(self.checked(block))
            block = self.pointers(block, 1)[0]  # where links lie elsewhere there are records
        return found

    def _batches(self, batches):
        found, head = set(), number(batches.need("head_"))
        while head != 0:
            stream, at, piece = [], 0, 0
            while at < BATCH:
                block = self.checked(head if piece == 0 else stream[piece])
                stream += self.pointers(block, min(self.words, BATCH - at))
                at, piece = at + self.words, piece + 1
            blocks = {head, *stream[1:BATCH]} - {0}
            if blocks & found:
                raise Corrupted("its batches are a ring")
            found |= {self.checked(block) for block in blocks}
            head = stream[0]
        return found

    def _bitmaps(self):
        found = set()
        for chunk in self.all_chunks():
            bits = chunk.value.member("bitmap") or chunk.value
            ready = number(bits.need("ready_"))
            if ready > chunk.blocks // 64 + 1:
                raise Corrupted("a bitmap is larger than its chunk")
            words = self.pointers(number(bits.need("words_")), ready)
            units = bits.member("units_")
            gone = units.member("decommitted_") if units is not None else None
            if gone is not None and number(units.need("decommitted_blocks_")) != 0:
                words = [a | b for a, b in zip(words, self.pointers(number(gone), ready))]
            for w, word in enumerate(words):
                while word:
                    low = word & -word
                    found.add(self.block_at(chunk, 64 * w + low.bit_length() - 1))
                    word ^= low
        return found

    def _stacked(self):
        places = [(number(c.value.need("base")), c) for c in self.all_chunks()]
        head = number(self.state.need("locking").need("stack_").need("head_"))
        bits = 8 * self.state.need("locking").need("stack_").need("head_").size() // 2
        found, n = set(), head & ((1 << bits) - 1)
        while n != 0:
            base, chunk = next(((base, c) for base, c in places if base < n <= base + c.blocks), (0, None))
            if chunk is None:
                raise Corrupted(f"its stack holds the number {n}, which no block has")
            block = self.block_at(chunk, n - 1 - base)
            if block in found:
                raise Corrupted("its stack is a ring")
            found.add(block)
            n = number(chunk.value.need("links").element(n - 1 - base))
        return found

    # ---- records of checking policies --------------------------------------------------------------------------------------

    def record(self, chunk, slot):
        """What a checking policy knows of a block, or None: it was never handed out, or there is no such policy."""
        records = chunk.value.member("records_")
        if records is None or slot >= number(chunk.value.need("ready_")):
            return None
        return records.element(slot)

    @staticmethod
    def is_used(record):
        for name, rule in (("state", lambda v: v == 1), ("count", lambda v: v % 2 == 1)):
            member = record.member(name)
            if member is not None:
                return rule(number(member))
        return number(record.need("allocated")) > number(record.need("freed"))

    def has_whole_records(self):
        """Whether they know of every block: not those of checks that may have been off."""
        has_records = any(chunk.value.member("records_") is not None for chunk in self.all_chunks()[:1])
        return has_records and self.state.need("checking").member("is_on_") is None

    # ---- answers -----------------------------------------------------------------------------------------------------------

    def in_use(self):
        """Blocks handed out and not given back."""
        if self.has_whole_records():
            used = 0
            for chunk in self.all_chunks():
                ready = min(number(chunk.value.need("ready_")), chunk.blocks)
                used += sum(self.is_used(chunk.value.need("records_").element(i)) for i in range(ready))
            return used
        return self.carved() - len(self.in_front()) - len(self.in_threads()) - len(self.behind())

    def teller(self):
        """A function of (chunk, slot): a letter, which WORDS explains, and what keeps the block, if that is a thread."""
        front, threads = set(self.in_front()), self.in_threads()
        whole = self.has_whole_records()
        behind = set() if whole else self.behind()

        def tell(chunk, slot):
            block = self.block_at(chunk, slot)
            if slot >= chunk.carved:
                return "n", ""
            if block in front:
                return "F", ""
            if block in threads:
                return "t", threads[block]
            if whole:
                record = self.record(chunk, slot)
                return ("u" if record is not None and self.is_used(record) else "f"), ""
            return ("f" if block in behind else "u"), ""

        return tell

    def state_of(self, place):
        """What became of a block, in words."""
        letter, keeper = self.teller()(place.chunk, place.slot)
        return WORDS[letter] + keeper

    def history(self, place):
        """What a checking policy knows besides, in words."""
        record = self.record(place.chunk, place.slot)
        if record is None or record.member("allocated") is None:
            return ""
        words = f"allocated seq {number(record.need('allocated'))} thread {number(record.need('allocated_by'))}"
        site = record.member("site")
        if site is not None and number(site.need("file")) != 0:
            words += f" at {text_at(self.debugger, number(site.need('file')))}:{number(site.need('line'))}"
        if number(record.need("freed")) != 0 and not self.is_used(record):
            words += f"; freed seq {number(record.need('freed'))} thread {number(record.need('freed_by'))}"
        return words

    def map(self):
        """For each chunk, the state of each block: pairs of a letter and how many in a row."""
        tell = self.teller()
        for chunk in self.all_chunks():
            letters = itertools.chain((tell(chunk, slot)[0] for slot in range(chunk.carved)),
                                      "n" * (chunk.blocks - chunk.carved))
            yield chunk, [(letter, sum(1 for _ in run)) for letter, run in itertools.groupby(letters)]


class Arena(Pool):
    """An arena of the registry, whose blocks have one byte."""

    SUBJECT = "arena"

    def policies(self):
        traits = arguments(arguments(self.state.type_name())[0])
        return f"{short(traits[1])}, arena, {short(traits[3])}"

    def _walk_chunks(self):
        """(the address of its record, its first byte, its end, the bytes in front of it)"""
        region, seen = self.state.need("region_"), set()
        link = region.need("first_")
        while number(link) != 0:
            if number(link) in seen or len(seen) > MOST_CHUNKS:
                raise Corrupted("its chunks point in a ring")
            seen.add(number(link))
            record = link.pointed()
            start = number(record.need("region").need("start"))
            is_inside = number(link) == start  # the record, in front of the blocks; else in the arena
            yield (number(link), start + (record.size() + 15) // 16 * 16 * is_inside, number(record.need("end")),
                   number(record.need("before")))
            link = record.need("next")

    def position(self):
        """The chunk that the next block comes from, and where it starts there; None: no chunk."""
        region = self.state.need("region_")
        at = number(region.need("at_"))
        current = number(region.need("current_")) or number(region.need("first_"))  # entered() of chunk_region.h
        if at == 0:
            return None, 0
        for chunk in self.all_chunks():
            if chunk[0] == current and chunk[1] <= at <= chunk[2]:
                return chunk, at
        raise Corrupted("its next block is in none of its chunks")

    def in_use(self):
        chunk, at = self.position()
        return 0 if chunk is None else chunk[3] + at - chunk[1]

    def word_for(self, address):
        """What an address is, or None: it isn't the arena's."""
        for chunk in self.all_chunks():
            if chunk[1] <= address < chunk[2]:
                current, at = self.position()
                links = [one[0] for one in self.all_chunks()]
                passed = current is not None and links.index(chunk[0]) < links.index(current[0])
                return "in use" if passed or (chunk == current and address < at) else "free"
        return None


def listed(debugger, node):
    """An arena if its listing says so, else a pool."""
    try:
        its = Arena(debugger, node)
        its.state.need("region_")
        return its
    except Unknown:
        return Pool(debugger, node)


def pools(debugger):
    """The pools and arenas of the registry, in the order in which they came."""
    for registry in debugger.variables("tarn::detail::library_pools"):
        link, n = registry.need("first_"), 0
        while number(link) != 0:
            n += 1
            if n > MOST_POOLS:
                raise Corrupted("the registry is a ring")
            node = link.pointed()
            if number(node.need("calls_").pointed().need("tell")) != 0:  # else it can be asked for memory, and has no name
                yield listed(debugger, link.pointed("tarn::detail::listed_pool"))
            link = node.need("after_")


def bytes_text(n):
    for unit in ("", "K", "M", "G", "T"):
        if n < 10_000 or unit == "T":
            return f"{n}{unit}"
        n = (n + 512) // 1024
    return ""


def table(debugger):
    """Lines: all pools."""
    rows = [("NAME", "BLOCK", "IN USE", "CAPACITY", "CHUNKS", "HELD", "REFUSED", "ADDRESS", "POLICIES")]
    for pool in pools(debugger):
        try:
            used = str(pool.in_use())
        except Unknown:
            used = "?"
        except Corrupted:
            used = "corrupted"
        rows.append((pool.name, str(pool.block_size), used, str(pool.capacity), str(pool.chunks), bytes_text(pool.bytes),
                     str(pool.refused), f"{pool.address:#x}", pool.policies()))
    if len(rows) == 1:
        return ["No pool has a name. docs/axes/name.md says how to give one."]
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    left = (0, 7, 8)
    return ["  ".join(text.ljust(width) if i in left else text.rjust(width)
                      for i, (text, width) in enumerate(zip(row, widths))).rstrip() for row in rows]


def describe(debugger, address):
    """Lines: what an address is."""
    unknown = 0
    for pool in pools(debugger):
        try:
            if isinstance(pool, Arena):
                word = pool.word_for(address)
                if word is not None:
                    return [f'{address:#x} is in arena "{pool.name}"@{pool.address:#x}', word]
                continue
            place = pool.place_of(address)
        except (Unknown, Corrupted):
            unknown += 1
            continue
        if place is None:
            continue
        lines = [f'{address:#x} is in pool "{pool.name}" <{pool.block_size} bytes>@{pool.address:#x}']
        if place.offset < 0 or place.offset >= pool.block_size:
            lines.append(f"between two blocks, near block #{place.slot} at {place.block:#x} of the chunk at "
                         f"{place.chunk.first:#x}")
        else:
            lines.append(f"block #{place.slot} at {place.block:#x} of the chunk at {place.chunk.first:#x}"
                         + (f", {place.offset} bytes into it" if place.offset else ""))
        try:
            lines.append(pool.state_of(place))
        except Unknown as error:
            lines.append(f"unknown whether it is in use: {error}")
        except Corrupted as error:
            lines.append(f"the pool is corrupted: {error}")
        history = pool.history(place)
        return lines + ([history] if history else [])
    lines = [f"{address:#x} is in no block of a pool that has a name"]
    if unknown:
        lines.append(f"{unknown} pools couldn't be looked at")
    return lines


def map_text(debugger, names, label):
    """A line of JSON: the pools of these names, or all, with the state of each block. docs/how-to/map.md has the format."""
    found = []
    for pool in pools(debugger):
        if isinstance(pool, Arena) or (names and pool.name not in names):
            continue
        chunks = [{"first": f"{chunk.first + pool.offset:#x}", "states": "".join(f"{letter}{n}" for letter, n in runs)}
                  for chunk, runs in pool.map()]
        found.append({"name": pool.name, "address": f"{pool.address:#x}", "block_size": pool.block_size, "stride": pool.stride,
                      "run": pool.run, "policies": pool.policies(), "chunks": chunks})
    if not found:
        raise Unknown(f"no pool is called {' or '.join(names)}" if names else "no pool has a name")
    return json.dumps({"version": 1, "label": label, "pools": found}, separators=(",", ":"))


def write_map(debugger, words):
    """FILE [NAME]...: adds such a line to the file. Returns what was done, in words."""
    if not words:
        raise Unknown("which file?")
    before = 0
    if os.path.exists(words[0]):
        try:
            with open(words[0], "rb") as file:
                before = sum(1 for _ in file)
        except OSError as error:
            raise Unknown(f"{words[0]}: {error.strerror}") from error
    text = map_text(debugger, words[1:], str(before + 1))
    try:
        with open(words[0], "a", encoding="utf-8") as file:
            file.write(text + "\n")
    except OSError as error:
        raise Unknown(f"{words[0]}: {error.strerror}") from error
    number_of_pools = text.count('"address"')
    return [f"{words[0]}: map {before + 1}, of {number_of_pools} pools"]


def words_of(data, pointer_bytes, order):
    """Numbers as large as a pointer."""
    return list(struct.unpack(f"{order}{len(data) // pointer_bytes}{'Q' if pointer_bytes == 8 else 'I'}", data))
