package grantcmd

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// A history is what a user has done to one server, and what it should have by that: each grant that was neither
// taken back nor covered by a wider one since. grants has the probes that each grant answers, by the flag of it;
// all flags for one path are one grant.
type history struct {
	t      *testing.T
	h      clients.Host
	random *rand.Rand
	path   string // of the client's file
	words  int    // how often the line of the entry was edited
	word   string // what the file says of the workspace at first; "" if it does not say it
	table  bool   // the file has rules at first
	grants map[string]map[string]bool
	log    []string
}

// probes are what is asked of the policy in force.
func probes(p *policy.Policy, h clients.Host) map[string]bool {
	is := map[string]bool{}
	at := func(path string) string { return strings.Replace(path, "~", h.Home, 1) }
	for _, path := range []string{".", "~/n", "~/n/a", "~/n/a/b", "~/m", "~/data"} {
		for _, r := range p.Fs {
			if r.Path == path || r.Path != "." && policy.Within(at(path), at(strings.TrimSuffix(r.Path, "/"))) {
				is["read "+path] = is["read "+path] || r.Read
				is["write "+path] = is["write "+path] || r.Create && r.Update && r.Delete
				is["execute "+path] = is["execute "+path] || r.Execute
			}
		}
	}
	for _, host := range []string{"a.test", "b.test", "c.test", "a.example", "first.org"} {
		for _, port := range []int{80, 443, 8443} {
			r, ok := policy.MatchNet(p.Net, host, "", port, "", "")
			is[fmt.Sprint(host, ":", port)] = ok && r.Allow
		}
	}
	for _, name := range []string{"TEAM_A", "TEAM_B", "TEAM_C", "ONE"} {
		r, ok := policy.MatchEnv(p.Env, name)
		is[name] = ok && r.Read
	}
	maps.DeleteFunc(is, func(_ string, has bool) bool { return !has })
	return is
}

// inForce asks the policy that a start with the entry's id has, whether it is wrapped or not.
func (y *history) inForce(f *config.ServerFile) map[string]bool {
	cfg, err := config.Load(config.LoadOptions{ID: f.Server.ID, User: filepath.Join(filepath.Join(y.h.Home, ".config/mcp-jail"), "config.toml"), System: filepath.Join(y.h.Home, "none")})
	must(y.t, err)
	p, err := cfg.Policy(f.Server.Name, "")
	must(y.t, err)
	return probes(p, y.h)
}

// line is the command line of the entry as the user wrote it last.
func (y *history) line() string { return fmt.Sprintf(`"/bin/true", "args": ["%d"`, y.words) }

// command runs mcp-jail grant for the server, after it has looked for that. Mostly it leaves out that the change is
// shown and made again, which costs more than all else.
func (y *history) command(remove bool, flag string) {
	y.t.Helper()
	host, err := hostfs.LocalHost()
	must(y.t, err)
	files, _ := config.ReadServers(host.ConfigDir)()
	f := files[0].Server
	out, err := os.Create(filepath.Join(y.h.Home, "said"))
	must(y.t, err)
	defer out.Close()
	e := editOf(y.t, &server{Name: f.Name, Key: f.ID, words: files[0].Words(), word: "s", host: host})
	e.remove = remove
	wanted, err := e.spelled(strings.SplitN(flag, " ", 2))
	must(y.t, err)
	if err = e.want("", wanted); err == nil && y.random.IntN(6) == 0 {
		err = e.Write(terminal.New(out, out, out), How{Yes: true})
	} else if err == nil {
		err = os.WriteFile(files[0].Path, e.File().Encode(), 0o600)
	}
	if err != nil {
		y.t.Errorf("%q: %v", y.log, err)
	}
}

// answers returns the probes that a flag alone answers.
func (y *history) answers(flag string) map[string]bool {
	table, err := session.TableOf(strings.SplitN(flag, " ", 2))
	must(y.t, err)
	p := &policy.Policy{Env: table.Variables}
	if a := table.Access; a != nil {
		p.Fs, p.Net, p.Env = a.Fs, a.Net, append(a.Env, p.Env...)
	}
	return probes(p, y.h)
}

// want is the union of the grants.
func (y *history) want() map[string]bool {
	all := map[string]bool{"read .": true, "write .": true}
	if y.word == "read" {
		delete(all, "write .")
	} else if y.word == "none" || y.word == "" && y.table {
		all = map[string]bool{}
	}
	if y.table {
		all["first.org:80"], all["first.org:443"] = true, true
	}
	for _, g := range y.grants {
		maps.Copy(all, g)
	}
	return all
}

// of returns what the flags for one thing have in common: a path, or all of another flag.
func of(flag string) string {
	if name, path, _ := strings.Cut(flag, " "); name == "--read" || name == "--write" || name == "--execute" {
		return path
	}
	return flag
}

