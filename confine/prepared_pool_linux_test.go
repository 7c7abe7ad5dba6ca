package confine_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"golang.org/x/sys/unix"
)

// asking returns the profile of a program that asks for its directory.
func asking(t *testing.T) *policy.Profile {
	t.Helper()
	jailtest.Needs(t)
	return jailtest.Asking(t, jailtest.Profile(t), attacker.Try("cwd"))
}

// poolOf returns a pool for this profile and the IDs of its supervisor processes.
func poolOf(t *testing.T, p *policy.Profile, n int) (*confine.PreparedPool, []int) {
	t.Helper()
	return poolBy(t, confine.Launcher{}, p, n)
}

// poolBy is poolOf with the launcher of the pool.
func poolBy(t *testing.T, l confine.Launcher, p *policy.Profile, n int) (*confine.PreparedPool, []int) {
	t.Helper()
	jailtest.Needs(t)
	s := confine.NewPool(l)
	t.Cleanup(s.Close)
	s.Keep(slices.Repeat([]*policy.Profile{p}, n))
	var pids []int
	testkit.Eventually(t, "the jails are built", func() bool {
		pids = s.PIDs()
		return len(pids) == n && s.IsBuilt()
	})
	return s, pids
}

// startBy starts a server by this pool and returns the ID of its supervisor process.
func startBy(t *testing.T, s *confine.PreparedPool, p *policy.Profile) int {
	t.Helper()
	started := jailtest.BeginBy(t, confine.Launcher{Pool: s}, p, attacker.Try("cwd"))
	defer started.Finish()
	testkit.Equal(t, "a start for tool … has the plan of", started.Plan().Profile.Tool, p.Tool)
	return started.PID()
}

func alive(pid int) bool { return unix.Kill(pid, 0) == nil }

// TestPreparedServesOnce: each process serves one start. The start after the last of them has a process of its own.
func TestPreparedServesOnce(t *testing.T) {
	p := asking(t)
	s, pids := poolOf(t, p, 2)
	for i := range 3 {
		pid := startBy(t, s, p)
		testkit.Equal(t, fmt.Sprintf("start %d: by a prepared process", i), slices.Contains(pids, pid), i < 2)
		pids = slices.DeleteFunc(pids, func(other int) bool { return other == pid })
	}
}

// TestPreparedEnds: what is too many, and what is left at the end, is gone. A mount that another program makes on the
// host meanwhile ends all, so the first part has three tries.
func TestPreparedEnds(t *testing.T) {
	p := asking(t)
	var s *confine.PreparedPool
	var pids []int
	for range 3 {
		s, pids = poolOf(t, p, 3)
		s.Keep([]*policy.Profile{p})
		testkit.Eventually(t, "two are gone", func() bool {
			return !alive(pids[1]) && !alive(pids[2])
		})
		if alive(pids[0]) {
			break
		}
	}
	if !alive(pids[0]) {
		t.Error("the third is gone, too")
	}
	s.Close()
	if alive(pids[0]) {
		t.Error("it lives after Close")
	}
	if s.Keep([]*policy.Profile{p}); len(s.PIDs()) > 0 {
		t.Error("a process after Close")
	}
}

// TestPreparedThatEnded: a start does not get a process that has ended, and no other is started in its place.
func TestPreparedThatEnded(t *testing.T) {
	p := asking(t)
	s, pids := poolOf(t, p, 1)
	pidfd := testkit.Get(unix.PidfdOpen(pids[0], 0))(t)
	defer unix.Close(pidfd)
	testkit.Must(t, unix.PidfdSendSignal(pidfd, unix.SIGKILL, nil, 0))
	if !sys.WaitReadable(pidfd, int(testkit.Patience.Milliseconds())) {
		t.Fatal("it lives after SIGKILL")
	}
	startBy(t, s, p)
	testkit.Eventually(t, "it is gone", func() bool { return !alive(pids[0]) })
	if s.Keep([]*policy.Profile{p}); len(s.PIDs()) > 0 {
		t.Error("there is another process")
	}
}

// TestPreparedForItsProfile: a start under another profile does not get the jail, and neither does one whose
// directory is another than when the jail was built. The tool's name is no difference.
func TestPreparedForItsProfile(t *testing.T) {
	p := asking(t)
	dir := filepath.Join(t.TempDir(), "made")
	testkit.Must(t, os.Mkdir(dir, 0o700))
	p.Entries = append(slices.Clone(p.Entries), policy.Entry{Path: dir, Kind: policy.KindDir, Rights: policy.AllRights, Make: true})
	slices.SortFunc(p.Entries, func(a, b policy.Entry) int { return strings.Compare(a.Path, b.Path) })
	s, pids := poolOf(t, p, 2)
	other, tool := *p, *p
	other.Env, tool.Tool = append(slices.Clone(p.Env), policy.Variable{Name: "OTHER", Value: "1"}), "tool"
	for _, c := range []struct {
		what string
		p    *policy.Profile
		by   bool
	}{{"another variable", &other, false}, {"another tool", &tool, true}} {
		testkit.Equal(t, fmt.Sprintf("%s: by a prepared jail", c.what), slices.Contains(pids, startBy(t, s, c.p)), c.by)
	}
	testkit.Must(t, os.Rename(dir, dir+".old"))
	testkit.Must(t, os.Mkdir(dir, 0o700))
	if slices.Contains(pids, startBy(t, s, p)) {
		t.Error("a start has the directory that was there before")
	}
}

