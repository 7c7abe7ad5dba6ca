package commands

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// whyLists are files of clients with a server behind mcp-jail. OLD is its list.
var whyLists = []struct{ name, file, text, old, back string }{
	{"Codex", ".codex/config.toml", "[mcp_servers.notes]\ncommand = \"/opt/mcp-jail\"\nOLD # mine\nenv = {A = \"b\"}\n",
		"args = [\n  \"run\", \"--name\", \"notes\", # jail\n  \"--\",\n  \"node\", \"it's \\\"s\\\".js\",\n]", "args = [\"it's \\\"s\\\".js\"]"},
	{"Goose", ".config/goose/config.yaml", "extensions:\n  notes:\n    type: stdio\n    cmd: /opt/mcp-jail\n    OLD\n    enabled: true\n",
		"args:\n      - run\n      - --name\n      - notes\n      - \"--\"\n      - node\n      - it's \"s\".js", "args: [\"it's \\\"s\\\".js\"]"},
	{"Continue", ".continue/config.yaml", "mcpServers:\n  - name: notes\n    command: /opt/mcp-jail\n    OLD\n",
		"args: [run, --name, notes, \"--\", node, it's \"s\".js]", "args: [\"it's \\\"s\\\".js\"]"},
	{"Cursor", ".cursor/mcp.json", "{\"mcpServers\": {\"notes\": {\"command\": \"/opt/mcp-jail\",\n  OLD,\n  \"env\": {\"A\": \"b\"}}}}\n",
		"\"args\": [\"run\", \"--name\", \"notes\",\n    \"--\", \"node\", \"it's \\\"s\\\".js\"]", "\"args\": [\"it's \\\"s\\\".js\"]"},
	{"OpenCode", ".config/opencode/opencode.json", "{\"mcp\": {\"notes\": {\"type\": \"local\", \"enabled\": true,\n  OLD\n}}}\n",
		"\"command\": [\"/opt/mcp-jail\", \"run\", \"--name\", \"notes\", \"--\", \"node\", \"it's \\\"s\\\".js\"]", "\"command\": [\"node\", \"it's \\\"s\\\".js\"]"},
}

// TestWhyLists: why prints a server's new arguments in the form of its client's file. What is
// pasted there is read, and unwrap takes it out again.
func TestWhyLists(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("XDG_STATE_HOME", "")
	for _, c := range whyLists {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("HOME", t.TempDir())
			t.Chdir(os.Getenv("HOME"))
			if err := os.MkdirAll(filepath.Dir(c.file), 0o700); err != nil {
				t.Fatal(err)
			}
			testkit.WriteFile(t, c.file, strings.Replace(c.text, "OLD", c.old, 1))
			keepLine(t, "notes", "/opt/mcp-jail", "run", "--name", "notes", "--read", "/a b", "--", "node", `it's "s".js`)
			text, status := said(t, "why", "notes")
			key, _, _ := strings.Cut(c.old, "[")
			key = strings.TrimSpace(strings.Split(key, "\n")[0])
			list := ""
			for line := range strings.Lines(text) {
				if strings.HasPrefix(line, key+" [") && strings.HasSuffix(line, "]\n") {
					list = strings.TrimSpace(line)
				}
			}
			if status != 0 || list == "" || !strings.Contains(text, "for "+c.name+" (~/"+c.file+", line ") {
				t.Fatalf("status %d: %s", status, text)
			}
			testkit.WriteFile(t, c.file, strings.Replace(c.text, "OLD", list, 1))
			if text, status := said(t, "unwrap", "--yes"); status != 0 {
				t.Errorf("unwrap: %d, %s", status, text)
			}
			got, _ := os.ReadFile(c.file)
			want := strings.Replace(strings.Replace(c.text, "OLD", c.back, 1), "/opt/mcp-jail", "node", 1)
			if strings.ReplaceAll(string(got), `"node"`, "node") != strings.ReplaceAll(want, `"node"`, "node") {
				t.Errorf("after unwrap:\n%s", got)
			}
		})
	}
}

// keepLine records a failure of a server that a command line would mend.
func keepLine(t *testing.T, server string, line ...string) {
	t.Helper()
	host, err := hostfs.LocalHost()
	if err != nil {
		t.Fatal(err)
	}
	r := records.New(host, server)
	r.Save(diagnostics.Record{Server: server, Diagnoses: []diagnostics.Diagnosis{{What: "it failed", Cause: "c", Attribution: diagnostics.Certain, Line: line}}})
	if err := r.LastError(); err != nil {
		t.Fatal(err)
	}
}
