#!/usr/bin/env python3
"""libtarn_malloc in programs that know nothing of it.

usage: check_malloc.py behaviour    limits of memory, refusals, options, and what hardened finds; small programs of ours
       check_malloc.py programs [OPTIONS]
                                    real programs compute the same as with the C library's malloc: all of them must be there
"""

import functools
import os
import re
import resource
import subprocess
import sys
import tempfile

FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(FOLDER, "..", "programs"), os.path.join(FOLDER, "..", "support")]

import check_programs
import compilers
import programs

FLAGS = ["-std=c++20", "-O2", "-Wall", "-Wextra", "-pthread"]
OF_MALLOC = ["-fPIC", "-shared", "-fvisibility=hidden", "-fno-builtin-malloc", "-ftls-model=initial-exec"]
SECONDS = 120

# Address space in MiB, and whether a GiB can be had under it.
LIMITS = {64: False, 128: False, 256: False, 512: False, 1024: False, 2048: True, 4096: True}
MOST = 1 << 30

# {a deed of the probe's: what is reported at once in hardened mode}
MISUSES = {
    "double": "double free", "double_later": "double free", "double_elsewhere": "double free",
    "double_here_then_there": "double free", "double_after_trim": "double free", "double_realloc": "double free",
    "interior_realloc": "interior pointer", "interior": "interior pointer",
    "interior_odd": "interior pointer", "foreign": "foreign pointer",
    "foreign_realloc": "foreign pointer", "size": "wrong size", "size_free": "wrong size", "size_aligned_free": "wrong size",
    "size_aligned": "wrong size", "size_said_large": "wrong size", "size_large": "wrong size", "size_said_small": "wrong size",
    "large_double": "double free",
    "large_interior": "interior pointer", "never_used": "double free",
}
# Of those, what is found without hardened, too, sooner or later.
ALWAYS = ("double_after_trim", "foreign", "foreign_realloc", "large_double", "large_interior")

PERL = ["perl", "-e", """
my (%of, @list); srand 1;
for my $i (1 .. 60000) {
  my $word = join '', map { chr 97 + rand 26 } 1 .. 1 + rand 30;
  push @{$of{substr $word, 0, 2}}, $word x 3;
}
for my $key (sort keys %of) {
  @list = sort @{$of{$key}};
  delete $of{$key} if @list % 2;
  print "$key ", scalar(@list), "\\n";
}
my $text = join ',', map { $_ * 7 % 1001 } 1 .. 50000;
my $n = () = $text =~ /(\\d)\\1/g;
print "$n ", length($text x 20), "\\n";
"""]


def build(folder, include, source, name, *flags):
    target = os.path.join(folder, name)
    subprocess.run(["g++", *FLAGS, *flags, "-I", include, source, "-o", target], check=True)
    return target


class Probe:
    """Runs the probe over a malloc, and says (status, standard output, standard error)."""

    def __init__(self, path, malloc):
        self.path, self.malloc = path, malloc

    def __call__(self, *words, options="", limit=0, of=resource.RLIMIT_AS, before="", **more):
        preloaded = " ".join(filter(None, (before, self.malloc)))
        environment = programs.environment("", {"LD_PRELOAD": preloaded, "TARN_MALLOC": options, **more})

        def confine():
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            if limit:
                resource.setrlimit(of, (limit, limit))

        done = subprocess.run([self.path, *words], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              errors="replace", timeout=SECONDS, check=False, preexec_fn=confine)
        return done.returncode, done.stdout, done.stderr


def wrong(got, status, output="", error=""):
    """What is wrong with an answer; None: nothing. output, error: patterns of all of it."""
    if got[0] == status and re.fullmatch(output, got[1]) and re.fullmatch(error, got[2], re.DOTALL):
        return None
    return f"wanted status {status}, {output!r}, {error!r}\ngot    {got}"


