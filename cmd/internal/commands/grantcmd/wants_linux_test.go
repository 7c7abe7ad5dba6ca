package grantcmd

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/diagnostics/change"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

var must = testkit.Must

// newEdit returns the change of a server with a file that has some lines.
func newEdit(t *testing.T, lines string) *Edit {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	home := filepath.Join(base, "home")
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", home)
	for _, dir := range []string{".ssh", "notes/granted", "repo/.git/hooks", ".config/mcp-jail/servers"} {
		must(t, os.MkdirAll(filepath.Join(home, dir), 0o700))
	}
	t.Chdir(home)
	testkit.WriteFile(t, filepath.Join(home, ".config/mcp-jail/servers/x.toml"), "[servers.x]\nid = \"x-4k7q2m9x3vt5\"\ncommand = \"/bin/true\"\n"+lines)
	host, err := hostfs.LocalHost()
	must(t, err)
	return editOf(t, &server{Name: "x", Key: "x-4k7q2m9x3vt5", words: []string{"/bin/true"}, word: "x", host: host})
}

// editOf returns the change of a server.
func editOf(t *testing.T, s *server) *Edit {
	t.Helper()
	b, err := s.read()
	must(t, err)
	e := &Edit{base: b}
	e.Reset()
	return e
}

const granted = "[[servers.x.access.fs]]\npath = \"~/notes/granted\"\nread = true\n"

// TestWants: which grants of a record --last takes by itself, which ones it asks for by name, and which
// it never takes. --yes and no terminal take none of those that are asked for.
func TestWants(t *testing.T) {
	const said, recorded = change.Said, change.Recorded
	e := newEdit(t, granted+"[[servers.x.access.fs]]\npath = \"~/notes/hidden\"\ndeny = true\n")
	testkit.PlantBelow(t, e.host.Home, ".config/gh/hosts.yml", "notes/a", "notes/hidden/x")
	haveOthers(t, e)
	for _, c := range []struct {
		flag string
		from change.Source
		want string
	}{
		{"--read ~/notes/a", recorded, "taken"},
		{"--write ~/notes/new", recorded, "taken"},
		{"--write ~/repo", recorded, "asked"},
		{"--write ~/.npm", recorded, "asked"},
		{"--net 10.0.0.1", recorded, "asked"},
		{"--net a.test", recorded, "taken"},
		{"--read ~/notes/a", said, "asked"},
		{"--net a.test", said, "asked"},
		{"--net *", said, "never"},
		{"--env TOKEN", said, "asked"},
		{"--env NODE_OPTIONS", said, "never"},
		{"--read ~/.ssh/id_rsa", recorded, "asked"},
		{"--read ~/.ssh", said, "never"}, // words lead to no key
		{"--read ~/.config/gh/hosts.yml", said, "asked"},
		{"--write ~/repo/.git/hooks/x", recorded, "never"},
		{"--env API_TOKEN", recorded, "asked"},
		{"--env LANGUAGE_OF_IT", recorded, "asked"},
		{"--execute /opt/x/sudo", recorded, "never"},
		{"--write /bin/true", recorded, "never"},
		{"--write ~/.config/mcp-jail/config.toml", recorded, "never"},
		{"--write ~/.config/mcp-jail", said, "never"},
		{"--read ~/notes/hidden/x", recorded, "never"},
		{"--read ~/notes/x/*", recorded, "never"},
		{"--read ~/notes/granted/a", said, "taken"},   // it is there
		{"--write ~/other/run.sh", recorded, "never"}, // another server is started from it
		{"--write ~/other", recorded, "never"},
		{"--write ~/other/data", recorded, "asked"},
		{"--write ~/other/data", said, "never"},
		{"--read ~/other/run.sh", recorded, "taken"},
		{"--write ~/hooked/h.mjs", recorded, "asked"},
		{"--write ~/shared/notes.db", recorded, "asked"}, // two servers share it by their lines
		{"--write ~/shared/notes.db", said, "never"},
		{"--write ~/shared/new.db", recorded, "taken"},
	} {
		p := e.Propose(change.Want{Source: c.from, Object: wordsOf(strings.Fields(c.flag))[0]})
		for _, run := range []struct {
			name          string
			yes, terminal bool
			answer        string
			takes         bool
		}{
			{"--yes without a terminal", true, false, "", false}, {"--yes at a terminal", true, true, "y\n", false}, {"no terminal", false, false, "", false},
			{"y", false, true, "y\n", true}, {"n", false, true, "n\n", false}, {"Enter", false, true, "\n", false},
		} {
			said, ch := answered(t, e, lacked{Proposal: p, cause: "because"}, run.yes, run.terminal, run.answer)
			want := c.want == "taken" || c.want == "asked" && run.takes
			if (len(ch.taken) == 2) != want || (len(ch.left) > 0) == want {
				t.Errorf("%s, source %d, with %s: taken %v, left %q; want %s", c.flag, c.from, run.name, ch.taken, ch.left, c.want)
			}
			if asks := strings.Contains(said, "[y/N]"); asks != (c.want == "asked" && !run.yes && run.terminal) {
				t.Errorf("%s, source %d, with %s: it says %q", c.flag, c.from, run.name, said)
			}
		}
		if isOpen := p.IsOpen(); isOpen == (c.want == "never") && p.Verdict() != change.Has {
			t.Errorf("%s, source %d: why shows a command for it: %v", c.flag, c.from, isOpen)
		}
	}
}

