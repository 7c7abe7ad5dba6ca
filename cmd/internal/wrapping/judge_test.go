package wrapping

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// judged is an entry in the form of a client, as a project's file and as the user's own. Its begin of
// the reason is "yes" for an entry that starts in mcp-jail.
type judged struct{ entry, project, user, wrap string }

// TestJudge: an entry starts in mcp-jail only if nothing of it can make its command line start
// another program, or give mcp-jail a configuration that is not the user's. Wrap says the same of it.
func TestJudge(t *testing.T) {
	h := newHost(t)
	bin := filepath.Join(h.Home, "bin")
	ours, lasting := filepath.Join(bin, "mcp-jail"), filepath.Join(h.Home, "lasting", "mcp-jail")
	for _, file := range []string{ours, lasting, filepath.Join(h.Project, "bin", "mcp-jail")} {
		write(t, file, file)
		must(t, os.Chmod(file, 0o700))
	}
	for _, dir := range []string{filepath.Join(h.Project, "link"), filepath.Join(h.Home, "own")} {
		must(t, os.Mkdir(dir, 0o700))
		must(t, os.Symlink(ours, filepath.Join(dir, "mcp-jail")))
	}
	for name, text := range map[string]string{"good.env": "TOKEN=x\n", "bad.env": "FNM_DIR=x\n", "worse.env": "LD_AUDIT=x\n"} {
		write(t, filepath.Join(h.Project, name), text)
	}
	t.Setenv("PATH", bin)
	t.Chdir(h.Project)
	program := Program{Path: ours, Also: []string{lasting}}
	fill := strings.NewReplacer("OURS", ours, "BIN", bin, "REPO", h.Project, "HOME/", h.Home+"/")
	places := map[string][3]string{ // the project's file, the user's, the table
		"crush": {"crush.json", ".config/crush/crush.json", "mcp"}, "vscode": {".vscode/mcp.json", ".config/Code/User/mcp.json", "servers"}, "cursor": {".cursor/mcp.json", ".cursor/mcp.json", "mcpServers"}, "claude-code": {".mcp.json", ".claude.json", "mcpServers"},
	}
	for name, row := range testkit.Named[judged](t, "judged.txt") {
		all := slices.Sorted(maps.Keys(places))
		if some, _, is := strings.Cut(name, ": "); is {
			all = strings.Fields(some)
		}
		for _, client := range all {
			for i, root := range []string{h.Project, h.Home} {
				what := fmt.Sprintf("%s, as %s in %s", name, client, filepath.Base(root))
				path := filepath.Join(root, places[client][i])
				write(t, path, `{"`+places[client][2]+`": {"a": {`+fill.Replace(row.entry)+`}}}`)
				f := only(t, h, Selection{Files: []string{path}, Clients: []string{client}})
				v, c := f.Judge(f.Entries[0], program, h), f.Wrap(program, Selection{}, h, newIDs(h)).Servers[0]
				must(t, os.Remove(path))
				why := string(v.Why)
				if v.State == Jailed {
					why = "yes"
				}
				if want := [2]string{row.project, row.user}[i]; !strings.HasPrefix(why, want) || (want == "") != (why == "") {
					t.Errorf("%s: %q, want %q", what, why, want)
				}
				if c.Left != "" && c.Left != string(v.Why) && !(v.State == Jailed && strings.HasPrefix(c.Left, string(clients.Jailed))) && !strings.HasPrefix(c.Left, "cannot be wrapped: ") {
					t.Errorf("%s: %q, and wrap leaves it: %q", what, why, c.Left)
				}
				if i == 1 {
					testkit.Equal(t, what+": wrap makes of it", becomes(c, ours), row.wrap)
					testkit.Equal(t, what+": it is repaired", c.Repair != "", v.IsRepaired())
				} else if v.IsWrapped() && c.Left == "" {
					t.Errorf("%s: wrap makes %q of it", what, c.After)
				}
			}
		}
	}
}

// becomes says what wrap makes of an entry of the user's own.
func becomes(c ServerChange, ours string) string {
	was, wrapped := clients.ParseWrapped(c.Argv())
	if !wrapped {
		was.Argv = c.Argv()
	}
	is, _ := clients.ParseWrapped(c.After)
	hasID := is.ID != "" && slices.Equal(is.Flags, []string{"--id", is.ID})
	switch same := slices.Equal(is.Argv, was.Argv); {
	case c.Left != "":
		return ""
	case same && hasID && is.Program == was.Program:
		return "an id"
	case same && hasID && is.Program == ours && len(is.Launcher) == 0:
		return "this program, an id"
	case same && slices.Equal(c.After, append([]string{ours}, c.Argv()[len(was.Launcher)+1:]...)):
		return "this program"
	}
	return strings.Join(c.After, " ")
}

// TestFlagsOfProjects: each flag of run is one that a project's entry may have, or may not.
func TestFlagsOfProjects(t *testing.T) {
	seen := 0
	for _, flag := range (&cmdline.RunFlags{}).Flags() {
		seen++
		if why := forbiddenFlags[flag.Name]; slices.Contains(allowedFlags, flag.Name) == (why != "") {
			t.Errorf("--%s: it is in both lists, or in none", flag.Name)
		}
	}
	if seen != len(allowedFlags)+len(forbiddenFlags) {
		t.Errorf("%d flags, and the lists have others", seen)
	}
}

