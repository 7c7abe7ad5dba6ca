package resolve

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/statement"
)

const api = "[servers.s]\ncommand = \"server\"\n[[servers.s.access.net]]\nhost = \"api.example\"\nallow = true\nsecret = "

func value(p *policy.Profile, name string) string {
	for _, v := range p.Env {
		if v.Name == name {
			return v.Value
		}
	}
	return "(unset)"
}

// TestSecretOfVariable checks that neither the profile nor the statement contains the
// value of a secret.
func TestSecretOfVariable(t *testing.T) {
	h := newFake(aSystem)
	p, ws := mustResolve(t, h, api+`{ env = "GH_TOKEN" }`+"\n", func(h *hostfs.Host) { h.Environ = append(h.Environ, "GH_TOKEN=ghp_value") })
	if codes(ws) != "" || value(p, "GH_TOKEN") != policy.Placeholder("GH_TOKEN") || len(p.Secrets) != 1 || p.Secrets[0].Env != "GH_TOKEN" || slices.Contains(p.Withheld, "GH_TOKEN") {
		t.Errorf("%+v, %v, %v", p.Secrets, value(p, "GH_TOKEN"), ws)
	}
	text, err := p.MarshalJSON()
	if err != nil || !strings.Contains(string(text), `"secrets":["GH_TOKEN"]`) || !strings.Contains(string(text), `"secrets":[{"env":"GH_TOKEN","rule":"c.toml:6"}]`) {
		t.Errorf("%s, %v", text, err)
	}
	for _, v := range []string{string(text), string(statement.New(p).Encode()), fmt.Sprintf("%+v", p)} {
		if strings.Contains(v, "ghp_value") {
			t.Errorf("the value is in %s", v)
		}
	}
	if !strings.Contains(string(statement.New(p).Encode()), `"secrets":["GH_TOKEN"]`) {
		t.Errorf("%s", statement.New(p).Encode())
	}
	// The control: a variable that a rule grants has its value.
	if p, _ := mustResolve(t, h, "[servers.s]\ncommand = \"server\"\nvariables = [\"GH_TOKEN\"]\n"); value(p, "GH_TOKEN") != "ghp_x" {
		t.Errorf("a variable is %q", value(p, "GH_TOKEN"))
	}
}

func TestSecretBesidesVariables(t *testing.T) {
	secret := `{ env = "GH_TOKEN" }` + "\n"
	for _, tt := range []struct{ name, more, warnings string }{
		{"forwarded by a prefix", "[[servers.s.access.env]]\nname = \"GH_*\"\nread = true\n", ""},
		{"forwarded by name", "[[servers.s.access.env]]\nname = \"GH_TOKEN\"\nread = true\n", "secret-variable"},
		{"refused by name", "[[servers.s.access.env]]\nname = \"GH_TOKEN\"\nread = false\n", ""},
		{"forwarded under another name", "[[servers.s.access.env]]\nname = \"GITHUB_PAT\"\nread = true\n", "secret-copy"},
		{"another value", "[[servers.s.access.env]]\nname = \"SECRET\"\nread = true\n", ""},
	} {
		p, ws := mustResolve(t, newFake(aSystem), api+secret+tt.more, func(h *hostfs.Host) { h.Environ = append(h.Environ, "GITHUB_PAT=ghp_x") })
		if codes(ws) != tt.warnings || value(p, "GH_TOKEN") != policy.Placeholder("GH_TOKEN") {
			t.Errorf("%s: %q, %v", tt.name, value(p, "GH_TOKEN"), ws)
		}
	}
}

// TestMissingSecret checks that the variable of a missing secret is unset in the jail,
// even if a rule would forward the host's value.
func TestMissingSecret(t *testing.T) {
	files := "d /home/u/dir\n0 /home/u/shut\nf /home/u/shut/t\np /home/u/pipe\nf /home/u/t"
	for _, tt := range []struct{ secret, why string }{
		{`{ env = "NOPE" }`, "the variable NOPE is not set"},
		{`{ env = "EMPTY" }`, "the variable EMPTY is not set"},
		{`{ env = "GH_TOKEN", file = "~/absent" }`, "the file /home/u/absent does not exist"},
		{`{ env = "GH_TOKEN", file = "~/dir" }`, "the file /home/u/dir is a directory"},
		{`{ env = "GH_TOKEN", file = "~/shut/t" }`, "the file /home/u/shut/t cannot be reached"},
		{`{ env = "GH_TOKEN", file = "~/t" }`, ""},
		{`{ env = "GH_TOKEN", file = "~/pipe" }`, ""},
		{`{ env = "UNSET", file = "~/t" }`, ""},
		{`{ env = "GH_TOKEN", command = ["op", "read", "x"] }`, ""},
	} {
		p, ws := mustResolve(t, newFake(aSystem, files), api+tt.secret+"\n[[servers.s.access.env]]\nname = \"*\"\nread = true\n", func(h *hostfs.Host) { h.Environ = append(h.Environ, "EMPTY=") })
		name := strings.Split(tt.secret, `"`)[1]
		want := policy.Placeholder(name)
		if tt.why != "" {
			want = "(unset)"
		}
		if got := value(p, name); got != want || len(p.Secrets) != 1 != (tt.why != "") {
			t.Errorf("%s: %q, %+v", tt.secret, got, p.Secrets)
		}
		if tt.why == "" != (codes(ws) == "") || tt.why != "" && (codes(ws) != "missing-secret" || !strings.Contains(ws[0].String(), tt.why)) {
			t.Errorf("%s: %v", tt.secret, ws)
		}
	}
}

