package integration

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
	"github.com/mcp-jail/mcp-jail/confine/internal/jail"
	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
	"github.com/mcp-jail/mcp-jail/confine/internal/kernel"
	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/confine/internal/stub"
	"github.com/mcp-jail/mcp-jail/confine/internal/supervisor"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// A fault makes one system call of the build fail with an errno, by a seccomp filter. With
// namespaces the stub gets the filter first. Without, a link to the test binary installs the
// filter on itself before it becomes the supervisor; the name of the link selects the fault.
type fault struct {
	step   string
	what   string
	call   uintptr
	arg    int // of the call, if when is not nil
	when   []uint32
	errno  syscall.Errno // 0: the call seems to succeed
	detail string        // of the refusal, if it is not the step alone that matters
}

const faultPrefix = "test-fault-"

// serverFlags are the flags of clone(2) for the server, which no other call has.
const serverFlags = unix.CLONE_FILES | unix.CLONE_VM | unix.CLONE_CHILD_CLEARTID | unix.CLONE_PIDFD | uint32(unix.SIGCHLD)

// namespacedFaults has at least one for every step of a jail's start.
func namespacedFaults() []fault {
	return []fault{
		{step: sys.CoreDumps, what: "write to coredump_filter", call: unix.SYS_WRITE, arg: 2, when: []uint32{1}, errno: unix.EINVAL},
		{step: sys.Namespaces, what: "openat of the id maps", call: unix.SYS_OPENAT, arg: 2, when: []uint32{unix.O_WRONLY | unix.O_CLOEXEC}, errno: unix.ENFILE},
		{step: "parent", what: "prctl(PR_SET_PDEATHSIG)", call: unix.SYS_PRCTL, when: []uint32{unix.PR_SET_PDEATHSIG}, errno: unix.EINVAL},
		{step: "parent", what: "prctl(PR_SET_DUMPABLE)", call: unix.SYS_PRCTL, when: []uint32{unix.PR_SET_DUMPABLE}, errno: unix.EINVAL},
		{step: "loopback", what: "ioctl(SIOCSIFFLAGS)", call: unix.SYS_IOCTL, arg: 1, when: []uint32{unix.SIOCSIFFLAGS}, errno: unix.EPERM},
		{step: "loopback", what: "socket(AF_INET)", call: unix.SYS_SOCKET, when: []uint32{unix.AF_INET}, errno: unix.EMFILE},
		{step: sys.Network, what: "socket(AF_NETLINK)", call: unix.SYS_SOCKET, when: []uint32{unix.AF_NETLINK}, errno: unix.EMFILE},
		{step: sys.Network, what: "read of netlink", call: unix.SYS_READ, errno: unix.EIO},
		{step: sys.Network, what: "socket(AF_INET6)", call: unix.SYS_SOCKET, when: []uint32{unix.AF_INET6}, errno: unix.ENOBUFS},
		{step: sys.Network, what: "socket(AF_PACKET)", call: unix.SYS_SOCKET, when: []uint32{unix.AF_PACKET}, errno: unix.EPERM},
		{step: sys.Network, what: "setsockopt(IPPROTO_IPV6)", call: unix.SYS_SETSOCKOPT, arg: 1, when: []uint32{unix.IPPROTO_IPV6}, errno: unix.ENOPROTOOPT},
		{step: sys.Network, what: "setsockopt(SO_ATTACH_FILTER)", call: unix.SYS_SETSOCKOPT, arg: 2, when: []uint32{unix.SO_ATTACH_FILTER}, errno: unix.ENOBUFS},
		{step: sys.Network, what: "setsockopt(SOL_PACKET)", call: unix.SYS_SETSOCKOPT, arg: 1, when: []uint32{unix.SOL_PACKET}, errno: unix.ENOPROTOOPT},
		{step: sys.Network, what: "bind", call: unix.SYS_BIND, errno: unix.EADDRINUSE},
		{step: sys.Network, what: "listen", call: unix.SYS_LISTEN, errno: unix.EADDRINUSE},
		{step: sys.Network, what: "sendmsg", call: unix.SYS_SENDMSG, errno: unix.ETOOMANYREFS},
		{step: "self-test", what: "getsockname", call: unix.SYS_GETSOCKNAME, errno: unix.EIO, detail: "find a way out"},
		{step: "private mounts", what: "mount_setattr of the old root", call: unix.SYS_MOUNT_SETATTR, arg: 2, when: []uint32{unix.AT_RECURSIVE}, errno: unix.EPERM},
		{step: "own filesystems", what: "fsopen", call: unix.SYS_FSOPEN, errno: unix.EPERM},
		{step: "own filesystems", what: "fsconfig", call: unix.SYS_FSCONFIG, errno: unix.ENFILE},
		{step: "own filesystems", what: "fsmount", call: unix.SYS_FSMOUNT, errno: unix.ENOSPC},
		{step: "own filesystems", what: "symlinkat", call: unix.SYS_SYMLINKAT, errno: unix.ENOSPC},
		{step: "own filesystems", what: "mkdirat", call: unix.SYS_MKDIRAT, errno: unix.ENOSPC},
		{step: "keyring", what: "keyctl", call: unix.SYS_KEYCTL, errno: unix.EDQUOT},
		{step: sys.Spec, what: "recvmsg", call: unix.SYS_RECVMSG, errno: unix.EIO},
		{step: "open files", what: "prlimit64(RLIMIT_NOFILE)", call: unix.SYS_PRLIMIT64, arg: 1, when: []uint32{unix.RLIMIT_NOFILE}, errno: unix.EPERM},
		{step: "init", what: "clone", call: unix.SYS_CLONE, when: []uint32{serverFlags | unix.CLONE_NEWPID | unix.CLONE_FS}, errno: unix.ENOSPC},
		{step: sys.Namespaces, what: "unshare(CLONE_NEWNET)", call: unix.SYS_UNSHARE, when: []uint32{unix.CLONE_NEWNET}, errno: unix.ENOSPC},
		{step: sys.Namespaces, what: "setns", call: unix.SYS_SETNS, errno: unix.EPERM},
		{step: "own filesystems", what: "openat2", call: unix.SYS_OPENAT2, errno: unix.EIO},
		{step: "own filesystems", what: "open_tree_attr", call: unix.SYS_OPEN_TREE_ATTR, errno: unix.EMFILE},
		{step: sys.Overlays, what: "fsconfig of a flag", call: unix.SYS_FSCONFIG, arg: 1, when: []uint32{unix.FSCONFIG_SET_FLAG}, errno: unix.EINVAL},
		{step: sys.Overlays, what: "move_mount", call: unix.SYS_MOVE_MOUNT, errno: unix.EPERM},
		{step: "mounts", what: "mount_setattr of what is read-only", call: unix.SYS_MOUNT_SETATTR, arg: 2, when: []uint32{unix.AT_EMPTY_PATH}, errno: unix.EPERM},
		{step: "mounts", what: "move_mount", call: unix.SYS_MOVE_MOUNT, errno: unix.EINVAL},
		{step: "mounts", what: "fchdir", call: unix.SYS_FCHDIR, errno: unix.EACCES},
		{step: "mounts", what: "pivot_root", call: unix.SYS_PIVOT_ROOT, errno: unix.EINVAL},
		{step: "mounts", what: "umount2", call: unix.SYS_UMOUNT2, errno: unix.EBUSY},
		{step: "mounts", what: "chdir", call: unix.SYS_CHDIR, errno: unix.EIO},
		{step: "mounts", what: "unlinkat", call: unix.SYS_UNLINKAT, errno: unix.EIO},
		{step: "mounts", what: "sethostname", call: unix.SYS_SETHOSTNAME, errno: unix.EINVAL},
		{step: "carve-outs", what: "fstatfs", call: unix.SYS_FSTATFS, errno: unix.EIO},
		{step: "limits", what: "prlimit64(RLIMIT_CORE)", call: unix.SYS_PRLIMIT64, arg: 1, when: []uint32{unix.RLIMIT_CORE}, errno: unix.EPERM},
		{step: "landlock rules", what: "landlock_create_ruleset", call: unix.SYS_LANDLOCK_CREATE_RULESET, errno: unix.ENFILE},
		{step: "landlock rules", what: "landlock_add_rule", call: unix.SYS_LANDLOCK_ADD_RULE, errno: unix.E2BIG},
		{step: "capabilities", what: "prctl(PR_CAP_AMBIENT)", call: unix.SYS_PRCTL, when: []uint32{unix.PR_CAP_AMBIENT}, errno: unix.EPERM},
		{step: "capabilities", what: "prctl(PR_CAPBSET_DROP)", call: unix.SYS_PRCTL, when: []uint32{unix.PR_CAPBSET_DROP}, errno: unix.EPERM},
		{step: "capabilities", what: "prctl(PR_SET_SECUREBITS)", call: unix.SYS_PRCTL, when: []uint32{unix.PR_SET_SECUREBITS}, errno: unix.EPERM},
		{step: "capabilities", what: "capset", call: unix.SYS_CAPSET, errno: unix.EPERM},
		{step: sys.SupervisorCapabilities, what: "prctl(PR_CAP_AMBIENT_RAISE)", call: unix.SYS_PRCTL, arg: 2, when: []uint32{unix.CAP_SYS_PTRACE}, errno: unix.EPERM},
		{step: "descriptors", what: "close_range", call: unix.SYS_CLOSE_RANGE, arg: 2, when: []uint32{unix.CLOSE_RANGE_CLOEXEC, unix.CLOSE_RANGE_CLOEXEC | unix.CLOSE_RANGE_UNSHARE}, errno: unix.EINVAL},
		{step: "no_new_privs", what: "prctl(PR_SET_NO_NEW_PRIVS)", call: unix.SYS_PRCTL, when: []uint32{unix.PR_SET_NO_NEW_PRIVS}, errno: unix.EINVAL},
		{step: "landlock", what: "landlock_restrict_self", call: unix.SYS_LANDLOCK_RESTRICT_SELF, errno: unix.E2BIG},
		{step: "seccomp", what: "seccomp", call: unix.SYS_SECCOMP, errno: unix.ENOSPC},
		{step: "server", what: "clone", call: unix.SYS_CLONE, when: []uint32{serverFlags}, errno: unix.ENOSPC},
		{step: "server", what: "setsid", call: unix.SYS_SETSID, errno: unix.EPERM},
		{step: "supervision", what: "seccomp(NEW_LISTENER)", call: unix.SYS_SECCOMP, arg: 1, when: []uint32{unix.SECCOMP_FILTER_FLAG_NEW_LISTENER | unix.SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV}, errno: unix.EBUSY},
		{step: "self-test", what: "kill of the launcher seems to succeed", call: unix.SYS_KILL, errno: 0, detail: "see the launcher's process"},
		{step: "self-test", what: "capget", call: unix.SYS_CAPGET, errno: unix.EINVAL, detail: "capabilities"},
		{step: "self-test", what: "prctl(PR_GET_SECCOMP)", call: unix.SYS_PRCTL, when: []uint32{unix.PR_GET_SECCOMP}, errno: unix.EINVAL, detail: "seccomp"},
		{step: "self-test", what: "prctl(PR_GET_NO_NEW_PRIVS)", call: unix.SYS_PRCTL, when: []uint32{unix.PR_GET_NO_NEW_PRIVS}, errno: unix.EINVAL, detail: "no_new_privs"},
		{step: sys.Exec, what: "execve", call: unix.SYS_EXECVE, errno: unix.EACCES},
	}
}

