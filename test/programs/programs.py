"""Real programs, run over a malloc that LD_PRELOAD puts into them. What each has computed is compared as text."""

import functools
import hashlib
import os
import random
import re
import shutil
import subprocess
import sys
import time

FOLDER = os.path.dirname(os.path.abspath(__file__))
SECONDS = 300  # for a program that hangs

# Small objects of many sizes that live for different times; then large lists; then a fork.
PYTHON = """
import collections, hashlib, os, random, sys
n = int(sys.argv[1])
dice = random.Random(1)
words = [''.join(dice.choices('abcdefgh', k=dice.randrange(1, 40))) for _ in range(n)]
index = collections.defaultdict(list)
for at, word in enumerate(words):
    index[word[:3]].append((at, word.upper(), {word: at}))
for key in sorted(index)[::2]:
    del index[key]
tree = {key: sorted((w, at) for at, w, _ in rows) for key, rows in index.items()}
text = repr(sorted(tree.items())).encode()
big = [bytearray(dice.randrange(100, 100_000)) for _ in range(n // 100)]
sys.stdout.flush()
child = os.fork()
if child == 0:
    os._exit(len([str(i) * 3 for i in range(n)]) % 100)
print(hashlib.sha256(text).hexdigest(), sum(map(len, big)), os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


class Run:
    """What a program said, its processor time in seconds and its peak in MiB: of the largest of its processes."""

    def __init__(self, said, seconds, peak):
        self.said, self.seconds, self.peak = said, seconds, peak


def environment(malloc, more=None):
    outer = {key: value for key, value in os.environ.items() if key not in ("LD_PRELOAD", "PYTHONMALLOC")}
    return outer | ({"LD_PRELOAD": malloc} if malloc else {}) | (more or {})


def waited(process, said, peak=0):
    """Reads what it uses from the system, with all that it waited for. The peak is at least what this process had when it
    started the other, unless it is given. Throws RuntimeError if it failed."""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise RuntimeError(f"{' '.join(process.args)[:100]}: exit status {process.returncode}\n{said}")
    return Run(said, usage.ru_utime + usage.ru_stime, peak or usage.ru_maxrss / 1024)


measured = []  # bench/malloc/measured and a file, if the peak of a program counts that is smaller than this process


def run(command, malloc, more=None):
    # timeout(1) is outside: it must end what can't even start. Its own use is nothing.
    preloaded = [f"LD_PRELOAD={malloc}"] if malloc else []
    process = subprocess.Popen(["timeout", str(SECONDS), *measured, "env", *preloaded, *command], env=environment("", more),
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    digest, last = hashlib.sha256(), b""
    while block := process.stdout.read(1 << 16):
        digest.update(block)
        last = (last + block)[-2000:]
    process.stdout.close()
    text = last.decode(errors="replace")
    done = waited(process, text if len(last) < 2000 else f"{digest.hexdigest()}, at its end:\n{text}")
    if measured:
        with open(measured[1], encoding="ascii") as file:
            done.seconds, done.peak = map(float, file.read().split())
    return done


class Redis:
    """A server; its clients have the C library's malloc."""

    def __init__(self, requests):
        self.requests = requests

    def __call__(self, malloc, folder):
        # The server by another name, from a package that starts none of its own. Debian's is linked to jemalloc. The
        # path of the socket is relative: it may have 107 letters only.
        server = subprocess.Popen(
            ["redis-server", "--port", "0", "--unixsocket", "socket", "--save", "", "--appendonly", "no",
             "--enable-debug-command", "yes"], executable=shutil.which("redis-check-rdb") or "redis-check-rdb",
            env=environment(malloc or "libc.so.6"), cwd=folder, stdout=subprocess.DEVNULL)
        try:
            self.wait_for(server, os.path.join(folder, "socket"))
            self.client("redis-benchmark", folder, "-q", "-P", "16", "-r", "100000", "-n", str(self.requests), "-d", "100",
                        "-t", "set,get,lpush,hset,sadd,zadd")
            self.client("redis-cli", folder, "FLUSHALL")
            with open(self.write_commands(folder), "rb") as commands:
                self.client("redis-cli", folder, "--pipe", stdin=commands)
            said = self.client("redis-cli", folder, "DEBUG", "DIGEST") + self.client("redis-cli", folder, "DBSIZE")
            with open(f"/proc/{server.pid}/status", encoding="ascii") as status:
                peak = int(re.search(r"VmHWM:\s+(\d+) kB", status.read())[1]) / 1024
            self.client("redis-cli", folder, "SHUTDOWN", "NOSAVE")
            return waited(server, said, peak)
        finally:
            if server.returncode is None:
                server.kill()
                server.wait()

    def write_commands(self, folder):
        path, dice = os.path.join(folder, "commands"), random.Random(2)
        with open(path, "w", encoding="ascii") as file:
            for i in range(self.requests // 4):
                size = dice.randrange(1, 400)
                file.write(f"SET k{i} {'v' * size}\nHSET h{i % 999} f{i} {size}\nZADD z{i % 99} {size} m{i}\n"
                           f"RPUSH l{i % 77} {'x' * (size // 4)}.\nDEL k{dice.randrange(i + 1)}\n")
        return path

    @staticmethod
    def wait_for(server, socket):
        for _ in range(20 * SECONDS):
            if os.path.exists(socket):
                return
            if server.poll() is not None:
                break
            time.sleep(0.05)
        raise RuntimeError(f"redis-server doesn't listen; exit status {server.returncode}")

    @staticmethod
    def client(name, folder, *words, stdin=subprocess.DEVNULL):
        return subprocess.run([name, "-s", "socket", *words], check=True, cwd=folder, env=environment(""), stdin=stdin,
                              timeout=SECONDS, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True).stdout


def programs(folder, include, repository, short):
    """{name: function of the path of a malloc, or "", and of an empty folder}.

    folder: for what is built. include: the folder in which tarn/ is. repository: one of git's, with a history."""
    script = [os.path.realpath(sys.executable), "-S", "-c", PYTHON, "20000" if short else "300000"]
    history = ["git", "-C", repository, "log", "-p", "--stat", "-M", "-n", "3000"]
    compiler = ["g++", "-std=c++20", "-O1" if short else "-O2", "-S", "-I", include, os.path.join(FOLDER, "preload.cc"), "-o-"]
    return {
        "python": lambda malloc, _: run(script, malloc),
        "python, PYTHONMALLOC=malloc": lambda malloc, _: run(script, malloc, {"PYTHONMALLOC": "malloc"}),
        "git": lambda malloc, _: run(history, malloc),
        "g++": lambda malloc, _: run(compiler, malloc),
        "sqlite": lambda malloc, _: run([build_sqlite(folder, include), "4", "2000" if short else "60000"], malloc),
        "redis": Redis(2000 if short else 400_000),
    }


FLAGS = ["-std=c++20", "-O2", "-DNDEBUG", "-Wall", "-Wextra", "-pthread"]


def build_malloc(folder, include, name="", text=""):
    """The path of tarn's malloc. include: the folder in which tarn/ is. text: another than preload.cc's, with mistakes."""
    source = os.path.join(FOLDER, "preload.cc")
    if text:
        source = os.path.join(folder, name + ".cc")
        with open(source, "w", encoding="utf-8") as file:
            file.write(text)
    target = os.path.join(folder, f"libtarn_malloc{name}.so")
    # What a thread has of its own must not be allocated when it is first used; no call of memset may become one of calloc.
    special = ["-fPIC", "-shared", "-fvisibility=hidden", "-ftls-model=initial-exec", "-fno-builtin-malloc"]
    quiet = ["-w"] if text else []
    subprocess.run(["g++", *FLAGS, *special, *quiet, "-I", include, source, "-o", target], check=True)
    return target


@functools.cache
def build_sqlite(folder, include):
    target = os.path.join(folder, "sqlite")
    subprocess.run(["g++", *FLAGS, "-I", include, os.path.join(FOLDER, "sqlite.cc"), "-o", target, "-lsqlite3"], check=True)
    return target
