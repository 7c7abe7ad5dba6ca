package meaning

import (
	"strings"
	"testing"
)

// TestFetched: what the jail refuses at each start is told, and not what may be on the disk.
func TestFetched(t *testing.T) {
	for line, want := range map[string]string{
		"go|run|example.test/x@v1":                "go run compiles what it runs, and downloads what is missing for that at each start, and the jail has no network for it",
		"sh|-c|exec deno run jsr:@a":              "deno run downloads what it runs and what that imports at each start",
		"npx|--registry=http://e|x":               "the jail has no network to fetch what it starts: this npx line runs as it is given, and its package is not pinned, because of",
		"timeout|9|bunx|x":                        "the jail has no network to fetch what it starts: this bunx line runs as it is given, and its package is not pinned, because",
		"npx|-y|dotenv-cli|-e|.env|--|npx|-y|x@1": "dotenv-cli starts npx, so mcp-jail neither fetches nor pins x, and",
		"npx|mcp-proxy|uvx|x":                     "mcp-proxy starts uvx, so",
		"npx|-y|x|--run|npx":                      "",
		"op|run|--|npx|-y|x":                      "op run starts npx, so",
		"go|run|./cmd/x":                          "",
		"uv|--directory|/srv|run|server":          "",
		"uv|run|--with|x|server":                  "uv run brings the project's environment up to date",
		"npx|-y|x":                                "",
		"timeout|30|npx|-y|x":                     "",
		"op|run|--|node|s.js":                     "",
		"node|s.js|go|run|x@v1":                   "",
	} {
		got := strings.Join(Fetched(strings.Split(line, "|")), "\n")
		if want == "" && got != "" || !strings.HasPrefix(got, want) || strings.Contains(got, "\n") {
			t.Errorf("%s: %q", line, got)
		}
	}
}

// TestLaunchers: what starts in front of a server is named with what to do, and no line proposes to
// open the network for it.
func TestLaunchers(t *testing.T) {
	for line, want := range map[string]string{
		"timeout|30|go|run|example.test/x@v1":      "go install MODULE@VERSION",
		"bash|-lc|dnx Some.Server":                 "dotnet tool install --global TOOL",
		"deno|run|-A|jsr:@a/b":                     "deno compile",
		"uv|run|server":                            "If the server does not start, make the environment once: uv sync",
		"bunx|x":                                   "npx -y PACKAGE, which mcp-jail fetches once and pins",
		"op|run|--|npx|-y|x":                       `Without op run in front, mcp-jail does: npx -y x; secret = { env = "NAME", command = ["op", "read", "op://VAULT/ITEM/FIELD"] }`,
		"env|A=b|op|run|--env-file=.env|--|node|s": `"op", "read"`,
		"sops|exec-env|s.yaml|npx -y x":            `"sops", "decrypt"`,
		"node|server.js|go|run":                    "",
		"timeout|30|node|server.js":                "",
		"sh|-c|node server.js --via 'go run x'":    "",
		"op|item|get|x":                            "",
	} {
		got := strings.Join(Launchers(strings.Split(line, "|")), "\n")
		if strings.Contains(got, "--net") || want == "" && got != "" {
			t.Errorf("%s: %s", line, got)
		}
		for part := range strings.SplitSeq(want, "; ") {
			if !strings.Contains(got, part) {
				t.Errorf("%s: %q lacks %q", line, got, part)
			}
		}
	}
}
