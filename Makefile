# Seven targets; `make test` is what a contributor runs.
export CGO_ENABLED = 0

.PHONY: build demo test test-all test-long bench lint

build: ## bin/mcp-jail, and beside it what it starts: mcp-jail-cli, mcp-jail-tls
	@sh testdata/needs.sh go
	@echo 'building: a few minutes the first time, and seconds later' >&2
	go build -v -trimpath -ldflags='-s -w' -o bin/ ./cmd/...

demo: build ## two servers in two jails: what works, what is refused, the grant; your own servers
	@go run -trimpath ./examples/demo --mcp-jail bin/mcp-jail

# Root makes an ordinary user for the tests. What testdata/rooted.txt lists runs as root as well, in test-all.
test: ## install what the tests need; each promise once, as an ordinary user
	bash testdata/test.sh

test-all: ## lint; the forms, attacks and races that make test leaves out; what differs for root
	bash testdata/test.sh all

test-long: ## every form of a test: each attack, client, server, kind of jail, all random rounds
	bash testdata/test.sh long

bench: ## side by side with a bare start, into the README and docs/performance.md
	go run ./bench --write

lint: ## formatting, documents, vet on five systems, staticcheck, dead code
	bash testdata/lint.sh
