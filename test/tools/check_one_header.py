#!/usr/bin/env python3
"""What tools/amalgamate makes: one header that is what tarn's headers are, whole or for some products. A case is a header with
a compiler and flags, a program, or a mistake.

    check_one_header.py              what Bazel runs
    check_one_header.py --platforms  by cross compilers: a part of test/platforms/parts
"""

import collections
import glob
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

import compilers

TOOL = os.path.join("tools", "amalgamate")
SECONDS = 300  # A run takes a moment; this is for one that hangs.
LEAST_PRODUCTS, LEAST_HEADERS = 21, 110
BARE = ["-fno-exceptions", "-fno-rtti"]
# What all.h doesn't include.
APART = {"allocator/fwd.h", "policies/platform/address_limit.h", "policies/platform/tracy_calls.h",
         "policies/platform/usdt_probes.h", "policies/statistics/tracy_trace.h", "policies/statistics/usdt_trace.h"}
# Whose first program is compiled and run: the first two by two compilers.
PAGES = ["README.md", *(f"docs/products/{name}.md" for name in ("operator-new", "containers", "memory-resource"))]
NO_POOL = {"fwd", "handle", "object_ptr", "observe", "observing_thread", "registry", "version"}  # what needs less than pool.h

TWO = """#include "tarn.hpp"
struct tag;
using pool = tarn::static_pool<tag, tarn::static_size<64>, tarn::mutex_locking<>>;
"""
FIRST = TWO + """void* given();
int main() {
  void* const block = given();
  pool::instance().deallocate(block);
  return pool::instance().allocate() == block && TARN_VERSION_STRING[0] != 0 ? 0 : 1;
}
"""
SECOND = TWO + "void* given() { return pool::instance().allocate(); }\n"

RESOURCE = """{first}
#include "tarn.hpp"
#include <memory_resource>
tarn::pool<tarn::static_size<64>, tarn::resource_store> pool{{tarn::resource_store(std::pmr::new_delete_resource())}};
"""
RESERVED = """#include "tarn.hpp"
int main() {
  tarn::pool<tarn::static_size<64>> pool;
  auto reserved = pool.reserve_blocks(2);
}
"""
# A small system: what test/platforms/systems has, without a header of tarn's.
PLATFORM = """struct tiny_system : tarn::platform::no_system {};
namespace tarn::platform {
using system = tiny_system;
}
"""
PLATFORM_PROGRAM = """#include "tarn.hpp"
static_assert(std::is_base_of_v<tarn::platform::no_system, tiny_system>);
tarn::pool<tarn::static_size<64>, tarn::static_array_store<8>, tarn::no_growth<8>> pool;
int main() { pool.deallocate(pool.try_allocate()); }
"""

