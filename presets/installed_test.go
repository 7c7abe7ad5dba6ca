package presets

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestInstalledServers starts the servers of testdata/npm that have a preset, with nothing in
// their environment but what the preset forwards, and placeholders for its secrets. Each has
// to list its tools, to say that those of read_only read, and of no others, and to be of a
// version that the preset names.
func TestInstalledServers(t *testing.T) {
	modules := filepath.Join(os.Getenv("MCPJAIL_SERVERS"), "node_modules")
	node, err := exec.LookPath("node")
	if err != nil || os.Getenv("MCPJAIL_SERVERS") == "" {
		testkit.Skip(t, "servers", "MCPJAIL_SERVERS names no installed servers, or there is no node (%v)", err)
	}
	started := 0
	for _, p := range all(t) {
		for _, pkg := range p.Packages {
			dir := filepath.Join(modules, filepath.FromSlash(pkg.Name))
			if _, err := os.Stat(dir); pkg.Ecosystem != NPM || err != nil {
				continue
			}
			started++
			t.Run(p.Name, func(t *testing.T) {
				t.Parallel()
				program, version := manifest(t, dir)
				if !slices.Contains(pkg.Versions, version) {
					t.Errorf("%s is %s, and the preset was seen to fit %v: see whether it still does, and add the version", pkg.Name, version, pkg.Versions)
				}
				compareTools(t, p, listTools(t, p, node, filepath.Join(dir, program)))
			})
		}
	}
	if started < 6 {
		t.Errorf("%d servers were started", started)
	}
}

// manifest returns the program and the version of an installed package.
func manifest(t *testing.T, dir string) (program, version string) {
	data, err := os.ReadFile(filepath.Join(dir, "package.json"))
	var m struct {
		Version string
		Bin     map[string]string
	}
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	if err != nil || len(m.Bin) != 1 {
		t.Fatalf("%v, programs %v", err, m.Bin)
	}
	return slices.Collect(maps.Values(m.Bin))[0], m.Version
}

type listedTool struct {
	Name        string
	Annotations struct{ ReadOnlyHint *bool }
}

// listTools starts a server as its preset would have it, and returns what it lists.
func listTools(t *testing.T, p *Preset, node, program string) []listedTool {
	cmd := exec.CommandContext(t.Context(), node, program)
	for _, a := range p.Arguments {
		switch {
		case a.Kind == database && a.Required:
			cmd.Args = append(cmd.Args, "postgresql://localhost/x")
		case a.Kind == directory && a.Rest:
			cmd.Args = append(cmd.Args, t.TempDir())
		}
	}
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
	for _, r := range p.Server.Variables {
		cmd.Env = append(cmd.Env, r.Name+"=x")
	}
	for _, r := range p.rules() {
		for _, s := range r.Secrets {
			cmd.Env = append(cmd.Env, s.Env+"="+policy.Placeholder(s.Env))
		}
	}
	in := testkit.Get(cmd.StdinPipe())(t)
	out := testkit.Get(cmd.StdoutPipe())(t)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	testkit.Must(t, cmd.Start())
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	fmt.Fprintln(in, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"roots":{}},"clientInfo":{"name":"test","version":"1"}}}`)
	fmt.Fprintln(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	fmt.Fprintln(in, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Result struct{ Tools []listedTool }
		}
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			t.Fatalf("%v in %q", err, lines.Text())
		}
		if m.Method == "" && string(m.ID) == "2" {
			return m.Result.Tools
		}
		if m.Method == "roots/list" {
			fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%s,"result":{"roots":[]}}`+"\n", m.ID)
		}
	}
	t.Fatalf("no list of tools: %v\n%s", lines.Err(), stderr.String())
	return nil
}

// compareTools compares what a server says of its tools with what the preset does. A server
// that says nothing of any tool contradicts nothing.
func compareTools(t *testing.T, p *Preset, tools []listedTool) {
	for _, name := range p.ReadOnly {
		listed := slices.ContainsFunc(tools, func(l listedTool) bool { return l.Name == name })
		if !listed && name != "get-roots-list" { // that one comes once the client's roots are known
			t.Errorf("there is no tool %s", name)
		}
	}
	for _, tool := range tools {
		if hint := tool.Annotations.ReadOnlyHint; hint != nil && *hint != slices.Contains(p.ReadOnly, tool.Name) {
			t.Errorf("%s says readOnlyHint = %t", tool.Name, *hint)
		}
	}
}