// hostNSFaults are those of a jail without namespaces, where they differ.
func hostNSFaults() []fault {
	list := []fault{
		{step: sys.StepPoller, what: "epoll_ctl", call: unix.SYS_EPOLL_CTL, errno: unix.ENOSPC, detail: "fs.epoll.max_user_watches"},
		{step: "parent", what: "prctl(PR_SET_CHILD_SUBREAPER)", call: unix.SYS_PRCTL, when: []uint32{unix.PR_SET_CHILD_SUBREAPER}, errno: unix.EINVAL},
		{step: "private directory", what: "mkdirat", call: unix.SYS_MKDIRAT, errno: unix.EDQUOT},
		{step: "directory", what: "chdir", call: unix.SYS_CHDIR, errno: unix.EIO},
		{step: "capabilities", what: "capget", call: unix.SYS_CAPGET, errno: unix.EINVAL},
		{step: "seccomp", what: "seccomp(TSYNC)", call: unix.SYS_SECCOMP, arg: 1, when: []uint32{unix.SECCOMP_FILTER_FLAG_TSYNC}, errno: unix.ENOSPC},
		{step: sys.Network, what: "socketpair", call: unix.SYS_SOCKETPAIR, errno: unix.ENFILE},
		{step: sys.Network, what: "sendmsg", call: unix.SYS_SENDMSG, errno: unix.ETOOMANYREFS},
		{step: sys.Network, what: "socket(AF_INET)", call: unix.SYS_SOCKET, when: []uint32{unix.AF_INET}, errno: unix.EMFILE},
		{step: sys.Network, what: "setsockopt(SO_BINDTOIFINDEX) seems to succeed", call: unix.SYS_SETSOCKOPT, arg: 2, when: []uint32{sys.SoBindToIfindex}, errno: 0, detail: "bound to lo"},
		{step: "self-test", what: "connect seems to succeed", call: unix.SYS_CONNECT, errno: 0, detail: "connect a TCP socket"},
		{step: "signals", what: "kill of the launcher seems to succeed", call: unix.SYS_KILL, errno: 0},
	}
	for _, f := range namespacedFaults() {
		switch {
		case f.what == "capget", f.what == "getsockname", f.step == "self-test" && f.errno == 0, f.what == "prctl(PR_SET_PDEATHSIG)":
		case slices.Contains([]string{sys.CoreDumps, "keyring", sys.Spec, "limits", "landlock rules", "descriptors", "no_new_privs", "landlock", "self-test", "supervision", "parent", sys.Exec}, f.step):
			list = append(list, f)
		}
	}
	return list
}

