#!/usr/bin/env python3
"""tools/tarn-record: a program whose calls are known gives exactly these records, from all threads, processes and libraries,
also where it is killed or the log is full; of a log that is cut or damaged all is read that can be. Each check of the recorder
is seen to fail on one with a mistake, and the reader gets logs that are made here."""

import collections
import ctypes
import gzip
import os
import random
import re
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import time

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../..")
sys.path[:0] = [os.path.join(ROOT, "test/support")]

import compilers

TOOL = os.path.join(ROOT, "tools/tarn-record")
SOURCES = os.path.join(ROOT, "tools/tarn_record")
RECORDER = "blocks.h", "frames.h", "mappings.h", "recorder.cc", "stacks.h", "unwinding.h"
SECONDS = 120  # for what hangs
HEADER, BLOCK = 4096, 128 * 1024

# A library in C++ that a program in C loads late; operator new's exception goes through the recorder.
PLUGIN = r"""
#include <new>
extern "C" int plug(unsigned long large) {
  char* volatile block = new char[5151];
  delete[] block;
  try {
    block = new char[large];
  } catch (const std::bad_alloc&) {
    return 7;
  }
  return 0;
}
"""
HOST = r"""
#include <dlfcn.h>
int main(int argc, char** argv) {
  if (argc < 2) return 0;
  int (*plug)(unsigned long) = (int (*)(unsigned long))dlsym(dlopen(argv[1], RTLD_NOW | RTLD_LOCAL), "plug");
  return plug(~0ul / 4);
}
"""

# A malloc behind the recorder. Of one block it has one only: malloc() waits for it, and free() until the other thread has it.
# 424244 is handed out when somebody waits, 424243 says that nobody does any longer.
BEHIND = r"""
#include <atomic>
#include <sched.h>
#include <stddef.h>
extern "C" void* __libc_malloc(size_t);
extern "C" void __libc_free(void*);
alignas(16) char only[424256];
std::atomic<bool> in_use, waits, handed_over;
extern "C" void* malloc(size_t bytes) noexcept {
  if (bytes == 424243) handed_over = true;
  while (bytes == 424244 && !waits) sched_yield();
  if (bytes != 424242) return __libc_malloc(bytes);
  for (; in_use.exchange(true); sched_yield()) waits = true;
  return only;
}
extern "C" void free(void* block) noexcept {
  if (block != only) return __libc_free(block);
  in_use = false;
  while (!handed_over) sched_yield();
}
"""

# A malloc within a program. Blocks that operator new gets elsewhere it says.
OWN_MALLOC = r"""
#include <stddef.h>
#include <string.h>
#include <unistd.h>
alignas(16) char heap[1 << 22];
size_t used;
extern "C" void* malloc(size_t bytes) noexcept { return heap + (used += (bytes + 31) / 16 * 16) - (bytes + 15) / 16 * 16; }
extern "C" void* calloc(size_t count, size_t bytes) noexcept { return malloc(count * bytes); }
extern "C" void* realloc(void* old, size_t bytes) noexcept {
  void* block = malloc(bytes);
  return old == nullptr ? block : memmove(block, old, bytes);
}
extern "C" void free(void* block) noexcept {
  if (block != nullptr && (block < heap || block >= heap + sizeof(heap))) write(1, "another heap's\n", 15);
}
int main() {
  for (int i = 0; i < 100; ++i) {
    char* volatile block = new char[100];
    free(block);
  }
}
"""

Call = collections.namedtuple("Call", "time thread name size alignment address old")


class Recorder:
    """A recorder, and what is needed to look at its logs."""

    def __init__(self, built, programs, printer, seconds=SECONDS):
        self.built, self.programs, self.printer, self.seconds = built, programs, printer, seconds

    def run(self, folder, *words, options=(), status=0, behind=""):
        """The paths of the logs, the first process's first; what the program said; what tarn-record said."""
        log = os.path.join(folder, "log")
        with subprocess.Popen([sys.executable, "-B", TOOL, "--built", self.built, "-o", log, *options, "--", *words],
                              env={**os.environ, "LD_PRELOAD": behind}, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, start_new_session=True) as done:
            try:
                said, told = done.communicate(timeout=self.seconds)
            except subprocess.TimeoutExpired:
                os.killpg(done.pid, signal.SIGKILL)  # a program of a broken recorder and its children may hang
                raise
        if done.returncode != status:
            raise Wrong(f"{words}: exit status {done.returncode}\n{told}")
        others = sorted(one for one in os.listdir(folder) if one.startswith("log."))
        return [log, *(os.path.join(folder, one) for one in others)], said, told

    def printed(self, what, log, status, said):
        done = subprocess.run([self.printer, what, log], capture_output=True, text=True, timeout=SECONDS, errors="replace",
                              check=False)
        if done.returncode != status or not re.search(said, done.stderr):
            raise Wrong(f"exit status {done.returncode}, not {status}; said {done.stderr[:2000]!r}, not {said!r}")
        return done.stdout.splitlines()

    def calls(self, log, status=0, said=""):
        return [call_of(line.split()) for line in self.printed("--calls", log, status, said)]

    def stacks(self, log, said=""):
        """The calls with their stacks, each (name, size, how many it stands for, addresses); the mappings."""
        calls, mappings = [], []
        for line in self.printed("--stacks", log, 0, said):
            row = line.split(maxsplit=4)
            if row[0] == "mapping":
                mappings.append((int(row[1], 0), int(row[2], 0), row[4] if len(row) > 4 else ""))
            elif len(row := line.split()) > 7:
                calls.append((row[2], int(row[3]), int(row[7]), [int(one, 0) for one in row[8:]]))
        return calls, mappings


def call_of(row):
    def number(word):
        return None if word == "-" else int(word, 0)
    return Call(int(row[0]), int(row[1]), row[2], *map(number, row[3:7]))


class Wrong(Exception):
    """What a check found."""


def read(path):
    with open(path, "rb") as file:
        return file.read()


def expect(is_right, why):
    if not is_right:
        raise Wrong(why)


