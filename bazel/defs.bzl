"""The macros of tarn's BUILD files: tarn_headers, tarn_test(s), compile_fail_test, library_test, script_test."""

load("@rules_cc//cc:defs.bzl", "CcInfo", "cc_library", "cc_test")

def tarn_headers(name, hdrs, deps = [], **kwargs):
    """Headers with the one spelling "tarn/<package>/<file>", and a test that each of them compiles alone.

    Args:
      name: the library. The test is `<name>_headers_test`; it has one case for each header.
      hdrs: the headers.
      deps: the libraries whose headers these include.
      **kwargs: visibility and the like, for the library.
    """
    cc_library(
        name = name,
        hdrs = hdrs,
        include_prefix = "tarn/" + native.package_name(),
        deps = deps,
        **kwargs
    )
    if hdrs:
        script_test(
            name = name + "_headers_test",
            script = "//test/support:check_headers.py",
            srcs = hdrs,
            deps = [":" + name],
            tags = ["any_config"],
        )

# In front of every file of a test, but where it has flags of its own: what was parsed with other flags is refused.
PRECOMPILED = ["-include", "$(BINDIR)/test/support/precompiled.h"]

def tarn_test(name, srcs, deps = [], copts = [], **kwargs):
    """A Boost.Test program. The sources hold test cases only: main() and the report come from //test/support.

    Args:
      name: the test.
      srcs: files that include <boost/test/unit_test.hpp> and define no BOOST_TEST_MODULE.
      deps: libraries besides Boost.Test.
      copts: flags of its own; they rule out the precompiled header.
      **kwargs: as for cc_test.
    """
    tags = kwargs.get("tags", [])
    for tag, refusals in {"memory": ["no_sanitizers"], "threads": ["no_sanitizers", "no_tsan"]}.items():
        if tag in tags and [one for one in refusals if one in tags]:
            fail("%s: the first tier runs what is tagged '%s' under that sanitizer alone; it may not refuse it" % (name, tag))
    cc_test(
        name = name,
        srcs = srcs,
        linkstatic = True,
        copts = copts or PRECOMPILED,
        deps = deps + ["//test/support:boost_test"] + ([] if copts else ["//test/support:precompiled"]),
        **kwargs
    )

def tarn_tests(tests, deps = [], **kwargs):
    """Tests of one file each.

    Args:
      tests: {name: tags}. `x` is the test x_test, of x_test.cc. CONTRIBUTING.md lists the tags; most tests need none.
      deps: of each.
      **kwargs: as for cc_test.
    """
    for name, tags in tests.items():
        tarn_test(
            name = name + "_test",
            srcs = [name + "_test.cc"],
            tags = tags,
            deps = deps,
            **kwargs
        )

def compile_fail_test(name, srcs, **kwargs):
    """Code that must not compile, each case with its right twin. test/compile_fail/README.md says what stands in a file.

    Args:
      name: the test. It has one case for each mistake and compiler, and one for each file's twins.
      srcs: the files.
      **kwargs: as for library_test.
    """
    library_test(
        name = name,
        script = "//test/support:check_compile_fail.py",
        srcs = srcs,
        **kwargs
    )

def _script_test_impl(ctx):
    words = [ctx.file.script.short_path] + ctx.attr.words + [file.short_path for file in ctx.files.srcs]
    start = ctx.actions.declare_file(ctx.label.name)
    ctx.actions.write(
        start,
        "#!/bin/sh\nexport PYTHONDONTWRITEBYTECODE=1\nexec {} \"$@\"\n".format(" ".join(["'%s'" % w for w in words])),
        is_executable = True,
    )
    runfiles = ctx.runfiles(
        files = [ctx.file.script, ctx.file._compilers] + ctx.files.srcs + ctx.files.data,
        transitive_files = depset(transitive = [dep[CcInfo].compilation_context.headers for dep in ctx.attr.deps]),
    )
    for target in ctx.attr.data:
        runfiles = runfiles.merge(target[DefaultInfo].default_runfiles)
    return [DefaultInfo(executable = start, runfiles = runfiles)]

# Not sh_test or py_test: Bazel 9 has neither, and a header-only library should not ask for two more rule sets.
script_test = rule(
    implementation = _script_test_impl,
    doc = "Runs `script words... srcs...` in the root of the runfiles. It prints 'N passed, N failed' at the end.",
    test = True,
    attrs = {
        "script": attr.label(mandatory = True, allow_single_file = True),
        "words": attr.string_list(doc = "Arguments before the sources."),
        "srcs": attr.label_list(allow_files = True, doc = "Files whose paths are the last arguments."),
        "deps": attr.label_list(providers = [CcInfo], doc = "Libraries whose headers the script compiles."),
        "data": attr.label_list(allow_files = True, doc = "What else it reads or runs."),
        "_compilers": attr.label(default = "//test/support:compilers.py", allow_single_file = True),
    },
)

def library_test(name, tags = [], deps = ["//allocator", "//policies"], **kwargs):
    """A script that compiles the library, with compilers and flags of its own: the same result in every configuration.

    Args:
      name: the test.
      tags: besides `any_config`.
      deps: the libraries whose headers it compiles.
      **kwargs: as for script_test.
    """
    script_test(
        name = name,
        tags = ["any_config"] + tags,
        deps = deps,
        **kwargs
    )
