package wrapping

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// anyID matches the end of an id.
var anyID = regexp.MustCompile(`-[0-9a-hjkmnp-tv-z]{12}\b`)

// wrapAll wraps what a selection finds, and writes it.
func wrapAll(t *testing.T, h clients.Host, tables ...string) (all []ServerChange) {
	t.Helper()
	files, err := Find(h, Selection{})
	must(t, err)
	ids := NewIDs(configDir(h), files, tables)
	for _, f := range files {
		c := f.Wrap(Program{Path: program}, Selection{}, h, ids)
		must(t, WriteFiles(configDir(h), []*Change{c}))
		if c.Rewrites() {
			_, err := c.Write(filepath.Join(h.Home, "state"), time.Now())
			must(t, err)
		}
		all = append(all, c.Servers...)
	}
	return all
}

// fileOf returns the file of a server, without its first lines and the end of its id.
func fileOf(t *testing.T, h clients.Host, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(configDir(h), config.ServersDir, name+".toml"))
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(text), "]\n")
	return anyID.ReplaceAllString(strings.Join(strings.Fields(strings.ReplaceAll(rest, h.Home, "HOME")), " "), "-ID")
}

// TestOldEntries: the flags of an older entry of the user's own are read into a file once, and the words in
// front become those of an id.
func TestOldEntries(t *testing.T) {
	for args, want := range testkit.Named[string](t, "old-entries.txt") {
		h := newHost(t)
		path := filepath.Join(h.Home, ".claude.json")
		before := `{"mcpServers": {"s": {"command": "` + program + `", "args": [` + args + `, "x", "\u0061"]}}}`
		write(t, path, before)
		got := wrapAll(t, h)[0]
		file := fileOf(t, h, "s")
		if want == "" {
			if got.Left == "" || file != "" {
				t.Errorf("%s: left %q, %s", args, got.Left, file)
			}
			continue
		}
		if file != want {
			t.Errorf("%s becomes\n%s, want\n%s; left %q", args, file, want, got.Left)
		}
		text, err := os.ReadFile(path)
		must(t, err)
		if after := anyID.ReplaceAllString(string(text), "-ID"); after != `{"mcpServers": {"s": {"command": "`+program+`", "args": ["run", "--id", "s-ID", "--", "x", "\u0061"]}}}` {
			t.Errorf("%s: %s", args, after)
		}
		if again := wrapAll(t, h)[0]; again.Left != string(clients.Jailed) {
			t.Errorf("%s, again: %+v", args, again)
		}
	}
}

// TestOwnNetwork: the file of a server has the host and port of this machine that a variable names, and nothing of the
// way to other hosts.
func TestOwnNetwork(t *testing.T) {
	h := newHost(t)
	write(t, filepath.Join(h.Home, ".claude.json"), `{"mcpServers": {"s": {"command": "x", "env": {"TRACKER_URL": "http://127.0.0.1:8932", "HTTPS_PROXY": "http://127.0.0.1:3128"}}}}`)
	wrapAll(t, h)
	if got, want := fileOf(t, h, "s"), `id = "s-ID" command = "x" arguments = [] variables = ["TRACKER_URL"] [servers.s.access] workspace = "none" [[servers.s.access.fs]] path = "." read = true write = true [[servers.s.access.net]] host = "127.0.0.1" port = 8932 allow = true`; got != want {
		t.Errorf("%s, want\n%s", got, want)
	}
}

// TestOwnSecrets: the token that a preset knows is a secret in the file of the server. It gets the value of another one.
func TestOwnSecrets(t *testing.T) {
	h := newHost(t)
	write(t, filepath.Join(h.Home, ".claude.json"), `{"mcpServers": {"s": {"command": "npx", "args": ["-y", "tavily-mcp"], "env": {"TAVILY_API_KEY": "k", "TAVILY_TOKEN": "t", "PAGER": "less"}}}}`)
	wrapAll(t, h)
	if got := fileOf(t, h, "s"); !strings.Contains(got, `host = "api.tavily.com"`) || !strings.Contains(got, `secret = { env = "TAVILY_API_KEY"`) || !strings.Contains(got, `variables = ["PAGER", "TAVILY_TOKEN"]`) {
		t.Error(got)
	}
}

