package diagnostics

import (
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/policy"
)

// TestMissingPackage tests the advice to start a package otherwise: it comes before the host that the launcher
// names, and only where the launcher lacks its package.
func TestMissingPackage(t *testing.T) {
	const offline = "npm error request to https://registry.npmjs.org/x failed: cache mode is 'only-if-cached' but no cached response is available."
	for _, c := range []struct {
		name   string
		change func(*Evidence)
		wanted bool
	}{
		{"offline", func(ev *Evidence) {}, true},
		{"silent", func(ev *Evidence) { ev.Text, ev.Timeout = "", time.Minute }, true},
		{"installed", func(ev *Evidence) { ev.Profile.Argv = []string{"node", "/x/index.js"} }, false},
		{"in a call", func(ev *Evidence) { ev.Stage = StageCall }, false},
		{"answers already", func(ev *Evidence) { ev.Started = true }, false},
		{"another failure", func(ev *Evidence) { ev.Text = "SyntaxError: Unexpected token" }, false},
		{"with a network", func(ev *Evidence) { ev.Profile.Net = []policy.NetRule{{Host: "*", Allow: true}} }, false},
	} {
		ev := evidence(offline)
		ev.Stage, ev.Profile.Argv, ev.Profile.Net = StageStartup, []string{"npx", "--foo", "x"}, nil
		c.change(&ev)
		d := Diagnose(ev)
		if got := strings.Contains(advised(d), "npx -y PACKAGE"); got != c.wanted || got && (d.Attribution != Likely || len(d.Words) > 0) {
			t.Errorf("%s: %s", c.name, d.Text())
		}
	}
}

// TestSkippedScripts tests the advice to run the install scripts of a package.
func TestSkippedScripts(t *testing.T) {
	const sqlite = "Error: Could not locate the bindings file. Tried:\n → /s/node_modules/sqlite3/build/node_sqlite3.node"
	const command = "mcp-jail install --install-scripts x"
	for _, c := range []struct {
		name, text, command string
		wanted              bool
	}{
		{"a binding", sqlite, command, true},
		{"a download", "Error: chromedriver is missing: its install script did not run", command, true},
		{"no scripts", sqlite, "", false},
		{"another failure", "Error: API_KEY is required", command, false},
	} {
		ev := evidence(c.text)
		ev.Stage, ev.InstallScripts = StageStartup, c.command
		if d := Diagnose(ev); strings.Contains(advised(d), command) != c.wanted || c.wanted && (d.Attribution != Likely || len(d.Words) > 0) {
			t.Errorf("%s: %s", c.name, d.Text())
		}
	}
}

// TestPlanCommand checks that the command in the advice can be typed.
func TestPlanCommand(t *testing.T) {
	ev := evidence("operation not permitted")
	if d := Diagnose(ev); !strings.Contains(advised(d), "`mcp-jail plan github`") {
		t.Errorf("%s", d.Text())
	}
	ev.FromCommandLine = true
	if d := Diagnose(ev); !strings.Contains(advised(d), "`mcp-jail plan` with the same arguments") {
		t.Errorf("%s", d.Text())
	}
}

// TestForeignLauncher: the diagnosis of a launcher whose packages mcp-jail does not fetch says what to start
// instead. It proposes no registry, also where the policy grants the server's own host, if it is the
// launcher that was refused.
func TestForeignLauncher(t *testing.T) {
	api := []policy.NetRule{{Host: "api.example.com", Scheme: "https", Allow: true}}
	for _, c := range []struct {
		line, said, refused string // refused: axis:program:target, or the host alone
		net                 []policy.NetRule
		want                string
	}{
		{"go run example.test/x@v1", `dial tcp: lookup proxy.golang.org: no such host`, "", nil, "go install"},
		{"timeout 30 go run ./cmd/x", `lookup git.h.test: no such host`, "net /usr/local/go/bin/go git.h.test", api, "go build"},
		{"deno run -A jsr:@a/b", `error: JSR package manifest for '@a/b' failed to load. dns error: failed to lookup address information`, "", nil, "deno compile"},
		{"uv --directory /srv run server", `error: Failed to fetch: https://index.h.test/simple/x/ dns error`, "net /home/u/.local/bin/uv index.h.test:443", api, "uv sync"},
		{"poetry run server", `ModuleNotFoundError: No module named 'mcp'`, "", api, "poetry install"},
		{"dnx Some.Server", `Name or service not known`, "", nil, "dotnet tool install"},
		{"nix run nixpkgs#x", `error: creating directory '/nix': Read-only file system`, "fs /usr/bin/nix /nix", nil, "nix build"},
		{"npx --foo x", `getaddrinfo ENOTFOUND r.test`, "", nil, "npx -y PACKAGE"},
		{"env -C /d bunx x", `getaddrinfo ENOTFOUND r.test`, "", nil, "npx -y PACKAGE"},
		{"pipx run x", `getaddrinfo ENOTFOUND r.test`, "", nil, "uvx PACKAGE"},
		// Controls: the server's own host, and a program that only reads such a word.
		{"go run example.test/x@v1", `dial tcp: lookup api.other.com: no such host`, "api.other.com:443", api, ""},
		{"go run ./cmd/x", `dial tcp: lookup api.other.com: no such host`, "net /tmp/go-build1/b001/exe/x api.other.com", api, ""},
		{"deno run -A server.ts", `error: dns error`, "net /home/u/.deno/bin/deno api.other.com:443", api, ""},
		{"go run ./cmd/x", `open /nix/store/x: permission denied`, "fs /tmp/go-build1/b001/exe/x /nix/store/x", nil, ""},
		{"python server.py", `ModuleNotFoundError: No module named 'mcp'`, "", nil, ""},
		{"node server.js go run x@v1", `getaddrinfo ENOTFOUND proxy.golang.org`, "proxy.golang.org:443", nil, ""},
		{"timeout 9 npm run start", `getaddrinfo ENOTFOUND r.test`, "", nil, ""},
	} {
		ev := evidence(c.said)
		ev.Stage, ev.Profile.Argv, ev.Profile.Net = StageStartup, strings.Fields(c.line), c.net
		if c.refused != "" {
			denied := policy.Denial{Axis: policy.AxisNet, Operation: "resolve", Target: c.refused, Count: 1}
			if f := strings.Fields(c.refused); len(f) == 3 {
				denied.Axis, denied.Program, denied.Target = policy.Axis(f[0]), f[1], f[2]
			}
			if denied.Axis == policy.AxisFs {
				denied.Operation = "connect"
			}
			ev.Denials = []policy.Denial{denied}
		}
		d := Diagnose(ev)
		text := told(d)
		if record := whyText((Record{Server: "s", Diagnoses: []Diagnosis{d}, Denials: ev.Denials})); c.want != "" && strings.Contains(record, "--net") {
			t.Errorf("%s: %s", c.line, record)
		}
		if c.want == "" {
			if d.Explain == PagePackageMissing {
				t.Errorf("%s: %s", c.line, text)
			}
			continue
		}
		if !strings.Contains(text, c.want) || d.Explain != PagePackageMissing || len(d.Words) > 0 || strings.Contains(text, "--net") {
			t.Errorf("%s with %d grants: %s", c.line, len(c.net), text)
		}
	}
}
