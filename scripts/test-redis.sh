#!/usr/bin/env bash
# test-redis.sh [VERSION...]: runs the tests that depend on Redis's behaviour on each version (default: all that
# redis-versions.sh knows). KORVET_TEST_REDIS_SERVER tells the tests which server to start.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
packages=(./internal/redisstream/... ./internal/partition/... ./internal/metadata/... ./internal/coordinator/... ./internal/worker/... ./internal/app/... ./test/sim/... ./test/model/... ./test/atrest/... ./test/documents/...)

versions=("$@")
if ((${#versions[@]} == 0)); then mapfile -t versions < <(scripts/redis-versions.sh list); fi

failed=()
for version in "${versions[@]}"; do
  echo "== Redis $version"
  server=$(scripts/redis-versions.sh install "$version")
  KORVET_TEST_REDIS_SERVER=$server go test -count=1 -timeout 30m -p 2 "${packages[@]}" || failed+=("$version")
done
if ((${#failed[@]})); then echo "failed on: ${failed[*]}" >&2; exit 1; fi
echo "== passed on: ${versions[*]}"
