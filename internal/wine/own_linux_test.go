package wine

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestOwnEntries: the user's own entries, in a file at no client's place, with names that go around the rules
// of paths. One that mcp-jail would not start stays as it is, with the reason. Arguments of such forms reach
// the server, and no flag has one.
func TestOwnEntries(t *testing.T) {
	t.Parallel()
	h := start(t)
	dir, linux := h.newDir(t)
	server, file := h.program("server.exe"), dir+`\own.json`
	left := map[string]string{
		"long": `\\?\` + server, "device": `\\.\` + server, "con": "CON", "nul": dir + `\nul`, "share": `\\evil\share\x.exe`, "stream": server + `::$DATA`, "dot": server + ".", "short": `C:\PROGRA~1\x.exe`,
	}
	args, err := json.Marshal([]string{`\\?\` + dir, `\\.\pipe\x`, `\\evil\share`, dir + `\a:b`, "CON", "aux.txt", dir + `\x.`})
	testkit.Must(t, err)
	entries := []string{`"args": {"command": ` + quoted(server) + `, "args": ` + string(args) + `}`}
	for name, program := range left {
		entries = append(entries, quoted(name)+`: {"command": `+quoted(program)+`}`)
	}
	h.write(t, file, `{"mcpServers": {`+strings.Join(entries, ",\r\n")+`}}`)
	if r := h.jail(t, command{args: []string{"wrap", "--file", file, "--dry-run"}}); r.status != 2 {
		t.Errorf("without --client: %v", r)
	} else {
		r.says(t, "say which client's form it has: --client NAME")
	}
	r := h.jail(t, command{args: []string{"wrap", "--file", file, "--client", "cursor", "--no-install", "--accept-gaps", "windows,process,limits", "--yes"}, limit: 3 * testkit.Patience})
	if r.says(t, "in a form that mcp-jail does not start on Windows", "goes around the rules of names"); r.status != 0 {
		t.Fatal(r)
	}
	var client struct {
		Servers map[string]struct {
			Command string
			Args    []string
		} `json:"mcpServers"`
	}
	text, err := os.ReadFile(filepath.Join(linux, "own.json"))
	testkit.Must(t, err)
	testkit.Must(t, json.Unmarshal(text, &client))
	for name, program := range left {
		if e := client.Servers[name]; e.Command != program || len(e.Args) > 0 {
			t.Errorf("%s is %+v", name, e)
		}
	}
	one := client.Servers["args"]
	if one.Command != h.program("mcp-jail.exe") || slices.Contains(one.Args, "--read") {
		t.Fatalf("args is %+v", one)
	}
	s := h.talk(t, h.prepare(append([]string{one.Command}, one.Args...), command{}))
	if got := s.tool(t, "args", "{}"); got != string(args) {
		t.Errorf("the server has the arguments %s, want %s", got, args)
	}
	s.close(t)
}
