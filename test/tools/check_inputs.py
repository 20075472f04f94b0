#!/usr/bin/env python3
"""tarn's tools on input that isn't what it should be, generated and by hand: each ends with one line that a terminal may be
given, within the time and the memory that it has. What they read when all is well, other tests check."""

import collections
import contextlib
import importlib.machinery
import importlib.util
import io
import itertools
import json
import os
import random
import socket
import struct
import subprocess
import sys
import tempfile
import threading

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
sys.path[:0] = [os.path.join(ROOT, "test/support"), os.path.join(ROOT, "tools"), os.path.join(ROOT, "tools/debugger")]
sys.dont_write_bytecode = True

import compilers
import tarn_pools
from tarn_map import command, maps, picture
from tarn_watch import asking, table

SECONDS = 120  # for what hangs
ROUNDS = 300   # of each generated input
POOL = {"name": "orders", "policies": "mutex_locking", "address": "0x7f00", "block_size": 64, "stride": 64, "in_use": 3,
        "peak": 5, "waiting": 0, "capacity": 100, "chunks": 1, "bytes_held": 6400, "growths": 1, "refused": 0, "is_exact": True}
MAP = {"version": 1, "label": "1", "pools": [
    {"name": "orders", "address": "0x7f00", "block_size": 64, "stride": 64, "run": 0, "policies": "mutex_locking",
     "chunks": [{"first": "0x7f40", "states": "u3f2n95"}]}]}
STRANGE = [None, True, -1, 1 << 64, 10 ** 400, 1.5, float("nan"), float("inf"), "", "\x1b]0;x\x07", "\ud800", "x" * 5000, [],
           {}, [1], {"a": 1}]


