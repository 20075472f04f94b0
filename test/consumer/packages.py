"""Every package of tarn, made from this tree, and a program that has tarn from it. No network beyond what is installed first.

usage: test/consumer/packages.py [--only TEXT]... [--fix]

Installs what is missing: Debian's packages by name; Conan, CMake, Meson, spdx-tools from PyPI; buildifier from npm. A case is
a way to have tarn, or a check of a package; one shows that the checks find what they look for. The last line is
'N passed, N failed'. test/consumer/run calls this.

  --only TEXT   only cases whose name contains TEXT; may be repeated
  --fix         runs no case: formats the files that Bazel reads, with buildifier
"""

import argparse
import glob
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
OUT = os.path.join(ROOT, "build", "packages")  # ignored by git
PYTHON, NPM = os.path.join(OUT, "python"), os.path.join(OUT, "npm")
DEBIAN = ["g++ g++", "cmake cmake", "make make", "ninja-build ninja", "pkgconf pkg-config", "git git", "npm npm"]
PYPI = ["cmake==4.4.5", "conan==2.34.0", "meson==1.12.1", "spdx-tools==0.8.5"]
BUILDIFIER = "8.2.1"
# Dictionaries here are in the order of what builds on what.
LINT_LEFT_OUT = {"unsorted-dict-items"}
NEWEST = os.path.join(PYTHON, "cmake", "data", "bin", "cmake")
WARNINGS = ["-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Werror"]

CASES = []


def case(name):
    """A function that returns what is wrong, in sentences; or says it as Wrong."""
    def add(function):
        CASES.append((name, function))
        return function
    return add


class Wrong(Exception):
    """A case failed, and why."""


# ---- what is needed


def install():
    lines = ["set -u", f". {ROOT}/bazel/require.sh"]
    lines += [f'require {one.split()[0]} "packages of tarn" {one.split()[1]}' for one in DEBIAN]
    lines += ["require_pip", "install_missing", f"install_python {PYTHON} {' '.join(PYPI)}"]
    if subprocess.run(["bash", "-c", "\n".join(lines)], check=False).returncode:
        sys.exit("test/consumer/packages.py: packages are missing")
    package = os.path.join(NPM, "node_modules", "@bazel", "buildifier", "package.json")
    if not os.path.exists(package) or json.loads(read(package))["version"] != BUILDIFIER:
        print(f"installing from npm: @bazel/buildifier@{BUILDIFIER}", flush=True)
        subprocess.run(["timeout", "-k", "10", "300", "npm", "install", "--silent", "--no-save", "--fetch-timeout=20000",
                        "--prefix", NPM, f"@bazel/buildifier@{BUILDIFIER}"], check=True, stdout=subprocess.DEVNULL)


# ---- helpers