def marked(calls):
    """Those between the two marks."""
    sizes = [call.size for call in calls]
    expect(sizes.count(77777) == sizes.count(77778) == 1, "the marks aren't there")
    return calls[sizes.index(77777) + 2:sizes.index(77778)]


def follow(calls):
    """Blocks are handed out when they are free, and freed when they aren't, in the order of the log. Returns what is in use."""
    live = {}
    for at, call in enumerate(calls):
        old = call.old or (call.address if call.name.startswith(("free", "delete")) else None)
        if old is not None:
            expect(live.pop(old, None) is not None, f"call {at} frees what isn't in use: {call}")
        if call.address is not None and old != call.address or call.old:
            expect(call.address not in live, f"call {at} gets what is in use: {call}")
            live[call.address] = call
    return live


# ---- checks of the recorder: each raises Wrong ---------------------------------------------------------------------------

def check_calls(recorder, folder):
    logs, said, told = recorder.run(folder, recorder.programs["recorded"], "calls")
    lines = [" ".join(["-" if one is None else hex(one) if at > 4 else str(one) for at, one in enumerate(call[2:], 2)])
             for call in marked(recorder.calls(logs[0]))]
    wanted = [re.sub(r"0x0*", "0x", line) for line in said.splitlines()]
    wrong = [f"{one!r} instead of {other!r}" for one, other in zip(lines, wanted) if one != other]
    expect(len(wanted) > 25 and lines == wanted, "\n".join(wrong) + f"\n{len(lines)} of {len(wanted)}")
    expect(len(logs) == 1 and re.search(r"^  posix_memalign +1$", told, re.MULTILINE), told)


