package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// presetTable returns the table of a preset, which comes without a command.
func presetTable(t *testing.T, body string) *Server {
	t.Helper()
	layer, ps := decodeLayer([]byte(body), "preset p")
	if ps != nil {
		t.Fatal(ps)
	}
	return layer.Servers["p"]
}

const apiPreset = `
[servers.p]
variables = ["KEY"]
startup_timeout_secs = 90
limits = { memory_mb = 9000, processes = 77 }
[servers.p.access]
net = [{ host = "api.test", allow = true, secret = { env = "TOKEN" } }]
fs = [{ path = "cache", read = true }]
`

// TestLayBelow tests that the lists of a server that names a preset join those of the preset by
// their strategies.
func TestLayBelow(t *testing.T) {
	fill := strings.NewReplacer("$API", apiPreset)
	for _, row := range testkit.Rows(t, "presets.txt", 5) {
		name, preset, layers, want, byDefault := fill.Replace(row[0]), fill.Replace(row[1]), fill.Replace(row[2]), fill.Replace(row[3]), row[4] == "true"
		merged := &Config{}
		for i, text := range strings.Split(layers, "---") {
			if i == 0 {
				text = "[servers.s]\npreset = \"p\"\ncommand = \"x\"\n" + text
			}
			layer, ps := decodeLayer([]byte(text), "c.toml")
			if ps != nil {
				t.Fatal(name, ps)
			}
			merged.overlay(layer)
		}
		below := presetTable(t, preset)
		merged.LayBelow("s", below)
		merged.LayBelow("s", below) // changes nothing
		p, err := merged.Policy("s", "")
		if err != nil {
			t.Fatal(name, err)
		}
		if got := granted(p); strings.Join(got, " ") != want || p.Default != byDefault || p.Where != "c.toml:1" {
			t.Errorf("%s: %q, default %t, of %s; want %q, %t", name, got, p.Default, p.Where, want, byDefault)
		}
		if Digest(below) != Digest(presetTable(t, preset)) {
			t.Errorf("%s: the preset was changed", name)
		}
	}
}

// TestLayBelowValues tests that values of the user's table win, also if the table was decoded and
// not merged.
func TestLayBelowValues(t *testing.T) {
	c, err := Decode([]byte("[servers.s]\npreset = \"p\"\ncommand = \"x\"\nstartup_timeout_secs = 5\nlimits = { processes = 9 }\n"), "c.toml")
	testkit.Must(t, err)
	if _, err := c.Policy("s", ""); err == nil || !strings.Contains(err.Error(), "c.toml:2: the preset p of server \"s\" was not applied") {
		t.Errorf("without the preset: %v", err)
	}
	c.LayBelow("s", presetTable(t, apiPreset), policy.Warning{Code: "w"})
	c.LayBelow("nowhere", &Server{})
	p, err := c.Policy("s", "")
	if err != nil || p.Startup.Seconds() != 5 || p.Limits.Processes != 9 || p.Limits.MemoryMB != 9000 || p.Command != "x" {
		t.Errorf("%+v, %v", p, err)
	}
	if ws := c.Warnings("s"); len(ws) != 1 || ws[0].Code != "w" || c.Warnings("nowhere") != nil {
		t.Errorf("%v", ws)
	}
	if s := string(c.Encode()); !strings.Contains(s, "preset = \"p\"\n") {
		t.Error(s)
	}
	problem := c.Servers["s"].PresetProblem(errors.New("there is no preset"))
	if got := problem.Error(); got != "c.toml:2: servers.s.preset: there is no preset" || problem.Key != "servers.s.preset" {
		t.Errorf("%q, %s", got, problem.Key)
	}
}

// TestLayBelowTools tests that a tool that only the preset has a table for is not declared.
func TestLayBelowTools(t *testing.T) {
	c, err := Decode([]byte("[servers.s]\npreset = \"p\"\ncommand = \"x\"\nstateful = false\n[servers.s.tools.write.access]\nfs = [{ path = \"out\", read = true }]\n"), "c.toml")
	testkit.Must(t, err)
	c.LayBelow("s", presetTable(t, "[servers.p.tools.read.access]\nnet = [{ host = \"a.test\", allow = true }]\n[servers.p.tools.write.access]\nnet = [{ host = \"a.test\", allow = true }]\n"))
	if got := fmt.Sprint(c.DeclaredTools("s"), c.ToolsWithTable("s"), c.ToolsWithTable("nowhere")); got != "[write] [read write] []" {
		t.Error(got)
	}
	for tool, want := range map[string][]string{"read": {"a.test"}, "write": {"out", "a.test"}, "other": {"."}, "": {"."}} {
		if p, err := c.Policy("s", tool); err != nil || !slices.Equal(granted(p), want) {
			t.Errorf("tool %q: %v, %v", tool, granted(p), err)
		}
	}
}

// TestProjectPreset tests that a preset is a grant. A server whose program a project names does
// not get the preset of the user's layer, and a table that narrows a server of the user leaves it.
func TestProjectPreset(t *testing.T) {
	const users = "[servers.s]\npreset = \"mine\"\ncommand = \"/usr/bin/mine\"\n[servers.s.access]\nnet = [{ host = \"user.test\", allow = true }]\n"
	mine := []string{"cache", "api.test", "user.test", "KEY"}
	for project, want := range map[string][]string{
		"[servers.s]\ncommand = \"./theirs\"":                         {"."},
		"[servers.s]\npreset = \"p\"":                                 mine,
		"[servers.s.access]\nfs = [{ path = \"docs\", read = true }]": mine,
		"[servers.s]\ncommand = \"./theirs\"\npreset = \"p\"\n":       {"cache", "api.test", "KEY"},
	} {
		o, file := layersIn(t)
		testkit.WriteFile(t, o.User, users)
		testkit.Must(t, (TrustStore{Path: o.Trust}).Trust(file, testkit.WriteFile(t, file, project)))
		c, err := Load(o)
		testkit.Must(t, err)
		if c.Servers["s"].Preset != "" {
			c.LayBelow("s", presetTable(t, apiPreset))
		}
		p, err := c.Policy("s", "")
		if err != nil || !slices.Equal(granted(p), want) {
			t.Errorf("%s\n%q, %v, want %q", project, granted(p), err, want)
		}
		own := strings.Contains(project, "theirs")
		if text := fmt.Sprint(c.Warnings("s")); strings.Contains(text, "; grant it") != own {
			t.Errorf("%s\n%s", project, text)
		}
	}
}

// TestCommandLinePreset tests that flags add to a preset, in the file that wrap writes.
func TestCommandLinePreset(t *testing.T) {
	o := CommandLineOptions{Command: []string{"server"}, Preset: "p", Read: []string{"a"}, Net: []string{"b.test:8443"}, Env: []string{"E_*"}}
	o.Below = presetTable(t, apiPreset)
	declared, err := o.Declared()
	testkit.Must(t, err)
	d := decoded(t, string((&Config{Servers: map[string]*Server{"server": declared}}).Encode()))
	d.LayBelow("server", &Server{}) // what the preset gives is written
	file, err := d.Policy("server", "")
	testkit.Must(t, err)
	if got := strings.Join(granted(file), " "); got != "cache a api.test b.test E_* KEY" || file.Default || file.Limits.MemoryMB != 9000 {
		t.Errorf("%s, %+v", got, file)
	}
}
