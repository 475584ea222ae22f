#!/usr/bin/env bash
# fuzz.sh [TIME]: runs each fuzz test of the module for TIME (30s). New failing inputs stay in the package's testdata/fuzz.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
time=${1:-30s}

# `go test -list` prints a package's names and then a line "ok <package> <seconds>".
list=$(go test -list '^Fuzz' ./...)
found=0 names=()
while read -r word package _; do
  case $word in
    Fuzz*) names+=("$word") ;;
    ok)
      for name in "${names[@]}"; do
        echo "== $name ($package), $time"
        go test -run '^$' -fuzz "^$name\$" -fuzztime "$time" -fuzzminimizetime 10x "$package"
        found=$((found + 1))
      done
      names=()
      ;;
  esac
done <<<"$list"
if ((found == 0)); then echo 'no fuzz test found' >&2; exit 1; fi
echo "== $found fuzz tests ran for $time each"