def check_threads(recorder, folder):
    count, rounds = 4, 4800
    logs, _, _ = recorder.run(folder, recorder.programs["recorded"], "threads", str(count), str(rounds))
    calls = recorder.calls(logs[0])
    expect([call.time for call in calls] == sorted(call.time for call in calls), "times go back")
    own = collections.Counter((call.thread, call.size) for call in marked(calls)
                              if call.name == "malloc" and call.size >= 1000)
    expect(sorted(thread for thread, _ in own) == list(range(2, 2 + count)) and len({size for _, size in own}) == count and
           set(own.values()) == {rounds}, f"of {rounds} calls of each thread: {own}")
    expect(sum(call.name == "realloc" and call.size == 3000 for call in calls) == count * rounds // 16, "calls of realloc")
    expect(not [call for call in follow(calls).values() if 1000 <= call.size < 1000 + count], "freed blocks are in use")


def check_order(recorder, folder):
    """Who gets a freed block is later than who freed it, however long the calls take."""
    logs, _, _ = recorder.run(folder, recorder.programs["recorded"], "hands-over", behind=recorder.programs["behind.so"])
    calls = recorder.calls(logs[0])
    given = [call for call in calls if call.size == 424242]
    expect(len(given) == 2 and given[0].address == given[1].address, f"{given}")
    follow(calls)


def check_turns(recorder, folder):
    """Threads that end leave their blocks of the log to others, and each has a number."""
    logs, _, _ = recorder.run(folder, recorder.programs["recorded"], "turns", "300")
    calls = [call for call in recorder.calls(logs[0]) if call.name == "malloc"]
    found = [call.thread for call in calls if 5000 <= call.size < 5300]
    expect(found == list(range(2, 302)), f"threads {found}")
    expect(os.path.getsize(logs[0]) <= HEADER + 3 * BLOCK, f"{os.path.getsize(logs[0])} bytes")


def check_forks(recorder, folder):
    logs, said, _ = recorder.run(folder, recorder.programs["recorded"], "forks")
    expect(said == "0\n", f"{said.strip()} children found something wrong")
    parent = recorder.calls(logs[0])
    before = [call.address for call in parent if call.size == 4321]
    expect(len(before) == 20 and len(logs) == 21, f"{len(before)} blocks, {len(logs)} logs")
    expect(not [call for call in parent if call.size == 1234], "calls of children are in the parent's log")
    sizes = []
    for log in logs[1:]:
        calls = recorder.calls(log)
        own = [at for at, call in enumerate(calls) if call.size == 1234]
        expect(len(own) == 1, f"{len(own)} calls of a child in its log")
        _, first, second = calls[own[0]:own[0] + 3]
        expect(first.address in before and second.address == calls[own[0]].address, "what a child freed")
        sizes.append(struct.unpack_from("<I", read(log), 32)[0])
    expect(sizes == [1] * 20, f"the children's headers say {sizes}")


def check_kill(recorder, folder):
    """Nothing is lost that was done."""
    count = os.path.join(folder, "count")
    for number in range(3):
        with open(count, "wb") as file:
            file.write(bytes(8))
        log = os.path.join(folder, "log")
        own = {"LD_PRELOAD": os.path.join(recorder.built, "libtarn_record.so"), "TARN_RECORD_LOG": log}
        with subprocess.Popen([recorder.programs["recorded"], "endless", count], env={**os.environ, **own}) as program:
            reached = 0
            while reached < 30000 + 7777 * number and program.poll() is None:
                reached = struct.unpack("<Q", read(count))[0]
            program.send_signal(signal.SIGKILL)
        reached = struct.unpack("<Q", read(count))[0]
        calls = recorder.calls(log, said="no end")
        given = sum(call.name == "malloc" and call.size == 640 for call in calls)
        expect(reached <= given <= reached + 1, f"{given} calls are in the log, {reached} were done")
        live = [call for call in follow(calls).values() if call.size == 640]
        expect(len(live) <= 1, f"{len(live)} blocks in use")
        os.unlink(log)


def check_crash(recorder, folder):
    logs, _, told = recorder.run(folder, recorder.programs["recorded"], "crash", "30000", status=128 + signal.SIGSEGV)
    expect(sum(call.name == "malloc" for call in recorder.calls(logs[0], said="no end")) >= 30000, "calls are missing")
    expect("no end" in told, told)


def check_stacks(recorder, folder):
    """Each block's stack is the one that the program says; with --no-stacks there is none."""
    logs, said, _ = recorder.run(folder, recorder.programs["recorded"], "stacks")
    found = {size: stack for name, size, _, stack in recorder.stacks(logs[0])[0] if name == "malloc" and 9000 <= size < 9162}
    rows = [[int(word, 0) for word in line.split()] for line in said.splitlines()]
    expect(len(rows) == 162 and len({tuple(row[1:]) for row in rows}) == 81, f"{len(rows)} stacks")
    for size, *callers in rows:
        stack = found.get(size, [])
        expect(stack[1:1 + len(callers)] == callers, f"{size}: {list(map(hex, stack))} hasn't {list(map(hex, callers))}")
        expect(len(stack) > len(callers) + 3, f"{size}: nothing above main")
    logs, _, _ = recorder.run(folder, recorder.programs["recorded"], "stacks", options=("--no-stacks",))
    expect(recorder.stacks(logs[0]) == ([], []), "stacks that weren't wanted")


def check_sampled(recorder, folder):
    """Where stacks are dear only some are looked at, and what they stand for is all. With --every-stack, all."""
    count = 60000
    for option in "--every-stack", None:
        words = [recorder.programs["recorded"], "many-stacks", str(count)]
        logs, _, _ = recorder.run(folder, *words, options=[option] if option else [])
        stands_for = [many for _, size, many, _ in recorder.stacks(logs[0])[0] if size == 9000]
        expect(len(stands_for) == count if option else len(stands_for) < count * .9, f"{len(stands_for)} stacks")
        expect(.7 * count < sum(stands_for) < 1.3 * count, f"{len(stands_for)} stacks that stand for {sum(stands_for)} calls")


def check_kills(recorder, folder):
    """Killed at any moment, a log is whole, and has the stack of each call."""
    dice = random.Random(1)
    log = os.path.join(folder, "log")
    own = {"LD_PRELOAD": os.path.join(recorder.built, "libtarn_record.so"), "TARN_RECORD_LOG": log, "TARN_RECORD_STACKS": "1",
           "TARN_RECORD_MAX": "700000"}
    for number in range(20):
        with subprocess.Popen([recorder.programs["recorded"], "endless-stacks"], env={**os.environ, **own}) as program:
            while not os.path.exists(log) and program.poll() is None:
                pass
            time.sleep(dice.random() * .002)
            program.kill()
        if not read(log).startswith(b"tarnrec\n"):
            expect(number != 19, "no log has anything")  # before its first call
            os.unlink(log)
            continue
        rows = [line.split() for line in recorder.printed("--stacks", log, 0, "no end|full")]
        calls = [row for row in rows if row[0] != "mapping"]
        follow([call_of(row) for row in calls])
        stacks = [row[8:] for row in calls if len(row) > 7]
        expect(all(stacks), "a call's stack isn't in the log")
        expect(not stacks or len(calls) < len(rows), "no mappings")
        os.unlink(log)


def check_max(recorder, folder):
    logs, _, told = recorder.run(folder, recorder.programs["recorded"], "loop", "60000", options=("--max", "300K"))
    calls = recorder.calls(logs[0], said="full: 307200 bytes")
    expect(os.path.getsize(logs[0]) <= 307200, f"{os.path.getsize(logs[0])} bytes")
    expect(len(calls) > 20000 and "full" in told, f"{len(calls)} calls; {told}")
    follow(calls)


def check_libraries(recorder, folder):
    logs, _, _ = recorder.run(folder, recorder.programs["host"], recorder.programs["plugin.so"], status=7)
    calls = [call for call in recorder.calls(logs[0]) if call.name in ("new[]", "delete[]")]
    expect([call.size for call in calls] == [5151, None, (1 << 62) - 1] and calls[0].address == calls[1].address, str(calls))
    calls, mappings = recorder.stacks(logs[0])
    stack = next(stack for _, size, _, stack in calls if size == 5151)
    paths = [[path for begin, end, path in mappings if begin <= address < end] for address in stack[:2]]
    expect(paths == [[recorder.programs["plugin.so"]], [recorder.programs["host"]]], f"{paths}")


def check_programs(recorder, folder):
    """Each program that a shell starts has a log of its own."""
    program = recorder.programs["recorded"]
    logs, _, told = recorder.run(folder, "sh", "-c", f"{program} loop 10; exec {program} loop 20")
    found = [sum(call.name == "malloc" and 1 <= call.size <= 20 for call in recorder.calls(log, said="no end|^$"))
             for log in logs]
    expect(len(logs) == 3 and sorted(found)[1:] >= [10, 20] and "and 2 of other processes" in told, f"{found}\n{told}")


def compress(recorder, log):
    """Whether it could; where libzstd isn't there, it can't, and says so."""
    done = subprocess.run([sys.executable, "-B", TOOL, "--built", recorder.built, "--compress", log], capture_output=True,
                          text=True, check=False)
    try:
        ctypes.CDLL("libzstd.so.1")
    except OSError:
        expect(done.returncode == 2 and "libzstd.so.1: it isn't here" in done.stderr, done.stderr)
        return False
    expect(done.returncode == 0 and "bytes before" in done.stdout, done.stderr)
    return True


def check_compressed(recorder, folder):
    """What is in a log stays in it: of one that ended, one that was killed, and one that is compressed."""
    for words, status in (("threads", "4", "5000"), 0), (("crash", "3"), 128 + signal.SIGSEGV):
        logs, _, _ = recorder.run(folder, recorder.programs["recorded"], *words, status=status)
        said = "no end" if status else "^$"
        before = os.path.getsize(logs[0]), recorder.calls(logs[0], said=said), recorder.stacks(logs[0], said=said)
        for times in range(2):
            if not compress(recorder, logs[0]):
                return
            after = os.path.getsize(logs[0]), recorder.calls(logs[0], said=said), recorder.stacks(logs[0], said=said)
            expect(after[1:] == before[1:], f"{words}: other calls or stacks, compressed {times + 1} times")
            expect(after[0] < before[0] / 2, f"{words}: {before[0]} bytes before, {after[0]} now")


def convert(recorder, folder, data, status=0, said="^$"):
    """What --stacks prints of the log that is made of it."""
    source, log = os.path.join(folder, "source"), os.path.join(folder, "converted")
    with open(source, "wb") as file:
        file.write(data)
    done = subprocess.run([sys.executable, "-B", TOOL, "--built", recorder.built, "--convert", source, "-o", log],
                          capture_output=True, text=True, check=False)
    expect(done.returncode == status and re.search(said, done.stderr), f"exit status {done.returncode}: {done.stderr!r}")
    done = subprocess.run([recorder.printer, "--stacks", log], capture_output=True, text=True, check=False)
    expect(done.returncode == 0 and done.stderr == "", done.stderr)
    return done.stdout


HEAPTRACK_RAW = b"""v 10400 3
x 9 /bin/prog
X prog -x
m 1 -
m 1 x 5000 0 a38 1000 861
m 9 /lib/x so 7000 0 b70
t 5123 0
t 7456 1
+ 40 2 a000
c a
t 7456 0
+ 18 3 b000
- a000
"""
HEAPTRACK_MADE = b"""v 10400 3
X prog -x
s 9 /bin/prog
i 5123 1
t 1 0
i 7456 1
t 2 1
a 40 2
+ 0
+ 0
c a
- 0
a 18 1
+ 1
+ 0
"""
MAPPED = "mapping 0x5000 0x5a38 0 /bin/prog\nmapping 0x6000 0x6861 0x1000 /bin/prog\nmapping 0x7000 0x7b70 0 /lib/x so\n"


def trace_of(*events):
    """A dump of trace_ring: (ticks, kind, pool, address, bytes), of one thread."""
    rows = [(77, 0, 0x80 << 56, 0)] + [(pool, address, kind << 56 | size, ticks) for ticks, kind, pool, address, size in events]
    return (b"tarntrac" + struct.pack("<6I5Q", 0x01020304, 1, 80, 32, 32, 1, 1000, 0, 2000, 1000, 0).ljust(72, b"\0") +
            struct.pack("<4Q", 0, 0, len(rows), 0x6563656970) + b"".join(struct.pack("<4Q", *row) for row in rows) +
            struct.pack("<4Q", 0, 1, 0, 0x6563656970))


def check_converted(recorder, folder):
    """What a log prints makes the same log; what heaptrack and trace_ring wrote; of what is cut, what is there."""
    logs, _, _ = recorder.run(folder, recorder.programs["recorded"], "many-stacks", "6000")
    with open(os.path.join(folder, "lines"), "w", encoding="utf-8") as file:
        subprocess.run([recorder.printer, "--stacks", logs[0]], stdout=file, check=True)
    lines = read(file.name)
    expect(convert(recorder, folder, lines).encode() == lines, "another log is made of what a log prints")
    first = b"# a comment\n7 2 new 24 64 0x40 -\n9 1 realloc 5 - 0x80 0x40\n"
    for wrong in (b"10 1 alloc 5 - 0x80 -\n", b"10 1 malloc five - 0x80 -\n", b"10 1 malloc 5 - 0x80\n",
                  b"10 1 malloc 5 3 0x80 -\n"):
        found = convert(recorder, folder, first + wrong, 1, "line 4 is wrong, and the log ends before it")
        expect(found == "7 2 new 24 64 0x40 -\n9 1 realloc 5 - 0x80 0x40\n", found)
    raw = ("1 1 malloc 64 - 0xa000 - 1 0x7457 0x5124\n10000001 1 malloc 24 - 0xb000 - 1 0x7457\n10000002 1 free - - 0xa000 -\n")
    made = ("1 1 malloc 64 - 0x10000 - 1 0x7457 0x5124\n2 1 malloc 64 - 0x10040 - 1 0x7457 0x5124\n"
            "10000001 1 free - - 0x10040 -\n10000002 1 malloc 24 - 0x10080 - 1 0x5124\n"
            "10000003 1 malloc 64 - 0x10040 - 1 0x7457 0x5124\n")
    expect(convert(recorder, folder, HEAPTRACK_RAW) == MAPPED + raw, convert(recorder, folder, HEAPTRACK_RAW))
    expect(convert(recorder, folder, HEAPTRACK_MADE) == made, convert(recorder, folder, HEAPTRACK_MADE))
    packed = gzip.compress(HEAPTRACK_RAW)
    expect(convert(recorder, folder, packed) == MAPPED + raw, "compressed by gzip")
    found = convert(recorder, folder, packed[:-9], 1, "can't be unpacked to its end")
    expect((MAPPED + raw).startswith(found), found)
    found = convert(recorder, folder, HEAPTRACK_RAW + b"+ 5 nothing\n", 1, "line 14 is no line of heaptrack")
    expect(found == MAPPED + raw, found)
    trace = trace_of((1000, 1, 9, 0xa000, 48), (1005, 1, 9, 0xb000, 48), (1010, 3, 9, 0xa000, 4096), (1020, 2, 9, 0xa000, 48),
                     (1030, 6, 9, 0, 0))
    found = convert(recorder, folder, trace)
    expect(found == "0 1 malloc 48 - 0xa000 -\n5 1 malloc 48 - 0xb000 -\n20 1 free - - 0xa000 -\n30 1 free - - 0xb000 -\n",
           found)
    convert(recorder, folder, trace[:-40], 1, "the file ends at byte")
    for packed in gzip.compress(lines)[:-9], gzip.compress(lines)[:20], gzip.compress(lines)[:30] + b"\0" * 90:
        convert(recorder, folder, packed, 1, "it can't be unpacked to its end")
    both = os.path.join(folder, "source")
    for words, said in (("--convert", both, "-o", both), "name another file"), (("--convert", folder, "-o", both), "directory"):
        done = tool(recorder, *words)
        expect(done.returncode == 2 and said in done.stderr and os.path.getsize(both), f"{words}: {done.stderr}")
    done = tool(recorder, "--convert", "/dev/stdin", "-o", os.path.join(folder, "converted"), input=first.decode())
    expect(done.returncode == 0, f"a pipe: {done.stderr}")


def check_fibers(recorder, folder):
    """What was on a stack that is gone isn't looked at: there may be nothing."""
    logs, _, _ = recorder.run(folder, recorder.programs["recorded"], "fibers", options=["--every-stack"])
    sizes = collections.Counter(size for _, size, _, stack in recorder.stacks(logs[0])[0] if len(stack) > 1)
    expect(sizes[50] == 6000, f"{sizes}")


def check_own_malloc(recorder, folder):
    """A program's own malloc has the blocks of its operators; nothing of it is recorded."""
    _, said, told = recorder.run(folder, recorder.programs["own_malloc"])
    expect(said == "" and "nothing was recorded" in told, f"{said}{told}")


def check_small_files(recorder, folder):
    """Where files may not grow, the log ends, and the program doesn't, which a signal would be sent to."""
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (HEADER + BLOCK, HEADER + BLOCK))
    words = "-o", os.path.join(folder, "log"), "--no-stacks", "--", recorder.programs["recorded"], "loop", "90000"
    done = tool(recorder, *words, preexec_fn=limit)
    expect(done.returncode == 0 and "couldn't grow (File too large)" in done.stderr, f"{done.returncode} {done.stderr}")


