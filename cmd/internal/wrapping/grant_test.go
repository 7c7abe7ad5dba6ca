package wrapping

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// TestGrants: what the user's own entry shows becomes a policy.
func TestGrants(t *testing.T) {
	h := newHost(t)
	docs, data := filepath.Join(h.Home, "docs"), filepath.Join(h.Home, "data.json")
	must(t, os.Mkdir(docs, 0o700))
	write(t, data, "{}")
	write(t, filepath.Join(h.Home, ".ssh/id_rsa"), "")
	must(t, os.Symlink(filepath.Join(h.Home, ".ssh"), filepath.Join(h.Home, "link")))
	script := filepath.Join(h.Home, "server.js")
	write(t, script, "")
	write(t, filepath.Join(h.Home, "vars.env"), "# a comment\nexport TOKEN=x\nNAME = y\nnot a line\n")
	write(t, filepath.Join(h.Home, ".npm/_npx/0f/node_modules/@modelcontextprotocol/server-memory/dist/memory.json"), "{}")
	for name, c := range testkit.Named[struct {
		client, entry string
		flags, gets   string
		note          string
	}](t, "grants.txt", "<script>", script, "<data>", data, "<docs>", docs, "<home>", h.Home) {
		t.Run(name, func(t *testing.T) {
			file := ".cursor/mcp.json"
			text := `{"mcpServers": {"s": ` + c.entry + `}}`
			switch c.client {
			case "claude-code":
				file = ".claude.json"
			case "roo":
				file = ".config/Code/User/globalStorage/rooveterinaryinc.roo-cline/settings/mcp_settings.json"
			case "vscode":
				file, text = ".config/Code/User/mcp.json", `{"servers": {"s": `+c.entry+`}}`
			case "codex":
				file, text = ".codex/config.toml", "[mcp_servers.s]\n"+tomlOf(t, c.entry)
			}
			write(t, filepath.Join(h.Home, file), text)
			f := only(t, h, Selection{Clients: []string{c.client}, Files: []string{filepath.Join(h.Home, file)}})
			p := f.Wrap(Program{Path: program}, Selection{}, h, newIDs(h)).Servers[0]
			if got := strings.Join(p.Flags, " "); got != c.flags || p.Left != "" {
				t.Errorf("flags %q, want %q; left %s", got, c.flags, p.Left)
			}
			if got := strings.Join(p.Gets, ", "); got != c.gets {
				t.Errorf("gets %q, want %q", got, c.gets)
			}
			if !strings.Contains(strings.Join(append(p.Notes, p.Remarks...), "\n"), c.note) {
				t.Errorf("no %q in %q", c.note, p.Notes)
			}
		})
	}
}

// TestSharedDirectory: an entry is left if its preset would grant the shared directory around a file.
// Other grants of the home directory, or of one around it, have the warning of a start.
func TestSharedDirectory(t *testing.T) {
	h := newHost(t)
	link := filepath.Join(h.Home, "link")
	must(t, os.Symlink(h.Home, link))
	must(t, os.Mkdir(filepath.Join(h.Home, "own"), 0o700))
	memory := func(file string) string {
		return `{"command": "npx", "args": ["-y", "@modelcontextprotocol/server-memory"], "env": {"MEMORY_FILE_PATH": "` + file + `"}}`
	}
	sqlite := func(file string) string {
		return `{"command": "uvx", "args": ["mcp-server-sqlite", "--db-path", "` + file + `"]}`
	}
	const left, wide, neither = "left", "wide", "neither"
	for entry, want := range map[string]string{
		memory(h.Home + "/m.json"): left, memory("${userHome}/m.json"): left, memory("~/m.json"): neither, memory(link + "/m.json"): left, memory("/tmp/m.json"): neither, memory(h.Home + "/own/../m.json"): left,
		sqlite(h.Home + "/t.db"): left, sqlite("~/t.db"): left, sqlite("/t.db"): left, sqlite(h.Home + "/.config/t.db"): left,
		memory(h.Home + "/own/m.json"): neither, sqlite(h.Home + "/own/t.db"): neither, sqlite("t.db"): neither,
		`{"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "` + h.Home + `"]}`:     wide,
		`{"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/"]}`:                  wide,
		`{"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "` + h.Home + `/own"]}`: neither,
		`{"command": "npx", "args": ["-y", "mcp-obsidian", "` + filepath.Dir(h.Home) + `"]}`:                  wide,
		`{"command": "mine", "args": ["--dir=` + h.Home + `"]}`:                                               wide,
		`{"command": "mine", "args": ["--dir=` + h.Home + `/own"]}`:                                           neither,
	} {
		file := filepath.Join(h.Home, ".cursor/mcp.json")
		write(t, file, `{"mcpServers": {"s": `+entry+`}}`)
		change := only(t, h, Selection{Clients: []string{"cursor"}, Files: []string{file}}).Wrap(Program{Path: program}, Selection{}, h, newIDs(h))
		p, got := change.Servers[0], neither
		switch {
		case strings.Contains(p.Left, "would not start in the jail: preset "):
			got = left
		case strings.Contains(strings.Join(p.Notes, "\n"), "to everything below "):
			got = wide
		}
		if got != want || (p.Left != "") != (want == left) || (len(change.Changed()) == 0) != (want == left) {
			t.Errorf("%s: %s, want %s; left %q, notes %q", entry, got, want, p.Left, p.Notes)
		}
		if want == left && (!strings.Contains(p.Left, "such as ~/mcp-") || string(change.After) != string(change.File.own.Data)) {
			t.Errorf("%s: %s\n%s", entry, p.Left, change.After)
		}
	}
}

