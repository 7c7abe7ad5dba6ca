package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/presets"
)

// githubTable is the table of the server of server-github, with further keys.
func githubTable(keys string) string {
	return fmt.Sprintf("[servers.github]\npreset = \"github-archived\"\ncommand = \"node\"\narguments = [%q]\n%s", server(github), keys)
}

// TestPresetStateless tests that in a process for each call the tools that only read have the
// preset's hosts, and another one has them if the user has declared it.
func TestPresetStateless(t *testing.T) {
	need(t, "npm")
	t.Parallel()
	w, net, token, _ := newGithub(t)
	table := githubTable("stateful = false\n")
	issue := func(_ *testing.T, _ *world, s *clientSession) toolResult {
		return s.tool("create_issue", map[string]any{"owner": "a", "repo": "b", "title": "x"})
	}
	got := w.attempt(t, "github", table, func(t *testing.T, w *world, s *clientSession) toolResult {
		if got := commits(s); got.IsError || !strings.Contains(got.texts(), "a commit") {
			t.Errorf("reading: %s", got.raw)
		}
		return issue(t, w, s)
	})
	// What the server says on stderr names the host, and may come after its answer.
	why := w.why(t, "github")
	named := why.Attribution == "likely" && strings.Contains(why.Cause, `"api.github.com", which the policy does not grant`)
	if !got.IsError || !named && (why.Attribution != "certain" || !strings.Contains(why.Cause, "looking up api.github.com")) {
		t.Errorf("%s\n%+v", got.raw, why)
	}
	before := net.requests(t)
	w.attempt(t, "github", table+"[servers.github.tools.create_issue]\n", issue)
	if told := strings.TrimPrefix(net.requests(t), before); told != "POST /repos/a/b/issues Bearer "+token+"\n" {
		t.Errorf("declared: the host was told %q", told)
	}
}

// TestPresetTools tests that servers list their tools in a jail with their preset, and that
// harmless ones work.
func TestPresetTools(t *testing.T) {
	need(t, "npm")
	t.Parallel()
	for _, c := range []struct {
		preset, program string
		calls           map[string]any // tools with their arguments
		env             string
	}{
		{"memory", server(memory), map[string]any{"create_entities": map[string]any{"entities": []any{map[string]any{"name": "a", "entityType": "b", "observations": []any{"c"}}}}}, "MEMORY_FILE_PATH"},
		{"everything", server(everything), map[string]any{"echo": map[string]any{"message": "x"}}, ""},
		{"sequential-thinking", server(thinking), map[string]any{"sequentialthinking": map[string]any{"thought": "x", "nextThoughtNeeded": false, "thoughtNumber": 1, "totalThoughts": 1}}, ""},
	} {
		t.Run(c.preset+" "+c.env, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			cmd := w.jail(w.declared(t, "--preset", c.preset, "--", "node", c.program)...)
			file := filepath.Join(w.base, "kept", "graph.json")
			if c.env != "" {
				testkit.Must(t, os.Mkdir(filepath.Dir(file), 0o777))
				cmd.Env = append(cmd.Env, c.env+"="+file)
			}
			s := open(t, cmd, nil)
			if len(s.tools()) == 0 {
				t.Error("no tool is listed")
			}
			for name, arguments := range c.calls {
				if got := s.tool(name, arguments); got.IsError {
					t.Errorf("%s: %s", name, got.raw)
				}
			}
			s.close()
			if _, err := os.Stat(file); c.env != "" && err != nil {
				t.Error(err)
			}
		})
	}
}

// declared writes a table for a server, from the words of a command line that would start it, and returns
// those that start the table.
func (w *world) declared(t *testing.T, words ...string) []string {
	t.Helper()
	own, server := cmdline.Split(words)
	f, err := cmdline.ParseRun(append([]string{"run"}, own...))
	must(t, err)
	o := config.CommandLineOptions{Command: server.Argv, Name: f.Name, Preset: f.Preset, Read: f.Read, Write: f.Write, Execute: f.Execute, Net: f.Net, Inbound: f.Inbound, Env: f.Env, Limit: f.Limit, Dir: w.work}
	if o.Name == "" {
		o.Name = "declared"
	}
	file := filepath.Join(w.base, o.Name+".toml")
	s, err := o.Declared()
	must(t, err)
	must(t, os.WriteFile(file, (&config.Config{Servers: map[string]*config.Server{s.Name: s}}).Encode(), 0o644))
	return []string{"--config", file, o.Name}
}