def check_times(recorder, folder):
    """Nanoseconds, also in a log that no block of is full."""
    logs, said, _ = recorder.run(folder, recorder.programs["recorded"], "pause", options=("--no-stacks",))
    times = [call.time for call in recorder.calls(logs[0]) if call.size in (77777, 77778)]
    expect(.8 < (times[1] - times[0]) / int(said) < 1.25, f"{times}, {said}")


def check_files(recorder, folder):
    """The program has the files that tarn-record has, whose own output may be closed."""
    log, input_, = os.path.join(folder, "log"), os.path.join(folder, "input")
    with open(input_, "w", encoding="utf-8") as file:
        file.write("given")
    with open(input_, "rb") as file:
        done = tool(recorder, "-o", log, "--", "sh", "-c", f"cat <&{file.fileno()}", pass_fds=[file.fileno()])
    expect(done.returncode == 0 and done.stdout == "given", f"{done.returncode} {done.stderr}")
    expect("and 1 of other processes" in done.stderr, done.stderr)
    words = [sys.executable, "-B", TOOL, "--built", recorder.built, "-o", log, "--", recorder.programs["recorded"], "loop", "9"]
    done = subprocess.run(["sh", "-c", '"$@" 2>&-', "sh", *words], check=False)
    expect(done.returncode == 0 and len(recorder.calls(log)) >= 18, f"stderr is closed: {done.returncode}")
    done = tool(recorder, "-o", log, "--", recorder.programs["recorded"], "loop", "9")
    expect("other processes" not in done.stderr, f"an earlier run's logs count: {done.stderr}")


