"""The pools as a table of rich: one for the screen, with bars, and a plain one for scripts."""

from rich.style import Style
from rich.table import Table
from rich.text import Text

SPARKS = "▁▂▃▄▅▆▇█"
BAR, BAR_EMPTY = "█", "░"
BAR_WIDTH = 16
HISTORY = 24  # looks that the sparkline shows

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


def shown(name):
    """A name without what would move the cursor."""
    return "".join(c if c.isprintable() else "?" for c in name)


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


def bar(pool, width=BAR_WIDTH):
    part = share(pool)
    filled = min(width, round(part * width))
    if pool["in_use"] and not filled:
        filled = 1
    colour = "red" if part >= 0.9 else "yellow" if part >= 0.7 else "green"
    return Text.assemble((BAR * filled, colour), (BAR_EMPTY * (width - filled), "bright_black"))


def spark(history):
    """The history of a pool's blocks in use; the highest of them is a full cell."""
    most = max(history, default=0) or 1
    return "".join(SPARKS[min(len(SPARKS) - 1, value * len(SPARKS) // (most + 1))] for value in history[-HISTORY:])


def screen_table(pools, histories, order, reverse):
    """\\param histories {identity: [blocks in use]}"""
    table = Table(box=None, padding=(0, 1, 0, 0), expand=False, header_style=Style(bold=True))
    mark = ORDERS[order][1]
    arrow = "▲" if ORDERS[order][3] == reverse else "▼"

    def column(title, **how):
        table.add_column(title + (arrow if title == mark else ""), no_wrap=True, **how)

    column("pool", max_width=32, overflow="ellipsis")
    for title in ("in use", "capacity"):
        column(title, justify="right")
    column("full", justify="right")
    table.add_column("", width=BAR_WIDTH, no_wrap=True)
    for title in ("peak", "held", "refused"):
        column(title, justify="right")
    table.add_column("in use, lately", min_width=HISTORY, no_wrap=True)
    for pool in pools:
        refused = Text(str(pool["refused"]), style="red" if pool["refused"] else "")
        table.add_row(Text(shown(pool["name"])), str(pool["in_use"]) + ("" if pool["is_exact"] else "~"),
                      str(pool["capacity"]), f"{share(pool):.0%}", bar(pool), str(pool["peak"]),
                      in_bytes(pool["bytes_held"]), refused, Text(spark(histories.get(identity(pool), [])), style="cyan"))
    return table


def plain_lines(pools):
    """Lines of a table whose columns are separated by blanks, numbers whole, and a name last, since it may have blanks."""
    titles = ("in_use", "capacity", "peak", "waiting", "chunks", "bytes_held", "growths", "refused", "block_size")
    rows = [[str(pool[title]) for title in titles] for pool in pools]
    widths = [max(len(cell) for cell in column) for column in zip(titles, *rows)]
    lines = [" ".join(cell.rjust(width) for cell, width in zip(cells, widths)) for cells in (titles, *rows)]
    return [f"{line}  {name}" for line, name in zip(lines, ["name", *(shown(pool["name"]) for pool in pools)])]
