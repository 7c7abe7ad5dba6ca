package wrapping

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestVariablesFromFile: an entry is left if its file has a variable that acts on mcp-jail. All of them
// are named, with what to do, and status says the same.
func TestVariablesFromFile(t *testing.T) {
	h := newHost(t)
	write(t, filepath.Join(h.Project, ".vscode/mcp.json"), `{"servers": {"a": {"command": "x", "envFile": "${workspaceFolder}/.env"}}}`)
	for text, left := range map[string]string{"TOKEN=x\n": "", "TOKEN=x\nLD_PRELOAD=y\n": "sets ", "npm_config_registry=y\n": "", "HTTPS_PROXY=y\n": "sets ",
		"OPENSSL_CONF=y": "", "A=1\rXDG_CONFIG_HOME=y": "sets ", "XDG_CONFIG_HOME: y": "sets ",
		"export\tXDG_CONFIG_HOME=y": "sets ", "\ufeffXDG_CONFIG_HOME=y": "sets ", "XDG_CONFIG_HOME=y\n#-----BEGIN": "sets ",
	} {
		write(t, filepath.Join(h.Project, ".env"), text)
		f := only(t, h, Selection{})
		p := f.Wrap(Program{Path: program}, Selection{}, h, newIDs(h)).Servers[0]
		if !strings.HasPrefix(p.Left, left) || (p.Left == "") != (left == "") {
			t.Errorf("%q: left %q, want %q", text, p.Left, left)
		}
		if v := f.Judge(f.Entries[0], Program{Path: program}, h); string(v.Why) != p.Left {
			t.Errorf("%q: left %q, and judged %q", text, p.Left, v.Why)
		}
	}
	const all = "sets LD_PRELOAD, XDG_CONFIG_HOME, which acts on mcp-jail itself, outside the jail: take them out there; "
	write(t, filepath.Join(h.Project, ".env"), "LD_PRELOAD=y\nTOKEN=x\nXDG_CONFIG_HOME=y\n")
	for _, entry := range []string{`"envFile": "${workspaceFolder}/.env"`, `"env": {"LD_PRELOAD": "y", "TOKEN": "x", "XDG_CONFIG_HOME": "y"}`} {
		write(t, filepath.Join(h.Project, ".vscode/mcp.json"), `{"servers": {"a": {"command": "x", `+entry+`}}}`)
		if p := only(t, h, Selection{}).Wrap(Program{Path: program}, Selection{}, h, newIDs(h)).Servers[0]; !strings.Contains(p.Left, all) {
			t.Errorf("%s: left %q", entry, p.Left)
		}
	}
}

// TestCarried: an entry whose line has the server started elsewhere is left, with a reason that names
// what does so. Status says the same of it, also where a person has put mcp-jail in front of it. The
// control is a line that only has such a word.
func TestCarried(t *testing.T) {
	h := newHost(t)
	ours := Program{Path: filepath.Join(h.Home, "bin", "mcp-jail")}
	write(t, ours.Path, "")
	file := filepath.Join(h.Home, ".cursor/mcp.json")
	for line, left := range testkit.Named[string](t, "left.txt") {
		line = strings.ReplaceAll(line, "REPO", h.Project)
		command, args, _ := strings.Cut(line, ", ")
		write(t, file, `{"mcpServers": {"s": {"command": `+command+`, "args": [`+args+`]}, "by hand": {"command": "`+ours.Path+`", "args": ["run", "--name", "s", "--", `+line+`]}}}`)
		f := only(t, h, Selection{Clients: []string{"cursor"}, Files: []string{file}})
		c := f.Wrap(ours, Selection{}, h, newIDs(h))
		for i, e := range f.Entries {
			v, said := f.Judge(e, ours, h), c.Servers[i].Left
			if e.Server == "by hand" && left == "" { // it gets an id
				if v.State != Jailed || said != "" {
					t.Errorf("%s, %s: left %q, and judged %+v", line, e.Server, said, v)
				}
				continue
			}
			if !strings.HasPrefix(said, left) || (said == "") != (left == "") {
				t.Errorf("%s, %s: left %q, want %q", line, e.Server, said, left)
			}
			if v.State == Jailed || left != "" && (string(v.Why) != said || v.IsUnclear() != (e.Server == "by hand")) {
				t.Errorf("%s, %s: left %q, and judged %+v", line, e.Server, said, v)
			}
		}
	}
}

