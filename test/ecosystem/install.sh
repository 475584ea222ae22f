#!/usr/bin/env bash
# install.sh kafka|spark: brings the Java systems that the tests of this folder run, in the versions pinned in java/, and prints their class path.
# Nothing is done when they are there already: jars in ${KORVET_TEST_CACHE:-${XDG_CACHE_HOME:-~/.cache}/korvet-test}/ecosystem-SYSTEM-<hash of the
# pins>, classes in a folder of their sources' hash below it.
# install.sh rsyslog: brings rsyslogd with its Kafka modules.
# Programs that the system lacks (java, maven, rsyslog) are installed by apt-get where that is possible.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${KORVET_TEST_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/korvet-test}
# shellcheck source=scripts/packages.sh
source "$here/../../scripts/packages.sh"

hash_of() { cat "$@" | sha256sum | cut -c1-12; }

install_jars() { # source folder, target folder
  if [[ -f $2/complete ]]; then return; fi
  rm -rf "$2"
  mkdir -p "$2"
  mvn -q -B -f "$1/pom.xml" dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$2/lib" -Dbuild.dir="$2/target" >&2
  touch "$2/complete"
}

compile() { # source folder, folder of jars, target folder
  if [[ -f $3/complete ]]; then return; fi
  rm -rf "$3"
  mkdir -p "$3"
  # Annotations of libraries that are not there are no concern of ours.
  javac -Werror -Xlint:all,-processing,-classfile,-path -d "$3" -cp "$2/lib/*" "$1"/*.java >&2
  if [[ -d $1/META-INF ]]; then cp -r "$1/META-INF" "$3/"; fi
  touch "$3/complete"
}

install_java() { # kafka or spark
  need javac default-jdk-headless
  need mvn maven
  local sources=$here/java/$1 dir classes
  dir=$cache/ecosystem-$1-$(hash_of "$sources/pom.xml")
  classes=$dir/classes-$(find "$sources" -type f -not -name pom.xml | sort | xargs cat | sha256sum | cut -c1-12)
  install_jars "$sources" "$dir"
  compile "$sources" "$dir" "$classes"
  echo "$classes:$dir/lib/*"
}

# has_kafka_modules: rsyslogd is there and can load what the tests' configurations load.
has_kafka_modules() {
  command -v rsyslogd >/dev/null &&
    rsyslogd -N1 -f <(echo 'module(load="omkafka") module(load="imkafka") action(type="omfile" file="/dev/null")') >/dev/null 2>&1
}

install_rsyslog() {
  PATH=$PATH:/usr/sbin
  if ! has_kafka_modules; then install_package rsyslog-kafka "rsyslogd with its Kafka modules"; fi
  command -v rsyslogd
}

mkdir -p "$cache"
exec 9>"$cache/ecosystem-install.lock"
if command -v flock >/dev/null; then flock 9; fi # two test runs at once: the second waits for the first
case ${1:-} in
  kafka | spark) install_java "$1" ;;
  rsyslog) install_rsyslog ;;
  *) echo "usage: install.sh kafka|spark|rsyslog" >&2; exit 2 ;;
esac
