package confine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/policy"
)

// The kernel tests start real jails. The program in them is this test binary
// again, under another argv[0]: it makes the attempts that it is given and
// reports one outcome for each (probe_linux_test.go).

const (
	probeName    = "mcp-jail-probe"    // attempts, in a jail or outside of one
	launcherName = "mcp-jail-launcher" // a launcher of its own, to be killed
	dropName     = "mcp-jail-drop"     // becomes an ordinary user, then the rest of argv
)

// testBinary is a copy of the test binary where every user can reach it.
var testBinary string

// ordinaryUser is who the tests become a second time when they run as root.
const ordinaryUser = 61234

func TestMain(m *testing.M) {
	wallShim()
	faultShim()
	ShimMain()
	switch os.Args[0] {
	case behindName:
		runBehind(os.Args[1:])
	case probeName:
		runProbe(os.Args[1:])
	case launcherName:
		runLauncher()
	case dropName:
		runDrop(os.Args[1:])
	case worldName:
		runWorld(os.Args[1:])
	case internetName:
		runInternet(os.Args[1])
	}
	if how := os.Getenv(forbidEnv); how != "" {
		runForbid(how)
	}
	os.Exit(runTests(m))
}

// testPlace is the tests' own place outside of /tmp, which is the jail's own in
// every jail.
var testPlace = fmt.Sprint("/var/tmp/mcp-jail-test-", os.Getpid())

// runTests removes the place again. It is made by the first test that needs one:
// this binary is started many times over by tests that need none.
func runTests(m *testing.M) int {
	if testBinary = os.Getenv("MCPJAIL_TEST_BINARY"); testBinary != "" {
		return m.Run() // a second run: the place is there
	}
	os.Setenv("XDG_STATE_HOME", testPlace) // private homes
	defer os.RemoveAll(testPlace)
	return m.Run()
}

var makePlace = sync.OnceValue(func() error {
	if testBinary != "" {
		return nil
	}
	if err := os.Mkdir(testPlace, 0o755); err != nil {
		return err
	}
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return err
	}
	testBinary = filepath.Join(testPlace, "probe")
	if err := os.WriteFile(testBinary, self, 0o755); err != nil {
		return err
	}
	for _, wall := range []world{wallNamespaces, wallMediation} {
		if err := os.Link(testBinary, testBinary+"-"+string(wall)); err != nil {
			return err
		}
	}
	os.Setenv("TMPDIR", testPlace)
	return errors.Join(os.Chmod(testPlace, 0o755), os.Chmod(testBinary, 0o755)) // whatever the umask
})

// needsJail skips where this host cannot build a jail at all.
func needsJail(t testing.TB) {
	t.Helper()
	needs(t, "userns", "landlock", "seccomp", "mount_api")
	if err := makePlace(); err != nil {
		t.Fatal(err)
	}
}

// grant is an entry to be.
type grant struct {
	path   string
	rights policy.Rights
}

// jailProfile is a profile of a program that needs no more than the C library,
// with the grants on top.
func jailProfile(t testing.TB, grants ...grant) *policy.Profile {
	t.Helper()
	p := &policy.Profile{
		Server: "test", Program: testBinary, Argv: []string{probeName}, Dir: "/",
		Env: []policy.Variable{{Name: "PATH", Value: "/usr/bin"}},
	}
	grants = append(slices.Clone(grants), grant{testBinary, policy.Read | policy.Execute})
	for _, dir := range []string{"/bin", "/lib", "/lib64", "/usr"} {
		if target, err := os.Readlink(dir); err == nil {
			p.Links = append(p.Links, policy.Link{Path: dir, Target: target})
		} else if _, err := os.Stat(dir); err == nil {
			grants = append(grants, grant{dir, policy.Read | policy.Execute})
		}
	}
	for _, g := range grants {
		if !slices.ContainsFunc(p.Entries, func(e policy.Entry) bool { return e.Path == g.path }) {
			p.Entries = append(p.Entries, entryOf(t, g))
		}
	}
	sortEntries(p)
	// A "/" that is granted leaves no link outside of every entry.
	p.Links = slices.DeleteFunc(p.Links, func(l policy.Link) bool { return p.RightsAt(l.Path) != 0 })
	return p
}