// TestIDs: each entry has an id and a file of its own, and no name is that of a table.
func TestIDs(t *testing.T) {
	h := newHost(t)
	h.Project = ""
	write(t, filepath.Join(h.Home, ".cursor/mcp.json"), `{"mcpServers": {"a": {"command": "x"}, "B c": {"command": "x"}, "taken": {"command": "x"}}}`)
	write(t, filepath.Join(h.Home, ".codeium/windsurf/mcp_config.json"), `{"mcpServers": {"a": {"command": "x"}, "b c": {"command": "y"}}}`)
	write(t, filepath.Join(h.Home, ".claude.json"), strings.ReplaceAll(`{"mcpServers": {"a": {"command": "x"}}, "projects": {"HOME/p": {"mcpServers": {"a": {"command": "x"}}}}}`, "HOME", h.Home))
	write(t, filepath.Join(h.Home, "p", "x"), "")
	var names []string
	ids := map[string]bool{}
	for _, s := range wrapAll(t, h, "taken") {
		names, ids[s.Own.Server.ID] = append(names, s.Own.Server.Name), true
	}
	slices.Sort(names)
	if got := strings.Join(names, " "); got != "a a-2 a-3 a-4 b-c b-c-2 taken-2" || len(ids) != 7 {
		t.Errorf("%s; %d ids", got, len(ids))
	}
	if file := fileOf(t, h, "a-2"); !strings.Contains(file, `directory = "HOME/p"`) {
		t.Errorf("%s", file)
	}
}

// TestApart: what the user grants to a server in one client gives nothing to the same one in another client.
func TestApart(t *testing.T) {
	h := newHost(t)
	const entry = `{"mcpServers": {"s": {"command": "x", "args": ["a"]}}}`
	write(t, filepath.Join(h.Home, ".claude.json"), entry)
	wrapAll(t, h)
	write(t, filepath.Join(h.Home, ".cursor/mcp.json"), entry)
	wrapAll(t, h)
	before := fileOf(t, h, "s-2")
	must(t, config.ChangeServers(configDir(h), func(files []*config.ServerFile, _ []error) ([]*config.ServerFile, error) {
		at := slices.IndexFunc(files, func(f *config.ServerFile) bool { return f.Server.Name == "s" })
		files[at].Server.Variables = []policy.EnvRule{{Name: "GIVEN", Read: true}}
		return files, nil
	}))
	for _, s := range wrapAll(t, h) {
		if s.Left != string(clients.Jailed) {
			t.Errorf("%+v", s)
		}
	}
	if after := fileOf(t, h, "s-2"); before == "" || after != before || !strings.Contains(fileOf(t, h, "s"), "GIVEN") {
		t.Errorf("%s, was %s", after, before)
	}
}

// TestCopiedLine: a line that the user has copied with its id stays in both files, byte for byte, also where the server has no
// file here.
func TestCopiedLine(t *testing.T) {
	h := newHost(t)
	entry := `{"mcpServers": {"s": {"command": "` + program + `", "args": ["run", "--id", "s-4k7q2m9x3vt5", "--", "x"]}}}`
	paths := []string{filepath.Join(h.Home, ".claude.json"), filepath.Join(h.Home, ".cursor/mcp.json")}
	for _, path := range paths {
		write(t, path, entry)
	}
	for range 2 { // without a file, and with one
		for i, s := range wrapAll(t, h) {
			if s.Own.Server.ID != "s-4k7q2m9x3vt5" || s.Own.Server.Name != "s" || testkit.ReadFile(t, paths[i]) != entry {
				t.Errorf("%+v, %s", s.Own.Server, testkit.ReadFile(t, paths[i]))
			}
		}
	}
	if files, _ := config.ReadServers(configDir(h))(); len(files) != 1 {
		t.Errorf("%d files", len(files))
	}
}

