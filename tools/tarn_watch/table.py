"""What is shown of pools: their order, numbers as text, and a plain table for scripts. Needs the standard library only."""

from tarn_output import shown

SPARKS = "▁▂▃▄▅▆▇█"
HISTORY = 24  # looks that the sparkline shows

HELP = """\
sort by   n name   u in use   f full   c capacity   p peak   b bytes held   x refused
          r the other way round; the column's title shows which
scroll    j, k or the arrows; space and PgDn a page down, PgUp a page up
other     h this help   q the end

"in use" is exact, or followed by ~: a pool without a lock tells other threads the most that it can be.
"""

# {name for --sort: (key, title, how a pool is sorted, whether the largest comes first)}
ORDERS = {
    "name": ("n", "pool", lambda pool: shown(pool["name"]).lower(), False),
    "in-use": ("u", "in use", lambda pool: pool["in_use"], True),
    "full": ("f", "full", lambda pool: share(pool), True),
    "capacity": ("c", "capacity", lambda pool: pool["capacity"], True),
    "peak": ("p", "peak", lambda pool: pool["peak"], True),
    "held": ("b", "held", lambda pool: pool["bytes_held"], True),
    "refused": ("x", "refused", lambda pool: pool["refused"], True),
}


def share(pool):
    """What part of a pool's blocks is in use."""
    return pool["in_use"] / pool["capacity"] if pool["capacity"] else 0.0


def identity(pool):
    return pool["name"], pool["address"]


def in_order(pools, order, reverse):
    _, _, value, largest_first = ORDERS[order]
    by_name = sorted(pools, key=lambda pool: (shown(pool["name"]).lower(), pool["address"]))
    return sorted(by_name, key=value, reverse=largest_first != reverse)


def in_bytes(number):
    """1234567 as 1.2M."""
    for unit in ("", "K", "M", "G"):
        if number < 1024:
            return f"{number:.0f}{unit}" if unit == "" or number >= 100 else f"{number:.1f}{unit}"
        number /= 1024
    return f"{number:.1f}T"


def spark(history):
    """The history of a pool's blocks in use; the highest of them is a full cell."""
    most = max(history, default=0) or 1
    return "".join(SPARKS[min(len(SPARKS) - 1, value * len(SPARKS) // (most + 1))] for value in history[-HISTORY:])


def plain_lines(pools):
    """Lines of a table whose columns are separated by blanks, numbers whole, and a name last, since it may have blanks."""
    titles = ("in_use", "capacity", "peak", "waiting", "chunks", "bytes_held", "growths", "refused", "block_size")
    rows = [[str(pool[title]) for title in titles] for pool in pools]
    widths = [max(len(cell) for cell in column) for column in zip(titles, *rows)]
    lines = [" ".join(cell.rjust(width) for cell, width in zip(cells, widths)) for cells in (titles, *rows)]
    return [f"{line}  {name}" for line, name in zip(lines, ["name", *(shown(pool["name"]) for pool in pools)])]
