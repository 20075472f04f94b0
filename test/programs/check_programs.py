#!/usr/bin/env python3
"""Real programs compute the same with tarn's xallocator in the place of malloc as with the C library's.

A case is a program, with tarn's default policies or with a checking policy. One, `calls`, calls malloc's functions itself, in
threads and forks: they do what their manual says. It must find mistakes in them; each is a case, too.
"""

import functools
import os
import subprocess
import sys
import tempfile

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [FOLDER, os.path.join(FOLDER, "..", "support")]

import compilers
import programs

# Through ctypes, so that no compiler knows what they are.
CALLS = """
import ctypes, os, random, threading
c = ctypes.CDLL(None, use_errno=True)
p, n = ctypes.c_void_p, ctypes.c_size_t
for name, result, types in [('malloc', p, [n]), ('calloc', p, [n, n]), ('realloc', p, [p, n]), ('memalign', p, [n, n]),
                            ('aligned_alloc', p, [n, n]), ('malloc_usable_size', n, [p]), ('reallocarray', p, [p, n, n]),
                            ('posix_memalign', ctypes.c_int, [ctypes.POINTER(p), n, n]), ('free', None, [p])]:
    function = getattr(c, name)
    function.restype, function.argtypes = result, types
sizes = [0, 1, 24, 100, 4096, 4097, 30_000, 40_000, 65_536, 100_000, 3_000_000, 300_000_000]
for size in sizes:
    looked_at = min(size, 100_000)
    block = c.malloc(size)
    assert block and block % 16 == 0 and c.malloc_usable_size(block) >= size
    ctypes.memset(block, 7, looked_at)
    block = c.realloc(block, size + 5000)
    assert ctypes.string_at(block, looked_at) == bytes([7]) * looked_at
    ctypes.memset(block, 7, size + 5000 if size < 10_000_000 else looked_at)
    c.free(block)
    zero = c.calloc(max(size, 1), 1)
    assert not any(ctypes.string_at(zero, looked_at))
    c.free(zero)
    for bits in range(4, 22):
        for allocate in (c.memalign, c.aligned_alloc):
            block = allocate(1 << bits, size)
            assert block and block % (1 << bits) == 0 and c.malloc_usable_size(block) >= size
            c.free(block)
        box = p()
        assert c.posix_memalign(ctypes.byref(box), 1 << bits, size) == 0 and box.value % (1 << bits) == 0
        c.free(box)
assert not c.malloc(2**63) and ctypes.get_errno() == 12
assert not c.calloc(2**40, 2**40) and not c.reallocarray(None, 2**40, 2**40)
c.free(None)

wrong = []
def churn(seed):
    dice, held = random.Random(seed), []
    for i in range(500):
        size = dice.randrange(1, 200) if i % 50 else dice.randrange(1, 200_000)
        block = c.malloc(size)
        ctypes.memset(block, i % 256, size)
        held.append((block, bytes([i % 256]) * size))
        if len(held) == 40:
            block, content = held.pop(dice.randrange(40))
            if ctypes.string_at(block, len(content)) != content: wrong.append('a block has the content of another')
            c.free(block)
    for block, _ in held: c.free(block)
for round in range(20):
    threads = [threading.Thread(target=churn, args=[i]) for i in range(4)]
    for t in threads: t.start()
    child = os.fork()
    if child == 0:
        churn(4)
        os._exit(len(wrong))
    assert os.waitpid(child, 0)[1] == 0
    for t in threads: t.join()
assert not wrong, wrong[0]
print('well', open('/proc/self/maps').read().count('tarn_malloc') > 0)
"""

# {what is wrong: (text of preload.cc, what to put there)}
MISTAKES = {
    "realloc copies nothing": ("return heap::reallocate(block, bytes); }\n", "return heap::allocate(bytes); }\n"),
    "calloc leaves what was there": ("heap::allocate_zeroed(count, bytes)", "heap::allocate(count * bytes)"),
    "malloc returns too few bytes": ("return heap::allocate(bytes);", "return heap::allocate(bytes < 50 ? bytes : bytes / 2);"),
    "malloc returns a block twice": ("return heap::allocate(bytes);",
                                     "static void* last;\n  static int calls;\n"
                                     "  if (bytes > 150 && bytes < 160 && ++calls > 100 && calls % 2 == 0) return last;\n"
                                     "  void* const got = heap::allocate(bytes);\n"
                                     "  if (bytes > 150 && bytes < 160) last = got;\n  return got;"),
    "alignment is forgotten": ("heap::allocate_aligned(alignment, bytes)", "heap::allocate(bytes)"),
}


