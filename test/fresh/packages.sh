# Sourced by test/fresh/run: pass 5, every way to tarn from a bare Debian to the first compiled program. Each way has a copy of
# the bare system, installs what it needs, and its program says "consumed". docs/packages.md has the seconds.

ways=(plain cmake pkg_config meson conan debian bazel)

# What each way installs from Debian, and what it then calls, in the clone.
plain_needs="g++"
plain_calls='ln -s /root/tarn /tmp/tarn && g++ -std=c++20 -I/tmp test/consumer/consumer.cc -o /tmp/consumer && /tmp/consumer'

cmake_needs="g++ make cmake"
cmake_calls='cmake -S . -B /tmp/b && cmake --install /tmp/b &&
  cmake -S test/consumer -B /tmp/c -DFROM=package && cmake --build /tmp/c && /tmp/c/consumer'

pkg_config_needs="g++ make cmake pkgconf"
pkg_config_calls='cmake -S . -B /tmp/b && cmake --install /tmp/b &&
  g++ -std=c++20 $(pkg-config --cflags tarn) test/consumer/consumer.cc -o /tmp/consumer && /tmp/consumer'

meson_needs="g++ meson"
meson_calls='git archive --prefix=consumer/ HEAD:test/consumer | tar -x -C /tmp && mkdir /tmp/consumer/subprojects &&
  ln -s /root/tarn /tmp/consumer/subprojects/tarn && meson setup /tmp/b /tmp/consumer && ninja -C /tmp/b && /tmp/b/consumer'
meson_needs+=" git"

# The programs that Conan starts are Debian's; it stores what it makes below the home.
conan_needs="g++ make cmake python3-venv"
conan_calls='python3 -m venv /tmp/v && /tmp/v/bin/pip install -q conan==2.34.0 && /tmp/v/bin/conan profile detect &&
  /tmp/v/bin/conan create . -s compiler.cppstd=20'

# lintian comes after the program: who installs the packages doesn't need it.
debian_needs="build-essential debhelper cmake"
debian_calls='cp -r . /tmp/tarn-source && cd /tmp/tarn-source && dpkg-buildpackage -us -uc -b &&
  apt-get install -qq -y --no-install-recommends /tmp/libtarn-dev_*.deb /tmp/tarn-tools_*.deb &&
  g++ -std=c++20 /tmp/tarn-source/test/consumer/consumer.cc -o /tmp/consumer && /tmp/consumer'
debian_after='apt-get install -qq -y --no-install-recommends lintian >/tmp/apt.log 2>&1 && cd /tmp &&
  lintian --allow-root --fail-on error tarn_*.changes && rm -r tarn-source && for tool in /usr/bin/tarn-*; do
  "$tool" --help >/tmp/help || exit; done && tarn-amalgamate -o /tmp/one.h &&
  g++ -std=c++20 -fsyntax-only -x c++ /tmp/one.h'

bazel_needs="g++ python3 bazel-bootstrap bazel-rules-cc bazel-rules-java bazel-rules-proto bazel-platforms bazel-skylib"
bazel_calls='cp -r test/consumer /tmp/consumer && rm /tmp/consumer/MODULE.bazel && ln -s /root/tarn /tmp/consumer/tarn &&
  cd /tmp/consumer && bazel run //:consumer'

# One way, and what it took. The consumer's own line must be among the last.
take() {
  local way=$1 needs="$1_needs" calls="$1_calls" after="$1_after" began=$SECONDS installed
  root=$folder/pass5.$way log=$folder/pass5.$way.log
  make_copy
  # shellcheck disable=SC2016
  enter "$root" root online bash -c 'apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y \
    --no-install-recommends $0' "${!needs}" >"$log" 2>&1 || { wrong "$way: packages"; return 1; }
  installed=$((SECONDS - began))
  enter "$root" root online bash -c "set -e; ${!calls}" >>"$log" 2>&1 || { wrong "$way: exit status $?"; return 1; }
  tail -n 5 "$log" | grep -q '^consumed$' || { wrong "$way: the program said nothing"; return 1; }
  printf '  %-12s %4d s for packages, %4d s in all\n' "$way" "$installed" $((SECONDS - began))
  if [ -n "${!after-}" ]; then
    enter "$root" root online bash -c "set -e; ${!after}" >>"$log" 2>&1 || { wrong "$way: afterwards"; return 1; }
  fi
  [ -n "$keep" ] || remove "$root"
}

pass_5() {
  local way status=0
  for way in "${ways[@]}"; do
    if take "$way"; then passed=$((passed + 1)); else failed=$((failed + 1)) status=1; fi
  done
  return "$status"
}
