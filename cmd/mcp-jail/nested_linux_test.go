package main

import (
	"encoding/binary"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
)

// A nested is a sandbox around mcp-jail. BASE, HOME and WORK in its arguments are those of the world.
type nested struct {
	name   string
	around []string // bwrap and its arguments, or another program
	env    []string
	filter []refusedCall // the sandbox's seccomp filter, for bwrap
	says   []string      // why no jail is built; nil: one is
	fix    string        // what the user is told to do
	waived bool          // a jail is built if the gaps of a host without namespaces are waived
	root   string        // what root is told where that differs; "-": not tried as root
}

// refusedCall answers a system call with an errno, if all bits are set in its first argument, or if
// the argument is another than unless.
type refusedCall struct {
	number       uint32
	errno        uint32
	bits, unless uint32
}

const flatpakInfo = "WORK/.flatpak-info" // any file

// The arguments and filters are those of the sandboxes' sources, as far as they matter here.
var nestings = []nested{
	{name: "bwrap, read-only, own /dev and /proc", around: []string{"bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--bind", "BASE", "BASE"}, root: "memory_mb"},
	{name: "bwrap, every namespace, another user, no capability", around: []string{"bwrap", "--bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--unshare-all", "--uid", "4242", "--gid", "4242", "--cap-drop", "ALL"}, root: "memory_mb"},
	{name: "bwrap, little more than /usr", around: []string{"bwrap", "--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64", "--ro-bind", "/etc", "/etc",
		"--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--bind", "BASE", "BASE"}, root: "memory_mb"},
	{name: "bwrap, the host's devices", around: []string{"bwrap", "--dev-bind", "/", "/"}},
	{name: "bwrap, the /proc of another PID namespace", around: []string{"bwrap", "--bind", "/", "/", "--dev", "/dev", "--unshare-pid"}},
	{name: "bwrap, an empty HOME", around: []string{"bwrap", "--bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "HOME"}, root: "memory_mb"},
	{name: "bwrap without /proc", around: []string{"bwrap", "--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64", "--ro-bind", "/etc", "/etc",
		"--dev", "/dev", "--tmpfs", "/tmp", "--bind", "BASE", "BASE"}, says: []string{"there is no /proc here"}, fix: "--proc /proc"},
	{name: "bwrap, a read-only /proc", around: []string{"bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--bind", "BASE", "BASE", "--tmpfs", "/tmp"},
		says: []string{"/proc is read-only here"}, fix: "--proc /proc"},
	{name: "bwrap without devices", around: []string{"bwrap", "--bind", "/", "/"}, says: []string{"/dev/null"}, fix: "--dev-bind /dev /dev"},
	{name: "bwrap, a masked /dev/null", around: []string{"bwrap", "--dev-bind", "/", "/", "--ro-bind", "/etc/passwd", "/dev/null"}, says: []string{"/dev/null"}, fix: "--dev-bind /dev /dev"},
	{name: "bwrap without further namespaces", around: []string{"bwrap", "--unshare-user", "--disable-userns", "--bind", "/", "/", "--dev", "/dev", "--proc", "/proc"},
		says: []string{"a sandbox around this process allows no user namespace in it"}, fix: "outside", waived: true},
	{name: "a user who is not mapped", around: []string{"unshare", "-U"}, says: []string{"the user namespace around mcp-jail does not know you"}, fix: "--map-current-user"},

	// dist/sandbox/linux-sandbox-utils.js of @anthropic-ai/sandbox-runtime 0.0.78: absent names that the
	// sandbox protects are /dev/null. The filter refuses to make UNIX sockets. Claude Code has it
	// built in, and VS Code starts it for servers with sandboxEnabled.
	{name: "srt", around: []string{"bwrap", "--new-session", "--die-with-parent", "--unshare-net", "--ro-bind", "/", "/", "--bind", "BASE", "BASE", "--ro-bind", "/dev/null", "WORK/.mcp.json",
		"--ro-bind", "/dev/null", "WORK/.vscode", "--ro-bind", "/dev/null", "WORK/.gitmodules", "--tmpfs", "/tmp", "--dev", "/dev", "--unshare-pid", "--proc", "/proc", "--cap-drop", "ALL"},
		env: []string{"SANDBOX_RUNTIME=1"}, filter: []refusedCall{{number: unix.SYS_SOCKET, errno: uint32(unix.EPERM), unless: otherThanUnix}}, root: "root without CAP_SETFCAP"},

	// codex-rs/linux-sandbox of openai/codex: src/bwrap.rs and src/seccomp.rs without a network.
	{name: "Codex", around: []string{"bwrap", "--new-session", "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev", "--bind", "BASE", "BASE", "--tmpfs", "/tmp", "--unshare-user", "--unshare-pid", "--unshare-net", "--proc", "/proc"},
		env: []string{"CODEX_SANDBOX_NETWORK_DISABLED=1"}, filter: []refusedCall{
			{number: unix.SYS_PTRACE, errno: uint32(unix.EPERM)}, {number: unix.SYS_PROCESS_VM_READV, errno: uint32(unix.EPERM)}, {number: unix.SYS_PROCESS_VM_WRITEV, errno: uint32(unix.EPERM)},
			{number: unix.SYS_CONNECT, errno: uint32(unix.EPERM)}, {number: unix.SYS_BIND, errno: uint32(unix.EPERM)}, {number: unix.SYS_LISTEN, errno: uint32(unix.EPERM)},
			{number: unix.SYS_SOCKET, errno: uint32(unix.EPERM), unless: unix.AF_UNIX},
		}, says: []string{`a seccomp filter around this process refuses the step "loopback" of a jail in one`}, fix: "outside the sandbox of Codex", waived: true, root: "-"},

	// common/flatpak-run.c of flatpak/flatpak: flatpak_run_add_environment_args and setup_seccomp.
	{name: "Flatpak", around: []string{"bwrap", "--unshare-pid", "--proc", "/proc", "--dev", "/dev", "--ro-bind", "/usr", "/usr", "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64",
		"--ro-bind", "/etc", "/etc", "--ro-bind", "/sys/devices", "/sys/devices", "--tmpfs", "/tmp", "--bind", "BASE", "BASE", "--ro-bind", flatpakInfo, "/.flatpak-info", "--die-with-parent"}, filter: flatpakCalls,
		says: []string{"a seccomp filter around this process refuses it"}, fix: "flatpak-spawn --host", waived: true, root: "-"},

	// github.com/snapcore/snapd/interfaces/seccomp/template.go lists what a snap may call: no unshare, no mount.
	{name: "snap", around: []string{"bwrap", "--dev-bind", "/", "/"}, env: []string{"SNAP_NAME=code"}, filter: []refusedCall{
		{number: unix.SYS_UNSHARE, errno: uint32(unix.EPERM)}, {number: unix.SYS_SETNS, errno: uint32(unix.EPERM)}, {number: unix.SYS_MOUNT, errno: uint32(unix.EPERM)}, {number: unix.SYS_UMOUNT2, errno: uint32(unix.EPERM)},
		{number: unix.SYS_PIVOT_ROOT, errno: uint32(unix.EPERM)}, {number: unix.SYS_FSOPEN, errno: uint32(unix.EPERM)}, {number: unix.SYS_OPEN_TREE, errno: uint32(unix.EPERM)}, {number: unix.SYS_MOVE_MOUNT, errno: uint32(unix.EPERM)},
		{number: unix.SYS_MOUNT_SETATTR, errno: uint32(unix.EPERM)},
	}, says: []string{"a seccomp filter around this process refuses"}, fix: "a client that is no snap", waived: true, root: "-"},
}

// otherThanUnix stands for every argument but AF_UNIX in a refusedCall.
const otherThanUnix = 1 << 16

var flatpakCalls = []refusedCall{
	{number: unix.SYS_SYSLOG, errno: uint32(unix.EPERM)}, {number: unix.SYS_KEYCTL, errno: uint32(unix.EPERM)}, {number: unix.SYS_ADD_KEY, errno: uint32(unix.EPERM)}, {number: unix.SYS_REQUEST_KEY, errno: uint32(unix.EPERM)},
	{number: unix.SYS_MBIND, errno: uint32(unix.EPERM)}, {number: unix.SYS_UNSHARE, errno: uint32(unix.EPERM)}, {number: unix.SYS_SETNS, errno: uint32(unix.EPERM)}, {number: unix.SYS_MOUNT, errno: uint32(unix.EPERM)},
	{number: unix.SYS_UMOUNT2, errno: uint32(unix.EPERM)}, {number: unix.SYS_PIVOT_ROOT, errno: uint32(unix.EPERM)}, {number: unix.SYS_CHROOT, errno: uint32(unix.EPERM)}, {number: unix.SYS_CLONE, errno: uint32(unix.EPERM), bits: unix.CLONE_NEWUSER},
	{number: unix.SYS_CLONE3, errno: uint32(unix.ENOSYS)}, {number: unix.SYS_OPEN_TREE, errno: uint32(unix.ENOSYS)}, {number: unix.SYS_MOVE_MOUNT, errno: uint32(unix.ENOSYS)}, {number: unix.SYS_FSOPEN, errno: uint32(unix.ENOSYS)},
	{number: unix.SYS_FSCONFIG, errno: uint32(unix.ENOSYS)}, {number: unix.SYS_FSMOUNT, errno: uint32(unix.ENOSYS)}, {number: unix.SYS_MOUNT_SETATTR, errno: uint32(unix.ENOSYS)}, {number: unix.SYS_PTRACE, errno: uint32(unix.EPERM)},
	{number: unix.SYS_PERF_EVENT_OPEN, errno: uint32(unix.EPERM)}, {number: unix.SYS_PERSONALITY, errno: uint32(unix.EPERM), bits: 1}, {number: unix.SYS_IOCTL, errno: uint32(unix.EPERM), bits: 1 << 30},
}

// compileRefused returns the filter of a sandbox as bwrap --seccomp reads it.
func compileRefused(t *testing.T, calls []refusedCall) []byte {
	t.Helper()
	var program []bpf.Instruction
	for _, c := range calls {
		refuse := bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | c.errno}
		program = append(program, bpf.LoadAbsolute{Off: 0, Size: 4})
		switch {
		case c.bits != 0:
			program = append(program, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: c.number, SkipTrue: 3}, bpf.LoadAbsolute{Off: 16, Size: 4}, bpf.JumpIf{Cond: bpf.JumpBitsNotSet, Val: c.bits, SkipTrue: 1}, refuse)
		case c.unless == otherThanUnix:
			program = append(program, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: c.number, SkipTrue: 3}, bpf.LoadAbsolute{Off: 16, Size: 4}, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: unix.AF_UNIX, SkipTrue: 1}, refuse)
		case c.unless != 0:
			program = append(program, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: c.number, SkipTrue: 3}, bpf.LoadAbsolute{Off: 16, Size: 4}, bpf.JumpIf{Cond: bpf.JumpEqual, Val: c.unless, SkipTrue: 1}, refuse)
		default:
			program = append(program, bpf.JumpIf{Cond: bpf.JumpNotEqual, Val: c.number, SkipTrue: 1}, refuse)
		}
	}
	raw, err := bpf.Assemble(append(program, bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW}))
	must(t, err)
	var out []byte
	for _, i := range raw {
		out = binary.NativeEndian.AppendUint16(out, i.Op)
		out = append(out, i.Jt, i.Jf)
		out = binary.NativeEndian.AppendUint32(out, i.K)
	}
	return out
}

