"""tarn-top's screen. Needs rich."""

import collections
import os
import select
import sys
import termios
import threading
import tty

from rich.cells import cell_len
from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.style import Style
from rich.table import Table
from rich.text import Text

from tarn_output import shown
from . import asking, table

BAR, BAR_EMPTY = "█", "░"
BAR_WIDTH = 16
ARROWS = {"\x1b[A": "k", "\x1b[B": "j", "\x1bOA": "k", "\x1bOB": "j", "\x1b[5~": "PgUp", "\x1b[6~": " "}
TICK = 0.1  # seconds until a new answer, or another size of the terminal, is seen at the latest


def bar(pool, width=BAR_WIDTH):
    part = table.share(pool)
    filled = min(width, round(part * width))
    if pool["in_use"] and not filled:
        filled = 1
    colour = "red" if part >= 0.9 else "yellow" if part >= 0.7 else "green"
    return Text.assemble((BAR * filled, colour), (BAR_EMPTY * (width - filled), "bright_black"))


# What a narrow terminal goes without, the first first: a number is shown whole or not at all.
LEFT_OUT = ("in use, lately", "", "held", "peak", "full", "refused", "capacity")
WIDEST_NAME, LEAST_NAME = 32, 8


def cells(pool, history):
    """{title: cell}"""
    return {"pool": Text(shown(pool["name"])), "in use": Text(str(pool["in_use"]) + ("" if pool["is_exact"] else "~")),
            "capacity": Text(str(pool["capacity"])), "full": Text(f"{table.share(pool):.0%}"), "": bar(pool),
            "peak": Text(str(pool["peak"])), "held": Text(table.in_bytes(pool["bytes_held"])),
            "refused": Text(str(pool["refused"]), style="red" if pool["refused"] else ""),
            "in use, lately": Text(table.spark(history), style="cyan")}


def drawn_table(pools, histories, order, reverse, width):
    """\param histories {identity: [blocks in use]}"""
    drawn = Table(box=None, padding=(0, 1, 0, 0), expand=False, header_style=Style(bold=True))
    mark = table.ORDERS[order][1]
    arrow = "▲" if table.ORDERS[order][3] == reverse else "▼"
    rows = [cells(pool, histories.get(table.identity(pool), [])) for pool in pools]
    titles = ["pool", "in use", "capacity", "full", "", "peak", "held", "refused", "in use, lately"]
    widths = {title: max([cell_len(title) + (title == mark)] + [row[title].cell_len for row in rows]) for title in titles}
    widths["in use, lately"] = max(widths["in use, lately"], table.HISTORY)
    widths["pool"] = min(widths["pool"], WIDEST_NAME)

    def room_for_name():
        return width - sum(widths[title] + 1 for title in titles[1:]) - 1

    for title in LEFT_OUT:
        if room_for_name() < min(widths["pool"], LEAST_NAME):
            titles.remove(title)
    widths["pool"] = max(1, min(widths["pool"], room_for_name()))
    for title in titles:
        is_number = title not in ("pool", "", "in use, lately")
        drawn.add_column(title + (arrow if title == mark else ""), no_wrap=True, overflow="ellipsis", width=widths[title],
                         justify="right" if is_number else "left")
    for row in rows:
        drawn.add_row(*(row[title] for title in titles))
    return drawn


class Watcher(threading.Thread):
    """Asks once an interval, so that keys are answered meanwhile."""

    def __init__(self, options):
        super().__init__(daemon=True)
        self.options = options
        self.answers = collections.deque(maxlen=table.HISTORY)  # lists of pools, or texts that say why there is none
        self.ends = threading.Event()

    def run(self):
        while True:
            try:
                self.answers.append(asking.pools(self.options.socket, self.options.timeout))
            except asking.Unanswered as error:
                self.answers.append(str(error))
            except MemoryError:
                self.answers.append(f"{self.options.socket}: the answer needs more memory than there is")
            if self.ends.wait(self.options.interval):
                return


class Screen:
    """What is shown, and what keys change of it."""

    def __init__(self, options):
        self.options = options
        self.order, self.reverse = options.sort, options.reverse
        self.shows_help = False
        self.first = 0  # the pool in the first line
        self.pools = []
        self.histories = {}
        self.trouble = f"{options.socket}: asking"

    def take(self, answer):
        if isinstance(answer, str):
            self.trouble = answer
            return
        self.trouble = ""
        self.pools = answer
        old, self.histories = self.histories, {}
        for pool in answer:
            history = old.get(table.identity(pool)) or collections.deque(maxlen=table.HISTORY)
            history.append(pool["in_use"])
            self.histories[table.identity(pool)] = history

    def press(self, key, page):
        """Returns whether to go on."""
        if key in ("q", "\x03", "\x04"):
            return False
        for name, (letter, *_) in table.ORDERS.items():
            if key == letter:
                self.order, self.reverse = name, False
        self.reverse ^= key == "r"
        self.shows_help ^= key in ("h", "?")
        self.first += {"j": 1, "k": -1, " ": page, "PgUp": -page}.get(key, 0)
        self.first = max(0, min(self.first, len(self.pools) - 1))
        return True

    def page(self, height):
        """How many pools there is room for, beside the two lines above, the titles, and what stands below."""
        return max(1, height - 4 - (table.HELP.count("\n") + 2 if self.shows_help else 0))

    def drawn(self, width, height):
        held = sum(pool["bytes_held"] for pool in self.pools)
        title = f"{self.options.socket}: {len(self.pools)} pools, {table.in_bytes(held)} held"
        state = Text(shown(self.trouble), style="bold red") if self.trouble else Text("answers", style="green")
        rows = self.page(height)
        seen = table.in_order(self.pools, self.order, self.reverse)[self.first:self.first + rows]
        body = drawn_table(seen, {who: list(what) for who, what in self.histories.items()}, self.order, self.reverse,
                           width)
        below = Text("h: help, q: the end", style="bright_black")
        if self.shows_help:
            below = Panel(Text(table.HELP.rstrip()), title="keys")
        lines = [Text(shown(title), style="bold"), state, body, below]
        for line in lines[:2]:
            line.truncate(width, overflow="ellipsis")
        return Group(*lines)


def keys(descriptor):
    """The keys that were pressed, as text: an arrow's is that of its letter."""
    text = os.read(descriptor, 1024).decode(errors="replace")
    if not text:
        return ["q"]  # the terminal is gone
    found = []
    while text:
        arrow = next((code for code in ARROWS if text.startswith(code)), None)
        found.append(ARROWS[arrow] if arrow else text[0])
        text = text[len(arrow) if arrow else 1:]
    return found


def watch(options):
    screen, watcher = Screen(options), Watcher(options)
    console = Console()
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    watcher.start()
    try:
        tty.setcbreak(descriptor)
        with Live(console=console, screen=True, auto_refresh=False) as live:
            size = None
            while True:
                changed = size != console.size
                size = console.size
                while watcher.answers:
                    screen.take(watcher.answers.popleft())
                    changed = True
                if changed:
                    live.update(screen.drawn(size.width, size.height), refresh=True)
                if select.select([descriptor], [], [], TICK)[0]:
                    if not all(screen.press(key, screen.page(size.height)) for key in keys(descriptor)):
                        return 0
                    size = None
    except KeyboardInterrupt:
        return 0
    finally:
        watcher.ends.set()
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
