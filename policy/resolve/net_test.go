package resolve

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

func TestNetRuleProblems(t *testing.T) {
	for _, tt := range []struct{ rule, want string }{
		{"host = \"*\"\nmethods = [\"GET\"]\nallow = true", "TLS is terminated for hosts that are named"},
		{"host = \"*\"\npath_prefix = \"/x\"", "TLS is terminated for hosts that are named"},
		{"host = \"*\"\nsecret = { env = \"T\" }\nallow = true", "TLS is terminated for hosts that are named"},
		{"host = \"*\"\nscheme = \"http\"\nmethods = [\"GET\"]\nallow = true", ""},
		{"host = \"*.a\"\nsecret = { env = \"T\" }\nallow = true", ""},
		{"host = \"a\"\nsecret = { env = \"T\" }", "allow = true is missing"},
		{"host = \"a\"\nscheme = \"http\"\nsecret = { env = \"T\" }\nallow = true", `scheme = "http" would send the secret in the open`},
		{"host = \"a\"\nscheme = \"tcp\"\nport = 5432\nsecret = { env = \"T\" }\nallow = true", `scheme = "tcp" would send the secret in the open`},
		{"host = \"a\"\nsecret = [{ env = \"T\" }, { env = \"U\", file = \"~/u\" }]\nallow = true", ""},
		{"host = \"a\"\nsecret = [{ env = \"T\" }, { env = \"T\" }]\nallow = true", "secret: T is there twice"},
		{"host = \"a\"\nsecret = { file = \"~/t\" }\nallow = true", "net.secret.env: servers.s.access.net.secret has no env"},
		{"host = \"a\"\nsecret = { env = \"\" }\nallow = true", "net.secret.env is empty"},
		{"host = \"a\"\nsecret = { env = \"T-X\" }\nallow = true", `env = "T-X": a secret's variable has letters`},
		{"host = \"a\"\nsecret = { env = \"PATH\" }\nallow = true", `env = "PATH": no program takes a secret from this variable`},
		{"host = \"a\"\nsecret = { env = \"LD_PRELOAD\" }\nallow = true", `no program takes a secret from this variable`},
		{"host = \"a\"\nsecret = { env = \"MCP_JAIL_POLICY\" }\nallow = true", `no program takes a secret from this variable`},
		{"host = \"a\"\nsecret = { env = \"T\", file = \"~/t\", command = [\"x\"] }\nallow = true", "the secret T has a file and a command"},
		{"host = \"a\"\nsecret = { env = \"T\", file = \"t\" }\nallow = true", `file = "t": write it as an absolute path or with ~/`},
		{"host = \"a\"\nsecret = { env = \"T\", file = \"/x/[t]\" }\nallow = true", `without wildcards`},
		{"host = \"a\"\nsecret = { env = \"T\", command = [] }\nallow = true", "the command of the secret T is empty"},
		{"host = \"a\"\nsecret = { env = \"T\", command = [\"./x\"] }\nallow = true", `command "./x": write the program as a name in PATH`},
		{"host = \"a\"\nsecret = { env = \"T\", command = [\"op\", \"a\\u0000\"] }\nallow = true", "the command of the secret T contains a NUL"},
		{"host = \"a\"\nsecret = { env = \"T\", from = \"x\" }\nallow = true", "net.secret.from is not a known key"},
		{"host = \"a\"\nsecret = \"T\"\nallow = true", "net.secret must be a table, not a string"},
		{"host = \"a\"\nport = 53\nallow = true", "port 53 is for names"},
		{"host = \"a\"\nport = 53", ""},
		{"host = \"a\"\nmethods = [\"M-SEARCH\"]\nallow = true", ""},
		{"host = \"a\"\nmethods = [\"GET /\"]\nallow = true", `"GET /" is no method`},
	} {
		_, err := config.Decode([]byte("[servers.s]\ncommand = \"x\"\n[[servers.s.access.net]]\n"+tt.rule+"\n"), "f")
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s\n got %v\nwant %s", tt.rule, err, tt.want)
		}
	}
	// A policy that a program built is refused in the same way.
	for _, r := range []policy.NetRule{
		{Host: "a", Methods: []string{"get"}, Allow: true},
		{Host: "a", Secrets: []policy.Secret{{Env: "T"}}},
		{Host: "a", Secrets: []policy.Secret{{Env: "T", Command: []string{}}}, Allow: true},
	} {
		p, err := config.FromCommandLine(config.CommandLineOptions{Command: []string{"server"}, Net: []string{"b"}})
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := Resolve(p, newFake(aSystem).host()); err != nil {
			t.Fatal(err)
		}
		p.Net = append(p.Net, r)
		if _, _, err := Resolve(p, newFake(aSystem).host()); err == nil {
			t.Errorf("Resolve takes %+v", r)
		}
	}
}

func TestInbound(t *testing.T) {
	policyOf := func(rules string) (*policy.Policy, error) {
		return decoded(t, "[servers.s]\ncommand = \"server\"\n"+rules).Policy("s", "")
	}
	rule := func(n int) string { return fmt.Sprintf("[[servers.s.access.inbound]]\nport = %d\n", n) }
	p, err := policyOf(rule(8080) + rule(3334) + rule(8080))
	if err != nil {
		t.Fatal(err)
	}
	profile, _, err := Resolve(p, newFake(aSystem).host())
	if err != nil || !slices.Equal(profile.Inbound, []int{3334, 8080}) {
		t.Errorf("%v, %v", profile.Inbound, err)
	}
	many := ""
	for i := range 65 {
		many += rule(3000 + i)
	}
	out := "[[servers.s.access.net]]\nhost = \"localhost\"\nport = 3334\n"
	for rules, want := range map[string]string{
		rule(3334) + out + "allow = true\n": "f:3: inbound: port 3334 leads to localhost as well (f:5)",
		rule(443) + "[[servers.s.access.net]]\nhost = \"a\"\nscheme = \"https\"\nallow = true\n": "port 443 leads to a as well",
		rule(3334) + out:                  "",
		rule(53) + out + "allow = true\n": "port 53 is where names are looked up as well (f:5)",
		rule(53) + out:                    "",
		many:                              "inbound: 65 ports; more than 64 are refused",
	} {
		if _, err := policyOf(rules); want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %s", rules, err, want)
		}
	}
	for _, port := range []int{0, -1, 65536} {
		p.Inbound = []policy.InboundRule{{Port: port, Where: "here"}}
		if _, _, err := Resolve(p, newFake(aSystem).host()); err == nil {
			t.Errorf("Resolve takes port %d", port)
		}
	}
}