func includes(wide, narrow map[string]bool) bool {
	for probe := range narrow {
		if !wide[probe] {
			return false
		}
	}
	return true
}

func (y *history) pick(list ...string) string { return list[y.random.IntN(len(list))] }

func (y *history) anyFlag() string {
	switch y.random.IntN(4) {
	case 0:
		return "--net " + y.pick("a.test", "a.test:8443", "b.test", "*.test", "a.example")
	case 1:
		return "--env " + y.pick("TEAM_A", "TEAM_B", "TEAM_*", "ONE")
	}
	return y.pick("--read ", "--write ", "--execute ") + y.pick("~/n", "~/n/a", "~/n/a/b", "~/m", "~/data")
}

// grant grants something, which may be granted already. Narrower grants go.
func (y *history) grant() {
	flag := y.anyFlag()
	if includes(y.want(), y.answers(flag)) {
		y.log = append(y.log, "grant again "+flag)
		y.command(false, flag)
		return
	}
	y.log = append(y.log, "grant "+flag)
	key := of(flag)
	g := y.answers(flag)
	maps.Copy(g, y.grants[key])
	maps.DeleteFunc(y.grants, func(_ string, other map[string]bool) bool { return includes(g, other) })
	y.grants[key] = g
	y.command(false, flag)
}

// remove takes a grant back.
func (y *history) remove() {
	if len(y.grants) == 0 {
		return
	}
	key := y.pick(slices.Sorted(maps.Keys(y.grants))...)
	flag, left := key, map[string]bool{}
	if has := y.grants[key]; !strings.HasPrefix(key, "--") {
		flag = "--read " + key
		if has["execute "+key] {
			flag = "--execute " + key
		}
		if has["write "+key] && (flag != "--execute "+key || y.random.IntN(2) == 0) {
			flag, left = "--write "+key, map[string]bool{}
			if has["execute "+key] {
				left = y.answers("--execute " + key)
			}
		} else if has["write "+key] {
			left = y.answers("--write " + key)
		}
	}
	y.log = append(y.log, "grant --remove "+flag)
	if delete(y.grants, key); len(left) > 0 {
		y.grants[key] = left
	}
	y.command(true, flag)
}

// byHand writes a rule into the file of the server, or takes one out.
func (y *history) byHand() {
	files, _ := config.ReadServers(filepath.Join(y.h.Home, ".config/mcp-jail"))()
	file := files[0].Path
	text := testkit.ReadFile(y.t, file)
	blocks := strings.Split(text, "\n[[")
	if at := y.random.IntN(len(blocks)); at > 0 && y.random.IntN(2) == 0 {
		_, path, is := strings.Cut(blocks[at], "path = \"")
		if path, _, _ = strings.Cut(path, "\""); !is {
			return
		}
		y.log = append(y.log, "edit: no "+path)
		delete(y.grants, path)
		testkit.WriteFile(y.t, file, strings.Join(slices.Delete(blocks, at, at+1), "\n[[")+"\n")
		return
	}
	flag := "--read " + y.pick("~/n", "~/n/a", "~/n/a/b", "~/m", "~/data")
	if includes(y.want(), y.answers(flag)) || y.grants[of(flag)] != nil || strings.Contains(text, "fs = [") { // else the server does not start
		return
	}
	y.log = append(y.log, "edit: "+flag)
	y.grants[of(flag)] = y.answers(flag)
	if !strings.Contains(text, ".access") { // the first rule would change it
		text += "[servers.s.access]\nworkspace = \"" + cmp.Or(y.word, "write") + "\"\n"
	}
	testkit.WriteFile(y.t, file, text+"# mine\n[[servers.s.access.fs]]\npath = \""+of(flag)+"\"\nread = true\n")
}

// wrapped puts the words in front, if they are not there, as mcp-jail wrap does.
func (y *history) wrapped() {
	y.log = append(y.log, "wrap")
	dir := filepath.Join(y.h.Home, ".config/mcp-jail")
	files, err := wrapping.Find(y.h, wrapping.Selection{})
	must(y.t, err)
	program := filepath.Join(y.h.Home, "mcp-jail")
	c := files[0].Wrap(wrapping.Program{Path: program}, wrapping.Selection{}, y.h, wrapping.NewIDs(dir, files, nil))
	must(y.t, wrapping.WriteFiles(dir, []*wrapping.Change{c}))
	y.save(c)
}

func (y *history) unwrapped() {
	y.log = append(y.log, "unwrap")
	files, err := wrapping.Find(y.h, wrapping.Selection{})
	must(y.t, err)
	y.save(files[0].Unwrap(wrapping.Selection{}))
}

