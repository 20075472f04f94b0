"""tarn-top's screen. Needs rich."""

import collections
import os
import select
import sys
import termios
import threading
import tty

from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.style import Style
from rich.table import Table
from rich.text import Text

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


def drawn_table(pools, histories, order, reverse):
    """\\param histories {identity: [blocks in use]}"""
    drawn = Table(box=None, padding=(0, 1, 0, 0), expand=False, header_style=Style(bold=True))
    mark = table.ORDERS[order][1]
    arrow = "▲" if table.ORDERS[order][3] == reverse else "▼"

    def column(title, **how):
        drawn.add_column(title + (arrow if title == mark else ""), no_wrap=True, **how)

    column("pool", max_width=32, overflow="ellipsis")
    for title in ("in use", "capacity"):
        column(title, justify="right")
    column("full", justify="right")
    drawn.add_column("", width=BAR_WIDTH, no_wrap=True)
    for title in ("peak", "held", "refused"):
        column(title, justify="right")
    drawn.add_column("in use, lately", min_width=table.HISTORY, no_wrap=True)
    for pool in pools:
        refused = Text(str(pool["refused"]), style="red" if pool["refused"] else "")
        history = Text(table.spark(histories.get(table.identity(pool), [])), style="cyan")
        drawn.add_row(Text(table.shown(pool["name"])), str(pool["in_use"]) + ("" if pool["is_exact"] else "~"),
                      str(pool["capacity"]), f"{table.share(pool):.0%}", bar(pool), str(pool["peak"]),
                      table.in_bytes(pool["bytes_held"]), refused, history)
    return drawn


class Watcher(threading.Thread):
    """Asks once an interval, so that keys are answered meanwhile."""

    def __init__(self, options):
        super().__init__(daemon=True)
        self.options = options
        self.answers = collections.deque()  # lists of pools, or texts that say why there is none
        self.ends = threading.Event()

    def run(self):
        while True:
            try:
                self.answers.append(asking.pools(self.options.socket, self.options.timeout))
            except asking.Unanswered as error:
                self.answers.append(str(error))
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
        state = Text(self.trouble, style="bold red") if self.trouble else Text("answers", style="green")
        rows = self.page(height)
        shown = table.in_order(self.pools, self.order, self.reverse)[self.first:self.first + rows]
        body = drawn_table(shown, {who: list(what) for who, what in self.histories.items()}, self.order, self.reverse)
        below = Text("h: help, q: the end", style="bright_black")
        if self.shows_help:
            below = Panel(Text(table.HELP.rstrip()), title="keys")
        lines = [Text(title, style="bold"), state, body, below]
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
