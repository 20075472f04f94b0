#!/usr/bin/env python3
"""The saved inputs of the fuzz targets: corpus/TARGET.tar.xz, what earlier runs found worth keeping, and
regressions/TARGET/NAME.txt, an input each in hexadecimal, with comments that say what it once found.

Usage: saved_inputs.py unpack TARGET FOLDER   writes all inputs into files of the folder
       saved_inputs.py pack TARGET FOLDER     makes the archive anew of all files in the folder
"""

import io
import os
import sys
import tarfile

HERE = os.path.dirname(os.path.abspath(__file__))


def archive_of(target):
    return os.path.join(HERE, "corpus", target + ".tar.xz")


def corpus(target):
    """[(name, bytes)] of the archive."""
    with tarfile.open(archive_of(target)) as archive:
        return [(f"corpus-{one.name}", archive.extractfile(one).read()) for one in archive.getmembers()]


def regressions(target):
    """[(name, bytes)] of the text files."""
    folder = os.path.join(HERE, "regressions", target)
    found = []
    for name in sorted(os.listdir(folder) if os.path.isdir(folder) else []):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            found.append((os.path.splitext(name)[0], bytes.fromhex(" ".join(line.split("#")[0] for line in file))))
    return found


def unpack(target, folder):
    """Returns the paths."""
    os.makedirs(folder, exist_ok=True)
    paths = []
    for name, content in corpus(target) + regressions(target):
        paths.append(os.path.join(folder, name))
        with open(paths[-1], "wb") as file:
            file.write(content)
    return paths


def pack(target, folder):
    """The same inputs make the same archive, in whichever files they are. Returns how many there are."""
    found = set()
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), "rb") as file:
            found.add(file.read())
    found -= {content for _, content in regressions(target)}
    with tarfile.open(archive_of(target), "w:xz", format=tarfile.USTAR_FORMAT) as archive:
        for number, content in enumerate(sorted(found, key=lambda content: (len(content), content))):
            member = tarfile.TarInfo(f"{number:04}")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return len(found)


def main():
    if len(sys.argv) != 4 or sys.argv[1] not in ("pack", "unpack"):
        sys.exit(__doc__)
    what, target, folder = sys.argv[1:]
    print(f"{pack(target, folder) if what == 'pack' else len(unpack(target, folder))} inputs")


if __name__ == "__main__":
    main()