// answered returns what is said and chosen of what a failure lacked, beside what the server has, on a terminal or elsewhere.
func answered(t *testing.T, e *Edit, l lacked, yes, tty bool, answer string) (said string, ch choice) {
	t.Helper()
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	must(t, err)
	defer out.Close()
	c := terminal.New(out, out, out)
	if tty {
		screen, program, err := testkit.Terminal(0, 0)
		must(t, err)
		defer screen.Close()
		defer program.Close()
		_, err = screen.WriteString(answer)
		must(t, err)
		c = terminal.New(program, program, out)
	}
	ch, err = e.choose(c, "", []lacked{l, {Proposal: change.Nothing(change.Want{})}}, How{Yes: yes})
	must(t, err)
	text, err := os.ReadFile(out.Name())
	must(t, err)
	return string(text), ch
}

// haveOthers gives the change other servers, which never were.
func haveOthers(t *testing.T, e *Edit) {
	t.Helper()
	testkit.PlantBelow(t, e.host.Home, "other/run.sh", "other/data", "hooked/h.mjs", "app/s.js", "shared/notes.db")
	words := func(line string) []string { return strings.Fields(strings.ReplaceAll(line, "~", e.host.Home)) }
	e.others = &index.Index{Host: e.host, Servers: []*index.Server{
		{Name: "other", Key: "other", Words: words("sh ~/other/run.sh")},
		{Name: "hooked", Key: "hooked", Words: words("node --import=./h.mjs ~/app/s.js"), Dir: filepath.Join(e.host.Home, "hooked")},
		{Name: "sqlite", Key: "sqlite", Words: words("uvx mcp-sqlite --db-path ~/shared/notes.db")},
		{Name: "x", Key: e.Key, Words: words("uvx mcp-notes ~/shared/notes.db ~/shared/new.db")},
	}}
}

