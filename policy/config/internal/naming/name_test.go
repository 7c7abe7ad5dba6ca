package naming

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

func TestDefaultName(t *testing.T) {
	for line, want := range map[string]string{
		"npx -y @modelcontextprotocol/server-github": "server-github-", "uvx mcp-server-git==1.0": "mcp-server-git-", "uvx --from x y": "x-",
		"node /srv/weather/dist/index.js": "weather-", "node server.js": "server-", "python3 -m foo": "foo-", "/opt/a/run": "run-", "..": "server-", "npm exec pkg": "pkg-",
	} {
		got := DefaultName(strings.Fields(line), "/srv")
		if !strings.HasPrefix(got, want) || !policy.ValidServerName(got) {
			t.Errorf("%q: %q, want %s...", line, got, want)
		}
	}
	for word, want := range map[string]string{"npx -y @a/b --token=s3cret": "npx-", "/opt/x/serve --key s3cret": "serve-", "TOKEN=s3cret npx x": "TOKEN-", "/opt/a b/serve": "serve-"} {
		if got := DefaultName([]string{word}, "/srv"); !strings.HasPrefix(got, want) || strings.Contains(got, "cret") || !policy.ValidServerName(got) {
			t.Errorf("%q in one word: %q, want %s...", word, got, want)
		}
	}
	name := func(dir, line string) string { return DefaultName(strings.Split(line, "|"), dir) }
	if name("/", "a|b") == name("/", "a|c") || name("/", "a|b") == name("/", "a b") {
		t.Error("two commands, one name")
	}
	for line, differs := range map[string]bool{
		"node|dist/index.js": true, "./server": true, "bin/server|/x": true, "/usr/bin/python3.11|-u|server.py": true, "sh|run.sh": true,
		"node|/srv/dist/index.js": false, "npx|-y|server-github": false, "/opt/server|data": false, "~/bin/server": false, "server|data": false,
	} {
		if (name("/a", line) != name("/b", line)) != differs {
			t.Errorf("%s in two directories: %s and %s", line, name("/a", line), name("/b", line))
		}
	}
}
