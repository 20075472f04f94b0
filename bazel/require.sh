# Sourced by test/run and bench/run: installs the Debian packages that are missing, by name, saying what for.
#
#   require PACKAGE WHY PROBE...  notes PACKAGE as missing where one of its PROBEs isn't here: a command, an absolute path, or
#                                 a library (lib*) as the linker finds it
#   require_for TIER              the same for all that a tier needs: quick, full or nightly for the tests, bench
#   require_mallocs               the same for the benchmarks that compare whole allocators
#   require_pip                   the same for pip, which install_python calls
#   install_missing               installs what was noted; does nothing, not even 'apt-get update', where nothing was
#   install_python FOLDER NAME==VERSION...  installs PyPI's packages into a folder, unless they are there

missing=()

is_here() {
  case $1 in
    /*) [ -e "$1" ] ;;
    # A library that isn't found is printed as it was given. Without g++ nothing is linked, wherever a library may be.
    lib*) [[ $(g++ -print-file-name="$1" 2>/dev/null) == /* ]] ;;
    *) command -v "$1" >/dev/null ;;
  esac
}

require() {
  local package=$1 why=$2 probe
  for probe in "${@:3}"; do
    if ! is_here "$probe"; then
      echo "missing: $package ($why)"
      missing+=("$package")
      return
    fi
  done
}

require_for() {
  require_bazel
  require g++ "a compiler that tarn supports" g++
  require python3 "scripts" python3
  # It brings the headers of all of Boost, those of Boost.Test too, but not the library of Boost.Test.
  require libboost-dev "Boost.Pool, a baseline; Boost's containers, clients of tarn's allocators" \
    /usr/include/boost/pool/pool.hpp
  case $1 in
    quick) require_for_quick_tests ;;
    full | nightly) require_for_quick_tests && require_for_all_tests ;;
    bench)
      require libbenchmark-dev "Google Benchmark" libbenchmark.so /usr/include/benchmark/benchmark.h
      require python3-matplotlib "the picture" /usr/lib/python3/dist-packages/matplotlib
      ;;
    *) echo "require_for: no tier '$1'" >&2; exit 2 ;;
  esac
}

require_for_quick_tests() {
  require libboost-test-dev "the test framework" libboost_unit_test_framework.a /usr/include/boost/test/unit_test.hpp
  require binutils "the test that disassembles the hot path" objdump
}

require_for_all_tests() {
  local runtime=/usr/lib/llvm-19/lib/clang/19/lib/linux/libclang_rt
  require clang-19 "the newest compiler that tarn supports" clang++-19
  require libclang-rt-19-dev "clang's sanitizers, and fuzzing" "$runtime".{asan,msan,tsan,fuzzer}-"$(uname -m)".a
  require clang-14 "the oldest clang that tarn supports" clang++-14
  require llvm-14 "names in a sanitizer's report" /usr/bin/llvm-symbolizer-14
  require libbenchmark-dev "Google Benchmark; the benchmarks are compiled too" \
    libbenchmark.so /usr/include/benchmark/benchmark.h
  require nlohmann-json3-dev "a client of tarn's allocators" /usr/include/nlohmann/json.hpp
  require python3-clang-19 "the test that compares the reference with the headers" \
    /usr/lib/python3/dist-packages/clang/cindex.py
  require codespell "the test of the documents' spelling" codespell
  require valgrind "the test that tools see freed blocks as freed" valgrind /usr/include/valgrind/memcheck.h
  require systemtap-sdt-dev "the test of the probes that tracers listen to" "/usr/include/$(uname -m)-linux-gnu/sys/sdt.h"
  require gdb "the test of its commands for pools" gdb
  require lldb-19 "the test of its commands for pools" lldb-19
  require python3-lldb-19 "lldb's scripts" /usr/lib/llvm-19/lib/python3*/*-packages/lldb/__init__.py
  require heaptrack "the test that it is told of blocks" heaptrack heaptrack_print
  require cmake "the test that tarn can be used from CMake" cmake
  require make "CMake calls it" make
  require git "a program that runs over tarn" git
  # Not redis-server, which has the same program, and starts it.
  require redis-tools "a program that runs over tarn" redis-check-rdb redis-cli redis-benchmark
  require libsqlite3-dev "a program that runs over tarn" libsqlite3.so /usr/include/sqlite3.h
}

