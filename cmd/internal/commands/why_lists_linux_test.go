package commands

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/clients/edit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// whyLists are files of clients with a server behind mcp-jail. OLD is its list.
var whyLists = []struct{ name, file, text, old, back string }{
	{"Codex", ".codex/config.toml", "[mcp_servers.notes]\ncommand = \"/opt/mcp-jail\"\nOLD # mine\nenv = {A = \"b\"}\n",
		"args = [\n  \"run\", \"--id\", \"notes-4k7q2m9x3vt5\", # jail\n  \"--\",\n  \"node\", \"it's \\\"s\\\".js\",\n]", "args = [\"it's \\\"s\\\".js\"]"},
	{"Goose", ".config/goose/config.yaml", "extensions:\n  notes:\n    type: stdio\n    cmd: /opt/mcp-jail\n    OLD\n    enabled: true\n",
		"args:\n      - run\n      - --id\n      - notes-4k7q2m9x3vt5\n      - \"--\"\n      - node\n      - it's \"s\".js", "args: [\"it's \\\"s\\\".js\"]"},
	{"Continue", ".continue/config.yaml", "mcpServers:\n  - name: notes\n    command: /opt/mcp-jail\n    OLD\n",
		"args: [run, --id, notes-4k7q2m9x3vt5, \"--\", node, it's \"s\".js]", "args: [\"it's \\\"s\\\".js\"]"},
	{"Cursor", ".cursor/mcp.json", "{\"mcpServers\": {\"notes\": {\"command\": \"/opt/mcp-jail\",\n  OLD,\n  \"env\": {\"A\": \"b\"}}}}\n",
		"\"args\": [\"run\", \"--id\", \"notes-4k7q2m9x3vt5\",\n    \"--\", \"node\", \"it's \\\"s\\\".js\"]", "\"args\": [\"it's \\\"s\\\".js\"]"},
	{"OpenCode", ".config/opencode/opencode.json", "{\"mcp\": {\"notes\": {\"type\": \"local\", \"enabled\": true,\n  OLD\n}}}\n",
		"\"command\": [\"/opt/mcp-jail\", \"run\", \"--id\", \"notes-4k7q2m9x3vt5\", \"--\", \"node\", \"it's \\\"s\\\".js\"]", "\"command\": [\"node\", \"it's \\\"s\\\".js\"]"},
}

