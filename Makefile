# Seven targets; `make test` is what a contributor runs.
export CGO_ENABLED = 0

.PHONY: build demo test test-all test-long bench lint

build: ## bin/mcp-jail, and beside it what it starts: mcp-jail-cli, mcp-jail-tls
	@echo 'building: up to two minutes the first time, in which Go prints nothing; later seconds' >&2
	go build -trimpath -ldflags='-s -w' -o bin/ ./cmd/...

demo: ## two servers in two jails: what works, what is refused, the line that grants it
	@echo 'building: up to two minutes the first time, in which Go prints nothing; later seconds' >&2
	go run -trimpath ./examples/demo

test: ## install what the tests need; every package, as the user who runs it
	bash testdata/test.sh

test-all: ## lint, more tests and rounds, conformance, an ordinary user
	bash testdata/test.sh all

test-long: ## every attack, every client, every pair of a client and a server
	bash testdata/test.sh long

bench: ## side by side with a bare start
	go run ./bench

lint: ## formatting, documents, vet on five systems, staticcheck, dead code
	bash testdata/lint.sh