// TestKnownIDs: what becomes of an entry that has an id.
func TestKnownIDs(t *testing.T) {
	const id, other = "s-4k7q2m9x3vt5", "s-aaaaaaaaaaaa"
	entry := func(id, words string) string {
		return `{"mcpServers": {"s": {"command": "` + program + `", "args": ["run", "--id", "` + id + `", "--", ` + words + `]}}}`
	}
	for name, c := range map[string]struct {
		file, entry, project string
		want                 string // the command line of the file; "" if wrap changes nothing
		keeps                bool   // the client's file stays as it is
	}{
		"as it is":                       {`"x"`, entry(id, `"x"`), "", "", true},
		"other words":                    {`"x"`, entry(id, `"y"`), "", "y", true},
		"a value in place of a variable": {`"${A}b"`, entry(id, `"/c/b"`), "", "", true},
		"no file":                        {"", entry(id, `"x"`), "", "x", true},
		"no file of that id":             {`"x"`, entry(other, `"x"`), "", "x", true},
		"also in a project":              {`"x"`, entry(id, `"x"`), entry(id, `"evil"`), "x", false},
	} {
		h := newHost(t)
		servers := filepath.Join(configDir(h), config.ServersDir)
		if c.file != "" {
			write(t, filepath.Join(servers, "s.toml"), "[servers.s]\nid = \""+id+"\"\ncommand = "+c.file+"\n")
		}
		path := filepath.Join(h.Home, ".claude.json")
		write(t, path, c.entry)
		if c.project != "" {
			write(t, filepath.Join(h.Project, ".mcp.json"), c.project)
		}
		all := wrapAll(t, h)
		s := all[slices.IndexFunc(all, func(s ServerChange) bool { return !s.file.IsProject() })]
		after, err := os.ReadFile(path)
		must(t, err)
		if (s.Left == "") != (c.want != "") || (string(after) == c.entry) != c.keeps {
			t.Errorf("%s: left %q, %s", name, s.Left, after)
		}
		if c.want != "" && (s.Own.Server.Command != c.want || !strings.Contains(string(after), s.Own.Server.ID)) {
			t.Errorf("%s: %+v", name, s.Own.Server)
		}
		if c.project != "" {
			if s.Own.Server.ID == id || s.Former != id || !strings.Contains(strings.Join(s.Notes, ""), filepath.Join(h.Project, ".mcp.json")+", line 1") {
				t.Errorf("%s: %s, %q", name, s.Own.Server.ID, s.Notes)
			}
		}
		files, broken := config.ReadServers(configDir(h))()
		if at := slices.IndexFunc(files, func(f *config.ServerFile) bool { return f.Server.ID == s.Own.Server.ID }); at < 0 || len(broken) > 0 {
			t.Errorf("%s: no file has the id: %v", name, broken)
		}
	}
}

// TestOneIDTwice: of two entries with one id, the one with the words of the file keeps it.
func TestOneIDTwice(t *testing.T) {
	h := newHost(t)
	path := filepath.Join(h.Home, ".claude.json")
	entry := `{"command": "` + program + `", "args": ["run", "--id", "s-4k7q2m9x3vt5", "--", "x"]}`
	for range 2 { // without a file, and with one
		write(t, path, `{"mcpServers": {"a": `+entry+`, "b": `+strings.Replace(entry, `"x"`, `"y"`, 1)+`}}`)
		all := wrapAll(t, h)
		if a, b := all[0].Own.Server, all[1].Own.Server; a.ID != "s-4k7q2m9x3vt5" || a.Command != "x" || b.ID == a.ID || b.Command != "y" {
			t.Errorf("%+v, %+v", a, b)
		}
	}
}

