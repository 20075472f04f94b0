"""precompiled_header: headers that many tests include, parsed once for each configuration."""

load("@rules_cc//cc:defs.bzl", "CcInfo", "cc_common")
load("@rules_cc//cc:find_cc_toolchain.bzl", "find_cc_toolchain")

def _precompiled_header_impl(ctx):
    # The compiler looks for the one beside the other. What it can't use, for other flags than its own, it leaves alone: g++
    # reads the text then.
    text = ctx.actions.declare_file(ctx.attr.name + ".h")
    ready = ctx.actions.declare_file(ctx.attr.name + ".h.gch")
    ctx.actions.symlink(output = text, target_file = ctx.file.hdr)

    toolchain = find_cc_toolchain(ctx)
    features = cc_common.configure_features(
        ctx = ctx,
        cc_toolchain = toolchain,
        requested_features = ctx.features,
        unsupported_features = ctx.disabled_features,
    )
    compiler = cc_common.get_tool_for_action(feature_configuration = features, action_name = "c++-compile")
    headers = cc_common.merge_cc_infos(cc_infos = [dep[CcInfo] for dep in ctx.attr.deps]).compilation_context
    variables = cc_common.create_compile_variables(
        feature_configuration = features,
        cc_toolchain = toolchain,
        # As Bazel compiles what is linked statically into a program.
        use_pic = ctx.var["COMPILATION_MODE"] != "opt",
        user_compile_flags = ctx.fragments.cpp.copts + ctx.fragments.cpp.cxxopts,
        include_directories = headers.includes,
        quote_include_directories = headers.quote_includes,
        system_include_directories = headers.system_includes,
        preprocessor_defines = headers.defines,
    )
    flags = cc_common.get_memory_inefficient_command_line(
        feature_configuration = features,
        action_name = "c++-compile",
        variables = variables,
    )

    # The content counts, as everywhere in Bazel: a text that was only touched is the same.
    date = ["-Xclang", "-fno-pch-timestamp"] if "clang" in compiler else []
    ctx.actions.run(
        executable = compiler,
        arguments = flags + date + ["-x", "c++-header", "-c", text.path, "-o", ready.path],
        env = cc_common.get_environment_variables(
            feature_configuration = features,
            action_name = "c++-compile",
            variables = variables,
        ),
        inputs = depset([text], transitive = [headers.headers, toolchain.all_files]),
        outputs = [ready],
        mnemonic = "TarnPrecompile",
        # clang looks for the text again, by the absolute path that it had: that must not be a sandbox's, nor another machine's.
        execution_requirements = {"no-sandbox": "1", "no-cache": "1"},
        progress_message = "Precompiling " + ctx.file.hdr.short_path,
    )
    return [
        DefaultInfo(files = depset([text])),
        cc_common.merge_cc_infos(cc_infos = [dep[CcInfo] for dep in ctx.attr.deps] + [CcInfo(
            compilation_context = cc_common.create_compilation_context(headers = depset([text, ready])),
        )]),
    ]

precompiled_header = rule(
    implementation = _precompiled_header_impl,
    doc = "`hdr`, parsed. What depends on it adds copts = [\"-include\", \"$(BINDIR)/<package>/<name>.h\"].",
    attrs = {
        "hdr": attr.label(mandatory = True, allow_single_file = [".h"]),
        "deps": attr.label_list(providers = [CcInfo], doc = "The libraries whose headers it includes."),
        "_cc_toolchain": attr.label(default = "@bazel_tools//tools/cpp:current_cc_toolchain"),
    },
    fragments = ["cpp"],
    toolchains = ["@bazel_tools//tools/cpp:toolchain_type"],
)
