package integration

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestJailProtectedNames: protected names cannot be made, by any call and in any spelling of the
// path.
func TestJailProtectedNames(t *testing.T) {
	t.Parallel()
	jailtest.Needs(t)
	tree := []string{
		"a", "sub/b", "dir/workflows/", "dir/x", "node_modules/p/.vscode/", "node_modules/q/lib", "node_modules/s/in/.vscode/", "node_modules/e/.env", "keys/key", "link -> sub", "dangling -> .envrc",
		"repo/.git/HEAD", "other/tasks.json",
	}
	profile := func(dir string) *policy.Profile {
		p := jailtest.Profile(t, jailtest.Grant{Path: dir, Rights: rw})
		p.Hidden = []string{".env", ".env.*", "!.env.example", "dir/key"}
		return p
	}
	(fileTable{tree, profile, jailtest.Attempts}).check(t, "protected-names.txt")
}

// TestJailExecWritten: a file can be executed as soon as the server has closed it. The supervisor,
// which opened it, must have closed its own descriptor then (ETXTBSY).
func TestJailExecWritten(t *testing.T) {
	t.Parallel()
	jailtest.Needs(t)
	try := func(dir string) attacker.Attempt { return attacker.Try("exec-written", dir) }
	jailtest.Expect(t, "unconfined", jailtest.Unconfined(t, "/", try(testkit.Plant(t, "a")))[0], attacker.Succeeded)
	for what, want := range map[policy.Rights]attacker.Outcome{rw | policy.Execute: attacker.Succeeded, rw: "EACCES"} {
		dir := testkit.Plant(t, "a")
		p := jailtest.Profile(t, jailtest.Grant{Path: dir, Rights: what})
		jailtest.Expect(t, what.String(), jailtest.Attempts(t, p, try(dir))[0], want)
	}
}

// TestJailHostReplaces: a file that the host replaces or makes after the start is as protected
// as the one before, although no mount lies on it.
func TestJailHostReplaces(t *testing.T) {
	t.Parallel()
	jailtest.Needs(t)
	dir := testkit.Plant(t, "config", "src/code", "sub/x")
	p := jailtest.Profile(t, jailtest.Grant{Path: dir, Rights: rw}, jailtest.Grant{Path: dir + "/config", Rights: policy.Read}, jailtest.Grant{Path: dir + "/src", Rights: policy.Read})
	p.Unprotected = []string{dir + "/notyet"}
	s := jailtest.Begin(t, p, attacker.Try("await", dir+"/go"),
		attacker.Try("write", dir+"/config"), attacker.Try("rewrite", dir+"/config"), attacker.Try("truncate", dir+"/config"), attacker.Try("unlink", dir+"/config"),
		attacker.Try("rename", dir+"/sub", dir+"/config"), attacker.Try("read", dir+"/config"),
		attacker.Try("write", dir+"/.envrc"), attacker.Try("unlink", dir+"/.envrc"), attacker.Try("rename", dir+"/.envrc", dir+"/x"), attacker.Try("read", dir+"/.envrc"),
		attacker.Try("write", dir+"/notyet"), attacker.Try("unlink", dir+"/notyet"), attacker.Try("create", dir+"/notyet/x"),
		attacker.Try("create", dir+"/src/new"), attacker.Try("write", dir+"/sub/x"),
		attacker.Try("link", dir+"/.envrc", dir+"/x"), attacker.Try("link", dir+"/config", dir+"/y"), attacker.Try("link-fd", dir+"/.envrc", dir+"/z"),
		attacker.Try("link", dir+"/sub/x", dir+"/linked"), attacker.Try("link-fd", dir+"/sub/x", dir+"/linked2"),
		attacker.Try("reopen-fd", dir+"/.envrc"), attacker.Try("reopen-fd", dir+"/notyet"), attacker.Try("reopen-fd", dir+"/sub/x"))
	for _, f := range [][2]string{{"config", "new"}, {".envrc", "mine"}, {"notyet", "mine"}, {"go", ""}} {
		tmp := filepath.Join(dir, "sub", ".tmp")
		testkit.Must(t, os.WriteFile(tmp, []byte(f[1]), 0o644))
		testkit.Must(t, os.Rename(tmp, filepath.Join(dir, f[0])))
	}
	s.Finish()
	got := jailtest.Outcomes(t, make([]attacker.Attempt, 24), s.Out.Bytes(), "")
	want := []attacker.Outcome{
		"ok", "EACCES", "EACCES", "EACCES", "EBUSY", "EBUSY", "ok new",
		"EACCES", "EACCES", "EACCES", "ok mine",
		"EACCES", "EACCES", "ENOTDIR",
		"EROFS", "ok",
		// Another name for them would be one to write them by.
		"EXDEV", "EXDEV", "EXDEV", "ok", "ok",
		// And so would a descriptor that reads.
		"EACCES", "EACCES", "ok",
	}
	testkit.Equal(t, "", got, want)
	for _, d := range s.Denials() {
		if d.Axis == policy.AxisFs && d.Operation == "write" && d.Target == dir+"/.envrc" && d.Count == 4 && d.Program == jailtest.Binary {
			return
		}
	}
	t.Errorf("no denial of writing .envrc in %+v", s.Denials())
}

