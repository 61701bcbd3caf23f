#!/usr/bin/env bash
# From a bare Debian 12 to a running program: installs what is missing, builds into build/, runs.
# Ubuntu 24.04 should work as well: untested.
set -euo pipefail
cd -P "$(dirname "${BASH_SOURCE[0]}")"

packages=(g++ cmake ninja-build libeigen3-dev librapidcheck-dev libssl-dev libcli11-dev
          nlohmann-json3-dev libfmt-dev libgtest-dev libbenchmark-dev)

usage() {
  cat >&2 <<'END'
usage: ./bootstrap.sh build   install what is missing and build everything into build/
       ./bootstrap.sh test    the same, then run the tests
       ./bootstrap.sh demo    build the program, check a small trained network, then find a fault in it
END
  exit 2
}

say() { printf '\n== %s\n' "$*"; }

is_installed() {
  [[ $(dpkg-query --show --showformat='${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
}

install_packages() {
  if ! command -v dpkg-query >/dev/null; then
    say "no Debian: taking it that the equivalents of these are installed: ${packages[*]}"
    return
  fi
  local package missing=() as_root=()
  for package in "${packages[@]}"; do
    is_installed "$package" || missing+=("$package")
  done
  ((${#missing[@]})) || return 0
  if ((EUID != 0)); then
    if ! command -v sudo >/dev/null; then
      echo "bootstrap.sh: these packages are missing, and installing them needs root or sudo." >&2
      echo "As root: apt-get update && apt-get install ${missing[*]}" >&2
      exit 2
    fi
    as_root=(sudo)
  fi
  say "installing ${missing[*]}"
  "${as_root[@]}" apt-get update
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive \
    apt-get install --yes --no-install-recommends "${missing[@]}"
}

# A build folder that another generator or another checkout made is configured afresh.
configure() {
  local cache=build/CMakeCache.txt fresh=()
  if [[ -f $cache ]] && ! { grep -qxF "CMAKE_GENERATOR:INTERNAL=Ninja" "$cache" &&
                            grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$PWD" "$cache"; }; then
    fresh=(--fresh)
  fi
  cmake "${fresh[@]}" --preset cpu
}

build() {
  install_packages
  say "building into build/"
  configure
  cmake --build --preset cpu --parallel "$(nproc)" "$@"
}

# Runs a command that must end with the given status. The program prints its own command line.
expect() {
  local expected=$1 status=0
  shift
  echo
  "$@" || status=$?
  if ((status != expected)); then
    echo "bootstrap.sh: exit status $status where $expected was expected" >&2
    exit 1
  fi
}

demo() {
  local check=(build/samebits check corpora/checkpoints/digits.safetensors
               --inputs corpora/checkpoints/digits.inputs.safetensors)
  expect 0 "${check[@]}"
  say "exit status 0: with and without weight caching, every tensor has the same bits."
  expect 1 "${check[@]}" --scenario stale-weight
  say "exit status 1, as expected: a cached weight was used after its source had moved, and that was found."
}

(($# == 1)) || usage
case $1 in
  build)
    build
    ;;
  test)
    build
    ctest --preset cpu --parallel "$(nproc)"
    ;;
  demo)
    build --target samebits
    demo
    ;;
  *) usage ;;
esac
