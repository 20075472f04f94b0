"""tools/tarn-migrate on the programs of fixtures/.

X_before.cc becomes X_after.cc, byte by byte; both compile and print the same; a second run changes nothing. In left_X.cc each
line that ends with `// left: NAME` is left, for that reason of tools/tarn_migrate/reasons.py, and no other; the program with
the comments, and with the rest rewritten, prints what it printed before. Each reason has such a line.
"""

import difflib
import functools
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
FIXTURES = os.path.join(HERE, "fixtures")
STAND_INS = os.path.join(HERE, "stand_ins")
FLAGS = ["-std=c++20", "-I" + STAND_INS]


def tool():
    from tarn_migrate import edits, reading, reasons, rewriting
    return edits, reading, reasons, rewriting


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def migrated(text, flags=(), headers=()):
    """(the new text, [(line, why)]) of a program in one file."""
    edits, reading, _, rewriting = tool()
    with tempfile.TemporaryDirectory() as work:
        work = os.path.realpath(work)
        path = os.path.join(work, "program.cc")
        write(path, text)
        for name, words in headers:
            write(os.path.join(work, name), words)
        program = reading.read([(path, [*FLAGS, *flags])], work)
        changes = rewriting.plan(program)
        new = edits.apply(changes, program.texts).get(path, text.encode()).decode()
    return new, sorted({(line, why) for _, line, why in changes.left})


def prints(text, root):
    """What a program prints. With warnings as errors, but for what isn't ours."""
    with tempfile.TemporaryDirectory() as work:
        path, program = os.path.join(work, "program.cc"), os.path.join(work, "program")
        write(path, text)
        done = subprocess.run(["g++", *FLAGS, "-I" + root, "-Wall", "-Wextra", "-Werror", "-pthread", path, "-o", program],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600, check=False)
        if done.returncode:
            return "doesn't compile:\n" + done.stdout
        done = subprocess.run([program], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120, check=False)
        return f"exit status {done.returncode}\n{done.stdout}"


def difference(got, wanted):
    return "".join(difflib.unified_diff(wanted.splitlines(True), got.splitlines(True), "wanted", "got")) or None


def rewritten(before, after):
    new, left = migrated(before)
    if left:
        return f"something is left: {left}"
    return difference(new, after)


def prints_the_same(before, after, root):
    first = prints(before, root)
    if not first.startswith("exit status 0"):
        return first
    return difference(prints(after, root), first)


def again(after):
    new, left = migrated(after, ["-I" + after_root()])
    return f"something is left: {left}" if left else difference(new, after)


@functools.lru_cache(None)
def after_root():
    import compilers
    return compilers.include_root()


def wanted_reasons(text):
    """[(line, name)] of the marks `// left: NAME`."""
    return [(number, name) for number, line in enumerate(text.splitlines(), 1)
            for name in re.findall(r"// left: (\w+)", line)]


def left(text, root):
    """What is wrong with what is left of a program, or None."""
    edits, _, reasons, _ = tool()
    new, found = migrated(text)
    names = {value: name for name, value in vars(reasons).items() if name.isupper()}
    said = [(line, "STAYS" if why.startswith(reasons.STAYS) else names.get(why, why)) for line, why in found]
    if said != wanted_reasons(text):
        return difference("\n".join(map(str, said)), "\n".join(map(str, wanted_reasons(text))))
    # Nothing of a line that is left has changed, and its comment stands above it.
    lines = new.splitlines()
    for line, why in found:
        old = text.splitlines()[line - 1]
        at = lines.index(old) if old in lines else 0
        if at == 0 or lines[at - 1].strip() != edits.MARK + why:
            return f"line {line} has changed, or has no comment above it:\n{new}"
    problem = prints_the_same(text, new, root)
    if problem:
        return problem
    twice, _ = migrated(new, ["-I" + root])
    return difference(twice, new)


def every_reason(texts):
    _, _, reasons, _ = tool()
    known = {name for name in vars(reasons) if name.isupper()}
    shown = {name for text in texts for _, name in wanted_reasons(text)}
    missing = sorted(known - shown)
    return f"no program shows {', '.join(missing)}" if missing else None


