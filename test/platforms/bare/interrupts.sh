#!/bin/bash
# A program and a timer's interrupt in one pool (../interrupts.cc), on each target; then with mistakes in it and in the library,
# each of which must be found: interrupts.sh [CALLS [TARGETS...]]. A million calls to each pool if not said.
#
# qemu counts instructions for the time (-icount), so that a run is always the same, and has its interrupts at the same places.
set -u -o pipefail
here=$(cd "$(dirname "$0")" && pwd)
checkout=$(cd "$here/../../.." && pwd)
calls=${1:-1000000}
shift $(($# > 0))
targets=("$@")
[ $# -eq 0 ] && targets=(cortex_m0_large cortex_m4 cortex_m33 riscv32)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0 failed=0

trial() {  # TARGET FLAGS...
  "$here/link.sh" "$1" "$work/program.elf" "$here/../interrupts.cc" -- -fno-exceptions -fno-rtti "${@:2}" &&
    "$here/run.sh" "$1" "$work/program.elf" -icount shift=0
}
count() {  # WHETHER WHAT
  if [ "$1" -eq 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); echo "FAILED: $2"; fi
}
# A header with a mistake, which stands before tarn's: NAME HEADER WHAT INSTEAD
mistake() {
  mkdir -p "$(dirname "$work/$1/tarn/$2")"
  sed "s/$3/$4/" "$checkout/$2" >"$work/$1/tarn/$2"
  cmp -s "$checkout/$2" "$work/$1/tarn/$2" && { echo "$2 has no longer: $3"; exit 1; }
}
found() {  # TARGET NAME FLAGS...: the program says "WRONG", or comes to no end
  TARN_TEST_SECONDS=60 trial "$1" -DTARN_TEST_OPERATIONS=100000 "${@:3}" >"$work/said" 2>&1
  local status=$?
  { [ $status -ge 124 ] && [ -s "$work/program.elf" ]; } || grep -q WRONG "$work/said"
  count $? "$1: not found: $2"
  rm -f "$work/program.elf"
}

mistake untagged policies/locking/detail/tagged_stack.h 'tag_of(seen) + 1)' 'tag_of(seen))'
mistake unmasked policies/locking/lock_free.h '!platform::system::has_threads && masks_interrupts<interrupt_mask>' false
for target in "${targets[@]}"; do
  echo "$target"
  TARN_TEST_SECONDS=${TARN_TEST_SECONDS:-3000} trial "$target" "-DTARN_TEST_OPERATIONS=$calls"
  count $? "$target"
  found "$target" "nothing is masked" -DTARN_TEST_MASK=no_mask
  [ "${target#cortex_m0}" = "$target" ] || continue
  found "$target" "no tag" -I "$work/untagged"
  found "$target" "blocks are carved while interrupts come" -I "$work/unmasked"
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
