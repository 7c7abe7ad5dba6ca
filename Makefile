# Five targets; `make test` is all of the set-up and all of the tests.
export CGO_ENABLED = 0

.PHONY: build demo test bench lint

build: ## bin/mcp-jail, and bin/mcp-jail-tls which it starts where TLS has to be ended
	go build -trimpath -ldflags='-s -w' -o bin/ ./cmd/...

demo: ## two servers in two jails: what works, what is refused, the line that grants it
	go run ./examples/demo

test: ## install what the tests need, then run all of them
	bash testdata/test.sh

bench: ## side by side with a bare start
	go run ./bench

lint: ## formatting, vet on four systems
	bash testdata/lint.sh