def tool(recorder, *words, **how):
    return subprocess.run([sys.executable, "-B", TOOL, "--built", recorder.built, *words], capture_output=True, text=True,
                          check=False, **how)


def check_nothing(recorder, folder):
    """What can't be recorded runs, and it is said; without a place for the log, it doesn't run."""
    done = tool(recorder, "-o", os.path.join(folder, "log"), "--", recorder.programs["host"])
    expect("nothing was recorded" in done.stderr, f"{done.returncode} {done.stderr}")
    never = "--", "sh", "-c", "echo it runs"
    for log, said in (os.path.join(folder, "none", "log"), "No such file or directory"), (folder, "it can't be replaced"):
        done = tool(recorder, "-o", log, *never)
        expect(done.returncode == 2 and done.stdout == "" and said in done.stderr, f"{done.stdout}{done.stderr}")
    done = tool(recorder, "--", os.path.join(folder, "none"))
    expect(done.returncode == 2 and done.stderr.endswith("/none: No such file or directory\n"), done.stderr)
    failing = os.path.join(folder, "failing")
    with open(failing, "w", encoding="utf-8") as file:
        file.write('#!/bin/sh\necho In file included from x:\necho "fatal error: bit isn\'t there"\nexit 1\n')
    os.chmod(failing, 0o700)
    for own, said in [({"CXX": "none"}, "CXX names none, which is no program here"),
                      ({"CXX": failing}, "bit isn't there"),
                      ({"PATH": "", "CXX": ""}, "there is no C++ compiler here"),
                      ({"XDG_CACHE_HOME": TOOL}, "XDG_CACHE_HOME may name another folder")]:
        done = subprocess.run([sys.executable, "-B", TOOL, "-o", os.path.join(folder, "log"), *never],
                              env={**os.environ, "XDG_CACHE_HOME": folder, **own}, capture_output=True, text=True, check=False)
        expect(done.returncode == 2 and said in done.stderr and done.stderr.count("\n") == 1, f"{own}: {done.stderr}")


CHECKS = {"calls": check_calls, "threads": check_threads, "order": check_order, "threads in turns": check_turns,
          "forks": check_forks, "kill -9": check_kill, "crash": check_crash, "stacks": check_stacks,
          "sampled stacks": check_sampled, "kills at random": check_kills, "--max": check_max,
          "compressed": check_compressed, "converted": check_converted,
          "fibers": check_fibers, "own malloc": check_own_malloc, "small files": check_small_files, "files": check_files,
          "times": check_times,
          "libraries": check_libraries, "programs": check_programs, "nothing": check_nothing}
TAKEN = ("  void* const block = function();\n"
         "  if (outer.is_logged()) log({what, ticks(), number(block), bytes, alignment, 0, 0, from});\n")
GIVEN = "  if (outer.is_logged()) log({what, ticks(), number(block), bytes, alignment});\n  real.free(block);\n"

