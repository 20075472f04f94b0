"""Compiles what tarn's tools need, with the user's compiler, once for each state of the sources."""

import errno
import hashlib
import os
import shutil
import subprocess
import threading

HERE = os.path.dirname(os.path.abspath(os.path.realpath(__file__)))
FLAGS = ["-std=c++20", "-O2", "-pthread"]
SECONDS = 600


class Failed(Exception):
    """Said in a line or, of a compiler, in several."""


class Rejected(Failed):
    """The compiler's own words are in `said`."""

    def __init__(self, what, said):
        super().__init__(what)
        self.said = said


def compiler():
    named = os.environ.get("CXX")
    found = next(filter(shutil.which, (named,) if named else ("c++", "g++", "clang++")), None)
    if not found and named:
        raise Failed(f"CXX names {named}, which is no program here; it may name a C++ compiler, without options")
    if not found:
        raise Failed("there is no C++ compiler here to build with; CXX may name one")
    return found


def cache():
    folder = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "tarn")
    make(folder)
    return folder


def make(folder):
    try:
        os.makedirs(folder, exist_ok=True)
        if not os.access(folder, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    except OSError as error:
        raise Failed(f"what is built can't be kept ({error.strerror}); XDG_CACHE_HOME may name another folder than "
                     f"{folder}") from None


def compiled(words, output):
    """Runs the compiler. Throws Rejected."""
    command = [compiler(), *FLAGS, *words, "-o", output]
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                              timeout=SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Failed(f"{command[0]}: {error}") from None
    if done.returncode:
        raise Rejected(f"{command[0]} can't build {next(word for word in words if word.endswith('.cc'))}", done.stdout)


def cached(name, words, folder=HERE, includes=()):
    """The path of what is built from a source of `folder`. `words`: the compiler's; the source is what ends with .cc.
    `includes`: folders that, with all below them, it depends on."""
    state = hashlib.sha256(" ".join([compiler(), *FLAGS, *words]).encode())
    below = [one for folder in includes for one, *_ in os.walk(folder)]
    for one in dict.fromkeys((folder, HERE, *sorted(below))):
        for path in sorted(os.listdir(one)):
            if path.endswith((".h", ".cc")):
                with open(os.path.join(one, path), "rb") as file:
                    state.update(file.read())
    path = os.path.join(cache(), state.hexdigest()[:16], name)
    if not os.path.exists(path):
        make(os.path.dirname(path))
        own = f"{path}.{os.getpid()}.{threading.get_ident()}"  # others may build it, too
        try:
            compiled([os.path.join(folder, word) if word.endswith(".cc") else word for word in words], own)
        except Rejected as error:
            why = next((line for line in error.said.splitlines() if "error" in line), error.said)
            raise Failed(f"{why} (C++20 is needed; CXX may name another compiler): {error}") from None  # a path may be long
        os.rename(own, path)
    return path