func (y *history) save(c *wrapping.Change) {
	if c.Rewrites() {
		_, err := c.Write(filepath.Join(y.h.Home, "state"), time.Now())
		must(y.t, err)
	}
}

// newHistory returns a user with one server, which is wrapped.
func newHistory(t *testing.T, random *rand.Rand) *history {
	home, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", home)
	for _, dir := range []string{"n/a/b", "m", "data"} {
		must(t, os.MkdirAll(filepath.Join(home, dir), 0o700))
	}
	testkit.WriteFile(t, filepath.Join(home, "mcp-jail"), "")
	must(t, os.Chmod(filepath.Join(home, "mcp-jail"), 0o700))
	y := &history{t: t, h: clients.Host{OS: "linux", Home: home, Env: func(string) string { return "" }}, random: random, grants: map[string]map[string]bool{}, path: filepath.Join(home, ".claude.json")}
	testkit.WriteFile(t, y.path, `{"mcpServers": {"s": {"command": `+y.line()+`]}}}`)
	y.wrapped()
	return y
}

// said has the file of the server say something of the workspace, beside a rule or alone.
func (y *history) said(word string, table bool) {
	y.word, y.table = word, table
	y.log = append(y.log, fmt.Sprintf("workspace = %q, with a rule: %v", word, table))
	files, _ := config.ReadServers(filepath.Join(y.h.Home, ".config/mcp-jail"))()
	text, _, _ := strings.Cut(testkit.ReadFile(y.t, files[0].Path), "\n[servers.s.access]")
	if word != "" {
		text += "\n[servers.s.access]\nworkspace = \"" + word + "\"\n"
	}
	if table {
		text += "\n[[servers.s.access.net]]\nhost = \"first.org\"\nallow = true\n"
	}
	testkit.WriteFile(y.t, files[0].Path, text)
}

// edited changes a word of the wrapped entry, and wraps it again.
func (y *history) edited() {
	y.wrapped()
	before := fmt.Sprintf(`"%d"`, y.words)
	y.words++
	text := testkit.ReadFile(y.t, y.path)
	after := strings.Replace(text, before, fmt.Sprintf(`"%d"`, y.words), 1)
	if after == text {
		y.t.Fatalf("%s is not in %s", before, text)
	}
	y.log = append(y.log, "edit the line")
	testkit.WriteFile(y.t, y.path, after)
	y.wrapped()
	files, _ := config.ReadServers(filepath.Join(y.h.Home, ".config/mcp-jail"))()
	started := cmdline.Server{Given: true, Argv: []string{"/bin/true", fmt.Sprint(y.words)}}
	if _, err := session.Load(cmdline.ConfigFlags{}, cmdline.PolicyFlags{ID: files[0].Server.ID}, "", "", started); err != nil {
		y.t.Errorf("%q: %v", y.log, err)
	}
}

// TestRandomSequences: after any sequence of commands and edits a server has the union of what was granted and neither
// removed nor covered by a wider grant since. Adding never takes away. In its workspace it may do what its file said at first.
func TestRandomSequences(t *testing.T) {
	seed := time.Now().UnixNano()
	for n := range testkit.Rounds(10, 200) {
		y := newHistory(t, rand.New(rand.NewPCG(uint64(seed), uint64(n))))
		files, _ := config.ReadServers(filepath.Join(y.h.Home, ".config/mcp-jail"))()
		id := files[0].Server.ID
		y.said([]string{"", "write", "read", "none"}[n%4], n/4%2 == 1)
		for range 30 {
			was, at := y.inForce(files[0]), len(y.log)
			switch y.random.IntN(16) {
			default:
				if y.grant(); len(y.log) > at && !includes(y.inForce(files[0]), was) {
					t.Errorf("seed %d: the last grant takes something away: %q", seed, y.log)
				}
			case 3, 4, 5, 6:
				y.remove()
			case 12:
				y.wrapped()
			case 13:
				y.unwrapped()
			case 14:
				y.byHand()
			case 15:
				y.edited()
			}
			var broken []error
			files, broken = config.ReadServers(filepath.Join(y.h.Home, ".config/mcp-jail"))()
			if len(files) != 1 || len(broken) > 0 || files[0].Server.ID != id {
				t.Fatalf("seed %d: %d files, %v after %q", seed, len(files), broken, y.log)
			}
			if got, want := y.inForce(files[0]), y.want(); !maps.Equal(got, want) {
				text, _ := os.ReadFile(files[0].Path)
				t.Fatalf("seed %d: %q\nhas  %q\nwant %q\n%s", seed, y.log, slices.Sorted(maps.Keys(got)), slices.Sorted(maps.Keys(want)), text)
			}
		}
	}
}
