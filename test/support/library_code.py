"""Finds tarn's code by what it is, in whichever header it stands: classes, functions and variables by their names.

Code here is a text of tokens with a space on either side of each. It has no comments and no `detail::`, so that it is the
same wherever it is moved, and however it is laid out.
"""

import glob
import os
import re

TOKEN = re.compile(r'^\s*#(?:.*\\\n)*.*$|"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])*\'|\d[\w.\']*|\w+|'
                   r"::|->|<=>|<<=|>>=|\.\.\.|[-+*/%&|^!=<>]=|&&|\|\||<<|>>|\+\+|--|[^\s\w]", re.MULTILINE)
CLASS = re.compile(r" (?:enum )?(?:class|struct|union|concept) ")
COMMENT = re.compile(r'("(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\')|//[^\n]*|/\*.*?\*/', re.DOTALL)


def tokens_of(text):
    tokens = []
    for token in TOKEN.findall(COMMENT.sub(lambda found: found[1] or " ", text)):
        if token == "::" and tokens[-1:] == ["detail"] and tokens[-2:-1] != ["::"]:
            tokens.pop()
        else:
            tokens.append(token.strip())
    return tokens


def normal(text):
    """A text of tokens. One that is a directive has a line, and tabs."""
    return " " + " ".join("\n" + one.replace(" ", "\t") + "\n" if one.startswith("#") else one for one in tokens_of(text)) + " "


def parts(code):
    """What stands in a namespace or a class, one after the other: (name, text). Friends and the like have no name of their own;
    a definition has one that says whose it is, if that stands elsewhere, such as fork_member::leave."""
    found, start, depth, wanted = [], 0, 0, False
    tokens = code.split(" ")
    for i, token in enumerate(tokens):
        if token in "({[" and token:
            wanted = token == "{" and depth == 0 and is_requirement(tokens[start:i]) or (wanted and depth != 0)
            depth += 1
        elif token in ")}]" and token:
            depth -= 1
        ends = token == ";" or (token == ":" and tokens[i - 1] in ("public", "protected", "private"))
        ends |= token == "}" and not wanted and (tokens[i + 1:i + 2] or [""])[0] not in (";", ",", "{")
        ends |= token.startswith("\n") and start == i
        if depth == 0 and ends:
            one = tokens[start:i + 1]
            if token != ":" and not token.startswith("\n"):
                text = " " + " ".join(one).strip() + " "
                found.append((name_of(text), text))
            start = i + 1
        elif depth == 0 and token == "" and start == i:
            start = i + 1
    return found


def is_requirement(before):
    """Whether a brace after these tokens begins what an expression requires, and no body."""
    if before[-1:] == [")"]:
        depth, at = 0, len(before)
        while at and (depth or at == len(before)):
            at -= 1
            depth += {")": 1, "(": -1}.get(before[at], 0)
        return before[at - 1:at] == ["requires"] and before[at - 2:at - 1][0] in ("requires", "=", "&&", "||", "!", "(")
    return before[-1:] == ["requires"]


def declared(code):
    """The code without what may stand between a declaration's words."""
    text = " " + code.strip().replace(">>", "> >") + " "
    nameless = r" (?:alignas \( [^()]* \)|\[ \[ [^\]]* \] \]|(?:template )?<(?: [^<>\s]+)* >|TARN_\w+|\n[^\n]*\n|"
    nameless += r"requires (?:\( (?:[^()]|\( (?:[^()]|\( [^()]* \))* \))* \)|[\w: ]+)(?= (?:class|struct|union) ))(?= )"
    while (shorter := re.sub(nameless, "", text, count=1)) != text:
        text = shorter
    return text


def name_of(code):
    text = declared(code)
    head = re.split(r" (?:[{;:=]|final) " if CLASS.match(text) else r" (?:[({;=\[]|:) ", text)[0]
    if " operator" in text[:len(head) + 10]:
        return "operator"
    found = re.search(r"((?:\w+ :: )*(?:~ )?\w+) *$", head)
    return found[1].replace(" ", "") if found else ""


def is_class(code):
    return CLASS.match(declared(code)) is not None and " {" in code


def content(code):
    """What stands in the braces of a class or function."""
    head = re.search(r" \{ ", code)
    return code[head.end() - 1:code.rindex(" }") + 1] if head else " "


def texts(paths):
    found = {}
    for path in paths:
        with open(path, encoding="utf-8") as file:
            found[path] = file.read()
    return found


class Code:
    """All headers: {path: text}. Bazel has one under each target that it is of."""

    def __init__(self, headers):
        headers = {re.sub(r".*/(?=(?:allocator|policies)/)", "", path): text for path, text in headers.items()}
        self.named = {}  # {name: [(text, header)]}, of what stands in a namespace
        for path, text in headers.items():
            for name, one in in_namespaces(normal(text)):
                self.named.setdefault(name, []).append((one, path))

    def all_of(self, name):
        """[(text, header)] of that name. Of classes the longest: where something is missing, another does nothing."""
        found = self.named.get(name, [])
        if not found:
            raise LookupError(f"the library has no {name}")
        classes = [one for one in found if is_class(one[0])]
        most = max((len(text) for text, _ in classes), default=0)
        return [one for one in classes if len(one[0]) == most] or found


def in_namespaces(code):
    """(name, text) of what stands in namespaces, also in those of namespaces."""
    for name, one in parts(code):
        if one.startswith(" namespace ") and " {" in one:
            yield from in_namespaces(content(one))
        else:
            yield name, one


def changed(root, changes, folder):
    """Writes headers with other text below `folder`, to be searched before `root`. Each change is (old, new); the old text must
    stand once in the whole library, laid out in any way. Throws RuntimeError."""
    headers = texts(path for room in ("allocator", "policies")
                    for path in glob.glob(os.path.join(root, "tarn", room, "**/*.h"), recursive=True)
                    if "_virtual_includes" not in path)
    touched = set()
    for old, new in changes:
        tokens = (r"(?:\bdetail\s*::\s*)?\b" * one[0].isalpha() + re.escape(one) for one in tokens_of(old))
        looked_for = re.compile(r"\s*".join(tokens))
        found = [(path, place) for path, text in headers.items() for place in looked_for.finditer(text)]
        if len(found) != 1:
            raise RuntimeError(f"this stands {len(found)} times in the library: {old}")
        path, place = found[0]
        headers[path] = headers[path][:place.start()] + new + headers[path][place.end():]
        touched.add(path)
    for path in touched:
        changed_one = os.path.join(folder, os.path.relpath(path, root))
        os.makedirs(os.path.dirname(changed_one), exist_ok=True)
        with open(changed_one, "w", encoding="utf-8") as file:
            file.write(headers[path])
