#!/bin/bash
# Runs a program of link.sh in an emulator: run.sh TARGET OUT.elf [OPTIONS OF QEMU...]. Its output is this
# one's, and its exit status. After TARN_TEST_SECONDS (300) it is stopped, with status 124.
set -eu -o pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=/dev/null
. "$here/targets.sh"

target "$1"
exec timeout "${TARN_TEST_SECONDS:-300}" "${machine[@]}" -nographic -monitor none -serial stdio \
  -semihosting-config enable=on,target=native -kernel "$2" "${@:3}" </dev/null
