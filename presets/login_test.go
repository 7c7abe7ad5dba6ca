package presets

import (
	"fmt"
	"path"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestLogin checks the port that leads to mcp-remote, and where it keeps its logins, with what
// mcp-remote 0.15.1 has done for the same lines.
func TestLogin(t *testing.T) {
	p := testkit.Get(Find("mcp-remote"))(t)
	const url = "http://127.0.0.1:9981/mcp"
	for _, tt := range []struct {
		args []string
		env  map[string]string
		port int // 0: none
		file string
	}{
		{args: []string{url}, port: 17894, file: ".mcp-auth/mcp-remote-v1/ebd77fe1f9c3b7982e54ea05e912bc24_tokens.json"},
		{args: []string{url, "19880"}, port: 19880, file: ".mcp-auth/mcp-remote-v1/ebd77fe1f9c3b7982e54ea05e912bc24_client_info.json"},
		{args: []string{url, "19880", "--host", "127.0.0.1", "--debug"}, port: 19880, file: ".mcp-auth/mcp-remote-0.1.29/ebd77fe1f9c3b7982e54ea05e912bc24_tokens.json"},
		{args: []string{url, "--auth-timeout", "60"}, port: 17894},
		{args: []string{url, "--transport", "http-only", "--allow-http"}, port: 17894},
		{args: []string{"--header", "X-A: b", url, "4000"}, port: 4000},
		{args: []string{url, "--header", "X-A: b"}},
		{args: []string{url, "0"}, port: 17894},
		{args: []string{url, "65536"}, port: 17894},
		{args: []string{"${URL}"}},
		{args: nil},
		{args: []string{"https://a.test:5000/mcp", "5000"}}, // the port leads out
		{args: []string{url}, env: map[string]string{"MCP_REMOTE_CONFIG_DIR": "/x"}, port: 17894},
	} {
		e := Entry{Args: tt.args, Env: tt.env}
		var ports []int
		if a := p.For(e).Server.Access; a != nil {
			for _, r := range a.Inbound {
				if ports = append(ports, r.Port); !r.Preset {
					t.Errorf("%q: the rule is not the preset's", tt.args)
				}
			}
		}
		var want []int
		if tt.port != 0 {
			want = []int{tt.port}
		}
		testkit.Equal(t, fmt.Sprintf("%q: ports", tt.args), ports, want)
		has := func(file string) (found bool) {
			for _, pattern := range p.LoginFiles(e) {
				match, _ := path.Match(pattern, file)
				found = found || match
			}
			return found
		}
		if tt.file != "" && (!has(tt.file) || has(".mcp-auth/mcp-remote-v1/0123456789abcdef0123456789abcdef_tokens.json") || has(".mcp-auth/mcp-remote-v1/ebd77fe1f9c3b7982e54ea05e912bc24_lock.json")) {
			t.Errorf("%q: its files are %q", tt.args, p.LoginFiles(e))
		}
		if (tt.env != nil || tt.port == 0) && p.LoginFiles(e) != nil && tt.args[len(tt.args)-1] != "5000" {
			t.Errorf("%q: %q, and where they are is not known", tt.args, p.LoginFiles(e))
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