// TestSecretFile checks that the file of a secret is hidden in every grant. A file that
// the server could choose or write is refused, because mcp-jail reads it with the
// user's rights.
func TestSecretFile(t *testing.T) {
	const rw = "\n[[servers.s.access.fs]]\npath = \".\"\nread = true\nwrite = true\n"
	named := func(rights string) string { return "\n[[servers.s.access.fs]]\npath = \"~/proj/t\"\n" + rights + "\n" }
	for _, tt := range []struct {
		name, files, file, rules string
		rights                   policy.Rights // at /home/u/proj/t
		want                     string        // error, or warnings
	}{
		{"hidden", "f /home/u/proj/t", "~/proj/t", rw, 0, ""},
		{"not there yet", "", "~/proj/t", rw, policy.Read | policy.Write, "missing-secret"},
		{"named to be read", "f /home/u/proj/t", "~/proj/t", rw + named("read = true"), policy.Read, "sensitive-granted"},
		{"named to be written", "f /home/u/proj/t", "~/proj/t", rw + named("read = true\nwrite = true"), 0, "the server could write the file /home/u/proj/t (c.toml:"},
		{"a link of the server's", "f /home/u/key\nl /home/u/proj/t ../key", "~/proj/t", rw, 0, "leads through the symbolic link /home/u/proj/t (-> ../key), which the server could replace"},
		{"a link that the server could only delete", "f /home/u/key\nl /home/u/proj/t ../key", "~/proj/t", "\n[[servers.s.access.fs]]\npath = \".\"\nread = true\ndelete = true\n", 0, "which the server could replace"},
		{"a link that the server could only make", "f /home/u/key\nl /home/u/proj/t ../key", "~/proj/t", "\n[[servers.s.access.fs]]\npath = \".\"\nread = true\ncreate = true\n", 0, "which the server could replace"},
		{"a link of the user's", "f /home/u/key\nl /home/u/t key", "~/t", rw, policy.Read | policy.Write, ""},
		{"in the private HOME", "f /home/u/.local/state/mcp-jail/servers/s/home/t", "~/.local/state/mcp-jail/servers/s/home/t", "", 0, "the server could write the file"},
	} {
		p, ws, err := resolveFake(t, newFake(aSystem, tt.files), api+`{ env = "T", file = "`+tt.file+`" }`+tt.rules)
		var re *RuleError
		switch {
		case err != nil:
			if !errors.As(err, &re) || tt.want == "" || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
			}
		case p.RightsAt("/home/u/proj/t") != tt.rights || codes(ws) != tt.want:
			t.Errorf("%s: %s, %v", tt.name, p.RightsAt("/home/u/proj/t"), ws)
		case tt.want == "missing-secret" && !slices.Contains(p.Unprotected, "/home/u/proj/t"):
			t.Errorf("%s: the server can make it: %v", tt.name, p.Unprotected)
		case tt.want != "missing-secret" && (len(p.Secrets) != 1 || !strings.HasPrefix(p.Secrets[0].File, "/home/u/")):
			t.Errorf("%s: %+v", tt.name, p.Secrets)
		}
	}
}

// TestSecretOfSeveralRules checks that each variable has one source, which several hosts
// may share.
func TestSecretOfSeveralRules(t *testing.T) {
	second := func(secret string) string {
		return api + `[{ env = "T", file = "~/t" }, { env = "A", command = ["a"] }]` + "\n[[servers.s.access.net]]\nhost = \"b\"\nallow = true\nsecret = " + secret + "\n"
	}
	p, _ := mustResolve(t, newFake(aSystem, "f /home/u/t"), second(`{ env = "T", file = "~/t" }`))
	if len(p.Secrets) != 2 || p.Secrets[0].Env != "A" || p.Secrets[1].Env != "T" || p.Secrets[1].Where != "c.toml:6" {
		t.Errorf("%+v", p.Secrets)
	}
	for _, other := range []string{`{ env = "T" }`, `{ env = "T", file = "~/u" }`, `{ env = "A", command = ["a", "b"] }`} {
		_, _, err := resolveFake(t, newFake(aSystem), second(other))
		if want := "c.toml:10: the secret "; err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "at c.toml:6: a variable has one source") {
			t.Errorf("%s: %v", other, err)
		}
	}
}