// enter makes the commands of a world run inside the sandbox.
func (n *nested) enter(t *testing.T, w *world) {
	t.Helper()
	program, err := exec.LookPath(n.around[0])
	must(t, err)
	var argv []string
	for _, a := range n.around[1:] {
		argv = append(argv, strings.NewReplacer("BASE", w.base, "HOME", w.home, "WORK", w.work).Replace(a))
	}
	w.env = append(slices.Clip(w.env), n.env...)
	if n.filter != nil {
		argv = append(argv, "--seccomp", "3")
		must(t, os.WriteFile(filepath.Join(w.base, "filter"), compileRefused(t, n.filter), 0o644))
	}
	w.around = func(cmd *exec.Cmd) *exec.Cmd {
		cmd.Args = slices.Concat([]string{n.around[0]}, argv, []string{"--", cmd.Path}, cmd.Args[1:])
		cmd.Path = program
		if n.filter != nil {
			f, err := os.Open(filepath.Join(w.base, "filter"))
			must(t, err)
			t.Cleanup(func() { f.Close() })
			cmd.ExtraFiles = []*os.File{f}
		}
		return cmd
	}
}

// nestedServer prints what it could do that no jail lets it do. A message that quotes it has none of
// these words.
const nestedServer = `cat "$0/.ssh/id_ed25519" 2>/dev/null && echo RE"AD"; echo x 2>/dev/null >"$0/planted" && echo PLAN"TED"; unshare -U true 2>/dev/null && echo UNSHA"RED"; echo R"AN"`

