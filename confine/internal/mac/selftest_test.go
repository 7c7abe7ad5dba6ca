//go:build darwin || linux

package mac

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/kernel"
	"github.com/mcp-jail/mcp-jail/confine/internal/seatbelt"
	"github.com/mcp-jail/mcp-jail/confine/internal/seatbelt/seatbelttest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// asProgram is what the test binary does as one of the programs of a test.
var asProgram = func() {}

func TestMain(m *testing.M) {
	Serve()
	asProgram()
	os.Exit(m.Run())
}

// operation is what Seatbelt decides about in an attempt.
type operation struct{ name, path, vnode string }

// operations are those of an attempt, of which each must be allowed; nil: it is not about a path. Package
// seatbelt's facts say where they come from.
func operations(do string, args []string, n names) []operation {
	vnode := func(s string) string {
		if do == "movenew" || slices.ContainsFunc(objects, func(o string) bool { return n.in(o) == s+"/" }) {
			return "DIRECTORY"
		}
		return "REGULAR-FILE"
	}
	if strings.HasSuffix(args[0], "/link") {
		args[0] = n.in("{t}/u/file") // a path is judged where it leads
	}
	if one, ok := map[string]operation{
		"read": {"file-read-data", args[0], ""}, "list": {"file-read-data", args[0], ""}, "write": {"file-write-data", args[0], ""},
		"create": {"file-write-create", args[0], "REGULAR-FILE"}, "mkdir": {"file-write-create", args[0], "DIRECTORY"},
		"unlink": {"file-write-unlink", args[0], ""}, "rmdir": {"file-write-unlink", args[0], ""}, "chmod": {"file-write-mode", args[0], ""},
		"setuid": {"file-write-setugid", args[0], ""}, "link": {"file-link", args[0], ""}, "clone": {"file-clone", args[0], ""},
		"exec": {"process-exec*", args[0], ""}, "unix": {"network-outbound", args[0], ""}, "bindunix": {"network-bind", args[0], ""},
	}[do]; ok {
		return []operation{one}
	}
	switch do {
	case "symlink":
		return []operation{{"file-write-create", args[1], "SYMLINK"}}
	case "swap":
		return []operation{{"file-write-unlink", args[0], ""}, {"file-write-create", args[1], vnode(args[0])}, {"file-write-unlink", args[1], ""}, {"file-write-create", args[0], vnode(args[1])}}
	case "rename", "movenew":
		ops := []operation{{"file-write-unlink", args[0], ""}, {"file-write-create", args[1], vnode(args[0])}}
		if slices.ContainsFunc(objects, func(o string) bool { return strings.TrimRight(n.in(o), "/!") == args[1] }) {
			ops = append(ops, operation{"file-write-unlink", args[1], ""})
		}
		return ops
	}
	return nil
}

// TestTableAgainstTexts reads the texts that the generator makes of the table's own profile, and asks the
// evaluator for what each attempt on a path wants. So a Mac is asked what the texts say, and a failure there
// is one of the system.
func TestTableAgainstTexts(t *testing.T) {
	n := treeNames("/Users/me/.cache/mcp-jail/selftest-1/0i", "/private/tmp/mj-501-abcdefgh/0i")
	r := &runner{self: "/opt/mcp-jail"}
	if len(probes) > 15 {
		t.Errorf("%d probes", len(probes))
	}
	asked, denials := 0, 0
	for jail := range jails {
		text := testkit.Get(seatbelt.Compile(r.input(jail, n, 40000, nil)))(t)
		rules := testkit.Get(seatbelttest.Read(text.Profile, text.Params))(t)
		if forks := seatbelttest.Allowed(rules, "process-fork", "/", ""); forks == (jail == noFork) {
			t.Errorf("jail %d: it may start processes: %v", jail, forks)
		}
		for _, a := range attempts() {
			if probes[a.Probe].Jail != jail || jail == noFork || strings.HasPrefix(a.Args[0], "{alias}") || a.Sign == "~" || a.If == "case" {
				continue
			}
			ops := operations(a.Do, n.all(a.Args), n)
			if ops == nil {
				continue
			}
			asked++
			if a.Sign == "-" {
				denials++
			}
			allowed := !slices.ContainsFunc(ops, func(o operation) bool { return !seatbelttest.Allowed(rules, o.name, o.path, o.vnode) })
			testkit.Equal(t, fmt.Sprintf("%s: %s %v: allowed", probes[a.Probe].ID, a.Do, a.Args), allowed, (a.Sign == "+"))
		}
	}
	if asked < 60 || denials < 40 {
		t.Errorf("only %d attempts were asked about, %d of them denials", asked, denials)
	}
}

// scripted answers for the processes that make attempts: outside of the jails by itself, and inside by what
// the table wants, but for the attempts of one probe.
type scripted struct {
	sandbox string
	inside  func(a attempt) string
	refuses string // an operation that sandbox-exec does not know
	starts  int
}

