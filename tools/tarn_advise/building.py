"""What tarn-advise compiles: its own programs, and others that include tarn."""

import hashlib
import os

from tarn_record import building
from tarn_record.building import Failed, Rejected, compiled  # noqa: F401

HERE = os.path.dirname(os.path.abspath(os.path.realpath(__file__)))
TREE = os.path.dirname(os.path.dirname(HERE))  # allocator/ and policies/ are in it, also where tarn is installed


def include_root():
    """A folder in which tarn/ is."""
    if os.path.basename(TREE) == "tarn":
        return os.path.dirname(TREE)
    root = os.path.join(building.cache(), "include." + hashlib.sha256(TREE.encode()).hexdigest()[:16])
    os.makedirs(root, exist_ok=True)
    try:
        os.symlink(TREE, os.path.join(root, "tarn"))
    except FileExistsError:
        pass
    return root


def cached(name, words):
    """The path of what is built from files of this folder."""
    return building.cached(name, words, HERE)


def own_malloc():
    """tarn's own malloc to preload: built here where its source is, otherwise what is installed."""
    folder = os.path.join(TREE, "malloc")
    if not os.path.isfile(os.path.join(folder, "malloc.cc")):
        return "libtarn_malloc.so.0"
    words = ["-shared", "-fPIC", "-fno-builtin-malloc", "-ftls-model=initial-exec", "-fvisibility=hidden",
             "-I" + include_root(), "malloc.cc"]  # as malloc/BUILD has them
    return building.cached("libtarn_malloc.so", words, folder, [os.path.join(TREE, one) for one in ("allocator", "policies")])
