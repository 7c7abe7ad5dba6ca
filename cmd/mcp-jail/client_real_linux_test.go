package main

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	fixture "github.com/mcp-jail/mcp-jail/internal/testkit/registry"
)

// TestClientsFirstTry lets the commands of real clients list a server whose package npx would
// fetch, with mcp-jail in front and nothing installed: it is connected at the first try. On a busy
// machine a client may wait for too short a time: there are more first tries then, each in a
// world of its own. To Claude Code the server is added by the command in docs/getting-started.md.
func TestClientsFirstTry(t *testing.T) { // not beside other tests of this package: clients wait for 10 s only
	testkit.NeedsLong(t)
	const name = "@modelcontextprotocol/server-memory"
	for _, c := range realClients {
		var file, text string
		switch c.name {
		case "claude-code":
		case "codex":
			file, text = ".codex/config.toml", "[mcp_servers.memory]\ncommand = \"MCP-JAIL\"\nargs = [\"run\", \"--\", \"npx\", \"-y\", \""+name+"\"]\n"
		case "gemini":
			file, text = ".gemini/settings.json", `{"mcpServers": {"memory": {"command": "MCP-JAIL", "args": ["run", "--", "npx", "-y", "`+name+`"]}}}`
		default:
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			c.need(t)
			for begin, try := time.Now(), 1; try <= 3 || time.Since(begin) < testkit.Patience; try++ {
				w, _ := newShop(t, fixture.Stock{Packages: []fixture.Package{fixture.MCPServer{Name: name}.Package()}})
				program := w.mcpJail().Path
				if file != "" {
					w.plant(t, w.home, map[string]string{file: strings.Replace(text, "MCP-JAIL", program, 1)})
				} else {
					c.add(t, w, program)
				}
				said := c.run(t, w)
				if len(c.connected(said)) == 1 {
					t.Logf("connected in world %d", try)
					return
				}
				t.Logf("not connected in world %d:\n%s", try, said)
			}
			t.Error("no first try was connected")
		})
	}
}

// add runs the documented command that adds a server.
func (c realClient) add(t *testing.T, w *world, program string) {
	t.Helper()
	_, line, ok := strings.Cut(testkit.ReadFile(t, filepath.Join("..", "..", "docs", "getting-started.md")), "\nclaude mcp add ")
	line, _, closed := strings.Cut(line, "\n")
	if !ok || !closed {
		t.Fatal("docs/getting-started.md has no such command any more")
	}
	adding := c
	adding.command = []string{c.command[0], "mcp", "add"}
	adding.arguments = strings.Fields(strings.Replace(line, "-- mcp-jail ", "-- "+program+" ", 1))
	w.plant(t, w.work, map[string]string{".keep": ""})
	if out := adding.run(t, w); !strings.Contains(out, "memory") {
		t.Fatalf("claude mcp add: %s", out)
	}
}

// realClient is a client in testdata/clients, which has a command that starts its servers.
type realClient struct {
	name      string                         // as package clients has it; its files are NAME.txtar in testdata/clients
	command   []string                       // the first words are files of the installed packages; "ARCH" and "NODE" are replaced
	arguments []string                       // behind the command, as they are
	env       []string                       // beyond the usual
	temp      string                         // the variable for its temporary files, where that is not TMPDIR: it would leave them in /tmp
	session   bool                           // the command is a server that answers on stdin, see appServer
	connected func(string) map[string]string // the servers that it says are connected, with the command line if it says that
	greets    string                         // the name that the command sends; "" for its own
	more      []string                       // servers beyond shelf and index
	kills     bool                           // it kills the processes of its servers, and not only the one that it has started
	crlf      bool                           // its files have such line ends
	optional  bool                           // only in make test-long
}

// realClients are the clients that can be had from npm and start their servers without an
// account or a model, by a command that says which are connected.
//
// Not here are: Copilot CLI, Cline and Continue, whose commands print their files and start no
// server; Crush, whose package fetches the program from elsewhere; Goose, JP, Kiro CLI, Amazon
// Q and Junie, which are not on npm or have no package that works alone; and the editors and
// desktop applications: Claude Desktop, Cursor, VS Code, Windsurf, Zed, Roo Code, LM Studio,
// Warp.
var realClients = []realClient{
	{
		name: "gemini", command: []string{"NODE", "@google/gemini-cli/bundle/gemini.js", "mcp", "list"},
		env:       []string{"GEMINI_CLI_TRUST_WORKSPACE=true"}, // it starts no servers in directories that it does not trust
		connected: lines(`^✓ (.+?): (.+) \(stdio\) - Connected$`), greets: "mcp-test-client", crlf: true,
	},
	{
		name: "qwen", command: []string{"NODE", "@qwen-code/qwen-code/cli.js", "mcp", "list"},
		connected: lines(`^✓ (.+?): (.+) \(stdio\) - Connected$`), greets: "mcp-test-client", optional: true,
	},
	{
		name: "claude-code", command: []string{"@anthropic-ai/claude-code-linux-ARCH/claude", "mcp", "list"},
		env:       []string{"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1"},
		temp:      "CLAUDE_CODE_TMPDIR",
		connected: lines(`^(.+?): (.+) - ✔ Connected$`), more: []string{"own of the project"}, optional: true,
	},
	{
		name: "codex", command: []string{"codex-linux-ARCH/vendor/TRIPLE/bin/codex", "app-server"}, session: true,
		connected: codexStatus, optional: true,
	},
	{
		name: "opencode", command: []string{"opencode-linux-ARCH/bin/opencode", "mcp", "list"},
		env:       []string{"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1"},
		connected: lines(`^●  ✓ (.+) connected\s*\n│\s+(.+)$`), kills: true, optional: true,
	},
	{
		name: "kilo", command: []string{"@kilocode/cli-linux-ARCH/bin/kilo", "mcp", "list"},
		env:       []string{"KILO_DISABLE_AUTOUPDATE=1", "KILO_DISABLE_MODELS_FETCH=1"},
		connected: lines(`^●  ✓ (.+) connected\s*\n│\s+(.+)$`), kills: true, optional: true,
	},
}

