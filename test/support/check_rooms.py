#!/usr/bin/env python3
"""Checks that every header lies in a room, that rooms include only what the table allows, and that test/ mirrors the rooms. A
case is a room, or all tests.

docs/design.md says what happens in each room; here stands who may look into which.
"""

import glob
import os
import re
import sys

import check_lengths
import compilers

# {room: (the files that lie in it, the rooms whose headers they may include beside their own)}. In a pattern, <axis> is the
# name of an axis, which both sides then have in common.
ROOMS = {
    "policies/platform": (r"policies/platform/\w+\.h", ()),
    "policies/detail": (r"policies/detail/\w+\.h", ("policies/platform", "policies")),
    "policies/<axis>/detail": (r"policies/(?P<axis>\w+)/detail/\w+\.h", ("policies/platform", "policies/detail", "policies")),
    "policies": (r"policies/(\w+/)?\w+\.h", ("policies/platform", "policies/detail", "policies/<axis>/detail")),
    "compose": (r"allocator/detail/compose/\w+\.h", ("policies", "policies/detail", "policies/platform")),
    "core": (r"allocator/detail/core/\w+\.h", ("policies", "policies/detail", "policies/platform")),
    "pool": (r"allocator/detail/pool/\w+\.h", ("compose", "core", "policies", "policies/detail", "policies/platform")),
    "classes": (r"allocator/detail/classes/\w+\.h",
                ("products", "product parts", "pool", "core", "compose", "policies", "policies/detail", "policies/platform")),
    "product parts": (r"allocator/detail/\w+\.h", ("policies/platform",)),
    "products": (r"allocator/\w+\.h",
                 ("product parts", "classes", "pool", "compose", "policies", "policies/detail", "policies/platform")),
}


def room_of(header):
    """The room, and the axis whose own it is, or None."""
    for room, (pattern, _) in ROOMS.items():
        found = re.fullmatch(pattern, header)
        if found:
            return room, found.groupdict().get("axis") or axis_of(header)
    return None, None


def axis_of(header):
    """The axis of policies/<axis>.h and policies/<axis>/<policy>.h."""
    found = re.match(r"policies/(\w+)[/.]", header)
    return found and found.group(1)


def complaints(header, text):
    """What is wrong with the header and its includes, a line each."""
    room, axis = room_of(header)
    if room is None:
        return [f"{header} is in no room"]
    said = []
    for other in re.findall(r'^#include "tarn/([^"]+)"', text, re.MULTILINE):
        its_room, its_axis = room_of(other)
        if its_room is None:
            said.append(f"{header} includes {other}, which is in no room")
        elif its_room == room and (room != "policies/<axis>/detail" or its_axis == axis):
            continue
        elif its_room not in ROOMS[room][1]:
            said.append(f"{header} ({room}) includes {other} ({its_room})")
        elif its_room == "policies/<axis>/detail" and its_axis != axis:
            said.append(f"{header} includes {other}, which belongs to another axis")
    return said


def cases(headers, read):
    """A case for each room: its headers, and the arrows that leave it."""
    by_room = {}
    for header in headers:
        by_room.setdefault(room_of(header)[0], []).append(header)

    def case(room, its_headers):
        def run():
            said = [line for header in its_headers for line in complaints(header, read(header))]
            return "\n".join(said) or None

        return f"{room or 'no room'}: {len(its_headers)} headers", run

    named = [case(room, by_room[room]) for room in ROOMS if room in by_room]
    return named + ([case(None, by_room[None])] if None in by_room else [])


def tests(paths):
    """A case for the files of a tree: what lies below test/policies and test/allocator has the folder of a room."""
    rooms = {os.path.dirname(path) for path in paths if room_of(path)[0]}
    folders = sorted({os.path.dirname(path) for path in paths if re.match("test/(policies|allocator)/", path)})

    def run():
        if not folders:
            return "there are no tests below test/policies and test/allocator"
        return "\n".join(f"{folder} mirrors no room: no header lies in {folder[len('test/'):]}" for folder in folders
                         if folder[len("test/"):] not in rooms) or None

    return f"tests: {len(folders)} folders", run


def main():
    def read(header):
        with open(header, encoding="utf-8") as file:
            return file.read()

    sys.path.insert(0, "docs")
    import draw_rooms  # which imports this file

    found = glob.glob("policies/**/*.h", recursive=True) + glob.glob("allocator/**/*.h", recursive=True)
    picture = [(draw_rooms.PICTURE, draw_rooms.difference)]
    headers = [header for header in sorted(found) if "_virtual_includes" not in header]
    return compilers.report(cases(headers, read) + [tests(check_lengths.tree()[1])] + picture)


if __name__ == "__main__":
    sys.exit(main())
