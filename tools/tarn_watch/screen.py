"""tarn-top: a program's pools in a terminal."""

import argparse
import collections
import os
import select
import sys
import termios
import threading
import tty

from . import asking

try:
    from rich.console import Console, Group
    from rich.live import Live
    from rich.panel import Panel
    from rich.text import Text

    from . import table
except ImportError:
    sys.exit("tarn-top: this needs Python's package rich: apt install python3-rich, or pip install rich")

HELP = """\
sort by   n name   u in use   f full   c capacity   p peak   b bytes held   x refused
          r the other way round; the column's title shows which
scroll    j, k or the arrows; space and PgDn a page down, PgUp a page up
other     h this help   q the end

"in use" is exact, or followed by ~: a pool without a lock tells other threads the most that it can be.
"""
ARROWS = {"\x1b[A": "k", "\x1b[B": "j", "\x1bOA": "k", "\x1bOB": "j", "\x1b[5~": "PgUp", "\x1b[6~": " "}
TICK = 0.1  # seconds until a new answer, or another size of the terminal, is seen at the latest


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
        return max(1, height - 4 - (HELP.count("\n") + 2 if self.shows_help else 0))

    def drawn(self, width, height):
        held = sum(pool["bytes_held"] for pool in self.pools)
        title = f"{self.options.socket}: {len(self.pools)} pools, {table.in_bytes(held)} held"
        state = Text(self.trouble, style="bold red") if self.trouble else Text("answers", style="green")
        rows = self.page(height)
        shown = table.in_order(self.pools, self.order, self.reverse)[self.first:self.first + rows]
        body = table.screen_table(shown, {who: list(what) for who, what in self.histories.items()}, self.order, self.reverse)
        below = Panel(Text(HELP.rstrip()), title="keys") if self.shows_help else Text("h: help, q: the end", style="bright_black")
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


def once(options):
    try:
        pools = asking.pools(options.socket, options.timeout)
    except asking.Unanswered as error:
        print(f"tarn-top: {error}", file=sys.stderr)
        return 1
    print("\n".join(table.plain_lines(table.in_order(pools, options.sort, options.reverse))))
    return 0


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="tarn-top", formatter_class=argparse.RawDescriptionHelpFormatter,
                                     description="Shows the pools of a program that calls tarn::observe(PATH), while it runs.",
                                     epilog="keys:\n" + HELP)
    parser.add_argument("socket", metavar="PATH", help="where the program answers")
    parser.add_argument("--once", action="store_true", help="print one table, and end: for scripts")
    parser.add_argument("--sort", choices=list(table.ORDERS), default="in-use", help="default: in-use")
    parser.add_argument("--reverse", action="store_true", help="the other way round")
    parser.add_argument("--interval", type=asking.positive, default=1.0, metavar="SECONDS",
                        help="between two looks; default: 1")
    asking.add_timeout(parser)
    options = parser.parse_args(arguments)
    if options.once:
        return once(options)
    if not sys.stdin.isatty() or not sys.stdout.isatty():
        print("tarn-top: this is no terminal; --once prints a table", file=sys.stderr)
        return 2
    return watch(options)
