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
		before, err := startWith(base, false, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if before.RightsAt("/home/u/work").Has(policy.Write) {
			d := Diagnose(Evidence{Stage: StageCall, Server: "s", Profile: before, UserHome: "/home/u", Denials: []policy.Denial{{Axis: policy.AxisIPC, Operation: "connect", Target: "/home/u/work/src/y.sock"}}})
			after, err := startWith(base, false, d.Grant, nil)
			if strings.HasPrefix(name, "narrower ") { // a denial has no exceptions
				if len(d.Grant) > 0 {
					t.Errorf("%s: %q", name, d.Grant)
				}
				continue
			}
			if err != nil || len(d.Grant) == 0 || !after.RightsAt("/home/u/work/src/y.sock").Has(policy.Update) {
				t.Errorf("%s: %q: %v", name, d.Grant, err)
			}
		}
	}
}

// TestRefusedProposal tests what is said of a grant with which the server would not start, and of
// lines whose table the file has already.
func TestRefusedProposal(t *testing.T) {
	for err, want := range map[error]string{
		nil:                           "add path = \"~/notes/a.md\"",
		&TableError{}:                 "the file has such a table or list already: put in path = \"~/notes/a.md\", read = true under [[servers.github.access.fs]] there",
		errors.New("it says \x1b no"): "no line is proposed for it, because the server would not start with it: it says",
	} {
		ev := evidence("EACCES: permission denied, open '/home/u/notes/a.md'")
		tried := 0
		ev.Try = func(tool string, lines, flags []string) error {
			if tried++; len(lines) == 0 || len(flags) > 0 || tool != "" {
				t.Errorf("tried %q, %q, %q", tool, lines, flags)
			}
			return err
		}
		d := Diagnose(ev)
		if tried == 0 || !strings.Contains(d.Fix, want) || strings.Contains(d.Fix, "\x1b") || (len(d.Grant) > 0) != (err == nil) || (len(d.Hints[0].Grant) > 0) != (err == nil) {
			t.Errorf("%v: tried %d times, %q\n%s", err, tried, d.Grant, d.Text())
		}
	}
}

