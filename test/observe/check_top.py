"""tools/tarn-top: its table for scripts, and its screen, driven in tmux."""

import io
import os
import re
import shlex
import subprocess
import sys

import running

PAGE = "docs/how-to/watch.md"
PATH = "/run/user/1000/service.sock"  # there


class Terminal:
    """A terminal of tmux, with a server of its own, in which one command runs."""

    def __init__(self, folder, command, width=110, height=16):
        self.tmux = ["tmux", "-S", os.path.join(folder, "tmux"), "-f", os.devnull]
        self.call("new-session", "-d", "-x", str(width), "-y", str(height),
                  shlex.join(command) + "; printf 'it ended with %s\\n' $?; cat")

    def call(self, *words):
        return subprocess.run([*self.tmux, *words], capture_output=True, text=True, timeout=running.SECONDS, check=True,
                              env={**os.environ, "LC_ALL": "C.UTF-8", "TERM": "xterm-256color"}).stdout

    def shown(self):
        return self.call("capture-pane", "-p").rstrip("\n")

    def press(self, *keys):
        self.call("send-keys", *keys)

    def comes(self, condition):
        """The screen, once the condition holds for it."""
        return running.wait_until(self.shown, lambda: (lambda screen: screen if condition(screen) else None)(self.shown()))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.call("kill-server")


