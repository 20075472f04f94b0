#!/usr/bin/env python3
"""Checks that every header lies in a room, that rooms include only what the table allows, that only policies/platform knows
compilers and systems, and that test/ mirrors the rooms. A case is a room and one of these, or all tests.

docs/design.md says what happens in each room; here stands who may look into which.
"""

import glob
import os
import re
import sys

import check_lengths
import compilers

# {room: (the files that lie in it, the rooms whose headers they may include beside their own)}.
ROOMS = {
    "policies/platform": (r"(policies/platform/\w+|version)\.h", ()),
    "policies/detail": (r"policies/detail/\w+\.h", ("policies/platform", "policies")),
    "policies": (r"policies/(\w+/)?\w+\.h", ("policies/platform", "policies/detail")),
    "compose": (r"allocator/detail/compose/\w+\.h", ("policies", "policies/detail", "policies/platform")),
    "core": (r"allocator/detail/core/\w+\.h", ("policies", "policies/detail", "policies/platform")),
    "pool": (r"allocator/detail/pool/\w+\.h", ("compose", "core", "policies", "policies/detail", "policies/platform")),
    "sizes": (r"allocator/detail/sizes/\w+\.h", ("policies", "policies/detail", "policies/platform")),
    "arena": (r"allocator/detail/arena/\w+\.h",
              ("product parts", "pool", "core", "compose", "policies", "policies/detail", "policies/platform")),
    "classes": (r"allocator/detail/classes/\w+\.h",
                ("products", "product parts", "pool", "core", "compose", "policies", "policies/detail", "policies/platform")),
    "product parts": (r"allocator/detail/\w+\.h", ("policies/platform",)),
    "products": (r"allocator/\w+\.h",
                 ("product parts", "arena", "classes", "pool", "compose", "policies", "policies/detail", "policies/platform")),
}

# What only this room may do: ask for a compiler's or a system's name, use what compilers add to the language, and include what
# isn't the standard library's.
KNOWS_SYSTEMS = "policies/platform"

# Names that begin with two underscores, or with one and a capital, belong to compilers and systems. These are the standard's.
STANDARD_NAME = re.compile(r"__(cpp_\w+|STDCPP_\w+|cplusplus|has_include|has_cpp_attribute|VA_ARGS__|VA_OPT__|FILE__|LINE__|"
                           r"func__)")
FOREIGN_WORD = re.compile(r"\b(_[_A-Z]\w*|asm|typeof|linux|unix|WIN32)\b|#\s*pragma\b.*|"
                          r"\[\[\s*(using\s+)?(gnu|clang|msvc)\s*:.*?\]\]")
STANDARD_HEADERS = set("""
    algorithm any array atomic barrier bit bitset cassert cctype cerrno cfenv cfloat charconv chrono cinttypes climits clocale
    cmath codecvt compare complex concepts condition_variable coroutine csetjmp csignal cstdarg cstddef cstdint cstdio cstdlib
    cstring ctime cuchar cwchar cwctype deque exception execution expected filesystem flat_map flat_set format forward_list
    fstream functional future generator initializer_list iomanip ios iosfwd iostream istream iterator latch limits list locale
    map mdspan memory memory_resource mutex new numbers numeric optional ostream print queue random ranges ratio regex
    scoped_allocator semaphore set shared_mutex source_location span spanstream sstream stack stacktrace stdexcept stdfloat
    stop_token streambuf string string_view strstream syncstream system_error thread tuple type_traits typeindex typeinfo
    unordered_map unordered_set utility valarray variant vector version""".split())


def room_of(header):
    return next((room for room, (pattern, _) in ROOMS.items() if re.fullmatch(pattern, header)), None)


def complaints(header, text):
    """What is wrong with the header and its includes, a line each."""
    room = room_of(header)
    if room is None:
        return [f"{header} is in no room"]
    said = []
    for other in re.findall(r'^#include "tarn/([^"]+)"', text, re.MULTILINE):
        its = room_of(other)
        if its is None:
            said.append(f"{header} includes {other}, which is in no room")
        elif its != room and its not in ROOMS[room][1]:
            said.append(f"{header} ({room}) includes {other} ({its})")
    return said


def dialect(header, text):
    """What it says that the C++ standard doesn't know, a line each."""
    said = []
    for number, line in enumerate(check_lengths.stripped(text).split("\n"), 1):
        included = re.match(r"\s*#\s*include\s*<(.*?)>", line)
        if included and included[1] not in STANDARD_HEADERS:
            said.append(f"{header}:{number} includes <{included[1]}>, which is no header of the standard library")
        words = [] if included else [found[0] for found in FOREIGN_WORD.finditer(line)]
        said += [f"{header}:{number} says {word}, which is a compiler's or a system's: that belongs into {KNOWS_SYSTEMS}"
                 for word in words if not STANDARD_NAME.fullmatch(word)]
    return said


def cases(headers, read):
    """Cases for each room: its headers, and the arrows that leave it; and that it knows no compiler or system."""
    by_room = {}
    for header in headers:
        by_room.setdefault(room_of(header), []).append(header)

    def case(what, room, wrong):
        def run():
            said = [line for header in by_room[room] for line in wrong(header, read(header))]
            return "\n".join(said) or None

        return f"{room or 'no room'}: {what.format(len(by_room[room]))}", run

    rooms = [room for room in (*ROOMS, None) if room in by_room]
    return [case("{} headers", room, complaints) for room in rooms] + \
        [case("standard C++ in {} headers", room, dialect) for room in rooms if room != KNOWS_SYSTEMS]


ONE_IN_PROCESS = re.compile(r"one_in_process<(\w+), (0x[0-9a-f]+)>")


def numbers(headers, read):
    """A case: objects of which the process has one are found by numbers, and no two have the same."""
    objects = {}
    for header in headers:
        for name, number in ONE_IN_PROCESS.findall(read(header)):
            objects.setdefault(number, set()).add(name)

    def run():
        if not objects:
            return "there are none"
        twice = {number: names for number, names in objects.items() if len(names) != 1}
        return "\n".join(f"{number}: {', '.join(sorted(names))}" for number, names in twice.items()) or None

    return f"numbers of {len(objects)} objects of which the process has one", run


def tests(paths):
    """A case for the files of a tree: what lies below test/policies and test/allocator has the folder of a room."""
    rooms = {folder for path in paths if room_of(path) for folder in (os.path.dirname(path), path.removesuffix(".h"))}
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

    found = glob.glob("policies/**/*.h", recursive=True) + glob.glob("allocator/**/*.h", recursive=True) + ["version.h"]
    picture = [(draw_rooms.PICTURE, draw_rooms.difference)]
    headers = [header for header in sorted(found) if "_virtual_includes" not in header]
    return compilers.report(cases(headers, read) + [numbers(headers, read), tests(check_lengths.tree()[1])] + picture)


if __name__ == "__main__":
    sys.exit(main())
