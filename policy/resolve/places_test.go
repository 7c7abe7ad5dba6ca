package resolve

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/policytest"
	"github.com/mcp-jail/mcp-jail/policy/resolve/internal/places"
)

// TestEveryPlace checks that a grant of the home directory lets a server make or write nothing that decides what runs
// outside of the jail, and read nothing that is sensitive, on each system.
func TestEveryPlace(t *testing.T) {
	for os, resolve := range map[string]func(*testing.T, fakeHost, string, ...func(*hostfs.Host)) (*policy.Profile, []policy.Warning){"linux": mustResolve, "darwin": mustOnMac} {
		files, toml := newFake(aSystem), fsRules("~:rw")
		host := files.host()
		if os == "darwin" {
			files = newFake(aMac)
			host, toml = files.mac(), strings.Replace(toml, `"server"`, `"/usr/bin/true"`, 1)
		}
		p, _ := resolve(t, files, toml)
		known := places.New(&policy.Policy{}, &host, hostfs.NewLinkResolver(&host))
		known.Collect()
		for _, d := range known.Deciding {
			if policy.Within(d.Abs, host.Home) && (p.Allows(policy.OpCreate, d.Abs) || p.Allows(policy.OpWrite, d.Abs) || policytest.AllowsRename(p, host.Home+"/x", d.Abs)) {
				t.Errorf("%s: %s can be made", os, d.Abs)
			}
		}
		for _, s := range known.Builtin {
			if at := strings.ReplaceAll(s.Abs, "*", ""); policy.Within(at, host.Home) && !strings.HasSuffix(s.Abs, "*") && (p.Allows(policy.OpCreate, at) || p.Allows(policy.OpMkdir, at)) {
				t.Errorf("%s: %s can be made", os, s.Written)
			}
		}
		if len(known.Deciding) < 300 || len(known.Builtin) < 100 || !p.Allows(policy.OpCreate, host.Home+"/notes") {
			t.Errorf("control: %s: %d and %d places", os, len(known.Deciding), len(known.Builtin))
		}
	}
}

// TestNotedWriter: a server that was started before counts as a writer of what its rules named.
func TestNotedWriter(t *testing.T) {
	h := newFake(aSystem, "x /home/u/noted/node", "x /home/u/links/node").host()
	p := &policy.Policy{Server: "s", Command: "server", Noted: []policy.WriterRules{{Name: `the server "n"`, Rules: map[string]policy.WriteGrant{"/home/u/noted": {Rights: policy.Write, Rule: "--write ~/noted"}}}}}
	for file, want := range map[string]string{"/home/u/noted/node": `the server "n" may write to /home/u/noted/node (--write ~/noted)`, "/home/u/links/node": ""} {
		if got := WhyChangeable(ReachOf(p, h), hostfs.NewLinkResolver(&h), file); got != want {
			t.Errorf("%s: %q, want %q", file, got, want)
		}
	}
}