// TestStartNotes: what is noted of programs that a start does not find, or that hide a package.
func TestStartNotes(t *testing.T) {
	h := newHost(t)
	bin, fetches := filepath.Join(h.Home, "own"), filepath.Join(h.Home, "fetches")
	for _, path := range []string{bin + "/node", bin + "/tool", bin + "/op", bin + "/timeout", fetches + "/node", fetches + "/npm", fetches + "/python3", h.Home + "/flat"} {
		write(t, path, "#!/bin/sh\n")
		must(t, os.Chmod(path, 0o700))
	}
	must(t, os.Chmod(h.Home+"/flat", 0o600))
	h.Env = func(name string) string { return map[string]string{"PATH": bin}[name] }
	file := filepath.Join(h.Home, ".cursor/mcp.json")
	for entry, want := range testkit.Named[struct {
		fails string
		notes []string
	}](t, "left-lines.txt", "<bin>", bin) {
		t.Run(entry, func(t *testing.T) {
			words, inPath := strings.CutSuffix(strings.ReplaceAll(entry, "HOME", h.Home), " PATH")
			command, args, _ := strings.Cut(words, ", ")
			text := `{"mcpServers": {"s": {"command": ` + command + `, "args": [` + args + `]`
			if inPath {
				text += `, "env": {"PATH": "` + fetches + `"}`
			}
			write(t, file, text+`}}}`)
			p := only(t, h, Selection{Clients: []string{"cursor"}, Files: []string{file}}).Wrap(Program{Path: program}, Selection{}, h, newIDs(h)).Servers[0]
			testkit.Equal(t, "left", p.Left, "")
			if fails := strings.Join(p.Fails, "; "); (fails == "") != (want.fails == "") || !strings.Contains(fails, want.fails) {
				t.Errorf("cannot start: %q, want %q", fails, want.fails)
			}
			if !slices.EqualFunc(p.Notes, want.notes, strings.Contains) {
				t.Errorf("notes %q, want %q", p.Notes, want.notes)
			}
		})
	}
}

// TestWideGrant: a grant around the home directory is named as such. The controls are not around it.
func TestWideGrant(t *testing.T) {
	const whole = "your whole home folder"
	h := newHost(t)
	file := filepath.Join(h.Home, ".cursor/mcp.json")
	write(t, filepath.Join(h.Home, "docs/x"), "")
	up := filepath.Dir(h.Home)
	for args, wide := range map[string]bool{
		`PRESET"HOME"`: true, `PRESET"/"`: true, `PRESET"UP"`: true, `PRESET"~"`: true, `PRESET"HOME/docs"`: false, `PRESET"HOME/docs", "HOME"`: true,
		`"HOME"`: true, `"--root=UP"`: true, `"--root=/"`: true, `"HOME/docs"`: false,
	} {
		words := strings.NewReplacer("PRESET", `"@modelcontextprotocol/server-filesystem", `, "HOME", h.Home, "UP", up).Replace(args)
		if !strings.HasPrefix(args, "PRESET") {
			words = `"some-fs", ` + words
		}
		write(t, file, `{"mcpServers": {"s": {"command": "npx", "args": ["-y", `+words+`]}}}`)
		p := only(t, h, Selection{Clients: []string{"cursor"}, Files: []string{file}}).Wrap(Program{Path: program}, Selection{}, h, newIDs(h)).Servers[0]
		if said := strings.Join(append(p.Gets, p.Careful...), "\n"); p.Left != "" || strings.Contains(said, whole) != wide {
			t.Errorf("%s: left %q, said %q", args, p.Left, said)
		}
	}
}