func allFaults() []fault { return slices.Concat(namespacedFaults(), hostNSFaults(), lacks()) }

// blindness is a fault that keeps the sampler from listing processes.
func blindness() fault {
	return fault{what: "getdents64", call: unix.SYS_GETDENTS64, errno: unix.EIO}
}

// lacks are calls that older kernels, or filters around us, do not have, and that a
// jail is built without.
func lacks() []fault {
	return []fault{
		{what: "open_tree_attr, before 6.15", call: unix.SYS_OPEN_TREE_ATTR, errno: unix.ENOSYS},
		{what: "open_tree_attr, refused by a filter", call: unix.SYS_OPEN_TREE_ATTR, errno: unix.EPERM},
		{what: "packet sockets", call: unix.SYS_SOCKET, when: []uint32{unix.AF_PACKET}, errno: unix.EAFNOSUPPORT},
		{what: "IPv6", call: unix.SYS_SOCKET, when: []uint32{unix.AF_INET6}, errno: unix.EAFNOSUPPORT},
	}
}

// installFault puts the fault that the name of this program selects on all threads. The program
// then goes on as the supervisor.
func installFault() {
	self, _ := os.Readlink("/proc/self/exe")
	index, ok := strings.CutPrefix(filepath.Base(self), faultPrefix)
	if !ok || !supervisor.IsSupervisor() {
		return
	}
	runtime.LockOSThread()
	n, err := strconv.Atoi(index)
	if err == nil {
		err = allFaults()[n].install()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "fault:", err)
		os.Exit(7)
	}
}