# {a mistake: (the check that finds it, what is replaced in the recorder's sources, by what)}. One recorder has all of them, and
# a word in its file says which it makes: see with_mistakes().
MISTAKES = {
    "a free isn't logged": ("calls", "given(operation::free, block)", "real.free(block)"),
    "calloc of so many": ("calls", "calloc, times(count, bytes)", "calloc, IS_WRONG ? bytes : times(count, bytes)"),
    "no alignment": ("calls", "it.alignment != 0", "false"),
    "the size of a delete": ("calls", "first |= has_size;", ""),
    "realloc without its old block": ("calls", "number(old)", "0"),
    "the new block's place after a realloc": ("threads", "if (address != 0) own.last_address = address;", ""),
    "an allocation's time before it": ("order", TAKEN, "  const auto now = ticks();\n" +
                                       TAKEN.replace("ticks()", "IS_WRONG ? now : ticks()")),
    "a free's time after it": ("order", GIVEN, "\n".join(reversed(GIVEN[:-1].split("\n")))),
    "nobody says whose a block is now": ("threads in turns", "put(put(first + 1, 0), own.number)", "put(put(first + 1, 0), 1)"),
    "threads keep their blocks": ("threads in turns", "process->spare[process->spares++] = own.block;", ""),
    "a child goes on in its parent's log": ("forks", "MADV_WIPEONFORK", "MADV_NORMAL"),
    "errno of the first call": ("forks", "errno = before;", ""),
    "a mapping of its own": ("kill -9", "MAP_SHARED", "MAP_PRIVATE"),
    "written at the end": ("crash", "MAP_SHARED", "MAP_PRIVATE"),
    "no limit": ("--max", "process->end + block_bytes > most_bytes", "false"),
    "it doesn't say that it is full": ("--max", "process->header->stopped = reason;", ""),
    "operators of libraries": ("libraries", '"_Znwm");', '"_Znwm"); if (IS_WRONG) return false;'),
    "callers aren't compared": ("stacks", "word_at(outer->top - 8) != outer->returns_to", "false"),
    "the last stack's callers aren't compared": ("stacks", "word_at(last.all[at].at) == last.all[at].returns_to", "true"),
    "a frame without its callers": ("stacks", "outer == nullptr ? 0 : outer->stack", "0"),
    "all frames are as far above the stack pointer": ("stacks", "its.kind == rule_kind::above_stack_pointer", "true"),
    "a rule for the beginning of a function": ("stacks", "at_code_ < returns_to_", "false"),
    "a caller's frame that was elsewhere": ("fibers", "outer.top - its.top == std::uint64_t{8} * its.distance", "true"),
    "operators of another malloc": ("own malloc", "!is_called()", "is_called() && false"),
    "no time of the end": ("times", "note_time();\n  process->header->ended = ending::exit;",
                           "process->header->ended = ending::exit;"),
    "a file beyond its limit": ("small files", "process->end + bytes > most.rlim_cur", "false"),
    "what stacks stand for": ("sampled stacks", "std::uint64_t{budget.rarity} << stack_bits", "0"),
    "each stack, however dear": ("sampled stacks", "if (skips != 0) return --skips, true;", "return false;"),
    "mappings of the beginning": ("libraries", "if (is_told(address, address + 1)) return;",
                                  "if (process->stacks.ranges != 0) return;"),
    "stacks are written once a block is full": ("kills at random", "commit(first, static_cast<unsigned>(what));",
                                                "*first = 0;"),
    "a stack's number before the stack": ("kills at random", "tell_mapping(returns_to);",
                                          "if (to.last % 7 == 0) return to.last + 1; tell_mapping(returns_to);"),
    "one name for all": ("programs", "access(process->path, F_OK) == 0", "false"),
}
NO_MISTAKE = 0x6b61747369656e6f  # in the file of the recorder that has all of them, until it is one of their numbers


def with_mistakes(text):
    """Sources that ask at each mistake's place whether it is made: an expression, a statement, which ends with ; or a line, or
    what asks itself."""
    for number, (_, old, new) in enumerate(MISTAKES.values(), 1):
        if "IS_WRONG" not in new:
            new = f"if (IS_WRONG) {{ {new} }} else {{ {old} }}" if old[-1] in ";\n" else f"(IS_WRONG ? ({new}) : ({old}))"
        text = text.replace(old, new.replace("IS_WRONG", f"(which_mistake == {number})"))
    return text