# A tree for the test of the program itself: what is included in two branches, first in a branch and then for all, at the end,
# in a circle, several times; a header that must be repeated; and a branch that asks for what is asked around it.
SMALL = {
    "LICENSE": "None.\n",
    "version.h": "#ifndef V\n#define V\n#define TARN_VERSION_MAJOR 1\n#define TARN_VERSION_MINOR 2\n"
                 "#define TARN_VERSION_PATCH 3\n#endif\n",
    "allocator/all.h": '#ifndef ALL\n#define ALL\n#include "tarn/policies/choice.h"\n#include "tarn/policies/late.h"\n'
                       '#include "tarn/policies/last.h"\nint all;\n#endif\n',
    "policies/choice.h": '// one\n#ifndef CHOICE\n#define CHOICE\n#include "tarn/policies/base.h"\n'
                         '#if defined(A)\n#include "tarn/policies/a.h"\n#elif defined(B) && \\\n    !defined(C)\n'
                         '#include "tarn/policies/b.h"\n#else\n#include "tarn/policies/other.h"\n#endif\n'
                         'int choice;\n#if defined(A)\n#include "tarn/policies/late.h"\n#endif\n#endif\n',
    "policies/base.h": "#ifndef BASE\n#define BASE\nint base;\n#endif\n",
    "policies/a.h": '#ifndef A_H\n#define A_H\n#include "tarn/policies/shared.h"\n#include "tarn/policies/root.h"\nint a;\n'
                    '#endif\n',
    "policies/b.h": '#ifndef B_H\n#define B_H\n#if defined(B) && \\\n    !defined(C)\n#include "tarn/policies/shared.h"\n'
                    '#include "tarn/policies/root.h"\n#endif\nint b;\n#endif\n',
    "policies/other.h": '#ifndef OTHER\n#define OTHER\n#include "tarn/policies/root.h"\nint other;\n#endif\n',
    "policies/shared.h": '#ifndef SHARED\n#define SHARED\n#include "tarn/policies/base.h"\nint shared;\n#endif\n',
    "policies/root.h": "#ifndef ROOT\n#define ROOT\nint root;\n#endif\n",
    "policies/again.h": "#if defined(MARK)\nint marked;\n#endif\n",
    "policies/late.h": '#ifndef LATE\n#define LATE\n#include "tarn/policies/circle.h"\nint late;\n#endif\n',
    "policies/circle.h": '#ifndef CIRCLE\n#define CIRCLE\n#include "tarn/policies/again.h"\n'
                         'int circle;\n#include "tarn/policies/inside.h"\n#define MARK\n#include "tarn/policies/again.h"\n'
                         '#endif\n',
    "policies/inside.h": '#ifndef INSIDE\n#define INSIDE\n#include "tarn/policies/circle.h"\nint inside = circle;\n#endif\n',
    "policies/last.h": '#ifndef LAST\n#define LAST\n#if defined(A) || defined(B)\n#include "tarn/policies/shared.h"\n#endif\n'
                       'int last;\n#endif\n',
}


def make(*words, root=None, seed="0"):
    """(exit status, the header, what was said) of tools/amalgamate."""
    command = [sys.executable, TOOL, *words, "-o", "-", *(["--root", root] if root else [])]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, timeout=SECONDS,
                          env={**os.environ, "PYTHONHASHSEED": seed})
    return done.returncode, done.stdout, done.stderr


