"""What a release needs beside its tag.

usage: packaging/release.py archive TARBALL
       packaging/release.py fill TARBALL OWNER/REPO DIR [--maintainer NAME:LOGIN:ID]...
       packaging/release.py check TARBALL DIR

archive  writes the release's archive of HEAD, tarn-VERSION.tar.gz: the same bytes each time
fill     writes into DIR tarn's entry in the Bazel Central Registry (modules/tarn/...), out of the templates in .bcr and the
         archive, which isn't fetched; a DIR that has earlier versions gets one more. Also tarn.wrap, for Meson
check    says what in DIR breaks the registry's documented rules or isn't what the archive has; `fill` does that at its end

OWNER/REPO is the repository on GitHub whose release holds the archive, under the tag vVERSION.
"""

import argparse
import ast
import base64
import gzip
import hashlib
import json
import os
import posixpath
import re
import subprocess
import sys
import tarfile

import yaml

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def read(*parts, root=ROOT):
    with open(os.path.join(root, *parts), encoding="utf-8") as file:
        return file.read()


def write(text, *parts):
    path = os.path.join(*parts)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def calls(text, function):
    """The named arguments of each call of `function` at the top of a MODULE.bazel, where they are constants."""
    found = []
    for node in ast.parse(text).body:
        call = getattr(node, "value", None)
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == function:
            found.append({one.arg: ast.literal_eval(one.value) for one in call.keywords})
    return found


def version_of(module_text):
    return calls(module_text, "module")[0].get("version", "")


def ordered(version):
    return [int(part) for part in re.findall(r"\d+", version)]


# ---- the archive


def archive(path, root=ROOT, revision="HEAD"):
    prefix = f"tarn-{version_of(read('MODULE.bazel', root=root))}/"
    tar = subprocess.run(["git", "-C", root, "archive", "--format=tar", "--prefix=" + prefix, revision], check=True,
                         stdout=subprocess.PIPE).stdout
    with open(path, "wb") as file, gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0) as packed:
        packed.write(tar)


def contents(tarball):
    """{path: bytes} of the files."""
    with tarfile.open(tarball) as tar:
        return {member.name: tar.extractfile(member).read() for member in tar if member.isfile()}


def digest(tarball):
    with open(tarball, "rb") as file:
        return hashlib.sha256(file.read()).digest()


def integrity(tarball):
    return "sha256-" + base64.b64encode(digest(tarball)).decode()


# ---- the entry


def fill(tarball, repository, folder, maintainers=()):
    files = contents(tarball)
    top = next(iter(files)).split("/")[0]
    module_text = files[top + "/MODULE.bazel"].decode()
    version = version_of(module_text)
    owner, repo = repository.split("/")
    given = {"{OWNER}": owner, "{REPO}": repo, "{TAG}": "v" + version, "{VERSION}": version, "{SHA256}": digest(tarball).hex()}

    def filled(text):
        return re.sub(r"\{[A-Z0-9]+\}", lambda hole: given[hole[0]], text)

    module = os.path.join(folder, "modules", "tarn")
    metadata = json.loads(filled(read(".bcr", "metadata.template.json")))
    if os.path.exists(os.path.join(module, "metadata.json")):
        metadata = json.loads(read("metadata.json", root=module))
    metadata["versions"] = sorted({*metadata["versions"], version}, key=ordered)
    if maintainers:
        people = [one.split(":") for one in maintainers]
        metadata["maintainers"] = [{"name": name, "github": login, "github_user_id": int(number)}
                                   for name, login, number in people]
    source = json.loads(filled(read(".bcr", "source.template.json")))
    source["integrity"] = integrity(tarball)
    write(json.dumps(metadata, indent=4) + "\n", module, "metadata.json")
    write(json.dumps(source, indent=4) + "\n", module, version, "source.json")
    write(module_text, module, version, "MODULE.bazel")
    write(read(".bcr", "presubmit.yml"), module, version, "presubmit.yml")
    write(filled(read("packaging", "tarn.wrap.in")), folder, "tarn.wrap")


# ---- the registry's rules, as its docs/README.md and metadata.schema.json have them

FIELDS = {"homepage": str, "maintainers": list, "repository": list, "versions": list}
OTHER_FIELDS = {"$schema", "yanked_versions", "deprecated"}
MAINTAINER = {"name": str, "email": str, "github": str, "github_user_id": int, "do_not_notify": bool}


def check_metadata(metadata, present):
    for name, kind in FIELDS.items():
        if not isinstance(metadata.get(name), kind) or not metadata[name]:
            yield f"metadata.json: {name} is missing or empty"
    for name in metadata.keys() - FIELDS.keys() - OTHER_FIELDS:
        yield f"metadata.json: the schema has no {name}"
    for one in metadata.get("maintainers", []):
        for name, value in one.items():
            if not isinstance(value, MAINTAINER.get(name, type(None))):
                yield f"metadata.json: a maintainer's {name}"
        if "github" in one and "github_user_id" not in one:
            yield "metadata.json: a maintainer with github has no github_user_id"
        if not re.fullmatch("[-a-zA-Z0-9]*", one.get("github", "")):
            yield "metadata.json: a maintainer's github is no name of a user"
    versions = metadata.get("versions", [])
    if versions != sorted(versions, key=ordered):
        yield "metadata.json: versions aren't sorted"
    for version in set(versions) ^ set(present):
        yield f"version {version} is not both a folder and in metadata.json"
    if versions and versions[-1] in metadata.get("yanked_versions", {}) and "deprecated" not in metadata:
        yield "metadata.json: the newest version is yanked"


