# `make demo` and `make test` need nothing but Go and make: what else they use they install where they can.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := build

STATICCHECK := honnef.co/go/tools/cmd/staticcheck@v0.8.2
FUZZTIME ?= 30s
# Options of the benchmark, for instance: make bench ARGS='-systems raw,korvet -sizes 100 -rounds 3'
ARGS ?=

.PHONY: help
help: ## list the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

.PHONY: build
build: ## compile bin/korvet
	go build -o bin/korvet ./cmd/korvet

.PHONY: demo
demo: build ## start a Redis, the broker and a stream of events, with a live view (ARGS='--rate 500')
	bin/korvet demo $(ARGS)

.PHONY: deps
deps: ## install what the tests need and this machine lacks
	scripts/test-deps.sh

.PHONY: test
test: deps ## run every test but the long ones
	go test -timeout 12m -p 2 ./...

.PHONY: test-long
test-long: deps ## the long runs: more simulator seeds, more crashes, two minutes of each fuzz test
	KORVET_TEST_LONG=1 go test -timeout 180m -p 2 ./...
	scripts/fuzz.sh 2m

.PHONY: test-redis
test-redis: deps ## the storage tests on each supported Redis and Valkey
	scripts/test-redis.sh

.PHONY: fuzz
fuzz: ## run each fuzz test for FUZZTIME (30s)
	scripts/fuzz.sh $(FUZZTIME)

.PHONY: lint
lint: ## gofmt, go vet, staticcheck, import rules, shellcheck where it is installed
	@unformatted=$$(gofmt -l cmd internal test); \
	  if [ -n "$$unformatted" ]; then echo "not gofmt'ed:"; echo "$$unformatted"; exit 1; fi
	go vet ./...
	go run $(STATICCHECK) ./...
	go test ./test/layout
	@if command -v shellcheck >/dev/null; then shellcheck -x $$(git ls-files '*.sh' .ci/run); \
	  else echo 'shellcheck is not installed: scripts were not checked'; fi

.PHONY: bench
bench: build ## measure the raw ceiling, korvet and, with KORVET_BENCH_KAFKA, Apache Kafka (docs/benchmarks.md)
	go build -o bin/bench ./test/bench
	bin/bench $(ARGS)

.PHONY: clean
clean: ## remove what the build and the tests made
	rm -rf bin test/*/out
	go clean -testcache