func (s *scripted) perform(ctx context.Context, program string, args []string, list []attempt) ([]string, int, string) {
	if program != s.sandbox {
		return perform(ctx, program, args, list)
	}
	s.starts++
	if s.refuses != "" && strings.Contains(args[1], s.refuses) {
		return nil, statusRefusedText, "sandbox-exec: unbound variable: " + s.refuses + " at <input string>, line 9"
	}
	var out []string
	for _, a := range list {
		out = append(out, s.inside(a))
	}
	return out, 0, ""
}

func asWanted(a attempt) string {
	return map[string]string{"+": works, "-": "EPERM", "~": "EIO"}[a.Sign]
}

// test makes the test by a script.
func test(t *testing.T, s *scripted) kernel.Proof {
	t.Helper()
	s.sandbox = "/usr/bin/sandbox-exec"
	temp := testkit.Get(os.MkdirTemp(shortDir, "mj-test-"))(t)
	t.Cleanup(func() { os.RemoveAll(temp) })
	self := testkit.Get(os.Executable())(t)
	r := runner{self: self, sandbox: s.sandbox, dir: t.TempDir(), temp: temp, perform: s.perform}
	got, err := r.run(t.Context())
	if err != nil || !got.Made || len(got.Passed)+len(got.Failed) != len(probes) {
		t.Fatalf("%+v, %v", got, err)
	}
	return got
}

// TestRun: the controls work on this system, a probe fails with each of its attempts, and only that probe.
func TestRun(t *testing.T) {
	for _, row := range test(t, &scripted{inside: asWanted}).Failed {
		if !strings.HasPrefix(row.Got, "tcp {tcp6}") && !strings.Contains(row.Got, "{proxy6}") { // no IPv6 here
			t.Errorf("%+v", row)
		}
	}
	made := attempts()
	for n, id := range map[int]string{0: "S1", 5: "R1", len(made) - 1: "I2"} {
		asked := 0
		got := test(t, &scripted{inside: func(a attempt) string {
			if a.Do == made[n].Do && strings.HasSuffix(strings.Join(a.Args, " "), strings.TrimPrefix(made[n].Args[len(made[n].Args)-1], "{t}")) {
				asked++
				return map[string]string{"+": "EPERM", "-": works}[a.Sign]
			}
			return asWanted(a)
		}})
		if asked == 0 || !slices.ContainsFunc(got.Failed, func(r kernel.ProbeResult) bool { return r.ID == id }) {
			t.Errorf("%s: asked %d times, %+v", id, asked, got.Failed)
		}
	}
}

// TestNoAnswer: where a jail makes no attempt, each of its probes fails and says why. An optional operation
// that the system does not know is left out.
func TestNoAnswer(t *testing.T) {
	got := test(t, &scripted{inside: asWanted, refuses: "process-info*"})
	if len(got.Failed) != len(probes) || !strings.Contains(got.Failed[0].Got, "refuses the text") {
		t.Errorf("%+v", got.Failed)
	}
	s := &scripted{inside: asWanted, refuses: "system-info"}
	if got := test(t, s); !slices.Equal(got.Without, []string{"system-info"}) || s.starts != int(jails)+1 {
		t.Errorf("%+v, %d starts", got, s.starts)
	}
}

func TestFailure(t *testing.T) {
	for _, c := range testkit.Table[struct {
		sign, only, got, control string
		fails                    bool
	}](t, "failure.txt") {
		testkit.Equal(t, c, ((attempt{Sign: c.sign, If: c.only, Do: "read"}).failure(c.control, c.got, "") != ""), c.fails)
	}
}

// TestProve: a result counts until something changes. One in which something failed does not count for long,
// and a start takes it all the same.
func TestProve(t *testing.T) {
	dir := t.TempDir()
	if p, err := Cached(dir); p.Made || err == nil {
		t.Errorf("without a result: %+v", p)
	}
	o := Options{Sandbox: "/bin/false"} // every probe in a jail fails
	made, err := Prove(t.Context(), dir, o)
	if err != nil || !made.Made || len(made.Failed) != len(probes) {
		t.Fatalf("%+v, %v", made, err)
	}
	if p, err := Cached(dir); err != nil || !p.Made || len(p.Failed) != len(probes) {
		t.Errorf("a start does not see what failed: %+v", p)
	}
	path := filepath.Join(dir, file)
	text := testkit.Get(os.ReadFile(path))(t)
	if left, _ := filepath.Glob(filepath.Join(dir, "selftest-*")); left != nil {
		t.Errorf("left: %v", left)
	}
	for what, change := range map[string]func(string) string{
		"another system": func(s string) string { return strings.Replace(s, `"key": "`, `"key": "x`, 1) },
		"not made":       func(s string) string { return strings.Replace(s, `"made": true`, `"made": false`, 1) },
		"damaged":        func(s string) string { return s[1:] },
	} {
		changed := change(string(text))
		testkit.Must(t, os.WriteFile(path, []byte(changed), 0o600))
		if p, err := Cached(dir); p.Made || err == nil || changed == string(text) {
			t.Errorf("%s: %+v", what, p)
		}
	}
}