// TestJailReplacedFile: the mount of a rule for one file stays on the file of the start. If the host replaces or
// removes that, what the server writes there would be lost, so it cannot be opened for writing.
func TestJailReplacedFile(t *testing.T) {
	t.Parallel()
	jailtest.Needs(t)
	dir := testkit.Plant(t, "replaced", "removed", "kept", "read", "all/inner", "sync/")
	p := jailtest.Profile(t, jailtest.Grant{Path: dir + "/replaced", Rights: r | u}, jailtest.Grant{Path: dir + "/removed", Rights: r | u},
		jailtest.Grant{Path: dir + "/kept", Rights: r | u}, jailtest.Grant{Path: dir + "/all", Rights: rw}, jailtest.Grant{Path: dir + "/sync", Rights: r},
		jailtest.Grant{Path: dir + "/read", Rights: r})
	tries := []attacker.Attempt{attacker.Try("write", dir+"/replaced"), attacker.Try("write", dir+"/removed"),
		attacker.Try("create", dir+"/all/begun"), attacker.Try("await", dir+"/sync/go")}
	for _, verb := range []string{"read", "write", "append", "rewrite", "open-truncate", "truncate"} {
		for _, name := range []string{"replaced", "removed", "kept", "all/inner"} {
			tries = append(tries, attacker.Try(verb, filepath.Join(dir, name)))
		}
	}
	tries = append(tries, attacker.Try("reopen-removed", dir+"/all/own"), attacker.Try("write", dir+"/read"))
	s := jailtest.Begin(t, p, tries...)
	testkit.Eventually(t, "the server has begun", func() bool { _, err := os.Lstat(dir + "/all/begun"); return err == nil })
	for _, name := range []string{"replaced", "all/inner", "read"} {
		testkit.Must(t, os.WriteFile(dir+"/new", []byte("newer"), 0o644))
		testkit.Must(t, os.Rename(dir+"/new", filepath.Join(dir, name)))
	}
	testkit.Must(t, os.Remove(dir+"/removed"))
	testkit.Must(t, os.WriteFile(dir+"/sync/go", nil, 0o644))
	s.Finish()
	want := []attacker.Outcome{"ok", "ok", "ok", "ok"}
	writes := []attacker.Outcome{"ESTALE", "ESTALE", "ok", "ok"}
	want = slices.Concat(want, []attacker.Outcome{"ok replaced", "ok removed", "ok kept", "ok newer"}, writes, writes, writes, writes, writes, []attacker.Outcome{"ok", "EROFS"})
	testkit.Equal(t, "", jailtest.Outcomes(t, make([]attacker.Attempt, len(tries)), s.Out.Bytes(), ""), want)
	testkit.Equal(t, "the new file", string(testkit.Get(os.ReadFile(dir+"/replaced"))(t)), "newer")
}

// TestJailReplacedMeanwhile: a file of an allowed folder that is replaced while the server opens it can be opened, as
// without a jail. Only a file that a mount holds can be a stale one.
func TestJailReplacedMeanwhile(t *testing.T) {
	t.Parallel()
	jailtest.Needs(t)
	dir := testkit.Plant(t, "name")
	var over atomic.Bool
	var replacing sync.WaitGroup
	replacing.Go(func() {
		for !over.Load() {
			testkit.Works(t, "replace", errors.Join(os.WriteFile(dir+"/next", nil, 0o666), os.Rename(dir+"/next", dir+"/name")))
		}
	})
	jailtest.Expect(t, "unconfined", jailtest.Unconfined(t, "/", attacker.Try("open-often", dir+"/name"))[0], attacker.Succeeded)
	jailtest.Expect(t, "in the jail", jailtest.Attempt(t, jailtest.Profile(t, jailtest.Grant{Path: dir, Rights: rw}), "open-often", dir+"/name"), attacker.Succeeded)
	over.Store(true)
	replacing.Wait()
}