func entryOf(t testing.TB, g grant) policy.Entry {
	t.Helper()
	e := policy.Entry{Path: g.path, Named: g.path, Rights: g.rights, Origin: policy.OriginRule, Rule: "path = " + g.path}
	fd, err := openLast(unix.AT_FDCWD, g.path)
	if err != nil {
		t.Fatalf("%s: %v", g.path, err)
	}
	defer unix.Close(fd)
	if e.ID, err = objectID(fd); err != nil {
		t.Fatal(err)
	}
	fi, err := os.Lstat(g.path)
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case fi.IsDir():
		e.Kind = policy.KindDir
	case fi.Mode().IsRegular():
		e.Kind = policy.KindFile
	default:
		e.Kind = policy.KindSpecial
	}
	return e
}

// attempt is a verb of the probe with its arguments.
type attempt []string

func try(verb string, args ...string) attempt { return append(attempt{verb}, args...) }

func (a attempt) String() string { return strings.Join(a, " ") }

// outcome is what came of an attempt: "ok", perhaps with an answer behind it, or
// the name of an errno.
type outcome = string

const succeeded outcome = "ok"

// inJail makes the attempts in one jail, in this order.
func inJail(t testing.TB, p *policy.Profile, attempts ...attempt) []outcome {
	t.Helper()
	out, err := runJail(t, Launcher{Waive: []policy.Axis{policy.AxisFs}}, p, attempts)
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	return out
}

// jailed is inJail for one attempt.
func jailed(t testing.TB, p *policy.Profile, verb string, args ...string) outcome {
	t.Helper()
	return inJail(t, p, try(verb, args...))[0]
}

func runJail(t testing.TB, l Launcher, p *policy.Profile, attempts []attempt) ([]outcome, error) {
	t.Helper()
	q := *p
	q.Argv = append(slices.Clone(p.Argv), probeArgs(t, attempts)...)
	var out, errs bytes.Buffer
	proc, wait, err := startJail(t, l, &q, &out, &errs)
	if err != nil {
		return nil, err
	}
	exit, _ := proc.Wait()
	wait()
	return outcomes(t, attempts, out.Bytes(), fmt.Sprintf("exit %+v, stderr %q", exit, errs.String())), nil
}

// startJail starts a program with its output collected; wait returns when both
// pipes are at their end.
func startJail(t testing.TB, l Launcher, p *policy.Profile, out, errs io.Writer) (*Process, func(), error) {
	t.Helper()
	if bareWorld {
		l.Waive = allGaps.Waive
	}
	var ends []*os.File
	done := make(chan struct{}, 2)
	for _, w := range []io.Writer{out, errs} {
		r, pw, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, pw)
		go func() {
			io.Copy(w, r)
			r.Close()
			done <- struct{}{}
		}()
	}
	proc, err := l.Start(t.Context(), p, Stdio{Out: ends[0], Err: ends[1]})
	ends[0].Close()
	ends[1].Close()
	if err == nil {
		t.Cleanup(func() { proc.Kill(); <-proc.Done() })
	}
	return proc, func() { <-done; <-done }, err
}

// unconfined makes the attempts in a process without a jail: the control.
func unconfined(t testing.TB, dir string, attempts ...attempt) []outcome {
	t.Helper()
	cmd := exec.Command(testBinary)
	cmd.Args = append([]string{probeName}, probeArgs(t, attempts)...)
	cmd.Dir = dir
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	return outcomes(t, attempts, out, fmt.Sprintf("%v, stderr %q", err, errs.String()))
}

func probeArgs(t testing.TB, attempts []attempt) []string {
	t.Helper()
	b, err := json.Marshal(attempts)
	if err != nil {
		t.Fatal(err)
	}
	return []string{string(b)}
}

