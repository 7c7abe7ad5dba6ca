//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy/config"
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
	if !got.IsError || !named && (why.Attribution != "certain" || !strings.Contains(why.Cause, "looking up a host")) {
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
