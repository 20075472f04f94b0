"""Records the calls of malloc of some of the system's programs, for the table traces: one log each, in a folder. What isn't
here is skipped, and said. What the programs do is the same each time, and needs nothing but themselves."""

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile

RECORD = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools", "tarn-record")

# Small objects of many sizes that live for different times, and some large ones.
PYTHON = """
import collections, random, sys
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
parts = collections.deque(maxlen=100)
for at in range(n // 2):
    parts.append(text[at:at + dice.randrange(1, 40_000)])
"""

CPP = """
#include <algorithm>
#include <functional>
#include <map>
#include <regex>
#include <string>
#include <unordered_map>
#include <vector>
template <int N> struct part {
  std::map<std::string, std::vector<int>> all;
  std::size_t add(const std::string& key) {
    all[key].push_back(N);
    std::sort(all[key].begin(), all[key].end(), [](int a, int b) { return (a ^ N) < (b ^ N); });
    return all.size() + part<N - 1>{}.add(key + "x");
  }
};
template <> struct part<0> { std::size_t add(const std::string& key) { return key.size(); } };
bool fits(const std::string& text) { return std::regex_search(text, std::regex{"(a|b)*c"}); }
std::size_t run(const std::string& key) { return part<DEPTH>{}.add(key) + fits(key); }
"""

SQL = """
CREATE TABLE words (id INTEGER PRIMARY KEY, word TEXT, number INTEGER, more BLOB);
WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i + 1 FROM n WHERE i < {rows})
INSERT INTO words SELECT i, printf('%x-%d', i * 2654435761 % 1000003, i), i * 7919 % 10007, zeroblob(i % 300) FROM n;
CREATE INDEX by_word ON words (word);
CREATE INDEX by_number ON words (number, word);
SELECT count(*), sum(length(word)) FROM words WHERE word LIKE '%a%';
SELECT number % 100 AS part, count(*), group_concat(word) FROM words GROUP BY part ORDER BY part;
SELECT count(*) FROM words a JOIN words b ON a.number = b.number AND a.id < b.id;
SELECT sum(json_extract(json_object('w', word, 'n', number, 'l', json_array(id, number)), '$.l[1]')) FROM words;
DELETE FROM words WHERE id % 3 = 0;
UPDATE words SET word = word || number WHERE id % 5 = 0;
VACUUM;
"""


def python(folder, part):
    with open(os.path.join(folder, "work.py"), "w", encoding="ascii") as file:
        file.write(PYTHON)
    return ["/usr/bin/python3", "-S", file.name, str(60000 // part)], {"PYTHONMALLOC": "malloc", "PYTHONHASHSEED": "0"}


def history(part):
    """What git fast-import reads: commits that change some lines of some files each."""
    dice = random.Random(2)
    files = {f"part{i % 7}/file{i}.txt": [f"line {dice.randrange(1000)}" for _ in range(dice.randrange(20, 400))]
             for i in range(60)}
    for number in range(1500 // part):
        said = f"change {number}\n\n" + "because " * dice.randrange(30)
        yield f"commit refs/heads/main\ncommitter A <a@b> {1000000000 + number * 1000} +0000\ndata {len(said)}\n{said}\n"
        for name in files if number == 0 else dice.sample(sorted(files), 4):
            for _ in range(dice.randrange(1, 9)):
                files[name][dice.randrange(len(files[name]))] = f"line {dice.randrange(100000)}"
            text = "\n".join(files[name])
            yield f"M 644 inline {name}\ndata {len(text)}\n{text}\n"


def git(folder, part):
    own = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_DIR": os.path.join(folder, "repository")}
    for words, text in ((["init", "-q", "--bare"], ""), (["fast-import", "--quiet"], "".join(history(part)))):
        subprocess.run(["git", *words], input=text, env={**os.environ, **own}, text=True, check=True)
    return ["git", "--no-pager", "log", "-p", "--stat", "-M", "main"], own


def gxx(folder, part):
    with open(os.path.join(folder, "work.cc"), "w", encoding="ascii") as file:
        file.write(CPP if part == 1 else CPP.replace("#include <regex>", "").replace(" + fits(key)", "").replace("bool", "//"))
    return ["g++", "-std=c++17", "-O1", f"-DDEPTH={max(10 // part, 1)}", "-S", file.name, "-o", os.devnull], {}


def sqlite(folder, part):
    return ["sqlite3", "-batch", ":memory:", SQL.format(rows=90000 // part)], {}


# {the name of a log: (what must be here, a function that makes the command and its environment)}
PROGRAMS = {"python": ("/usr/bin/python3", python), "git": ("git", git), "gxx": ("g++", gxx), "sqlite": ("sqlite3", sqlite)}


def record(name, built, out, part):
    """None, or why there is no log of this program."""
    program, made = PROGRAMS[name]
    if not shutil.which(program):
        return f"there is no {program} here"
    with tempfile.TemporaryDirectory() as folder:
        try:
            command, own = made(folder, part)
            recorded = [sys.executable, "-B", RECORD, "--built", built, "-o", os.path.join(folder, "log"),
                        "--no-stacks", "--", *command]
            done = subprocess.run(recorded, env={**os.environ, **own}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                  text=True, errors="replace", check=False)
        except (OSError, subprocess.CalledProcessError) as error:
            return str(error)
        logs = [os.path.join(folder, one) for one in os.listdir(folder) if one.partition(".")[0] == "log"]
        if done.returncode or not logs:
            return f"exit status {done.returncode}: {done.stderr}"
        shutil.move(max(logs, key=os.path.getsize), os.path.join(out, name + ".log"))  # of g++'s processes, the compiler
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("built", help="the folder in which the recorder is")
    parser.add_argument("out", help="the folder for the logs")
    parser.add_argument("--smoke", action="store_true", help="a twentieth of the work")
    given = parser.parse_args()
    shutil.rmtree(given.out, ignore_errors=True)
    os.makedirs(given.out)
    for name in PROGRAMS:
        why = record(name, given.built, given.out, 20 if given.smoke else 1)
        if why:
            print(f"skipped: traces/{name}: {why}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