// outcomes reads a report. A probe that says less or more than one outcome an
// attempt has failed, whatever it tried.
func outcomes(t testing.TB, attempts []attempt, report []byte, how string) []outcome {
	t.Helper()
	var out []outcome
	if err := json.Unmarshal(report, &out); err != nil || len(out) != len(attempts) {
		t.Fatalf("the probe reported %q (%v) for %d attempts: %s", report, err, len(attempts), how)
	}
	return out
}

// hostTree lists everything below dir, with what a change would show in.
func hostTree(t testing.TB, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		var st unix.Stat_t
		if err := unix.Lstat(p, &st); err != nil {
			return err
		}
		fmt.Fprintf(&b, "%s %o %d %d", strings.TrimPrefix(p, dir), st.Mode, st.Nlink, st.Uid)
		if d.Type().IsRegular() {
			content, _ := os.ReadFile(p)
			fmt.Fprintf(&b, " %q", content)
		}
		b.WriteByte('\n')
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// plant makes a tree on the host: a name with a slash at its end is a directory,
// "a -> b" a symlink, "a = b" a hard link, every other a file with its name as
// content. It returns the directory, which is not below /tmp.
func plant(t testing.TB, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	plantBelow(t, dir, names...)
	return dir
}

func plantBelow(t testing.TB, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		link, target, isLink := strings.Cut(name, " -> ")
		hard, other, isHard := strings.Cut(name, " = ")
		p := filepath.Join(dir, name)
		var err error
		switch {
		case strings.HasSuffix(name, "/"):
			err = os.MkdirAll(p, 0o755)
		case isLink:
			err = os.Symlink(target, filepath.Join(dir, link))
		case isHard:
			err = os.Link(filepath.Join(dir, other), filepath.Join(dir, hard))
		default:
			if err = os.MkdirAll(filepath.Dir(p), 0o755); err == nil {
				err = os.WriteFile(p, []byte(filepath.Base(name)), 0o755)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func expect(t testing.TB, what string, got, want outcome) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %s, want %s", what, got, want)
	}
}

// eventually waits for a condition that takes the kernel a moment.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for range 500 {
		if holds() {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("after five seconds still not: %s", what)
}

// runDrop becomes an ordinary user for good, without a group or a capability
// that could come back, and executes the rest.
func runDrop(argv []string) {
	runtime.LockOSThread() // the bounding set belongs to the thread that executes
	for c := uintptr(0); c <= unix.CAP_LAST_CAP; c++ {
		unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0)
	}
	fail := func(err error) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if os.Getenv(suiteNetEnv) != "" {
		if err := makeTestNetwork(); err != nil {
			fail(err)
		}
	}
	if err := syscall.Setgroups(nil); err != nil {
		fail(err)
	}
	if err := syscall.Setresgid(ordinaryUser, ordinaryUser, ordinaryUser); err != nil {
		fail(err)
	}
	if err := syscall.Setresuid(ordinaryUser, ordinaryUser, ordinaryUser); err != nil {
		fail(err)
	}
	fail(syscall.Exec(argv[0], argv, os.Environ()))
}

// TestOrdinaryUser runs all kernel tests again as somebody who is not root.
func TestOrdinaryUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("this is an ordinary user already")
	}
	if testing.Short() {
		t.Skip("-short")
	}
	needsJail(t)
	home := filepath.Join(filepath.Dir(testBinary), "user")
	if err := os.Mkdir(home, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(home, ordinaryUser, ordinaryUser); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(testBinary, testBinary, "-test.run=^TestJail", "-test.timeout=5m")
	cmd.Args[0] = dropName
	cmd.Dir = home
	cmd.Env = append(os.Environ(), "MCPJAIL_TEST_BINARY="+testBinary, "TMPDIR="+home, "HOME="+home)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("as user %d: %v\n%s", ordinaryUser, err, out)
	} else {
		t.Logf("as user %d: %s", ordinaryUser, out)
	}
}

func sortEntries(p *policy.Profile) {
	sort.Slice(p.Entries, func(i, j int) bool { return p.Entries[i].Path < p.Entries[j].Path })
}
