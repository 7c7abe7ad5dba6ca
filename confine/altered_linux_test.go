package confine

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// An altered jail lacks what one probe of the self-test is there to notice. A copy of
// the test binary builds it; its name tells which. Of the self-test that probe is all
// that is left, since what is missing would show others first.
type altered struct {
	probe   string
	without []string // steps
	before  func() error
}

const alteredPrefix = "probe-altered-"

// alteredJails has one for every probe, but for those that TestJailFaults deceives.
func alteredJails() []altered {
	return []altered{
		{probe: "mount", without: []string{"capabilities", "landlock", "seccomp"}},
		{probe: "make a user namespace", without: []string{"seccomp"}},
		{probe: "open a packet socket", without: []string{"capabilities", "seccomp"}},
		{probe: "trace a process", without: []string{"seccomp"}},
		{probe: "open the terminal", before: takeTerminal},
		{probe: "write into the root", without: []string{"capabilities", "landlock", "seccomp"}, before: func() error {
			return unix.MountSetattr(unix.AT_FDCWD, "/", 0, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY})
		}},
		{probe: "find a way out of the network namespace", without: []string{"capabilities", "seccomp"}, before: everyAddressLocal},
		{probe: "list /", without: []string{"landlock"}},
	}
}

var deceivedProbes = []string{"see the launcher's process"}

// takeTerminal makes a terminal of the jail's the one that controls this process.
func takeTerminal() error {
	master, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return on("/dev/ptmx", err)
	}
	n, err := unix.IoctlGetInt(master, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(master, unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		return on("/dev/ptmx", err)
	}
	_, err = unix.Open(fmt.Sprint("/dev/pts/", n), unix.O_RDWR|unix.O_CLOEXEC, 0)
	return on("/dev/pts", err)
}

// alteredShim is ShimMain in such copies. The number in the name is that of the row, and
// one that is negative is its control: nothing is left out.
func alteredShim() {
	self, _ := os.Readlink("/proc/self/exe")
	index, ok := strings.CutPrefix(filepath.Base(self), alteredPrefix)
	if !ok || !isShim() {
		return
	}
	runtime.LockOSThread()
	n, err := strconv.Atoi(index)
	if err != nil {
		unix.Exit(7)
	}
	row := alteredJails()[max(n, -n)-1]
	if n < 0 {
		row = altered{probe: row.probe}
	}
	s := newShim()
	steps := slices.DeleteFunc(s.steps(), func(st shimStep) bool { return slices.Contains(row.without, st.name) })
	for i := range steps {
		if steps[i].name == "self-test" {
			steps[i].run = func() error { return s.try(row) }
		}
	}
	s.lead(steps)
}

// try is the self-test with one probe, and with what no probe can tell because other
// walls hold as well: whether the init ends with its launcher, and is undumpable.
func (s *shim) try(row altered) error {
	var atEnd int32
	err := unix.Prctl(unix.PR_GET_PDEATHSIG, uintptr(unsafe.Pointer(&atEnd)), 0, 0, 0)
	if err != nil || atEnd != int32(unix.SIGKILL) {
		return on(fmt.Sprint("signal at the launcher's end: ", atEnd), errHeldNot)
	}
	if v, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); err != nil || v != 0 {
		return on("dumpable", errHeldNot)
	}
	if row.before != nil {
		if err := row.before(); err != nil {
			return on("before it", err)
		}
	}
	for _, p := range s.probes() {
		if p.what == row.probe {
			if p.try() == nil {
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
	own := ownCopy(t)
	p := jailProfile(t)
	p.Argv = append(p.Argv, probeArgs(t, []attempt{try("cwd")})...)
	start := func(t *testing.T, index int) error {
		program := filepath.Join(filepath.Dir(own), fmt.Sprint(alteredPrefix, index))
		if err := os.Link(own, program); err != nil {
			t.Fatal(err)
		}
		process, err := Launcher{Shim: program}.Start(t.Context(), p, Stdio{})
		if err == nil {
			process.Wait()
		}
		return err
	}
	covered := slices.Clone(deceivedProbes)
	for i, row := range alteredJails() {
		covered = append(covered, row.probe)
		t.Run(row.probe, func(t *testing.T) {
			var se *StartError
			if err := start(t, i+1); !errors.As(err, &se) || se.Step != "self-test" || se.Detail != on(row.probe, errHeldNot).Error() {
				t.Errorf("%v, want a refusal by this probe", err)
			}
			if err := start(t, -i-1); err != nil {
				t.Errorf("with nothing left out: %v", err)
			}
		})
	}
	plan, err := Launcher{}.Compile(p)
	if err != nil {
		t.Fatal(err)
	}
	s := &shim{order: &plan.order}
	for _, probe := range s.probes() {
		if !slices.Contains(covered, probe.what) && !strings.HasPrefix(probe.what, "list ") {
			t.Errorf("nothing shows that %q can fail a start", probe.what)
		}
	}
}
