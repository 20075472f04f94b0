"""The rules of vcpkg's manual for a port, as far as they can be checked without vcpkg. check(port, targets) says what is wrong.

`targets` are those that the installed tarn exports. Needs license-expression, which comes with spdx-tools.
"""

import json
import os
import re

from license_expression import ExpressionError, get_spdx_licensing

IDENTIFIER = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
KINDS = {"name": str, "version": str, "version-semver": str, "version-date": str, "version-string": str, "port-version": int,
         "maintainers": (str, list), "summary": str, "description": (str, list), "homepage": str, "documentation": str,
         "license": str, "supports": str, "dependencies": list, "default-features": list, "features": dict}
# The order in which `vcpkg format-manifest` writes them.
ORDER = ["name", "version", "version-semver", "version-date", "version-string", "port-version", "maintainers", "summary",
         "description", "homepage", "documentation", "license", "supports", "dependencies", "default-features", "features"]


def check_manifest(text):
    manifest = json.loads(text)
    if text != json.dumps(manifest, indent=2) + "\n":
        yield "vcpkg.json: not as `vcpkg format-manifest` writes it: two spaces, a value to a line"
    for name, value in manifest.items():
        if name not in KINDS:
            yield f"vcpkg.json: the schema has no {name}"
        elif not isinstance(value, KINDS[name]) or not value:
            yield f"vcpkg.json: {name} is empty, or no {KINDS[name]}"
    if [name for name in ORDER if name in manifest] != [name for name in manifest if name in ORDER]:
        yield "vcpkg.json: not in the order in which `vcpkg format-manifest` writes"
    if not IDENTIFIER.fullmatch(manifest.get("name", "")):
        yield "vcpkg.json: no name that a port may have"
    versions = [name for name in manifest if name.startswith("version")]
    if len(versions) != 1:
        yield f"vcpkg.json: {len(versions)} versions, not one"
    if "version" in manifest and not re.fullmatch(r"\d+(\.\d+)*", manifest["version"]):
        yield "vcpkg.json: version is none of numbers and dots"
    for name in ("description", "license"):
        if name not in manifest:
            yield f"vcpkg.json: a port has a {name}"
    try:
        get_spdx_licensing().parse(manifest.get("license", ""), validate=True)
    except ExpressionError:
        yield f"vcpkg.json: SPDX knows no licence {manifest['license']}"
    for one in manifest.get("dependencies", []):
        name = one if isinstance(one, str) else one.get("name", "")
        if not IDENTIFIER.fullmatch(name):
            yield f"vcpkg.json: no port has the name '{name}'"
        if name.startswith("vcpkg-") and (isinstance(one, str) or one.get("host") is not True):
            yield f"vcpkg.json: {name} runs at build: \"host\": true"


def check_portfile(text, manifest):
    named = {one["name"] for one in manifest.get("dependencies", []) if isinstance(one, dict)}
    for call, port in (("vcpkg_cmake_configure", "vcpkg-cmake"), ("vcpkg_cmake_config_fixup", "vcpkg-cmake-config")):
        if call in text and port not in named:
            yield f"portfile.cmake: calls {call}, but vcpkg.json doesn't depend on {port}"
    for call in ("vcpkg_install_copyright", "vcpkg_fixup_pkgconfig"):
        if call + "(" not in text:
            yield f"portfile.cmake: no {call}"
    for call in re.findall(r"\bvcpkg_(?:configure|install|build|fixup)_cmake\w*", text):
        yield f"portfile.cmake: {call} is deprecated"


def check_usage(text, targets):
    if "find_package(tarn CONFIG REQUIRED)" not in text:
        yield "usage: no find_package(tarn CONFIG REQUIRED)"
    named = set(re.findall(r"\btarn::\w+", text))
    for one in sorted(named ^ set(targets)):
        yield f"usage: {one} is not both named and exported"


def check(port, targets):
    texts = {}
    for name in ("vcpkg.json", "portfile.cmake", "usage"):
        path = os.path.join(port, name)
        if not os.path.exists(path):
            return [f"{name} is missing"]
        with open(path, encoding="utf-8") as file:
            texts[name] = file.read()
    wrong = list(check_manifest(texts["vcpkg.json"]))
    wrong += check_portfile(texts["portfile.cmake"], json.loads(texts["vcpkg.json"]))
    return wrong + list(check_usage(texts["usage"], targets))


# What must be found: a file, a text in it, what stands there instead, a word of the sentence.
MISTAKES = [
    ("vcpkg.json", '"MIT"', '"MITT"', "SPDX knows no"),
    ("vcpkg.json", '  "license": "MIT",\n', "", "a port has a license"),
    ("vcpkg.json", '"version": "', '"version": "v', "none of numbers"),
    ("vcpkg.json", '  "version": "', '  "version-semver": "1.0.0",\n  "version": "', "2 versions"),
    ("vcpkg.json", '"name": "tarn"', '"name": "Tarn"', "no name"),
    ("vcpkg.json", '"description": "', '"describes": "', "schema has no describes"),
    ("vcpkg.json", '      "host": true', '      "host": false', "runs at build"),
    ("vcpkg.json", "  ", "    ", "format-manifest"),
    ("portfile.cmake", "vcpkg_install_copyright(", "message(", "no vcpkg_install_copyright"),
    ("usage", "tarn::tarn", "tarn::pool", "not both named and exported"),
    ("usage", "CONFIG REQUIRED", "REQUIRED", "no find_package"),
]