// TestUnasked: which rows of the judge of harm hold for what a user's own entry names, and what --yes leaves out of it.
func TestUnasked(t *testing.T) {
	h := newHost(t)
	for _, file := range []string{"docs/a.txt", "docs/server.pem", "docs/new", ".npm/x", ".bashrc"} {
		write(t, filepath.Join(h.Home, file), "")
	}
	files := func(path string) string {
		return `{"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "` + h.Home + path + `"]}`
	}
	for entry, want := range map[string]struct{ path, asked, unasked string }{
		`{"command": "mine", "args": ["` + h.Home + `/docs"]}`:                {"/docs", "", ""}, // directly in the home directory
		`{"command": "mine", "env": {"F": "` + h.Home + `/docs/a.txt"}}`:      {"/docs/a.txt", "", ""},
		`{"command": "mine", "env": {"F": "` + h.Home + `/docs/server.pem"}}`: {"", "is not granted: it has the name of a file with a key", "mcp-jail grant s --read " + h.Home + "/docs/server.pem"},
		files("/docs"):    {"/docs", "", ""},
		files("/.npm"):    {"/.npm", "/.npm gives control of", "mcp-jail grant s --write " + h.Home + "/.npm"},
		files("/.bashrc"): {"", "is not granted: it decides", "is not granted: it decides"},
	} {
		path := filepath.Join(h.Home, ".cursor/mcp.json")
		write(t, path, `{"mcpServers": {"s": `+entry+`}}`)
		for _, unasked := range []bool{false, true} {
			p := only(t, h, Selection{Clients: []string{"cursor"}, Files: []string{path}}).Wrap(Program{Path: program}, Selection{Unasked: unasked}, h, newIDs(h)).Servers[0]
			note, gets := want.asked, want.path != ""
			if unasked {
				note, gets = want.unasked, want.path != "" && want.asked == ""
			}
			if got := slices.ContainsFunc(p.Gets, func(text string) bool { return strings.HasPrefix(text, "~"+want.path) }); got != gets || !strings.Contains(strings.Join(append(p.Notes, p.Careful...), "\n"), note) || note == "" && len(p.Notes) > 0 {
				t.Errorf("%s, unasked %t: gets %q, notes %q", entry, unasked, p.Gets, p.Notes)
			}
			if text := string(p.Own.Encode()); want.path != "" && strings.Contains(text, `path = "`+h.Home+want.path+`"`) != gets {
				t.Errorf("%s, unasked %t: its file\n%s", entry, unasked, text)
			}
		}
	}
}

// tomlOf writes the texts and lists of an entry as TOML.
func tomlOf(t *testing.T, entry string) (text string) {
	t.Helper()
	var all map[string]any
	must(t, json.Unmarshal([]byte(entry), &all))
	for key, value := range all {
		b, err := json.Marshal(value)
		must(t, err)
		text += fmt.Sprintf("%s = %s\n", key, b)
	}
	return text
}

