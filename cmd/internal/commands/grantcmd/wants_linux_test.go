package grantcmd

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/entries"
	"github.com/mcp-jail/mcp-jail/cmd/internal/granting"
	"github.com/mcp-jail/mcp-jail/cmd/internal/granting/table"
	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

var must = testkit.Must

// newPlan returns a host, and the plan of a wrapped entry of the user's file or of the project's.
func newPlan(t *testing.T, project bool) (hostfs.Host, *plan) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	host, err := hostfs.LocalHost()
	must(t, err)
	host.Home, host.Dir = filepath.Join(base, "home"), filepath.Join(base, "project")
	host.ConfigDir, host.StateDir = filepath.Join(host.Home, ".config/mcp-jail"), filepath.Join(host.Home, ".local/state/mcp-jail")
	for _, dir := range []string{".ssh", "notes/granted", "repo/.git/hooks", ".config/mcp-jail"} {
		must(t, os.MkdirAll(filepath.Join(host.Home, dir), 0o700))
	}
	must(t, os.MkdirAll(host.Dir, 0o700))
	file := filepath.Join(host.Home, ".claude.json")
	if project {
		file = filepath.Join(host.Dir, ".mcp.json")
	}
	testkit.WriteFile(t, file, `{"mcpServers": {"x": {"command": "mcp-jail", "args": ["run", "--name", "x", "--", "server", "a"]}}}`)
	files, err := wrapping.Find(clients.Host{OS: "linux", Home: host.Home, Project: host.Dir, Env: func(string) string { return "" }}, wrapping.Selection{Files: []string{file}, Clients: []string{"claude-code"}})
	if err != nil || len(files) != 1 || len(files[0].Entries) != 1 || files[0].IsProject() != project {
		t.Fatal(files, err)
	}
	e := files[0].Entries[0]
	line, _ := clients.ParseWrapped(e.Argv())
	p := &plan{place: place{WrappedServer: entries.Jailed(files[0], e, line, host), kept: "x"}, why: map[string]string{}}
	pol, err := config.FromCommandLine(config.CommandLineOptions{Command: []string{"server"}, Dir: host.Dir, Read: []string{"~/notes/granted"}})
	must(t, err)
	p.scope = granting.NewScope(pol, host, nil)
	return host, p
}

// TestWants: which grants of a record --last takes by itself, which ones it asks for by name, and which
// it never takes. --yes and no terminal take none of those that are asked for.
func TestWants(t *testing.T) {
	const certain, likely = diagnostics.Certain, diagnostics.Likely
	_, p := newPlan(t, false)
	for _, c := range []struct {
		flag    string
		by      diagnostics.Attribution
		warning string
		want    string
	}{
		{"--read ~/notes/a", certain, "", "taken"},
		{"--write ~/repo", certain, "", "taken"},
		{"--net a.test", certain, "", "taken"},
		{"--read ~/notes/a", likely, "", "asked"},
		{"--net a.test", likely, "", "asked"},
		{"--env TOKEN", diagnostics.Possible, "", "asked"},
		{"--net a.test", certain, "it reaches more", "asked"},
		{"--read ~/.ssh/id_rsa", certain, "", "asked"},
		{"--read ~/.ssh", likely, "keys", "asked"},
		{"--write ~/repo/.git/hooks/x", certain, "", "asked"},
		{"--write ~/.config/mcp-jail/config.toml", certain, "", "never"},
		{"--write ~/.config/mcp-jail", likely, "", "never"},
		{"--read ${HOME}/x", certain, "", "never"}, // the client would replace it
		{"--env ${A}", certain, "", "never"},
		{"--read ~/notes/granted/a", likely, "", "taken"}, // it is there
	} {
		for _, run := range []struct {
			name          string
			yes, terminal bool
			answer        string
			takes         bool
		}{
			{"--yes without a terminal", true, false, "", false}, {"--yes at a terminal", true, true, "y\n", false}, {"no terminal", false, false, "", false},
			{"y", false, true, "y\n", true}, {"n", false, true, "n\n", false}, {"Enter", false, true, "\n", false},
		} {
			said, kept := answered(t, p, granting.Split(strings.Fields(c.flag))[0], lacked{by: c.by, warning: c.warning, cause: "because"}, run.yes, run.terminal, run.answer)
			want := c.want == "taken" || c.want == "asked" && run.takes
			if kept != want || (len(p.left) > 0) == want {
				t.Errorf("%s, %s, warning %q, with %s: taken %v, left %q; want %s", c.flag, c.by, c.warning, run.name, kept, p.left, c.want)
			}
			if asks := strings.Contains(said, "Grant it?"); asks != (c.want == "asked" && !run.yes && run.terminal) {
				t.Errorf("%s, %s, with %s: it says %q", c.flag, c.by, run.name, said)
			}
		}
	}
}