def calls(malloc, _):
    return programs.run([os.path.realpath(sys.executable), "-S", "-c", CALLS], malloc)


def compared(folder, program, malloc, wanted=None):
    """What is wrong; None: nothing."""
    try:
        with tempfile.TemporaryDirectory(dir=folder) as place:
            said = program(malloc, place).said
        with tempfile.TemporaryDirectory(dir=folder) as place:
            wanted = wanted or program("", place).said
        return None if said == wanted else f"said    {said!r}\nwanted  {wanted!r}"
    except (RuntimeError, subprocess.SubprocessError, OSError) as error:
        return f"{error}\n{getattr(error, 'output', None) or ''}"


# Each checking policy, of which one that reports calls within calls would find those of the system's that allocate.
CHECKS = {
    "checked": "checked",
    "hardened": "hardened",
    "switchable_checking": "switchable_checking, tarn::named<\"malloc\">",
}
SHORT = ("python", "python, PYTHONMALLOC=malloc", "git", "redis")


def checking(folder, include, number, policies):
    """The path of a malloc with these policies."""
    with open(os.path.join(FOLDER, "preload.cc"), encoding="utf-8") as file:
        source = file.read()
    more = "".join(f'#include "tarn/policies/{name}.h"\n' for name in ("checking/switchable_checking", "name"))
    text = source.replace("tarn::no_statistics>", f"tarn::no_statistics, tarn::{policies}>")
    if text == source:
        raise RuntimeError("preload.cc names no policies any more")
    return programs.build_malloc(folder, include, f"_{number}", more + text)


def found(folder, include, number, text, wrong):
    with open(os.path.join(FOLDER, "preload.cc"), encoding="utf-8") as file:
        source = file.read()
    if text not in source:
        return f"preload.cc has no '{text}' any more"
    malloc = programs.build_malloc(folder, include, str(number), source.replace(text, wrong))
    return None if compared(folder, calls, malloc, "well True\n") else "nothing was found"


def history(folder, include):
    """A repository with a few commits of the library's headers."""
    place = os.path.join(folder, "history")

    def git(*words):
        subprocess.run(["git", "-C", place, "-c", "user.name=a", "-c", "user.email=b", *words], check=True,
                       stdout=subprocess.DEVNULL)

    os.mkdir(place)
    git("init", "-q")
    for number, part in enumerate(["policies/store", "policies/locking", "policies/detail"]):
        for name in sorted(os.listdir(os.path.join(include, "tarn", part))):
            path = os.path.join(include, "tarn", part, name)
            if os.path.isfile(path):
                with open(path, "rb") as file, open(os.path.join(place, f"{len(name) % 7}"), "ab") as all_of_them:
                    all_of_them.write(file.read())
        git("add", ".")
        git("commit", "-q", "-m", f"number {number}")
    return place


def main():
    with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as folder:
        include = compilers.include_root()
        shim = programs.build_malloc(folder, include)
        cases = [("calls", functools.partial(compared, folder, calls, shim, "well True\n"))]
        cases += [(f"mistake: {wrong}", functools.partial(found, folder, include, number, *places))
                  for number, (wrong, places) in enumerate(MISTAKES.items())]
        real = programs.programs(folder, include, history(folder, include), True)
        cases += [(name, functools.partial(compared, folder, program, shim)) for name, program in real.items()]
        for number, (name, policies) in enumerate(CHECKS.items()):
            malloc = checking(folder, include, number, policies)
            cases.append((f"calls, {name}", functools.partial(compared, folder, calls, malloc, "well True\n")))
            cases += [(f"{program}, {name}", functools.partial(compared, folder, real[program], malloc)) for program in SHORT]
        return compilers.report(cases)


if __name__ == "__main__":
    sys.exit(main())
