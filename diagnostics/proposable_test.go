package diagnostics

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// adviceFiles are a host for every kind of refusal. Paths that end in ".sock" are sockets.
var adviceFiles = append(slices.Clone(hostFiles),
	"/home/u/work/x.sock", "/home/u/work/src/y.sock", "/home/u/docs/z.sock", "/run/host.sock", "/home/u/work/a/b/c.txt", "/home/u/work/data/app.db", "/home/u/work/data/app.db-journal",
	"/home/u/work/.vscode/settings.json", "/home/u/docs/a/b.txt", "/home/u/docs/own/", "/home/u/.local/state/mcp-jail/trust.toml", "/home/u/.local/state/mcp-jail/records/other/1.json", "/home/u/.local/state/mcp-jail/run.sock",
	"/home/u/.config/mcp-jail/config.toml", "/home/u/.cache/mcp-jail/catalog/", "/home/u/.local/share/mcp-jail/packages/p/", "/home/u/.config/app/app.toml", "/home/u/.bashrc", "/home/u/memory.json", "/srv/out/")

func adviceHost() hostfs.Host {
	h := fakeHost(adviceFiles)
	h.DataDir = "/home/u/.local/share/mcp-jail"
	return h
}

var adviceJudge = judge(&policy.Policy{}, adviceHost())

// fsRule returns the lines of a rule.
func fsRule(at string, rights ...string) string {
	lines := "\n[[servers.s.access.fs]]\npath = " + show.TOML(at) + "\n"
	for _, r := range rights {
		if r == "-write" {
			lines += "deny = \"write\"\n"
			continue
		}
		lines += r + " = true\n"
	}
	return lines
}

// adviceBases are configurations whose rules lie in one another in each way that can be enforced.
func adviceBases() map[string]string {
	const plain = "[servers.s]\ncommand = \"node\"\n"
	all := fsRule(".", "read", "write")
	return map[string]string{
		"default":              plain,
		"no rule":              plain + "[servers.s.access]\nfs = []\n",
		"workspace":            plain + all,
		"read-only":            plain + fsRule(".", "read"),
		"narrower read-only":   plain + all + fsRule("src", "-write") + fsRule("a", "-write"),
		"narrower nothing":     plain + all + fsRule("src", "deny") + fsRule("data", "deny"),
		"create only":          plain + fsRule(".", "read", "create"),
		"update only":          plain + fsRule(".", "read", "update"),
		"a file of its own":    plain + fsRule(".", "read") + fsRule("out.txt", "read", "update") + fsRule("data/app.db", "read", "update"),
		"three levels":         plain + fsRule(".", "read") + fsRule("a", "read", "write") + fsRule("a/b", "-write"),
		"outside, update only": plain + all + fsRule("~/docs/own", "read", "update") + fsRule("~/docs/a/b.txt", "update", "read"),
		"outside, read below":  plain + all + fsRule("~/docs", "read", "write") + fsRule("~/docs/a", "-write"),
		"execute":              plain + fsRule(".", "read", "execute"),
		"limits":               plain + all + "[servers.s.limits]\nmemory_mb = 64\nopen_files = 64\n",
		"commands":             plain + all + "[servers.s.access.commands.node]\n",
		"a list of one line":   plain + "[servers.s.access]\nfs = [{ path = \".\", read = true }]\n",
	}
}

// advicePaths are the targets of refusals.
var advicePaths = append(slices.Clone(adviceFiles),
	"/home/u/work/new.txt", "/home/u/work/src/new/deep", "/home/u/work/.mcp-jail.toml", "/home/u/work/.git/config.lock", "/home/u/work/a/.x.tmp", "/home/u/work/data/app.db-wal", "/home/u/docs/new", "/home/u/docs/own/n",
	"/home/u/.local/state/mcp-jail", "/home/u/.local/state", "/home/u/.local", "/home/u/.local/state/mcp-jail/new", "/home/u/.local/share/mcp-jail", "/home/u/.cache/mcp-jail", "/home/u/.cache", "/home/u/.config", "/home/u/.config/mcp-jail",
	"/home/u/.local/state/mcp-jail/servers/other/home/x", "/home/u", "/", "/etc/mcp-jail/config.toml", "/usr/local/bin/mcp-jail", "/home/u/.local/state/other/x", "/home/u/memory.json.tmp", "/tmp/x", "/srv/out/new", "/var/run/x.sock")