// TestWrapSensitive tests that an entry gets no file of a secret of the user's configuration, no
// sensitive path of the user's defaults, and nothing of mcp-jail's own, by links either.
func TestWrapSensitive(t *testing.T) {
	h := newHost(t)
	write(t, filepath.Join(h.Home, ".config/mcp-jail/config.toml"), `version = 1
[defaults]
sensitive_paths = ["~/vault"]
[servers.lab]
command = "x"
[[servers.lab.access.net]]
host = "gitlab.example"
allow = true
secret = { env = "T", file = "~/token" }
`)
	for _, file := range []string{"token", "vault/a.txt", ".local/state/mcp-jail/trust.toml", "notes/a.txt"} {
		write(t, filepath.Join(h.Home, file), "x")
	}
	must(t, os.Symlink(filepath.Join(h.Home, ".local/state"), filepath.Join(h.Project, "state")))
	for file, why := range map[string]string{
		filepath.Join(h.Home, "token"): "sensitive file (~/token)", filepath.Join(h.Home, "vault/a.txt"): "sensitive file (~/vault)", filepath.Join(h.Project, "state/mcp-jail"): "decides what a jail grants",
		filepath.Join(h.Home, ".config/mcp-jail"): "decides what a jail grants", filepath.Join(h.Home, "notes/a.txt"): "",
	} {
		write(t, filepath.Join(h.Home, ".cursor/mcp.json"), `{"mcpServers": {"s": {"command": "mine", "args": ["`+file+`"]}}}`)
		p := only(t, h, Selection{Clients: []string{"cursor"}}).Wrap(Program{Path: program}, Selection{}, h, newIDs(h)).Servers[0]
		if got := slices.Contains(p.Flags, file); got != (why == "") || !strings.Contains(strings.Join(p.Notes, "\n"), why) {
			t.Errorf("%s: %q, %q", file, p.Flags, p.Notes)
		}
	}
}

// TestWithheld: an entry of a project gets nothing of what it names, and one command allows all of it but what is asked for
// apart. The same entry in a file of the user's own gets it.
func TestWithheld(t *testing.T) {
	h := newHost(t)
	for _, file := range []string{"notes/a.txt", "data/b.txt", "keys/id_rsa"} {
		write(t, filepath.Join(h.Home, file), "")
	}
	write(t, filepath.Join(h.Project, "out/c.txt"), "") // of the project folder, which it gets
	entry := `{"mcpServers": {"s": {"command": "mine", "args": ["--in=` + h.Home + `/notes", "` + h.Project + `/out", "http://localhost:8080/x"], "env": {"A": "1", "D": "` + h.Home + `/data", "K": "` + h.Home + `/keys/id_rsa"}}}}`
	all := "mcp-jail grant s --read " + h.Home + "/notes --net localhost:8080 --read " + h.Home + "/data --env A --env D --env K"
	for file, own := range map[string]bool{filepath.Join(h.Project, ".mcp.json"): false, filepath.Join(h.Home, ".claude.json"): true} {
		write(t, file, entry)
		p := only(t, h, Selection{Clients: []string{"claude-code"}, Files: []string{file}}).Wrap(Program{Path: program}, Selection{}, h, newIDs(h)).Servers[0]
		notes := strings.Join(p.Notes, "\n") + "\n"
		if got := slices.Contains(p.Flags, "--read"); got != own || strings.Contains(notes, all+"\n") == own || !strings.Contains(notes, "mcp-jail grant s --read "+h.Home+"/keys/id_rsa\n") {
			t.Errorf("%s: %q, %s", file, p.Flags, notes)
		}
	}
}

// TestWithheldVariables: the command that allows all of an entry has no variable that no server can be granted.
func TestWithheldVariables(t *testing.T) {
	var g Grant
	var s Entry
	s.Server, s.Names = "s", []string{"A", "HTTP_PROXY", "B*"}
	g.withholdAll(s, nil, []string{"NO_PROXY", "C"}, newHost(t))
	notes := strings.Join(g.Notes, "\n") + "\n"
	if !strings.Contains(notes, "mcp-jail grant s --env A --env C\n") || !strings.Contains(notes, "the variable B* is not granted: ") {
		t.Error(notes)
	}
}

