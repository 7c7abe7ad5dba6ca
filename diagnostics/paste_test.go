package diagnostics

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// TestPaste grants with the real code what is proposed, because words that do not work mislead more than none.
func TestPaste(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		base       string // the configuration that the lines are pasted to
		change     func(*Evidence)
		path       string
		want       policy.Rights
		keeps      bool // the workspace stays writable
		host       string
		port       int
		variable   string
	}{
		{name: "read", text: "EACCES: permission denied, open '/home/u/notes/a.md'", path: "/home/u/notes/a.md", want: policy.Read},
		{name: "creation", text: "EACCES: permission denied, mkdir '/home/u/docs/new'", path: "/home/u/docs/new", want: policy.Read | policy.Write},
		{name: "execute", text: "spawn rg ENOENT", path: "/opt/tools/bin/rg", want: policy.Read | policy.Execute},
		{name: "default", text: "EACCES: permission denied, open '/home/u/notes/a.md'", change: func(ev *Evidence) { defaultProfile(ev.Profile) },
			base: "[servers.github]\ncommand = \"node\"\n", path: "/home/u/notes/a.md", want: policy.Read, keeps: true},
		{name: "odd names", text: `EACCES: permission denied, open '/home/u/"q"\b.txt'`, change: func(ev *Evidence) { ev.Exists = nil }, path: `/home/u/"q"\b.txt`, want: policy.Read},
		{name: "unicode", text: `EACCES: permission denied, open '/home/u/zażółć.txt'`, path: `/home/u/zażółć.txt`, want: policy.Read},
		{name: "tilde in the workspace", text: "EROFS: read-only file system, open '/home/u/work/~/x'", change: func(ev *Evidence) {
			ev.Exists = func(string) bool { return true }
			ev.Profile.Entries[1].Rights = policy.Read
		}, path: "/home/u/work/~/x", want: policy.Read | policy.Write},
		{name: "host", text: "getaddrinfo ENOTFOUND api.x.com", host: "api.x.com", port: 443},
		{name: "host and port", text: "connect ECONNREFUSED ::1:5432", host: "localhost", port: 5432},
		{name: "https", text: "request to https://api.x.com/ failed: getaddrinfo EAI_AGAIN api.x.com", host: "api.x.com", port: 443},
		{name: "IPv6", text: "connect ENETUNREACH 2001:db8::7:8443", change: func(ev *Evidence) { ev.Profile.Net = nil }, host: "2001:db8::7", port: 8443},
		{name: "variable", text: "FOO_TOKEN environment variable is required", variable: "FOO_TOKEN"},
		{name: "variable under the default policy", text: "FOO_TOKEN environment variable is required", change: func(ev *Evidence) { defaultProfile(ev.Profile) },
			base: "[servers.github]\ncommand = \"node\"\n", variable: "FOO_TOKEN", keeps: true},
		{name: "tool", text: "EACCES: permission denied, open '/home/u/notes/a.md'", change: func(ev *Evidence) {
			ev.Stateless, ev.Profile.Server, ev.Profile.Tool = true, "my.server", `say "hi".now`
		}, base: "[servers.\"my.server\"]\ncommand = \"node\"\nstateful = false\n", path: "/home/u/notes/a.md", want: policy.Read},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ev := evidence(tt.text)
			if tt.change != nil {
				tt.change(&ev)
			}
			d := Diagnose(ev)
			base := tt.base
			if base == "" {
				base = "[servers.github]\ncommand = \"node\"\n\n[[servers.github.access.fs]]\npath = \".\"\nread = true\nwrite = true\n\n[[servers.github.access.fs]]\npath = \"src\"\ndeny = \"write\"\n"
			}
			p := pasted(t, base, d.Words, ev.Profile)
			if tt.path != "" {
				if got := rightsIn(p, ev.Profile.Workspace, "/home/u", tt.path); !got.Has(tt.want) {
					t.Errorf("%s: %s after it, want %s\n%s", tt.path, got, tt.want, strings.Join(d.Words, "\n"))
				}
			}
			if tt.keeps && !rightsIn(p, ev.Profile.Workspace, "/home/u", ev.Profile.Workspace+"/x").Has(policy.Read|policy.Write) {
				t.Errorf("the workspace is lost:\n%s", strings.Join(d.Words, "\n"))
			}
			if tt.host != "" {
				if _, ok := policy.MatchNet(p.Net, tt.host, "", tt.port, "/", ""); !ok {
					t.Errorf("%s:%d is not granted:\n%s", tt.host, tt.port, strings.Join(d.Words, "\n"))
				}
			}
			if tt.variable != "" {
				if r, ok := policy.MatchEnv(p.Env, tt.variable); !ok || !r.Read {
					t.Errorf("%s is not granted:\n%s", tt.variable, strings.Join(d.Words, "\n"))
				}
			}
		})
	}
}

func pasted(t *testing.T, base string, grant []string, profile *policy.Profile) *policy.Policy {
	t.Helper()
	if len(grant) == 0 {
		t.Fatal("nothing to grant")
	}
	file := "version = 1\n\n" + base + "\n"
	c, err := config.Decode([]byte(file), "mcp-jail.toml")
	if err == nil {
		err = granting(c.Servers[profile.Server], profile.Tool, grant)
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, file)
	}
	p, err := c.Policy(profile.Server, profile.Tool)
	if err != nil {
		t.Fatalf("%v\n%s", err, file)
	}
	return p
}

// rightsIn evaluates rules by the text of docs/policy.md, without a host.
func rightsIn(p *policy.Policy, workspace, home, path string) policy.Rights {
	best, rights := -1, policy.Rights(0)
	for _, r := range p.Fs {
		at := r.Path
		switch {
		case at == "~" || strings.HasPrefix(at, "~/"):
			at = filepath.Join(home, at[1:])
		case !filepath.IsAbs(at):
			at = filepath.Join(workspace, at)
		}
		if at = filepath.Clean(at); !policy.Within(path, at) || len(at) < best {
			continue
		}
		best, rights = len(at), 0
		for right, on := range map[policy.Rights]bool{policy.Read: r.Read, policy.Create: r.Create, policy.Update: r.Update, policy.Delete: r.Delete, policy.Execute: r.Execute} {
			if on {
				rights |= right
			}
		}
	}
	return rights
}