// TestProposalsStart refuses each kind of access to each path under each configuration, pastes what
// is proposed, and starts the server: the lines decode, validate and resolve, and give no hold on
// anything of mcp-jail's own.
func TestProposalsStart(t *testing.T) {
	// One step goes through the paths in each of the configurations in turn. If it has no divisor in
	// common with their number, each path gets its turn.
	proposed, nth, step := 0, 0, testkit.Rounds(11, 1) // of a step of eleven, two of the paths find one fault put in on purpose, and 22 another
	for d := 2; d <= step; d++ {
		if step%d == 0 && len(advicePaths)%d == 0 {
			t.Fatalf("%d divides the step %d and the %d paths", d, step, len(advicePaths))
		}
	}
	bases := adviceBases()
	for _, name := range slices.Sorted(maps.Keys(bases)) { // so that a step takes the same each time
		base := bases[name]
		t.Run(name, func(t *testing.T) {
			for _, given := range []bool{false, true} {
				if given && name != "default" {
					continue // a command line has rules of its own form
				}
				for _, target := range advicePaths {
					if nth++; nth%step != 0 {
						continue
					}
					for _, d := range refusedAccesses(path.Clean(target)) {
						proposed += propose(t, base, given, d)
					}
				}
			}
		})
	}
	if proposed < 200 {
		t.Errorf("only %d proposals were tried", proposed)
	}
}

// TestSocketProposal tests that the lines for a socket in a writable workspace can be enforced, with
// and without knowledge of the host, and that they grant the socket.
func TestSocketProposal(t *testing.T) {
	for name, base := range adviceBases() {
		before, err := startWith(base, false, nil)
		testkit.Must(t, err)
		if before.RightsAt("/home/u/work").Has(policy.Write) {
			d := Diagnose(Evidence{Stage: StageCall, Server: "s", Profile: before, UserHome: "/home/u", Denials: []policy.Denial{{Axis: policy.AxisIPC, Operation: "connect", Target: "/home/u/work/src/y.sock"}}})
			after, err := startWith(base, false, d.Words)
			if strings.HasPrefix(name, "narrower ") { // a denial has no exceptions
				if len(d.Words) > 0 {
					t.Errorf("%s: %q", name, d.Words)
				}
				continue
			}
			if err != nil || len(d.Words) == 0 || !after.RightsAt("/home/u/work/src/y.sock").Has(policy.Update) {
				t.Errorf("%s: %q: %v", name, d.Words, err)
			}
		}
	}
}

// TestRefusedProposal tests what is said of a grant with which the server would not start.
func TestRefusedProposal(t *testing.T) {
	for err, want := range map[error]string{
		nil:                           "grant --read ~/notes/a.md",
		errors.New("it says \x1b no"): "mcp-jail does not suggest allowing it, because the server would not start with it: it says",
	} {
		ev := evidence("EACCES: permission denied, open '/home/u/notes/a.md'")
		tried := 0
		ev.Try = func(tool string, words []string) error {
			if tried++; len(words) == 0 || tool != "" {
				t.Errorf("tried %q, %q", tool, words)
			}
			return err
		}
		d := Diagnose(ev)
		if tried == 0 || !strings.Contains(advised(d), want) || strings.Contains(advised(d), "\x1b") || (len(d.Words) > 0) != (err == nil) || (len(d.Hints[0].Words) > 0) != (err == nil) {
			t.Errorf("%v: tried %d times, %q\n%s", err, tried, d.Words, d.Text())
		}
	}
}

// refusedAccesses returns what the jail records of each refused access to a path, and the messages of
// servers about it.
func refusedAccesses(target string) (all []Evidence) {
	for _, op := range []string{"read", "write", "create", "mkdir", "remove", "rename", "execute"} {
		axis := policy.AxisFs
		if op == "execute" {
			axis = policy.AxisProcess
		}
		all = append(all, Evidence{Denials: []policy.Denial{{Axis: axis, Operation: op, Target: target}}})
	}
	all = append(all, Evidence{Denials: []policy.Denial{{Axis: policy.AxisIPC, Operation: "connect", Target: target}}})
	for _, text := range []string{"EACCES: permission denied, open '%s'", "EROFS: read-only file system, mkdir '%s'", "ENOENT: no such file or directory, scandir '%s'", "sqlite3.OperationalError: unable to open database file '%s'", "connect EACCES %s"} {
		all = append(all, Evidence{Text: fmt.Sprintf(text, target)})
	}
	return all
}