// TestJudgeOpen: only an entry that is known to start nothing counts as one that needs no jail.
func TestJudgeOpen(t *testing.T) {
	h := newHost(t)
	file := filepath.Join(h.Home, "x", ".vscode", "mcp.json")
	for entry, open := range testkit.Named[bool](t, "judged-open.txt") {
		write(t, file, `{"servers": {`+entry+`}}`)
		f := only(t, h, Selection{Files: []string{file}})
		if len(f.Entries) == 0 && !open {
			continue
		}
		v := f.Judge(f.Entries[0], Program{Path: program}, h)
		p := f.Wrap(Program{Path: program}, Selection{}, h, newIDs(h)).Servers[0]
		if v.State == Skipped != open || p.Open != open || v.Why == "" || v.State == Jailed {
			t.Errorf("%s: %+v, and wrap says %v, want %v", entry, v, p.Open, open)
		}
	}
}

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
	in := func(cwd string) string { return `, "cwd": "` + cwd + `"}` }
	mine := func(cwd string) string { return `{"command": "mine", "args": ["s.py"]` + in(cwd) }
	files := func(path, more string) string {
		return `{"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "` + path + `"]` + more
	}
	// Presets and directories of arguments are for the user's own entries alone.
	shared, own := filepath.Join(h.Project, ".vscode/mcp.json"), filepath.Join(h.Home, ".config/Code/User/mcp.json")
	wrapped := func(file, entry string) ServerChange {
		write(t, file, `{"servers": {"s": `+entry+`}}`)
		return only(t, h, Selection{Clients: []string{"vscode"}, Files: []string{file}}).Wrap(Program{Path: program}, Selection{}, h, newIDs(h)).Servers[0]
	}
	for _, c := range []struct{ name, file, entry, gets, note string }{
		{"cwd", shared, mine(h.Home + "/Documents"), "~/Documents (read and write)", ""},
		{"cwd by a link", shared, mine("${workspaceFolder}/data"), "~/Documents (read and write)", "in ${workspaceFolder}/data, which leads to " + h.Home + "/Documents"},
		{"relative cwd", shared, mine("sub"), h.Project + "/sub (read and write)", ""},
		{"cwd that decides", shared, mine("${userHome}/.config/autostart"), "", "is ~/.config/autostart ("},
		{"cwd that decides, by a link", shared, mine("${workspaceFolder}/auto"), "", "is ~/.config/autostart ("},
		{"cwd with secrets", shared, mine("${userHome}/.config/google-chrome/Default"), "", "is a sensitive file (~/.config/google-chrome*)"},
		{"cwd in .git", shared, mine("${workspaceFolder}/.git/hooks"), "", "/.git (programs run or trust what is there"},
		{"unknown cwd", shared, mine("${input:where}"), "${input:where} (read and write)", ""},
		{"no cwd", shared, `{"command": "mine", "args": ["s.py"]}`, "the project folder", ""},

		{"preset", own, files(".", "}"), "the project folder", ""},
		{"preset with cwd", own, files(".", in(h.Home+"/Documents")), "~/Documents (read and write)", ""},
		{"preset with cwd by a link", own, files(".", in(h.Project+"/data")), "~/Documents (read and write)", "which leads to"},
		{"preset with a cwd that decides", own, files(".", in(h.Project+"/auto")), "", "has no project folder"},
		{"preset with a drive", own, files(`C:\\a`, in("${input:where}")), `C:\a (read and write)`, ""},
		{"preset with an unknown cwd", own, files("m", in("${input:where}")), "m in the project folder (read and write)", ""},
		{"preset, state", own, files("${userHome}/.local/state/mcp-jail", "}"), "", "is not granted: it decides"},
		{"preset, programs", own, files("${userHome}/.local/bin", "}"), "", "is not granted: it decides"},
		{"preset, .bashrc", own, files("${userHome}/.bashrc", "}"), "", "is not granted: it decides"},
		{"preset, packages", own, files("${userHome}/.npm", "}"), "~/.npm (read and write)", h.Home + "/.npm gives control of ~/.npm"},
		{"preset, hooks", own, files(h.Project+"/.git/hooks", "}"), "", "is not granted: it is a protected file"},
		{"preset, ordinary", own, files("${userHome}/notes", "}"), "~/notes (read and write)", ""},

		{"argument in two ways", own, `{"command": "mine", "args": ["--dir=` + h.Project + `/x/../../Documents"]}`, "the project folder", "it can be read in two ways"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := wrapped(c.file, c.entry)
			testkit.Equal(t, "it is left because it", p.Left, "")
			testkit.Equal(t, "it gets", strings.Join(p.Gets, ", "), c.gets)
			notes := strings.Join(append(p.Notes, p.Careful...), "\n")
			if (notes == "") != (c.note == "") || !strings.Contains(notes, c.note) {
				t.Errorf("notes %q, want %q", notes, c.note)
			}
		})
	}
	for _, c := range []struct{ name, file, entry, left string }{
		{"cwd in two ways", shared, mine("${workspaceFolder}/x/../../Documents"), "can be read in two ways"},
		{"preset, ..", own, files("..", in(h.Project)), "leaves the project folder"},
		{"preset, a link", own, files("home", in(h.Project)), "leaves the project folder"},
		{"preset, in two ways", own, files(h.Project+"/x/../../Documents", "}"), "goes up from there"},
		{"preset, relative in two ways", own, files("x/../..", in(h.Project)), "goes up from there"},
		{"preset, /proc", own, files("/proc/self/cwd/../..", "}"), "goes up from there"},
	} {
		t.Run(c.name, func(t *testing.T) { testkit.Contains(t, "left", wrapped(c.file, c.entry).Left, c.left) })
	}
}