// TestJailNameRaces: a program that changes the arguments of a call, or moves the directory that
// it names, during the decision gains nothing.
func TestJailNameRaces(t *testing.T) {
	t.Parallel()
	jailtest.Needs(t)
	for _, verb := range []string{"race-memory", "race-rename", "race-symlink", "race-open", "race-create"} {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			control := testkit.Plant(t, "one/", "two/", "repo/.git/config")
			testkit.MustEqual(t, "unconfined", jailtest.Unconfined(t, "/", attacker.Try(verb, control))[0], "ok made")
			dir := testkit.Plant(t, "one/", "two/", "repo/.git/config")
			jailtest.Expect(t, "in the jail", jailtest.Attempt(t, jailtest.Profile(t, jailtest.Grant{Path: dir, Rights: rw}), verb, dir), "ok held")
		})
	}
}

// TestJailNameRaceOfTwoJails: two jails share a directory and have a supervisor each. One makes
// a name where it may. The other moves that directory to a place where the name is protected.
func TestJailNameRaceOfTwoJails(t *testing.T) {
	t.Parallel()
	jailtest.Needs(t)
	maker, mover := "race-maker", "race-mover"
	control := testkit.Plant(t, "node_modules/p/")
	done := make(chan attacker.Outcome)
	go func() { done <- jailtest.Unconfined(t, "/", attacker.Try(mover, control))[0] }()
	made := jailtest.Unconfined(t, "/", attacker.Try(maker, control))[0]
	if moved := <-done; made != attacker.Succeeded || moved != "ok left" {
		t.Fatalf("unconfined: %s, %s", made, moved)
	}
	dir := testkit.Plant(t, "node_modules/p/")
	p := jailtest.Profile(t, jailtest.Grant{Path: dir, Rights: rw})
	a, b := jailtest.Begin(t, p, attacker.Try(maker, dir)), jailtest.Begin(t, p, attacker.Try(mover, dir))
	a.Finish()
	b.Finish()
	jailtest.Expect(t, "the one that moves", jailtest.Outcomes(t, make([]attacker.Attempt, 1), b.Out.Bytes(), "")[0], "ok")
	if tree := jailtest.HostTree(t, dir); strings.Contains(tree, "q/.vscode") {
		t.Error(tree)
	}
}

// TestJailCallResults: calls that the supervisor carries out for the server have the results,
// errors, modes and descriptors that the kernel would give.
func TestJailCallResults(t *testing.T) {
	t.Parallel()
	jailtest.Needs(t)
	tree := []string{"f", "d/e", "l -> f", "dangling -> new", "loop1 -> loop2", "loop2 -> loop1", "dl -> d", "abs"}
	answer := func(run func(dir string) attacker.Outcome) string {
		dir := testkit.Plant(t, tree...)
		os.Symlink(dir+"/f", dir+"/absolute")
		os.Chmod(dir+"/f", 0o644)
		got := run(dir)
		return strings.ReplaceAll(got, dir, "DIR") + "\n" + strings.ReplaceAll(jailtest.HostTree(t, dir), dir, "DIR")
	}
	want := answer(func(dir string) attacker.Outcome { return jailtest.Unconfined(t, "/", attacker.Try("calls", dir))[0] })
	got := answer(func(dir string) attacker.Outcome {
		return jailtest.Attempt(t, jailtest.Profile(t, jailtest.Grant{Path: dir, Rights: rw}), "calls", dir)
	})
	if !strings.HasPrefix(want, "ok ") || strings.Count(want, ";") < 60 {
		t.Fatalf("the control: %s", want)
	}
	in, out := strings.FieldsFunc(got, separates), strings.FieldsFunc(want, separates)
	if len(in) != len(out) {
		t.Errorf("in the jail %d results, unconfined %d:\n%s", len(in), len(out), got)
	}
	for i := range min(len(in), len(out)) {
		testkit.Equal(t, "in the jail, and unconfined", in[i], out[i])
	}
}

func separates(r rune) bool { return r == ';' || r == '\n' }