require_mallocs() {
  local libraries
  libraries=/usr/lib/$(uname -m)-linux-gnu
  require libjemalloc2 "a malloc that tarn is compared with" "$libraries/libjemalloc.so.2"
  require libtcmalloc-minimal4 "a malloc that tarn is compared with" "$libraries/libtcmalloc_minimal.so.4"
  require libmimalloc2.0 "a malloc that tarn is compared with" "$libraries/libmimalloc.so.2"
}

require_bazel() {
  # A Bazel from elsewhere brings or fetches these rules itself.
  if command -v bazel >/dev/null && [ ! -e /usr/share/bazel/A-server.jar ]; then return; fi
  require bazel-bootstrap "the build" bazel
  require bazel-rules-cc "Bazel's rules for C++" /usr/share/bazel/rules/cc
  require bazel-rules-java "Bazel loads them with the rules for C++" /usr/share/bazel/rules/java
  require bazel-rules-proto "Bazel loads them with the rules for C++" /usr/share/bazel/rules/proto
  require bazel-platforms "Bazel's names of platforms" /usr/share/bazel/tools/platforms
  require bazel-skylib "the rules for C++ use it" /usr/share/bazel/tools/skylib
}

require_pip() {
  python3 -m pip --version >/dev/null 2>&1 || require python3-pip "PyPI's packages" /usr/lib/python3/dist-packages/pip
}

# Ends the command with a sentence: what went wrong, and what to do about it.
give_up() {
  echo "$0: $1." >&2
  exit 1
}

install_missing() {
  [ ${#missing[@]} -eq 0 ] && return
  local install=(install -y --no-install-recommends "${missing[@]}")
  local by_hand="apt-get update && apt-get ${install[*]}"
  apt_get=(apt-get -qq)
  command -v apt-get >/dev/null ||
    give_up "this is no Debian system, please install what is missing in its own way, then try again"
  if [ "$(id -u)" -ne 0 ]; then
    apt_get=(sudo apt-get -qq)
    command -v sudo >/dev/null ||
      give_up "packages are missing, and there is no sudo here: please have an administrator run '$by_hand'"
    # It may ask for a password, on the terminal.
    sudo -v || give_up "packages are missing, and sudo refuses: please have an administrator run '$by_hand'"
  fi
  export DEBIAN_FRONTEND=noninteractive

  echo "installing: ${missing[*]}"
  # All that needs the network comes first, so that nothing is half done. By itself, apt-get takes a server that doesn't
  # answer for a mere warning.
  fetch update -o APT::Update::Error-Mode=any
  fetch "${install[@]}" --download-only
  # Others may be installing, too: a new machine brings itself up to date.
  "${apt_get[@]}" -o DPkg::Lock::Timeout=300 "${install[@]}" </dev/null ||
    give_up "apt-get could not install all of ${missing[*]}; it says above why"
}

install_python() {
  local folder=$1 package name wanted=()
  for package in "${@:2}"; do
    name=${package/==/ }
    name=${name//-/_}  # as pip's folders are called
    [ -e "$folder/${name/ /-}.dist-info" ] || wanted+=("$package")
  done
  [ ${#wanted[@]} -ne 0 ] || return 0
  echo "installing from PyPI: ${wanted[*]}"
  # A server that takes the connection and then says nothing would keep pip for hours: it tries six times, for each package.
  local try
  for try in 1 2; do
    PIP_DEFAULT_TIMEOUT=20 timeout -k 10 300 python3 -m pip install --quiet --disable-pip-version-check \
      --root-user-action=ignore --upgrade --target "$folder" "${wanted[@]}" && return 0
    echo "try $try of 2 failed: ${wanted[*]}" >&2
  done
  return 1
}

# Calls apt-get quietly.
fetch() {
  local said
  # No stdin: nothing that apt-get starts may wait for an answer, or eat the caller's input.
  if said=$("${apt_get[@]}" "$@" </dev/null 2>&1); then return; fi
  said=$(grep -m 1 '^[EW]: ' <<<"$said" || head -n 1 <<<"$said")
  give_up "nothing was installed, because 'apt-get $1' failed (${said#[EW]: }); please try again when the packages' server can\
 be reached, or install what is missing yourself"
}
