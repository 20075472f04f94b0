"""Builds programs of tarn's tools, which are C++, with the compiler that is here: once for each state of their sources."""

import hashlib
import os
import shutil
import subprocess

TOOLS = os.path.dirname(os.path.abspath(os.path.realpath(__file__)))
FLAGS = ["-std=c++20", "-O2", "-pthread"]


class Failed(Exception):
    """Said in a line."""


def compiler():
    """CXX, or what is installed."""
    names = (os.environ["CXX"],) if os.environ.get("CXX") else ("c++", "g++", "clang++")
    found = next(filter(shutil.which, names), None)
    if not found:
        raise Failed("there is no C++ compiler here to build what this needs; CXX may name one")
    return found


def state_of(folders, words):
    state = hashlib.sha256(" ".join(words).encode())
    for folder in folders:
        for name in sorted(os.listdir(os.path.join(TOOLS, folder))):
            if name.endswith((".cc", ".h")):
                with open(os.path.join(TOOLS, folder, name), "rb") as file:
                    state.update(file.read())
    return state.hexdigest()[:16]


def cached(name, source, flags=(), folders=("tarn_record",)):
    """The path of the program `name`, of the file `source` below tools; `folders` are those of which a change matters."""
    words = [compiler(), *FLAGS, *flags]
    folder = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "tarn", state_of(folders, words))
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        os.makedirs(folder, exist_ok=True)
        own = f"{path}.{os.getpid()}"  # others may build it, too
        done = subprocess.run([*words, os.path.join(TOOLS, source), "-o", own, "-ldl"], text=True, errors="replace",
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if done.returncode:
            raise Failed(f"{words[0]} can't build {source}: {done.stdout}")
        os.rename(own, path)
    return path
