#!/bin/bash
# Makes what packages have beside the programs, from this checkout: completions for three
# shells, and compressed manual pages.
#
#   packaging/generate.sh [DIRECTORY]    # bin, unless another one is given
set -euo pipefail
into=$(realpath -m "${1:-"$(dirname "$0")/../bin"}")
cd "$(dirname "$0")/.."
rm -rf "$into"/{completions,man,generate}
mkdir -p "$into"/{completions,man}
CGO_ENABLED=0 go build -o "$into/generate/" ./cmd/mcp-jail ./cmd/mcp-jail-cli
"$into/generate/mcp-jail" completion bash >"$into/completions/mcp-jail.bash"
"$into/generate/mcp-jail" completion zsh >"$into/completions/_mcp-jail"
"$into/generate/mcp-jail" completion fish >"$into/completions/mcp-jail.fish"
rm -rf packaging/man
CGO_ENABLED=0 go test ./cmd/internal/commands -run '^TestManPages$' -update >&2
for page in packaging/man/*.1; do
	gzip -9n <"$page" >"$into/man/${page##*/}.gz"
done
rm -r "$into/generate"