func (f *fault) filter() ([]bpf.RawInstruction, error) {
	answer := seccomp.ErrnoNode(uint32(f.errno))
	if f.when != nil {
		answer = seccomp.WhenOneOf(seccomp.Low(f.arg), f.when, answer, seccomp.AllowNode)
	}
	return seccomp.Assemble(seccomp.WhenEqual(seccomp.Word{Off: seccomp.DataNr, Mask: seccomp.AllBits}, uint32(f.call), answer, seccomp.AllowNode))
}

func (f *fault) install() error {
	prog, err := f.filter()
	if err != nil {
		return err
	}
	var caps [2]unix.CapUserData
	if err := unix.Capget(&unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, &caps[0]); err != nil {
		return err
	}
	if caps[0].Effective&(1<<unix.CAP_SYS_ADMIN) == 0 {
		// Without a namespace: the kernel asks for it before it takes a filter, and
		// brings the other threads along.
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			return err
		}
	}
	_, err = seccomp.Install(&stub.Task{}, seccomp.Records(prog), unix.SECCOMP_FILTER_FLAG_TSYNC)
	return err
}

// strike has the stub meet the fault from its first call on.
func (f *fault) strike(b *jail.Builder, steps []jail.Step) []jail.Step {
	if steps[1].Name != sys.CoreDumps { // the second of first, and of no others
		return steps // it has by now
	}
	return append([]jail.Step{{Name: "fault", Task: b.Outer, Run: func() error {
		prog, err := f.filter()
		if err == nil {
			_, err = seccomp.Install(b.Outer, seccomp.Records(prog), 0)
		}
		return err
	}}}, steps...)
}

