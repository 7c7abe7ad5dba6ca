package resolve

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

const aServer = "[servers.s]\ncommand = \"server\"\n"

// fsRules returns the configuration with rules written as "PATH:RIGHTS", with the letters
// r, c, u, d, x, and w for write. "PATH:" denies all, and "PATH:-w" denies writing.
func fsRules(specs ...string) string { return aServer + "[servers.s.access]\n" + fsTables(specs...) }

// fsTables returns the tables of fsRules alone.
func fsTables(specs ...string) string {
	var b strings.Builder
	for _, s := range specs {
		i := strings.LastIndexByte(s, ':')
		b.WriteString("[[servers.s.access.fs]]\npath = " + show.TOML(s[:i]) + "\n")
		switch s[i+1:] {
		case "":
			b.WriteString("deny = true\n")
			continue
		case "-w":
			b.WriteString("deny = \"write\"\n")
			continue
		}
		for _, c := range s[i+1:] {
			b.WriteString(map[rune]string{'r': "read", 'c': "create", 'u': "update", 'd': "delete", 'x': "execute", 'w': "write"}[c] + " = true\n")
		}
	}
	return b.String()
}

func TestResolveChecksPolicy(t *testing.T) {
	for want, p := range map[string]*policy.Policy{
		"user info":       {Server: "s", Command: "server", Net: []policy.NetRule{{Host: "a@b"}}},
		"needs a port":    {Server: "s", Command: "server", Net: []policy.NetRule{{Host: "a", Scheme: "tcp"}}},
		"the path is emp": {Server: "s", Command: "server", Fs: []policy.FsRule{{}}},
		"server name":     {Server: "../x", Command: "server"},
		"is empty":        {Server: "s"},
	} {
		if _, _, err := Resolve(p, newFake(aSystem).host()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %s", p, err, want)
		}
	}
	h := newFake(aSystem).host()
	h.OS, h.Home = "plan9", "#home"
	if _, _, err := Resolve(&policy.Policy{Server: "s", Command: "server"}, h); !errors.Is(err, errPlatform) {
		t.Errorf("plan9: %v", err)
	}
}

func TestInbound(t *testing.T) {
	policyOf := func(rules string) (*policy.Policy, error) {
		return decoded(t, "[servers.s]\ncommand = \"server\"\n"+rules).Policy("s", "")
	}
	rule := func(n int) string { return fmt.Sprintf("[[servers.s.access.inbound]]\nport = %d\n", n) }
	p, err := policyOf(rule(8080) + rule(3334) + rule(8080))
	testkit.Must(t, err)
	profile, _, err := Resolve(p, newFake(aSystem).host())
	if err != nil || !slices.Equal(profile.Inbound, []int{3334, 8080}) {
		t.Errorf("%v, %v", profile.Inbound, err)
	}
	many := ""
	for i := range 65 {
		many += rule(3000 + i)
	}
	if _, err := policyOf(many); err == nil || !strings.Contains(err.Error(), "inbound: 65 ports; more than 64 are refused") {
		t.Error(err)
	}
}

// The value of a secret is in no printed form of a profile.
func TestProfileJSON(t *testing.T) {
	p, _ := mustResolve(t, newFake(aSystem), aServer+"variables = [\"GH_TOKEN\"]\n")
	text, err := json.Marshal(p)
	if err != nil || strings.Contains(string(text), "ghp_x") || !strings.Contains(string(text), `"name":"GH_TOKEN","secret":true`) {
		t.Errorf("%s, %v", text, err)
	}
	q, _ := mustResolve(t, newFake(aSystem), aServer+"variables = [\"GH_TOKEN\"]\n", func(h *hostfs.Host) { h.Environ = append(h.Environ, "GH_TOKEN=other") })
	if p.Key() != q.Key() || p.SameJail(q) {
		t.Error("a secret's value is in Key, or not in Equal")
	}
	r, _ := mustResolve(t, newFake(aSystem), aServer)
	if p.Key() == r.Key() {
		t.Error("two policies, one Key")
	}
}