def under_limits(probe):
    for mib, is_enough in LIMITS.items():
        for options in ("", "small", "hardened"):
            said = "all, and again as much\n" if is_enough else "a part, and again as much\n"
            yield (f"ulimit -v, {mib} MiB {options}",
                   lambda mib=mib, options=options, said=said:
                   wrong(probe("hungry", str(MOST), options=options, limit=mib << 20), 0, said))
            if mib < 1024:
                yield (f"ulimit -d, {mib} MiB {options}",
                       lambda mib=mib, options=options, said=said:
                       wrong(probe("hungry", str(MOST), options=options, limit=mib << 20, of=resource.RLIMIT_DATA), 0, said))


def under_refusals(probe, refuse):
    """Each request to the system is refused in its turn: alone, or with all that follow."""
    def case(at, more):
        status, said, error = probe("hungry", str(40 << 20), before=refuse, REFUSE_AT=str(at), **more)
        return None if status == 0 and re.search("and again", said) and not error else f"{status} {said!r} {error!r}"

    for more in ({}, {"REFUSE_ONCE": "1"}):
        yield (f"the system refuses {'one request' if more else 'from one request on'}: 60 cases",
               lambda more=more: "\n".join(f"{at}: {bad}" for at in range(1, 61) if (bad := case(at, more))) or None)


def all_refused(probe, refuse):
    """That refusals come where they should: with none granted, the probe has no memory at all."""
    status, said, _ = probe("right", before=refuse, REFUSE_AT="1")
    return "it had memory all the same" if status == 0 and said == "well\n" else None


def options_cases(probe):
    for options in ("", "small", "huge", "hardened", "small,hardened", "huge,small,hardened"):
        yield f"options: {options or 'none'}", lambda options=options: wrong(probe("right", options=options), 0, "well\n")
    told = r'tarn: TARN_MALLOC knows small, huge and hardened, not "{}"; it is ignored\n'
    for word in ("Small", "checked", "hard", "x" * 100):
        yield (f"options: {word[:10]} is told of",
               lambda word=word: wrong(probe("right", options=word + ",small"), 0, "well\n", told.format(word[:39])))


def misuse_cases(probe):
    for kind, said in MISUSES.items():
        report = rf'tarn: {said}: pool "malloc" <\d+ bytes>@0x[0-9a-f]+ block 0x[0-9a-f]+.*\n'

        def case(options, kind=kind, report=report):
            return wrong(probe("misuse", kind, options=options), -6, "", report)

        yield f"hardened: {kind}", functools.partial(case, "hardened")
        if kind in ALWAYS:
            yield f"without options: {kind}", functools.partial(case, "")


def behaviour(folder, include, malloc):
    probe = Probe(build(folder, include, os.path.join(FOLDER, "probe.cc"), "probe", "-fno-builtin"), malloc)
    refuse = build(folder, include, os.path.join(FOLDER, "refuse.cc"), "refuse.so", "-fPIC", "-shared", "-fno-builtin")
    return [*options_cases(probe), *misuse_cases(probe), *under_limits(probe), *under_refusals(probe, refuse),
            ("refusals are refusals", functools.partial(all_refused, probe, refuse))]


def real(folder, include, malloc):
    chosen = programs.programs(folder, include, check_programs.history(folder, include), True)
    chosen["perl"] = lambda of, _: programs.run(PERL, of)
    calls = functools.partial(check_programs.compared, folder, check_programs.calls, malloc, "well True\n")
    return [("calls", calls)] + \
        [(name, functools.partial(check_programs.compared, folder, program, malloc)) for name, program in chosen.items()]


def main():
    with tempfile.TemporaryDirectory(dir=os.environ.get("TEST_TMPDIR")) as folder:
        include = compilers.include_root()
        malloc = build(folder, include, os.path.join(include, "tarn", "malloc", "malloc.cc"), "libtarn_malloc.so", *OF_MALLOC)
        kind = {"behaviour": behaviour, "programs": real}[sys.argv[1]]
        os.environ["TARN_MALLOC"] = "".join(sys.argv[2:])  # of the programs; the C library's malloc doesn't read it
        return compilers.report(kind(folder, include, malloc))


if __name__ == "__main__":
    sys.exit(main())
