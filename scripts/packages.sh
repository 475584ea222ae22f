# shellcheck shell=bash
# Sourced by the other scripts.

# need PROGRAM PACKAGE: the program is in PATH, or apt-get brings it; where that cannot be, says what to install.
need() {
  command -v "$1" >/dev/null || install_package "$2" "$1"
}

# install_package PACKAGE WHAT: apt-get brings the package, which holds what is missing; where that cannot be, says what to install.
install_package() {
  local as_root=()
  if ((EUID != 0)); then as_root=(sudo); fi
  if ! command -v apt-get >/dev/null || ! command -v "${as_root[0]:-true}" >/dev/null; then
    echo "$2 is missing: please install $1" >&2
    exit 1
  fi
  { # stdout may be somebody's input
    "${as_root[@]}" apt-get update -q
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$1"
  } >&2
}