// TestBrokenFile: an entry whose file may be one that cannot be used gets no second file, which would lack the denials of the first.
func TestBrokenFile(t *testing.T) {
	h := newHost(t)
	write(t, filepath.Join(h.Home, ".claude.json"), `{"mcpServers": {"s": {"command": "x"}}}`)
	own := wrapAll(t, h)[0].Own
	write(t, own.Path, strings.Replace(testkit.ReadFile(t, own.Path), "version = 1", "version = one", 1))
	for range 2 {
		files, err := Find(h, Selection{})
		must(t, err)
		p := files[0].Wrap(Program{Path: program}, Selection{}, h, newIDs(h)).Servers[0]
		if !strings.Contains(p.Left, "repair that first") || p.Own != nil {
			t.Errorf("%+v", p)
		}
	}
}

// TestOffered: after unwrap the files stay. Each is that of one entry with the same name, words and directory.
func TestOffered(t *testing.T) {
	h := newHost(t)
	paths := []string{filepath.Join(h.Home, ".claude.json"), filepath.Join(h.Home, ".cursor/mcp.json")}
	const plain = `{"mcpServers": {"s": {"command": "x", "args": ["a"]}}}`
	idsOf := func(texts ...string) string {
		for i, text := range texts {
			write(t, paths[i], text)
		}
		var ids []string
		for _, s := range wrapAll(t, h) {
			ids = append(ids, s.Own.Server.ID)
		}
		return strings.Join(ids, " ")
	}
	first := idsOf(plain, plain)
	wrapped := testkit.ReadFile(t, paths[0])
	before, after, _ := strings.Cut(first, " ")
	for name, c := range map[string]struct {
		one, two string
		want     string // "?" is a new id
	}{
		"both again":           {plain, plain, before + " " + after},
		"the second alone":     {wrapped, plain, before + " " + after},
		"other words":          {strings.Replace(plain, `"a"`, `"b"`, 1), plain, "? " + before},
		"another name":         {strings.Replace(plain, `"s"`, `"t"`, 1), plain, "? " + before},
		"another directory":    {`{"projects": {"` + h.Home + `/d": ` + plain + `}}`, plain, "? " + before},
		"two more in one file": {strings.Replace(plain, `]}`, `]}, "S": {"command": "x", "args": ["a"]}`, 1), plain, before + " " + after + " ?"},
	} {
		must(t, os.MkdirAll(filepath.Join(h.Home, "d"), 0o700))
		got := strings.Split(idsOf(c.one, c.two), " ")
		for i, id := range got {
			if id != before && id != after {
				got[i] = "?"
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		files, _ := config.ReadServers(configDir(h))()
		for _, f := range files {
			if !strings.Contains(first, f.Server.ID) { // it is of this row
				must(t, os.Remove(f.Path))
			}
		}
	}
}

// TestSaved: a word of which the client makes another one at each start has "${…}" in the file.
func TestSaved(t *testing.T) {
	for client, c := range testkit.Named[struct{ file, entry, want string }](t, "saved.txt") {
		h := newHost(t)
		write(t, filepath.Join(h.Home, c.file), c.entry)
		wrapAll(t, h)
		if file := fileOf(t, h, "s"); !strings.Contains(file, "arguments = "+c.want) {
			t.Errorf("%s: %s", client, file)
		}
	}
}

// TestNewerPreset: what a preset gives now and the file of a wrapped server has not is told. wrap does not write it,
// and tells nothing of a file that has it all.
func TestNewerPreset(t *testing.T) {
	h := newHost(t)
	for _, words := range []string{`"-y", "tavily-mcp"`, `"-y", "@modelcontextprotocol/server-memory"`, `"-y", "@playwright/mcp"`, `"-y", "slack-mcp-server"`} {
		write(t, filepath.Join(h.Home, ".claude.json"), `{"mcpServers": {"s": {"command": "npx", "args": [`+words+`], "env": {"TAVILY_API_KEY": "k"}}}}`)
		wrapAll(t, h)
		if again := wrapAll(t, h)[0]; again.Newer != nil || again.Left == "" {
			t.Errorf("%s: %q, %s", words, again.Newer, again.Left)
		}
		must(t, os.RemoveAll(configDir(h)))
	}
	write(t, filepath.Join(h.Home, ".claude.json"), `{"mcpServers": {"s": {"command": "npx", "args": ["-y", "tavily-mcp"], "env": {"TAVILY_API_KEY": "k"}}}}`)
	wrapAll(t, h)
	file := filepath.Join(configDir(h), config.ServersDir, "s.toml")
	text, err := os.ReadFile(file)
	must(t, err)
	older := strings.Replace(string(text), "api.tavily.com", "old.tavily.com", 1)
	write(t, file, older)
	again := wrapAll(t, h)[0]
	if got := strings.Join(again.Newer, "\n"); !strings.Contains(got, "api.tavily.com") || strings.Contains(got, "old.tavily.com") {
		t.Errorf("%q", got)
	}
	if now, err := os.ReadFile(file); string(now) != older || again.Left == "" {
		t.Errorf("%s, %v; left %q", now, err, again.Left)
	}
}

// TestTakeOver: at a start, other words than those of its file count for an id only if an entry of the user's own has
// exactly this line.
func TestTakeOver(t *testing.T) {
	const id = "s-4k7q2m9x3vt5"
	entry := func(words string) string {
		return `{"mcpServers": {"s": {"command": "` + program + `", "args": ["run", "--id", "` + id + `", "--", ` + words + `]}}}`
	}
	for name, c := range testkit.Named[struct {
		own, other, project, given string
		want                       string
	}](t, "takeover.txt") {
		h := newHost(t)
		h.Env = func(name string) string { return map[string]string{"CLAUDE_CONFIG_DIR": h.Project}[name] }
		file := filepath.Join(configDir(h), config.ServersDir, "s.toml")
		write(t, file, "[servers.s]\nid = \""+id+"\"\ncommand = \"x\"\narguments = [\"a\"]\nhome = \"real\"\n")
		for path, words := range map[string]string{
			filepath.Join(h.Home, ".claude.json"):     c.own,
			filepath.Join(h.Home, ".cursor/mcp.json"): c.other,
			filepath.Join(h.Project, ".mcp.json"):     c.project,
			filepath.Join(h.Project, ".claude.json"):  c.project,
		} {
			if words != "" {
				write(t, path, entry(words))
			}
		}
		place, err := TakeOver(configDir(h), h, id, strings.Fields(c.given))
		must(t, err)
		f, err := config.FindServerFile(configDir(h), id)
		must(t, err)
		want, wantPlace := c.want, filepath.Join(h.Home, ".claude.json")+", line 1"
		if want == "" {
			want, wantPlace = "x a", ""
		}
		if got := strings.Join(f.Words(), " "); got != want || place != wantPlace || f.Server.Home != "real" {
			t.Errorf("%s: %s, taken from %q", name, got, place)
		}
	}
}

// TestDiffHides: the diff shows no secret among the variables and the arguments, and nothing of one that begins
// like another one.
func TestDiffHides(t *testing.T) {
	for entry, c := range testkit.Named[struct{ hidden, shown []string }](t, "secrets.txt") {
		h := newHost(t)
		write(t, filepath.Join(h.Project, ".mcp.json"), `{"mcpServers": {"a": {"command": "x", `+entry+`}}}`)
		diff := only(t, h, Selection{}).Wrap(Program{Path: program}, Selection{}, h, newIDs(h)).Diff()
		for _, text := range append(c.hidden, c.shown...) {
			if strings.Contains(diff, text) != slices.Contains(c.shown, text) {
				t.Errorf("%s:\n%s", text, diff)
			}
		}
	}
}
