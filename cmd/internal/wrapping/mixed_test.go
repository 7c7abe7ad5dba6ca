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
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// plant writes files into the project or, if they begin with "~/", the home directory. It puts a
// program for OURS.
func plant(t *testing.T, h clients.Host, files map[string]string) {
	t.Helper()
	write(t, ours(h), "")
	must(t, os.Chmod(ours(h), 0o700))
	for file, text := range files {
		dir := h.Project
		if rest, is := strings.CutPrefix(file, "~/"); is {
			dir, file = h.Home, rest
		}
		write(t, filepath.Join(dir, file), strings.ReplaceAll(text, "OURS", ours(h)))
	}
}

func ours(h clients.Host) string { return filepath.Join(h.Home, "bin/mcp-jail") }

// verdicts returns the verdict on each entry, in lines.
func verdicts(t *testing.T, h clients.Host, sel Selection) (lines []string) {
	t.Helper()
	files, err := Find(h, sel)
	must(t, err)
	for _, f := range files {
		rel := strings.TrimPrefix(strings.TrimPrefix(f.Path, h.Home+"/"), h.Project+"/")
		if f.Err != nil {
			lines = append(lines, rel+": "+f.Err.Error())
		}
		for _, e := range f.Entries {
			v := f.Judge(e, Program{Path: ours(h)}, h)
			said := "no: " + string(v.Why)
			switch {
			case v.State == Jailed:
				said = "yes"
			case v.IsUnclear():
				said = "?: " + string(v.Why)
			}
			lines = append(lines, rel+" "+e.Server+" "+said)
		}
	}
	return lines
}

// TestMixed: what a client makes out of two entries of one name is called jailed in neither of them,
// and is not wrapped.
func TestMixed(t *testing.T) {
	for name, c := range testkit.Cases(t, "mixed.txt") {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			want, not := linesOf(c["want"]), linesOf(c["not"])
			delete(c, "want")
			delete(c, "not")
			plant(t, h, c)
			got := strings.Join(verdicts(t, h, Selection{}), "\n")
			for _, want := range want {
				if !strings.Contains(got, want) {
					t.Errorf("no %q in\n%s", want, got)
				}
			}
			for _, not := range not {
				if strings.Contains(got, not) {
					t.Errorf("%q in\n%s", not, got)
				}
			}
			files, err := Find(h, Selection{})
			must(t, err)
			for _, f := range files {
				for _, p := range f.Wrap(Program{Path: ours(h)}, Selection{}, h, newIDs(h)).Changed() {
					if p.mixed != "" {
						t.Errorf("%s of %s is wrapped", p.Server, f.Path)
					}
				}
			}
		})
	}
}

// TestMixedWithTheRest: a selection of one file knows the others of its client.
func TestMixedWithTheRest(t *testing.T) {
	h := newHost(t)
	user := filepath.Join(h.Home, ".codex/config.toml")
	plant(t, h, map[string]string{
		"~/.codex/config.toml": "[mcp_servers.a]\ncommand = 'OURS'\nargs = ['run', '--', 'x']\n",
		".codex/config.toml":   "[mcp_servers.a.env]\nX = '1'\n",
	})
	if got := verdicts(t, h, Selection{Files: []string{user}}); len(got) != 1 || !strings.Contains(got[0], "a ?: is mixed by Codex") {
		t.Errorf("%q", got)
	}
}