// TestJailFaults: if a step of the build fails, the start fails with its name. Nothing of the program has run, and
// nothing is left.
func TestJailFaults(t *testing.T) {
	jailtest.Needs(t)
	covered := []string{
		"directory",        // TestJailStartErrors: a working directory that is not there
		"umask",            // umask(2) never fails
		sys.SupervisorProc, // its calls are those of the step before
		"seccomp",          // so is its one
	}
	testFaults(t, false)
	b := &jail.Builder{}
	everyStep(t, slices.Concat(b.FirstSteps(), b.MountSteps(), b.RestrictSteps()), append(covered, stepsOf(namespacedFaults())...))
	everyStep(t, (&supervisor.Process{}).Steps(), stepsOf(hostNSFaults()))
}

// TestJailFaultsOfFurtherCalls: the same holds for every other call of a step.
func TestJailFaultsOfFurtherCalls(t *testing.T) {
	jailtest.Needs(t)
	testFaults(t, true)
}

// testFaults tries the first fault of each step that is refused with these words, or the further ones.
func testFaults(t *testing.T, further bool) {
	own := ownCopy(t)
	kinds := map[string]bool{}
	for i, f := range slices.Concat(namespacedFaults(), hostNSFaults()) {
		hostNS := i >= len(namespacedFaults())
		kind := fmt.Sprint(hostNS, f.step, f.detail)
		if kinds[kind] == further {
			t.Run(fmt.Sprintf("namespaces %t/%s/%s", !hostNS, f.step, f.what), func(t *testing.T) { refusedStart(t, own, i, f, hostNS) })
		}
		kinds[kind] = true
	}
}

func stepsOf(faults []fault) (steps []string) {
	for _, f := range faults {
		steps = append(steps, f.step)
	}
	return steps
}

// TestJailMissingCalls: a jail holds the same without the calls that some kernels lack.
func TestJailMissingCalls(t *testing.T) {
	jailtest.Needs(t)
	for _, f := range lacks() {
		t.Run(f.what, func(t *testing.T) {
			dir := testkit.Plant(t, "ws/ro/x", "ws/sub/")
			p := jailtest.Profile(t, jailtest.Grant{Path: dir + "/ws", Rights: rw}, jailtest.Grant{Path: dir + "/ws/ro", Rights: r})
			p.Net, p.Inbound = []policy.NetRule{{Host: "example.org", Allow: true}}, []int{freePort(t)}
			got, err := jailtest.Run(t, confine.Launcher{TestHooks: jail.TestHooks{Steps: f.strike, Batched: true}, Waive: []policy.Axis{policy.AxisFs}}, p, []attacker.Attempt{
				attacker.Try("create", dir+"/ws/sub/new"), attacker.Try("write", dir+"/ws/ro/x"), attacker.Try("write", "/dev/null"), attacker.Try("chmod", "/dev/null"),
			})
			testkit.Must(t, err)
			jailtest.Expect(t, f.what, attacker.Outcome(fmt.Sprint(got)), "[ok EROFS ok EROFS]")
		})
	}
}

// TestJailShortage: a start that meets a shortage of the host is tried again, and succeeds once that is over. One
// that fails for another reason is not.
func TestJailShortage(t *testing.T) {
	jailtest.Needs(t)
	for errno, want := range map[syscall.Errno]bool{524: true, unix.ENOMEM: true, unix.EAGAIN: true, unix.ENOSPC: false} {
		t.Run(errno.Error(), func(t *testing.T) {
			t.Parallel()
			p := jailtest.Profile(t)
			f, starts := fault{call: unix.SYS_SECCOMP, errno: errno}, 0
			once := func(b *jail.Builder, steps []jail.Step) []jail.Step {
				if steps[1].Name == sys.CoreDumps {
					starts++
				}
				if starts > 1 {
					return steps
				}
				return f.strike(b, steps)
			}
			_, err := jailtest.Run(t, confine.Launcher{TestHooks: jail.TestHooks{Steps: once}}, p, []attacker.Attempt{attacker.Try("open", "/dev/null")})
			if (err == nil) != want || (starts > 1) != want {
				t.Errorf("%d starts: %v, want the second to succeed: %t", starts, err, want)
			}
		})
	}
}

