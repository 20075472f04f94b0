"""The command: its arguments, what it reads, prints and writes."""

import argparse
import json
import os
import shlex
import sys

from tarn_migrate import edits, reading, rewriting

USAGE = """Rewrites the plain uses of Boost.Pool and of the old pool macros to tarn, and shows the difference.

What isn't plain stays as it is, with a comment '// tarn-migrate: why' above it, and is listed at the end. Programs are read by
libclang (pip install libclang==18.1.1): code that doesn't compile is refused, and then nothing is changed."""


def arguments(given):
    flags = []
    if "--" in given:
        flags = given[given.index("--") + 1:]
        given = given[:given.index("--")]
    parser = argparse.ArgumentParser(prog="tarn-migrate", description=USAGE,
                                     formatter_class=argparse.RawDescriptionHelpFormatter,
                                     usage="%(prog)s [--write] [--root DIR] [-p FOLDER] [SOURCE]... [-- FLAG...]")
    parser.add_argument("sources", nargs="*", metavar="SOURCE", help="a file to compile; default: all of compile_commands.json")
    parser.add_argument("-p", dest="commands", metavar="FOLDER", help="where compile_commands.json lies")
    parser.add_argument("--root", default=".", metavar="DIR", help="only files below it are changed (default: this folder)")
    parser.add_argument("--write", action="store_true", help="writes the files; without it, nothing is written")
    parser.add_argument("--version", action="version", version="tarn-migrate 1, libclang " + reading.LIBCLANG)
    said = parser.parse_args(given)
    if not said.sources and not said.commands:
        parser.error("name sources, or a folder with compile_commands.json by -p")
    if flags and said.commands:
        parser.error("give flags after --, or -p: not both")
    return said, flags


def units_of(said, flags):
    """[(source, flags)] to compile."""
    if not said.commands:
        return [(os.path.abspath(source), flags) for source in said.sources]
    path = os.path.join(said.commands, "compile_commands.json")
    try:
        with open(path, encoding="utf-8") as file:
            entries = json.load(file)
    except (OSError, ValueError, RecursionError) as error:
        raise reading.Refused(f"{path}: {error}") from None
    is_text = lambda entry, name: isinstance(entry.get(name), str)
    for entry in entries if isinstance(entries, list) else [None]:
        words = entry.get("arguments") if isinstance(entry, dict) else None
        if not isinstance(entry, dict) or not is_text(entry, "directory") or not is_text(entry, "file") or not (
                isinstance(words, list) and all(isinstance(word, str) for word in words) or is_text(entry, "command")):
            raise reading.Refused(f"{path}: it is no list of commands, each with directory, file and arguments")
    wanted = {os.path.abspath(source) for source in said.sources}
    found = []
    for entry in entries:
        source = os.path.normpath(os.path.join(entry["directory"], entry["file"]))
        try:
            words = entry.get("arguments") or shlex.split(entry.get("command", ""))
        except ValueError as error:  # a quotation mark that is never closed
            raise reading.Refused(f"{path}: {source}: {error}") from None
        if not wanted or source in wanted:
            found.append((source, reading.flags_of(words[1:], entry["directory"], source)))
    missing = wanted - {source for source, _ in found}
    if missing:
        raise reading.Refused(f"{path} has no entry for {', '.join(sorted(missing))}")
    return found


def main(given=None):
    said, flags = arguments(sys.argv[1:] if given is None else given)
    try:
        root = os.path.realpath(said.root)
        program = reading.read(units_of(said, flags), root)
        changes = rewriting.plan(program)
    except reading.Refused as refused:
        print(f"tarn-migrate: {refused}; nothing was changed", file=sys.stderr)
        return 2
    texts = edits.apply(changes, program.texts)
    for path, text in sorted(texts.items()):
        sys.stdout.write(edits.difference(os.path.relpath(path, root), program.texts[path], text))
    for path, line, why in sorted(set(changes.left)):
        print(f"left: {os.path.relpath(path, root)}:{line}: {why}")
    if said.write:
        edits.write(texts)
    lines = sum(edits.changed_lines(program.texts[path], text) for path, text in texts.items())
    print(f"{len(texts)} files, {lines} lines {'changed' if said.write else 'to change'}, {len(set(changes.left))} places left")
    return 0