// maskChanges are what a program of the host can do to a hidden file, after which its name leads to the same file.
// In a jail that runs no mask lies on the name any more.
var maskChanges = []struct {
	what  string
	again func(hidden, other string) error
}{
	{"nothing", nil},
	{"removed and linked again", func(hidden, other string) error {
		return errors.Join(os.Link(hidden, other), os.Remove(hidden), os.Rename(other, hidden))
	}},
	{"renamed and linked again", func(hidden, other string) error {
		return errors.Join(os.Rename(hidden, other), os.Link(other, hidden))
	}},
}

// TestPreparedKeepsItsMasks: a start does not get a jail whose mask is gone, or elsewhere, although the file that it
// hides is the same. So it is if the mask goes once the jail has looked at it, and before the first look from outside.
func TestPreparedKeepsItsMasks(t *testing.T) {
	jailtest.Needs(t)
	for _, c := range maskChanges {
		for _, early := range []bool{true, false} {
			dir := testkit.Plant(t, "ws/hidden")
			hidden := filepath.Join(dir, "ws/hidden")
			read := attacker.Try("read", hidden)
			p := jailtest.Asking(t, jailtest.Profile(t, jailtest.Grant{Path: dir + "/ws", Rights: policy.AllRights}, jailtest.Grant{Path: hidden}), read)
			change := func() error {
				if c.again == nil {
					return nil
				}
				return c.again(hidden, hidden+"2")
			}
			var l confine.Launcher
			if early {
				l.TestHooks.Steps = func(b *jail.Builder, steps []jail.Step) []jail.Step {
					if slices.ContainsFunc(steps, func(s jail.Step) bool { return s.Name == "carve-outs" }) {
						steps = append(steps, jail.Step{Name: "change", Task: b.Init, Run: change})
					}
					return steps
				}
			}
			s, pids := poolBy(t, l, p, 1)
			if !early {
				testkit.Must(t, change())
			}
			started := jailtest.BeginBy(t, confine.Launcher{Pool: s}, p, read)
			if is := slices.Contains(pids, started.PID()); is != (c.again == nil) {
				t.Errorf("%s, early %t: by a prepared jail: %t", c.what, early, is)
			}
			started.Finish()
			jailtest.Expect(t, c.what, jailtest.Outcomes(t, []attacker.Attempt{read}, started.Out.Bytes(), "")[0], "EACCES")
		}
	}
}

// TestPreparedForItsLauncher: a start whose launcher asks for more than that of the pool does not get its jail.
func TestPreparedForItsLauncher(t *testing.T) {
	p := asking(t)
	s, pids := poolOf(t, p, 1)
	certain := jailtest.BeginBy(t, confine.Launcher{Pool: s, CertainReads: true}, p, attacker.Try("cwd"))
	if slices.Contains(pids, certain.PID()) {
		t.Error("a start that records each refused read has a jail that does not")
	}
	certain.Finish()
	if !slices.Contains(pids, startBy(t, s, p)) {
		t.Error("the control: an ordinary start has a jail of its own")
	}
	umask := 0o77
	for what, c := range map[string]struct{ of, start confine.Launcher }{
		"keeps changes":   {start: confine.Launcher{Kept: &confine.Kept{}}},
		"without gaps":    {of: confine.Launcher{Waive: []policy.Axis{policy.AxisFs}}},
		"starts others":   {of: confine.Launcher{Once: true}},
		"both once":       {confine.Launcher{Once: true}, confine.Launcher{Once: true}},
		"another program": {start: confine.Launcher{SupervisorPath: "/proc/self/exe"}},
		"another umask":   {start: confine.Launcher{Umask: &umask}},
	} {
		if confine.StartsAs(c.start, c.of) {
			t.Errorf("%s: it gets a jail of the pool", what)
		}
	}
	if !confine.StartsAs(confine.Launcher{Umask: &umask}, confine.Launcher{Umask: &umask}) {
		t.Error("the control: an equal launcher gets no jail of the pool")
	}
}

// TestPreparedOnlyWithoutFiles: a jail whose network or kept changes need something of the start is not built ahead.
func TestPreparedOnlyWithoutFiles(t *testing.T) {
	for what, change := range map[string]func(*policy.Profile){
		"a granted host": func(p *policy.Profile) { p.Net = []policy.NetRule{{Host: "example.org", Port: 443, Allow: true}} },
		"kept changes":   func(p *policy.Profile) { p.Undo = policy.Undo{Mode: policy.UndoCall, TotalMB: 1} },
	} {
		p := *asking(t)
		change(&p)
		s := confine.NewPool(confine.Launcher{})
		t.Cleanup(s.Close)
		s.Keep([]*policy.Profile{&p})
		testkit.Empty(t, fmt.Sprintf("%s: a jail is built", what), s.PIDs())
	}
}

// TestPreparedOfAnotherUser: a start does not get a jail with a directory that another user has made, as a new start
// does not.
func TestPreparedOfAnotherUser(t *testing.T) {
	p := asking(t)
	if os.Getuid() != 0 {
		t.Skip("only root can make a directory of another user")
	}
	dir := filepath.Join(t.TempDir(), "made")
	testkit.Must(t, errors.Join(os.Mkdir(dir, 0o700), os.Chown(dir, jailtest.OrdinaryUser, jailtest.OrdinaryUser)))
	p.Entries = append(slices.Clone(p.Entries), policy.Entry{Path: dir, Kind: policy.KindDir, Rights: policy.Read, Make: true})
	slices.SortFunc(p.Entries, func(a, b policy.Entry) int { return strings.Compare(a.Path, b.Path) })
	s, _ := poolOf(t, p, 1)
	var out, errs bytes.Buffer
	if _, _, err := jailtest.Start(t, confine.Launcher{Pool: s}, p, &out, &errs); err == nil {
		t.Error("there is a jail with the directory")
	}
}
