# What the targets are: sets compiler, libc and what they are told, machine, and where the machine's memory lies.
# shellcheck shell=bash disable=SC2034

# The C++ headers of Debian's only libstdc++ for newlib. Debian has none for RISC-V without a system, but both targets are
# 32-bit with the same sizes, and the headers' configuration says "newlib", which picolibc descends from.
arm_headers() { printf '%s\n' /usr/include/newlib/c++/*/ | sort -V | tail -n 1; }

target() {
  start=cortex_m.cc runtime=() stack=0x10000
  case $1 in
    cortex_m0)  # an nRF51 with 16 KiB
      compiler=arm-none-eabi-g++ options=(-mcpu=cortex-m0 -mthumb) machine=(qemu-system-arm -M microbit)
      code=0x0 code_bytes=256K data=0x20000000 data_bytes=16K stack=0x800 ;;
    cortex_m0_large)  # the same instructions on an M4, which has them all, and 16 MiB: qemu has no larger board with an M0
      compiler=arm-none-eabi-g++ options=(-mcpu=cortex-m0 -mthumb) machine=(qemu-system-arm -M mps2-an386)
      code=0x0 code_bytes=4M data=0x21000000 data_bytes=16M ;;
    cortex_m4)
      compiler=arm-none-eabi-g++ options=(-mcpu=cortex-m4 -mthumb) machine=(qemu-system-arm -M mps2-an386)
      code=0x0 code_bytes=4M data=0x21000000 data_bytes=16M ;;
    cortex_m33)
      compiler=arm-none-eabi-g++ options=(-mcpu=cortex-m33 -mthumb) machine=(qemu-system-arm -M mps2-an505)
      code=0x10000000 code_bytes=4M data=0x80000000 data_bytes=16M ;;
    riscv32)
      compiler=riscv64-unknown-elf-gcc machine=(qemu-system-riscv32 -M virt -m 64M -bios none)
      headers=$(arm_headers) start=riscv32.cc runtime=(new.cc)
      options=(-march=rv32imac -misa-spec=2.2 -mabi=ilp32 -mcmodel=medany --specs=picolibc.specs -nostdinc++
        -fno-exceptions -fno-rtti -isystem "$headers" -isystem "$headers/arm-none-eabi/thumb/v7e-m/nofp")
      code=0x80000000 code_bytes=16M data=0x81000000 data_bytes=32M ;;
    *) echo "unknown target $1: cortex_m0, cortex_m0_large, cortex_m4, cortex_m33, riscv32" >&2; exit 2 ;;
  esac
}
