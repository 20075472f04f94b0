"""Where repositories come from in WORKSPACE mode: from this system's packages if it has them, else by archive."""

def _is_installed(rctx):
    if not rctx.path(rctx.attr.system).exists:
        return False
    if not rctx.attr.library:
        return True

    # Another package may bring the headers. What the compiler doesn't find it prints as it was given.
    compiler = rctx.which("cc")
    return compiler and rctx.execute([compiler, "-print-file-name=" + rctx.attr.library]).stdout.startswith("/")

def _repository_impl(rctx):
    if _is_installed(rctx):
        if rctx.attr.system_build:
            rctx.file("BUILD", rctx.attr.system_build)
        else:
            # A copy, because Debian's packages may need a patch and Bazel writes a WORKSPACE file beside them.
            copy = rctx.execute(["cp", "-rL", rctx.attr.system + "/.", "."])
            if copy.return_code:
                fail("cannot copy %s: %s" % (rctx.attr.system, copy.stderr))
    else:
        rctx.download_and_extract(
            url = rctx.attr.urls,
            sha256 = rctx.attr.sha256,
            stripPrefix = rctx.attr.strip_prefix,
        )
        if rctx.attr.archive_build:
            rctx.file("BUILD", rctx.attr.archive_build)

    # rules_cc 0.0.4 imports a function that Bazel 4 lacks. The toolchain is found without it there.
    for path in rctx.attr.without_use_cpp_toolchain:
        text = rctx.read(path)
        text = text.replace(', "use_cpp_toolchain"', "").replace("use_cpp_toolchain()", "[]")
        rctx.file(path, text)

_repository = repository_rule(
    implementation = _repository_impl,
    doc = "`system` (a path of an installed package) if it exists, and `library` if there is one; otherwise the archive.",
    attrs = {
        "system": attr.string(mandatory = True),
        "library": attr.string(doc = "The file that is linked."),
        "system_build": attr.string(doc = "The BUILD file to write instead of copying `system`."),
        "archive_build": attr.string(doc = "The BUILD file to write where the archive has none."),
        "urls": attr.string_list(mandatory = True),
        "sha256": attr.string(mandatory = True),
        "strip_prefix": attr.string(),
        "without_use_cpp_toolchain": attr.string_list(),
    },
)

def _maybe(name, **kwargs):
    if not native.existing_rule(name):
        _repository(name = name, **kwargs)

def tarn_repositories():
    """What the library needs: rules_cc, and what Debian's Bazel wants besides it and can't fetch offline."""
    _maybe(
        name = "rules_cc",
        system = "/usr/share/bazel/rules/cc",
        urls = ["https://github.com/bazelbuild/rules_cc/releases/download/0.0.4/rules_cc-0.0.4.tar.gz"],
        sha256 = "af6cc82d87db94585bceeda2561cb8a9d55ad435318ccb4ddfee18a43580fb5d",
        strip_prefix = "rules_cc-0.0.4",
        without_use_cpp_toolchain = [
            "cc/private/rules_impl/cc_flags_supplier.bzl",
            "cc/private/rules_impl/compiler_flag.bzl",
        ],
    )
    _maybe(
        name = "rules_java",
        system = "/usr/share/bazel/rules/java",
        urls = ["https://github.com/bazelbuild/rules_java/archive/7cf3cefd652008d0a64a419c34c13bdca6c8f178.zip"],
        sha256 = "bc81f1ba47ef5cc68ad32225c3d0e70b8c6f6077663835438da8d5733f917598",
        strip_prefix = "rules_java-7cf3cefd652008d0a64a419c34c13bdca6c8f178",
    )
    _maybe(
        name = "rules_proto",
        system = "/usr/share/bazel/rules/proto",
        urls = ["https://github.com/bazelbuild/rules_proto/archive/refs/tags/4.0.0.tar.gz"],
        sha256 = "66bfdf8782796239d3875d37e7de19b1d94301e8972b3cbd2446b332429b4df1",
        strip_prefix = "rules_proto-4.0.0",
    )
    _maybe(
        name = "platforms",
        system = "/usr/share/bazel/tools/platforms",
        urls = ["https://github.com/bazelbuild/platforms/releases/download/0.0.2/platforms-0.0.2.tar.gz"],
        sha256 = "48a2d8d343863989c232843e01afc8a986eb8738766bfd8611420a7db8f6f0c3",
    )
    _maybe(
        name = "bazel_skylib",
        system = "/usr/share/bazel/tools/skylib",
        urls = ["https://github.com/bazelbuild/bazel-skylib/releases/download/1.0.3/bazel-skylib-1.0.3.tar.gz"],
        sha256 = "1c531376ac7e5a180e0237938a2536de0c54d93f5c278634818e0efc952dd56c",
    )
    _maybe(
        name = "remote_coverage_tools",
        system = "/usr/share/bazel/rules",
        system_build = _NO_COVERAGE,
        urls = ["https://mirror.bazel.build/bazel_coverage_output_generator/releases/coverage_output_generator-v2.5.zip"],
        sha256 = "cd14f1cb4559e4723e63b7e7b06d09fcc3bd7ba58d03f354cdff1439bd936a7d",
    )

