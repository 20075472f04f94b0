"""Programs that a test starts: they end with it, and what they print is waited for, as long as it may take."""

import os
import queue
import subprocess
import threading
import time

SECONDS = 120  # for what hangs: all that is waited for comes at once
PAUSE = 0.02   # between two looks at what comes by itself


class Program:
    """A program whose lines of output can be waited for."""

    def __init__(self, *command, **how):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                        text=True, errors="replace", **how)
        self.lines = queue.Queue()
        self.said = []
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def wait_for(self, word):
        """The next line that has the word. Throws RuntimeError if the output ends before."""
        while True:
            line = self.lines.get(timeout=SECONDS)
            if line is None:
                raise RuntimeError(f"{self.process.args[0]} ended without '{word}':\n" + "".join(self.said[-20:]))
            self.said.append(line)
            if word in line:
                return line

    def tell(self, line):
        """Gives the watched program a line, and waits until it did what that says."""
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        self.wait_for("done")

    def end(self):
        """Ends it as if it crashed."""
        self.process.kill()
        self.process.wait(SECONDS)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait(SECONDS)
        self.process.stdin.close()


def watched(program, path, *words):
    """The program that is watched, once it answers."""
    started = Program(program, path, *words)
    started.wait_for("answers")
    return started


def wait_until(what, condition):
    """Returns what the condition returns, once that is true. Throws RuntimeError with what() if it never comes."""
    end = time.monotonic() + SECONDS
    while True:
        found = condition()
        if found:
            return found
        if time.monotonic() > end:
            raise RuntimeError("never came: " + what())
        time.sleep(PAUSE)


def case(name, steps):
    """A case that fails with what its steps throw, or return."""
    def run():
        try:
            return steps()
        except Exception as error:  # pylint: disable=broad-exception-caught
            return f"{type(error).__name__}: {error}"
    return name, run


def python_here(root):
    """The environment in which tools find the packages that test/observe/run installed."""
    return {**os.environ, "PYTHONPATH": os.path.join(root, "build", "observe", "python"), "PYTHONDONTWRITEBYTECODE": "1"}