// TestUnreadVariables: an entry of a project's file is left if there is a file of variables that
// cannot be read. One that is missing can hold nothing.
func TestUnreadVariables(t *testing.T) {
	h := newHost(t)
	write(t, filepath.Join(h.Project, ".vscode/mcp.json"), `{"servers": {"a": {"command": "x", "envFile": "${workspaceFolder}/.env"}}}`)
	left := func() string {
		t.Helper()
		return only(t, h, Selection{}).Wrap(Program{Path: program}, Selection{}, h, newIDs(h)).Servers[0].Left
	}
	if got := left(); got != "" {
		t.Errorf("missing: %q", got)
	}
	must(t, os.Mkdir(filepath.Join(h.Project, ".env"), 0o700))
	if got := left(); !strings.Contains(got, "a file of variables that is not known") {
		t.Errorf("unread: %q", got)
	}
}

// TestTooManyServers: a file with more servers than a person has is left, and named.
func TestTooManyServers(t *testing.T) {
	for n, want := range map[int]string{maxServers: "", maxServers + 1: ".mcp.json: the file has 5001 servers or more, and mcp-jail reads files with at most 5000"} {
		h := newHost(t)
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, `, "s%d": {"command": "x"}`, i)
		}
		write(t, filepath.Join(h.Project, ".mcp.json"), `{"mcpServers": {`+b.String()[2:]+`}}`)
		files, err := Find(h, Selection{})
		must(t, err)
		if len(files) != 1 || (files[0].Err == nil) != (want == "") || want != "" && !strings.HasSuffix(files[0].Err.Error(), want) || want == "" && len(files[0].Entries) != n {
			t.Errorf("%d servers: %d files, %v", n, len(files), files[0].Err)
		}
	}
}

// TestClientRuns: if the client of a project's entry runs a command of it, wrap says so: that stays
// outside of the jail. TestJudge tests that the entry does not count as one in the jail.
func TestClientRuns(t *testing.T) {
	for path, note := range map[string]string{"project/crush.json": "it has a command in a text, which Crush runs itself", "home/.config/crush/crush.json": ""} {
		h := newHost(t)
		write(t, filepath.Join(filepath.Dir(h.Home), path), `{"mcp": {"a": {"command": "x", "args": ["$(./e)"]}, "b": {"command": "x", "args": ["$E"]}}}`)
		servers := only(t, h, Selection{}).Wrap(Program{Path: program}, Selection{}, h, newIDs(h)).Servers
		for i, want := range []string{note, ""} {
			notes := strings.Join(servers[i].Notes, "; ")
			if servers[i].Left != "" || !strings.Contains(notes, want) || want == "" && strings.Contains(notes, "has a command") {
				t.Errorf("%s, %s: left %q, notes %q, want %q", path, servers[i].Server, servers[i].Left, notes, want)
			}
		}
	}
}

// TestBesides: an entry for which its client runs a command beside the server is left, wrapped or
// not, and counts as one that is not in the jail, whichever client finds it first. The controls have
// no such command.
func TestBesides(t *testing.T) {
	ours := filepath.Join(t.TempDir(), "mcp-jail")
	write(t, ours, "x")
	must(t, os.Chmod(ours, 0o700))
	wrapped := `"command": "` + ours + `", "args": ["run", "--name", "a", "--", "x"]`
	for entry, want := range testkit.Named[string](t, "left-wrapped.txt", "<wrapped>", wrapped) {
		for _, first := range []string{"", "gemini"} {
			h := newHost(t)
			file, table := filepath.Join(h.Project, ".mcp.json"), "mcpServers"
			if strings.Contains(entry, "crush") {
				file, table = filepath.Join(h.Project, "crush.json"), "mcp"
			}
			write(t, file, `{"`+table+`": {"a": {`+entry+`}}}`)
			f := only(t, h, Selection{})
			if first != "" {
				c, err := clients.ByName(first)
				must(t, err)
				f.add(reading{client: c, place: f.Place}, f.Path)
			}
			v := f.Judge(f.Entries[0], Program{Path: ours}, h)
			got := map[bool]string{true: "no", false: "-"}[v.State == Skipped]
			switch {
			case v.State == Jailed:
				got = "yes"
			case v.IsUnclear():
				got = "?"
			}
			p := f.Wrap(Program{Path: ours}, Selection{}, h, newIDs(h)).Servers[0]
			if got != want || p.Left == "" {
				t.Errorf("%s: JAIL %s (%s), want %s; left %q", entry, got, v.Why, want, p.Left)
			}
		}
	}
}

