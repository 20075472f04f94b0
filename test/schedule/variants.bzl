"""variants_test: a test of tarn's headers, as they are and with mistakes."""

load("@rules_cc//cc:defs.bzl", "CcInfo", "cc_library")
load("//bazel:defs.bzl", "tarn_test")

def _variants_header_impl(ctx):
    found = {}
    for dep in ctx.attr.deps:
        for file in dep[CcInfo].compilation_context.headers.to_list():
            for name in ctx.attr.headers:
                if file.path.endswith("tarn/policies/" + name):
                    found[name] = file
    for name in ctx.attr.headers:
        if name not in found:
            fail("no header " + name)
    inputs = [found[name] for name in ctx.attr.headers] + ctx.files.tests
    output = ctx.actions.declare_file(ctx.attr.which + "_variants.h")
    arguments = ctx.actions.args()
    arguments.add(ctx.file._script)
    arguments.add(ctx.attr.which)
    arguments.add(output)
    arguments.add_all(inputs)
    ctx.actions.run(
        executable = "python3",
        arguments = ["-B", arguments],
        inputs = inputs + [ctx.file._script, ctx.file._tables],
        outputs = [output],
        mnemonic = "TarnVariants",
        use_default_shell_env = True,
    )
    return [DefaultInfo(files = depset([output]))]

# Not a genrule: policies' headers are no targets that it could name.
_variants_header = rule(
    implementation = _variants_header_impl,
    attrs = {
        "which": attr.string(mandatory = True),
        "headers": attr.string_list(mandatory = True),
        "tests": attr.label_list(allow_files = [".cc"]),
        "deps": attr.label_list(providers = [CcInfo]),
        "_script": attr.label(default = "variants.py", allow_single_file = True),
        "_tables": attr.label(default = "mistakes.py", allow_single_file = True),
    },
)

def variants_test(which, headers, tests, **kwargs):
    """Tests that include "tarn/test/schedule/<which>_variants.h".

    Args:
      which: the table in mistakes.py.
      headers: files below policies/, those that others need first.
      tests: source files, each a test. The build stops where they leave out a variant.
      **kwargs: as for tarn_test.
    """
    _variants_header(
        name = which + "_variants_h",
        testonly = True,
        which = which,
        headers = headers,
        tests = tests,
        deps = [
            "//policies:detail",
            "//policies:locking",
            "//policies:store",
        ],
    )
    cc_library(
        name = which + "_variants",
        testonly = True,
        hdrs = [which + "_variants_h"],
        include_prefix = "tarn/test/schedule",
        deps = [":scheduler"],
    )
    for test in tests:
        tarn_test(
            name = test[:-len(".cc")],
            srcs = [test],
            timeout = "long",  # a minute where nothing else runs
            copts = ["-O1"],  # -O2 takes longer to compile than it saves
            deps = [which + "_variants"],
            **kwargs
        )
