"""Changes of files: replaced ranges, comments above lines, and the difference that they make."""

import difflib
import os
import tempfile

MARK = "// tarn-migrate: "


class Changes:
    """Replacements by file, {path: {(start, end, text)}}, offsets in bytes; and what is left, (path, line, why)."""

    def __init__(self):
        self.replaced = {}
        self.left = []

    def replace(self, path, start, end, text):
        self.replaced.setdefault(path, set()).add((start, end, text.encode()))

    def remove(self, path, start, end, text):
        """Removes a range of the file's text, and its line if nothing else stands there."""
        first, last = text.rfind(b"\n", 0, start) + 1, text.find(b"\n", end)
        last = len(text) if last < 0 else last + 1
        if not text[first:start].strip():
            end += len(text[end:last]) - len(text[end:last].lstrip(b" \t"))
            if not text[end:last].strip():
                start, end = first, last
        self.replace(path, start, end, "")

    def leave(self, path, line, why):
        self.left.append((path, line, why))


def apply(changes, texts):
    """{path: new text} of the files that change. Bytes in, bytes out."""
    result = {}
    for path in set(changes.replaced) | {path for path, _, _ in changes.left}:
        text = texts[path]
        pieces = sorted(changes.replaced.get(path, ()))
        pieces += [(start, start, comment) for start, comment in
                   comments(text, [(line, why) for other, line, why in changes.left if other == path])]
        # From the end, so that offsets stay right; of two that begin at one place the comment, which comes last, goes in front.
        for start, end, new in sorted(pieces, key=lambda piece: piece[:2], reverse=True):
            text = text[:start] + new + text[end:]
        if text != texts[path]:
            result[path] = text
    return result


def comments(text, left):
    """[(offset of a line's start, the comments that it lacks)]"""
    lines = text.split(b"\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    found = {}
    for number, why in sorted(set(left)):
        line, above = lines[number - 1], number - 2
        there = set()
        while above >= 0 and lines[above].strip().startswith(MARK.strip().encode()):
            there.add(lines[above].strip())
            above -= 1
        comment = (MARK + why).encode()
        in_macro = above >= 0 and number >= 2 and lines[number - 2].rstrip().endswith(b"\\")
        if comment not in there and not in_macro:
            indent = line[:len(line) - len(line.lstrip())]
            ending = b"\r\n" if line.endswith(b"\r") else b"\n"
            found[starts[number - 1]] = found.get(starts[number - 1], b"") + indent + comment + ending
    return sorted(found.items())


def difference(name, old, new):
    return "".join(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in difflib.unified_diff(
        old.decode(errors="replace").splitlines(keepends=True), new.decode(errors="replace").splitlines(keepends=True),
        "a/" + name, "b/" + name))


def changed_lines(old, new):
    """How many lines of the old text are gone or other; comments that were added don't count."""
    matcher = difflib.SequenceMatcher(None, old.splitlines(), new.splitlines(), autojunk=False)
    return sum(max(i2 - i1, 0) for tag, i1, i2, _, _ in matcher.get_opcodes() if tag in ("replace", "delete"))


def write(texts):
    """Writes all files, each at once: a file is the old or the new one, never half of it."""
    for path, text in texts.items():
        handle, other = tempfile.mkstemp(dir=os.path.dirname(path))
        with os.fdopen(handle, "wb") as file:
            file.write(text)
        os.chmod(other, os.stat(path).st_mode & 0o7777)
        os.replace(other, path)