// answered returns what wants says on a terminal or elsewhere, and whether it takes a flag.
func answered(t *testing.T, p *plan, f granting.Flag, l lacked, yes, tty bool, answer string) (said string, kept bool) {
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
	l.flag, p.left = f, nil
	kept, err = (&grantCmd{server: "x", yes: yes}).wants(c, p, l)
	must(t, err)
	text, err := os.ReadFile(out.Name())
	must(t, err)
	return string(text), kept
}

// TestOfTool: of a server with a process for each tool, one tool gets what it lacked itself.
func TestOfTool(t *testing.T) {
	for _, c := range []struct {
		tool, failed     string // the tools that failed
		table, perCall   bool
		want, wantsError string
	}{
		{"", "a b", true, true, "", "--tool a\n  mcp-jail grant x --last --tool b"},
		{"", "b a b", true, true, "", "--tool b\n  mcp-jail grant x --last --tool a"},
		{"a", "a b a", true, true, "a a", ""},
		{"a", "a", true, true, "a", ""},
		{"c", "a b", true, true, "", ""},
		{"", "a b", true, false, "a b", ""},
		{"", "a b", false, true, "a b", ""},
	} {
		host, _ := newPlan(t, false)
		p := &plan{scope: granting.NewScope(&policy.Policy{Stateful: !c.perCall}, host, nil)}
		if c.table {
			p.table = &table.Place{}
		}
		var r diagnostics.Record
		for _, tool := range strings.Fields(c.failed) {
			r.Diagnoses = append(r.Diagnoses, diagnostics.Diagnosis{Tool: tool})
		}
		got, err := (&grantCmd{server: "x", last: true, tool: c.tool}).ofTool(host, p, r)
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

// TestLastFailure: of which session --last takes the failure. An entry of a project's file gets what
// its own command line lacked, and nothing that another server under its name did.
func TestLastFailure(t *testing.T) {
	failure := []diagnostics.Diagnosis{{What: "it failed"}}
	for _, project := range []bool{false, true} {
		for _, c := range []struct {
			name    string
			command []string
			all     []diagnostics.Diagnosis
			want    [2]string // of the user's file, of the project's
		}{
			{"its own command line", []string{"server", "a"}, failure, [2]string{"", ""}},
			{"another argument", []string{"server", "b"}, failure, [2]string{"", "another command line"}},
			{"another program", []string{"other", "a"}, failure, [2]string{"", "another command line"}},
			{"no failure", []string{"server", "a"}, nil, [2]string{"no failure", "no failure"}},
		} {
			host, p := newPlan(t, project)
			k := records.New(host, "x")
			k.About = func() records.About { return records.About{Command: c.command} }
			k.MarkStart()
			k.Save(diagnostics.Record{Time: time.Now(), Server: "x", Diagnoses: c.all})
			must(t, k.LastError())
			if got := records.ReadAbout(host, "x").Command; !slices.Equal(got, c.command) {
				t.Fatalf("%s: the record is of %q", c.name, got)
			}
			r, err := lastFailure(host, p)
			want := c.want[map[bool]int{true: 1}[project]]
			if want == "" && (err != nil || len(r.Diagnoses) != 1) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("%s, in a file of the project %v: %+v, %v; want %q", c.name, project, r.Diagnoses, err, want)
			}
		}
	}
}

// TestWholePath: a relative path of a record starts in the workspace of its session. In a project's file
// it stays as it is.
func TestWholePath(t *testing.T) {
	for _, project := range []bool{false, true} {
		for _, workspace := range []string{"", "/w"} {
			host, p := newPlan(t, project)
			k := records.New(host, "x")
			k.About = func() (a records.About) {
				if workspace != "" {
					a.Configuration = &records.Configuration{Workspace: workspace}
				}
				return a
			}
			k.MarkStart()
			k.Save(diagnostics.Record{Time: time.Now(), Server: "x"})
			for flag, want := range map[string]string{"--read sub": "--read /w/sub", "--write .": "--write .", "--read ~/a": "--read ~/a", "--read /a": "--read /a", "--net a.test": "--net a.test"} {
				if project || workspace == "" {
					want = flag
				}
				f := (&grantCmd{home: host.Home}).wholePath(host, p, granting.Split(strings.Fields(flag))[0])
				if got := strings.Join(granting.Words([]granting.Flag{f}), " "); got != want {
					t.Errorf("%s, in a file of the project %v, workspace %q: %s, want %s", flag, project, workspace, got, want)
				}
			}
		}
	}
}

// TestAdd: what is added to the flags of an entry. Beside what is asked for, that is only what these flags
// would take away: the workspace of the default policy, and the right to write below a rule to execute.
func TestAdd(t *testing.T) {
	for _, c := range []struct{ before, wanted, want string }{
		{"", "--read ~/notes", "--write . --read ~/notes"},
		{"", "--net a.test", "--write . --net a.test"},
		{"--name x --env A", "--execute ~/repo", "--name x --env A --write . --execute ~/repo"},
		{"", "--env A --limit memory_mb=1", "--env A --limit memory_mb=1"},
		{"", "--write . --read ~/notes", "--write . --read ~/notes"},
		{"--read ~/notes", "--net a.test", "--read ~/notes --net a.test"},
		{"--deny .", "--read ~/notes", "--deny . --read ~/notes"},
		{"--read ~/notes", "--read ~/notes/a", "--read ~/notes"},
		{"--read ~/notes", "--write ~/notes/a", "--read ~/notes --write ~/notes/a"},
		{"--write ~/repo", "--execute ~/repo/bin", "--write ~/repo --write ~/repo/bin --execute ~/repo/bin"},
		{"--read ~/repo", "--execute ~/repo/bin", "--read ~/repo --execute ~/repo/bin"},
		{"--write ~/repo", "--deny ~/repo/bin", "--write ~/repo --deny ~/repo/bin"},
		{"--read ~/notes --limit memory_mb=1", "--limit memory_mb=2", "--read ~/notes --limit memory_mb=2"},
	} {
		host, p := newPlan(t, false)
		p.before = granting.Split(strings.Fields(c.before))
		p.after = p.before
		o := config.CommandLineOptions{Command: []string{"server"}, Dir: host.Dir}
		lists := map[string]*[]string{"--read": &o.Read, "--write": &o.Write, "--execute": &o.Execute, "--deny": &o.Deny, "--env": &o.Env, "--limit": &o.Limit}
		for _, f := range p.before {
			if list := lists[f.Name]; list != nil {
				*list = append(*list, f.Value)
			}
		}
		pol, err := config.FromCommandLine(o)
		must(t, err)
		p.scope = granting.NewScope(pol, host, p.before)
		(&grantCmd{server: "x"}).add(p, granting.Split(strings.Fields(c.wanted)))
		if got := strings.Join(granting.Words(p.after), " "); got != c.want {
			t.Errorf("%q and %q: %q, want %q\n%s", c.before, c.wanted, got, c.want, strings.Join(p.lines, "\n"))
		}
	}
}