class Folder:
    """A folder with a tarn.hpp and sources that include it, and in which "tarn/..." is this tree."""

    def __init__(self, include, name, *products):
        self.path = os.path.join(include, name)
        os.mkdir(self.path)
        status, self.text, said = make(*products)
        if status:
            raise RuntimeError(said)
        self.write("tarn.hpp", self.text)
        self.include = include

    def write(self, name, text):
        with open(os.path.join(self.path, name), "w", encoding="utf-8") as file:
            file.write(text)

    def compile(self, compiler, source, *flags, to=None):
        """What the compiler said, or None."""
        how = ["-fsyntax-only"] if to is None else ["-o", to, "-pthread"]
        sources = source if isinstance(source, list) else [source]
        done = subprocess.run([compiler, "-std=c++20", *compilers.WARNINGS, "-I.", f"-I{self.include}", *flags, *how, *sources],
                              cwd=self.path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                              check=False, timeout=SECONDS)
        return done.stdout or f"exit status {done.returncode}" if done.returncode or done.stdout else None

    def run(self, compiler, source, *flags):
        program = os.path.join(self.path, f"{compiler}-{source[-1] if isinstance(source, list) else source}.out")
        said = self.compile(compiler, source, *flags, to=program)
        if said:
            return said
        done = subprocess.run([program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
                              timeout=SECONDS)
        return f"exit status {done.returncode}\n{done.stdout}" if done.returncode else None


# ---- what the compiler sees ------------------------------------------------------------------------------------------------


def seen(folder, include, *flags):
    """What the compiler sees after the preprocessor: the lines that are tarn's, and how often each other line."""
    done = subprocess.run(["g++", "-std=c++20", "-I.", f"-I{folder}", *flags, "-E", "-x", "c++", "-"], cwd=folder, check=True,
                          input=f"#include {include}\n", stdout=subprocess.PIPE, text=True, timeout=SECONDS)
    ours, found, others = False, [], []
    for line in filter(None, done.stdout.splitlines()):
        if marker := line.startswith("# ") and re.match(r'# \d+ "([^"]+)"', line):
            ours = "tarn/" in marker[1] or marker[1].endswith("tarn.hpp")
        elif not ours:
            others.append(line)
        elif line := " ".join(line.split()):
            found.append(re.sub(r" \(not in this file: [^)]*\)", "", line) if "not in" in line else line)
    return found, collections.Counter(others)


def differs(one, other):
    one, other = collections.Counter(one[0]), collections.Counter(other[0])
    lost, added = one - other, other - one
    return "\n".join([f"lost: {line}" for line in list(lost)[:5]] + [f"added: {line}" for line in list(added)[:5]]) or None


def once(text, guards):
    """What is wrong with how often guards are defined."""
    found = collections.Counter(re.findall(r"^#define (TARN_\w+_H_)$", text, re.MULTILINE))
    return "\n".join(f"{guard}: {found[guard]} times" for guard in sorted(guards) if found[guard] != 1) or None


def guards_of_tree():
    found = {}
    for path in glob.glob("allocator/**/*.h", recursive=True) + glob.glob("policies/**/*.h", recursive=True) + ["version.h"]:
        with open(path, encoding="utf-8") as file:
            guard = re.search(r"^#define (TARN_\w+_H_)$", file.read(), re.MULTILINE)
        if guard and "_virtual_includes" not in path:  # Bazel's copies
            found[path] = guard[1]
    return found


# ---- cases -----------------------------------------------------------------------------------------------------------------


def small_cases(include):
    """A small tree, and what its one header is with each of some macros."""
    root = os.path.join(include, "small")
    for path, text in SMALL.items():
        os.makedirs(os.path.dirname(os.path.join(root, "tarn", path)), exist_ok=True)
        with open(os.path.join(root, "tarn", path), "w", encoding="utf-8") as file:
            file.write(text)
    status, text, said = make(root=os.path.join(root, "tarn"))
    with open(os.path.join(root, "tarn.hpp"), "w", encoding="utf-8") as file:
        file.write(text)
    found = [compilers.same("a small tree", (status, said), (0, ""))]
    for flags in ([], ["-DA"], ["-DB"], ["-DB", "-DC"], ["-DA", "-DB"]):
        wanted = seen(root, '"tarn/allocator/all.h"', *flags)
        got = seen(root, '"tarn.hpp"', *flags)
        found.append(compilers.same("a small tree " + " ".join(flags), differs(wanted, got), None))
    names = [name for name in re.findall(r"^int (\w+)", text, re.MULTILINE) if name != "marked"]  # which stands in again.h
    found.append(compilers.same("each text once", sorted(names), sorted(set(names))))
    found.append(compilers.same("a lost line", differs(["aab"], ["ab"]), "lost: a"))
    found.append(compilers.same("a text that is there twice is found", once("#define TARN_A_H_\n" * 2, {"TARN_A_H_"}),
                                "TARN_A_H_: 2 times"))

    os.remove(os.path.join(root, "tarn/policies/shared.h"))
    status, _, said = make(root=os.path.join(root, "tarn"))
    sentence = "tools/amalgamate: tarn/policies/a.h includes tarn/policies/shared.h, which can't be read in "
    found.append(compilers.same("a header that is gone", (status, said.startswith(sentence), said.count("\n")), (1, True, 1)))
    return found


def mistakes(include, products):
    def unknown():
        status, text, said = make("pool", "pond")
        listed = "no product is called pond; there are: all " in said and " xmalloc" in said
        return None if status == 1 and not text and listed else f"{status} {said}"

    def no_tree():
        status, _, said = make(root=include + "/nowhere")
        return None if status == 1 and said.count("\n") == 1 and "isn't tarn's tree" in said else f"{status} {said}"

    def no_folder():
        done = subprocess.run([sys.executable, TOOL, "-o", include + "/nowhere/tarn.hpp"], stderr=subprocess.PIPE, text=True,
                              check=False, timeout=SECONDS)
        return None if done.returncode == 1 and "nowhere/tarn.hpp: No such file" in done.stderr else done.stderr

    def full():
        with open("/dev/full", "w", encoding="utf-8") as out:
            done = subprocess.run([sys.executable, TOOL, "-o", "-", "pool"], stdout=out, stderr=subprocess.PIPE, text=True,
                                  check=False, timeout=SECONDS)
        said = "tools/amalgamate: -: No space left on device\n"
        return None if done.returncode == 1 and done.stderr == said else done.stderr

    def same_bytes():
        one, two = make("pool", "containers", seed="1"), make("containers", "pool", "pool", seed="2")
        return None if one == two and one[0] == 0 else "two runs differ"

    def helps():
        done = subprocess.run([sys.executable, TOOL, "--help"], stdout=subprocess.PIPE, text=True, check=False, timeout=SECONDS)
        return None if done.returncode == 0 and "--output" in done.stdout else done.stdout

    def all_products():
        status, _, said = make("?")
        names = said.partition("there are: ")[2].split()
        return None if status and sorted(names) == sorted(products) else f"{names}\n{products}"

    return [("an unknown product", unknown), ("no tree", no_tree), ("no folder", no_folder), ("a full disk", full),
            ("the same bytes", same_bytes), ("--help", helps), ("the list of products", all_products)]


def message_cases(folder, other, whole, compiler):
    """Policies that pool.h only declares."""
    folder.write("late.cc", RESOURCE.format(first=""))
    folder.write("early.cc", RESOURCE.format(first="#include <memory_resource>"))
    folder.write("reserved.cc", RESERVED)
    other.write("late.cc", RESOURCE.format(first=""))
    whole.write("late.cc", RESOURCE.format(first=""))

    def says(source, *texts):
        def run():
            said = folder.compile(compiler, source) or ""
            lost = [text for text in texts if text not in said]
            return f"{lost} isn't in\n{said}" if lost else None
        return run

    add = "(not in this file: add {} to what tools/amalgamate is given)"
    return [
        (f"resource_store isn't there ({compiler})", says("late.cc", "tarn: [I2]", add.format("resource_store"))),
        (f"block_reservation isn't there ({compiler})", says("reserved.cc", "tarn: [I4]", add.format("block_reservation"))),
        (f"<memory_resource> came before ({compiler})", lambda: folder.compile(compiler, "early.cc")),
        (f"resource_store was asked for ({compiler})", lambda: other.compile(compiler, "late.cc")),
        (f"resource_store in the whole ({compiler})", lambda: whole.compile(compiler, "late.cc")),
        ("no such hint in the whole", lambda: "there is one" if "not in this file" in whole.text else None),
    ]


def mixed_cases(whole, pool, compiler):
    """Not what users should do: an error with a reason, or no harm."""
    whole.write("after.cc", '#include "tarn.hpp"\n#include "tarn/allocator/all.h"\n#include "tarn.hpp"\n')
    whole.write("before.cc", '#include "tarn/allocator/pool.h"\n#include "tarn.hpp"\n')
    whole.write("two.cc", f'#include "{pool.path}/tarn.hpp"\n#include "tarn.hpp"\n')

    def refused(source):
        def run():
            said = whole.compile(compiler, source) or ""
            alone = said.count("error:") == 1 and "came before it; include only one of them" in said
            return None if alone else said or "compiles"
        return run

    return [("tarn's headers after it", lambda: whole.compile(compiler, "after.cc")),
            ("tarn's headers before it", refused("before.cc")), ("another such file before it", refused("two.cc"))]


def examples(text):
    """The programs of a page, with this header in place of tarn's."""
    found = re.findall(r"^```cpp run\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    return [re.sub(r'(#include "tarn/.*"\n)+', '#include "tarn.hpp"\n', one) for one in found]


def program_cases(whole, present):
    programs = []
    for page in PAGES:
        with open(page, encoding="utf-8") as file:
            programs += examples(file.read())[:1]
    found = [] if len(programs) == len(PAGES) else [("pages", lambda: f"{len(programs)} programs in {len(PAGES)} pages")]
    whole.write("with_headers.cc", SECOND.replace('"tarn.hpp"', '"tarn/allocator/static_pool.h"'))
    found.append(("a file with tarn.hpp and one with headers", lambda: whole.run(present[0], ["first.cc", "with_headers.cc"])))
    for number, program in enumerate(programs):
        whole.write(f"page{number}.cc", program)
        found += [(f"{PAGES[number]}, its first program ({compiler})",
                   lambda name=f"page{number}.cc", compiler=compiler: whole.run(compiler, name))
                  for compiler in present[:2 if number < 2 else 1]]
    whole.write("first.cc", FIRST)
    whole.write("second.cc", SECOND)
    found += [(f"two files are one program ({compiler})",
               lambda compiler=compiler: whole.run(compiler, ["first.cc", "second.cc"])) for compiler in present[:2]]
    return found


def product_case(include, name, path, size, compiler):
    """A header of one product: it compiles, has what that product's own headers have, and is smaller than the whole. Where
    tarn's lines are in the same order, and the system's are all there, it compiles as those do, each of which does so alone."""
    def run():
        folder = Folder(include, "of_" + name, name)
        if name != "all" and len(folder.text) >= size:
            return f"{len(folder.text)} bytes, and the whole has {size}"
        if name in NO_POOL and len(folder.text) > size / 4:
            return f"{len(folder.text)} bytes of {size}, for something without a pool"
        folder.write("alone.cc", '#include "tarn.hpp"\n#include "tarn.hpp"\n')
        its, own = seen(include, f'"tarn/{path}"'), seen(folder.path, '"tarn.hpp"')
        return differs(its, own) or (None if its == own else folder.compile(compiler, "alone.cc"))

    return f"{name}: what {path} is, and alone ({compiler})", run


def products_of_tree():
    found = {os.path.basename(path)[:-2]: path for path in glob.glob("allocator/*.h")}
    with open("allocator/all.h", encoding="utf-8") as file:
        besides = re.findall(r'^#include "tarn/(policies/.*)"$', file.read(), re.MULTILINE)
    return {**found, **{os.path.basename(path)[:-2]: path for path in besides}}


def platform_cases(whole):
    """By cross compilers, and for a system of one's own."""
    whole.write("tiny.h", PLATFORM)
    whole.write("tiny.cc", PLATFORM_PROGRAM)
    whole.write("alone.cc", '#include "tarn.hpp"\n')
    arm = ["-mcpu=cortex-m4", "-mthumb", *BARE]
    tiny = ['-DTARN_PLATFORM_HEADER="tiny.h"']
    rows = [("arm-none-eabi-g++", arm, "alone.cc"), ("arm-none-eabi-g++", arm + tiny, "tiny.cc"),
            ("aarch64-linux-gnu-g++", [], "alone.cc"), ("x86_64-w64-mingw32-g++-posix", [], "alone.cc"),
            ("x86_64-w64-mingw32-g++-posix", BARE, "alone.cc"), ("g++", tiny, "tiny.cc")]
    return [(" ".join([compiler, *flags, source]),
             lambda compiler=compiler, flags=flags, source=source: whole.compile(compiler, source, *flags)
             if shutil.which(compiler) else f"{compiler} isn't installed") for compiler, flags, source in rows]


def main():
    if sys.argv[1:] == ["--platforms"]:
        os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
    include = compilers.include_root()
    whole = Folder(include, "whole")
    if sys.argv[1:] == ["--platforms"]:
        return compilers.report(platform_cases(whole))
    present = compilers.present()
    whole.write("alone.cc", '#include "tarn.hpp"\n#include "tarn.hpp"\n')
    pool, with_store = Folder(include, "pool", "pool"), Folder(include, "with_store", "pool", "resource_store")
    guards = guards_of_tree()
    products = products_of_tree()

    cases = [(f"the whole {' '.join(flags)} ({compiler})",
              lambda compiler=compiler, flags=flags: whole.compile(compiler, "alone.cc", *flags))
             for compiler in present for flags in ([], BARE)]
    included = {guard for path, guard in guards.items() if path not in APART and "/sizes/" not in path}  # that room is malloc's
    cases.append(("each header once", lambda: once(whole.text, included)))
    if len(guards) < LEAST_HEADERS or len(products) < LEAST_PRODUCTS:
        cases.append(("the tree", lambda: f"only {len(guards)} headers and {len(products)} products"))
    cases += [product_case(include, name, path, len(whole.text), present[0]) for name, path in sorted(products.items())]
    cases += program_cases(whole, present) + message_cases(pool, with_store, whole, present[0])
    cases += mixed_cases(whole, pool, present[0]) + mistakes(include, products)
    return compilers.report(small_cases(include) + cases)


if __name__ == "__main__":
    sys.exit(main())