// presetServer is a real server that a test starts in a jail under its preset. In env, args and
// file WORK is the workspace, {token} the token, {authority} the file of the authority to trust,
// {authority64} its content as a kubeconfig file has it, {file} the path of the file, and
// {kubectl} the directory of a program that stands in for kubectl. mcp-jail grants the hosts and
// files that these name, as the preset says.
type presetServer struct {
	Preset, NPM string
	Native      string   // the package of testdata/presets/native: npm itself, or the one with the program that npm's only starts
	Secret      string   // the variable with the token; "" if there is none
	Env         []string // further variables
	Args        []string // of the server
	File        string   // the content of a file outside of the workspace
	Grants      []string // flags of mcp-jail that the preset's notes ask for
	Tool        string   // a harmless tool; "" if none works without more than an API
	Arguments   map[string]any
	Told        string   // a request that the tool makes of the API or database, with " token" if it has the token
	Says        string   // a part of what the tool then says
	Hosts       []string // further names of the stand-in
	Works       bool     // the tool succeeds: it needs no API
	Holds       bool     // the server itself has the token, as its preset says
	Direct      bool     // the connection is encrypted by the server itself, a program of node, which has to trust the stand-in
}

func presetServers(t *testing.T) []presetServer {
	t.Helper()
	var file struct{ Server []presetServer }
	must(t, toml.Unmarshal([]byte(testkit.ReadFile(t, "testdata/preset-servers.toml")), &file))
	return file.Server
}

// TestPresetsAreTried tests that no preset with a package of npm was forgotten. Packages of PyPI
// are not counted: the machines that run the tests may reach npm only.
func TestPresetsAreTried(t *testing.T) {
	need(t, "npm")
	var tried []string
	for _, c := range presetServers(t) {
		tried = append(tried, c.NPM)
	}
	for _, name := range presets.Names() {
		p, err := presets.Find(name)
		must(t, err)
		for _, pkg := range p.Packages {
			_, inNPM := os.Lstat(module(filepath.FromSlash(pkg.Name)))
			if pkg.Ecosystem == presets.NPM && inNPM != nil && !slices.Contains(tried, pkg.Name) {
				t.Errorf("no test starts %s under the preset %s", pkg.Name, name)
			}
		}
	}
}

// TestPresetServers starts real servers in jails under their presets. Each must list its
// tools, some of read_only among them, and to deny of none of these that it only reads. A
// harmless tool reaches the API or database, which a local host stands in for, with the token.
// The jail does not have the token, unless the preset says so.
func TestPresetServers(t *testing.T) {
	testkit.NeedsLong(t)
	need(t, "node", "presets")
	t.Parallel()
	for _, c := range presetServers(t) {
		t.Run(c.Preset+" "+filepath.Base(c.NPM), func(t *testing.T) {
			t.Parallel()
			testPresetServer(t, c)
		})
	}
}

func testPresetServer(t *testing.T, c presetServer) {
	p, err := presets.Find(c.Preset)
	must(t, err)
	w, token := newWorld(t), newToken()
	if c.Preset == "stripe" {
		token = "sk_test_" + token // it looks at the form
	}
	w.plant(t, w.work, map[string]string{"note.md": "a note"})
	net := newHosts(t, w, token, append(hostsOf(c.Told), c.Hosts...))
	fill := strings.NewReplacer("WORK", w.work, "{token}", token, "{authority}", net.authority(), "{authority64}", net.encodedAuthority(t), "{file}", filepath.Join(w.base, "file.json"), "{kubectl}", plantKubectl(t, w), "{gcloud}", filepath.Join(w.home, "sdk")).Replace
	if c.Preset == "gcloud" { // its tools need an account; the server only looks whether there is a gcloud
		w.plant(t, w.home, map[string]string{"sdk/gcloud": "#!/bin/sh\necho '{}'\n"})
		must(t, os.Chmod(filepath.Join(w.home, "sdk", "gcloud"), 0o755))
		w.env[0] = "PATH=" + filepath.Join(w.home, "sdk") + ":" + userPath()
	}
	if c.File != "" {
		must(t, os.WriteFile(filepath.Join(w.base, "file.json"), []byte(fill(c.File)), 0o600))
	}
	for _, v := range c.Env {
		name, value, _ := strings.Cut(v, "=")
		w.env = append(w.env, name+"="+fill(value))
	}
	if c.Secret != "" {
		w.env = append(w.env, c.Secret+"="+token)
	}
	words := []string{"--preset", c.Preset}
	if c.Direct {
		w.env = append(w.env, "NODE_EXTRA_CA_CERTS="+net.authority())
		words = append(words, "--env", "NODE_EXTRA_CA_CERTS", "--read", net.authority())
	}
	for _, a := range slices.Concat(c.Grants, []string{"--"}, c.command(t), c.Args) {
		words = append(words, fill(a))
	}
	s := open(t, w.jail(w.declared(t, words...)...), nil)
	defer s.close()
	for _, pkg := range p.Packages {
		if pkg.Name == c.NPM && pkg.Ecosystem == presets.NPM {
			checkVersion(t, c.module(t), pkg)
		}
	}
	compareReadOnly(t, p, s.result("tools/list", nil))
	if c.Tool == "" {
		return
	}
	arguments := map[string]any{}
	for name, value := range c.Arguments {
		if value == "WORK" {
			value = w.work
		}
		arguments[name] = value
	}
	got := s.tool(c.Tool, arguments)
	if c.Works {
		if got.IsError || !strings.Contains(got.texts(), "note.md") {
			t.Errorf("%s: %s", c.Tool, got.raw)
		}
		return
	}
	if told := strings.Split(net.requests(t), "\n"); !slices.Contains(told, c.Told) {
		t.Errorf("the API was told %q, want %q\n%s", told, c.Told, got.raw)
	}
	if !strings.Contains(got.texts(), c.Says) {
		t.Errorf("%s does not say %q: %s", c.Tool, c.Says, got.raw)
	}
	if n := countInJail(t, w, token); (n > 0) != c.Holds {
		t.Errorf("the token is %d times in the memory of the jail", n)
	}
}

