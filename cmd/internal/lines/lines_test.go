package lines

import (
	"strings"
	"testing"
)

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