# ---- the command


def run_command(*words):
    # A process of its own: what it prints is its own, whatever runs beside it.
    done = subprocess.run([sys.executable, "-B", os.path.join(ROOT, "tools", "tarn-migrate"), *words], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=300, check=False,
                          env={**os.environ, "PYTHONPATH": os.path.join(ROOT, "build", "migration", "python")})
    return done.returncode, done.stdout, done.stderr


SMALL = '#include "xallocator.h"\nint main() { xfree(xmalloc(4)); }\n'
SMALL_AFTER = '#include "tarn/allocator/xmalloc.h"\nint main() { tarn::xfree(tarn::xmalloc(4)); }\n'


def refused(text, words, *more):
    """A program or a command line that must be refused with a sentence, and change nothing."""
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, "program.cc")
        write(path, text)
        status, out, err = run_command("--write", "--root", work, *(more or [path, "--", *FLAGS]))
        if status != 2 or words not in err or out:
            return f"status {status}, printed\n{out}and said\n{err}"
        return difference(read(path), text)


def refused_lists():
    """A compile_commands.json that is none is refused with a sentence, in one line."""
    with tempfile.TemporaryDirectory() as work:
        for text, words in [("[1]", "no list of commands"), ("null", "no list of commands"), ('[{"directory": 1}]', "no list"),
                            ('[{"directory": "/", "file": "x.cc"}]', "no list of commands"), ("[" * 100_000, "recursion"),
                            ('[{"directory": "/", "file": "x.cc", "command": "g++ \\"x"}]', "No closing quotation")]:
            write(os.path.join(work, "compile_commands.json"), text)
            status, out, err = run_command("-p", work)
            if status != 2 or words not in err or err.count("\n") != 1 or out:
                return f"{text[:50]}: status {status}, printed\n{out}and said\n{err}"
    return None


def shows_and_writes():
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, "program.cc")
        write(path, SMALL)
        status, out, _ = run_command("--root", work, path, "--", *FLAGS)
        if status or "\n-int main() { xfree(xmalloc(4)); }\n" not in out or "\n+int main() { tarn::" not in out:
            return f"status {status}\n{out}"
        if read(path) != SMALL:
            return "it wrote without --write"
        status, out, _ = run_command("--write", "--root", work, path, "--", *FLAGS)
        if status or "1 files, 2 lines changed, 0 places left" not in out:
            return f"status {status}\n{out}"
        return difference(read(path), SMALL_AFTER)


def several_files():
    """A header that two sources include, by compile_commands.json; another folder's header is left alone."""
    header = '#include <boost/pool/object_pool.hpp>\nusing numbers = boost::object_pool<int>;\n'
    source = '#include "numbers.h"\nint NAME(numbers& n) { return *n.construct(3); }\n'
    with tempfile.TemporaryDirectory() as work:
        inside, outside = os.path.join(work, "in"), os.path.join(work, "out")
        os.makedirs(inside)
        os.makedirs(outside)
        write(os.path.join(inside, "numbers.h"), header)
        write(os.path.join(outside, "other.h"), '#include "xallocator.h"\ninline void* four() { return xmalloc(4); }\n')
        entries = []
        for name in ("one", "two"):
            write(os.path.join(inside, name + ".cc"), '#include "../out/other.h"\n' + source.replace("NAME", name))
            entries.append({"directory": inside, "file": name + ".cc",
                            "command": f"g++ -std=c++20 -Wall -O2 -I{STAND_INS} -c {name}.cc -o {name}.o"})
        write(os.path.join(work, "compile_commands.json"), json.dumps(entries))
        status, out, err = run_command("--write", "--root", inside, "-p", work)
        if status or "3 files, 4 lines changed, 0 places left" not in out:
            return f"status {status}\n{out}{err}"
        if "xmalloc(4)" not in read(os.path.join(outside, "other.h")):
            return "it changed a file that isn't below the root"
        return difference(read(os.path.join(inside, "numbers.h")),
                          '#include "tarn/allocator/object_pool.h"\nusing numbers = tarn::object_pool<int>;\n')


