package container

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Profile is a seccomp profile in the format that Docker, Podman and containerd read.
type Profile struct {
	DefaultAction   string
	DefaultErrnoRet *uint32
	Syscalls        []Rule
}

// Rule is an action for calls with some arguments. Includes and Excludes say where it counts.
type Rule struct {
	Names              []string
	Action             string
	ErrnoRet           *uint32
	Args               []Arg
	Includes, Excludes struct{ Caps, Arches []string }
}

// Arg compares an argument of a call.
type Arg struct {
	Index           int
	Value, ValueTwo uint64
	Op              string
}

// Containers is the profile of Podman, Buildah and CRI-O, for a container with capabilities.
func Containers(t testing.TB, caps []string) []bpf.RawInstruction {
	return read(t).compile(t, caps)
}

// Moby is MobyWith without further calls.
func Moby(t testing.TB, caps []string) []bpf.RawInstruction { return MobyWith(t, caps) }

// MobyWith is Docker's default profile for a container with capabilities. It is the profile of Podman
// with the differences of github.com/moby/profiles/seccomp/default_linux.go: the default is EPERM; the
// calls of namespaces and mounts need CAP_SYS_ADMIN, those on other processes CAP_SYS_PTRACE, and a
// few another capability or one that is never given; clone may make no namespace; clone3 is ENOSYS.
// It allows some calls besides.
func MobyWith(t testing.TB, caps []string, calls ...string) []bpf.RawInstruction {
	p := read(t)
	eperm, enosys := uint32(unix.EPERM), uint32(unix.ENOSYS)
	p.DefaultErrnoRet = &eperm
	needs := map[string][]string{
		"CAP_SYS_ADMIN": {
			"bpf", "clone", "clone3", "fanotify_init", "fsconfig", "fsmount", "fsopen", "fspick", "mount", "mount_setattr", "move_mount", "open_tree",
			"perf_event_open", "quotactl", "setdomainname", "sethostname", "setns", "syslog", "umount", "umount2", "unshare",
		},
		"CAP_SYS_PTRACE": {"kcmp", "pidfd_getfd", "process_madvise"},
		"CAP_SYS_BOOT":   {"reboot"},
		"CAP_SYS_NICE":   {"get_mempolicy", "mbind", "set_mempolicy", "set_mempolicy_home_node"},
		"":               {"add_key", "keyctl", "pivot_root", "request_key", "io_uring_enter", "io_uring_register", "io_uring_setup"},
	}
	for i := range p.Syscalls {
		p.Syscalls[i].Names = slices.DeleteFunc(p.Syscalls[i].Names, func(name string) bool {
			return slices.ContainsFunc(slices.Collect(maps.Values(needs)), func(calls []string) bool { return slices.Contains(calls, name) })
		})
	}
	for capability, calls := range needs {
		rule := Rule{Names: calls, Action: "SCMP_ACT_ALLOW"}
		rule.Includes.Caps = []string{capability}
		p.Syscalls = append(p.Syscalls, rule)
	}
	clone := Rule{Names: []string{"clone"}, Action: "SCMP_ACT_ALLOW", Args: []Arg{{Index: 0, Value: cloneNamespaces, Op: "SCMP_CMP_MASKED_EQ"}}}
	clone3 := Rule{Names: []string{"clone3"}, Action: "SCMP_ACT_ERRNO", ErrnoRet: &enosys}
	clone.Excludes.Caps, clone3.Excludes.Caps = []string{"CAP_SYS_ADMIN"}, []string{"CAP_SYS_ADMIN"}
	p.Syscalls = append(p.Syscalls, clone, clone3, Rule{Names: calls, Action: "SCMP_ACT_ALLOW"})
	return p.compile(t, caps)
}

const cloneNamespaces = unix.CLONE_NEWNS | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWUSER | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWCGROUP

// Refusing is a filter that answers some calls with an action and allows all others.
func Refusing(t testing.TB, action string, errno uint32, names ...string) []bpf.RawInstruction {
	return Profile{DefaultAction: "SCMP_ACT_ALLOW", Syscalls: []Rule{{Names: names, Action: action, ErrnoRet: &errno}}}.compile(t, nil)
}

const profileFile = "/usr/share/containers/seccomp.json"

func read(t testing.TB) Profile {
	t.Helper()
	b, err := os.ReadFile(profileFile)
	if err != nil {
		testkit.Skip(t, "containers", "golang-github-containers-common is not installed: %v", err)
	}
	var p Profile
	if err := json.Unmarshal(b, &p); err != nil || len(p.Syscalls) < 20 {
		t.Fatalf("%s: %v", profileFile, err)
	}
	return p
}

func (r Rule) applies(caps []string) bool {
	has := func(name string) bool { return slices.Contains(caps, name) }
	arch := func(name string) bool { return name == runtime.GOARCH }
	switch in, out := r.Includes, r.Excludes; {
	case len(in.Arches) > 0 && !slices.ContainsFunc(in.Arches, arch), slices.ContainsFunc(out.Arches, arch):
		return false
	default:
		return !slices.ContainsFunc(in.Caps, func(name string) bool { return !has(name) }) && !slices.ContainsFunc(out.Caps, has)
	}
}

