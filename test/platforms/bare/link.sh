#!/bin/bash
# Compiles and links a bare-metal program: link.sh TARGET OUT.elf SOURCES... -- FLAGS...
# Its main() returns the exit status. It prints with printf, or with
# extern "C" void tarn_test_write(const char* text, size_t bytes). The flags come after the rig's own (-std=c++20, -Os).
set -eu -o pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=/dev/null
. "$here/targets.sh"

target "$1"
out=$2
shift 2
sources=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do sources+=("$1"); shift; done
[ $# -gt 0 ] && shift
# The rig's own files without these flags: -flto would lose what only the C library calls.
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ln -s "$(cd "$here/../../.." && pwd)" "$work/tarn"  # whatever the checkout's folder is called
rig=()
for file in "$start" program.cc "${runtime[@]}"; do
  "$compiler" "${options[@]}" -std=c++20 -Os -ffunction-sections -fno-exceptions -c "$here/$file" -o "$work/$file.o"
  rig+=("$work/$file.o")
done
"$compiler" "${options[@]}" -std=c++20 -Os -ffunction-sections -fdata-sections -fno-threadsafe-statics "$@" -I "$work" \
  "${sources[@]}" "${rig[@]}" -nostartfiles -T "$here/bare.ld" \
  -Wl,--gc-sections -Wl,--no-warn-rwx-segments -Wl,-z,max-page-size=4096 \
  -Wl,--defsym=code_start="$code",--defsym=code_bytes="$code_bytes" \
  -Wl,--defsym=data_start="$data",--defsym=data_bytes="$data_bytes",--defsym=stack_bytes="$stack" -o "$out"
