"""Builds the newer mallocs of `bench/run --peers DIR` from sources that lie in DIR; nothing of theirs is in tarn's tree.

Prints a line for each that is there, its column's name and its library; and says on stderr which are skipped, and why.
"""

import collections
import glob
import os
import re
import shutil
import subprocess
import sys

# A folder in DIR, or DIR itself, holds a peer's sources where `file` in it matches `pattern`. `target` is what CMake builds.
Peer = collections.namedtuple("Peer", "file pattern target library settings")
PEERS = {
    "mimalloc3": Peer("include/mimalloc.h", r"#define MI_MALLOC_VERSION\s+3\d{4}\b", "mimalloc", "libmimalloc.so.3",
                      ["MI_BUILD_SHARED=ON", "MI_BUILD_STATIC=OFF", "MI_BUILD_OBJECT=OFF", "MI_BUILD_TESTS=OFF"]),
    "snmalloc": Peer("src/snmalloc/snmalloc.h", r"", "snmallocshim", "libsnmallocshim.so",
                     ["SNMALLOC_BUILD_TESTING=OFF", "SNMALLOC_STATIC_LIBRARY=OFF"]),
}
BUILT = "built-for-tarn"  # the folder in DIR


def find(folder, peer):
    """The sources of a peer; None: they aren't here."""
    for source in [folder, *sorted(glob.glob(os.path.join(glob.escape(folder), "*", "")))]:
        try:
            with open(os.path.join(source, peer.file), encoding="utf-8", errors="replace") as file:
                if re.search(peer.pattern, file.read()):
                    return source
        except OSError:
            pass
    return None


def build(source, into, peer):
    """(library, None), or (None, what went wrong)."""
    if not shutil.which("cmake"):
        return None, "there is no cmake here"
    if re.search(r"[\s:]", into):
        return None, f"LD_PRELOAD can't name {into}, which has a blank or a colon"
    os.makedirs(into, exist_ok=True)
    log = os.path.join(into, "log.txt")
    with open(log, "w", encoding="utf-8") as file:
        for command in (["-S", source, "-B", into, "-DCMAKE_BUILD_TYPE=Release", *("-D" + one for one in peer.settings)],
                        ["--build", into, "--target", peer.target, "--parallel", str(os.cpu_count())]):
            done = subprocess.run(["cmake", *command], stdin=subprocess.DEVNULL, stdout=file, stderr=file, check=False)
            if done.returncode != 0:
                return None, f"doesn't build, see {log}"
    library = os.path.join(into, peer.library)
    return (library, None) if os.path.exists(library) else (None, f"the build made no {peer.library}, see {log}")


def main():
    folder = os.path.abspath(sys.argv[1])
    if not os.path.isdir(folder):
        raise SystemExit(f"--peers: no folder '{sys.argv[1]}'")
    for name, peer in PEERS.items():
        source = find(folder, peer)
        library, wrong = build(source, os.path.join(folder, BUILT, name), peer) if source else (None, f"not found in {folder}")
        if library:
            print(f"{name}={library}", flush=True)
        else:
            print(f"skipped: {name}: {wrong}", file=sys.stderr, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
