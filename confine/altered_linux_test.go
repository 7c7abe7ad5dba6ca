package confine

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/stub"
)

// An altered jail lacks what one probe of the self-test is there to notice. Of the self-test that probe is all
// that is left, since what is missing would show others first.
type altered struct {
	probe   string
	without []string // steps
	before  func(t *stub.Task) error
}

// alteredJails has one for every probe, but for those that TestJailFaults deceives.
func alteredJails() []altered {
	return []altered{
		{probe: "mount", without: []string{"capabilities", "landlock", "seccomp"}},
		{probe: "make a user namespace", without: []string{"seccomp"}},
		{probe: "open a packet socket", without: []string{"capabilities", "seccomp"}},
		{probe: "trace a process", without: []string{"seccomp"}},
		{probe: "open the terminal", before: takeTerminal},
		{probe: "write into the root", without: []string{"capabilities", "landlock", "seccomp"}, before: func(t *stub.Task) error {
			return t.MountSetattr(unix.AT_FDCWD, "/", 0, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY})
		}},
		{probe: "find a way out of the network namespace", without: []string{"capabilities", "seccomp"}, before: everyAddressLocal},
		{probe: "list /", without: []string{"landlock"}},
	}
}

var deceivedProbes = []string{"see the launcher's process"}

// takeTerminal makes a terminal of the jail's the one that controls this process.
func takeTerminal(t *stub.Task) error {
	master, err := t.Openat(unix.AT_FDCWD, "/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return on("/dev/ptmx", err)
	}
	if _, err := t.Ioctl(master, unix.TIOCSPTLCK, make([]byte, 4)); err != nil {
		return on("/dev/ptmx", err)
	}
	_, err = t.Openat(unix.AT_FDCWD, "/dev/pts/0", unix.O_RDWR|unix.O_CLOEXEC, 0)
	return on("/dev/pts", err)
}

// build is how such a jail is built.
func (row altered) build(b *jailBuilder, steps []buildStep) []buildStep {
	steps = slices.DeleteFunc(steps, func(st buildStep) bool { return slices.Contains(row.without, st.name) })
	for i := range steps {
		if steps[i].name == "self-test" {
			steps[i].run = func() error { return trySelfTest(b, row) }
		}
	}
	return steps
}

// trySelfTest is the self-test with one probe, and with what no probe can tell because other
// walls hold as well: whether the init ends with its launcher, and is undumpable.
func trySelfTest(b *jailBuilder, row altered) error {
	atEnd := make([]byte, 4)
	if err := b.outer.DeathSignal(atEnd); err != nil || atEnd[0] != byte(unix.SIGKILL) {
		return on(fmt.Sprint("signal at the launcher's end: ", atEnd), errHeldNot)
	}
	if v, err := b.init.Prctl(unix.PR_GET_DUMPABLE); err != nil || v != 0 {
		return on("dumpable", errHeldNot)
	}
	if row.before != nil {
		if err := row.before(b.server); err != nil {
			return on("before it", err)
		}
	}
	for _, p := range b.probes() {
		if p.what == row.probe {
			if p.judge(b.server.Optional(p.try)()) == nil {
				return on(p.what, errHeldNot)
			}
			return nil
		}
	}
	return on("no probe has that name", unix.ENOENT)
}

// TestSelfTestNotices: each probe of the self-test fails the start of a jail without
// what it is about, and no other.
func TestSelfTestNotices(t *testing.T) {
	needsJail(t)
	p := jailProfile(t)
	p.Argv = append(p.Argv, probeArgs(t, []attempt{try("cwd")})...)
	start := func(t *testing.T, row altered) error {
		process, err := Launcher{testHooks: testHooks{steps: row.build}}.Start(t.Context(), p, Stdio{})
		if err == nil {
			process.Wait()
		}
		return err
	}
	covered := slices.Clone(deceivedProbes)
	for _, row := range alteredJails() {
		covered = append(covered, row.probe)
		t.Run(row.probe, func(t *testing.T) {
			var se *StartError
			if err := start(t, row); !errors.As(err, &se) || se.Step != "self-test" || se.Detail != on(row.probe, errHeldNot).Error() {
				t.Errorf("%v, want a refusal by this probe", err)
			}
			if err := start(t, altered{probe: row.probe}); err != nil {
				t.Errorf("with nothing left out: %v", err)
			}
		})
	}
	plan, err := Launcher{}.Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	b := &builder{order: &plan.order}
	for _, probe := range b.probes() {
		if !slices.Contains(covered, probe.what) && !strings.HasPrefix(probe.what, "list ") {
			t.Errorf("nothing shows that %q can fail a start", probe.what)
		}
	}
}