// TestSharedProposal tests that the directory around one file is proposed only if it is for one server
// alone, as the same function says that judges the rules of presets.
func TestSharedProposal(t *testing.T) {
	host := adviceHost()
	profile, err := startWith(adviceBases()["workspace"], false, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		"/home/u/memory.json.tmp": "is the home directory", "/home/u/app.db-journal": "is the home directory", "/home/u/Downloads/app.db-wal": "holds the files of many programs",
		"/home/u/.config/app.db-wal": "mcp-jail's own files", "/srv/app.db-journal": "is a system directory", "/home/u/Downloads/new.txt": "first: a rule for a path that does not exist",
		"/home/u/.bashrc.tmp": "no line is proposed for it: \"~/.bashrc\" decides", "/home/u/.vim/app.db-wal": "no line is proposed", "/home/u/.claude.json.lock": "no line is proposed", "/home/u/docs/own/.envrc.lock": "\"~/docs/own/.envrc\" is a protected name",
		"/home/u/docs/own/app.db-journal": "", "/home/u/docs/own/new.txt": "", "/home/u/docs/own/m.json.tmp": "", "/home/u/work/data/app.db-wal": "",
	} {
		for _, ev := range []Evidence{
			{Denials: []policy.Denial{{Axis: policy.AxisFs, Operation: "create", Target: file}}},
			{Text: "EACCES: permission denied, open '" + file + "'"},
		} {
			ev.Stage, ev.Server, ev.Profile, ev.UserHome = StageCall, "s", profile, "/home/u"
			ev.Exists = func(p string) bool { return strings.TrimSuffix(p, "/.") != file }
			ev.Harm = adviceJudge
			ev.Shared = func(dir string) string { return resolve.Shared(&host, &policy.Policy{}, dir) }
			d := Diagnose(ev)
			if shared := want != ""; !strings.Contains(d.Fix, want) || strings.Contains(want, "no line") && strings.Contains(d.Fix, "of its own") || shared && len(d.Grant) > 0 && !strings.Contains(d.Grant[1], path.Base(file)) {
				t.Errorf("%s: %q\n%s", file, d.Grant, d.Text())
			}
			if dir := path.Dir(file); want == "" && !strings.HasPrefix(dir, "/home/u/work") && !strings.Contains(strings.Join(d.Grant, " "), `"~/docs/own"`) {
				t.Errorf("%s: %q\n%s", file, d.Grant, d.Text())
			}
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
	start := func(lines, flags []string) (*policy.Profile, error) {
		key := fmt.Sprintf("%t %q %q %q", given, base, lines, flags)
		if _, known := started[key]; !known {
			p, err := startWith(base, given, lines, flags)
			started[key] = startResult{p, err}
		}
		return started[key].profile, started[key].err
	}
	before, err := start(nil, nil)
	if err != nil {
		t.Fatalf("the control does not start: %v", err)
	}
	ev.Stage, ev.Server, ev.Profile, ev.FromCommandLine = StageCall, "s", before, given
	ev.UserHome, ev.SearchPath = "/home/u", "/usr/bin:/opt/tools/bin"
	ev.Exists = func(p string) bool { _, err := host.Lstat(strings.TrimSuffix(p, "/.")); return err == nil }
	ev.Harm = adviceJudge
	ev.Shared = func(dir string) string { return resolve.Shared(&host, &policy.Policy{}, dir) }
	ev.Try = func(_ string, lines, flags []string) error {
		_, err := start(lines, flags)
		if err != nil && strings.Contains(base, "fs = [") && !errors.As(err, new(*policy.ConflictError)) {
			return &TableError{}
		}
		return err
	}
	d := Diagnose(ev)
	added := []Diagnosis{d}
	for _, h := range d.Hints {
		added = append(added, Diagnosis{Grant: h.Grant, Flags: h.Flags})
	}
	n := 0
	for _, a := range added {
		if len(a.Grant)+len(a.Flags) == 0 {
			continue
		}
		n++
		after, err := start(a.Grant, unquoted(a.Flags))
		if err != nil {
			t.Errorf("%v %q: with %q %q the server does not start: %v", ev.Denials, ev.Text, a.Grant, a.Flags, err)
			continue
		}
		for _, e := range after.Entries {
			if was, ok := before.Find(e.Path); e.Origin != policy.OriginRule || ok && was.Rights&e.Rights == e.Rights {
				continue
			}
			if place := resolve.Guarded(&host, e.Path, e.Rights&policy.Write != 0); place != "" {
				t.Errorf("%v %q: %q %q grant %s at %s, a hold on %s", ev.Denials, ev.Text, a.Grant, a.Flags, e.Rights, e.Path, place)
			}
		}
	}
	return n
}

// unquoted returns flags as a shell passes them on: no path of the test has a quotation mark and a
// flag of its own.
func unquoted(flags []string) (words []string) {
	for _, f := range flags {
		words = append(words, strings.ReplaceAll(strings.ReplaceAll(f, `'\''`, "\x00"), "'", ""))
		words[len(words)-1] = strings.ReplaceAll(words[len(words)-1], "\x00", "'")
	}
	return words
}

// startWith resolves the server of a configuration with more lines, or of a command line with flags.
func startWith(base string, given bool, lines, flags []string) (*policy.Profile, error) {
	var p *policy.Policy
	var err error
	if given {
		o := config.CommandLineOptions{Command: []string{"node"}, Name: "s", Dir: "/home/u/work"}
		for ; len(flags) > 1; flags = flags[2:] {
			list := map[string]*[]string{"--read": &o.Read, "--write": &o.Write, "--execute": &o.Execute, "--net": &o.Net, "--inbound": &o.Inbound, "--env": &o.Env, "--limit": &o.Limit}[flags[0]]
			*list = append(*list, flags[1])
		}
		p, err = config.FromCommandLine(o)
	} else {
		var c *config.Config
		if c, err = config.Decode([]byte("version = 1\n"+base+"\n"+strings.Join(lines, "\n")+"\n"), "mcp-jail.toml"); err == nil {
			p, err = c.Policy("s", "")
		}
	}
	if err != nil {
		return nil, err
	}
	profile, _, err := resolve.Resolve(p, adviceHost())
	return profile, err
}
