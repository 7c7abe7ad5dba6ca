package wine

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestWrap: the files of clients where Windows has them. wrap changes the line of a server and no
// other byte, with the ends of lines and the mark at the beginning as they were. A client that does
// what the file then says has a session. unwrap gives each file its bytes again.
func TestWrap(t *testing.T) {
	t.Parallel()
	h := start(t)
	const mark = "\ufeff"
	entry := `"one": {` + "\r\n\t\t\t" + `"command": ` + quoted(h.program("server.exe")) + `, "args": ["a b\\", "q\"r", "ä"], "env": {"GIVEN": "x y"}` + "\r\n\t\t}"
	files := map[string]struct{ path, content string }{
		"claude-desktop": {`AppData\Roaming\Claude\claude_desktop_config.json`, mark + "{\r\n\t\"mcpServers\": {\r\n\t\t" + entry + "\r\n\t},\r\n\t\"other\":  [1,2 ]\r\n}\r\n"},
		"vscode":         {`AppData\Roaming\Code\User\mcp.json`, "{\r\n\t// a comment\r\n\t\"servers\": {\r\n\t\t" + entry + ",\r\n\t},\r\n}"},
		"zed":            {`AppData\Roaming\Zed\settings.json`, "{\r\n\t\"context_servers\": {\r\n\t\t" + entry + "\r\n\t}\n}\r\n\r\n"},
		"codex":          {`.codex\config.toml`, mark + "# mine\r\n[mcp_servers.one] # it\r\ncommand = '" + h.program("server.exe") + "'\r\nargs = ['a b\\', 'q\"r', \"ä\"]\r\nenv = { GIVEN = \"x y\" }\r\n"},
		"goose":          {`AppData\Roaming\Block\goose\config\config.yaml`, mark + "# mine\r\nextensions:\r\n  one: # it\r\n    type: stdio\r\n    cmd: '" + h.program("server.exe") + "'\r\n    args:\r\n      - 'a b\\'\r\n      - q\"r\r\n    envs: {GIVEN: x y}\r\n    enabled: true\r\n"},
		"cursor":         {`.cursor\mcp.json`, mark + strings.ReplaceAll("{\r\n\t\"mcpServers\": {\r\n\t\t"+entry+"\r\n\t}\r\n}\r\n", "\r\n", "\n")},
	}
	for name, file := range files {
		h.write(t, h.home+`\`+file.path, file.content)
		files[name] = file
	}
	read := func(path string) string {
		content, err := os.ReadFile(h.linuxPath(h.home + `\` + path))
		testkit.Must(t, err)
		return string(content)
	}
	wrap := []string{"wrap", "--no-install", "--accept-gaps", "windows,process,limits"}
	r := h.jail(t, command{args: append(wrap, "--dry-run")})
	for name, file := range files {
		if r.status != 0 || read(file.path) != file.content || !strings.Contains(r.out, file.path) {
			t.Errorf("%s: --dry-run changes it, or does not name it: %v", name, r)
		}
	}
	if r := h.jail(t, command{args: append(wrap, "--yes")}); r.status != 0 {
		t.Fatal(r)
	}
	for name, file := range files {
		wrapped := read(file.path)
		begin, end := commonEnds(file.content, wrapped)
		changed, now := file.content[begin:len(file.content)-end], wrapped[begin:len(wrapped)-end]
		if !strings.Contains(file.content, "{\n") && !strings.Contains(file.content, "{\r\n") { // its lines are those of an entry
			changed, now = strings.ReplaceAll(changed, "\r\n", ""), strings.ReplaceAll(now, "\r\n", "")
		}
		if wrapped == file.content || strings.ContainsAny(changed+now, "\r\n") || strings.Contains(changed, "GIVEN") {
			t.Errorf("%s: wrap has changed %q, and the file is %q", name, changed, wrapped)
		}
	}
	h.startsAsEntered(t, read(files["claude-desktop"].path))
	if r := h.jail(t, command{args: []string{"status"}}); r.status != 0 || !strings.Contains(r.out, "6 servers: 6 jailed, 0 not") {
		t.Error(r)
	}
	if r := h.jail(t, command{args: []string{"unwrap", "--yes"}}); r.status != 0 {
		t.Error(r)
	}
	for name, file := range files {
		if got := read(file.path); got != file.content {
			t.Errorf("%s: after unwrap the file is\n%q, want\n%q", name, got, file.content)
		}
	}
}

// TestCheck: a configuration without a mistake, one with a mistake, and one whose server does not start
// without the gaps accepted.
func TestCheck(t *testing.T) {
	t.Parallel()
	h := start(t)
	windows, _ := h.newDir(t)
	server := "[servers.one]\ncommand = '" + h.program("server.exe") + "'\nworkspace = '" + windows + "'\n"
	const accept = "waive = ['windows', 'process', 'limits']\n"
	for name, c := range map[string]struct {
		config string
		status int
		says   []string
	}{
		"good":    {server + accept, 0, []string{"one", "ok"}},
		"mistake": {server + accept + "statefull = false\n", 2, []string{`mistake.toml:5`, `servers.one.statefull is not a known key; did you mean stateful?`}},
		"gaps":    {server, 3, []string{"mcp-jail restricts no files on Windows", `waive = ["process", "limits", "windows"]`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := windows + `\` + name + ".toml"
			h.write(t, file, c.config)
			r := h.jail(t, command{args: []string{"check", file}})
			if r.says(t, c.says...); r.status != c.status {
				t.Errorf("want status %d: %v", c.status, r)
			}
		})
	}
}

// startsAsEntered starts the server of a file as its client does, and compares what reaches it.
func (h *host) startsAsEntered(t *testing.T, file string) {
	t.Helper()
	var client struct {
		Servers map[string]struct {
			Command string
			Args    []string
			Env     map[string]string
		} `json:"mcpServers"`
	}
	testkit.Must(t, json.Unmarshal(bytes.TrimPrefix([]byte(file), []byte("\ufeff")), &client))
	one := client.Servers["one"]
	if one.Command != h.program("mcp-jail.exe") {
		t.Fatalf("the entry starts %q", one.Command)
	}
	s := h.talk(t, h.prepare(append([]string{one.Command}, one.Args...), command{env: one.Env}))
	if args := s.tool(t, "args", "{}"); args != `["a b\\","q\"r","ä"]` {
		t.Errorf("the server has the arguments %s", args)
	}
	if variables := strings.Split(s.tool(t, "env", "{}"), "\n"); !slices.Contains(variables, "GIVEN=x y") {
		t.Errorf("the server has the variables %q", variables)
	}
	s.close(t)
}

// write writes a file of the user in C:.
func (h *host) write(t *testing.T, path, content string) {
	t.Helper()
	file := h.linuxPath(path)
	var missing []string
	for dir := filepath.Dir(file); ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); err == nil {
			break
		}
		missing = append([]string{dir}, missing...)
	}
	for _, dir := range missing {
		testkit.Must(t, h.mkdir(dir))
	}
	testkit.Must(t, os.WriteFile(file, []byte(content), 0o644))
	if h.user != nil {
		testkit.Must(t, os.Chown(file, int(h.user.Uid), int(h.user.Gid)))
	}
}

// commonEnds returns how many bytes two texts have in common at their beginning, and at their end.
func commonEnds(a, b string) (begin, end int) {
	for begin < min(len(a), len(b)) && a[begin] == b[begin] {
		begin++
	}
	for end < min(len(a), len(b))-begin && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	return begin, end
}

func quoted(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}
