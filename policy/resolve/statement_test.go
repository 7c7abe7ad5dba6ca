package resolve

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/statement"
)

// statementOf resolves a configuration on a fake host and returns the statement for the
// server.
func statementOf(t *testing.T, host fakeHost, toml string) (*policy.Profile, statement.Statement, []byte) {
	t.Helper()
	c, err := config.Decode([]byte(toml), "mcp-jail.toml")
	testkit.Must(t, err)
	p, err := c.Policy("s", "")
	testkit.Must(t, err)
	h := host.host()
	h.Environ = append(h.Environ, "GH_TOKEN=very-secret-value")
	profile, _, err := Resolve(p, h)
	testkit.Must(t, err)
	text := statement.New(profile).Encode()
	var s statement.Statement
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return profile, s, text
}

func TestStatement(t *testing.T) {
	profile, s, text := statementOf(t, newFake(aSystem, `
		f /home/u/proj/.env SECRET=1
		d /home/u/proj/src
		d /data/notes`), aServer+`variables = ["GH_TOKEN"]
`+fsTables(".:rw", "src:-w", "/data/notes:")+`[[servers.s.access.net]]
host = "api.github.com"
scheme = "https"
path_prefix = "/repos"
methods = ["GET"]
secret = { env = "TOKEN", command = ["op"] }
allow = true
[[servers.s.access.net]]
host = "refused.example"
allow = false
[[servers.s.access.inbound]]
port = 3334
`)
	at := slices.IndexFunc(profile.Env, func(v policy.Variable) bool { return v.Name == policy.StatementVar })
	if at < 0 || profile.Env[at].Value != string(text) || profile.Env[at].Secret {
		t.Errorf("the variable is not the statement: %+v", profile.Env)
	}
	rights := map[string]string{}
	for _, f := range s.Fs {
		rights[f.Path] = fmt.Sprint(f.Rights)
	}
	if rights["/home/u/proj"] != "[read create update delete]" || rights["/home/u/proj/src"] != "[read]" || rights[profile.Home] == "" || len(rights) != 3 {
		t.Errorf("fs %v", rights)
	}
	if s.Version != 1 || s.Workspace != "/home/u/proj" || s.Net.Access != "hosts" || len(s.Net.Hosts) != 1 || s.Net.Hosts[0].Host != "api.github.com" || s.Limits.MemoryMB != 4096 || s.Truncated {
		t.Errorf("%s", text)
	}
	if got := fmt.Sprintf("%+v %v %v", s.Net.Hosts, s.Net.Inbound, s.Net.Secrets); got != "[{Host:api.github.com Scheme:https Ports:[443] PathPrefix:/repos Methods:[GET]}] [3334] [TOKEN]" {
		t.Error(got)
	}
	for _, secret := range []string{"very-secret-value", "refused.example", ".env", "/data/notes", "\n"} {
		if strings.Contains(string(text), secret) {
			t.Errorf("it tells %q: %s", secret, text)
		}
	}
	if got := fmt.Sprint(s.Variables, s.Commands); got != "[GH_TOKEN TOKEN] []" || !strings.Contains(string(text), `"commands":null`) {
		t.Errorf("names %s: %s", got, text)
	}
	if again := statement.New(profile).Encode(); string(again) != string(text) {
		t.Errorf("another text: %s", again)
	}
}

func TestStatementIsBounded(t *testing.T) {
	var rules, lines strings.Builder
	rules.WriteString("[servers.s]\ncommand = \"server\"\nwaive = [\"net\"]\n")
	for i := range 300 {
		fmt.Fprintf(&lines, "d /data/a-directory-with-a-longer-name-%d\n", i)
		fmt.Fprintf(&rules, "[[servers.s.access.fs]]\npath = \"/data/a-directory-with-a-longer-name-%d\"\nread = true\n", i)
	}
	for i := range 64 {
		fmt.Fprintf(&rules, "[[servers.s.access.inbound]]\nport = %d\n", 60000+i)
	}
	for i := range 100 {
		fmt.Fprintf(&rules, "[[servers.s.access.net]]\nhost = \"a%d\"\nallow = true\nsecret = { env = \"A_VARIABLE_WITH_A_LONG_NAME_%d\", command = [\"op\"] }\n", i, i)
	}
	_, s, text := statementOf(t, newFake(aSystem, lines.String()), rules.String())
	if len(text) > statement.MaxBytes || !s.Truncated || len(s.Fs)+len(s.Net.Hosts) < 40 || len(s.Net.Inbound) != 64 || s.Net.Access != "hosts" {
		t.Errorf("%d bytes, truncated %v, %d paths, net %s", len(text), s.Truncated, len(s.Fs), s.Net.Access)
	}
}
