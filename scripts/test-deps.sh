#!/usr/bin/env bash
# Installs what the tests use and this machine lacks: redis-server, kcat and what the tests of real clients need.
# On a machine without apt-get, or without the right to use it, it says what to install.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

# command=package
wanted=(redis-server=redis-server redis-cli=redis-tools kcat=kcat python3=python3 npm=npm java=default-jre-headless mvn=maven)

missing=()
for entry in "${wanted[@]}"; do
  command -v "${entry%%=*}" >/dev/null || missing+=("${entry##*=}")
done
if command -v python3 >/dev/null && ! python3 -c 'import venv, ensurepip' 2>/dev/null; then missing+=(python3-venv); fi
if ! command -v python3 >/dev/null; then missing+=(python3-venv); fi

if ((${#missing[@]})); then
  if ! command -v apt-get >/dev/null; then
    echo "the tests need these, please install them: ${missing[*]}" >&2
    exit 1
  fi
  as_root=()
  if ((EUID != 0)); then as_root=(sudo); fi
  "${as_root[@]}" apt-get update -q
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "${missing[@]}"
fi

if [[ -x test/clients/install.sh ]]; then test/clients/install.sh; fi