def in_an_argument():
    """A call that stands in an argument of a macro is rewritten where it was written."""
    before = ('#include <boost/pool/pool.hpp>\n#include <cassert>\n'
              'void f() {\n  boost::pool<> p(8);\n  assert(p.is_from(p.malloc()));\n}\n')
    after = ('#include "tarn/allocator/pool.h"\n#include <cassert>\n'
             'void f() {\n  tarn::pool<tarn::static_size<8>> p;\n  assert(p.owns(p.try_allocate()));\n}\n')
    return rewritten(before, after)


def endings_stay():
    """Line ends of another system, and bytes that are no UTF-8, stay."""
    edits, reading, _, rewriting = tool()
    text = SMALL.replace("\n", "\r\n").encode() + b"// \xe4\r\n// no end"
    with tempfile.TemporaryDirectory() as work:
        work = os.path.realpath(work)
        path = os.path.join(work, "program.cc")
        with open(path, "wb") as file:
            file.write(text)
        program = reading.read([(path, FLAGS)], work)
        new = edits.apply(rewriting.plan(program), program.texts)[path]
    wanted = SMALL_AFTER.replace("\n", "\r\n").encode() + b"// \xe4\r\n// no end"
    return None if new == wanted else f"wanted {wanted}\ngot {new}"


def cases(root):
    found = []
    for path in sorted(glob.glob(os.path.join(FIXTURES, "*_before.cc"))):
        name, before = os.path.basename(path).removesuffix("_before.cc"), read(path)
        after = read(path.replace("_before.cc", "_after.cc"))
        found += [(f"tarn-migrate: {name} becomes what it should", functools.partial(rewritten, before, after)),
                  (f"tarn-migrate: {name} prints the same", functools.partial(prints_the_same, before, after, root)),
                  (f"tarn-migrate: {name} a second time", functools.partial(again, after))]
    programs = {os.path.basename(path): read(path) for path in sorted(glob.glob(os.path.join(FIXTURES, "left_*.cc")))}
    found += [(f"tarn-migrate: {name}", functools.partial(left, text, root)) for name, text in programs.items()]
    found.append(("tarn-migrate: every reason has a program", functools.partial(every_reason, programs.values())))
    found += [
        ("tarn-migrate: shows without writing, and writes", shows_and_writes),
        ("tarn-migrate: several files by compile_commands.json", several_files),
        ("tarn-migrate: a call in an argument of a macro", in_an_argument),
        ("tarn-migrate: line ends and bytes stay", endings_stay),
        ("tarn-migrate: refuses what doesn't compile",
         functools.partial(refused, SMALL + "int f() { return x; }\n", "undeclared")),
        ("tarn-migrate: refuses a missing header", functools.partial(refused, '#include "gone.h"\n' + SMALL, "gone.h")),
        ("tarn-migrate: refuses a missing file", functools.partial(refused, SMALL, "no such file", "/nowhere/x.cc")),
        ("tarn-migrate: refuses a missing list", functools.partial(refused, SMALL, "compile_commands.json", "-p", "/nowhere")),
        ("tarn-migrate: refuses lists of commands that are none", refused_lists),
        ("tarn-migrate: asks for sources", functools.partial(refused, SMALL, "name sources", "--write")),
    ]
    return found + self_tests(root)


def self_tests(root):
    """Shows that these checks fire."""
    before = read(os.path.join(FIXTURES, "x_containers_before.cc"))
    after = read(os.path.join(FIXTURES, "x_containers_after.cc"))
    objects = read(os.path.join(FIXTURES, "left_unknown.cc"))

    def fires(check, words):
        said = check()
        return None if said and words in said else f"it said {said!r}, without '{words}'"

    return [(f"mistake: {name}", functools.partial(fires, check, words)) for name, check, words in (
        ("a line that should stay", functools.partial(rewritten, before, after.replace("tarn::list", "xlist")), "xlist"),
        ("another output",
         functools.partial(prints_the_same, after, after.replace('"one two two"', '"one two one"'), root), "-2"),
        ("another reason", functools.partial(left, objects.replace("UNKNOWN", "BASE"), root), "BASE"),
        ("a reason without a program", functools.partial(every_reason, [objects]), "BASE"),
    )]