// TestJailFillsOnly: with create and without update a program makes a file and fills it by the
// descriptor that made it. It cannot open an existing file for writing.
func TestJailFillsOnly(t *testing.T) {
	t.Parallel()
	jailtest.Needs(t)
	attempts := func(dir string) []attacker.Attempt {
		return []attacker.Attempt{
			attacker.Try("fill-new", dir+"/new", "text"), attacker.Try("read", dir+"/new"), attacker.Try("fill-unnamed", dir+"/second", "more"), attacker.Try("read", dir+"/second"),
			attacker.Try("write", dir+"/new"), attacker.Try("append", dir+"/new"), attacker.Try("rewrite", dir+"/new"), attacker.Try("truncate", dir+"/new"), attacker.Try("creating", dir+"/new"),
			attacker.Try("refill", dir+"/third"), attacker.Try("write", dir+"/old"), attacker.Try("read", dir+"/old"), attacker.Try("unlink", dir+"/new"),
		}
	}
	free := testkit.Plant(t, "old")
	for i, got := range jailtest.Unconfined(t, "/", attempts(free)...) {
		if !strings.HasPrefix(got, attacker.Succeeded) {
			t.Errorf("unconfined, %s: %s", attempts(free)[i], got)
		}
	}
	dir := testkit.Plant(t, "old")
	p := jailtest.Profile(t, jailtest.Grant{Path: dir, Rights: policy.Read | policy.Create})
	if plan, err := (confine.Launcher{}).Compile(p); err != nil {
		t.Fatal(err, plan.Gaps)
	}
	want := []attacker.Outcome{"ok", "ok text", "ok", "ok more", "EACCES", "EACCES", "EACCES", "EACCES", "EACCES", "EACCES", "EACCES", "ok old", "EACCES"}
	testkit.Equal(t, "", jailtest.Attempts(t, p, attempts(dir)...), want)
}

// TestJailParallelOpens: every one of many concurrent opens gets its own file, also while
// signals arrive.
func TestJailParallelOpens(t *testing.T) {
	t.Parallel()
	jailtest.Needs(t)
	dir := testkit.Plant(t, "x/")
	p := jailtest.Profile(t, jailtest.Grant{Path: dir, Rights: rw})
	n := jailtest.Rounds(200, 1000)
	jailtest.Expect(t, "in the jail", jailtest.Attempt(t, p, "many-opens", dir, strconv.Itoa(n)), fmt.Sprint("ok ", 8*n))
}

// TestJailParallelNames: each of many concurrent calls is judged by its own name. Workers of the
// supervisor change their directory to judge.
func TestJailParallelNames(t *testing.T) {
	t.Parallel()
	jailtest.Needs(t)
	tree := []string{"plain0/", "plain1/", "plain2/", "plain3/", "repo0/.git/", "repo1/.git/", "repo2/.git/", "repo3/.git/"}
	n := jailtest.Rounds(50, 200)
	each := strconv.Itoa(n)
	jailtest.Expect(t, "unconfined", jailtest.Unconfined(t, "/", attacker.Try("many-names", testkit.Plant(t, tree...), each))[0], fmt.Sprint("ok ", 4*n, " ", 4*n))
	dir := testkit.Plant(t, tree...)
	jailtest.Expect(t, "in the jail", jailtest.Attempt(t, jailtest.Profile(t, jailtest.Grant{Path: dir, Rights: rw}), "many-names", dir, each), fmt.Sprint("ok ", 4*n, " 0"))
}

// TestJailMediatorDoesNotOpenItself: the supervisor may open files of /proc about itself. It
// opens none of them for the server, by any mediated call.
func TestJailMediatorDoesNotOpenItself(t *testing.T) {
	t.Parallel()
	jailtest.Needs(t)
	dir := testkit.Plant(t, "f", "mem -> /proc/1/mem", "environ -> /proc/1/environ")
	attempts := []attacker.Attempt{attacker.Try("open-creat", dir+"/mem"), attacker.Try("open-creat", dir+"/environ")}
	for _, name := range []string{"1/mem", "1/maps", "1/environ", "1/fdinfo/4", "1/task/1/mem", "1/fd/4", "1/cwd/etc", "1/task/1/maps"} {
		attempts = append(attempts, attacker.Try("open-creat", "/proc/"+name))
	}
	attempts = append(attempts, attacker.Try("by-dir-creat", "/proc/1", "mem"))
	own := []attacker.Attempt{attacker.Try("open-creat", "/proc/self/status"), attacker.Try("open-creat", "/proc/meminfo"), attacker.Try("open-creat", dir+"/f")}
	for i, got := range jailtest.Attempts(t, jailtest.Profile(t, jailtest.Grant{Path: dir, Rights: rw}), append(attempts, own...)...) {
		if want := attacker.Outcome("EACCES"); i < len(attempts) {
			jailtest.Expect(t, attempts[i].String(), got, want)
		} else {
			jailtest.Expect(t, own[i-len(attempts)].String(), got, attacker.Succeeded)
		}
	}
	for _, a := range append([]attacker.Attempt{attacker.Try("open-creat", fmt.Sprintf("/proc/%d/maps", os.Getpid())), attacker.Try("by-dir-creat", "/proc/self", "maps")}, own...) {
		jailtest.Expect(t, "unconfined, "+a.String(), jailtest.Unconfined(t, "/", a)[0], attacker.Succeeded)
	}
}