// TestSharedVariables: a client gives mcp-jail the variables of files that a project brings.
func TestSharedVariables(t *testing.T) {
	claude := `{"mcpServers": {"a": {"command": "OURS", "args": ["run", "--", "x"]}}}`
	gemini := map[string]string{"~/.gemini/settings.json": claude}
	qwen := map[string]string{"~/.qwen/settings.json": claude}
	code := map[string]string{"~/.claude.json": claude}
	npx := strings.Replace(claude, `"x"]`, `"npx", "-y", "x"]`, 1)
	geminiNpx, codeNpx := map[string]string{"~/.gemini/settings.json": npx}, map[string]string{"~/.claude.json": npx}
	configured := map[string]string{"~/.gemini/settings.json": `{"mcpServers": {"a": {"command": "OURS", "args": ["run", "grafana"]}}}`}
	for name, c := range map[string]struct {
		user map[string]string
		file string
		text string
		want string
	}{
		"Gemini's .env":                  {gemini, ".gemini/.env", "X=1\nXDG_CONFIG_HOME=/evil\n", "?: gets XDG_CONFIG_HOME from "},
		"above the project":              {geminiNpx, "../.gemini/.env", "export npm_config_registry=http://e\n", "?: gets npm_config_registry from "},
		"no launcher":                    {gemini, "../.gemini/.env", "export npm_config_registry=http://e\n", "yes"},
		"no launcher, and a proxy":       {gemini, ".env", "HTTPS_PROXY=http://e\n", "?: gets HTTPS_PROXY from "},
		"no launcher, and code":          {code, ".claude/settings.json", `{"env": {"PYTHONPATH": "e"}}`, "?: gets PYTHONPATH from "},
		"the project's .env":             {gemini, ".env", "NODE_OPTIONS=--import=data:text/javascript,1", "?: gets NODE_OPTIONS from "},
		"a harmless .env":                {gemini, ".env", "OPENAI_API_KEY=1\nPORT=3000\n", "yes"},
		"a preset's host":                {configured, ".env", "GRAFANA_URL=http://e\n", "?: gets GRAFANA_URL from "},
		"another server's":               {gemini, ".env", "GRAFANA_URL=http://e\n", "yes"},
		"the user's own host":            {configured, "~/.gemini/.env", "GRAFANA_URL=http://mine\n", "yes"},
		"no host of a preset":            {configured, ".env", "PORT=3000\n", "yes"},
		"the user's own":                 {gemini, "~/.gemini/.env", "npm_config_registry=http://mine", "yes"},
		"Qwen's settings":                {qwen, ".qwen/settings.json", `{"env": {"XDG_DATA_HOME": "/evil"}} // c`, "?: gets XDG_DATA_HOME from "},
		"Claude Code's settings":         {codeNpx, ".claude/settings.json", `{"env": {"npm_config_registry": "http://e"}}`, "?: gets npm_config_registry from "},
		"Claude Code's settings, twice":  {codeNpx, ".claude/settings.json", `{"env": {"X": "1"}, "env": {"npm_config_registry": "http://e"}}`, "?: "},
		"Claude Code's harmless ones":    {code, ".claude/settings.json", `{"env": {"X": "1"}, "permissions": {}}`, "yes"},
		"a client that does not read it": {code, ".env", "XDG_CONFIG_HOME=/evil", "yes"},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			h.Project = filepath.Join(h.Project, "sub")
			must(t, os.Mkdir(h.Project, 0o700))
			h.Above, h.Repo = []string{filepath.Dir(h.Project)}, 1
			files := maps.Clone(c.user)
			files[c.file] = c.text
			plant(t, h, files)
			if got := verdicts(t, h, Selection{}); len(got) != 1 || !strings.Contains(got[0], " a "+c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

// TestAbove: files above the project count for the clients that look there.
func TestAbove(t *testing.T) {
	h := newHost(t)
	root := h.Project
	h.Project = filepath.Join(root, "a", "b")
	must(t, os.MkdirAll(h.Project, 0o700))
	must(t, os.Mkdir(filepath.Join(root, "a", ".git"), 0o700))
	h.Above, h.Repo = Above(h.Project)
	if h.Repo != 1 || h.Above[0] != filepath.Join(root, "a") || h.Above[len(h.Above)-1] != "/" {
		t.Fatalf("%q, %d", h.Above, h.Repo)
	}
	if dirs, repo := Above("/"); dirs != nil || repo != -1 {
		t.Errorf("above the root: %q, %d", dirs, repo)
	}
	for _, dir := range []string{root, filepath.Join(root, "a")} {
		write(t, filepath.Join(dir, ".mcp.json"), `{"mcpServers": {"mcp": {"command": "x"}}}`)
		write(t, filepath.Join(dir, "opencode.json"), `{"mcp": {"open": {"type": "local", "command": ["x"]}}}`)
		write(t, filepath.Join(dir, ".gemini/settings.json"), `{"mcpServers": {"gemini": {"command": "x"}}}`)
	}
	var got []string
	files, err := Find(h, Selection{})
	must(t, err)
	for _, f := range files {
		rel, _ := filepath.Rel(root, f.Path)
		got = append(got, f.Client.Name+" "+rel)
		if !f.IsProject() {
			t.Errorf("%s is not a project's", rel)
		}
	}
	if want := []string{"claude-code a/.mcp.json", "claude-code .mcp.json", "kilo a/opencode.json"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestUnread: files that are not read are named, if they exist and can have servers.
func TestUnread(t *testing.T) {
	h := newHost(t)
	say := func(sel Selection) (all []string) {
		for _, b := range Unread(h, sel) {
			all = append(all, strings.TrimPrefix(strings.TrimPrefix(b.Path, h.Home+"/"), h.Project+"/"))
		}
		return all
	}
	before := say(Selection{})
	write(t, filepath.Join(h.Home, ".gemini/agents/a.md"), "---\nmcp_servers:\n---\n")
	write(t, filepath.Join(h.Home, ".gemini/agents/b.md"), "---\nmcp_servers:\n---\n")
	write(t, filepath.Join(h.Home, ".gemini/agents/c.md"), "---\nname: c\n---\n")
	write(t, filepath.Join(h.Project, ".claude/agents/x/y.md"), "---\nmcpServers:\n- a\n---\n")
	write(t, filepath.Join(h.Project, ".claude/agents/z.md"), "no servers\n")
	write(t, filepath.Join(h.Project, ".crushrc"), "mcp add x --command y\n")
	write(t, filepath.Join(h.Project, "w.code-workspace"), `{"settings": {"mcp": {}}}`)
	want := append([]string{".claude/agents/x/y.md", "w.code-workspace", ".gemini/agents/a.md", ".crushrc"}, before...)
	if got := say(Selection{}); !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))) {
		t.Errorf("%q, want %q", got, want)
	}
	if got := Unread(h, Selection{Clients: []string{"gemini"}}); len(got) != 1 {
		t.Errorf("Gemini: %+v", got)
	}
	if got := say(Selection{Files: []string{"/x"}}); got != nil {
		t.Errorf("of a file: %q", got)
	}
}

// TestUnreadAgents: files of agents, and those that another file names, are named if they can have
// servers, also if a project's file spells the word with escapes.
func TestUnreadAgents(t *testing.T) {
	for path, texts := range testkit.Named[[2]string](t, "agents.txt") {
		for i, text := range texts {
			h := newHost(t)
			before := len(Unread(h, Selection{}))
			write(t, filepath.Join(filepath.Dir(h.Home), path), text)
			if got := len(Unread(h, Selection{})) - before; got != 1-i {
				t.Errorf("%s: %q: %d files are not read, want %d", path, text, got, 1-i)
			}
		}
	}
}

// TestReplacedAsText: OpenCode and Kilo replace variables in the text of the file, so they can make
// keys and hide comments.
func TestReplacedAsText(t *testing.T) {
	for text, want := range testkit.Named[string](t, "replaced-texts.txt") {
		h := newHost(t)
		write(t, filepath.Join(h.Project, "opencode.json"), text)
		if got := strings.Join(verdicts(t, h, Selection{Clients: []string{"opencode"}}), "\n"); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// TestReplacedByQuotes: OpenCode and Kilo put the value of a variable into the text of the file.
// A quote in that value can end the text around it, and add servers.
func TestReplacedByQuotes(t *testing.T) {
	env := map[string]string{"QUOTE": `x"},"command":["evil"],"z":{"q":"`, "BACK": `x\`, "LINE": "x\ny", "PLAIN": "it's {a}: $x // é", "PWD": "/plain"}
	file := func(name string) string {
		return `{"theme": "THEME", "mcp": {"a": {"type": "local", "command": ["x"], "environment": {"A": "{env:` + name + `}"}}}}`
	}
	for text, bad := range map[string]bool{
		file("QUOTE"): true, file("BACK"): true, file("LINE"): true, file("PWD"): true, file("OLDPWD"): true, file("npm_package_name"): true,
		file("PLAIN"): false, file("NOPE"): false, file("XPWD"): false,
		strings.Replace(file("PLAIN"), "THEME", "{env:QUOTE}", 1):   true, // outside of entries
		`{"theme": "{env:QUOTE}"}`:                                  true, // it can bring all of them
		strings.Replace(file("QUOTE"), "{env:QUOTE}", "{QUOTE}", 1): false,
	} {
		for client, path := range map[string]string{"opencode": "opencode.json", "kilo": "kilo.json"} {
			h := newHost(t)
			h.Env = func(name string) string { return env[name] }
			write(t, filepath.Join(h.Project, path), text)
			got := strings.Join(verdicts(t, h, Selection{Clients: []string{client}}), "\n")
			if !strings.Contains(got, map[bool]string{true: `"{env:…}" stands here: `, false: " a no: "}[bad]) {
				t.Errorf("%s: %s: %s", client, text, got)
			}
		}
	}
	h := newHost(t) // another client does not replace it in the text
	h.Env = func(name string) string { return env[name] }
	write(t, filepath.Join(h.Project, ".roo/mcp.json"), `{"mcpServers": {"a": {"command": "x", "env": {"A": "${env:QUOTE} {env:QUOTE}"}}}}`)
	if got := strings.Join(verdicts(t, h, Selection{Clients: []string{"roo"}}), "\n"); !strings.Contains(got, " a no: ") {
		t.Errorf("Roo Code: %s", got)
	}
}

// found returns what each file says of its servers, in lines.
func found(t *testing.T, h clients.Host, sel Selection) (lines []string) {
	t.Helper()
	files, err := Find(h, sel)
	must(t, err)
	for _, f := range files {
		rel, _ := filepath.Rel(h.Project, f.Path)
		if f.Err != nil {
			lines = append(lines, fmt.Sprintf("%s: %v", rel, f.Err))
		}
		for _, e := range f.Entries {
			reader := e.by.client
			lines = append(lines, strings.TrimSpace(fmt.Sprintf("%s %s: %s %s (%s) %s", rel, e.Server, reader.Name, e.Argv(), e.Left, e.Detail)))
		}
	}
	return lines
}

// TestReadings: status shows and wrap changes what each client finds in a file that several read.
func TestReadings(t *testing.T) {
	for name, c := range testkit.Cases(t, "reading.txt") {
		t.Run(name, func(t *testing.T) {
			h := newHost(t)
			for file, text := range c {
				if file != "want" && file != "links" {
					write(t, filepath.Join(h.Project, file), strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "<CR>", "\r"))
				}
			}
			testkit.PlantBelow(t, h.Project, linesOf(c["links"])...)
			got := strings.Join(found(t, h, Selection{}), "\n")
			for _, want := range linesOf(c["want"]) {
				if !strings.Contains(got, want) {
					t.Errorf("no %q in\n%s", want, got)
				}
			}
		})
	}
}

// TestFoldersWithMore: a folder of which not all files are looked at is named.
func TestFoldersWithMore(t *testing.T) {
	const server = "mcpServers: [{name: d, command: d}]"
	h := newHost(t)
	folder := filepath.Join(h.Project, ".continue/mcpServers/b")
	write(t, filepath.Join(folder, "z.yaml"), server)
	if got := strings.Join(found(t, h, Selection{}), "\n"); !strings.Contains(got, "d: continue [d]") || strings.Contains(got, "does not look") {
		t.Errorf("control: %s", got)
	}
	must(t, os.Mkdir(filepath.Join(h.Project, "elsewhere"), 0o700))
	must(t, os.Symlink("../../elsewhere", filepath.Join(h.Project, ".continue/mcpServers/link")))
	if got := strings.Join(found(t, h, Selection{}), "\n"); !strings.Contains(got, "mcpServers/link: mcp-jail does not look at all") {
		t.Errorf("a link to a folder: %s", got)
	}
	must(t, os.Remove(filepath.Join(h.Project, ".continue/mcpServers/link")))
	for i := range mostFiles {
		must(t, os.Link(filepath.Join(folder, "z.yaml"), filepath.Join(folder, fmt.Sprint(i))))
	}
	if got := strings.Join(found(t, h, Selection{}), "\n"); !strings.Contains(got, ".continue/mcpServers: mcp-jail does not look at all") {
		t.Errorf("many files: %s", got)
	}
}

// TestLinkHidesNothing: a link of a project to a file of the user's does not change what is found in
// it, and whose file it is.
func TestLinkHidesNothing(t *testing.T) {
	h := newHost(t)
	user := filepath.Join(h.Home, ".config/Code/User/mcp.json")
	write(t, user, `{"servers": {"mine": {"command": "x", "env": {"PATH": "/p"}}}}`)
	before := found(t, h, Selection{})
	must(t, os.Symlink(user, filepath.Join(h.Project, ".mcp.json")))
	files, err := Find(h, Selection{})
	must(t, err)
	if len(files) != 1 || len(files[0].Entries) != 1 || files[0].Entries[0].Left != "" || files[0].IsProject() || files[0].Real() != user {
		t.Errorf("%q becomes %q", before, found(t, h, Selection{}))
	}
	must(t, os.Remove(filepath.Join(h.Project, ".mcp.json")))
	theirs := filepath.Join(h.Project, ".mcp.json")
	write(t, theirs, `{"servers": {"theirs": {"command": "x", "env": {"PATH": "/p"}}}}`)
	must(t, os.Remove(user))
	must(t, os.Symlink(theirs, user))
	if files, err = Find(h, Selection{}); err != nil || len(files) != 1 || !files[0].IsProject() || !strings.HasPrefix(string(files[0].Judge(files[0].Entries[0], Program{Path: program}, h).Why), "sets ") {
		t.Errorf("a link of the user's to a project's file: %q, %v", found(t, h, Selection{}), err)
	}
}

// TestReadingsAreWrapped: the entries of all readings change in one file, are recorded together, and
// come back.
func TestReadingsAreWrapped(t *testing.T) {
	h := newHost(t)
	const text = `{"mcpServers": {"a": {"command": "x"}}, "servers": {"b": {"command": "y"}}}`
	write(t, filepath.Join(h.Project, ".mcp.json"), text)
	must(t, os.MkdirAll(filepath.Join(h.Project, ".vscode"), 0o700))
	must(t, os.Symlink("../.mcp.json", filepath.Join(h.Project, ".vscode/mcp.json")))
	change := only(t, h, Selection{}).Wrap(Program{Path: program}, Selection{}, h, newIDs(h))
	if len(change.Changed()) != 2 {
		t.Fatalf("%d change\n%s", len(change.Changed()), change.After)
	}
	must(t, os.WriteFile(filepath.Join(h.Project, ".mcp.json"), change.After, 0o600))
	f := only(t, h, Selection{})
	if lefts := []clients.Reason{f.Entries[0].Left, f.Entries[1].Left}; !slices.Equal(lefts, []clients.Reason{clients.Jailed, clients.Jailed}) {
		t.Errorf("%q", lefts)
	}
	if back := f.Unwrap(Selection{}); string(back.After) != text {
		t.Errorf("back: %s", back.After)
	}
}