// TestServerLine: a line of text that a client starts as a server is listed, left, and counts as one
// that is not in the jail, also in a file without other servers.
func TestServerLine(t *testing.T) {
	for _, path := range []string{"project/.gemini/settings.json", "home/.gemini/settings.json", "project/.qwen/settings.json", "home/.qwen/settings.json"} {
		for value, open := range map[string]bool{`"./e x"`: true, `"/usr/local/bin/mcp-jail run --name a -- x"`: true, `["./e"]`: true, `""`: false, `null`: false} {
			h := newHost(t)
			write(t, filepath.Join(filepath.Dir(h.Home), path), `{"mcp": {"serverCommand": `+value+`}}`)
			files, err := Find(h, Selection{})
			must(t, err)
			if !open && len(files) == 0 {
				continue
			}
			if len(files) != 1 || len(files[0].Entries) != 1 {
				t.Errorf("%s: %s: %d files, want one with a server", path, value, len(files))
				continue
			}
			f := files[0]
			change := f.Wrap(Program{Path: program}, Selection{}, h, newIDs(h))
			v, p := f.Judge(f.Entries[0], Program{Path: program}, h), change.Servers[0]
			if !open || v.State != Skipped || p.Server != "mcp" || !strings.Contains(p.Left, "write it as an entry of mcpServers") {
				t.Errorf("%s: %s: %+v, server %s, left %q", path, value, v, p.Server, p.Left)
			}
		}
	}
	h := newHost(t)
	write(t, filepath.Join(h.Project, ".gemini/settings.json"), `{"mcp": {"__proto__": {"serverCommand": "./e"}}}`)
	if files, err := Find(h, Selection{}); err != nil || len(files) != 1 || files[0].Err == nil {
		t.Errorf("a key that some readers inherit: %d files, %v", len(files), err)
	}
}

// TestLargeFiles: a user's file of JSON may be large. The others may not, and the reason says how large
// they may be.
func TestLargeFiles(t *testing.T) {
	h := newHost(t)
	ours := Program{Path: filepath.Join(h.Home, "bin", "mcp-jail")}
	write(t, ours.Path, "")
	const size = 5 << 20
	history := "\n" + `"history": ["` + strings.Repeat("x", size) + `"]` + "\n"
	servers := `"mcpServers": {"m": {"command": "npx", "args": ["-y", "some-server"]}}`
	for path, c := range map[string]struct{ text, why string }{
		h.Home + "/.claude.json":       {"{" + history + ", " + servers + "}", ""},
		h.Home + "/.cursor/mcp.json":   {"{" + servers + ", " + history + "}", ""},
		h.Project + "/.mcp.json":       {"{" + servers + ", " + history + "}", "of at most 5 MB"},
		h.Home + "/.codex/config.toml": {"[mcp_servers.m]\ncommand = 'x'\nargs = ['" + strings.Repeat("x", size) + "']", "of at most 5 MB"},
	} {
		write(t, path, c.text)
		files, err := Find(h, Selection{Files: []string{path}})
		must(t, err)
		f := files[0]
		if c.why != "" {
			if f.Err == nil || !strings.Contains(f.Err.Error(), c.why) || len(f.Entries) > 0 {
				t.Errorf("%s: %v, %d entries, want %q", path, f.Err, len(f.Entries), c.why)
			}
			continue
		}
		state := filepath.Join(h.Home, "state")
		change := f.Wrap(ours, Selection{}, h, newIDs(h))
		if diff := change.Diff(); len(diff) > 1000 || !strings.Contains(diff, ours.Path) {
			t.Errorf("%s: %d bytes of difference", path, len(diff))
		}
		_, err = change.Write(state, time.Now())
		must(t, err)
		f = only(t, h, Selection{Files: []string{path}})
		if len(f.Entries) != 1 || f.Judge(f.Entries[0], ours, h).State != Jailed {
			t.Errorf("%s: wrapped, it has %d entries", path, len(f.Entries))
		}
	}
}

// fetched are the lines for which mcp-jail finds, fetches or pins a package outside of the jail, or
// could.
var fetched = []string{"a package of npm", "one by another launcher", "one behind env", "one behind a shell", "one behind cmd", "npx by a shown reference", "a launcher, perhaps", "a word of env, perhaps",
	"a text for a shell", "not taken apart", "a package of Python"}

