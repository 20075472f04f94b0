"""tarn-map's command line."""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

from tarn_output import one_line, shown
from . import maps, picture

HERE = os.path.dirname(os.path.abspath(__file__))
SCRIPT = os.path.join(HERE, "..", "gdb", "tarn.py")

EPILOG = """\
examples:
  tarn-map --program game --pid 4711 --times 5 --html map.html     five looks at a running process, a second apart
  tarn-map --program game --core core --svg map.svg                a core dump
  tarn-map maps.json --html map.html                               what the debuggers' commands wrote: pool map maps.json

The page needs nothing besides itself. The wheel zooms, the pointer tells of a block, the slider goes through the maps.
"""


class Failed(Exception):
    """What went wrong, in words."""


def looked_at(arguments, file):
    """Lets gdb write maps of a process or of a core dump."""
    gdb = shutil.which("gdb")
    if gdb is None:
        raise Failed("gdb isn't installed, which looks at the program")
    if not os.path.exists(arguments.program):
        raise Failed(f"{arguments.program}: no such program")
    target = [arguments.core] if arguments.core else ["-p", str(arguments.pid)]
    for number in range(arguments.times):
        if number:
            time.sleep(arguments.every)
        said = subprocess.run([gdb, "-q", "-batch", "-ex", "set debuginfod enabled off", arguments.program, *target, "-ex",
                               f"source {SCRIPT}", "-ex", f"pool map {' '.join([file, *arguments.pool])}"],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              errors="replace", check=False).stdout
        if f"map {number + 1}, of" not in said:
            raise Failed("gdb couldn't look at the pools: " + "; ".join(said.strip().splitlines()[-4:]))


def page(found):
    """The HTML page of these maps."""
    with open(os.path.join(HERE, "page.html"), encoding="utf-8") as file:
        text = file.read()
    data = [{"label": one.label, "pools": [{
        "name": pool.name, "block_size": pool.block_size, "stride": pool.stride, "run": pool.run, "policies": pool.policies,
        "chunks": [{"first": f"{chunk.first:#x}", "states": "".join(f"{letter}{n}" for letter, n in chunk.runs)}
                   for chunk in pool.chunks]} for pool in one.pools]} for one in found]
    within = json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")  # so that no name ends the script
    return text.replace("/*MAPS*/[]", within).replace("/*STATES*/{}", json.dumps(maps.STATES))


def write(path, text):
    try:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    except (OSError, ValueError) as error:
        raise Failed(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    print(f"{path} written")


def chosen(found, names):
    for one in found:
        one.pools = [pool for pool in one.pools if not names or pool.name in names]
    if not any(one.pools for one in found):
        raise Failed(f"no pool is called {' or '.join(names)}")
    return found


def work(arguments):
    if arguments.program:
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "maps.json")
            looked_at(arguments, file)
            found = maps.read(file)
    else:
        try:
            found = maps.read(arguments.file)
        except (maps.Malformed, OSError, ValueError) as error:
            raise Failed(f"{arguments.file}: {getattr(error, 'strerror', None) or error}") from error
    chosen(found, arguments.pool)
    if arguments.html:
        write(arguments.html, page(found))
    if arguments.svg:
        last = next(one for one in reversed(found) if one.pools)
        largest = max(last.pools, key=lambda pool: pool.blocks())
        write(arguments.svg, picture.svg(largest, f"map {last.label}" if len(found) > 1 else ""))
    if not arguments.html and not arguments.svg:
        for one in found:
            for pool in one.pools:
                counts = ", ".join(f"{maps.STATES[letter][0]} {n}" for letter, n in pool.counts().items() if n)
                print(f"map {shown(one.label)}: {shown(pool.name)}: {counts}")


def main():
    parser = argparse.ArgumentParser(
        prog="tarn-map", epilog=EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Draws what lies in the chunks of a program's pools: of each block, whether it is in use, free, or new.")
    parser.add_argument("file", nargs="?", help="maps, as a debugger's command wrote them")
    parser.add_argument("--program", help="the program to look at, compiled with -g; gdb does that")
    parser.add_argument("--core", help="its core dump")
    parser.add_argument("--pid", type=int, help="its process, which stands still for a moment")
    parser.add_argument("--times", type=int, default=1, help="how many maps of a process (1)")
    parser.add_argument("--every", type=float, default=1.0, metavar="SECONDS", help="between two maps (1)")
    parser.add_argument("--pool", action="append", default=[], metavar="NAME", help="only this pool; may be repeated")
    parser.add_argument("--html", metavar="FILE", help="writes a page")
    parser.add_argument("--svg", metavar="FILE", help="writes a picture: of the last map, and its largest pool")
    arguments = parser.parse_args()
    if bool(arguments.file) == bool(arguments.program):
        parser.error("name a file of maps, or --program")
    if arguments.program and bool(arguments.core) == bool(arguments.pid):
        parser.error("--program needs --core or --pid")
    if arguments.times < 1 or arguments.every < 0:
        parser.error("--times and --every can't be negative, and one map is the least")
    try:
        work(arguments)
    except (Failed, maps.Malformed) as error:
        print(f"tarn-map: {one_line(str(error))}", file=sys.stderr)
        return 2
    return 0
