"""Compiles and links the program, the plugin and the library that defines their pools, each once for each way to build it."""

import os

import compilers

COMPILERS = ["g++", "clang++-19"]
VISIBILITIES = ["default", "hidden"]
WAYS = ["local", "global", "linked"]
FLAGS = ["-std=c++20", "-I.", *compilers.WARNINGS]


def changed_header(builder, folder, header, changes):
    """Writes a header with other text into a folder to be searched first. Throws RuntimeError where there is none such."""
    with open(os.path.join(builder.root, "tarn", header), encoding="utf-8") as file:
        text = file.read()
    for old, new in changes.items():
        if text.count(old) != 1:
            raise RuntimeError(f"{header} has no one '{old}' any more")
        text = text.replace(old, new)
    path = os.path.join(builder.root, folder, "tarn", header)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def source_object(builder, source, compiler, visibility, macros, code="-fPIC", first=None):
    """The job of an object file. Headers are looked for in the folder `first`, then in the tree."""
    name = "-".join([source, compiler, visibility, macros, code.lstrip("-"), *([first] if first else [])]) + ".o"
    # Compiling takes longer than running. Functions of two libraries mix only where some are inlined and others are not.
    optimised = macros == "without" and (visibility == "default" or "TARN_NIGHTLY" in os.environ)
    wanted = ["-O1" if optimised else "-O0"] + (["-DWITH_MACROS"] if macros == "with" else [])
    wanted += [f"-I{first}"] if first else []
    return builder.job(name, [compiler, *wanted, *FLAGS, code, f"-fvisibility={visibility}", "-c",
                              f"tarn/test/libraries/{source}.cc"])


class Combination:
    """How program and plugin are built, how the one gets at the other, and where the shared pools are defined: in a library
    of their own, in the program or in the plugin. With `macros` "without" they are defined wherever they are used. `symbolic`:
    libraries are linked with -Bsymbolic. `first`: a folder with other headers."""

    def __init__(self, builder, macros, compiler, other, visibility, rdynamic, way, place="library", code="-fPIE",
                 symbolic=False, first=None):
        self.builder, self.macros, self.compiler, self.other, self.visibility = builder, macros, compiler, other, visibility
        self.rdynamic, self.way, self.code, self.symbolic, self.first = rdynamic, way, code, symbolic, first
        self.place = place if macros == "with" else "nowhere"

    def __str__(self):
        more = ["-rdynamic"] * self.rdynamic + ["-Bsymbolic"] * self.symbolic
        more += [self.code] if self.code != "-fPIE" else []
        more += [f"{self.macros} the macros"]
        more += [f"defined in the {self.place}"] if self.place in ("program", "plugin") else []
        return f"{self.compiler} and {self.other}, {self.visibility}, {self.way}, {', '.join(more)}"

    def compile(self):
        """The jobs of program, plugin and definitions; the last in a list that may be empty."""
        def made(source, compiler, code="-fPIC"):
            return source_object(self.builder, source, compiler, self.visibility, self.macros, code, self.first)

        owner = self.other if self.place == "plugin" else self.compiler
        return (made("program", self.compiler, self.code), made("plugin", self.other),
                [made("definitions", owner)] if self.macros == "with" else [])

    def link(self):
        """The paths of the program and the plugin. Throws RuntimeError."""
        program, plugin, definitions = self.compile()
        key = f"{self.compiler}-{self.other}-{self.visibility}-{self.macros}-{self.place}-{self.symbolic}-{self.first}"
        shared = ["-shared"] + ["-Wl,-Bsymbolic"] * self.symbolic
        library = []
        if self.place == "library":
            library = [self.made(f"libpools-{key}.so", self.compiler, shared, definitions)]
        plugin = self.made(f"libplugin-{key}.so", self.other, shared,
                           [plugin, *(definitions if self.place == "plugin" else library)])
        linked = [plugin] if self.way == "linked" else []
        flags = ["-rdynamic"] * self.rdynamic + (["-no-pie"] if self.code == "-fno-pie" else []) + ["-Wl,--no-as-needed"]
        name = f"program-{key}-{'linked' if linked else 'opens'}-{self.rdynamic}{self.code}"
        inputs = [program, *linked, *(definitions if self.place == "program" else library)]
        return self.made(name, self.compiler, flags, inputs), plugin

    def made(self, name, compiler, flags, inputs):
        """The path of what is linked from paths and jobs. It finds libraries in its own folder."""
        paths = [one if isinstance(one, str) else one.result() for one in inputs]
        return self.builder.job(name, [compiler, *flags, *paths, "-pthread", "-Wl,-rpath,$ORIGIN"]).result()
