package wrapping

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDirectory checks that wrap shows the directory in which a server starts, with its links followed,
// and all that a start would say about it and about the rules for files.
func TestDirectory(t *testing.T) {
	h := newHost(t)
	for _, dir := range []string{"Documents", ".config/autostart", ".config/google-chrome/Default", ".local/state/mcp-jail", ".local/bin", ".npm", "notes"} {
		must(t, os.MkdirAll(filepath.Join(h.Home, dir), 0o700))
	}
	write(t, filepath.Join(h.Home, ".bashrc"), "")
	for _, dir := range []string{"a/b/c", "a/Documents", "sub", ".git/hooks"} {
		must(t, os.MkdirAll(filepath.Join(h.Project, dir), 0o700))
	}
	for name, to := range map[string]string{"x": "a/b/c", "data": h.Home + "/Documents", "auto": "../home/.config/autostart", "home": h.Home} {
		must(t, os.Symlink(to, filepath.Join(h.Project, name)))
	}
	mine := func(cwd string) string {
		return `{"command": "mine", "args": ["s.py"], "cwd": "` + cwd + `"}`
	}
	files := func(path, cwd string) string {
		return `{"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "` + path + `"], "cwd": "` + cwd + `"}`
	}
	const none = "nothing"
	for _, c := range []struct{ name, entry, gets, note, left string }{
		{"cwd", mine(h.Home + "/Documents"), "~/Documents", none, ""},
		{"cwd by a link", mine("${workspaceFolder}/data"), "~/Documents", "in ${workspaceFolder}/data, which leads to " + h.Home + "/Documents", ""},
		{"relative cwd", mine("sub"), h.Project + "/sub", none, ""},
		{"cwd that decides", mine("${userHome}/.config/autostart"), "", "is ~/.config/autostart (", ""},
		{"cwd that decides, by a link", mine("${workspaceFolder}/auto"), "", "is ~/.config/autostart (", ""},
		{"cwd with secrets", mine("${userHome}/.config/google-chrome/Default"), "", "is a sensitive path (~/.config/google-chrome*)", ""},
		{"cwd in .git", mine("${workspaceFolder}/.git/hooks"), "", "/.git (programs run or trust what is there", ""},
		{"cwd in two ways", mine("${workspaceFolder}/x/../../Documents"), "", none, "can be read in two ways"},
		{"unknown cwd", mine("${input:where}"), "${input:where}", none, ""},
		{"no cwd", mine(""), "the project folder", none, ""},

		{"preset", files(".", ""), "the project folder", none, ""},
		{"preset with cwd", files(".", h.Home+"/Documents"), "~/Documents", none, ""},
		{"preset with cwd by a link", files(".", "${workspaceFolder}/data"), "~/Documents", "which leads to", ""},
		{"preset with a cwd that decides", files(".", "${workspaceFolder}/auto"), "", "it allows nothing", ""},
		{"preset with a drive", files(`C:\\a`, "${input:where}"), `C:\a`, none, ""},
		{"preset with an unknown cwd", files("m", "${input:where}"), "m in the project folder", none, ""},
		{"preset, ..", files("..", h.Project), "", none, "leaves the workspace"},
		{"preset, a link", files("home", h.Project), "", none, "leaves the workspace"},
		{"preset, in two ways", files("${workspaceFolder}/x/../../Documents", ""), "", none, "goes up from there"},
		{"preset, relative in two ways", files("x/../..", h.Project), "", none, "goes up from there"},
		{"preset, /proc", files("/proc/self/cwd/../..", ""), "", none, "goes up from there"},
		{"preset, state", files("${userHome}/.local/state/mcp-jail", ""), "", "is not granted: it decides", ""},
		{"preset, programs", files("${userHome}/.local/bin", ""), "", "is not granted: it decides", ""},
		{"preset, .bashrc", files("${userHome}/.bashrc", ""), "", "is not granted: it decides", ""},
		{"preset, packages", files("${userHome}/.npm", ""), "~/.npm", h.Home + "/.npm: it gives a hold on ~/.npm", ""},
		{"preset, hooks", files("${workspaceFolder}/.git/hooks", ""), "", "is not granted: it is a protected name", ""},
		{"preset, ordinary", files("${userHome}/notes", ""), "~/notes", none, ""},

		{"argument in two ways", `{"command": "mine", "args": ["--dir=` + h.Project + `/x/../../Documents"]}`, "the project folder", "it can be read in two ways", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := filepath.Join(h.Project, ".vscode/mcp.json")
			if strings.HasPrefix(c.name, "preset") || strings.HasPrefix(c.name, "argument") { // only the user's own gets those
				file = filepath.Join(h.Home, ".config/Code/User/mcp.json")
				c.entry = strings.ReplaceAll(c.entry, "${workspaceFolder}", h.Project)
			}
			write(t, file, strings.Replace(`{"servers": {"s": `+c.entry+`}}`, `, "cwd": ""`, "", 1))
			if !json.Valid([]byte(c.entry)) {
				t.Fatal(c.entry)
			}
			change := only(t, h, Selection{Clients: []string{"vscode"}, Files: []string{file}}).Wrap(Program{Path: program}, Selection{}, h, newIDs(h))
			p := change.Servers[0]
			if got := strings.Join(p.Gets, ", "); c.left == "" && got != c.gets {
				t.Errorf("gets %q, want %q", got, c.gets)
			}
			if (p.Left != "") != (c.left != "") || !strings.Contains(p.Left, c.left) {
				t.Errorf("left: %q, want %q", p.Left, c.left)
			}
			notes := strings.Join(append(p.Notes, p.Careful...), "\n")
			if c.note == none && c.left == "" && notes != "" || c.note != none && !strings.Contains(notes, c.note) {
				t.Errorf("notes %q, want %q", notes, c.note)
			}
		})
	}
}
