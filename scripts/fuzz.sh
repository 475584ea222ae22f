#!/usr/bin/env bash
# fuzz.sh [TIME]: runs each fuzz test of the module for TIME (30s). New failing inputs stay in the package's testdata/fuzz.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
time=${1:-30s}

# `go test -list` prints a package's names and then a line "ok <package> <seconds>".
list=$(go test -list '^Fuzz' ./...)
found=0 names=()
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# fuzz NAME PACKAGE runs one test. Before Go 1.27 a test may fail at the very end of its time, with nothing but "context
# deadline exceeded" and no failing input (go.dev/issue/75804): that is the end of the time, and no failure. A slow or a
# hanging input is reported otherwise, with the input.
fuzz() {
  go test -run '^$' -fuzz "^$1\$" -fuzztime "$time" -fuzzminimizetime 10x "$2" 2>&1 | tee "$log" && return
  [[ $(sed -n '/^--- FAIL/,/^FAIL/p' "$log" | sed '1d;$d') == '    context deadline exceeded' ]]
}
while read -r word package _; do
  case $word in
    Fuzz*) names+=("$word") ;;
    ok)
      for name in "${names[@]}"; do
        echo "== $name ($package), $time"
        fuzz "$name" "$package"
        found=$((found + 1))
      done
      names=()
      ;;
  esac
done <<<"$list"
if ((found == 0)); then echo 'no fuzz test found' >&2; exit 1; fi
echo "== $found fuzz tests ran for $time each"
