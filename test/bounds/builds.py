"""The programs whose bounds are looked at: pools.cc for each processor, and other sources for x86-64 and Cortex-M4."""

import os
import subprocess
import tempfile
from dataclasses import dataclass

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
COMMON = ["-std=c++20", "-g", "-ffunction-sections", "-Wall", "-Wextra"]
ARM = ["arm-none-eabi-g++", "-mthumb", "-fdata-sections", "-fno-exceptions", "-fno-rtti", "-fno-threadsafe-statics",
       "-Wno-psabi", "--specs=nosys.specs"]
HOSTED = ["-no-pie", "-pthread"]


@dataclass
class Build:
    name: str  # in limits.txt
    title: str  # in docs/bounds.md
    command: list
    cpu: str = ""
    facts: tuple = ()  # files; {} stands for take or give
    has_lock_free: bool = False


def builds():
    x86 = ["g++", "-fcf-protection=none", *HOSTED]
    return [
        Build("x86-64", "x86-64", [*x86, "-O2"], "", ("shared.txt",)),
        Build("aarch64", "AArch64", ["aarch64-linux-gnu-g++", *HOSTED, "-O2"], "", ("shared.txt",)),
        Build("cortex-m4", "Cortex-M4", [*ARM, "-mcpu=cortex-m4", "-O2"], "cortex-m4", ("newlib.txt",), True),
        Build("cortex-m4-Os", "Cortex-M4, -Os", [*ARM, "-mcpu=cortex-m4", "-Os"], "cortex-m4", ("newlib.txt",), True),
        Build("cortex-m33", "Cortex-M33", [*ARM, "-mcpu=cortex-m33", "-O2"], "", ("newlib.txt",), True),
        Build("cortex-m0plus", "Cortex-M0+", [*ARM, "-mcpu=cortex-m0plus", "-O2"], "cortex-m0plus", ("newlib.txt",)),
        Build("cortex-m0plus-Os", "Cortex-M0+, -Os", [*ARM, "-mcpu=cortex-m0plus", "-Os"], "cortex-m0plus", ("newlib.txt",)),
        Build("riscv32", "RISC-V 32", ["riscv32", "-O2"], "", ("picolibc_{}.txt",), True),
    ]


def compiled(build, source, folder, *flags, names=()):
    """The program's path. RuntimeError: it isn't compiled. names: functions that the linker must keep."""
    out = os.path.join(folder, f"{build.name}-{os.path.basename(source)}.elf")
    with tempfile.TemporaryDirectory() as include:
        # The library is included as tarn/..., whatever its folder's name is.
        os.symlink(ROOT, os.path.join(include, "tarn"))
        given = [*COMMON, *flags, "-I", include]
        if build.command[0] == "riscv32":
            command = riscv_command(build.command[1:] + given + [f"-Wl,-u,{name}" for name in names], source, out)
        else:
            command = [*build.command, *given, source, "-o", out]
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                              cwd=ROOT)
    if done.returncode:
        raise RuntimeError(done.stdout)
    return out


def riscv_command(flags, source, out):
    """By test/platforms/bare, which has a linker's script and what a C++ runtime would bring."""
    rig = os.path.join(ROOT, "test", "platforms", "bare")
    script = f'. "{rig}/targets.sh"; target riscv32; printf "%s\\n" "$compiler" "${{options[@]}}" ' \
             '"-Wl,--defsym=code_start=$code,--defsym=code_bytes=$code_bytes,--defsym=data_start=$data" ' \
             '"-Wl,--defsym=data_bytes=$data_bytes,--defsym=stack_bytes=$stack"'
    said = subprocess.run(["bash", "-c", script], stdout=subprocess.PIPE, text=True, check=True)
    files = [os.path.join(rig, name) for name in ("riscv32.cc", "new.cc", "program.cc")]
    return [*said.stdout.splitlines(), *flags, "-fdata-sections", "-fno-threadsafe-statics", source, *files, "-nostartfiles",
            "-T", os.path.join(rig, "bare.ld"), "-Wl,--no-warn-rwx-segments", "-o", out]
