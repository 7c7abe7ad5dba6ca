//go:build linux

package conformance

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// A suite is a version of the official conformance suite.
type suite struct {
	name    string
	program string // below node_modules
	args    []string
	servers []string
}

// suites are the released version and the one for 2026-07-28, which is not released yet.
// The server of the Go SDK implements all that they test. The other servers fail many
// checks, and then the failures must be the same.
var suites = []suite{
	{"released", "@modelcontextprotocol/conformance/dist/index.js", []string{"--suite", "all"}, []string{"go-sdk", "odd", "mcp-go"}},
	{"2026-07-28", "conformance-2026/dist/index.js", []string{"--suite", "all"}, []string{"go-sdk", "odd"}},
}

// TestSuite runs the official conformance suite through the bridge.
func TestSuite(t *testing.T) {
	needsLong(t)
	s := here(t)
	for _, su := range suites {
		for _, name := range su.servers {
			sv := serverNamed(t, name)
			t.Run(su.name+"/"+name, func(t *testing.T) {
				t.Parallel()
				want, got := verdicts(t, s, su, sv, plain), verdicts(t, s, su, sv, jailed)
				if faults := compareVerdicts(want, got); len(faults) > 0 {
					t.Error(strings.Join(faults, "\n"))
				}
				n, passed := 0, 0
				for _, list := range want {
					n += len(list)
					for _, v := range list {
						if v.Status == "SUCCESS" {
							passed++
						}
					}
				}
				t.Logf("%d of %d verdicts are a success", passed, n)
				// A broken bridge gives verdicts too.
				if name == "go-sdk" && passed*2 < n {
					t.Error("the suite is not for this server, or the bridge does not work")
				}
				results.add(t, "suite", su.name+", "+name, tally{sessions: len(want), verdicts: n})
			})
		}
	}
}

// A verdict is the result of one check.
type verdict struct {
	ID           string `json:"id"`
	Status       string `json:"status"`
	ErrorMessage string `json:"errorMessage"`
}

// verdicts runs the suite against one side, and returns its verdicts by scenario.
func verdicts(t *testing.T, s *site, su suite, sv server, how side) map[string][]verdict {
	t.Helper()
	bridge := s.command(append([]string{filepath.Join(s.bin, "bridge")}, how(s, sv)...)...)
	in, err := bridge.StdinPipe()
	must(t, err)
	out, err := bridge.StdoutPipe()
	must(t, err)
	must(t, bridge.Start())
	defer bridge.Wait()
	defer in.Close()
	address, err := bufio.NewReader(out).ReadString('\n')
	must(t, err)

	dir := t.TempDir()
	args := append([]string{filepath.Join(s.modules, su.program), "server", "--url", strings.TrimSpace(address), "--output-dir", dir}, su.args...)
	cmd := s.command(append([]string{s.node}, args...)...)
	cmd.WaitDelay = time.Second
	stop := time.AfterFunc(patience, func() { cmd.Process.Kill() })
	defer stop.Stop()
	printed, err := cmd.CombinedOutput()
	var exit *exec.ExitError // if scenarios fail
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(dir, "server-*", "checks.json"))
	must(t, err)
	if len(files) == 0 || !strings.Contains(string(printed), "=== SUMMARY ===") {
		t.Fatalf("the suite did not come to an end: %s", printed)
	}
	found := map[string][]verdict{}
	for _, file := range files {
		b, err := os.ReadFile(file)
		must(t, err)
		var list []verdict
		must(t, json.Unmarshal(b, &list))
		found[scenario(filepath.Base(filepath.Dir(file)))] = list
	}
	return found
}

// scenario returns the name of a directory of results without the time.
func scenario(dir string) string {
	if i := len(dir) - len("-2006-01-02T15-04-05-000Z"); i > 0 {
		return dir[:i]
	}
	return dir
}

func compareVerdicts(want, got map[string][]verdict) (faults []string) {
	names := map[string]bool{}
	for name := range want {
		names[name] = true
	}
	for name := range got {
		names[name] = true
	}
	for name := range names {
		w, g := want[name], got[name]
		for i := range max(len(w), len(g)) {
			switch {
			case i >= len(w):
				faults = append(faults, fmt.Sprintf("%s: %s %s, which was not there", name, g[i].ID, g[i].Status))
			case i >= len(g):
				faults = append(faults, fmt.Sprintf("%s: %s is missing", name, w[i].ID))
			case w[i].ID != g[i].ID || w[i].Status != g[i].Status:
				faults = append(faults, fmt.Sprintf("%s: %s %s, want %s %s: %s", name, g[i].ID, g[i].Status, w[i].ID, w[i].Status, g[i].ErrorMessage+w[i].ErrorMessage))
			}
		}
	}
	slices.Sort(faults)
	return faults
}

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
