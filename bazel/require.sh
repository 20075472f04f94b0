# Sourced by test/run and bench/run: installs the Debian packages that are missing, by name, saying what for.
#
#   require PACKAGE PROBE WHY   notes PACKAGE as missing where PROBE, a command or an absolute path, is not here
#   require_bazel               the same for Bazel and what Debian's Bazel needs
#   install_missing             installs what was noted; does nothing, not even 'apt-get update', where nothing was

missing=()

require() {
  local package=$1 probe=$2 why=$3
  case $probe in
    /*) [ -e "$probe" ] && return ;;
    *) command -v "$probe" >/dev/null && return ;;
  esac
  echo "missing: $package ($why)"
  missing+=("$package")
}

require_bazel() {
  # A Bazel from elsewhere brings or fetches these rules itself.
  if command -v bazel >/dev/null && [ ! -e /usr/share/bazel/A-server.jar ]; then return; fi
  require bazel-bootstrap bazel "the build"
  require bazel-rules-cc /usr/share/bazel/rules/cc "Bazel's rules for C++"
  require bazel-rules-java /usr/share/bazel/rules/java "Bazel loads them with the rules for C++"
  require bazel-rules-proto /usr/share/bazel/rules/proto "Bazel loads them with the rules for C++"
  require bazel-platforms /usr/share/bazel/tools/platforms "Bazel's names of platforms"
  require bazel-skylib /usr/share/bazel/tools/skylib "the rules for C++ use it"
}

install_missing() {
  [ ${#missing[@]} -eq 0 ] && return
  local apt=(apt-get)
  if ! command -v apt-get >/dev/null; then
    echo "This is no Debian system: please install what is missing yourself, then try again." >&2
    exit 1
  elif [ "$(id -u)" -ne 0 ]; then
    apt=(sudo apt-get)
  fi
  echo "installing: ${missing[*]}"
  DEBIAN_FRONTEND=noninteractive
  export DEBIAN_FRONTEND
  # No stdin: nothing that apt starts may wait for an answer, or eat the caller's input.
  "${apt[@]}" update -qq </dev/null &&
    "${apt[@]}" install -y -qq --no-install-recommends "${missing[@]}" </dev/null || {
    echo "could not install: ${missing[*]}" >&2
    exit 1
  }
}