func (w *world) runNested(t *testing.T, flags ...string) (stderr string) {
	t.Helper()
	cmd := w.jail(slices.Concat(flags, []string{"--", "sh", "-c", nestedServer, w.home})...)
	out, _ := cmd.CombinedOutput()
	return string(out)
}

// TestNested starts servers in other sandboxes, and runs doctor there. A jail is as strong as
// outside, or it is refused and the message says why and what to do.
func TestNested(t *testing.T) {
	need(t, "jail", "bwrap")
	users := []bool{false}
	if os.Getuid() == 0 {
		users = []bool{true, false}
	}
	for _, n := range nestings {
		for _, root := range users {
			if root && n.root == "-" {
				continue
			}
			t.Run(n.name+map[bool]string{true: ", root"}[root], func(t *testing.T) {
				t.Parallel()
				n.try(t, root)
			})
		}
	}
}

func (n nested) try(t *testing.T, root bool) {
	w := newWorld(t)
	w.plant(t, w.work, map[string]string{".flatpak-info": "[Application]\n"})
	if !root && os.Getuid() == 0 {
		w.asOrdinaryUser(t)
	} else {
		w.program = w.copySelf(t, cmdline.Main)
		w.copySelf(t, cmdline.Companion)
	}
	n.enter(t, w)
	if root && n.root != "" {
		n.says, n.fix, n.waived = []string{n.root}, "", true
	}
	control := w.around(w.plain("sh", "-c", nestedServer, w.home))
	if out, err := control.CombinedOutput(); err != nil || !strings.Contains(string(out), "RAN") {
		t.Fatalf("control: the sandbox does not start: %v\n%s", err, out)
	}
	told := w.runNested(t)
	if n.says == nil {
		n.held(t, told)
		return
	}
	doctor, _ := w.mcpJail("doctor").CombinedOutput()
	report := strings.Join(strings.Fields(string(doctor)), " ")
	for _, want := range n.says {
		if !strings.Contains(told, want) {
			t.Errorf("want %q:\n%s", want, told)
		}
		if !strings.Contains(report, want) {
			t.Errorf("doctor: want %q:\n%s", want, doctor)
		}
	}
	if !strings.Contains(told, n.fix) || strings.Contains(told, "RAN") || strings.Contains(told, "no setting that is known") || n.says[0] == "/dev/null" && strings.Contains(told, "namespaces are refused") {
		t.Errorf("want the fix %q:\n%s", n.fix, told)
	}
	told = w.runNested(t, waiveNamespaces...)
	if n.waived {
		n.held(t, told)
	} else if strings.Contains(told, "RAN") {
		t.Errorf("it was started:\n%s", told)
	}
}