def outcome(check, recorder):
    """What the check finds wrong; None: nothing."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as folder:
        try:
            CHECKS[check](recorder, folder)
        except (Wrong, subprocess.TimeoutExpired) as error:
            return str(error) or "wrong"
    return None


# ---- logs made here: the reader -------------------------------------------------------------------------------------------

NAMES = ["", "malloc", "calloc", "realloc", "reallocarray", "posix_memalign", "aligned_alloc", "memalign", "valloc", "pvalloc",
         "new", "new[]", "free", "delete", "delete[]"]


def varint(value):
    out = b""
    while value >= 0x80:
        out += bytes([value & 0x7f | 0x80])
        value >>= 7
    return out + bytes([value])


class Block:
    """Calls as format.h says."""

    def __init__(self, thread, first, kind=1, coding=0, first_stack=0):
        self.thread, self.first, self.kind, self.coding, self.first_stack = thread, first, kind, coding, first_stack
        self.ticks, self.last, self.count, self.data = first, 0, 0, b""

    def address(self, value):
        if value == 0:
            return varint(0)
        distance, self.last = value - self.last, value
        def folded(number):
            return number * 2 if number >= 0 else -number * 2 - 1
        return varint(1 + (folded(distance // 8) * 2 if distance % 8 == 0 else folded(distance) * 2 + 1))

    def add(self, ticks, name, address=0, size=None, alignment=None, old=None, took=0, stack=None):
        frees = name in ("free", "delete", "delete[]")
        flags = (alignment is not None) * 0x20 | (frees and size is not None) * 0x40 | (stack is not None) * 0x80
        self.data += bytes([NAMES.index(name) | flags]) + varint(ticks - self.ticks)
        self.data += b"" if stack is None else varint(stack)
        self.data += b"" if alignment is None else varint(alignment.bit_length() - 1)
        self.data += b"" if size is None else varint(size)
        self.data += self.address(address)
        if old is not None:
            self.data += self.address(old) + varint(took)
        self.ticks, self.count = ticks, self.count + 1
        return self

    def is_of(self, ticks, thread):
        self.data += bytes([31]) + varint(ticks - self.ticks) + varint(thread)
        self.ticks, self.last = ticks, 0
        return self

    def bytes(self, number, is_open=False):
        used = (len(self.data) + 7) // 8 * 8
        stored = (used + 64 + 63) // 64 * 64
        head = struct.pack("<IHHIIIIIIQQQ", 0x6b6c6274, self.kind, self.coding, stored, number, self.thread,
                           0 if is_open else used, 0 if is_open else self.count, self.first_stack, self.first, self.ticks,
                           1000 + self.ticks)
        data = self.data.ljust(used, b"\0")
        total = 0xcbf29ce484222325
        for word, in struct.iter_unpack("<Q", head + data):
            total = (total ^ word) * 0x100000001b3 % (1 << 64)
            total ^= total >> 29
        return head + struct.pack("<Q", 0 if is_open else total or 1) + data.ljust(stored, b"\0")


def header(version=1, order=0x01020304, ended=1, stopped=0, blocks=0):
    numbers = struct.pack("<IIIIIIIIIIQQQQ", order, version, HEADER, 1, 42, 1, 0, ended, stopped, 28, 0, 9999, 0, 1000)
    return (b"tarnrec\n" + numbers + b"prog\0word\0".ljust(1024, b"\0") + struct.pack("<I", blocks)).ljust(HEADER, b"\0")


def log_of(*blocks, **how):
    return header(**how) + b"".join(block.bytes(number) for number, block in enumerate(blocks))


def two_threads():
    """The second gets blocks that the first frees, one while the first moves it."""
    first = Block(1, 100).add(110, "malloc", 0x1000, 8).add(120, "free", 0x1000).add(130, "malloc", 0x2000, 16)
    first.add(150, "realloc", 0x3003, 32, old=0x2000, took=15).add(160, "delete", 0x3003, 32, 64)
    second = Block(2, 105).add(125, "new", 0x1000, 8).add(140, "malloc", 0x2000, 9, stack=77).is_of(141, 3)
    return first, second.add(170, "aligned_alloc", 0, 1 << 40, 4096)


def some_stacks():
    """Stacks 1 (0x500) and 2 (0x600, called from 1), in a block of their own; a mapping between them."""
    block = Block(0, 100, kind=2, first_stack=1)
    block.data += bytes([1]) + block.address(0x500) + varint(1)
    block.data += bytes([2]) + varint(0x400) + varint(0x1000) + varint(0) + varint(4) + b"/lib" + varint(2) + b"ID"
    block.data += bytes([1]) + block.address(0x600) + varint(1)
    block.count = 3
    return (block,)


ORDERED = [(110, 1, "malloc", 0x1000), (120, 1, "free", 0x1000), (125, 2, "new", 0x1000), (130, 1, "malloc", 0x2000),
           (140, 2, "malloc", 0x2000), (150, 1, "realloc", 0x3003), (160, 1, "delete", 0x3003), (170, 3, "aligned_alloc", None)]


def damage_cases():
    """(name, the bytes, how many of the eight calls are read in order, the status, what is said)."""
    first, second = two_threads()
    whole = log_of(first, second)
    at = HEADER + 64  # the first call
    flipped = bytearray(whole)
    flipped[at + 3] ^= 1
    no_mark = bytearray(whole)
    no_mark[HEADER] ^= 1
    stacks, = some_stacks()
    no_entry = bytearray(header() + first.bytes(0) + second.bytes(1) + stacks.bytes(2, is_open=True))
    no_entry[-len(stacks.bytes(2)) + 64] = 9
    unknown = header() + Block(1, 0, kind=9).add(1, "malloc", 8, 8).bytes(0) + first.bytes(1) + second.bytes(2)
    compressed = header() + first.bytes(0) + Block(2, 200, coding=5).add(201, "malloc", 8, 8).bytes(1) + second.bytes(2)
    wrong = bytearray(header() + first.bytes(0, is_open=True) + second.bytes(1))
    wrong[at] = 30
    both, firsts, seconds = range(8), (0, 1, 3, 5, 6), (2, 4, 7)
    return [
        ("whole", whole, both, 0, "^$"), ("no blocks", header(), (), 0, "^$"),
        ("killed", header(ended=0) + first.bytes(0, True) + second.bytes(1, True), both, 0, "no end: "),
        ("full", log_of(first, second, stopped=1), both, 0, "full: 9999 bytes were allowed"),
        ("no room", log_of(first, second, stopped=2), both, 0, r"couldn't grow \(No space left on device\)"),
        ("about to begin a block", whole + bytes(BLOCK), both, 0, "^$"),
        ("a kind of later versions", unknown, both, 0, "^$"),
        ("a hole", header() + bytes(len(first.bytes(0))) + second.bytes(1), seconds, 1, f"damaged: no block at byte {HEADER}"),
        ("cut between blocks", header(blocks=2) + first.bytes(0), firsts, 1, "cut: of 2 blocks, only 1 are there"),
        ("stacks", log_of(first, second, stacks), both, 0, "^$"),
        ("stacks that end early", no_entry, both, 1, "only 0 stacks and mappings of block 2"),
        ("not compressed", log_of(first, Block(2, 200, coding=1).add(201, "malloc", 8, 8)), firsts, 1,
         "damaged: block 1, which can't be unpacked|block 1 is compressed, and libzstd.so.1 isn't here"),
        ("a coding of later versions", compressed, both, 1, "block 1 has a coding that this program doesn't know"),
        ("a bit", flipped, seconds, 1, "damaged: block 0, which was passed over"),
        ("a mark", no_mark, seconds, 1, f"damaged: no block at byte {HEADER}, .*\n.*block 1 follows where 0 should"),
        ("no call", wrong, seconds, 1, "damaged: only 0 calls of block 0"),
        ("a block is missing", header() + second.bytes(1), seconds, 1, "block 1 follows where 0 should"),
        ("cut in the second", whole[:-len(second.bytes(1)) + 70], (0, 1, 2, 3, 5, 6), 1, "only 1 calls of block 1"),
        ("cut in the first", whole[:at + len(first.data) - 3], firsts[:4], 1,
         "cut: the file ends within block 0\n.*only 4 calls of block 0"),
        ("cut in a header", whole[:HEADER + len(first.bytes(0)) + 20], firsts, 1, "no block at byte"),
        ("empty", b"", (), 2, "no log of tarn-record"), ("another file", b"#!/bin/sh\n" * 900, (), 2, "no log of tarn-record"),
        ("half a header", whole[:100], (), 2, "ends within its header"),
        ("a version", log_of(first, version=2), (), 2, "version 2, and this program reads version 1"),
        ("a byte order", log_of(first, order=0x04030201), (), 2, "another byte order"),
    ]


def check_damaged(recorder, data, wanted, status, said):
    with tempfile.NamedTemporaryFile(dir=os.environ.get("TEST_TMPDIR")) as file:
        file.write(data)
        file.flush()
        try:
            calls = recorder.calls(file.name, status, said)
        except Wrong as error:
            return str(error)
    found = [(call.time, call.thread, call.name, call.address) for call in calls]
    return None if found == [ORDERED[at] for at in wanted] else f"read {found}"


def check_spoiled(recorder):
    """Whatever is in the file: an end, and a status that says whether it was a log."""
    dice = random.Random(1)
    whole = log_of(*two_threads(), *some_stacks())
    statuses = collections.Counter()
    with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as folder:
        log = os.path.join(folder, "log")
        with open(log, "wb") as file:
            file.write(whole)
        compress(recorder, log)
        wholes = [whole, read(log)]
        for number in range(200):
            data = bytearray(wholes[number % 2])
            for _ in range(dice.randrange(1, 5)):
                at = dice.randrange(len(data)) if dice.random() < .2 else dice.randrange(HEADER, len(data))
                data[at] = dice.choice([0, 0xff, dice.randrange(256)])
            if dice.random() < .5:  # an open block has no sum
                data[HEADER + 56:HEADER + 64] = bytes(8)
            with open(log, "wb") as file:
                file.write(data[:dice.randrange(len(data))] if dice.random() < .2 else data)
            done = subprocess.run([recorder.printer, log], capture_output=True, timeout=SECONDS, check=False)
            statuses[done.returncode] += 1
            if done.returncode not in (0, 1, 2):
                return f"status {done.returncode}: {done.stderr.decode(errors='replace')[:2000]}"
    return None if statuses[1] > 50 else f"statuses {statuses}"


# ---- all of them ----------------------------------------------------------------------------------------------------------

def built(root):
    """(the recorder, the same with a printer that sees what is done wrongly to memory, {mistake: a recorder with it})."""
    compiler = compilers.present(["g++", "clang++-19"])[0]
    builder = compilers.Builder(root)
    given = {"plugin.cc": PLUGIN, "host.c": HOST, "behind.cc": BEHIND, "own_malloc.cc": OWN_MALLOC,
             "which.h": f"static const volatile unsigned long which_mistake = {NO_MISTAKE};\n"}
    sources = {name: read(os.path.join(SOURCES, name)).decode() for name in RECORDER}
    for name, (_, old, _) in MISTAKES.items():
        if not any(old in text for text in sources.values()):
            sys.exit(f"mistake: {name}: the recorder hasn't got {old!r}")
    given |= {"wrong_" * (name == "recorder.cc") + name: with_mistakes(text) for name, text in sources.items()}
    for name, text in given.items():
        with open(os.path.join(root, name), "w", encoding="utf-8") as file:
            file.write(text)
    flags = [compiler, "-std=c++20", "-O1", *compilers.WARNINGS, "-pthread"]
    library = [*flags, "-shared", "-fPIC", "-fvisibility=hidden", "-fno-exceptions", "-Wl,--as-needed", "-static-libgcc"]
    wrong = [*library, "-w", "-I", SOURCES, "-include", "which.h", "wrong_recorder.cc"]
    strict = [*flags, "-O0", "-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    jobs = [builder.job("wrong.so", wrong), builder.job("libtarn_record.so", [*library, os.path.join(SOURCES, "recorder.cc")])]
    tools = {"strict_print": strict, "tarn_record_print": flags, "tarn_record_compress": strict, "tarn_record_convert": strict}
    jobs += [builder.job(name, [*how, os.path.join(SOURCES, name.rpartition("_")[2] + ".cc"), "-ldl"])
             for name, how in tools.items()]
    programs = {"recorded": builder.job("recorded", [*flags, os.path.join(ROOT, "test/tools/recorded.cc")]),
                "plugin.so": builder.job("plugin.so", [compiler, "-shared", "-fPIC", "plugin.cc"]),
                "behind.so": builder.job("behind.so", [compiler, "-shared", "-fPIC", "behind.cc"]),
                "own_malloc": builder.job("own_malloc", [compiler, "-std=c++20", "-O0", "own_malloc.cc"]),
                "host": builder.job("host", [compiler.replace("++", "cc" if compiler.startswith("g") else ""), "host.c"])}
    library, _, strict, printer, *_ = [job.result() for job in jobs]
    programs = {name: job.result() for name, job in programs.items()}
    broken = {}
    for number, mistake in enumerate(MISTAKES, 1):
        folder = os.path.join(root, f"wrong{number}")
        os.mkdir(folder)
        with open(os.path.join(folder, "libtarn_record.so"), "wb") as file:
            file.write(read(library).replace(struct.pack("<Q", NO_MISTAKE), struct.pack("<Q", number)))
        os.symlink(printer, os.path.join(folder, os.path.basename(printer)))
        broken[mistake] = Recorder(folder, programs, printer, 20)
    return Recorder(root, programs, printer), Recorder(root, programs, strict), broken


def main():
    with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as root:
        recorder, strict, broken = built(root)
        cases = [(f"record: {name}", lambda name=name: outcome(name, recorder)) for name in CHECKS]
        cases += [(f"read: {name}", lambda rest=rest: check_damaged(strict, *rest)) for name, *rest in damage_cases()]
        cases.append(("read: spoiled logs", lambda: check_spoiled(strict)))
        cases += [(f"mistake: {name}", lambda name=name, check=check:
                   None if outcome(check, broken[name]) else f"{check} passes") for name, (check, _, _) in MISTAKES.items()]
        return compilers.report(cases)


if __name__ == "__main__":
    sys.exit(main())