type startResult struct {
	profile *policy.Profile
	err     error
}

// started has the starts so far: each configuration is diagnosed some hundred times.
var started = map[string]startResult{}

// propose diagnoses a refusal, adds what is proposed, and returns how much that was.
func propose(t *testing.T, base string, given bool, ev Evidence) int {
	t.Helper()
	host := adviceHost()
	start := func(words []string) (*policy.Profile, error) {
		key := fmt.Sprintf("%t %q %q", given, base, words)
		if _, known := started[key]; !known {
			p, err := startWith(base, given, words)
			started[key] = startResult{p, err}
		}
		return started[key].profile, started[key].err
	}
	before, err := start(nil)
	if err != nil {
		t.Fatalf("the control does not start: %v", err)
	}
	ev.Stage, ev.Server, ev.Profile, ev.FromCommandLine = StageCall, "s", before, given
	ev.UserHome, ev.SearchPath = "/home/u", "/usr/bin:/opt/tools/bin"
	ev.Exists = func(p string) bool { _, err := host.Lstat(strings.TrimSuffix(p, "/.")); return err == nil }
	ev.Harm = adviceJudge
	ev.Shared = func(dir string) string { return resolve.Shared(&host, &policy.Policy{}, dir) }
	ev.Try = func(_ string, words []string) error {
		_, err := start(words)
		return err
	}
	d := Diagnose(ev)
	added := []Diagnosis{d}
	for _, h := range d.Hints {
		added = append(added, Diagnosis{Words: h.Words})
	}
	n := 0
	for _, a := range added {
		if len(a.Words) == 0 {
			continue
		}
		n++
		after, err := start(a.Words)
		if err != nil {
			t.Errorf("%v %q: with %q the server does not start: %v", ev.Denials, ev.Text, a.Words, err)
			continue
		}
		for _, e := range after.Entries {
			if was, ok := before.Find(e.Path); e.Origin != policy.OriginRule || ok && was.Rights&e.Rights == e.Rights {
				continue
			}
			if place := resolve.Guarded(&host, e.Path, e.Rights&policy.Write != 0); place != "" {
				t.Errorf("%v %q: %q grant %s at %s, a hold on %s", ev.Denials, ev.Text, a.Words, e.Rights, e.Path, place)
			}
		}
	}
	return n
}

// startWith resolves the server of a configuration, or of a command line, to which mcp-jail grant has added words.
func startWith(base string, given bool, words []string) (*policy.Profile, error) {
	var p *policy.Policy
	c, err := config.Decode([]byte("version = 1\n"+base+"\n"), "mcp-jail.toml")
	if given {
		o := config.CommandLineOptions{Command: []string{"node"}, Name: "s", Dir: "/home/u/work"}
		s := &config.Server{Name: "s", ID: "s", Command: "node"}
		if err = granting(s, "", words); len(words) > 0 {
			o.Added = &config.ServerFile{Path: "s.toml", Server: s}
		}
		if err == nil {
			p, err = config.FromCommandLine(o)
		}
	} else if err == nil {
		if err = granting(c.Servers["s"], "", words); err == nil {
			p, err = c.Policy("s", "")
		}
	}
	if err != nil {
		return nil, err
	}
	profile, _, err := resolve.Resolve(p, adviceHost())
	return profile, err
}

// granting adds to a server, or to one of its tools, what mcp-jail grant does with words.
func granting(s *config.Server, tool string, words []string) error {
	var o config.CommandLineOptions
	for ; len(words) > 1; words = words[2:] {
		list := map[string]*[]string{"--read": &o.Read, "--write": &o.Write, "--execute": &o.Execute, "--net": &o.Net, "--inbound": &o.Inbound, "--env": &o.Env, "--limit": &o.Limit}[words[0]]
		if list == nil {
			o.Workspace = words[1]
			continue
		}
		*list = append(*list, words[1])
	}
	table, err := o.Table()
	if err != nil {
		return err
	}
	g := config.Grants{Table: table, Tool: tool, At: func(p string) string {
		switch {
		case strings.HasPrefix(p, "~/"):
			p = "/home/u/" + p[2:]
		case !strings.HasPrefix(p, "/"):
			p = "/home/u/work/" + p
		}
		return path.Clean(p)
	}}
	narrower, err := g.AddTo(s)
	for _, r := range narrower {
		g.Drop(s, r)
	}
	return err
}