// due reports whether this run of the tests has the client.
func (c realClient) due() bool {
	return testkit.Long() || !c.optional
}

// need skips the test if the client is not installed.
func (c realClient) need(t *testing.T) {
	t.Helper()
	dir := os.Getenv("MCPJAIL_CLIENTS")
	if dir == "" {
		testkit.Skip(t, "clients", "MCPJAIL_CLIENTS does not name a directory with the clients of testdata/clients; make test installs them")
	}
	for _, word := range c.argv() {
		if filepath.IsAbs(word) && !pathExists(word) {
			testkit.Skip(t, "clients", "%s is not installed: there is no %s", c.name, word)
		}
	}
}

// argv returns the command line of the client.
func (c realClient) argv() (argv []string) {
	arch, triple := "x64", "x86_64-unknown-linux-musl"
	if runtime.GOARCH == "arm64" {
		arch, triple = "arm64", "aarch64-unknown-linux-musl"
	}
	node, err := exec.LookPath("node")
	if own := filepath.Join(os.Getenv("MCPJAIL_CLIENTS"), "node_modules", "node-linux-"+arch, "bin", "node"); pathExists(own) || err != nil {
		node = own // Qwen needs a newer one than Debian has
	}
	for _, word := range c.command {
		switch {
		case word == "NODE":
			word = node
		case strings.Contains(word, "/"):
			word = filepath.Join(os.Getenv("MCPJAIL_CLIENTS"), "node_modules", strings.NewReplacer("ARCH", arch, "TRIPLE", triple).Replace(word))
		}
		argv = append(argv, word)
	}
	return append(argv, c.arguments...)
}

// run runs the client's command, and returns what it prints.
func (c realClient) run(t *testing.T, w *world) string {
	t.Helper()
	if c.session {
		cmd, _ := c.cmd(t, w)
		return appServer(t, cmd)
	}
	out, err := c.try(t, w)
	if err != nil {
		t.Errorf("%s: %v: %s", strings.Join(c.argv(), " "), err, out)
	}
	return out
}

// try runs the client's command, and returns what it prints.
func (c realClient) try(t *testing.T, w *world) (string, error) {
	t.Helper()
	cmd, stderr := c.cmd(t, w)
	out, err := cmd.Output()
	return escapes.ReplaceAllString(string(out)+stderr.String(), ""), err // Gemini prints the list to stderr
}

// cmd returns the client's command, which reaches no host but this one.
func (c realClient) cmd(t *testing.T, w *world) (*exec.Cmd, *lockedBuffer) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), testkit.Patience)
	t.Cleanup(cancel)
	argv := c.argv()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Dir, cmd.WaitDelay = w.work, 5*time.Second
	cmd.Env = append(w.env[:len(w.env):len(w.env)], "NO_COLOR=1", "HTTP_PROXY=http://127.0.0.1:1", "HTTPS_PROXY=http://127.0.0.1:1", "NO_PROXY=127.0.0.1,localhost")
	cmd.Env = append(cmd.Env, c.env...)
	if c.temp != "" {
		dir := filepath.Join(w.base, "temp")
		must(t, os.MkdirAll(dir, 0o700))
		cmd.Env = append(cmd.Env, c.temp+"="+dir)
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stderr := &lockedBuffer{}
	cmd.Stderr = stderr
	return cmd, stderr
}

// escapes are the colours of a terminal.
var escapes = regexp.MustCompile(`\x1b\[[0-9;]*m`)

// lines finds the servers in what a command prints. The pattern has the name, and what it
// starts.
func lines(pattern string) func(string) map[string]string {
	line := regexp.MustCompile(`(?m)` + pattern)
	return func(out string) map[string]string {
		found := map[string]string{}
		for _, m := range line.FindAllStringSubmatch(out, -1) {
			found[m[1]] = m[2]
		}
		return found
	}
}

// appServer asks Codex's server for applications for the status of the MCP servers, and
// returns the answer.
func appServer(t *testing.T, cmd *exec.Cmd) (answer string) {
	t.Helper()
	in, err := cmd.StdinPipe()
	must(t, err)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	_, err = in.Write([]byte(`{"id":1,"method":"initialize","params":{"clientInfo":{"name":"mcp-jail-test","version":"1"}}}
{"method":"initialized"}
{"id":2,"method":"mcpServerStatus/list","params":{}}
`))
	must(t, err)
	read := bufio.NewReader(out)
	for answer == "" {
		line, err := read.ReadString('\n')
		if strings.HasPrefix(line, `{"id":2,`) {
			answer = line
		}
		if err != nil {
			break
		}
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("%s: %v: %s", cmd, err, cmd.Stderr)
	}
	return answer
}

// codexStatus finds the servers in the answer of Codex. It does not say what it starts.
func codexStatus(answer string) map[string]string {
	var status struct {
		Result struct {
			Data []struct {
				Name  string
				Tools map[string]any
			}
		}
	}
	json.Unmarshal([]byte(answer), &status) // without servers the test fails
	found := map[string]string{}
	for _, s := range status.Result.Data {
		if len(s.Tools) > 0 {
			found[s.Name] = ""
		}
	}
	return found
}