// checkVersion tests that the preset names the version of an installed package as one that it fits.
func checkVersion(t *testing.T, dir string, pkg presets.Package) {
	t.Helper()
	var m struct{ Version string }
	must(t, json.Unmarshal([]byte(testkit.ReadFile(t, filepath.Join(dir, "package.json"))), &m))
	if !slices.Contains(pkg.Versions, m.Version) {
		t.Errorf("%s is %s, and the preset was seen to fit %v: see whether it still does, and add the version", pkg.Name, m.Version, pkg.Versions)
	}
}

// module returns the directory of the installed package that has the program.
func (c presetServer) module(t *testing.T) string {
	t.Helper()
	if c.Native == "" {
		return filepath.Join(os.Getenv("MCPJAIL_PRESETS"), "node_modules", filepath.FromSlash(c.NPM))
	}
	if runtime.GOARCH != "amd64" {
		testkit.Skip(t, "amd64", "%s is for no other processor", c.Native)
	}
	return filepath.Join(os.Getenv("MCPJAIL_PRESETS_NATIVE"), "node_modules", c.Native)
}

// hostsOf returns the host of a request as presetServer.told has it.
func hostsOf(told string) []string {
	_, rest, found := strings.Cut(told, "://")
	if !found {
		return nil
	}
	host, _, _ := strings.Cut(rest, "/")
	host, _, _ = strings.Cut(host, " ")
	host, _, _ = strings.Cut(host, ":")
	return []string{host}
}

// command returns the command that starts the installed program.
func (c presetServer) command(t *testing.T) []string {
	t.Helper()
	dir := c.module(t)
	if c.Native != "" && c.Native != c.NPM {
		return []string{filepath.Join(dir, "bin", c.Native)}
	}
	var m struct{ Bin any }
	must(t, json.Unmarshal([]byte(testkit.ReadFile(t, filepath.Join(dir, "package.json"))), &m))
	switch bin := m.Bin.(type) {
	case string:
		return []string{"node", filepath.Join(dir, bin)}
	case map[string]any:
		file, _ := bin[filepath.Base(c.NPM)].(string)
		for _, other := range bin {
			if file == "" {
				file, _ = other.(string)
			}
		}
		return []string{"node", filepath.Join(dir, file)}
	}
	t.Fatalf("%s has no program: %v", c.NPM, m.Bin)
	return nil
}

// compareReadOnly compares what a server says of its tools with what its preset does. A preset
// may name tools of other versions, and need not believe each that says it only reads.
func compareReadOnly(t *testing.T, p *presets.Preset, list json.RawMessage) {
	t.Helper()
	tools := listedTools(t, list)
	listed := 0
	for _, tool := range tools {
		if slices.Contains(p.ReadOnly, tool.Name) {
			listed++
		}
		if hint := tool.Annotations.ReadOnlyHint; hint != nil && !*hint && slices.Contains(p.ReadOnly, tool.Name) {
			t.Errorf("%s says that it does not only read", tool.Name)
		}
	}
	if listed == 0 && len(p.ReadOnly) > 0 {
		t.Errorf("no tool of the preset's read_only is listed: %s", list)
	}
}

type listedTool struct {
	Name        string
	Annotations struct{ ReadOnlyHint *bool }
}

// listedTools returns the tools of an answer to tools/list. The test fails if there is none.
func listedTools(t *testing.T, list json.RawMessage) []listedTool {
	t.Helper()
	var r struct{ Tools []listedTool }
	must(t, json.Unmarshal(list, &r))
	if len(r.Tools) == 0 {
		t.Errorf("no tool is listed: %s", list)
	}
	return r.Tools
}