def read(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return file.read()


def write(text, *path):
    os.makedirs(os.path.dirname(os.path.join(*path)), exist_ok=True)
    with open(os.path.join(*path), "w", encoding="utf-8") as file:
        file.write(text)


def run(*command, **more):
    """(exit status, what it said)"""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", timeout=300, check=False, **more)
    return done.returncode, done.stdout


def must(*command, **more):
    status, said = run(*command, **more)
    if status:
        raise Wrong(f"{' '.join(command)}: exit status {status}\n{said}")
    return said


def refused(words, *command, **more):
    """What is wrong, unless the command fails and says these words."""
    status, said = run(*command, **more)
    said = " ".join(said.split())
    if not status:
        return [f"{' '.join(command)}: not refused"]
    return [] if words in said else [f"refused, but it doesn't say '{words}':\n{said}"]


def consumed(path, **more):
    return [] if must(path, **more).splitlines()[-1:] == ["consumed"] else [f"{path} doesn't say 'consumed'"]


def found(wrong, word, what):
    """What is wrong with a detector that looked at something broken."""
    return [] if any(word in one for one in wrong) else [f"{what} isn't found; said: {wrong}"]


def altered(path, old, new, checked, word):
    """The same for a file in which `old` is replaced for the time of `checked()`."""
    text = read(path)
    if old not in text:
        return [f"{path} has no '{old}' to break"]
    write(text.replace(old, new, 1), path)
    try:
        return found(checked(), word, f"{os.path.basename(path)} with '{new}'")
    finally:
        write(text, path)


class World:
    """A folder for one run, and what several cases need of it, made once."""

    def __init__(self, folder):
        self.folder = folder
        self.made = {}

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def once(self, name, make):
        if name not in self.made:
            self.made[name] = make()
        return self.made[name]

    def prefix(self, cmake):
        """tarn installed by this CMake."""
        def make():
            name = "debian" if cmake == "cmake" else "newest"
            must(cmake, "-S", ROOT, "-B", self.path(name, "build"), "-DCMAKE_INSTALL_PREFIX=" + self.path(name, "prefix"))
            must(cmake, "--install", self.path(name, "build"))
            return self.path(name, "prefix")
        return self.once("prefix " + cmake, make)

    def archive(self):
        """The release's archive, of what is in the tree now."""
        def make():
            import release  # pylint: disable=import-outside-toplevel
            path = self.path(f"tarn-{VERSION}.tar.gz")
            git = ["git", "-C", ROOT, "-c", "user.name=tarn", "-c", "user.email=tarn"]
            release.archive(path, revision=must(*git, "stash", "create").strip() or "HEAD")
            return path
        return self.once("archive", make)

    def copy(self, folder, name):
        shutil.rmtree(self.path(name), ignore_errors=True)
        return shutil.copytree(folder, self.path(name), symlinks=True)


VERSION = re.search(r"project\(tarn VERSION ([\d.]+)", read(ROOT, "CMakeLists.txt"))[1]


def headers(root):
    return {path for pattern in ("*.h", "allocator/**/*.h", "policies/**/*.h")
            for path in glob.glob(pattern, root_dir=root, recursive=True)}


def check_headers(folder):
    """That these are the tree's, byte for byte, and no others."""
    here = {os.path.relpath(one, folder) for one in glob.glob(folder + "/**/*.*", recursive=True)}
    for path in sorted(headers(ROOT) ^ here):
        yield f"{path}: not both in the tree and installed"
    for path in sorted(headers(ROOT) & headers(folder)):
        if read(ROOT, path) != read(folder, path):
            yield f"{path}: installed another"


def check_licence(path):
    if not os.path.exists(path) or read(path) != read(ROOT, "LICENSE"):
        yield f"the licence isn't {path}"


def check_installed(prefix, cps=False):
    """What an installed tree lacks, or has too much."""
    wrong = [*check_headers(prefix + "/include/tarn"), *check_licence(prefix + "/share/licenses/tarn/LICENSE")]
    expected = {"share/cmake/tarn/tarn-config.cmake", "share/cmake/tarn/tarn-config-version.cmake",
                "share/cmake/tarn/tarn-targets.cmake", "share/pkgconfig/tarn.pc", "share/licenses/tarn/LICENSE"}
    expected |= {"share/cps/tarn/tarn.cps"} if cps else set()
    expected |= {"share/tarn/LICENSE", "share/tarn/version.h"} | {f"bin/{program(tool)}" for tool in tools()}
    for folder, _, names in os.walk(os.path.join(ROOT, "tools")):
        if not folder.endswith("__pycache__"):
            expected |= {"share/tarn/" + os.path.relpath(os.path.join(folder, name), ROOT) for name in names if name != "BUILD"}
    present = {os.path.relpath(os.path.join(folder, name), prefix) for folder, _, names in os.walk(prefix) for name in names}
    wrong += [f"{path}: not both expected and installed"
              for path in sorted(expected ^ {one for one in present if not one.startswith("include/tarn/")})]
    for path, line in (("share/pkgconfig/tarn.pc", f"Version: {VERSION}\n"),
                       ("share/cps/tarn/tarn.cps", f'"version" : "{VERSION}"'),
                       ("share/cmake/tarn/tarn-config-version.cmake", f'set(PACKAGE_VERSION "{VERSION}")')):
        if path in expected & present and line not in read(prefix, path):
            wrong.append(f"{path}: its version isn't {VERSION}")
    return wrong


def tools():
    return sorted(name for name in map(os.path.basename, glob.glob(os.path.join(ROOT, "tools", "*")))
                  if "." not in name and not name.startswith("BUILD") and os.path.isfile(os.path.join(ROOT, "tools", name)))


def program(tool):
    return "tarn-" + tool.removeprefix("tarn-")


def check_parent(prefix):
    """A parent that has tarn in its tree installs its own program alone."""
    present = {os.path.relpath(os.path.join(folder, name), prefix) for folder, _, names in os.walk(prefix) for name in names}
    others = {"/".join(path.split("/")[:2]) for path in present} - {"bin/consumer"}
    return [f"the parent installs {path}" for path in sorted(others)] + \
        ([] if "bin/consumer" in present else ["the parent doesn't install its own program"])


def configured(world, name, *arguments, cmake="cmake"):
    """The arguments that configure the consumer in a folder of its own, which is the second value."""
    return [cmake, "-S", HERE, "-B", world.path(name), *arguments], world.path(name)


def build(world, name, *arguments, cmake="cmake"):
    command, folder = configured(world, name, *arguments, cmake=cmake)
    must(*command)
    must(cmake, "--build", folder)
    return folder


# ---- CMake


@case("CMake, Debian's: what is installed")
def debian_installs(world):
    return check_installed(world.prefix("cmake"))


@case("CMake, the newest: what is installed, with CPS")
def newest_installs(world):
    return check_installed(world.prefix(NEWEST), cps=True)


@case("find_package, with a version and a component")
def finds(world):
    folder = build(world, "find", "-DFROM=package", "-DCMAKE_PREFIX_PATH=" + world.prefix("cmake"))
    return consumed(folder + "/consumer")


@case("find_package refuses versions before and after, and a component that there isn't")
def refuses(world):
    prefix = "-DCMAKE_PREFIX_PATH=" + world.prefix("cmake")
    wrong = []
    for number, (option, words) in enumerate([("-DWANTED=0.1", "requested version"), ("-DWANTED=99", "requested version"),
                                              ("-DCOMPONENTS=nosuch", "nosuch")]):
        command, _ = configured(world, f"refuse{number}", "-DFROM=package", prefix, option)
        wrong += refused(words, *command)
    return wrong


@case("find_package of the newest CMake, by CPS alone; another version is refused")
def finds_cps(world):
    prefix = world.copy(world.prefix(NEWEST), "cps")
    shutil.rmtree(prefix + "/share/cmake")
    option = ["-DFROM=package", "-DCMAKE_PREFIX_PATH=" + prefix]
    wrong = consumed(build(world, "find-cps", *option, cmake=NEWEST) + "/consumer")
    for number, version in enumerate(("0.1", "99")):
        command, _ = configured(world, f"refuse-cps{number}", *option, "-DWANTED=" + version, cmake=NEWEST)
        wrong += refused("requested version", *command)
    return wrong


@case("FetchContent of the release's archive; the parent installs nothing of tarn")
def fetches(world):
    archive = world.archive()
    with open(archive, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    folder = build(world, "fetch", "-DFROM=archive", "-DARCHIVE=" + archive, "-DARCHIVE_HASH=SHA256=" + digest)
    must("cmake", "--install", folder, "--prefix", folder + "/prefix")
    return consumed(folder + "/consumer") + check_parent(folder + "/prefix")


@case("add_subdirectory: the parent installs nothing of tarn")
def subdirectory(world):
    parent = world.copy(HERE, "parent")
    os.symlink(ROOT, parent + "/tarn")
    must("cmake", "-S", parent, "-B", parent + "/b")
    must("cmake", "--build", parent + "/b")
    must("cmake", "--install", parent + "/b", "--prefix", parent + "/prefix")
    return consumed(parent + "/b/consumer") + check_parent(parent + "/prefix")


@case("detector: a parent that does install tarn (TARN_INSTALL=ON)")
def pollution(world):
    parent = world.path("parent")
    must("cmake", "-S", parent, "-B", parent + "/b", "-DTARN_INSTALL=ON")
    must("cmake", "--install", parent + "/b", "--prefix", parent + "/polluted")
    return found(check_parent(parent + "/polluted"), "installs include/tarn", "pollution")


for each in tools():
    @case(f"tools: {program(each)}, installed")
    def tool_runs(world, tool=each):
        path = f"{world.prefix('cmake')}/bin/{program(tool)}"
        must(path, "--help")
        if tool != "amalgamate":
            return []
        must(path, "-o", world.path("one.h"))
        must("g++", "-std=c++20", "-fsyntax-only", "-x", "c++", world.path("one.h"))
        return []


# ---- pkg-config


@case("pkg-config, of a tree that was moved after it was installed")
def pkg_config(world):
    prefix = world.copy(world.prefix("cmake"), "moved")
    env = {**os.environ, "PKG_CONFIG_PATH": prefix + "/share/pkgconfig"}
    if must("pkg-config", "--modversion", "tarn", env=env).strip() != VERSION:
        return ["tarn.pc has another version"]
    flags = must("pkg-config", "--cflags", "--libs", "tarn", env=env).split()
    must("g++", "-std=c++20", *WARNINGS, *flags, HERE + "/consumer.cc", "-o", world.path("by-pkg-config"))
    wrong = [] if any(world.path("moved") in flag for flag in flags) else [f"flags of another tree: {flags}"]
    return wrong + consumed(world.path("by-pkg-config")) + refused(
        "tarn", "pkg-config", "--print-errors", "--exists", "tarn >= 99", env=env)


# ---- Meson


def meson(*words, **more):
    return must(sys.executable, os.path.join(PYTHON, "bin", "meson"), *words, env={**os.environ, "PYTHONPATH": PYTHON}, **more)


def meson_consumer(world, name):
    folder = world.path(name)
    os.makedirs(folder + "/subprojects")
    for one in ("meson.build", "consumer.cc"):
        shutil.copy(os.path.join(HERE, one), folder)
    return folder


@case("Meson: what is installed, and a program that finds it")
def meson_installed(world):
    prefix = world.path("meson-prefix")
    meson("setup", world.path("meson"), ROOT, "--prefix", prefix)
    meson("install", "--quiet", "-C", world.path("meson"))
    wrong = [*check_headers(prefix + "/include/tarn"), *check_licence(prefix + "/share/licenses/tarn/LICENSE")]
    if f"Version: {VERSION}\n" not in read(prefix, "share/pkgconfig/tarn.pc"):
        wrong.append(f"tarn.pc: its version isn't {VERSION}")
    folder = meson_consumer(world, "meson-consumer")
    meson("setup", folder + "/b", folder, "--pkg-config-path", prefix + "/share/pkgconfig", "--wrap-mode=nofallback")
    meson("compile", "-C", folder + "/b")
    return wrong + consumed(folder + "/b/consumer")


@case("Meson: the wrap file of a release; the parent installs nothing of tarn, unless asked (detector)")
def meson_wrap(world):
    folder = meson_consumer(world, "meson-parent")
    shutil.copy(bcr(world) + "/tarn.wrap", folder + "/subprojects")
    os.mkdir(folder + "/subprojects/packagecache")
    shutil.copy(world.archive(), folder + "/subprojects/packagecache")
    meson("setup", folder + "/b", folder, "--prefix", folder + "/prefix")
    meson("install", "--quiet", "-C", folder + "/b")
    wrong = consumed(folder + "/b/consumer") + check_parent(folder + "/prefix")
    meson("configure", folder + "/b", "-Dtarn:install=true", "--prefix", folder + "/polluted")
    meson("install", "--quiet", "-C", folder + "/b")
    return wrong + found(check_parent(folder + "/polluted"), "installs include/tarn", "pollution")


# ---- Conan


def conan(world, *words):
    env = {**os.environ, "PYTHONPATH": PYTHON, "CONAN_HOME": world.path("conan"), "NO_COLOR": "1"}
    return [sys.executable, os.path.join(PYTHON, "bin", "conan"), *words], env


def conan_create(world, standard):
    return conan(world, "create", ROOT, "--no-remote", "-s", f"compiler.cppstd={standard}", "-c",
                 "tools.cmake.cmake_layout:test_folder=" + world.path("conan-test"))


@case("Conan: conan create, and its test package; C++17 is refused")
def conan_creates(world):
    command, env = conan(world, "profile", "detect")
    must(*command, env=env)
    command, env = conan_create(world, 20)
    said = must(*command, env=env)
    wrong = [] if "consumed" in said.splitlines() else ["the test package didn't run\n" + said]
    wrong += [] if f"tarn/{VERSION}: Package" in said else ["the package has another version\n" + said]
    prefixes = glob.glob(world.path("conan", "p", "b", "*", "p"))
    for prefix in prefixes:
        wrong += [*check_headers(prefix + "/include/tarn"), *check_licence(prefix + "/licenses/LICENSE")]
    wrong += [] if len(prefixes) == 1 else [f"packages: {prefixes}"]
    command, env = conan_create(world, 17)
    return wrong + refused("C++ standard", *command, env=env)


# ---- vcpkg


PORT = os.path.join(ROOT, "packaging", "vcpkg", "ports", "tarn")


def exported(prefix):
    return re.findall(r"^add_library\((tarn::\w+) ", read(prefix, "share/cmake/tarn/tarn-targets.cmake"), re.MULTILINE)


@case("vcpkg: the port's manifest, portfile and usage")
def vcpkg_rules(world):
    import check_port  # pylint: disable=import-outside-toplevel
    return check_port.check(PORT, exported(world.prefix("cmake")))


@case("vcpkg: the portfile, run with stand-ins for vcpkg's functions, and a program")
def vcpkg_portfile(world):
    packages = world.path("vcpkg")
    must("cmake", "-DPORTFILE=" + PORT + "/portfile.cmake", "-DCURRENT_PACKAGES_DIR=" + packages,
         "-DCURRENT_BUILDTREES_DIR=" + world.path("vcpkg-build"), "-P", os.path.join(ROOT, "packaging/vcpkg/stand_ins.cmake"))
    wrong = [*check_headers(packages + "/include/tarn"), *check_licence(packages + "/share/tarn/copyright")]
    wrong += [f"share/tarn/{name} is missing" for name in ("usage", "tarn-config.cmake")
              if not os.path.exists(f"{packages}/share/tarn/{name}")]
    wrong += [f"{name}/ is there" for name in ("bin", "lib", "debug", "share/licenses", "share/tarn/tools")
              if os.path.exists(f"{packages}/{name}")]
    folder = build(world, "vcpkg-consumer", "-DFROM=package", "-DCMAKE_PREFIX_PATH=" + packages)
    return wrong + consumed(folder + "/consumer")


# ---- Bazel


def buildifier(*words):
    return [os.path.join(NPM, "node_modules", ".bin", "buildifier"), *words]


def check_buildifier(root):
    import bazel_rules  # pylint: disable=import-outside-toplevel
    files = [os.path.join(root, path) for path in bazel_rules.build_files(root)]
    _, said = run(*buildifier("-mode=check", "-lint=warn", "-warnings=all", "-format=json", *files))
    for one in json.loads(said)["files"]:
        name = os.path.relpath(one["filename"], root)
        if not one["valid"]:
            yield f"{name}: not valid"
        elif not one["formatted"]:
            yield f"{name}: not formatted; test/consumer/packages.py --fix"
        for warning in one["warnings"] or []:
            if warning["category"] not in LINT_LEFT_OUT:
                yield f"{name}:{warning['start']['line']}: {warning['category']}: {warning['message']}"


@case("Bazel: buildifier, with every warning")
def bazel_lint(_world):
    return list(check_buildifier(ROOT))


@case("Bazel: what 7 to 9 ask, as far as it can be read in the files")
def bazel_reads(_world):
    import bazel_rules  # pylint: disable=import-outside-toplevel
    return bazel_rules.check(ROOT)


def bcr(world):
    """The folder with the registry's entry for the archive."""
    def make():
        import release  # pylint: disable=import-outside-toplevel
        release.fill(world.archive(), "owner/tarn", world.path("bcr"), ["A Person:a-person:1"])
        return world.path("bcr")
    return world.once("bcr", make)


@case("Bazel Central Registry: the entry for the release's archive")
def bcr_entry(world):
    import release  # pylint: disable=import-outside-toplevel
    return release.check(world.archive(), bcr(world))


@case("detectors: mistakes in what is installed, in a port, in what Bazel reads, and in the registry's entry")
def detectors(world):
    import bazel_rules, check_port, release  # pylint: disable=import-outside-toplevel,multiple-imports
    prefix, port = world.copy(world.prefix(NEWEST), "broken"), world.copy(PORT, "port")
    targets, registry = exported(world.prefix("cmake")), world.copy(bcr(world), "bcr-broken")
    tree = world.path("bazel-files")
    for path in bazel_rules.build_files(ROOT):
        write(read(ROOT, path), tree, path)
    wrong = []
    for folder, check, mistakes in (
            (prefix, lambda: check_installed(prefix, cps=True), [
                ("include/tarn/allocator/pool.h", "#include", "# include", "installed another"),
                ("share/pkgconfig/tarn.pc", VERSION, "0.0.9", "its version isn't"),
                ("share/licenses/tarn/LICENSE", "MIT", "MITT", "the licence isn't")]),
            (port, lambda: check_port.check(port, targets), check_port.MISTAKES),
            (tree, lambda: bazel_rules.check(tree), bazel_rules.MISTAKES),
            (tree, lambda: list(check_buildifier(tree)), [
                ("BUILD", "\ncc_library(", "\ncc_library( ", "not formatted"),
                ("BUILD", 'load("@rules_cc//cc:defs.bzl", "cc_library")\n', "", "native-cc-library")]),
            (registry, lambda: release.check(world.archive(), registry), [
                (f"modules/tarn/{VERSION}/source.json", '"sha256-', '"sha256-x', "integrity isn't"),
                (f"modules/tarn/{VERSION}/MODULE.bazel", "bazel_dep", "# bazel_dep", "isn't the archive's"),
                (f"modules/tarn/{VERSION}/presubmit.yml", "test/consumer/bcr", "test/consumer", "no override that leads"),
                ("modules/tarn/metadata.json", '"A Person"', '"{OWNER}"', "template is left")])):
        for name, old, new, word in mistakes:
            wrong += altered(os.path.join(folder, name), old, new, check, word)
    os.unlink(prefix + "/include/tarn/allocator/pool.h")
    return wrong + found(check_installed(prefix, cps=True), "allocator/pool.h: not both", "a missing header")


# ---- the release


@case("SBOM: valid SPDX, and as the tree is")
def sbom_is_valid(world):
    import sbom  # pylint: disable=import-outside-toplevel
    sbom.write_file(sbom.document(), world.path("tarn.spdx.json"))
    listed = {one["fileName"].removeprefix("./") for one in json.loads(read(world.path("tarn.spdx.json")))["files"]}
    wrong = [] if listed == headers(ROOT) | {"LICENSE"} else ["it lists other files than are installed"]
    return wrong + sbom.check(world.path("tarn.spdx.json"))


def main():
    parser = argparse.ArgumentParser(prog="test/consumer/packages.py", usage=__doc__, add_help=False)
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--fix", action="store_true")
    given = parser.parse_args()
    install()
    sys.path[:0] = [HERE, os.path.join(ROOT, "packaging"), os.path.join(ROOT, "packaging", "vcpkg")]
    sys.path.append(PYTHON)
    if given.fix:
        import bazel_rules  # pylint: disable=import-outside-toplevel
        return run(*buildifier(*[os.path.join(ROOT, path) for path in bazel_rules.build_files(ROOT)]))[0]
    passed = failed = 0
    with tempfile.TemporaryDirectory(prefix="tarn-packages-") as folder:
        world = World(folder)
        for name, function in CASES:
            if given.only and not any(text in name for text in given.only):
                continue
            began = time.monotonic()
            try:
                wrong = function(world)
            except Wrong as one:
                wrong = [str(one)]
            except Exception:  # pylint: disable=broad-exception-caught
                wrong = [traceback.format_exc()]
            print(f"{'FAIL' if wrong else 'ok  '}  {name}  ({time.monotonic() - began:.1f} s)", flush=True)
            for one in wrong:
                print("      " + one.replace("\n", "\n      "), flush=True)
            passed, failed = passed + (not wrong), failed + bool(wrong)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
