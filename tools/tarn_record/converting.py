"""What other tools recorded, as the lines that convert.cc makes a log of."""

import collections
import contextlib
import gzip
import importlib.machinery
import importlib.util
import os
import re
import shutil
import subprocess
import zlib

TRACE = os.path.join(os.path.dirname(os.path.abspath(os.path.realpath(__file__))), "..", "tarn-trace")


class Malformed(Exception):
    """What is wrong with the file; the lines before it are right."""


def lines_of(path):
    """The lines of a log for what is in the file: tarn's trace, heaptrack's file (raw or interpreted), or such lines."""
    with unpacked(path) as file:
        first = file.peek(64)[:64]
        if first.startswith(b"tarntrac"):
            yield from lines_of_trace(path)
        elif re.match(rb"v [0-9a-f]+ [0-9a-f]+\s", first):
            yield from Heaptrack().lines(file)
        else:
            yield from (line.decode(errors="replace") for line in file)


def unpacked(path):
    file = open(path, "rb")  # once, since it may be a pipe
    first = file.peek(4)[:4]
    if first[:2] == b"\x1f\x8b":
        return Unpacked(gzip.open(file))
    if first != b"\x28\xb5\x2f\xfd":
        return file
    file.close()
    if not shutil.which("zstd"):
        raise Malformed("it is compressed, and there is no zstd here to unpack it")
    program = subprocess.Popen(["zstd", "-dcq", path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return Unpacked(program.stdout, program)


class Unpacked:
    """A stream of lines whose end may be missing, since its program was killed."""

    def __init__(self, stream, program=None):
        self.stream, self.program = stream, program

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stream.close()
        if self.program:
            self.program.wait()

    def peek(self, count):
        with told():
            return self.stream.peek(count)

    def __iter__(self):
        with told():
            yield from self.stream
            if self.program and self.program.wait():
                raise EOFError("zstd says that it is cut or damaged")


@contextlib.contextmanager
def told():
    try:
        yield
    except (EOFError, OSError, zlib.error) as error:
        raise Malformed(f"it can't be unpacked to its end: {error}") from None


class Heaptrack:
    """Its times are of 10 ms, so that calls in between follow each other by a nanosecond; it has no threads. An interpreted
    file has no addresses: each site has its own, and the newest block of a site is freed first."""

    def __init__(self):
        self.now = 0
        self.has_length = False  # of strings
        self.program = "x"
        self.stacks = [(0, 0)]  # by number: the address to which the innermost call returns, and its caller's stack
        self.pointers, self.sites = [0], []
        self.live, self.given, self.unused = collections.defaultdict(list), 0x10000, collections.defaultdict(list)

    def lines(self, file):
        for number, line in enumerate(file, 1):
            try:
                words = line.decode(errors="replace").split()
                if words and len(words[0]) == 1:
                    yield from self.line(words, line)
            except (ValueError, IndexError):
                raise Malformed(f"line {number} is no line of heaptrack: {line[:100]!r}") from None

    def line(self, words, line):
        kind = words[0]
        if kind == "v":
            self.has_length = len(words) > 2 and int(words[2], 16) >= 3
        elif kind == "x":
            self.program = self.text(line)
        elif kind == "X":
            yield "command " + line.decode(errors="replace")[2:].strip()
        elif kind == "c":
            self.now = max(self.now, int(words[1], 16) * 1000000)
        elif kind == "m":
            yield from self.modules(line[2:])
        elif kind == "i":
            self.pointers.append(int(words[1], 16))
        elif kind == "a":
            self.sites.append((int(words[1], 16), int(words[2], 16)))
        elif kind == "t":
            first = int(words[1], 16)
            # It says where the call is, and a log where it returns to.
            self.stacks.append(((self.pointers[first] if len(self.pointers) > 1 else first) + 1, int(words[2], 16)))
        elif kind in "+-":
            yield self.call(kind, [int(word, 16) for word in words[1:]])

    def text(self, line):
        return line.decode(errors="replace").rstrip("\n").split(" ", 2 if self.has_length else 1)[-1]

    def stack(self, number):
        """Innermost first. Callers have lower numbers."""
        found = []
        while number > 0:
            address, outer = self.stacks[number]
            if outer >= number:
                raise ValueError
            found.append(hex(address))
            number = outer
        return found

    def modules(self, rest):
        """A name, where it was loaded, and its parts: where each is behind that, and its bytes."""
        length, _, behind = rest.partition(b" ") if self.has_length else (b"%x" % len(rest.split()[0]), b"", rest)
        name, numbers = behind[:int(length, 16)].decode(errors="replace"), behind[int(length, 16):].split()
        if name == "-":
            return
        path = self.program if name == "x" else name
        begin, parts = int(numbers[0], 16), [int(word, 16) for word in numbers[1:]]
        for at, size in zip(parts[::2], parts[1::2]):
            page = at & ~4095
            yield f"mapping {begin + page:#x} {begin + at + size:#x} {page:#x} {path}"

    def call(self, kind, numbers):
        self.now += 1
        if self.sites:
            address, size, stack = self.of_site(kind, numbers[0])
        elif kind == "-":
            address, size, stack = numbers[0], 0, 0
        else:
            size, stack, address = numbers
        if kind == "-":
            return f"{self.now} 1 free - - {address:#x} -"
        behind = " 1 " + " ".join(self.stack(stack)) if stack else ""
        return f"{self.now} 1 malloc {size} - {address:#x} -{behind}"

    def of_site(self, kind, site):
        size, stack = self.sites[site]
        if kind == "-":
            address = self.live[site].pop()
            self.unused[site].append(address)
        else:
            if not self.unused[site]:
                self.unused[site].append(self.given)
                self.given += (max(size, 16) + 15) // 16 * 16
            address = self.unused[site].pop()
            self.live[site].append(address)
        return address, size, stack


def lines_of_trace(path):
    """Of tarn-trace's events: a release frees what its pool has in use, and chunks aren't blocks."""
    loader = importlib.machinery.SourceFileLoader("tarn_trace", TRACE)
    trace = importlib.util.module_from_spec(importlib.util.spec_from_loader("tarn_trace", loader))
    loader.exec_module(trace)
    try:
        events = trace.Dump(trace.read(path)).events
    except trace.Malformed as error:
        raise Malformed(str(error)) from None
    in_use = collections.defaultdict(dict)
    threads = {}
    for event in events:
        begin = f"{max(event.time, 0)} {threads.setdefault(event.thread, len(threads) + 1)}"
        if event.kind == "allocate":
            in_use[event.pool][event.address] = None
            yield f"{begin} malloc {event.bytes} - {event.address:#x} -"
        elif event.kind == "free":
            in_use[event.pool].pop(event.address, None)
            yield f"{begin} free - - {event.address:#x} -"
        elif event.kind == "release":
            for address in in_use.pop(event.pool, {}):
                yield f"{begin} free - - {address:#x} -"