// TestWhyLists: why prints a server's new arguments in the form of its client's file. What is
// pasted there is read, and unwrap takes it out again.
func TestWhyLists(t *testing.T) {
	for _, c := range whyLists {
		t.Run(c.name, func(t *testing.T) {
			clientHome(t, map[string]string{c.file: strings.Replace(c.text, "OLD", c.old, 1)})
			keepLine(t, "notes-4k7q2m9x3vt5", []string{"--read", "'/a b'"}, "/opt/mcp-jail", "run", "--id", "notes-4k7q2m9x3vt5", "--read", "/a b", "--", "node", `it's "s".js`)
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

// keepLine records a failure of a server. flags would mend it, and line is the command line that
// has them.
func keepLine(t *testing.T, server string, flags []string, line ...string) {
	t.Helper()
	host, err := hostfs.LocalHost()
	if err != nil {
		t.Fatal(err)
	}
	r := records.New(host, server)
	r.Save(diagnostics.Record{Server: server, Diagnoses: []diagnostics.Diagnosis{{What: "it failed", Cause: "c", Attribution: diagnostics.Certain, Line: line, Flags: flags}}})
	if err := r.LastError(); err != nil {
		t.Fatal(err)
	}
}

// keepAbout writes the About of a server: its command and its client.
func keepAbout(t *testing.T, server, client string, command ...string) {
	t.Helper()
	host, err := hostfs.LocalHost()
	if err != nil {
		t.Fatal(err)
	}
	text, _ := json.Marshal(records.About{Command: command, Client: records.Client{Name: client}})
	testkit.WriteFile(t, filepath.Join(records.Path(host, server), "about.json"), string(text))
}

// clientHome makes a home with files of clients, for the test to run in.
func clientHome(t *testing.T, files map[string]string) {
	t.Helper()
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("XDG_STATE_HOME", "")
	t.Setenv("HOME", t.TempDir())
	t.Chdir(os.Getenv("HOME"))
	for file, text := range files {
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		testkit.WriteFile(t, file, text)
	}
}

// TestWhyListsNow: the arguments that why proposes begin with those that the file of the client
// has now.
func TestWhyListsNow(t *testing.T) {
	entry := func(flags string) string {
		return `{"mcpServers": {"notes": {"command": "/opt/mcp-jail", "args": ["run", "--id", "notes-4k7q2m9x3vt5", ` + flags + `"--", "node", "s.js"]}}}`
	}
	for _, tt := range []struct{ name, file, want, not string }{
		{"a grant was removed", entry(`"--read", "/own", `), `"--id", "notes-4k7q2m9x3vt5", "--read", "/own", "--read", "~/more", "--", "node"`, "/gone"},
		{"the default", entry(``), `"--id", "notes-4k7q2m9x3vt5", "--write", ".", "--read", "~/more", "--", "node"`, "/gone"},
		{"the grant was pasted", entry(`"--read", "~/more/", `), "granted by now for Cursor (~/.cursor/mcp.json, line 1): the next session has it. Switch the server off and on", "args"},
		{"more was granted", entry(`"--write", "HOME/more", `), "granted by now for Cursor", "args"},
		{"other arguments", strings.Replace(entry(``), "s.js", "t.js", 1), `"--write", ".", "--read", "~/more", "--", "node", "t.js"`, "s.js"},
		{"a secret", strings.Replace(entry(``), "s.js", "--token\", \"abcdefgh", 1), "before the \"--\" of the list args, which has a secret and is not shown:\n\n\"--write\", \".\", \"--read\", \"~/more\",\n", "abcdefgh"},
		{"the value of a variable", strings.Replace(strings.Replace(entry(``), "s.js", "--x=abcdefgh", 1), `"command"`, `"env": {"A": "abcdefgh"}, "command"`, 1), "not shown:\n\n\"--write\", \".\", \"--read\", \"~/more\",\n", "abcdefgh"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			clientHome(t, map[string]string{".cursor/mcp.json": tt.file})
			testkit.WriteFile(t, ".cursor/mcp.json", strings.ReplaceAll(tt.file, "HOME", os.Getenv("HOME")))
			keepLine(t, "notes-4k7q2m9x3vt5", []string{"--read", "~/more"}, "/opt/mcp-jail", "run", "--id", "notes-4k7q2m9x3vt5", "--read", "/gone", "--read", "~/more", "--", "node", "s.js")
			keepAbout(t, "notes-4k7q2m9x3vt5", "", "node", "s.js")
			text, status := said(t, "why", "notes")
			if status != 0 || !strings.Contains(strings.Join(strings.Fields(text), " "), strings.Join(strings.Fields(tt.want), " ")) || strings.Contains(text, tt.not) {
				t.Errorf("status %d, want %s and not %s:\n%s", status, tt.want, tt.not, text)
			}
		})
	}
}

// TestWhyListsOrder: the file of the client of the last session comes first. An entry with
// another command counts only if none has the command of the session. Without an entry, the
// client decides.
func TestWhyListsOrder(t *testing.T) {
	args := func(name, script string) string {
		return `["run", "--id", "` + name + `-4k7q2m9x3vt5", "--", "node", "` + script + `"]`
	}
	json := func(name, script string) string {
		return `{"mcpServers": {"notes": {"command": "/opt/mcp-jail", "args": ` + args(name, script) + `}}}`
	}
	toml := func(name, script string) string {
		return "[mcp_servers.notes]\ncommand = \"/opt/mcp-jail\"\nargs = " + args(name, script) + "\n"
	}
	const cursor, codex = ".cursor/mcp.json", ".codex/config.toml"
	for _, tt := range []struct {
		name, client string
		files        map[string]string
		want         []string // in this order
		not          string
	}{
		{"Codex was last", "codex-mcp-client", map[string]string{cursor: json("notes", "s.js"), codex: toml("notes", "s.js")}, []string{"for Codex (~/.codex", "args = [", "for Cursor (~/.cursor", `"args": [`}, ""},
		{"Cursor was last", "cursor-vscode", map[string]string{cursor: json("notes", "s.js"), codex: toml("notes", "s.js")}, []string{"for Cursor (~/.cursor", `"args": [`, "for Codex (~/.codex", "args = ["}, ""},
		{"another server has the name", "codex-mcp-client", map[string]string{cursor: json("notes", "s.js"), codex: toml("notes", "t.js")}, []string{"for Cursor (~/.cursor", `"args": [`}, "Codex"},
		{"another name", "codex-mcp-client", map[string]string{cursor: json("other", "s.js")}, []string{"for Codex, in place of", "args = ["}, "Cursor"},
		{"no entry, Codex", "codex-mcp-client", nil, []string{"for Codex, in place of", "args = ["}, `"args"`},
		{"no entry, Cursor", "cursor-vscode", nil, []string{"for Cursor, in place of", `"args": [`}, "args = ["},
		{"no entry, no client", "", nil, []string{"for a client's file of JSON, in place of", `"args": [`}, "args = ["},
		{"a project's file", "", map[string]string{".mcp.json": json("notes", "s.js")}, []string{"for a client's file of JSON"}, "Claude"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			clientHome(t, tt.files)
			keepLine(t, "notes-4k7q2m9x3vt5", []string{"--read", "/a"}, "/opt/mcp-jail", "run", "--id", "notes-4k7q2m9x3vt5", "--read", "/a", "--", "node", "s.js")
			keepAbout(t, "notes-4k7q2m9x3vt5", tt.client, "node", "s.js")
			text, status := said(t, "why", "notes-4k7q2m9x3vt5")
			rest, ok := text, true
			for _, want := range tt.want {
				_, rest, ok = strings.Cut(rest, want)
				if !ok || status != 0 {
					t.Fatalf("status %d, want %q:\n%s", status, tt.want, text)
				}
			}
			if tt.not != "" && strings.Contains(text, tt.not) {
				t.Errorf("it has %s:\n%s", tt.not, text)
			}
		})
	}
}

// TestWhyListsEscape: every word of a list is read as it was, in the form of each file. JSON and
// TOML escape some letters in different ways.
func TestWhyListsEscape(t *testing.T) {
	word := "it's \"s\" \\ / \x7f \u202e \u2028 \U000e0041 \U0001f600 \t é.js"
	for _, tt := range []struct{ client, file, open, close string }{
		{"cursor-vscode", "a.json", "{", "}"},
		{"codex-mcp-client", "a.toml", "", ""},
		{"goose", "a.yaml", "", ""},
	} {
		t.Run(tt.client, func(t *testing.T) {
			clientHome(t, nil)
			keepLine(t, "notes-4k7q2m9x3vt5", []string{"--read", "/a"}, "/opt/mcp-jail", "run", "--id", "notes-4k7q2m9x3vt5", "--read", "/a", "--", "node", word)
			keepAbout(t, "notes-4k7q2m9x3vt5", tt.client, "node", word)
			text, _ := said(t, "why", "notes")
			for line := range strings.Lines(text) {
				if !strings.Contains(line, "args") || !strings.Contains(line, "[") {
					continue
				}
				f, err := edit.Parse(edit.FormatOf(tt.file), []byte(tt.open+line+tt.close))
				if err != nil {
					t.Fatalf("%v: %s", err, line)
				}
				value, _, _ := f.Lookup("args")
				if list, _ := value.([]any); len(list) != 8 || list[7] != any(word) {
					t.Errorf("%q", list)
				}
				return
			}
			t.Errorf("no list:\n%s", text)
		})
	}
}

// TestOddPath: a path with letters that do not print, or with the words of a heading, is quoted.
func TestOddPath(t *testing.T) {
	for dir, want := range map[string]string{
		"a b é":                     "~/a b é/config.toml",
		"a\x1b[31m\n+\u202eb":       `"~/a\x1b[31m\n+\u202eb/config.toml"`,
		"a, line 1), in place of":   `"~/a, line 1), in place of/config.toml"`,
		"a\xffb":                    `"~/a\xffb/config.toml"`,
		`a"b`:                       `"~/a\"b/config.toml"`,
		"a" + string(rune(0xe0041)): `"~/a\U000e0041/config.toml"`,
	} {
		clientHome(t, map[string]string{dir + "/config.toml": "[mcp_servers.notes]\ncommand = \"/opt/mcp-jail\"\nargs = [\"run\", \"--id\", \"notes-4k7q2m9x3vt5\", \"--\", \"s\"]\n"})
		t.Setenv("CODEX_HOME", filepath.Join(os.Getenv("HOME"), dir))
		keepLine(t, "notes-4k7q2m9x3vt5", []string{"--read", "/a"}, "/opt/mcp-jail", "run", "--id", "notes-4k7q2m9x3vt5", "--read", "/a", "--", "s")
		text, _ := said(t, "why", "notes")
		if text = strings.Join(strings.Fields(text), " "); !strings.Contains(text, "for Codex ("+want+", line 1), in place of") {
			t.Errorf("%q: %s", dir, text)
		}
		text, _ = said(t, "unwrap", "--dry-run")
		whole := strings.Replace(want, "~", os.Getenv("HOME"), 1)
		if !strings.Contains(text, "Codex  "+want+"\n") || !strings.Contains(text, "\n--- "+whole+"\n+++ "+whole+"\n") {
			t.Errorf("%q: %s", dir, text)
		}
	}
}
