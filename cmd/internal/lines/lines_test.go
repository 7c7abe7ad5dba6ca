package lines

import (
	"strings"
	"testing"
)

// TestFetched: what the jail refuses at each start is told, and not what may be on the disk.
func TestFetched(t *testing.T) {
	for line, want := range map[string]string{
		"go|run|example.test/x@v1":                "go run downloads and compiles example.test/x@v1 at each start, and the jail has no network for it",
		"sh|-c|exec deno run jsr:@a":              "deno run downloads jsr:@a and what it imports at each start",
		"setsid|-w|npx|-y|x":                      "setsid starts npx, so mcp-jail neither fetches nor pins x, and",
		"npx|-y|dotenv-cli|-e|.env|--|npx|-y|x@1": "dotenv-cli starts npx, so mcp-jail neither fetches nor pins x, and",
		"npx|mcp-proxy|uvx|x":                     "mcp-proxy starts uvx, so",
		"npx|-y|x|--run|npx":                      "",
		"op|run|--|npx|-y|x":                      "op run starts npx, so",
		"go|run|./cmd/x":                          "",
		"uv|run|server":                           "",
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
		"go|run|example.test/x@v1":                       "go install example.test/x@v1",
		"timeout|30|go|run|example.test/x@v1":            "go install example.test/x@v1",
		"sh|-c|cd /srv && exec go run example.test/x@v1": "go install example.test/x@v1",
		"bash|-lc|dnx Some.Server":                       "dotnet tool install --global Some.Server",
		"deno|run|-A|jsr:@a/b":                           "deno compile",
		"uv|run|server":                                  "If the server does not start, make the environment once: uv sync",
		"op|run|--|npx|-y|x":                             `fetches and pins it once: npx -y x; secret = { env = "NAME", command = ["op", "read", "op://VAULT/ITEM/FIELD"] }`,
		"op|run|--env-file=.env|--|node|s.js":            `"op", "read"`,
		"doppler|run|--|uvx|x":                           `uvx x; "doppler", "secrets", "get"`,
		"direnv|exec|.|npx|x":                            `npx x; "direnv", "exec"`,
		"dotenvx|run|-f|.env|--|npx|x":                   `npx x; "dotenvx", "get"`,
		"sops|exec-env|s.yaml|npx -y x":                  `npx -y x; "sops", "decrypt"`,
		"env-cmd|-f|.env|npx|x":                          "npx x; Write the variables into the entry",
		"op|run|--|go|run|example.test/x@v1":             `go install; "op", "read"`,
		"xvfb-run|-a|npx|-y|x":                           "Without xvfb-run in front",
		"node|server.js|go|run":                          "",
		"timeout|30|node|server.js":                      "",
		"sh|-c|node server.js --via 'go run x'":          "",
		"op|item|get|x":                                  "",
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