def tarn_dev_repositories():
    """What only tarn's own tests and benchmarks need, under the names that MODULE.bazel gives it."""
    for name, header in _BOOST_HEADERS.items():
        _maybe(
            name = name,
            system = "/usr/include/boost/" + header,
            system_build = _SYSTEM_HEADERS.format(name = name),
            archive_build = _ARCHIVE_BOOST.format(name = name),
            **_BOOST
        )
    _maybe(
        name = "boost.test",
        system = "/usr/include/boost/test/unit_test.hpp",
        library = "libboost_unit_test_framework.a",
        system_build = _SYSTEM_BOOST_TEST,
        archive_build = _ARCHIVE_BOOST_TEST,
        **_BOOST
    )
    _maybe(
        name = "nlohmann_json",
        system = "/usr/include/nlohmann/json.hpp",
        system_build = _SYSTEM_HEADERS.format(name = "json"),
        urls = ["https://github.com/nlohmann/json/archive/refs/tags/v3.11.2.tar.gz"],
        sha256 = "d69f9deb6a75e2580465c6c4c5111b89c4dc2fa94e3a85fcd2ffcd9a143d9273",
        strip_prefix = "json-3.11.2",
        archive_build = _ARCHIVE_JSON,
    )
    _maybe(
        name = "google_benchmark",
        system = "/usr/include/benchmark/benchmark.h",
        library = "libbenchmark.so",
        system_build = _SYSTEM_BENCHMARK,
        urls = ["https://github.com/google/benchmark/archive/refs/tags/v1.7.1.tar.gz"],
        sha256 = "6430e4092653380d9dc4ccb45a1e2dc9259d581f4866dc0759713126056bc1d7",
        strip_prefix = "benchmark-1.7.1",
    )

# Every test target names these two, but only `bazel coverage` runs them.
_NO_COVERAGE = """
package(default_visibility = ["//visibility:public"])

filegroup(name = "coverage_report_generator")

filegroup(name = "lcov_merger")
"""

_BOOST = {
    "urls": ["https://archives.boost.io/release/1.74.0/source/boost_1_74_0.tar.bz2"],
    "sha256": "83bfc1507731a0906e387fc28b7ef5417d591429e51e788417fe9ff025e116b1",
    "strip_prefix": "boost_1_74_0",
}

# Libraries of headers, each with one of them.
_BOOST_HEADERS = {
    "boost.container": "container/list.hpp",
    "boost.pool": "pool/pool.hpp",
}

# The headers of the system's packages stand where the compiler looks anyway.
_SYSTEM_HEADERS = """
load("@rules_cc//cc:defs.bzl", "cc_library")

cc_library(
    name = "{name}",
    visibility = ["//visibility:public"],
)
"""

# The archive by its full name: it works with every compiler and sanitizer, and a test is one file.
_SYSTEM_BOOST_TEST = """
load("@rules_cc//cc:defs.bzl", "cc_library")

cc_library(
    name = "boost.test",
    linkopts = ["-l:libboost_unit_test_framework.a"],
    visibility = ["//visibility:public"],
)
"""

_ARCHIVE_BOOST = """
load("@rules_cc//cc:defs.bzl", "cc_library")

cc_library(
    name = "{name}",
    hdrs = glob(["boost/**"]),
    includes = ["."],
    visibility = ["//visibility:public"],
)
"""

# Without the files that hold a main(), as in the central registry's boost.test.
_ARCHIVE_BOOST_TEST = """
load("@rules_cc//cc:defs.bzl", "cc_library")

cc_library(
    name = "boost.test",
    srcs = glob(
        ["libs/test/src/*.cpp"],
        exclude = ["libs/test/src/*_main.cpp"],
    ),
    hdrs = glob(["boost/**"]),
    defines = ["BOOST_TEST_NO_LIB"],
    includes = ["."],
    visibility = ["//visibility:public"],
)
"""

_ARCHIVE_JSON = """
load("@rules_cc//cc:defs.bzl", "cc_library")

cc_library(
    name = "json",
    hdrs = glob(["include/nlohmann/**"]),
    includes = ["include"],
    visibility = ["//visibility:public"],
)
"""

_SYSTEM_BENCHMARK = """
load("@rules_cc//cc:defs.bzl", "cc_library")

cc_library(
    name = "benchmark",
    linkopts = ["-lbenchmark", "-pthread"],
    visibility = ["//visibility:public"],
)
"""
