package presets

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// all returns every preset.
func all(t testing.TB) (out []*Preset) {
	t.Helper()
	for _, name := range Names() {
		p, err := Find(name)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		out = append(out, p)
	}
	return out
}

// TestPackagesAreUnique tests that no package leads to two presets.
func TestPackagesAreUnique(t *testing.T) {
	seen := map[string]string{}
	for _, p := range all(t) {
		for _, pkg := range p.Packages {
			key := string(pkg.Ecosystem) + " " + normal(pkg.Ecosystem, pkg.Name)
			testkit.Equal(t, fmt.Sprintf("%s is in … and in %s", key, p.Name), seen[key], "")
			seen[key] = p.Name
		}
	}
}

// TestSources tests that each source names a commit of a repository, a package with its
// version, or a page of this one, and that no fact has a source of another kind.
func TestSources(t *testing.T) {
	commit := regexp.MustCompile(`^[\w.-]+/[\w.-]+@[0-9a-f]{12} `)
	version := regexp.MustCompile(`^@?[\w./-]+ \d+\.\d+`)
	for _, p := range all(t) {
		for _, s := range p.Sources {
			if !commit.MatchString(s) && !version.MatchString(s) && !strings.HasPrefix(s, "docs/") {
				t.Errorf("%s: %q", p.Name, s)
			}
		}
	}
}

// TestRules tests what every preset's rules have in common.
func TestRules(t *testing.T) {
	for _, p := range all(t) {
		for _, r := range p.rules() {
			switch {
			case !r.Allow, r.Scheme == "":
				t.Errorf("%s: the rule for %s has no scheme, or allows nothing", p.Name, r.Host)
			case r.Host == "*" && p.Name != "fetch":
				t.Errorf("%s reaches every host", p.Name)
			case r.Scheme == "http" && p.Name != "fetch", r.Scheme == "tcp" && r.Host != "127.0.0.1" && r.Host != "localhost":
				t.Errorf("%s reaches %s without TLS", p.Name, r.Host)
			}
		}
		if p.Server.Access != nil {
			for _, r := range p.Server.Access.Fs {
				own := p.Name == "google-calendar" && r.Path == "~/.config/google-calendar-mcp" // no other program's
				browser := r.Path == "/opt/google/chrome"
				if r.Path != "." && (!strings.HasPrefix(r.Path, "~/.") && !browser || (r.Create || r.Update || r.Delete) && !own) {
					t.Errorf("%s grants %s", p.Name, r.Path)
				}
			}
		}
	}
}

// TestPlacesInHome tests that the presets of servers that keep keys, a login or a browser in the home
// name that place, which may be missing, and that none of them takes the user's HOME for it.
func TestPlacesInHome(t *testing.T) {
	for name, places := range map[string][]string{
		"gmail": {"~/.gmail-mcp"}, "google-calendar": {"~/.config/google-calendar-mcp"}, "linear": {"~/.config/mcp-linear"},
		"gcloud":     {"~/.config/gcloud/credentials.db", "~/.config/gcloud/application_default_credentials.json"},
		"aws-api":    {"~/.aws/config", "~/.aws/credentials", "~/.aws/sso"},
		"kubernetes": {"~/.kube/config"}, "kubernetes-native": {"~/.kube/config"},
		"puppeteer": {"~/.cache/puppeteer"},
	} {
		p := testkit.Get(Find(name))(t)
		s := p.For(Entry{}).Server
		for _, place := range places {
			if !slices.ContainsFunc(s.Access.Fs, func(r policy.FsRule) bool { return r.Path == place && r.Read && r.Optional }) {
				t.Errorf("%s: no rule for %s: %+v", name, place, s.Access.Fs)
			}
		}
		testkit.Equal(t, fmt.Sprintf("%s: home =", name), s.Home, "")
	}
}

// TestRefusesNothing tests that presets only grant. What a preset refused would not hold for a project's
// server that does not have the preset: see config.Config.LayBelow.
func TestRefusesNothing(t *testing.T) {
	for _, p := range all(t) {
		s := *p.Server
		if a := s.Access; a != nil {
			refuses := len(a.SensitivePaths) > 0 || a.Commands != nil
			refuses = refuses || slices.ContainsFunc(a.Fs, func(r policy.FsRule) bool { return r.Rights() == 0 })
			refuses = refuses || slices.ContainsFunc(a.Env, func(r policy.EnvRule) bool { return !r.Read })
			refuses = refuses || slices.ContainsFunc(a.Net, func(r policy.NetRule) bool { return !r.Allow })
			if refuses {
				t.Errorf("%s refuses something", p.Name)
			}
		}
		slow := s.Settings["startup_timeout_secs"].Value != ""
		if len(s.Settings) > 1 || len(s.Settings) == 1 && !slow || s.Home == "private" || len(s.Tools) > 0 {
			t.Errorf("%s has a setting that can refuse, or a table of a tool", p.Name)
		}
	}
}

// TestPolicies tests that each preset is a valid server once it has a command, and that the
// second part of its text can be pasted into a configuration.
func TestPolicies(t *testing.T) {
	for _, p := range all(t) {
		header, rest, _ := bytes.Cut(p.Config, []byte("\n"))
		text := slices.Concat(header, []byte("\ncommand = \"server\"\n"), rest)
		c, err := config.Decode(text, p.Name)
		if err != nil {
			t.Errorf("%s, pasted: %v", p.Name, err)
			continue
		}
		testkit.Works(t, p.Name, testkit.ErrorOf(c.Policy(p.Name, "")))
		if !bytes.HasSuffix(p.Text, p.Config) {
			t.Errorf("%s: the text does not end with its second part", p.Name)
		}
	}
}

func TestFind(t *testing.T) {
	for _, name := range []string{"", "githab", "../servers/github", "servers/github", "github.toml", `..\github`} {
		_, err := Find(name)
		unknown, ok := err.(*UnknownError)
		if !ok || unknown.Name != name {
			t.Errorf("%q: %v", name, err)
		}
	}
	if _, err := Find("githab"); err.Error() != `there is no preset "githab"; did you mean "github"?` {
		t.Error(err)
	}
	a, _ := Find("github")
	b, _ := Find("github")
	a.Server.Access.Net[0].Host = "changed"
	if b.Server.Access.Net[0].Host == "changed" {
		t.Error("two presets share a rule")
	}
}

func TestForPackage(t *testing.T) {
	for _, row := range testkit.Rows(t, "packages.txt", 3) {
		ecosystem, name, want := Ecosystem(row[0]), row[1], row[2]
		p, ok := ForPackage(ecosystem, name)
		if ok != (want != "") || ok && p.Name != want {
			t.Errorf("%s %s: %v, want %q", ecosystem, name, p, want)
		}
	}
}
