package resolve

import (
	"fmt"
	"maps"
	"math/rand"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// adversary is the program of several servers. It does any operation that their policies
// allow, and the servers are then started again.
type adversary struct {
	*generator
	host    fakeHost
	config  *config.Config
	touched map[string]bool // the paths that it has written, created or replaced
}

// processes are all processes of the configuration, as server and tool.
var processes = [][2]string{{"s", ""}, {"s", "t0"}, {"s", "t1"}, {"s", "t2"}, {"o", ""}}

// place returns a path for a rule, a link, a script or a secret.
func (a *adversary) place() string {
	dir := []string{"/home/u/proj", "/home/u/proj", "/home/u/keys", "/home/u/tools", "/home/u/keys/sub"}[a.Intn(5)]
	return path.Join(dir, []string{"a", "b", "run", "t", "sub", "sub/a", "sub/t", "sub/run", "node_modules", "package.json", "pyvenv.cfg", "bin/run"}[a.Intn(12)])
}

// outside are paths that no rule names.
var outside = []string{"/home/u/vault/t", "/home/u/vault/a", "/home/u/vault/run", "/home/u/vault/sub/t", "/home/u/vault/plan", "/home/u/vault/lib/x", "/home/u/.netrc", "/srv/vault/a"}

func (a *adversary) content() string {
	return []string{
		"text", "#!/usr/bin/python3\n", "#!/home/u/vault/run\n", "#!/home/u/vault/bin/run\n", "#!/usr/bin/env -S python3 " + a.place() + "\n", "#!" + a.place() + "\n",
	}[a.Intn(6)]
}

// put replaces the file at a path.
func (a *adversary) put(p string) {
	for d := path.Dir(p); d != "/"; d = path.Dir(d) {
		if f, ok := a.host[d]; ok && !f.mode.IsDir() {
			return
		}
	}
	for below := range a.host {
		if policy.Within(below, p) {
			delete(a.host, below)
			a.touched[below] = true
		}
	}
	a.touched[p] = true
	switch a.Intn(6) {
	case 0:
		a.host.add("d " + p)
	case 1:
		a.host[p] = fakeFile{mode: 0o755, text: a.content()}
	case 2:
		a.host.add("l " + p + " " + a.place())
	case 3:
		a.host.add("l " + p + " " + outside[a.Intn(len(outside))])
	case 4:
		a.host.add("l " + p + " " + []string{"/home/u/vault", "/home/u", "/", "../..", "/srv"}[a.Intn(5)])
	case 5: // removed
	}
	for d := path.Dir(p); d != "/"; d = path.Dir(d) { // add has created the missing directories
		if _, ok := a.host[d]; !ok {
			a.host.add("d " + d)
		}
	}
}

func newAdversary(t *testing.T, seed int64) *adversary {
	a := &adversary{generator: &generator{rand.New(rand.NewSource(seed)), true, nil}, touched: map[string]bool{}}
	a.host = newFake(aSystem, "d /home/u/keys/sub\nd /home/u/tools/bin\nf /home/u/vault/plan\nf /home/u/vault/pyvenv.cfg\nx /home/u/vault/bin/run\nx /home/u/vault/run #!/usr/bin/bash\\n\nf /home/u/vault/sub/t\nf /home/u/vault/t\nf /home/u/vault/a\nf /home/u/vault/lib/x\nf /home/u/.netrc\nf /srv/vault/a")
	for range 12 {
		a.put(a.place())
	}
	a.touched = map[string]bool{}
	rules := func(table string, rights []policy.Rights) (out string) {
		for range 1 + a.Intn(2) {
			p := a.place()
			if a.Intn(3) > 0 {
				p = path.Dir(p)
			}
			r := rights[a.Intn(len(rights))]
			deny := policy.Rights(0)
			if r == 0 {
				deny = policy.AllRights
			}
			if rel, ok := strings.CutPrefix(p, "/home/u/proj/"); ok && a.Intn(2) == 0 {
				p = rel
			}
			out += fmt.Sprintf("[[%s.access.fs]]\n%s\n", table, strings.Join(policy.FsRule{Path: p, Read: r.Has(policy.Read), Create: r.Has(policy.Create), Update: r.Has(policy.Update), Delete: r.Has(policy.Delete), Execute: r.Has(policy.Execute), Deny: deny}.TOMLFields(), "\n"))
		}
		return out
	}
	any := []policy.Rights{policy.Read | policy.Write, policy.Read | policy.Write, policy.Read, 0, policy.AllRights, policy.Rights(a.Intn(32))}
	command := []string{`"server"`, `"python3"` + "\narguments = [\"" + a.place() + "\"]", `"node"` + "\narguments = [\"" + a.place() + "\"]", `"` + a.place() + `"`, `"./run"`}[a.Intn(5)]
	source := []string{`file = "` + a.place() + `"`, `command = ["` + a.place() + `"]`, `command = ["python3", "` + a.place() + `"]`, `command = ["run"]`}[a.Intn(4)]
	text := "[servers.s]\ncommand = " + command + "\nstateful = false\n" + rules("servers.s.tools.t0", any) + rules("servers.s.tools.t1", any) + rules("servers.s.tools.t2", any) +
		"[[servers.s.tools.t0.access.net]]\nhost = \"h.example\"\nallow = true\nsecret = { env = \"T\", " + source + " }\n" +
		"[servers.o]\ncommand = \"server\"\n" + rules("servers.o", any)
	if a.Intn(2) == 0 { // otherwise the default policy makes the whole workspace writable
		text = strings.Replace(text, "stateful", "workspace = \"/home/u/keys\"\nstateful", 1)
	}
	c, err := config.Decode([]byte(text), "c.toml")
	if err != nil {
		t.Fatalf("seed %d: %v\n%s", seed, err, text)
	}
	a.config = c
	return a
}

func (a *adversary) resolve(process [2]string) (*policy.Profile, error) {
	p, err := a.config.Policy(process[0], process[1])
	if err != nil {
		return nil, err
	}
	h := a.host.host()
	h.Environ = append(h.Environ, "PATH=/home/u/tools/bin:/usr/bin:/bin")
	out, _, err := Resolve(p, h)
	return out, err
}

// act has a process do an operation that its policy allows.
func (a *adversary) act() (acted bool) {
	p, err := a.resolve(processes[a.Intn(len(processes))])
	if err != nil {
		return false
	}
	for range 40 {
		at := a.place()
		if !a.host.canHold(at) {
			continue
		}
		_, exists := a.host[at]
		below := slices.ContainsFunc(slices.Collect(maps.Keys(a.host)), func(q string) bool { return q != at && policy.Within(q, at) })
		switch {
		case exists && !below && a.host[at].mode.IsRegular() && p.Allows(policy.OpWrite, at) && a.Intn(2) == 0:
			a.touched[at] = true
			a.host[at] = fakeFile{mode: a.host[at].mode, text: a.content()}
			return true
		case (!exists || p.Allows(policy.OpRemove, at)) && p.Allows(policy.OpCreate, at) && p.Allows(policy.OpMkdir, at):
			if _, parent := a.host[path.Dir(at)]; !parent {
				continue
			}
			a.put(at)
			return true
		}
	}
	return false
}

// TestReachHolds checks that no process relies on files that any process of the
// configuration may write. After any acts of an adversary in all processes, no process is
// granted more of the files that no process may write. No secret is read from, or by, a
// file that the adversary has touched.
func TestReachHolds(t *testing.T) {
	acts, compared, secrets := 0, 0, 0
	seeds := testkit.Rounds(40, 400)
	for seed := range int64(seeds) {
		a := newAdversary(t, seed)
		before := map[[2]string]*policy.Profile{}
		for _, process := range processes {
			if p, err := a.resolve(process); err == nil {
				before[process] = p
			}
		}
		for range 6 {
			if a.act() {
				acts++
			}
		}
		after := map[[2]string]*policy.Profile{}
		for _, process := range processes {
			if p, err := a.resolve(process); err == nil {
				after[process] = p
			}
		}
		for _, process := range processes {
			p := after[process]
			if p == nil {
				continue
			}
			fail := func(format string, args ...any) {
				t.Helper()
				t.Fatalf("seed %d, %v: %s\n%s\ntouched %v\n%s", seed, process, fmt.Sprintf(format, args...), a.config.Encode(), slices.Sorted(maps.Keys(a.touched)), printProfile(p))
			}
			for _, s := range p.Secrets {
				secrets++
				a.untouched(s, fail)
				for _, process := range processes {
					if q := after[process]; q != nil && s.File != "" {
						if e, ok := q.Find(s.File); ok && e.Rights != 0 && (e.Path != s.File || e.Origin != policy.OriginRule) {
							fail("%v has %s at %s (%s)", process, e.Rights, s.File, e.Rule)
						}
					}
				}
			}
			if before[process] == nil {
				continue
			}
			compared++
			for _, x := range outside {
				if more := p.RightsAt(x) &^ before[process].RightsAt(x); more != 0 {
					fail("%s more at %s", more, x)
				}
			}
		}
	}
	t.Logf("%d acts, %d profiles compared, %d secrets", acts, compared, secrets)
	if acts < seeds || compared < 2*seeds || secrets < seeds/8 {
		t.Errorf("%d acts, %d profiles compared, %d secrets: too few for this test", acts, compared, secrets)
	}
}

// untouched fails if a secret comes from a file that the adversary has touched.
func (a *adversary) untouched(s policy.Secret, fail func(string, ...any)) {
	h := a.host.host()
	check := func(p string) {
		at, err := hostfs.NewLinkResolver(&h).Resolve(p)
		if err != nil || !at.Exists() {
			return
		}
		for _, l := range at.Links {
			if a.touched[l.Path] {
				fail("%s is reached by the link %s", p, l.Path)
			}
		}
		for d := at.Path; d != "/"; d = path.Dir(d) {
			if a.touched[d] {
				fail("%s is used", d)
			}
		}
		if line, script := strings.CutPrefix(a.host[at.Path].text, "#!"); script && s.File == "" {
			for _, word := range strings.Fields(line) {
				if strings.HasPrefix(word, "/") && a.touched[word] {
					fail("the script %s uses %s", p, word)
				}
			}
		}
	}
	if s.File != "" {
		check(s.File)
		return
	}
	check(s.Program)
	for _, arg := range s.Command[1:] {
		check(arg)
	}
}