// TestTyped: what is asked for apart of what a user types, which --yes does not answer.
func TestTyped(t *testing.T) {
	e := newEdit(t, granted+"[[servers.x.access.net]]\nhost = \"*.part.test\"\nallow = true\nmethods = [\"GET\"]\n")
	must(t, os.Symlink(filepath.Join(e.host.Home, ".ssh"), filepath.Join(e.host.Home, "notes/keys")))
	haveOthers(t, e)
	for words, want := range map[string]string{
		"--read ~/notes/a": "", "--write ~/notes/new": "", "--write ~/repo": "", "--execute /usr/bin/git": "", "--net a.test": "", "--net *": "a part of *.part.test so far (GET)", "--env API_TOKEN": "",
		"--deny ~/": "", "--deny ~/.ssh": "", "--limit processes=513": "", "--read ~/.bashrc": "", "--workspace ~/repo": "",
		"--read ~/": "is a whole home directory", "--workspace ~/": "is a whole home directory",
		"--read ~/.ssh": "sensitive file", "--read ~/notes/keys": "sensitive file", "--write ~/.ssh/k": "gives control of ~/.ssh",
		"--write ~/.bashrc": "decides what runs outside", "--write ~/repo/.git/hooks/x": "protected file", "--write /etc/x": "belongs to the system",
		"--execute /opt/x/sudo": "rights of another user", "--write ~/other/run.sh": "server other is started from", "--write ~/other/": "server other is started from",
		"--read ~/other/run.sh": "", "--write ~/other/data": "", "--write ~/hooked/h.mjs": "", "--write ~/shared/notes.db": "",
		"--net part.test": "", "--net a.part.test": "a part of a.part.test so far (GET)", "--net *.test": "a part of *.part.test so far (GET)",
	} {
		e.Reset()
		wanted := wordsOf(strings.Fields(words))
		must(t, e.want("", wanted))
		before, after, err := e.both("")
		must(t, err)
		_, apart := e.judged(e.proposals(before, after, wanted), false)
		if got := strings.Join(apart, "\n"); !strings.Contains(got, want) || (got == "") != (want == "") {
			t.Errorf("%s: %q, want %q", words, got, want)
		}
	}
}

