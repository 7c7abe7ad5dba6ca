package presets

import (
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestLogin checks the port that leads to mcp-remote, and where it keeps its logins, with what
// mcp-remote 0.15.1 has done for the same lines.
func TestLogin(t *testing.T) {
	p := testkit.Get(Find("mcp-remote"))(t)
	const url = "http://127.0.0.1:9981/mcp"
	for _, row := range testkit.Rows(t, "logins.txt", 4) {
		e := Entry{Args: listed(row[0])}
		if row[1] != "" {
			e.Env = variables(row[1])
		}
		var ports []int
		if a := p.For(e).Server.Access; a != nil {
			for _, r := range a.Inbound {
				if ports = append(ports, r.Port); !r.Preset {
					t.Errorf("%q: the rule is not the preset's", e.Args)
				}
			}
		}
		testkit.Equal(t, fmt.Sprintf("%q: ports", e.Args), strings.Trim(fmt.Sprint(ports), "[]"), row[2])
		has := func(file string) (found bool) {
			for _, pattern := range p.LoginFiles(e) {
				match, _ := path.Match(pattern, file)
				found = found || match
			}
			return found
		}
		if row[3] != "" && (!has(row[3]) || has(".mcp-auth/mcp-remote-v1/0123456789abcdef0123456789abcdef_tokens.json") || has(".mcp-auth/mcp-remote-v1/ebd77fe1f9c3b7982e54ea05e912bc24_lock.json")) {
			t.Errorf("%q: its files are %q", e.Args, p.LoginFiles(e))
		}
		if (e.Env != nil || row[2] == "") && p.LoginFiles(e) != nil && e.Args[len(e.Args)-1] != "5000" {
			t.Errorf("%q: %q, and where they are is not known", e.Args, p.LoginFiles(e))
		}
	}
	for _, name := range Names() { // the rules of no other preset change
		other := testkit.Get(Find(name))(t)
		if a := other.For(Entry{Args: []string{url, "19880"}}).Server.Access; name != "mcp-remote" && a != nil && a.Inbound != nil {
			t.Errorf("%s: %v", name, a.Inbound)
		}
	}
}

// TestLoginWithResource checks the name of the logins of a line with --resource: the MD5 of both words
// with "|" between them.
func TestLoginWithResource(t *testing.T) {
	p := testkit.Get(Find("mcp-remote"))(t)
	got := p.LoginFiles(Entry{Args: []string{"https://a.test/mcp", "--resource", "https://b.test/"}})
	if want := ".mcp-auth/mcp-remote-*/" + "5594e4efe61da4dbe554e6668f6782a1" + "_tokens.json"; len(got) != 2 || got[0] != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