// held checks that the server ran, and could do no more than in any jail.
func (n *nested) held(t *testing.T, told string) {
	t.Helper()
	if !strings.Contains(told, "RAN") {
		t.Errorf("it was not started:\n%s", told)
	}
	for _, escape := range []string{"READ", "PLANTED", "UNSHARED", "a private key"} {
		if strings.Contains(told, escape) {
			t.Errorf("%s:\n%s", escape, told)
		}
	}
}

// TestNestedFilters: what a sandbox's filter is to refuse, it refuses, and nothing else.
func TestNestedFilters(t *testing.T) {
	need(t, "bwrap", "python3")
	for _, c := range []struct {
		calls         []refusedCall
		refused, does []string
	}{
		{flatpakCalls, []string{"unshare", "-U", "true"}, []string{"true"}},
		{[]refusedCall{{number: unix.SYS_SOCKET, errno: uint32(unix.EPERM), unless: otherThanUnix}}, []string{"python3", "-c", "import socket; socket.socket(socket.AF_UNIX)"}, []string{"python3", "-c", "import socket; socket.socket(socket.AF_INET)"}},
		{[]refusedCall{{number: unix.SYS_SOCKET, errno: uint32(unix.EPERM), unless: unix.AF_UNIX}}, []string{"python3", "-c", "import socket; socket.socket(socket.AF_INET)"}, []string{"python3", "-c", "import socket; socket.socket(socket.AF_UNIX)"}},
	} {
		for argv, want := range map[*[]string]bool{&c.refused: false, &c.does: true} {
			file := filepath.Join(t.TempDir(), "filter")
			must(t, os.WriteFile(file, compileRefused(t, c.calls), 0o644))
			f, err := os.Open(file)
			must(t, err)
			cmd := exec.Command("bwrap", append([]string{"--dev-bind", "/", "/", "--seccomp", "3", "--"}, *argv...)...)
			cmd.ExtraFiles = []*os.File{f}
			out, err := cmd.CombinedOutput()
			f.Close()
			if (err == nil) != want {
				t.Errorf("%v: %v\n%s", *argv, err, out)
			}
		}
	}
}
