"""A map as SVG: each chunk begins a line, each block is a cell. Of pools with many blocks, a cell stands for several."""

import html

from tarn_output import shown
from . import maps

MOST_CELLS = 40_000
WIDTH = 1024  # of the cells, in pixels
STYLE = """
text { font: 13px sans-serif; fill: #222; } .small { font-size: 11px; fill: #555; } .page { fill: #fff; }
.n { fill: #d9d9d9; } .edge { fill: none; stroke: #888; stroke-width: .5; }
@media (prefers-color-scheme: dark) {
  text { fill: #eee; } .small { fill: #aaa; } .page { fill: #16181b; } .n { fill: #3a3d42; } .edge { stroke: #777; } }
"""


def cells(chunk, each):
    """The state of each cell of `each` blocks: the most frequent one."""
    found, counts, left = [], {}, each
    for letter, n in chunk.runs:
        while n:
            some = min(n, left)
            if some == each and left == each:
                whole = n // each
                found += [letter] * whole
                n -= whole * each
                continue
            counts[letter] = counts.get(letter, 0) + some
            n -= some
            left -= some
            if left == 0:
                found.append(max(counts, key=counts.get))
                counts, left = {}, each
    if counts:
        found.append(max(counts, key=counts.get))
    return found


def svg(pool, label):
    """The picture of one pool."""
    each = max(1, -(-pool.blocks() // MOST_CELLS))
    number = pool.blocks() // each
    size = 16 if number <= 2_000 else 8 if number <= 20_000 else 4  # pixels of a cell
    merges = number > 4_000  # neighbours in one state are one rectangle
    across = WIDTH // size
    parts, y = [], 72
    for chunk in pool.chunks:
        line = cells(chunk, each)
        parts.append(f'<text class="small" x="16" y="{y + 10}">{chunk.first:#x}, {chunk.blocks} blocks</text>')
        y += 16
        for start in range(0, len(line), across):
            row, at = line[start:start + across], 0
            while at != len(row):
                end = at + 1
                while merges and end != len(row) and row[end] == row[at]:
                    end += 1
                colour = maps.STATES[row[at]][1]
                paint = f'fill="{colour}"' if colour else 'class="n"'
                parts.append(f'<rect x="{16 + at * size}" y="{y}" width="{(end - at) * size - 1}" height="{size - 1}" '
                             f"{paint}/>")
                at = end
            y += size
        y += 8
    legend, x = [], 16
    for letter, n in pool.counts().items():
        if n == 0:
            continue
        words, colour = maps.STATES[letter]
        paint = f'fill="{colour}"' if colour else 'class="n"'
        legend.append(f'<rect x="{x}" y="42" width="12" height="12" {paint}/><rect x="{x}" y="42" width="12" height="12" '
                      f'class="edge"/><text x="{x + 18}" y="53">{words}: {n}</text>')
        x += 40 + 6 * len(f"{words}: {n}")
    title = f"{shown(pool.name)}: {pool.blocks()} blocks of {pool.block_size} bytes in {len(pool.chunks)} chunks"
    if each != 1:
        title += f"; a cell is {each} blocks, in the state that most of them have"
    across, down = WIDTH + 32, y + 16
    return ('<svg xmlns="http://www.w3.org/2000/svg" role="img" '
            f'viewBox="0 0 {across} {down}" width="{across}" height="{down}">'
            f"<title>{html.escape(title)}</title><style>{STYLE}</style>"
            '<rect class="page" width="100%" height="100%"/>'
            f'<text x="16" y="26">{html.escape(title)}{", " + html.escape(shown(label)) if label else ""}</text>'
            + "".join(legend) + "".join(parts) + "</svg>\n")
