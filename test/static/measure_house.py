#!/usr/bin/env python3
"""Measures how the library's headers are laid out, and prints a table: files, lines, what is around the code, circles, what
pool.h brings, and in how many files an operation runs.

  measure_house.py          counts only
  measure_house.py --run    also compiles: preprocessed lines of pool.h, and by gcov the files that run (g++, -O0)

docs/design.md has the aims. Not a test: what fails here is a question, not a mistake.
"""

import collections
import glob
import os
import re
import statistics
import subprocess
import sys
import tempfile

FOLDERS = ("allocator", "policies")
INCLUDE = re.compile(r'^\s*#\s*include\s*"tarn/(.*?)"', re.MULTILINE)

# Each is one operation between `reset` and `dump`, of a pool that is warm.
TRIPS = {
    "hit": ("", "tarn::pool<tarn::static_size<64>> p;", "p.deallocate(p.allocate());",
            "void* b = p.allocate(); p.deallocate(b);"),
    "miss with a chunk": ("", "tarn::pool<tarn::static_size<64>, tarn::fixed_growth<64>> p;",
                          "for (int i = 0; i != 128; ++i) p.allocate();", "p.allocate();"),
    "surplus": ("", "tarn::pool<tarn::static_size<64>, tarn::fixed_growth<64>, tarn::return_empty_chunks<>> p; void* b[1024];",
                "for (void*& x : b) x = p.allocate(); const auto all = p.capacity(); int i = 0; "
                "while (p.capacity() == all && i != 1000) { RESET p.deallocate(b[i++]); }", ""),
    "exchange": ('#include "tarn/policies/locking/thread_cached.h"\n',
                 "tarn::pool<tarn::static_size<64>, tarn::thread_cached<>> p; static void* b[4096];",
                 "for (void*& x : b) x = p.allocate(); for (void* x : b) p.deallocate(x); "
                 "for (int i = 0; i != 600; ++i) b[i] = p.allocate();",
                 "for (int i = 600; i != 1200; ++i) b[i] = p.allocate();"),
}


def headers(root):
    found = ["version.h"]
    for folder in FOLDERS:
        found += sorted(os.path.relpath(one, root) for one in glob.glob(f"{root}/{folder}/**/*.h", recursive=True))
    return {path: open(os.path.join(root, path), encoding="utf-8").read() for path in found}


def kinds_of_lines(text):
    """How many lines are blank, frame (guard, include, namespace), comment, substance."""
    count, guard = collections.Counter(), re.search(r"#ifndef (TARN_\w+_H_)", text)
    for line in text.splitlines():
        bare = line.strip()
        if not bare:
            count["blank"] += 1
        elif re.match(r"#\s*include|(inline )?namespace\b.*\{$|\}  // namespace", bare) or guard and guard[1] in bare:
            count["frame"] += 1
        else:
            count["comment" if bare.startswith("//") else "substance"] += 1
    return count


def circles(uses):
    """Groups of headers that include each other (Tarjan 1972)."""
    index, low, stack, found = {}, {}, [], []

    def visit(one):
        index[one] = low[one] = len(index)
        stack.append(one)
        for other in uses[one]:
            if other not in index:
                visit(other)
                low[one] = min(low[one], low[other])
            elif other in stack:
                low[one] = min(low[one], index[other])
        if low[one] == index[one]:
            group = [stack.pop()]
            while group[-1] != one:
                group.append(stack.pop())
            found.extend([group] if len(group) > 1 else [])

    for one in uses:
        if one not in index:
            visit(one)
    return found


def reached(start, uses):
    seen, todo = set(), [start]
    while todo:
        one = todo.pop()
        if one not in seen:
            seen.add(one)
            todo += uses[one]
    return seen


def preprocessed(parent, folder):
    program = os.path.join(folder, "pool.cc")
    with open(program, "w", encoding="utf-8") as file:
        file.write('#include "tarn/allocator/pool.h"\n')
    text = subprocess.run(["g++", "-std=c++20", "-E", "-P", f"-I{parent}", program], capture_output=True, text=True, check=True)
    return sum(1 for line in text.stdout.splitlines() if line.strip())


def files_that_run(parent, folder, trip):
    """The headers with a line that one operation executes."""
    extra, pool, warm, operation = TRIPS[trip]
    program = os.path.join(folder, "trip.cc")
    with open(program, "w", encoding="utf-8") as file:
        file.write(extra + '#include "tarn/allocator/pool.h"\n'
                   'extern "C" void __gcov_reset();\nextern "C" void __gcov_dump();\n'
                   f"int main() {{ {pool} {warm.replace('RESET', '__gcov_reset();')} " +
                   ("" if "RESET" in warm else "__gcov_reset(); ") + f"{operation} __gcov_dump(); _exit(0); }}\n")
    subprocess.run(["g++", "-std=c++20", "-w", "-O0", "--coverage", "-pthread", "-include", "unistd.h", f"-I{parent}", program,
                    "-o", "trip"], cwd=folder, check=True)
    subprocess.run(["./trip"], cwd=folder, check=True)
    text = subprocess.run(["gcov", "-t", *glob.glob(f"{folder}/*.gcda")], cwd=folder, capture_output=True, text=True,
                          check=True)
    ran, source = set(), ""
    for line in text.stdout.splitlines():
        if ":    0:Source:" in line:
            source = line.split("Source:")[1]
        elif re.match(r"\s*[1-9]\d*\*?:", line) and "/tarn/" in source and source.endswith(".h"):
            ran.add(source.split("/tarn/", 1)[1])
    for one in glob.glob(f"{folder}/*.gc*"):
        os.remove(one)
    return ran


def main():
    root = os.path.abspath(".")
    texts = headers(root)
    lines = {path: text.count("\n") for path, text in texts.items()}
    kinds = {path: kinds_of_lines(text) for path, text in texts.items()}
    uses = {path: [one for one in INCLUDE.findall(text) if one in texts] for path, text in texts.items()}
    total = sum(lines.values())
    around = sum(one["blank"] + one["frame"] for one in kinds.values())
    thin = sorted(path for path in texts if kinds[path]["substance"] < 40)
    rows = [
        ("headers", len(texts)),
        ("lines", total),
        ("median header, lines", statistics.median(lines.values())),
        ("headers with under 40 lines of substance", len(thin)),
        ("guards, includes, namespaces, blank lines", f"{100 * around / total:.0f} %"),
        ("comment lines", f"{100 * sum(one['comment'] for one in kinds.values()) / total:.0f} %"),
        ("circles among includes", len(circles(uses))),
        ("pool.h reaches, headers", len(reached("allocator/pool.h", uses))),
        ("largest", ", ".join(f"{path} {lines[path]}" for path in sorted(lines, key=lines.get)[-3:])),
    ]
    if "--run" in sys.argv:
        with tempfile.TemporaryDirectory() as folder:
            os.symlink(root, os.path.join(folder, "tarn"))
            rows.append(("pool.h preprocessed, lines that aren't blank", preprocessed(folder, folder)))
            for trip in TRIPS:
                rows.append((f"files that run: {trip}", len(files_that_run(folder, folder, trip))))
    print("| | |\n|---|---|")
    for name, value in rows:
        print(f"| {name} | {value} |")
    if "--thin" in sys.argv:
        print("\n".join(thin))


if __name__ == "__main__":
    main()