def command(root, path, *words):
    here = running.python_here(root)
    return ["env", *(f"{name}={here[name]}" for name in ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE")), sys.executable,
            os.path.join(root, "tools/tarn-top"), *words, path]


def names(screen):
    """The pools in the order in which the screen has them."""
    return re.findall(r"^(orders|messages|limited)\b", screen, re.MULTILINE)


def row(screen, name):
    """The numbers of a pool's line: in use, capacity, percent; the bar; peak, bytes, refused; the sparkline."""
    found = re.search(rf"^{name}\s+(\d+)\s+(\d+)\s+(\d+)% ([█░]+)\s+(\d+)\s+(\S+)\s+(\d+) (\S+)$", screen, re.MULTILINE)
    return found.groups() if found else None


def picture(root):
    """The screen that the page shows."""
    with open(os.path.join(root, PAGE), encoding="utf-8") as file:
        return re.search(r"```text screen\n(.*?)```", file.read(), re.DOTALL)[1]


def without_history(screen):
    return [re.sub(r" [▁▂▃▄▅▆▇█]+$", "", line.rstrip()) for line in screen.splitlines() if line.strip()]


def screen_case(root, program, folder):
    path = os.path.join(folder, "top")
    with running.watched(program, path) as first, Terminal(folder, command(root, path, "--interval", "0.5")) as terminal:
        first.tell("take orders 70")
        first.tell("take messages 20")
        screen = terminal.comes(lambda screen: (row(screen, "orders") or "0")[0] == "70" and
                                (row(screen, "messages") or "0")[0] == "20")
        if f"{path}: 3 pools" not in screen or names(screen) != ["orders", "messages", "limited"]:
            return screen
        used, capacity, percent, bar, _, _, refused, _ = row(screen, "orders")
        if (used, capacity, percent, refused) != ("70", "100", "70", "0") or bar != "█" * 11 + "░" * 5:
            return screen
        if row(screen, "limited")[:4] != ("8", "8", "100", "█" * 16) or row(screen, "limited")[6] != "1":
            return screen
        if without_history(screen.replace(path, PATH)) != without_history(picture(root)):
            return f"{PAGE} shows another screen:\n{screen}"
        terminal.press("n")
        terminal.comes(lambda screen: names(screen) == ["limited", "messages", "orders"])
        terminal.press("r")
        terminal.comes(lambda screen: names(screen) == ["orders", "messages", "limited"])
        terminal.press("f")
        terminal.comes(lambda screen: names(screen) == ["limited", "orders", "messages"])
        terminal.press("h")
        terminal.comes(lambda screen: "sort by" in screen and "q the end" in screen)
        terminal.press("h")
        terminal.comes(lambda screen: "sort by" not in screen)
        terminal.press("Down")
        terminal.comes(lambda screen: names(screen) == ["orders", "messages"])
        terminal.press("Up")
        terminal.comes(lambda screen: names(screen)[:1] == ["limited"])
        first.tell("free orders 70")
        first.tell("take orders 35")  # the history falls
        terminal.comes(lambda screen: re.search(r"[▇█]\S*[▃▄]$", "".join((row(screen, "orders") or [""])[-1])))
        terminal.press("q")
        terminal.comes(lambda screen: "it ended with 0" in screen and "pools" not in screen)
    return None


def gone_case(root, program, folder):
    """The program ends, and comes back."""
    path = os.path.join(folder, "gone")
    own = os.path.join(folder, "of_gone")
    os.mkdir(own)
    with Terminal(own, command(root, path, "--interval", "0.1")) as terminal:
        terminal.comes(lambda screen: "no such socket" in screen)
        with running.watched(program, path) as first:
            first.tell("take orders 3")
            terminal.comes(lambda screen: "\nanswers\n" in screen and (row(screen, "orders") or "0")[0] == "3")
        screen = terminal.comes(lambda screen: "nobody answers; the program has ended" in screen)
        if (row(screen, "orders") or "0")[0] != "3":
            return "the last that was known is gone:\n" + screen
        with running.watched(program, path) as second:
            second.tell("take orders 4")
            terminal.comes(lambda screen: "\nanswers\n" in screen and (row(screen, "orders") or "0")[0] == "4")
        terminal.press("q")
        terminal.comes(lambda screen: "it ended with 0" in screen)
    return None


def run(root, *words):
    return subprocess.run([sys.executable, os.path.join(root, "tools/tarn-top"), *words], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, env=running.python_here(root), timeout=running.SECONDS, check=False)


def once_case(root, path):
    """The answering program's pools are check_formats.IN_USE."""
    for words, order in (((), ["orders", "messages", "limited"]), (("--sort", "full"), ["limited", "orders", "messages"]),
                         (("--sort", "name", "--reverse"), ["orders", "messages", "limited"])):
        done = run(root, "--once", *words, path)
        lines = [line.split(maxsplit=9) for line in done.stdout.splitlines()]
        if done.returncode or lines[0][0] != "in_use" or [line[9] for line in lines[1:4]] != order or len(lines) != 5:
            return f"{words}: {done.stdout}{done.stderr}"
        if {line[9]: line[0] for line in lines[1:]}["orders"] != "70" or "\x1b" in done.stdout:
            return done.stdout
    return None


def words_case(root, folder):
    for words, said, status in ((["--once", os.path.join(folder, "none")], "no such socket", 1),
                                ([os.devnull], "no terminal", 2),
                                (["--once", os.devnull], "nobody answers", 1), (["--sort", "x", "y"], "invalid choice", 2),
                                (["--interval", "0", "y"], "above 0", 2), (["--help"], "keys:", 0)):
        done = run(root, *words)
        if done.returncode != status or said not in done.stdout + done.stderr or "Traceback" in done.stderr:
            return f"{words}: {done.returncode}: {done.stdout}{done.stderr}"
    return None


def without_rich_case(root, path):
    """Where rich is missing, one sentence; --help and --once need no rich."""
    def bare(*words):
        done = subprocess.run([sys.executable, "-S", "-E", os.path.join(root, "tools/tarn-top"), *words], capture_output=True,
                              text=True, timeout=running.SECONDS, check=False)
        return done.returncode, done.stdout, done.stderr

    wanted = "tarn-top: the screen needs Python's package rich: apt install python3-rich, or pip install rich. --once doesn't\n"
    if bare(path) != (1, "", wanted):
        return f"{bare(path)}"
    if bare("--help")[0] != 0 or bare("--once", path)[0] != 0 or "orders" not in bare("--once", path)[1]:
        return f"{bare('--help')}\n{bare('--once', path)}"
    return None


def narrow_case():
    """A terminal of any width shows a number whole or not at all."""
    from rich.console import Console  # pylint: disable=import-outside-toplevel
    from tarn_watch import screen  # pylint: disable=import-outside-toplevel
    small = {"name": "orders", "address": "0x10", "in_use": 3, "peak": 5, "capacity": 100, "bytes_held": 6400, "refused": 0,
             "is_exact": True}
    large = {**small, "in_use": 123456789, "capacity": 987654321, "peak": 555555555, "refused": 77777777,
             "name": "a long name " * 4}
    numbers = {"123456789", "987654321", "555555555", "77777777", "3", "100", "5", "0", "12%", "3%", "6.2K"}
    for width in range(20, 130):
        out = io.StringIO()
        Console(file=out, width=width, color_system=None).print(screen.drawn_table([large, small], {}, "in-use", False, width))
        text = out.getvalue()
        cut = {word for line in text.splitlines()[1:] for word in re.findall(r"[\d.]+[%KMG]?", line)} - numbers
        if cut or text.count("\n") != 3 or any(len(line) > width for line in text.splitlines()) or "123456789" not in text:
            return f"{width} columns: {cut}\n{text}"
    return None


def cases(root, program, path, folder):
    def one(name, check, *words):
        return running.case("tarn-top " + name, lambda: check(*words))

    return [one("in a terminal: names, numbers, bars, keys, history", screen_case, root, program, folder),
            one("goes on when the program ends, and when it is back", gone_case, root, program, folder),
            one("in a narrow terminal", narrow_case),
            one("--once", once_case, root, path),
            one("says what is wrong with its words", words_case, root, folder),
            one("without rich", without_rich_case, root, path)]
