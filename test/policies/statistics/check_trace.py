#!/usr/bin/env python3
"""Reads a dump of a real program with tools/tarn-trace: it holds what the program says that it did, in all formats; a damaged
dump gets a sentence. Dumps that are made by hand show what the tool does with older events, threads and equal times."""

import collections
import csv
import importlib.machinery
import importlib.util
import io
import json
import os
import re
import struct
import subprocess
import sys

FOLDER = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(FOLDER, "../../..")
sys.path[:0] = [os.path.join(ROOT, "test/support")]

import compilers

TOOL = os.path.join(ROOT, "tools/tarn-trace")


def loaded():
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader("tarn_trace", TOOL)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("tarn_trace", loader))
    loader.exec_module(module)
    return module


trace = loaded()


def run_tool(*arguments):
    return subprocess.run([sys.executable, "-B", TOOL, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def built(root, source, *flags):
    program = os.path.join(root, source.replace(".cc", ""))
    subprocess.run([compilers.present()[0], "-std=c++20", "-O1", "-I.", *compilers.WARNINGS, *flags,
                    "tarn/test/policies/statistics/" + source, "-o", program, "-pthread"], cwd=root, check=True)
    return program


def check_program(results, root):
    file = os.path.join(root, "trace.bin")
    told = subprocess.run([built(root, "trace_program.cc"), file], check=True, stdout=subprocess.PIPE, text=True).stdout
    done = collections.defaultdict(list)
    for line in told.splitlines():
        thread, kind, address = line.split()
        done[thread].append((kind, int(address)))

    answer = json.loads(run_tool("--format=json", file).stdout)
    seen = collections.defaultdict(list)
    for event in answer["events"]:
        if event["kind"] in ("allocate", "free"):
            seen[event["thread"]].append((event["kind"], event["address"]))
    results.check("each thread's events are its calls", sorted(done.values()) == sorted(seen.values()),
                  f"{[len(one) for one in done.values()]} calls, {[len(one) for one in seen.values()]} events")
    in_use, wrong = set(), 0
    for event in answer["events"]:
        if event["kind"] == "allocate":
            wrong += event["address"] in in_use
            in_use.add(event["address"])
        elif event["kind"] == "free":
            wrong += event["address"] not in in_use
            in_use.discard(event["address"])
    results.check("in the tool's order, no block is handed out twice", wrong == 0 and not in_use, f"{wrong} are")
    row = answer["pools"][0]
    results.check("the summary counts", len(answer["pools"]) == 1 and row["block_bytes"] == 48 and row["in_use"] == 0 and
                  row["allocate"] == row["free"] == sum(len(one) for one in done.values()) // 2 and row["chunk_bytes"] > 0 and
                  row["threads"] == 3, str(row))

    rows = list(csv.DictReader(io.StringIO(run_tool("--format=csv", file).stdout)))
    results.check("csv has the same events", [(row["kind"], int(row["address"])) for row in rows] ==
                  [(event["kind"], event["address"]) for event in answer["events"]])
    lines = run_tool("--format=text", file).stdout.splitlines()
    results.check("text has a line for each", len(lines) == len(rows) and " allocate  pool 0x" in lines[1], str(lines[:2]))
    results.check("without --format it is a summary", "events of 3 threads; 0 older ones" in run_tool(file).stdout)
    results.check("--help", "usage" in run_tool("--help").stdout)
    with open(file, "rb") as dump:
        return dump.read()


def check_damage(results, root, data):
    """What is wrong is told in a sentence, on stderr, and the status isn't 0."""
    file = os.path.join(root, "damaged.bin")
    words = bytearray(data)
    struct.pack_into("I", words, 12, 2)
    other = bytearray(data)
    struct.pack_into("I", other, 8, 7)
    piece = bytearray(data)
    piece[80 + 24] ^= 1
    kind = bytearray(data)
    kind[80 + 32 + 16 + 7] = 99
    count = bytearray(data)
    struct.pack_into("Q", count, len(data) - 24, 1000)
    for name, damaged, sentence in [
            ("an empty file", b"", "doesn't start with 'tarntrac'"), ("another file", b"#!/bin/sh" + data, "no trace"),
            ("a newer version", words, "version 2, and this program reads version 1"), ("a byte order", other, "byte order"),
            ("half a header", data[:40], "ends within its header"), ("half an event", data[:80 + 32 + 40], "within a piece"),
            ("no end", data[:-32], "before its last piece"), ("half an end", data[:-1], "before its last piece"),
            ("no piece", piece, "no piece at byte 80"), ("a kind", kind, "unknown kind 99"),
            ("more", data + b"x", "behind its end"),
            ("pieces that are missing", count, "and 1000 were written")]:
        with open(file, "wb") as dump:
            dump.write(damaged)
        done = run_tool(file)
        results.check("damaged: " + name, done.returncode != 0 and sentence in done.stderr and
                      done.stderr.count("\n") == 1 and not done.stdout, done.stderr)
    done = run_tool(os.path.join(root, "none.bin"))
    results.check("damaged: no file", done.returncode != 0 and "none.bin: No such file" in done.stderr, done.stderr)


def dump(*rings, lost=0):
    """A file by hand; a ring is its first number and its events."""
    data = b"tarntrac" + struct.pack("<6I6Q", 0x01020304, 1, 80, 32, 32, 1, 1000, 5000, 2000, 7000, lost, 0)
    for ring, (first, events) in enumerate(rings, 1):
        data += struct.pack("<4Q", ring, first, len(events), trace.PIECE)
        data += b"".join(struct.pack("<4Q", pool, address, size | kind << 56, ticks)
                         for kind, pool, address, size, ticks in events)
    return data + struct.pack("<4Q", 0, len(rings), 0, trace.PIECE)


def check_orders(results):
    owner = lambda thread, before, ticks: (0x80, before, thread, 0, ticks)
    got = trace.Dump(dump((0, [owner(1, 0, 1000), (1, 9, 64, 16, 1500)])))
    results.check("ticks become nanoseconds", [event.time for event in got.events] == [1000], str(got.events))
    # One time for both: the free by thread 1 comes before thread 2 is handed the block.
    got = trace.Dump(dump((0, [owner(2, 0, 1000), (1, 9, 64, 16, 1100)]),
                          (0, [owner(1, 0, 1000), (1, 9, 64, 16, 1100), (2, 9, 64, 16, 1200)])))
    order = [(event.thread, event.kind) for event in got.events]
    results.check("blocks decide where times don't", order in ([(1, "allocate"), (1, "free"), (2, "allocate")],
                                                               [(2, "allocate"), (1, "allocate"), (1, "free")]) and
                  order.count((1, "free")) == 1, str(order))
    got = trace.Dump(dump((70, [(2, 9, 64, 16, 1100), owner(5, 3, 1200), (1, 9, 64, 16, 1300)]), lost=4))
    results.check("a ring's earlier thread is known", [event.thread for event in got.events] == [3, 5] and
                  got.overwritten == 70 and got.lost == 4, str(got.events))
    got = trace.Dump(dump())
    results.check("an empty dump has no events", got.events == [] and trace.summary(got) == [])


# The published header's macros, as they call its functions; and those, which print.
TRACY_HEADER = """
#include <cstdio>
#include <cstddef>
#include <cstdint>
extern "C" inline void ___tracy_emit_memory_alloc_callstack_named(const void*, size_t size, int32_t, const char* name) {
  std::printf("alloc %zu %s\\n", size, name);
}
extern "C" inline void ___tracy_emit_memory_free_callstack_named(const void*, int32_t, const char* name) {
  std::printf("free %s\\n", name);
}
extern "C" inline void ___tracy_emit_memory_discard_callstack(const char* name, int32_t) { std::printf("discard %s\\n", name); }
#define TracyCAllocN(ptr, size, name) ___tracy_emit_memory_alloc_callstack_named(ptr, size, 0, name)
#define TracyCFreeN(ptr, name) ___tracy_emit_memory_free_callstack_named(ptr, 0, name)
#define TracyCMemoryDiscard(name) ___tracy_emit_memory_discard_callstack(name, 0);
"""
TRACY_PROGRAM = """
#include "tarn/allocator/pool.h"
#include "tarn/policies/statistics/tracy_trace.h"
struct orders {
  static constexpr const char* name = "orders";
};
int main() {
  tarn::pool<tarn::static_size<64>, tarn::tracing_statistics<tarn::tracy_trace<orders>>> pool;
  pool.deallocate(pool.allocate());
  static_cast<void>(pool.allocate());
  pool.release();
}
"""
USDT_PROGRAM = """
#include "tarn/allocator/pool.h"
#include "tarn/policies/statistics/usdt_trace.h"
int main() {
  tarn::pool<tarn::static_size<64>, tarn::tracing_statistics<tarn::usdt_trace>> pool;
  pool.deallocate(pool.allocate());
  pool.release();
}
"""
PROFILED_PROGRAM = """
#include <cstdlib>
#include "tarn/allocator/pool.h"
#include "tarn/policies/statistics.h"
#include "tarn/policies/store/page_store.h"
struct orders {
  static constexpr const char* name = "orders";
};
template <class Sink>
void use(void** kept) {
  tarn::pool<tarn::static_size<64>, tarn::page_store<>, tarn::tracing_statistics<Sink>> pool;
  for (int i = 0; i != 1000; ++i) {
    void* const block = pool.allocate();
    if (i < 10) kept[i] = block;
    else pool.deallocate(block);
  }
}
void* kept[20];
int main() {
  use<tarn::heaptrack_trace>(kept);
  use<tarn::perfetto_trace<orders>>(kept + 10);
  std::_Exit(0);
}
"""
# Perfetto's published functions, as its client library has them.
PERFETTO_LIBRARY = """
#include <cstdint>
#include <cstdio>
struct AHeapInfo { const char* name; } heap;
extern "C" AHeapInfo* AHeapInfo_create(const char* name) { heap.name = name; return &heap; }
extern "C" uint32_t AHeapProfile_registerHeap(AHeapInfo* its) { std::printf("heap %s\\n", its->name); return 7; }
extern "C" bool AHeapProfile_reportAllocation(uint32_t heap, uint64_t id, uint64_t size) {
  std::fprintf(stdout, "alloc %u %d %d\\n", heap, id != 0, int(size));
  std::fflush(stdout);
  return false;
}
extern "C" void AHeapProfile_reportFree(uint32_t heap, uint64_t id) { std::printf("free %u %d\\n", heap, id != 0); }
"""


def compiled(root, name, text, *flags):
    with open(os.path.join(root, name + ".cc"), "w", encoding="utf-8") as source:
        source.write(text)
    return subprocess.run([compilers.present()[0], "-std=c++20", "-O1", "-I.", *flags, name + ".cc", "-o", name, "-pthread"],
                          cwd=root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def sentences(done):
    return [line for line in done.stdout.splitlines() if "error:" in line]


def check_tracy(results, root):
    done = compiled(root, "without", TRACY_PROGRAM)
    said = sentences(done)
    results.check("without Tracy's header: one sentence", len(said) == 1 and "tarn: [D6] tracy_trace was used" in said[0],
                  done.stdout)
    folder = os.path.join(root, "stand_in", "tracy")
    os.makedirs(folder)
    with open(os.path.join(folder, "TracyC.h"), "w", encoding="utf-8") as header:
        header.write(TRACY_HEADER)
    done = compiled(root, "with", TRACY_PROGRAM, "-isystem", "stand_in")
    results.check("with it, it compiles", done.returncode == 0, done.stdout)
    told = subprocess.run([os.path.join(root, "with")], stdout=subprocess.PIPE, text=True).stdout.split("\n")
    results.check("Tracy is told", told[:4] == ["alloc 64 orders", "free orders", "alloc 64 orders", "discard orders"],
                  str(told))


def check_perfetto(results, root):
    done = compiled(root, "profiled", PROFILED_PROGRAM)
    results.check("a program that names heaptrack and Perfetto compiles without them", done.returncode == 0, done.stdout)
    program = [os.path.join(root, "profiled")]
    results.check("and runs without them", subprocess.run(program).returncode == 0)
    done = compiled(root, "client.so", PERFETTO_LIBRARY, "-shared", "-fPIC")
    told = subprocess.run(program, stdout=subprocess.PIPE, text=True,
                          env={**os.environ, "LD_PRELOAD": os.path.join(root, "client.so")}).stdout.splitlines()
    counts = collections.Counter(told)
    # What the last flush didn't write is lost with the process, which ends without exit handlers.
    results.check("Perfetto is told of its heap, once", told[:1] == ["heap orders"] and counts["heap orders"] == 1,
                  str(told[:3]))
    results.check("and of each block", counts["alloc 7 1 64"] == 1000 and counts["free 7 1"] in (989, 990), str(counts))


def check_heaptrack(results, root):
    """The real one."""
    compiled(root, "profiled", PROFILED_PROGRAM, "-g")
    file = os.path.join(root, "heaptrack")
    subprocess.run(["heaptrack", "-o", file, os.path.join(root, "profiled")], check=True, stdout=subprocess.DEVNULL)
    files = [name for name in os.listdir(root) if name.startswith("heaptrack.")]
    told = subprocess.run(["heaptrack_print", "--print-leaks=1", *files], cwd=root, check=True, stdout=subprocess.PIPE,
                          text=True).stdout
    calls = int(re.search(r"^calls to allocation functions: (\d+)", told, re.MULTILINE)[1])
    temporary = int(re.search(r"^temporary memory allocations: (\d+)", told, re.MULTILINE)[1])
    results.check("heaptrack counts the calls", 1000 <= calls <= 1010, told)  # and some of the C++ library
    results.check("and which blocks went at once", temporary == 990, told)


def check_probes(results, root):
    """As a tracer finds them in the program's file."""
    done = compiled(root, "probes", USDT_PROGRAM)
    results.check("it compiles", done.returncode == 0, done.stdout)
    notes = subprocess.run(["readelf", "-n", "probes"], cwd=root, stdout=subprocess.PIPE, text=True).stdout.split()
    found = {(notes[i + 1], notes[i + 3]) for i in range(len(notes) - 3) if notes[i] == "Provider:"}
    wanted = {("tarn", name) for name in ("alloc", "free", "grow", "give_back", "refuse", "release")}
    wanted |= {("otel_memory", "alloc"), ("otel_memory", "free")}
    results.check("readelf shows the probes", found == wanted, str(found))
    results.check("the program runs", subprocess.run([os.path.join(root, "probes")]).returncode == 0)
    empty = os.path.join(root, "no_header", "sys")
    os.makedirs(empty)
    with open(os.path.join(empty, "sdt.h"), "w", encoding="utf-8") as header:
        header.write("// has no probes\n")
    said = sentences(compiled(root, "without", USDT_PROGRAM, "-Ino_header"))
    results.check("without the header's probes: one sentence", len(said) == 1 and "tarn: [D5] usdt_trace was used" in said[0],
                  str(said))


def main():
    results = compilers.Results()
    root = compilers.include_root()
    if "--probes" in sys.argv:
        check_probes(results, root)
        check_heaptrack(results, root)
    else:
        data = check_program(results, root)
        check_damage(results, root, data)
        check_orders(results)
        check_tracy(results, root)
        check_perfetto(results, root)
    return results.report()


if __name__ == "__main__":
    sys.exit(main())
