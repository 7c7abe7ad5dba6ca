package resolve

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// TestUseless checks that rules that grant nothing lead to warnings. A rule that takes
// rights away is not one of them.
func TestUseless(t *testing.T) {
	h := newFake(aSystem, "f /home/u/proj/a/b\nf /home/u/other/x\nx /usr/bin/git\nx /usr/bin/curl")
	for _, tt := range []struct{ name, access, warns string }{
		{"a narrower host", "[servers.s.access]\nnet = [{ host = \"*.test\", allow = true },\n{ host = \"a.test\", methods = [\"GET\"], allow = true }]\n", "host = \"a.test\" adds nothing to c.toml:5: host = \"*.test\", because rules add up"},
		{"a refused host", "[[servers.s.access.net]]\nhost = \"a.test\"\nallow = false\n", "host = \"a.test\" grants nothing, and there is no wider rule that it could take something away from"},
		{"beside another host", "[[servers.s.access.net]]\nhost = \"b.test\"\nallow = true\n[[servers.s.access.net]]\nhost = \"a.test\"\nallow = false\n", "host = \"a.test\" grants nothing"},
		{"taken from a wildcard", "[[servers.s.access.net]]\nhost = \"*.test\"\nallow = true\n[[servers.s.access.net]]\nhost = \"a.test\"\nallow = false\n", ""},
		{"a wildcard taken from one host", "[[servers.s.access.net]]\nhost = \"a.b.test\"\nallow = true\n[[servers.s.access.net]]\nhost = \"*.b.test\"\nallow = false\n", ""},
		{"a port of a granted host", "[[servers.s.access.net]]\nhost = \"a.test\"\nallow = true\n[[servers.s.access.net]]\nhost = \"a.test\"\nport = 80\nallow = false\n", ""},
		{"a path without rights", "[[servers.s.access.fs]]\npath = \"~/other\"\ndeny = true\n", "path = \"~/other\" takes nothing away: the server has no more there than every jail has"},
		{"taken from a grant", "[[servers.s.access.fs]]\npath = \".\"\nread = true\n[[servers.s.access.fs]]\npath = \"a\"\ndeny = true\n", ""},
		{"taken from the baseline", "[[servers.s.access.fs]]\npath = \"/usr/bin/curl\"\ndeny = true\n", ""},
		{"a glob", "[[servers.s.access.fs]]\npath = \"*.md\"\nread = true\n", "it grants nothing; a path is literal, there are no globs"},
		{"a program with its arguments", "[servers.s.access.commands.\"git log\"]\n", `no program has that name; call it git, with args = ["log", "**"]`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, ws, err := resolveFake(t, h, "version = 1\n[servers.s]\ncommand = \"/usr/bin/git\"\n"+tt.access)
			testkit.Must(t, err)
			var said []string
			for _, w := range ws {
				said = append(said, w.Message)
			}
			got := strings.Join(said, "\n")
			if tt.warns == "" && got != "" || !strings.Contains(got, tt.warns) {
				t.Errorf("warnings %q, want %q", got, tt.warns)
			}
		})
	}
}

// TestRiskyHostWarnings checks that rules for a cloud's metadata service and for private networks
// hold and lead to a warning.
func TestRiskyHostWarnings(t *testing.T) {
	for host, want := range map[string]string{
		"169.254.169.254":          "metadata-host",
		"fd00:ec2::254":            "metadata-host",
		"100.100.100.200":          "metadata-host",
		"Metadata.Google.Internal": "metadata-host",
		"*.google.internal":        "metadata-host",
		"*.internal":               "metadata-host",
		"10.1.2.3":                 "private-host",
		"192.168.1.1":              "private-host",
		"fd12::1":                  "private-host",
		"169.254.1.1":              "private-host",
		"100.64.0.1":               "private-host",
		"::ffff:10.1.2.3":          "private-host",

		"93.184.216.34": "", "localhost": "", "127.0.0.1": "", "::1": "", "api.example.com": "",
		"google.internal": "", "*.example.com": "", "*": "",
	} {
		for _, allow := range []bool{true, false} {
			_, ws := mustResolve(t, newFake(aSystem), fmt.Sprintf("%s[[servers.s.access.net]]\nhost = %q\nallow = %v\n", aServer, host, allow))
			got := ""
			for _, w := range ws {
				if strings.HasSuffix(w.Code, "-host") {
					got += w.Code
					if !strings.Contains(w.Where, "toml:") || !strings.HasPrefix(w.Message, "host = ") {
						t.Errorf("%s: %s", host, w)
					}
				}
			}
			if allow && got != want || !allow && got != "" {
				t.Errorf("%s, allow = %v: %q, want %q", host, allow, got, want)
			}
		}
	}
}

// TestUselessDenial tests which refusals are said to take nothing away: those of what every jail
// keeps, and of what no jail has.
func TestUselessDenial(t *testing.T) {
	h := newFake(aSystem, "f /home/u/proj/a/b\nf /home/u/other/x\nx /usr/bin/curl\nf /etc/passwd\nf /etc/hosts\nf /etc/resolv.conf\nd /tmp/x")
	for path, useless := range map[string]bool{
		"/usr/bin/curl": false, "/etc/hosts": false, "/etc/resolv.conf": false, "a": false,
		"/usr": true, "/etc/passwd": true, "/tmp/x": true, "~/other": true,
	} {
		p, err := config.FromCommandLine(config.CommandLineOptions{Command: []string{"/usr/bin/server"}, Name: "s", Dir: "/home/u/proj", Deny: []string{path}})
		testkit.Must(t, err)
		_, ws, err := Resolve(p, h.host())
		if got := slices.ContainsFunc(ws, func(w policy.Warning) bool { return w.Code == "useless-rule" }); err != nil || got != useless {
			t.Errorf("%s: useless is %v, want %v: %v, %v", path, got, useless, ws, err)
		}
	}
}

// TestUselessAddress tests that the refusal of an address takes something away from a rule for names,
// which may lead there, and nothing from a rule for another address.
func TestUselessAddress(t *testing.T) {
	for granted, useless := range map[string]bool{"*.example.com": false, "api.example.com": false, "*": false, "93.184.215.2": false, "93.184.215.3": true} {
		_, ws := mustResolve(t, newFake(aSystem), fmt.Sprintf("%s[[servers.s.access.net]]\nhost = %q\nallow = true\n[[servers.s.access.net]]\nhost = \"93.184.215.2\"\nallow = false\n", aServer, granted))
		if got := slices.ContainsFunc(ws, func(w policy.Warning) bool { return w.Code == "useless-rule" }); got != useless {
			t.Errorf("%s: useless is %v, want %v: %v", granted, got, useless, ws)
		}
	}
}
