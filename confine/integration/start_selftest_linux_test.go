package integration

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/stub"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
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
			return stub.MountSetattr(t, unix.AT_FDCWD, "/", 0, &unix.MountAttr{Attr_clr: unix.MOUNT_ATTR_RDONLY})
		}},
		{probe: "find a way out of the network namespace", without: []string{"capabilities", "seccomp"}, before: leadElsewhere},
		{probe: "list /", without: []string{"landlock"}},
	}
}

var deceivedProbes = []string{"see the launcher's process"}

// leadElsewhere gives lo an address in the network of one that the probe connects to. So the source of that
// connection is another than its destination, as on a way out.
func leadElsewhere(t *stub.Task) error {
	fd, err := stub.Socket(t, unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return sys.On("lo", err)
	}
	defer stub.Close(t, fd)
	var request [40]byte // struct ifreq
	copy(request[:], "lo:1")
	copy(request[unix.IFNAMSIZ:], sys.Sockaddr(netip.MustParseAddrPort("198.51.100.2:0")))
	_, err = stub.Ioctl(t, fd, unix.SIOCSIFADDR, request[:])
	return sys.On("lo", err)
}

// takeTerminal makes a terminal of the jail's the one that controls this process.
func takeTerminal(t *stub.Task) error {
	master, err := stub.Openat(t, unix.AT_FDCWD, "/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return sys.On("/dev/ptmx", err)
	}
	if _, err := stub.Ioctl(t, master, unix.TIOCSPTLCK, make([]byte, 4)); err != nil {
		return sys.On("/dev/ptmx", err)
	}
	_, err = stub.Openat(t, unix.AT_FDCWD, "/dev/pts/0", unix.O_RDWR|unix.O_CLOEXEC, 0)
	return sys.On("/dev/pts", err)
}

// build is how such a jail is built.
func (row altered) build(b *jail.Builder, steps []jail.Step) []jail.Step {
	steps = slices.DeleteFunc(steps, func(st jail.Step) bool { return slices.Contains(row.without, st.Name) })
	for i := range steps {
		if steps[i].Name == "self-test" {
			steps[i].Run = func() error { return trySelfTest(b, row) }
		}
	}
	return steps
}

// trySelfTest runs the self-test with one check. It also checks what the self-test cannot, since
// other walls hold as well: that the init ends with its launcher, and that it is undumpable.
func trySelfTest(b *jail.Builder, row altered) error {
	atEnd := b.Stub.NewEvent() // four bytes that the task can write
	if _, err := stub.Prctl(b.Outer, unix.PR_GET_PDEATHSIG, uintptr(unsafe.Pointer(atEnd))); err != nil || *atEnd != stub.Event(unix.SIGKILL) {
		return sys.On(fmt.Sprint("signal at the launcher's end: ", *atEnd), sys.ErrNotEnforced)
	}
	if v, err := stub.Prctl(b.Init, unix.PR_GET_DUMPABLE); err != nil || v != 0 {
		return sys.On("dumpable", sys.ErrNotEnforced)
	}
	if row.before != nil {
		if err := row.before(b.Server); err != nil {
			return sys.On("before it", err)
		}
	}
	for _, p := range b.Checks() {
		if p.What == row.probe {
			if p.Judge(b.Server.Optional(p.Try)()) == nil {
				return sys.On(p.What, sys.ErrNotEnforced)
			}
			return nil
		}
	}
	return sys.On("no probe has that name", unix.ENOENT)
}

