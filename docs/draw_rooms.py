#!/usr/bin/env python3
"""Draws docs/rooms.svg: the rooms of the library, the files in each, and which room includes which.

    docs/draw_rooms.py            writes the picture
    docs/draw_rooms.py --check    writes nothing; exits with 1 where the picture isn't what would be written

Rooms are those of test/support/check_rooms.py, arrows come from the #include lines of the headers. Where A includes B and B
includes C, no arrow from A to C is drawn. So the picture changes with the structure, and not with every edit.
"""

import glob
import os
import re
import sys
import textwrap
from xml.sax.saxutils import escape

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path.insert(0, os.path.join(ROOT, "test/support"))
import check_rooms

PICTURE = "docs/rooms.svg"
LEGEND = "An arrow says: includes. Where A leads to B and B to C, an arrow from A to C is left out."
WIDTH, TOP, GAP, LINE, LETTER = 900, 20, 38, 18, 7.2  # all in pixels: of the picture, above it, between two rows; of the text

# {room: (row, left end, right end, what it is for)}, from top to bottom.
PLACES = {
    "products": (0, 20, 880, "what users include"),
    "classes": (1, 20, 620, "blocks of many sizes: a pool for each size class"),
    "arena": (1, 650, 880, "blocks that end all at once"),
    "pool": (2, 20, 620, "state, members, paths, growth, upstream"),
    "product parts": (2, 650, 880, "what several products share"),
    "compose": (3, 20, 300, "from policies to a type"),
    "core": (3, 340, 620, "chunks, and the free blocks in them"),
    "sizes": (3, 650, 880, "one cache a thread for blocks of many sizes, over spans"),
    "policies": (4, 20, 620, "the axes, and the policies with a file of their own"),
    "policies/detail": (5, 20, 620, "what several axes share"),
    "policies/platform": (6, 20, 880, "what knows a compiler or a system"),
}


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def headers():
    found = glob.glob("policies/**/*.h", recursive=True) + glob.glob("allocator/**/*.h", recursive=True)
    return sorted(header for header in found if "_virtual_includes" not in header)


def includes():
    """{room: the other rooms of which its headers include one}."""
    found = {room: set() for room in (*check_rooms.ROOMS, None)}
    for header in headers():
        room = check_rooms.room_of(header)
        others = re.findall(r'^#include "tarn/([^"]+)"', read(header), re.MULTILINE)
        found[room].update({check_rooms.room_of(other) for other in others} - {room})
    return found


def arrows(found):
    """(upper room, lower room, "down", "up" or "both")."""
    rooms = list(PLACES)
    downward = {a: {b for b in found[a] if b in rooms[i:]} for i, a in enumerate(rooms)}

    def reached(room):
        return downward[room].union(*map(reached, downward[room]))

    for i, a in enumerate(rooms):
        for b in rooms[i:]:
            if a in found[b]:
                yield a, b, "both" if b in found[a] else "up"
            elif b in found[a] and not any(b in reached(c) for c in downward[a]):
                yield a, b, "down"


def lines_of(room):
    """The text of a box below its name: what the room is for, and its files, those of an axis together."""
    _, left, right, what = PLACES[room]
    groups = {}
    for header in headers():
        if check_rooms.room_of(header) == room:
            folder, name = os.path.split(header[:-2])
            axis = (os.path.basename(folder) if folder != "policies" else name) if room == "policies" else ""
            groups.setdefault(axis, []).extend([] if name == axis else [name])
    texts = [": ".join(part for part in (axis, ", ".join(names)) if part) for axis, names in groups.items()]
    return [what, *(line for one in texts for line in textwrap.wrap(one, int((right - left - 20) / LETTER)))]


def height_of(room):
    return LINE * len(lines_of(room)) + 42


def top_of(room):
    """Rows lie below each other; a row is as high as its highest box."""
    rows = {}
    for one in PLACES:
        rows[PLACES[one][0]] = max(rows.get(PLACES[one][0], 0), height_of(one))
    return TOP + sum(rows[row] + GAP for row in range(PLACES[room][0]))


def column(a, b, taken):
    """Where a vertical line from one to the other crosses no third room and stands apart from other lines; or None."""
    (row_a, left_a, right_a, _), (row_b, left_b, right_b, _) = PLACES[a], PLACES[b]
    left, right = max(left_a, left_b), min(right_a, right_b)
    walls = [(low, high) for row, low, high, _ in PLACES.values() if row_a < row < row_b]
    fit = [x for x in range(left + 20, right - 19, 10) if not any(low - 30 < x < high + 30 for low, high in walls) and
           not any(abs(x - other) < 30 and first < row_b and row_a < last for other, first, last in taken)]
    return min(fit, key=lambda x: abs(2 * x - left - right)) if fit else None


def arrow(a, b, way, taken):
    x = column(a, b, taken)
    taken += [(x, PLACES[a][0], PLACES[b][0])] if x else []
    x1, x2 = (x or sum(PLACES[room][1:3]) // 2 for room in (a, b))
    tips = ' marker-end="url(#tip)"' * (way != "up") + ' marker-start="url(#tip)"' * (way != "down")
    return f'<line x1="{x1}" y1="{top_of(a) + height_of(a) + 2}" x2="{x2}" y2="{top_of(b) - 2}" stroke="#57606a"{tips}/>'


def text(x, y, line, more=' font-size="14"'):
    return f'<text x="{x}" y="{y}" text-anchor="middle"{more}>{escape(line)}</text>'


def box(room):
    _, left, right, _ = PLACES[room]
    fill, edge = ("#eaf5ea", "#4d8f57") if room.startswith("policies") else ("#e8f0fb", "#4a76b8")
    yield (f'<rect x="{left}" y="{top_of(room)}" width="{right - left}" height="{height_of(room)}" rx="6" fill="{fill}" '
           f'stroke="{edge}"/>')
    folder = os.path.dirname(check_rooms.ROOMS[room][0])
    name = room if room.startswith("policies") or right - left < 600 else f"{room}: {folder}"
    x, y = (left + right) // 2, top_of(room) + 24
    yield text(x, y, name, ' font-size="15" font-weight="bold"')
    for number, line in enumerate(lines_of(room)):
        y += LINE
        yield text(x, y, line, ' font-size="13"' + ('' if number else ' font-style="italic"'))


def picture():
    height, taken = max(top_of(room) + height_of(room) for room in PLACES) + 44, []
    drawn = [arrow(*one, taken) for one in arrows(includes())] + [line for room in PLACES for line in box(room)]
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"
    font-family="sans-serif" fill="#1f2328" stroke-width="1.5">
<title>The rooms of tarn, and which includes which</title>
<defs><marker id="tip" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" orient="auto-start-reverse">
<path d="M0 0L10 5L0 10z" fill="#57606a"/></marker></defs>
<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>
""" + "\n".join([*drawn, text(WIDTH // 2, height - 18, LEGEND), "</svg>", ""])


def difference():
    """What is wrong with the picture, or None."""
    if os.path.exists(PICTURE) and read(PICTURE) == picture():
        return None
    return f"{PICTURE} doesn't show what the headers include; run test/generate"


def main():
    os.chdir(ROOT)
    differing = sorted(set(check_rooms.ROOMS) ^ set(PLACES))
    if differing:
        sys.exit(f"docs/draw_rooms.py and test/support/check_rooms.py don't have the same rooms: {', '.join(differing)}")
    if "--check" not in sys.argv[1:]:
        with open(PICTURE, "w", encoding="utf-8") as file:
            file.write(picture())
    elif difference():
        sys.exit(difference())


if __name__ == "__main__":
    main()