// TestNoteHidden: a sensitive file that a project's entry names is noted, with its whole path.
func TestNoteHidden(t *testing.T) {
	h := newHost(t)
	env := filepath.Join(h.Project, ".env")
	write(t, env, "K=v")
	for word, noted := range map[string]bool{"--env-file=.env": true, ".env": true, env: true, "--env-file=none.env": false, "-e": false, "": false} {
		write(t, filepath.Join(h.Project, ".mcp.json"), `{"mcpServers": {"s": {"command": "mine", "args": ["`+word+`"]}}}`)
		p := only(t, h, Selection{Clients: []string{"claude-code"}}).Wrap(Program{Path: program}, Selection{}, h, newIDs(h)).Servers[0]
		if got := strings.Contains(strings.Join(p.Notes, "\n"), "mcp-jail grant s --read "+env); got != noted {
			t.Errorf("%s: %q", word, p.Notes)
		}
	}
}

// TestMissingProgram: which programs are said to be missing, and how. mcp-jail starts the packages of
// launchers without the launcher.
func TestMissingProgram(t *testing.T) {
	h := newHost(t)
	bin := t.TempDir()
	for _, file := range []string{filepath.Join(bin, "npx"), filepath.Join(bin, "a b"), filepath.Join(h.Home, "tool")} {
		write(t, file, "#!/bin/sh\n")
		must(t, os.Chmod(file, 0o700))
	}
	h.Env = func(name string) string { return map[string]string{"PATH": bin}[name] }
	const missing, oneWord = ": was not found", " is one word. "
	for entry, want := range testkit.Named[string](t, "waived.txt", "<bin>", bin) {
		write(t, filepath.Join(h.Home, ".cursor", "mcp.json"), `{"mcpServers": {"s": `+entry+`}}`)
		f := only(t, h, Selection{})
		ch := f.Wrap(Program{Path: program}, Selection{}, h, newIDs(h))
		notes := strings.Join(slices.Concat(ch.Servers[0].Fails, ch.Servers[0].Notes), "\n")
		if strings.Contains(notes, missing) != (want == missing) || strings.Contains(notes, oneWord) != (want == oneWord) {
			t.Errorf("%s: %q, want %q", entry, notes, want)
		}
	}
}

// TestWholeLineWritten: what to write in place of a whole line in one word, in the form of the file and
// without secrets.
func TestWholeLineWritten(t *testing.T) {
	for file, c := range testkit.Named[struct{ text, want string }](t, "whole-lines.txt") {
		h := newHost(t)
		path := filepath.Join(h.Home, file)
		write(t, path, c.text)
		ch := only(t, h, Selection{Files: []string{path}}).Wrap(Program{Path: program}, Selection{}, h, newIDs(h))
		notes := strings.Join(slices.Concat(ch.Servers[0].Fails, ch.Servers[0].Notes), "\n")
		if !strings.Contains(notes, c.want) {
			t.Errorf("%s: %q, want %q", file, notes, c.want)
		}
		if all := notes + ch.Diff() + terminal.ShownLine(ch.Servers[0].Argv()); strings.Contains(all, "hunter22") {
			t.Errorf("%s: the secret is shown:\n%s", file, all)
		}
	}
}

// fixtures has the rows of TestWrapAndUnwrap: CLIENT/FILE is a file of a client before wrap, FILE.after the
// one that wrap makes of it, and FILE.unwrapped what unwrap makes of that, where it is not the first.
// SCOPE, or SCOPE-NAME, and the ending of a file select its place. Two words stand for what no file can
// know: the path of mcp-jail, and the end of an id.
const (
	fixtures     = "../../../clients/testdata"
	shownProgram = "/usr/local/bin/mcp-jail"
	shownID      = "0123456789ab"
)

// A row is a file of a client.
type row struct {
	client clients.Client
	place  clients.Place
	name   string // below fixtures
}

// rows returns the rows of the table. There is one for each client at least.
func rows(t *testing.T) (all []row) {
	t.Helper()
	for _, c := range clients.All() {
		names, err := filepath.Glob(filepath.Join(fixtures, c.Name, "*"))
		must(t, err)
		before := len(all)
		for _, name := range names {
			base, ext := filepath.Base(name), filepath.Ext(name)
			if strings.Count(base, ".") > 1 {
				continue // another column
			}
			scope, _, _ := strings.Cut(strings.TrimSuffix(base, ext), "-")
			at := slices.IndexFunc(c.Places, func(p clients.Place) bool { return string(p.Scope) == scope && strings.HasSuffix(p.Linux, ext) })
			if at < 0 {
				t.Fatalf("%s: %s has no such place", name, c.Name)
			}
			all = append(all, row{c, c.Places[at], c.Name + "/" + base})
		}
		if len(all) == before {
			t.Errorf("%s has no row", c.Name)
		}
	}
	return all
}