def trace_module():
    loader = importlib.machinery.SourceFileLoader("tarn_trace", os.path.join(ROOT, "tools/tarn-trace"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("tarn_trace", loader))
    loader.exec_module(module)
    return module


trace = trace_module()


def places(value):
    """Every (container, key) in a value of JSON."""
    found = []
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        found += [(value, key), *places(inner)]
    return found


def spoiled(random_, text):
    """JSON with something else somewhere, or text that is none."""
    kind = random_.randrange(4)
    if kind == 0:
        value = json.loads(text)
        container, key = random_.choice(places(value))
        container[key] = random_.choice(STRANGE)
        return json.dumps(value).encode()
    if kind == 1:
        value = json.loads(text)
        container, key = random_.choice(places(value))
        del container[key]
        return json.dumps(value).encode()
    return spoiled_bytes(random_, text.encode())


def spoiled_bytes(random_, data):
    data = bytearray(data)
    for _ in range(random_.randrange(1, 4)):
        kind = random_.randrange(3)
        at = random_.randrange(len(data) + 1)
        if kind == 0 and at < len(data):
            data[at] = random_.randrange(256)
        elif kind == 1:
            del data[at:]
            data += b" "
        else:
            data[at:at] = bytes(random_.randrange(256) for _ in range(random_.randrange(1, 30)))
    return bytes(data)


def is_line(text):
    return text.isprintable() and 0 < len(text) < 1000


def check_generated(results, name, kind, read, made):
    """read(input) returns, or throws `kind` with a line; nothing else."""
    random_ = random.Random(name)
    wrong, refused = [], 0
    for _ in range(ROUNDS):
        data = made(random_)
        try:
            read(data)
        except kind as error:
            refused += 1
            if not is_line(str(error)):
                wrong.append(f"{data[:200]!r}: {error!r}")
        except Exception as error:  # pylint: disable=broad-exception-caught
            wrong.append(f"{data[:200]!r}: {type(error).__name__}: {error}")
    results.check(f"{name}: {ROUNDS} generated inputs", not wrong and ROUNDS // 4 < refused, f"{refused} refused\n" +
                  "\n".join(wrong[:5]))


# ---- tarn-top and tarn-prometheus --------------------------------------------------------------------------------------------

@contextlib.contextmanager
def answering(answer):
    """A socket at which answer(connection) answers one client."""
    with tempfile.TemporaryDirectory() as folder, socket.socket(socket.AF_UNIX) as listening:
        path = os.path.join(folder, "s")
        listening.bind(path)
        listening.listen(4)

        def serve():
            with contextlib.suppress(OSError):
                connection, _ = listening.accept()
                connection.settimeout(SECONDS)
                with connection:
                    connection.recv(100)
                    answer(connection)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield path
        thread.join(SECONDS)


def top(path, *words, **how):
    return subprocess.run([sys.executable, "-B", os.path.join(ROOT, "tools/tarn-top"), "--once", *words, path],
                          timeout=SECONDS, check=False, **{"capture_output": True, **how})


def ends_in_a_line(done, word):
    text = done.stderr.decode(errors="replace")
    return done.returncode != 0 and text.count("\n") == 1 and is_line(text[:-1]) and word in text


def check_answers(results):
    def read(data):
        asking.ask = lambda *_: data
        found = asking.pools("path")
        lines = table.plain_lines(table.in_order(found, "full", False))
        assert len(lines) == len(found) + 1 and all(line.isprintable() for line in lines)

    real = asking.ask
    text = json.dumps({"version": 1, "pools": [POOL, {**POOL, "name": "b", "address": "0x8000"}]})
    check_generated(results, "tarn-top", asking.Unanswered, read, lambda random_: spoiled(random_, text))
    asking.ask = real
    for name, answer, word in [("a list", b"[1]", "it is no object"), ("null", b"null", "it is no object"),
                               ("no pools", b'{"version":1}', "'pools' is no list"),
                               ("numbers", b'{"version":1,"pools":[1]}', "pool 1 is no object"),
                               ("no numbers", b'{"version":1,"pools":[{"name":"x"}]}', "no number of 64 bits"),
                               ("a version", b'{"version":"\\u001b[31m","pools":[]}', "this tool reads version 1"),
                               ("deep nesting", b"[" * 200_000, "nested too deeply"), ("nothing", b"", "an empty answer"),
                               ("escapes", b"error: \x1b]0;title\x07\x1b[31m\nmore\n", "?]0;title??[31m"),
                               ("16 MiB", b" " * (asking.MOST_JSON + 1), "longer than 16 MiB")]:
        with answering(lambda connection, answer=answer: connection.sendall(answer)) as path:
            done = top(path)
        results.check("tarn-top: " + name, ends_in_a_line(done, word), f"{done.returncode} {done.stderr!r}")
    names = json.dumps({"version": 1, "pools": [{**POOL, "name": "\x1b[31m\ud800"}]}).encode()
    with answering(lambda connection: connection.sendall(names)) as path:
        done = top(path)
    results.check("tarn-top: a name that isn't text", done.returncode == 0 and done.stdout.endswith(b"  ?[31m?\n"), str(done))


def check_time(results):
    """--timeout is for the whole answer, whose bytes come one by one until the tool is gone."""
    def drip(connection):
        pause = threading.Event()
        while True:
            connection.sendall(b" ")
            pause.wait(0.02)

    with answering(drip) as path:
        done = top(path, "--timeout", "0.5")
    results.check("tarn-top: an answer that drips", ends_in_a_line(done, "no answer within 0.5 seconds"), str(done))


# ---- tarn-map and the debuggers' scripts -------------------------------------------------------------------------------------

def check_maps(results, folder):
    file = os.path.join(folder, "map.json")

    def read(data):
        with open(file, "wb") as out:
            out.write(data)
        found = maps.read(file)
        command.page(found)
        largest = max((pool for one in found for pool in one.pools), key=lambda pool: pool.blocks())
        assert "\x1b" not in picture.svg(largest, found[0].label)

    text = json.dumps(MAP)
    check_generated(results, "tarn-map", maps.Malformed, read, lambda random_: spoiled(random_, text))
    tool = [sys.executable, "-B", os.path.join(ROOT, "tools/tarn-map")]
    strange = {**MAP, "label": "\x1b[1m", "pools": [{**MAP["pools"][0], "name": "\x1b[31m\ud800"}]}
    for name, data, word in [("deep nesting", b"[" * 200_000, "nested too deeply"), ("bytes", b"\xff\xfe\x00", "is no map"),
                             ("many blocks", text.replace("u3", "u" + "9" * 5000).encode(), "letters with numbers"),
                             ("a version", b'{"version":"\\u001b[31m\\n"}', "version ?[31m")]:
        with open(file, "wb") as out:
            out.write(data)
        done = subprocess.run([*tool, file], capture_output=True, timeout=SECONDS, check=False)
        results.check("tarn-map: " + name, ends_in_a_line(done, word), str(done))
    with open(file, "w", encoding="utf-8") as out:
        json.dump(strange, out)
    done = subprocess.run([*tool, file, "--svg", file + ".svg", "--html", file + ".html"], capture_output=True, timeout=SECONDS,
                          check=False)
    plain = subprocess.run([*tool, file], capture_output=True, timeout=SECONDS, check=False)
    results.check("tarn-map: a name that isn't text", done.returncode == 0 and
                  plain.stdout.startswith(b"map ?[1m: ?[31m?: in use 3"), f"{done} {plain}")
    done = subprocess.run([*tool, "/dev/zero"], capture_output=True, timeout=SECONDS, check=False)
    results.check("tarn-map: a line without an end", ends_in_a_line(done, "longer than 64 MiB"), str(done))


class Damaged:
    """A value of a debugger's, in memory that holds whatever is asked for."""

    def __init__(self, numbers):
        self.numbers = numbers

    def need(self, name):
        return self.member(name) or Damaged({**self.numbers, "": self.numbers.get(name, 0)})

    def member(self, name):
        return None if name in ("value_", "word_") else Damaged({**self.numbers, "": self.numbers.get(name, 0)})

    def number(self):
        return self.numbers[""]

    def memory(self, address, size):
        return b"\x1b" * size


def check_debugger(results):
    wrong = []
    for numbers in [{"stride": 0, "block_size": 64}, {"stride": 64, "block_size": 64, "run": -1}]:
        try:
            tarn_pools.Pool(Damaged(numbers), Damaged(numbers))
            wrong.append(str(numbers))
        except tarn_pools.Corrupted:
            pass
    for blocks, carved in [(1 << 60, 1 << 59), (3, 4), (-1, -1)]:
        try:
            tarn_pools.Chunk(Damaged({"blocks": blocks, "carved": carved}))
            wrong.append(f"{blocks} {carved}")
        except tarn_pools.Corrupted:
            pass
    results.check("debuggers: impossible numbers are damage", not wrong, str(wrong))
    text = tarn_pools.text_at(Damaged({}), 64)
    results.check("debuggers: a text without an end", text == "?" * 256, text)


# ---- tarn-trace --------------------------------------------------------------------------------------------------------------

def dump(*rings):
    """A file; a ring is its events: (pool, address, kind, ticks)."""
    data = b"tarntrac" + struct.pack("<6I6Q", 0x01020304, 1, 80, 32, 32, 1, 0, 0, 1000, 1000, 0, 0)
    for ring, events in enumerate(rings, 1):
        events = [(0, ring, 0x80, 0), *events]
        data += struct.pack("<4Q", ring, 0, len(events), trace.PIECE)
        data += b"".join(struct.pack("<4Q", pool, address, 64 | kind << 56, ticks) for pool, address, kind, ticks in events)
    return data + struct.pack("<4Q", 0, len(rings), 0, trace.PIECE)


def as_defined(lists):
    """What merged() returns, the long way: its comment as a program. For events of different times."""
    lists = [collections.deque(one) for one in lists if one]
    found, in_use = [], {}

    def fits(event):
        key = event.pool, event.address
        return event.kind not in ("allocate", "free") or in_use.get(key, event.kind == "free") == (event.kind == "free")

    while lists:
        lists.sort(key=lambda one: one[0].time)
        one = next((one for one in lists if fits(one[0])), lists[0])
        event = one.popleft()
        if event.kind in ("allocate", "free"):
            in_use[event.pool, event.address] = event.kind == "allocate"
        elif event.kind == "release":
            in_use.update({key: False for key in in_use if key[0] == event.pool})
        found.append(event)
        lists = [one for one in lists if one]
    return found


def events_of(random_, threads, n):
    """Lists of events, of few blocks, so that many contradict each other; each time is another one."""
    times = random_.sample(range(4 * n), n)
    lists = [[] for _ in range(threads)]
    for time in times:
        kind = random_.choice(["allocate", "free"] * 6 + ["release", "grow"])
        thread = random_.randrange(threads)
        lists[thread].append(trace.Event(time, thread, kind, random_.randrange(2), random_.randrange(3), 64))
    return [sorted(one) for one in lists]


def lines_run(work):
    """How many lines of the tool work() executes."""
    lines = 0

    def count(frame, event, _):
        nonlocal lines
        if not frame.f_code.co_filename.endswith("tarn-trace"):
            return None
        lines += event == "line"
        return count

    sys.settrace(count)
    try:
        work()
    finally:
        sys.settrace(None)
    return lines


def check_merged(results):
    random_ = random.Random("merged")
    wrong = []
    for _ in range(ROUNDS):
        lists = events_of(random_, random_.randrange(1, 6), random_.randrange(1, 40))
        if trace.merged(lists) != as_defined(lists):
            wrong.append(str(lists))
    results.check("tarn-trace: what is in use decides the order", not wrong, "\n".join(wrong[:2]))

    event = lambda time, kind, address: trace.Event(time, 1, kind, 16, address, 64)
    loads = {
        "releases": lambda n: [[event(i, "allocate", i) for i in range(n)] + [event(n + i, "release", 0) for i in range(n)]],
        "threads that wait": lambda n: [[event(i, "allocate", 1)] for i in range(n)] +
                                       [[event(n + i, "allocate", 2) for i in range(n)]],
        "threads that releases wake": lambda n: [[event(i, "allocate", i % 4)] for i in range(n)] +
                                                [[event(n + i, "release", 0) for i in range(n)]],
    }
    for name, load in loads.items():
        once, twice = (lines_run(lambda n=n, load=load: trace.merged(load(n))) for n in (300, 600))
        results.check(f"tarn-trace: {name}: twice as many take twice the steps", twice < 2.3 * once, f"{once} {twice}")


def check_traces(results, folder):
    check_merged(results)
    data = dump([(16, 64, 1, 10), (16, 64, 2, 20)], [(16, 128, 1, 15), (16, 0, 6, 30)])
    check_generated(results, "tarn-trace", trace.Malformed, lambda data: trace.summary(trace.Dump(data)),
                    lambda random_: spoiled_bytes(random_, data))
    file, names = os.path.join(folder, "trace.bin"), os.path.join(folder, "pools.json")
    with open(file, "wb") as out:
        out.write(data)
    tool = [sys.executable, "-B", os.path.join(ROOT, "tools/tarn-trace")]
    call = lambda *words: subprocess.run([*tool, *words], capture_output=True, timeout=SECONDS, check=False)
    with open(names, "w", encoding="utf-8") as out:
        json.dump({"version": 1, "pools": [{**POOL, "address": "0x10", "name": "orders\x1b"}]}, out)
    results.check("tarn-trace --names: the summary", b"orders?" in call("--names", names, file).stdout)
    each = call("--names", names, "--format=text", file).stdout
    results.check("tarn-trace --names: each event", each.count(b"pool 0x10 orders?  ") == 4, str(each))
    for name, words, word in [("no names", ["--names", file, file], "no list of pools"), ("no end", ["/dev/zero"], "no trace"),
                              ("no file", [folder], "Is a directory")]:
        done = call(*words)
        results.check("tarn-trace: " + name, ends_in_a_line(done, word), str(done))


# ---- output that can't be written --------------------------------------------------------------------------------------------

def check_outputs(results, folder):
    file = os.path.join(folder, "trace.bin")
    with open(os.path.join(folder, "map.json"), "w", encoding="utf-8") as out:
        json.dump(MAP, out)
    tool = lambda name, *words: [sys.executable, "-B", os.path.join(ROOT, "tools", name), *words]
    answer = json.dumps({"version": 1, "pools": [POOL]}).encode()
    programs = [tool("tarn-trace", f"--format={how}", file) for how in ("summary", "text", "csv", "json")]
    programs += [tool("tarn-map", os.path.join(folder, "map.json")), tool("tarn-top", "--once")]
    for program, unbuffered in itertools.product(programs, ("", "1")):
        name = " ".join(os.path.basename(word) for word in program[2:4]) + (", each word at once" if unbuffered else "")
        said = []
        for where in ("a closed pipe", "a full disk"):
            is_asking = "--once" in program
            with answering(lambda one: one.sendall(answer)) if is_asking else contextlib.nullcontext() as path:
                if where == "a closed pipe":
                    read, out = os.pipe()
                    os.close(read)
                else:
                    out = os.open("/dev/full", os.O_WRONLY)
                said.append(subprocess.run([*program, *([path] if path else [])], stdout=out, stderr=subprocess.PIPE,
                                           timeout=SECONDS, check=False, env={**os.environ, "PYTHONUNBUFFERED": unbuffered}))
                os.close(out)
        results.check(f"{name}: a closed pipe, a full disk", said[0].returncode != 0 and said[0].stderr == b"" and
                      ends_in_a_line(said[1], "No space left on device"), str(said))


def main():
    results = compilers.Results()
    check_answers(results)
    check_time(results)
    with tempfile.TemporaryDirectory() as folder:
        check_maps(results, folder)
        check_debugger(results)
        check_traces(results, folder)
        check_outputs(results, folder)
    return results.report()


if __name__ == "__main__":
    sys.exit(main())
