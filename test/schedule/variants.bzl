"""variants_test: a test of tarn's code, as it is and with mistakes."""

load("@rules_cc//cc:defs.bzl", "CcInfo", "cc_library")
load("//bazel:defs.bzl", "tarn_test")

def _variants_header_impl(ctx):
    headers = depset(transitive = [dep[CcInfo].compilation_context.headers for dep in ctx.attr.deps]).to_list()
    inputs = [file for file in headers if "tarn/policies/" in file.path] + ctx.files.tests
    output = ctx.actions.declare_file(ctx.attr.which + "_variants.h")
    arguments = ctx.actions.args()
    arguments.add(ctx.files._scripts[0])
    arguments.add(ctx.attr.which)
    arguments.add(output)
    arguments.add_all(inputs)
    ctx.actions.run(
        executable = "python3",
        arguments = ["-B", arguments],
        inputs = inputs + ctx.files._scripts,
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
        "tests": attr.label_list(allow_files = [".cc"]),
        "deps": attr.label_list(providers = [CcInfo]),
        "_scripts": attr.label_list(
            allow_files = True,
            default = [
                "variants.py",
                "mistakes.txt",
                "//test/support:library_code.py",
            ],
        ),
    },
)

def variants_test(which, tests, **kwargs):
    """Tests that include "tarn/test/schedule/<which>_variants.h".

    Args:
      which: the table in mistakes.txt.
      tests: source files, each a test. The build stops where they leave out a variant.
      **kwargs: as for tarn_test.
    """
    _variants_header(
        name = which + "_variants_h",
        testonly = True,
        which = which,
        tests = tests,
        deps = ["//policies"],
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