// TestMeanwhile: what has changed between the question and the writing is not written over, and not granted unasked.
func TestMeanwhile(t *testing.T) {
	for name, c := range map[string]struct {
		words, do string
		want      string // in the file; "" is that the grant fails
		writes    bool
	}{
		"nothing":                  {"--read ~/notes/link", "true", "~/notes/link", true},
		"a rule of another":        {"--read ~/notes/link", `printf '[[servers.x.access.net]]\nhost = "a.test"\nallow = true\n' >>.config/mcp-jail/servers/x.toml`, "a.test", true},
		"the same rule":            {"--read ~/repo", `printf '[[servers.x.access.fs]]\npath = "~/repo"\nread = true\n' >>.config/mcp-jail/servers/x.toml`, "~/repo", false},
		"a link to keys":           {"--read ~/notes/link", "ln -sfn ../.ssh notes/link", "", false},
		"a link to another folder": {"--read ~/notes/link", "ln -sfn ../other notes/link", "", false},
		"a part of a host":         {"--net a.test", `printf '[[servers.x.access.net]]\nhost = "a.test"\nallow = true\nmethods = ["GET"]\n' >>.config/mcp-jail/servers/x.toml`, "", false},
	} {
		e := newEdit(t, granted)
		testkit.PlantBelow(t, e.host.Home, "other/x")
		must(t, os.Symlink("../repo", filepath.Join(e.host.Home, "notes/link")))
		must(t, e.want("", wordsOf(strings.Fields(c.words))))
		shown, err := e.decided()
		must(t, err)
		out, err := exec.Command("sh", "-c", c.do).CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v, %s", name, err, out)
		}
		before := testkit.ReadFile(t, e.was.Path)
		console, err := os.Create(filepath.Join(t.TempDir(), "out"))
		must(t, err)
		err = e.commit(terminal.New(console, console, console), How{By: "grant"}, shown)
		must(t, console.Close())
		text := testkit.ReadFile(t, e.was.Path)
		if (err != nil) != (c.want == "") || (text != before) != c.writes || !strings.Contains(text, c.want) {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
}

// TestOfTool: of a server with a process for each tool, one tool gets what it lacked itself.
func TestOfTool(t *testing.T) {
	for _, c := range testkit.Table[struct {
		tool, failed     string // the tools that failed
		perCall          bool
		want, wantsError string
	}](t, "wants.txt") {
		e := newEdit(t, fmt.Sprintf("stateful = %t\n", !c.perCall))
		g := &grantCmd{tool: c.tool, last: true}
		var r diagnostics.Record
		for _, tool := range strings.Fields(c.failed) {
			r.Diagnoses = append(r.Diagnoses, diagnostics.Diagnosis{Tool: tool})
		}
		got, err := g.ofTool(e.base, r)
		if c.wantsError != "" {
			if err == nil || !strings.Contains(err.Error(), c.wantsError) {
				t.Errorf("%+v: %v", c, err)
			}
			continue
		}
		var tools []string
		for _, d := range got.Diagnoses {
			tools = append(tools, d.Tool)
		}
		if err != nil || strings.Join(tools, " ") != c.want {
			t.Errorf("%+v: %q, %v", c, tools, err)
		}
	}
}

// TestGranted: what a policy grants already, and what only looks like it.
func TestGranted(t *testing.T) {
	rule := func(path, rights string) string {
		return "[[servers.x.access.fs]]\npath = \"" + path + "\"\n" + rights + "\n"
	}
	const read, write = "read = true", "read = true\nwrite = true"
	for _, c := range []struct {
		lines, flag string
		want        bool
	}{
		{"", "--read ~/notes", false}, {"", "--read repo", false}, // the client may start it elsewhere
		{rule("~/notes", read), "--read ~/notes/granted", true}, {rule("~/notes", read), "--write ~/notes/granted", false}, {rule("~/notes", read), "--read ~/repo", false},
		{rule("~/repo", write), "--write ~/repo", true}, {rule("~/repo", write), "--write ~/repo/.git/hooks", false}, {rule("~/repo", write), "--read ~/repo/.git/hooks", true},
		{rule("~", read), "--read ~/.ssh", false}, {rule("~", read) + rule("~/.ssh", read), "--read ~/.ssh", true},
		{"[[servers.x.access.net]]\nhost = \"a.test\"\nallow = true\n", "--net a.test:443", true}, {"[[servers.x.access.net]]\nhost = \"a.test\"\nallow = true\n", "--net a.test:8080", false},
		{"variables = [\"A\"]\n", "--env A", true}, {"", "--env NOT_SET", false}, {"", "--limit processes=512", false},
		{"", "--home real", false}, {"", "--inbound 80", false}, {"", "--deny ~/notes", false},
	} {
		e := newEdit(t, c.lines)
		_, _, by, err := e.apply(e.was.policies[""], wordsOf(strings.Fields(c.flag))[0])
		if err != nil || (by != "") != c.want {
			t.Errorf("%q grants %s by %q, %v; want %v", c.lines, c.flag, by, err, c.want)
		}
	}
}

// TestNarrower: a wider grant takes the place of narrower ones, but not of those that give what it does not.
func TestNarrower(t *testing.T) {
	e := newEdit(t, granted+"[[servers.x.access.fs]]\npath = \"~/.ssh\"\nread = true\n")
	table, err := session.TableOf([]string{"--read", "~/"})
	must(t, err)
	file, _, err := e.with(e.was.policies[""], table)
	must(t, err)
	var paths []string
	for _, r := range file.Server.Access.Fs {
		paths = append(paths, r.Path)
	}
	if !slices.Equal(paths, []string{"~/.ssh", "~/"}) {
		t.Errorf("the rules are %q", paths)
	}
}

// TestExact: a change that gives more than its words say, or takes something away, is refused.
func TestExact(t *testing.T) {
	e := newEdit(t, granted)
	for name, c := range map[string]struct {
		edit    func(*config.Server)
		refused bool
	}{
		"what it says": {func(s *config.Server) { s.Access.Fs = append(s.Access.Fs, policy.FsRule{Path: "~/notes", Read: true}) }, false},
		"more rights": {func(s *config.Server) {
			s.Access.Fs = []policy.FsRule{{Path: "~/notes", Read: true, Update: true}}
		}, true},
		"more":   {func(s *config.Server) { s.Access.Fs = append(s.Access.Fs, policy.FsRule{Path: "~/repo", Read: true}) }, true},
		"a host": {func(s *config.Server) { s.Access.Net = []policy.NetRule{{Host: "a.test", Allow: true}} }, true},
		"less":   {func(s *config.Server) { s.Access.Fs = nil }, true},
		"a denial": {func(s *config.Server) {
			s.Access.Fs = []policy.FsRule{{Path: "~/notes/granted", Deny: policy.AllRights}}
		}, true},
	} {
		file, err := e.was.Checked()
		must(t, err)
		c.edit(file.Server)
		file, err = file.Checked()
		must(t, err)
		after, err := e.check(file, "")
		must(t, err)
		if err := e.decider(e.was.policies[""]).Exact(after.target, change.Path("~/notes", policy.Read)); (err != nil) != c.refused {
			t.Errorf("%s: %v", name, err)
		}
	}
}