def check_source(source, metadata, tarball, files):
    if source.get("type", "archive") != "archive":
        yield "source.json: its type isn't archive"
    url = source.get("url", "")
    allowed = [f"https://github.com/{one.removeprefix('github:')}" for one in metadata.get("repository", [])]
    if not any(url.startswith(one + "/") for one in allowed) or ".." in url:
        yield "source.json: the URL is of no repository in metadata.json"
    elif not any(url.startswith(one + "/releases/download/") for one in allowed):
        yield "source.json: the URL isn't stable: not that of a release's file"
    if url.split("/")[-1] != os.path.basename(tarball):
        yield "source.json: the URL has another file's name"
    if source.get("integrity") != integrity(tarball):
        yield f"source.json: integrity isn't the archive's, {integrity(tarball)}"
    if not any(path.startswith(source.get("strip_prefix", "") + "/") for path in files):
        yield "source.json: the archive has no folder strip_prefix"
    for name in source.keys() - {"type", "url", "integrity", "strip_prefix", "patches", "patch_strip", "docs_url"}:
        yield f"source.json: the registry knows no {name}"


def check_presubmit(presubmit, prefix, files):
    tested = presubmit.get("bcr_test_module", {})
    tasks = [*presubmit.get("tasks", {}).items(), *tested.get("tasks", {}).items()]
    if not tasks:
        yield "presubmit.yml: no task"
    for name, task in tasks:
        if "bazel" not in task:
            yield f"presubmit.yml: task {name} has no bazel"
        if "platform" not in task:
            yield f"presubmit.yml: task {name} has no platform"
        if not task.get("build_targets") and not task.get("test_targets"):
            yield f"presubmit.yml: task {name} has no targets"
    if not tested:
        yield "presubmit.yml: no test module"
        return
    path = posixpath.join(prefix, tested["module_path"])
    text = files.get(path + "/MODULE.bazel", b"").decode()
    ways = {one["module_name"]: one["path"] for one in calls(text, "local_path_override")}
    if posixpath.normpath(posixpath.join(path, ways.get("tarn", "?"))) != prefix:
        yield "presubmit.yml: the archive's test module has no override that leads to tarn"


def check(tarball, folder):
    """What is wrong, in sentences."""
    files = contents(tarball)
    module = os.path.join(folder, "modules", "tarn")
    metadata = json.loads(read("metadata.json", root=module))
    present = [name for name in os.listdir(module) if os.path.isdir(os.path.join(module, name))]
    wrong = list(check_metadata(metadata, present))
    version = sorted(present, key=ordered)[-1]
    here = os.path.join(module, version)
    source = json.loads(read("source.json", root=here))
    text = read("MODULE.bazel", root=here)
    prefix = source.get("strip_prefix", "")
    wrong += check_source(source, metadata, tarball, files)
    wrong += check_presubmit(yaml.safe_load(read("presubmit.yml", root=here)), prefix, files)
    if files.get(prefix + "/MODULE.bazel", b"").decode() != text:
        wrong.append("MODULE.bazel isn't the archive's")
    if version_of(text) != version:
        wrong.append(f"MODULE.bazel says version {version_of(text)}, its folder {version}")
    levels = {calls(read(one, "MODULE.bazel", root=module), "module")[0].get("compatibility_level", 0) for one in present}
    if len(levels) > 1:
        wrong.append("MODULE.bazel: compatibility_level isn't that of the other versions")
    if os.path.exists(os.path.join(folder, "tarn.wrap")) and digest(tarball).hex() not in read("tarn.wrap", root=folder):
        wrong.append("tarn.wrap: source_hash isn't the archive's")
    for path in ("modules/tarn/metadata.json", f"modules/tarn/{version}/source.json", "tarn.wrap"):
        if re.search(r"\{[A-Z0-9]+\}", read(path, root=folder)):
            wrong.append(f"{path}: something of the template is left")
    return wrong


def main():
    parser = argparse.ArgumentParser(prog="packaging/release.py", usage=__doc__, add_help=False)
    parser.add_argument("what", choices=["archive", "fill", "check"])
    parser.add_argument("words", nargs="+")
    parser.add_argument("--maintainer", action="append", default=[])
    given = parser.parse_args()
    if given.what == "archive":
        return archive(*given.words)
    if given.what == "fill":
        tarball, repository, folder = given.words
        fill(tarball, repository, folder, given.maintainer)
    else:
        tarball, folder = given.words
    wrong = check(tarball, folder)
    print("\n".join(wrong) or "as the registry asks")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
