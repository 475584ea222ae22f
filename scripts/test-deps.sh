#!/usr/bin/env bash
# Installs what the tests use and this machine lacks: redis-server, redis-cli, kcat, the clients of other languages, the systems that stand on Kafka
# and the engines that read its tables.
# Where it cannot, it says what to install.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
# shellcheck source=scripts/packages.sh
source scripts/packages.sh

need redis-server redis-server
need redis-cli redis-tools
need kcat kcat
test/clients/install.sh >/dev/null
for system in kafka spark rsyslog; do test/ecosystem/install.sh "$system" >/dev/null; done
test/readers/install.sh engines >/dev/null