// TestSelfTestDetects: each check of the self-test fails the start of a jail that lacks what it
// checks, and of no other jail.
func TestSelfTestDetects(t *testing.T) {
	jailtest.Needs(t)
	p := jailtest.Profile(t)
	p.Argv = append(p.Argv, jailtest.Args(t, []attacker.Attempt{attacker.Try("cwd")})...)
	start := func(t *testing.T, row altered) error {
		process, err := confine.Launcher{TestHooks: jail.TestHooks{Steps: row.build}}.Start(t.Context(), p, jail.Stdio{})
		if err == nil {
			process.Wait()
		}
		return err
	}
	covered := slices.Clone(deceivedProbes)
	for _, row := range alteredJails() {
		covered = append(covered, row.probe)
		t.Run(row.probe, func(t *testing.T) {
			var se *sys.Error
			if err := start(t, row); !errors.As(err, &se) || se.Step != "self-test" || se.Detail != sys.On(row.probe, sys.ErrNotEnforced).Error() {
				t.Errorf("%v, want a refusal by this probe", err)
			}
			testkit.Works(t, "with nothing left out", start(t, altered{probe: row.probe}))
		})
	}
	plan := testkit.Get(confine.Launcher{}.Compile(p))(t)
	b := &jail.Restrictor{Spec: &plan.Spec}
	for _, probe := range b.Checks() {
		if !slices.Contains(covered, probe.What) && !strings.HasPrefix(probe.What, "list ") {
			t.Errorf("nothing shows that %q can fail a start", probe.What)
		}
	}
}

// TestCheckMounts: the start fails if the path of a carve-out does not lead to the mount that
// was attached there.
func TestCheckMounts(t *testing.T) {
	if inMounts(t, "mount -t tmpfs -o ro,noexec none /mnt;") {
		return
	}
	dir := testkit.Plant(t, "file")
	idOf := func(path string) policy.FileID {
		fd := testkit.Get(jail.OpenLast(&stub.Task{}, unix.AT_FDCWD, path))(t)
		defer unix.Close(fd)
		id := testkit.Get(jailtest.Identity(fd))(t)
		return id
	}
	file, sealed, gone := dir+"/file", "/mnt", dir+"/gone"
	for _, c := range []struct {
		what  string
		mount spec.Mount
		want  error
	}{
		{"a mask", spec.Mount{Kind: spec.MountMask, Path: sealed, ID: idOf(file)}, nil},
		{"a mask that is elsewhere", spec.Mount{Kind: spec.MountMask, Path: file, ID: idOf(file)}, jail.ErrSwapped},
		{"a mask of what is gone", spec.Mount{Kind: spec.MountMask, Path: gone, ID: idOf(file)}, nil},
		{"an own place that is elsewhere", spec.Mount{Kind: spec.MountTmpfs, Path: dir, ID: idOf(dir)}, jail.ErrSwapped},
		{"a copy that is elsewhere", spec.Mount{Kind: spec.MountOverlay, Path: dir, ID: idOf(dir)}, jail.ErrSwapped},
		{"read-only", spec.Mount{Kind: spec.MountBind, Path: sealed, ReadOnly: true}, nil},
		{"read-only, elsewhere", spec.Mount{Kind: spec.MountBind, Path: file, ReadOnly: true}, jail.ErrSwapped},
		{"read-only, gone", spec.Mount{Kind: spec.MountBind, Path: gone, ReadOnly: true}, unix.ENOENT},
		{"without programs", spec.Mount{Kind: spec.MountBind, Path: sealed, NoExec: true}, nil},
		{"without programs, elsewhere", spec.Mount{Kind: spec.MountBind, Path: file, NoExec: true}, jail.ErrSwapped},
		{"pinned read-only", spec.Mount{Kind: spec.MountPin, Path: sealed, ReadOnly: true}, nil},
		{"pinned read-only, elsewhere", spec.Mount{Kind: spec.MountPin, Path: file, ReadOnly: true}, jail.ErrSwapped},
		{"writable, which is no carve-out", spec.Mount{Kind: spec.MountBind, Path: gone}, nil},
	} {
		c.mount.OnExisting = true
		if err := (&jail.Restrictor{Init: &stub.Task{}, Spec: &spec.Spec{Mounts: []spec.Mount{c.mount}}}).CheckMounts(); !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Errorf("%s: %v, want %v", c.what, err, c.want)
		}
	}
}