// ownCopy makes a copy of the test binary whose links select a fault by their names.
func ownCopy(t *testing.T) string {
	own := filepath.Join(t.TempDir(), "own")
	self, err := os.ReadFile(jailtest.Binary)
	if err == nil {
		err = testkit.WriteProgram(own, self)
	}
	testkit.Must(t, err)
	return own
}

func everyStep(t *testing.T, steps []jail.Step, covered []string) {
	t.Helper()
	for _, s := range steps {
		if !slices.Contains(covered, s.Name) {
			t.Errorf("no fault is tried in the step %q", s.Name)
		}
	}
}

func refusedStart(t *testing.T, own string, index int, f fault, hostNS bool) {
	dir := testkit.Plant(t, "ws/masked", "ws/ro/x", "ws/sub/")
	program := filepath.Join(filepath.Dir(own), fmt.Sprint(faultPrefix, index))
	testkit.Must(t, os.Link(own, program))
	p := jailtest.Profile(t, jailtest.Grant{Path: dir + "/ws", Rights: rw}, jailtest.Grant{Path: dir + "/ws/masked", Rights: 0}, jailtest.Grant{Path: dir + "/ws/ro", Rights: r})
	p.Entries = append(p.Entries, policy.Entry{Path: dir + "/state/home", Named: "home", Kind: policy.KindDir, Rights: rw, Origin: policy.OriginHome, Rule: "home", Make: true, Ephemeral: f.step == sys.Overlays})
	jailtest.SortEntries(p)
	p.Argv = append(p.Argv, jailtest.Args(t, []attacker.Attempt{attacker.Try("create", dir+"/ws/ran")})...)
	facts := kernel.Detect().WithUserNS(kernel.Available(""))
	if f.step == sys.Overlays {
		needsCopies(t)
	}
	if f.step == sys.Network || f.call == unix.SYS_GETSOCKNAME || f.call == unix.SYS_CONNECT {
		p.Net = []policy.NetRule{{Host: "example.org", Allow: true}}
		if !hostNS {
			p.Inbound = []int{freePort(t)}
		}
	}
	if hostNS {
		facts = kernel.Detect().WithUserNS(kernel.Unavailable("for this test", ""))
	}
	before := jailtest.LookAtHost(t, dir)

	start := func(path string, altered jail.TestHooks) (*confine.Process, error) {
		pipe := newWitness(t)
		defer pipe.gone(t)
		plan := jailtest.Compile(p, facts)
		stdio := jail.Stdio{Out: pipe.w, Err: pipe.w}
		process, err := confine.Launcher{SupervisorPath: path, TestHooks: altered}.StartPlan(t.Context(), plan, stdio)
		if err == nil {
			process.Wait()
		}
		return process, err
	}
	for _, batched := range []bool{false, true} {
		if !batched && !testkit.Long() {
			continue // what a start does only after it failed in batches
		}
		_, err := start(program, jail.TestHooks{Steps: f.strike, Batched: batched})
		var se *sys.Error
		switch {
		case !errors.As(err, &se) || se.Step != f.step:
			t.Errorf("in batches %t: %#v (%v), want a refusal at %q", batched, err, err, f.step)
		case f.errno != 0 && se.Errno != f.errno && f.detail == "":
			t.Errorf("in batches %t: %v: errno %v, want %v", batched, err, se.Errno, f.errno)
		case !strings.Contains(se.Detail, f.detail):
			t.Errorf("in batches %t: %q, want the words %q", batched, se.Detail, f.detail)
		}
		before.Same(t)
	}
	os.Remove(program)
	if !testkit.Long() && index%8 != 0 {
		return // the jails of most rows are alike
	}
	// The control: without the fault the same jail starts, and the program runs.
	if _, err := start(jailtest.Binary, jail.TestHooks{}); err != nil {
		t.Errorf("without the fault: %v", err)
	} else if _, err := os.Stat(dir + "/ws/ran"); err != nil {
		t.Errorf("without the fault the program did nothing: %v", err)
	}
}