// TestJailDenials: a refusal is recorded once. If nothing is refused, nothing is recorded.
func TestJailDenials(t *testing.T) {
	t.Parallel()
	jailtest.Needs(t)
	dir := testkit.Plant(t, "ws/file", "ro/file", "outside/file", "script")
	p := jailtest.Profile(t, jailtest.Grant{Path: dir + "/ws", Rights: rw}, jailtest.Grant{Path: dir + "/ro", Rights: policy.Read}, jailtest.Grant{Path: dir + "/script", Rights: policy.Read})
	s := jailtest.Begin(t, p,
		attacker.Try("write", dir+"/ro/file"), attacker.Try("write", dir+"/ro/file"), attacker.Try("create", dir+"/ro/new"), attacker.Try("unlink", dir+"/ro/file"),
		attacker.Try("mkdir", dir+"/ws/.vscode"), attacker.Try("create", dir+"/outside/new"), attacker.Try("create", dir+"/nowhere/new"),
		attacker.Try("exec", dir+"/script"), attacker.Try("connect-tcp", "198.51.100.7:443"), attacker.Try("rename", dir+"/ws/file", dir+"/ws/.envrc"),
		// Nothing of this was refused by the jail.
		attacker.Try("create", dir+"/ws/a"), attacker.Try("create", dir+"/ws/a"), attacker.Try("unlink", dir+"/ws/none"), attacker.Try("mkdir", dir+"/ws"), attacker.Try("write", "/dev/null"))
	s.Finish()
	var got []string
	for _, d := range s.Denials() {
		named := d.Program == jailtest.Binary && d.PID > 1 || d.Axis == policy.AxisNet // no socket names its process
		if !named || d.Time.IsZero() || d.Count < 1 {
			t.Errorf("incomplete: %+v", d)
		}
		got = append(got, fmt.Sprintf("%s %s %s", d.Axis, d.Operation, strings.ReplaceAll(d.Target, dir, "DIR")))
	}
	want := []string{
		"fs write DIR/ro/file", "fs create DIR/ro/new", "fs remove DIR/ro/file", "fs mkdir DIR/ws/.vscode", "fs create DIR/outside/new",
		"process exec DIR/script", "net connect 198.51.100.7:443", "fs rename DIR/ws/.envrc",
	}
	slices.Sort(got) // the network's come another way
	slices.Sort(want)
	testkit.Equal(t, fmt.Sprintf("denials\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n")), got, want)
}

// TestJailNamesPrograms: a refused program is recorded by its path, also if the server named it
// through its own /proc.
func TestJailNamesPrograms(t *testing.T) {
	t.Parallel()
	jailtest.Needs(t)
	dir := testkit.Plant(t, "script")
	for _, name := range []string{dir + "/script", "/proc/self/root" + dir + "/script", "/proc/thread-self/root" + dir + "/script"} {
		s := jailtest.Begin(t, jailtest.Profile(t, jailtest.Grant{Path: dir, Rights: rw}), attacker.Try("exec", name))
		s.Finish()
		if d := s.Denials(); len(d) != 1 || d[0].Operation != "exec" || d[0].Target != dir+"/script" || d[0].Program != jailtest.Binary {
			t.Errorf("%s: %+v", name, d)
		}
	}
}

// TestSupervisorIsAsked: without the supervisor no call that writes works: the filter fails
// closed.
func TestSupervisorIsAsked(t *testing.T) {
	jailtest.Needs(t)
	dir := testkit.Plant(t, "f")
	out := jailtest.Unconfined(t, "/", attacker.Try("unanswered", dir))[0]
	jailtest.Expect(t, "with the listener closed", out, "ENOSYS")
}

// TestJailAttributesWithoutCase: where names ignore case, no mount lies on another spelling of a protected name,
// and the supervisor refuses to change its mode and times. The tree here has the other spelling as a file of its own.
func TestJailAttributesWithoutCase(t *testing.T) {
	t.Parallel()
	jailtest.Needs(t)
	tree := []string{"repo/.git/HEAD", "repo/.GIT/HOOKS/pre-commit", ".VSCODE/tasks.json", "sub/b", "node_modules/p/.VSCODE/x"}
	profile := func(dir string) *policy.Profile {
		p := jailtest.Profile(t, jailtest.Grant{Path: dir, Rights: rw})
		p.IgnoreCase = []string{dir}
		return p
	}
	(fileTable{tree, profile, jailtest.Attempts}).check(t, "attributes-without-case.txt")
}