func splitVariable(text string) (name, value string) {
	if value, odd := strings.CutPrefix(text, "A=B="); odd {
		return "A=B", value
	}
	name, value, _ = strings.Cut(text, "=")
	return name, value
}

// TestVariablesByLine tests each line with each variable in a project's file and in one of the user's:
// an entry is left only if the variable acts on what mcp-jail does outside of the jail for that line.
// What status says is the same, before and after wrap.
func TestVariablesByLine(t *testing.T) {
	// variables says for each assignment in which entries wrap accepts it. "never": in none. "project":
	// not in one of a project. "free": in all. "launcher": in one of a project only if mcp-jail fetches
	// no package for its line.
	variables := testkit.Named[string](t, "variables.txt")
	// entryLines are command lines of entries, by what mcp-jail does outside of the jail to start them.
	entryLines := testkit.Named[string](t, "entry-lines.txt")
	h := newHost(t)
	ours := Program{Path: filepath.Join(h.Home, "bin", "mcp-jail")}
	write(t, ours.Path, "")
	must(t, os.Chmod(ours.Path, 0o755))
	t.Setenv("PATH", filepath.Dir(ours.Path)+":"+os.Getenv("PATH"))
	fill := strings.NewReplacer("REPO", h.Project, "HOME_DIR", h.Home)
	files := map[string]string{"project": filepath.Join(h.Project, ".vscode/mcp.json"), "user": filepath.Join(h.Home, ".config/Code/User/mcp.json")}
	kinds := map[string]string{}
	for variable, kind := range variables {
		kinds[fill.Replace(variable)] = kind
	}
	rows := map[string]int{} // by kind
	for line, words := range entryLines {
		starts, some := slices.Contains(fetched, line), slices.Contains([]string{"node", "a package of npm", "a preset's program"}, line)
		for scope, path := range files {
			if scope == "user" && !some {
				continue // its line decides nothing
			}
			var entries []string
			for variable, kind := range variables {
				if kind != "launcher" && !some {
					continue // the line decides nothing about it
				}
				name, value := splitVariable(variable)
				entries = append(entries, fmt.Sprintf(`%q: {%s, "env": {"%s": "%s"}}`, variable, words, name, value))
			}
			write(t, path, fill.Replace(`{"servers": {`+strings.Join(entries, ", ")+`}}`))
			sel := Selection{Files: []string{path}, Clients: []string{"vscode"}}
			f := only(t, h, sel)
			change := f.Wrap(ours, Selection{}, h, newIDs(h))
			left := map[string]string{}
			for i, e := range f.Entries {
				variable, kind := e.Server, kinds[e.Server]
				left[variable] = change.Servers[i].Left
				want := kind == "never" || scope == "project" && (kind == "project" || kind == "launcher" && starts)
				if (left[variable] != "") != want {
					t.Errorf("%s, %s, %s's file: left %q, want %v", line, variable, scope, left[variable], want)
				}
				if v := f.Judge(e, ours, h); string(v.Why) != left[variable] || v.State == Jailed || v.State == Skipped != (left[variable] != "") {
					t.Errorf("%s, %s, %s's file: left %q, and judged %q", line, variable, scope, left[variable], v.Why)
				}
				rows[kind]++
			}
			must(t, errors.Join(WriteFiles(configDir(h), []*Change{change}), os.WriteFile(path, change.After, 0o600)))
			after := only(t, h, sel)
			for _, e := range after.Entries {
				if v := after.Judge(e, ours, h); v.State == Jailed != (left[e.Server] == "") {
					t.Errorf("%s, %s, %s's file: left %q, and judged after wrap: %q", line, e.Server, scope, left[e.Server], v.Why)
				}
			}
			if again := after.Wrap(ours, Selection{}, h, newIDs(h)); len(again.Changed()) != 0 {
				t.Errorf("%s, %s's file: a second wrap changes it", line, scope)
			}
		}
	}
	for _, kind := range variables {
		if n := rows[kind]; kind == "launcher" && n%(len(entryLines)+3) != 0 || kind != "launcher" && n%6 != 0 || n == 0 {
			t.Errorf("control: %d rows of kind %q", n, kind)
		}
	}
}
