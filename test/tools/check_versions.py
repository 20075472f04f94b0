#!/usr/bin/env python3
"""Every file that names tarn's version names that of version.h. A case is a file.

It reads the tree that it lies in, not what its rule names. NAMED lists the files; one that names the version and isn't listed
is a failure, and so is one that is gone. CHANGELOG.md has older versions, too: its newest is the one.
"""

import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))

import check_lengths
import compilers

# {path, or the name of a file in ANYWHERE: patterns}. What a pattern's group finds is a version: of three numbers, or of two
# where the third doesn't matter. Each pattern must be found in the file.
NAMED = {
    "MODULE.bazel": [r'module\([^)]*?version = "([^"]*)"'],
    "CMakeLists.txt": [r"project\(tarn\s+VERSION ([\d.]+)"],
    "README.md": [r'bazel_dep\(name = "tarn", version = "([^"]*)"', r"find_package\(tarn ([\d.]+)"],
    "CHANGELOG.md": [r"\A(?:(?!^## \[\d).)*^## \[(\d[^\]]*)\] (?:-|–) \d{4}-\d\d-\d\d$"],
    "test/consumer/MODULE.bazel": [r'bazel_dep\(name = "tarn", version = "([^"]*)"'],
    "meson.build": [r"^project\('tarn'[^)]*?\bversion: '([^']*)'"],
    "debian/changelog": [r"\Atarn \(([\d.]+)[^)]*\)"],
    "packaging/install.cmake": [r"find_package\(tarn ([\d.]+)"],
    "test/consumer/CMakeLists.txt": [r"set\(WANTED ([\d.]+)"],
    "docs/reference/settings.md": [r"needs tarn ([\d.]+\d)", r"100 \+ patch\. ([\d.]+\d) is"],
    "docs/reference/examples/version.cc": [r"needs tarn ([\d.]+\d)"],
    "docs/packages.md": [r"find_package\(tarn ([\d.]+)", r'"tarn/([\d.]+)"', r"tarn-([\d.]+\d)\.",
                         r'bazel_dep\(name = "tarn", version = "([^"]*)"'],
    "test/consumer/meson.build": [r"dependency\('tarn', version: '>=([\d.]+)'"],
    # Wherever they lie. conanfile.py and tarn.pc.in name none: they read CMakeLists.txt.
    "vcpkg.json": [r'"version(?:-semver|-string)?":\s*"([^"]*)"'],
    "metadata.json": [r'"versions":\s*\[[^\]]*"([^"]*)"\s*\]'],  # Bazel Central Registry's: its newest is the last
}
ANYWHERE = ("vcpkg.json", "metadata.json")

# Where versions of other things, and older ones of tarn's, may stand.
NOT_OURS = re.compile(r"(CHANGELOG\.md|test/tools/check_versions\.py|.*\.(lock|txt|svg|inc))")

OURS = re.compile(r"\btarn\b|TARN_VERSION|(?i:\bversion\b)")

PART = re.compile(r"^#define TARN_VERSION_(MAJOR|MINOR|PATCH) (\d+)$", re.MULTILINE)
PROGRAM = """#include "tarn/version.h"
static_assert(TARN_VERSION == {number});
static_assert(TARN_VERSION_MAJOR == {parts[0]} && TARN_VERSION_MINOR == {parts[1]} && TARN_VERSION_PATCH == {parts[2]});
constexpr char text[] = TARN_VERSION_STRING;
constexpr bool same(const char* a, const char* b) {{ return *a == *b && (*a == 0 || same(a + 1, b + 1)); }}
static_assert(same(text, "{version}"));
"""


def version_of(header):
    """(major, minor, patch) as version.h has them."""
    parts = dict(PART.findall(header))
    return tuple(int(parts[name]) for name in ("MAJOR", "MINOR", "PATCH"))


def patterns_of(path):
    """Those of a path, or of a file's name in a folder that packages are made from; None if there are none."""
    if path in NAMED:
        return NAMED[path]
    name = os.path.basename(path)
    return NAMED[name] if name in ANYWHERE else None


def wrong_in(path, text, version):
    """What is wrong with the versions in a file that is listed, or None."""
    said = []
    for pattern in patterns_of(path):
        found = re.findall(pattern, text, re.MULTILINE | re.DOTALL)
        if not found:
            said.append(f"{path} names no version where it should: {pattern}")
        allowed = (version, version.rpartition(".")[0])
        said += [f"{path} says {one}, version.h says {version}" for one in found if one not in allowed]
    return "\n".join(said) or None


def unlisted(texts, version):
    """Files that name the version and aren't listed."""
    exact = re.compile(rf"(?<![\d.]){re.escape(version)}(?![\d.]*\d)")
    said = [f"{path} names {version} and isn't listed in {os.path.basename(__file__)}" for path, text in texts.items()
            if path != "version.h" and not NOT_OURS.fullmatch(path) and patterns_of(path) is None
            and any(OURS.search(line) for line in text.splitlines() if exact.search(line))]
    return "\n".join(sorted(said)) or None


def selftest(texts, version):
    """Each file that is there with another version in it; and small texts."""
    def changed(path):
        shorter = re.escape(version.rpartition(".")[0])
        text = re.sub(rf"(?<![\d.])({re.escape(version)}|{shorter})(?!\.?\d)", "9.9.9", texts[path])
        return bool(wrong_in(path, text, version))

    log = "# Changelog\n\n## [Unreleased]\n\n## [1.2.3] - 2026-01-01\n\n## [1.2.2] - 2025-01-01\n"
    same = compilers.same
    return [same(f"{path} with another version", changed(path), True) for path in texts if patterns_of(path)] + [
        same("the newest of a changelog", wrong_in("CHANGELOG.md", log, "1.2.3"), None),
        same("an older one", wrong_in("CHANGELOG.md", log, "1.2.2"), "CHANGELOG.md says 1.2.3, version.h says 1.2.2"),
        same("a file that isn't listed", unlisted({"docs/a.md": "install tarn 1.2.3 so:"}, "1.2.3"),
             "docs/a.md names 1.2.3 and isn't listed in check_versions.py"),
    ]


def main():
    root, paths = check_lengths.tree()
    texts = {}
    for path in sorted(paths):
        try:
            with open(os.path.join(root, path), encoding="utf-8") as file:
                texts[path] = file.read()
        except (UnicodeDecodeError, FileNotFoundError, IsADirectoryError):
            pass  # a picture; a file that is deleted and not yet committed; a link
    parts = version_of(texts["version.h"])
    version = ".".join(map(str, parts))
    include = compilers.include_root()
    number = parts[0] * 10000 + parts[1] * 100 + parts[2]
    with open(os.path.join(include, "version.cc"), "w", encoding="utf-8") as file:
        file.write(PROGRAM.format(number=number, parts=parts, version=version))

    def header(compiler):
        def run():
            done, said = compilers.compile_only(compiler, include, "version.cc", *compilers.WARNINGS)
            return None if done else said
        return f"version.h is {version} ({compiler})", run

    listed = [path for path in texts if patterns_of(path)]
    cases = [(path, lambda path=path: wrong_in(path, texts[path], version)) for path in listed]
    cases.append(("no other file", lambda: unlisted(texts, version)))
    cases += [(path, lambda path=path: f"{path} isn't there") for path in NAMED if path not in (*texts, *ANYWHERE)]
    return compilers.report(selftest(texts, version) + [header(one) for one in compilers.present()] + cases)


if __name__ == "__main__":
    sys.exit(main())