func verdict(t testing.TB, action string, errno *uint32) uint32 {
	t.Helper()
	switch action {
	case "SCMP_ACT_ALLOW":
		return unix.SECCOMP_RET_ALLOW
	case "SCMP_ACT_KILL":
		return unix.SECCOMP_RET_KILL_PROCESS
	case "SCMP_ACT_ERRNO":
		if errno == nil {
			return unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)
		}
		return unix.SECCOMP_RET_ERRNO | *errno
	}
	t.Fatalf("the action %s is not known", action)
	return 0
}

// compile compiles the profile for this machine, whose calls alone it allows. Names that the
// machine does not have are left out, as libseccomp does.
func (p Profile) compile(t testing.TB, caps []string) []bpf.RawInstruction {
	t.Helper()
	numbers, otherwise := callNumbers(t), verdict(t, p.DefaultAction, p.DefaultErrnoRet)
	rules := map[uint32][]Rule{}
	var order []uint32
	for _, r := range p.Syscalls {
		for _, name := range r.Names {
			number, known := numbers[name]
			if !known || !r.applies(caps) {
				continue
			}
			if rules[number] == nil {
				order = append(order, number)
			}
			rules[number] = append(rules[number], r)
		}
	}
	prog := []bpf.Instruction{
		bpf.LoadAbsolute{Off: 4, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: map[string]uint32{"amd64": unix.AUDIT_ARCH_X86_64, "arm64": unix.AUDIT_ARCH_AARCH64}[runtime.GOARCH], SkipTrue: 1},
		bpf.RetConstant{Val: otherwise},
		bpf.LoadAbsolute{Off: 0, Size: 4},
	}
	for _, number := range order {
		var block []bpf.Instruction
		for _, r := range rules[number] {
			block = append(block, r.instructions(t)...)
		}
		block = append(block, bpf.RetConstant{Val: otherwise})
		prog = append(prog, bpf.JumpIf{Cond: bpf.JumpEqual, Val: number, SkipTrue: 1}, bpf.Jump{Skip: uint32(len(block))})
		prog = append(prog, block...)
	}
	if len(order) > 0 && otherwise != unix.SECCOMP_RET_ALLOW {
		// runc does that: a call that is newer than the profile is absent (patchbpf in opencontainers/runc).
		prog = append(prog, bpf.JumpIf{Cond: bpf.JumpGreaterThan, Val: slices.Max(order), SkipFalse: 1}, bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)})
	}
	raw, err := bpf.Assemble(append(prog, bpf.RetConstant{Val: otherwise}))
	if err != nil || len(raw) > 4096 {
		t.Fatalf("%d instructions, %v", len(raw), err)
	}
	return raw
}

// instructions are those of one rule. If an argument differs, it goes on after them.
func (r Rule) instructions(t testing.TB) (all []bpf.Instruction) {
	var toEnd []int // jumps whose SkipFalse leads to the end
	need := func(condition bpf.JumpTest, value uint32) {
		toEnd = append(toEnd, len(all))
		all = append(all, bpf.JumpIf{Cond: condition, Val: value})
	}
	for _, a := range r.Args {
		low := bpf.LoadAbsolute{Off: uint32(16 + 8*a.Index), Size: 4}
		switch a.Op {
		case "SCMP_CMP_EQ":
			all = append(all, low)
			need(bpf.JumpEqual, uint32(a.Value))
		case "SCMP_CMP_NE":
			all = append(all, low)
			need(bpf.JumpNotEqual, uint32(a.Value))
		case "SCMP_CMP_MASKED_EQ":
			all = append(all, low, bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: uint32(a.Value)})
			need(bpf.JumpEqual, uint32(a.ValueTwo))
		default:
			t.Fatalf("the comparison %s is not known", a.Op)
		}
	}
	all = append(all, bpf.RetConstant{Val: verdict(t, r.Action, r.ErrnoRet)})
	for _, i := range toEnd {
		jump := all[i].(bpf.JumpIf)
		jump.SkipFalse = uint8(len(all) - i - 1)
		all[i] = jump
	}
	return all
}

func callNumbers(t testing.TB) map[string]uint32 {
	t.Helper()
	numbers, err := numbersOnce()
	if err != nil {
		testkit.Skip(t, "go", "the numbers of calls cannot be read: %v", err)
	}
	return numbers
}

// numbersOnce reads the numbers of this machine's calls from the sources of golang.org/x/sys, or, as a
// user who cannot read these, from the headers of the C library.
var numbersOnce = sync.OnceValues(func() (map[string]uint32, error) {
	files := map[string]string{"amd64": "/usr/include/x86_64-linux-gnu/asm/unistd_64.h", "arm64": "/usr/include/asm-generic/unistd.h"}
	file, pattern := files[runtime.GOARCH], `(?m)^#define __NR_(\w+) (\d+)$`
	if dir, err := exec.Command("go", "list", "-f", "{{.Dir}}", "golang.org/x/sys/unix").Output(); err == nil {
		file, pattern = filepath.Join(strings.TrimSpace(string(dir)), "zsysnum_linux_"+runtime.GOARCH+".go"), `(?m)^\s+SYS_(\w+)\s+= (\d+)$`
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	numbers := map[string]uint32{}
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(b), -1) {
		number, _ := strconv.ParseUint(m[2], 10, 32)
		numbers[strings.ToLower(m[1])] = uint32(number)
	}
	if len(numbers) < 250 {
		return nil, fmt.Errorf("%s has only %d calls", file, len(numbers))
	}
	return numbers, nil
})