// column returns the name of the file in another column of the table.
func (r row) column(name string) string {
	ext := filepath.Ext(r.name)
	return filepath.Join("..", fixtures, strings.TrimSuffix(r.name, ext)+"."+name+ext)
}

// TestWrapAndUnwrap wraps and unwraps each file where its client keeps it, byte for byte. One of each format is also
// tried as programs of Windows write it: with a byte order mark, CRLF, and no end of the last line. Package edit has
// all files in that form.
func TestWrapAndUnwrap(t *testing.T) {
	tried := map[string]bool{}
	for _, r := range rows(t) {
		t.Run(r.name, func(t *testing.T) {
			before := testkit.ReadFile(t, filepath.Join(fixtures, r.name))
			wrapped, unwrapped := r.wrapAndUnwrap(t, before)
			testkit.Golden(t, r.column("after"), wrapped)
			if _, err := os.Stat(filepath.Join("testdata", r.column("unwrapped"))); err == nil || unwrapped != before {
				testkit.Golden(t, r.column("unwrapped"), unwrapped)
			}
			format := filepath.Ext(r.name)
			if tried[format] && !testkit.Long() {
				return
			}
			tried[format] = true
			windows := func(text string) string {
				return "\ufeff" + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\r\n")
			}
			if w, u := r.wrapAndUnwrap(t, windows(before)); w != windows(wrapped) || u != windows(unwrapped) {
				t.Errorf("of Windows, wrapped:\n%s\nunwrapped:\n%s", w, u)
			}
		})
	}
}

// wrapAndUnwrap returns the texts that a file becomes. Between them, each wrapped entry starts in the jail,
// and nothing is left to wrap.
func (r row) wrapAndUnwrap(t *testing.T, before string) (wrapped, unwrapped string) {
	t.Helper()
	h := newHost(t)
	program, state := Program{Path: ours(h)}, filepath.Join(h.Home, "state")
	write(t, program.Path, "")
	at, ok := r.place.Locate(h)
	if !ok {
		t.Fatalf("%s has no such place", r.client.Name)
	}
	path := cmp.Or(at.File, filepath.Join(at.Dir, strings.NewReplacer("**/", "", "*", "x").Replace(at.Pattern)))
	write(t, path, strings.ReplaceAll(before, shownProgram, program.Path))
	must(t, os.Chmod(path, 0o640))
	t.Setenv("PATH", filepath.Dir(program.Path)+":"+os.Getenv("PATH"))
	must(t, os.Chmod(program.Path, 0o755))
	find := func() *File { return only(t, h, Selection{Clients: []string{r.client.Name}, Files: []string{path}}) }
	save := func(c *Change) string {
		was := c.File.own.Data
		must(t, WriteFiles(configDir(h), []*Change{c}))
		backup, err := c.Write(state, time.Now())
		must(t, err)
		info, err := os.Stat(path)
		must(t, err)
		if info.Mode() != 0o640 || testkit.ReadFile(t, backup) != string(was) {
			t.Errorf("the mode is %s, or the copy is not the file", info.Mode())
		}
		return testkit.ReadFile(t, path)
	}
	wrap := func() *Change {
		f := find()
		return f.Wrap(program, Selection{}, h, newIDs(h, f))
	}

	first := wrap()
	wrapped = save(first)
	for i, e := range find().Entries {
		if s := first.Servers[i]; s.Left == "" && e.file.Judge(e, program, h).State == Jailed == slices.ContainsFunc(e.Args, e.by.client.Runs) {
			t.Errorf("%s is wrapped, and judged: %s", e.Server, e.file.Judge(e, program, h).Why)
		}
	}
	if again := wrap(); len(again.Changed()) != 0 || again.Diff() != "" {
		t.Errorf("a second wrap changes it: %s", again.Diff())
	}
	f := find()
	unwrapped = save(f.Unwrap(Selection{}))
	words := []string{program.Path, shownProgram}
	for _, e := range f.Entries {
		if w, _ := clients.ParseWrapped(e.Argv()); w.ID != "" {
			words = append(words, w.ID[len(w.ID)-len(shownID):], shownID)
		}
	}
	shown := strings.NewReplacer(words...).Replace
	return shown(wrapped), shown(unwrapped)
}
