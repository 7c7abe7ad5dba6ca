//go:build linux

package conformance

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// inspections are the commands of the Inspector for each server. The servers have different
// tools.
var inspections = map[string][][]string{
	"everything": {{"tools/call", "--tool-name", "echo", "--tool-arg", "message=ünïcode 🙂"}, {"prompts/get", "--prompt-name", "args-prompt", "--prompt-args", "city=Zürich"}},
	"filesystem": {{"tools/call", "--tool-name", "read_text_file", "--tool-arg", "path=plain.txt"}},
	"mcp-go":     {{"tools/call", "--tool-name", "add", "--tool-arg", "a=1", "b=2.5"}, {"resources/read", "--uri", "test://static/resource/2"}},
	"notes":      {{"tools/call", "--tool-name", "search", "--tool-arg", "query=beans"}},
	"go-sdk":     {{"tools/call", "--tool-name", "test_multiple_content_types"}, {"prompts/get", "--prompt-name", "test_prompt_with_image"}},
	"odd":        {{"tools/call", "--tool-name", "odd", "--tool-arg", "form=escapes"}, {"tools/call", "--tool-name", "refuse"}, {"resources/read", "--uri", "odd://2"}},
}

var inspectedAll = [][]string{{"tools/list"}, {"resources/list"}, {"prompts/list"}, {"resources/templates/list"}}

// TestInspector compares the output of the Inspector's command line.
func TestInspector(t *testing.T) {
	needsLong(t)
	s := here(t)
	for _, sv := range servers {
		for _, method := range append(inspectedAll, inspections[sv.name]...) {
			t.Run(sv.name+"/"+strings.Join(method, " "), func(t *testing.T) {
				t.Parallel()
				want, got := inspect(t, s, sv, plain, method), inspect(t, s, sv, jailed, method)
				if !bytes.Equal(want.stdout, got.stdout) {
					t.Error(difference(want.stdout, got.stdout))
				}
				if want.status != got.status {
					t.Errorf("exit status %d, want %d", got.status, want.status)
				}
				if len(want.stdout) == 0 && want.status == 0 {
					t.Error("the Inspector printed nothing")
				}
				results.add(t, "inspector", sv.name, tally{sessions: 1, bytes: len(want.stdout)})
			})
		}
	}
}

// inspect runs one command of the Inspector. The server is in a configuration file.
func inspect(t *testing.T, s *site, sv server, how side, method []string) *replay {
	t.Helper()
	argv := how(s, sv)
	b, err := json.Marshal(map[string]any{"mcpServers": map[string]any{sv.name: map[string]any{
		"type": "stdio", "command": argv[0], "args": argv[1:], "cwd": s.work,
	}}})
	must(t, err)
	config := filepath.Join(t.TempDir(), "servers.json")
	must(t, os.WriteFile(config, b, 0o644))
	cli := filepath.Join(s.modules, "@modelcontextprotocol/inspector/clients/launcher/build/index.js")
	cmd := s.command(append([]string{s.node, cli, "--cli", "--config", config, "--server", sv.name, "--method"}, method...)...)
	cmd.Env = append(cmd.Env[:len(cmd.Env):len(cmd.Env)], "MCP_INSPECTOR_SECRET_STORE=memory", "NO_COLOR=1")
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	if exit != nil {
		t.Logf("%s", clip(exit.Stderr))
	}
	return &replay{stdout: out, status: cmd.ProcessState.ExitCode()}
}
