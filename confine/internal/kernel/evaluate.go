package kernel

import (
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"syscall"

	"github.com/mcp-jail/mcp-jail/confine/internal/landlock"
	"github.com/mcp-jail/mcp-jail/confine/internal/seatbelt"
	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Answer is the result of a probe.
type Answer uint8

const (
	Unknown Answer = iota // the probe itself failed
	Yes
	No
)

func (a Answer) String() string {
	switch a {
	case Yes:
		return "yes"
	case No:
		return "no"
	}
	return "unknown"
}

// Feature is the result of a probe with its reason. The zero value is unknown.
type Feature struct {
	Answer Answer `json:"answer"`
	Detail string `json:"detail,omitempty"` // yes: which form; otherwise the reason
	Fix    string `json:"fix,omitempty"`    // what the user can do about it
}

// Available returns a feature that the host has.
func Available(detail string) Feature { return Feature{Answer: Yes, Detail: detail} }

// Unavailable returns a feature that the host does not have.
func Unavailable(why, fix string) Feature { return Feature{Answer: No, Detail: why, Fix: fix} }

// Undetermined returns a feature whose probe failed.
func Undetermined(why string) Feature { return Feature{Detail: why} }

// Features are the features that this host offers to this process.
type Features struct {
	OS     string `json:"os"`
	Arch   string `json:"arch"`
	Kernel string `json:"kernel,omitempty"` // release, "6.18.44-generic"
	Inside string `json:"inside,omitempty"` // the sandbox around this process, if it is known; only for reports

	// LandlockABI is the ABI to use, or 0. Landlock names the kernel's own.
	LandlockABI int     `json:"landlock_abi"`
	Landlock    Feature `json:"landlock"`

	Seccomp       Feature `json:"seccomp"`        // filters that return an errno, on a known architecture
	SeccompNotify Feature `json:"seccomp_notify"` // user notification that signals do not interrupt
	SeccompTSync  Feature `json:"seccomp_tsync"`  // one filter for all threads at once

	UserNamespaces Feature `json:"user_namespaces"`    // with the capabilities inside that a jail is built with
	MountAPI       Feature `json:"mount_api"`          // open_tree, move_mount, mount_setattr
	FreshProc      Feature `json:"fresh_proc"`         // no part of /proc is masked, so a new one may be mounted
	PtraceScope    Feature `json:"ptrace_scope"`       // a supervisor may read the arguments of its jail's processes
	PidMax         Feature `json:"pid_max"`            // each PID namespace has its own pid_max
	Sockets        Feature `json:"supervised_sockets"` // a supervisor may act on its server's sockets
	Cgroup         Feature `json:"cgroup"`             // the user's systemd gives jails cgroups (v2)
	Overlay        Feature `json:"overlay"`            // a call can have a copy of HOME

	// The fields of macOS, where the features above are unknown. See Report for their JSON.
	Product  string  `json:"-"` // version, "15.2"
	Build    string  `json:"-"` // "24C101"
	Seatbelt Feature `json:"-"` // sandbox-exec can be used
	SelfTest Feature `json:"-"` // the self-test has passed here
}

// NamedFeature is one line of a report.
type NamedFeature struct {
	Name string // as Has and MCPJAIL_REQUIRE spell it
	Feature
}

// List returns the features in the order in which a report prints them.
func (f Features) List() []NamedFeature {
	switch f.OS {
	case "darwin":
		return []NamedFeature{{"seatbelt", f.Seatbelt}, {"self_test", f.SelfTest}}
	case "linux", "":
	default:
		return nil // there is no jail, or a job of Windows, which every Windows has
	}
	return []NamedFeature{
		{"landlock", f.Landlock},
		{"seccomp", f.Seccomp},
		{"seccomp_notify", f.SeccompNotify},
		{"seccomp_tsync", f.SeccompTSync},
		{"userns", f.UserNamespaces},
		{"mount_api", f.MountAPI},
		{"fresh_proc", f.FreshProc},
		{"ptrace_scope", f.PtraceScope},
		{"pid_max", f.PidMax},
		{"supervised_sockets", f.Sockets},
		{"cgroup", f.Cgroup},
		{"overlay", f.Overlay},
	}
}

// System returns the name and the version of the operating system.
func (f Features) System() string {
	switch {
	case f.OS == "darwin" && f.Build != "":
		return "macOS " + f.Product + " (" + f.Build + ")"
	case f.OS == "darwin":
		return "macOS"
	case f.OS == "windows":
		return strings.TrimSpace("Windows " + f.Kernel)
	}
	return strings.TrimSpace(f.OS + " " + f.Kernel)
}

// Has returns the feature of a name, with an optional ABI for Landlock: "userns", "landlock",
// "landlock:6". An unknown name is an error, so that a misspelt requirement cannot pass.
func (f Features) Has(name string) (Feature, error) {
	base, level, levelled := strings.Cut(name, ":")
	for _, n := range f.List() {
		if n.Name != base {
			continue
		}
		if !levelled {
			return n.Feature, nil
		}
		want, err := strconv.Atoi(level)
		if err != nil || base != "landlock" {
			break
		}
		if n.Answer == Yes && f.LandlockABI < want {
			return Unavailable(fmt.Sprintf("Landlock has ABI %d here, and ABI %d is required", f.LandlockABI, want), "use a newer kernel"), nil
		}
		return n.Feature, nil
	}
	return Feature{}, fmt.Errorf("there is no feature %q", name)
}

// kernelAtLeast compares a kernel release with a version. Use it only for features that cannot be
// probed, because distributions backport features and remove them.
func kernelAtLeast(release string, major, minor int) Feature {
	gotMajor, rest := leadingNumber(release)
	gotMinor, _ := leadingNumber(strings.TrimPrefix(rest, "."))
	if gotMajor < 0 || gotMinor < 0 {
		return Undetermined("the kernel's release cannot be read: " + strconv.Quote(release))
	}
	if gotMajor > major || gotMajor == major && gotMinor >= minor {
		return Available("Linux " + release)
	}
	return Unavailable(fmt.Sprintf("this is Linux %s, and %d.%d or newer is needed", release, major, minor), "use a newer kernel")
}

func leadingNumber(s string) (n int, rest string) {
	end := 0
	for end < len(s) && '0' <= s[end] && s[end] <= '9' {
		end++
	}
	n, err := strconv.Atoi(s[:end])
	if err != nil {
		n = -1
	}
	return n, s[end:]
}

// overlayFeature evaluates /proc/filesystems. A module appears there only after its first use,
// and the lower filesystem matters as well. So only a start can be certain.
func overlayFeature(release, filesystems string) Feature {
	if f := kernelAtLeast(release, 5, 11); f.Answer != Yes {
		return f
	}
	for line := range strings.Lines(filesystems) {
		if f := strings.Fields(line); len(f) > 0 && f[len(f)-1] == "overlay" {
			return Available("")
		}
	}
	return Undetermined("not among /proc/filesystems; if it is a module, it is loaded when it is needed")
}

func landlockFeature(abi int, errata uint32) Feature {
	effective := landlock.EffectiveABI(abi, errata)
	switch {
	case effective == abi:
		return Available(fmt.Sprintf("ABI %d", abi))
	case abi > landlock.NewestABI:
		return Available(fmt.Sprintf("ABI %d, used as %d, the newest that is known", abi, effective))
	}
	return Available(fmt.Sprintf("ABI %d, used as %d: the scope of signals is not repaired (erratum 2)", abi, effective))
}

// underFilter adds to the detail of a call that seems to be missing that a seccomp filter may hide it:
// Podman's default answers ENOSYS for calls that it does not know.
func underFilter(seccompMode string, f Feature) Feature {
	if seccompMode != "2" || f.Answer != No {
		return f
	}
	return Unavailable(f.Detail+", or a seccomp filter around this process hides it", f.Fix+"; in a container, use a runtime whose profile knows the call")
}

// freshProcFeature evaluates /proc/self/mountinfo. The kernel lets a user namespace mount a new
// /proc only if an old one is fully visible (mount_too_revealing in fs/namespace.c). Mounts on
// directories that are always empty do not count.
func freshProcFeature(mountinfo string) Feature {
	seen := false
	for line := range strings.Lines(mountinfo) {
		if !strings.Contains(line, " /proc") {
			continue
		}
		fields := strings.Fields(line)
		if len(fields) < 10 {
			continue
		}
		root, at, options := fields[3], fields[4], ","+fields[5]+","
		_, super, _ := strings.Cut(line, " - ")
		switch {
		case at == "/proc":
			seen = strings.HasPrefix(super, "proc ") && root == "/" &&
				!strings.Contains(options, ",ro,") && !strings.Contains(super, "subset=pid")
		case strings.HasPrefix(at, "/proc/") && at != "/proc/sys/fs/binfmt_misc" && at != "/proc/fs/nfsd":
			return Unavailable(at+" is mounted over, as containers do",
				"start the container with --security-opt systempaths=unconfined, or accept a jail without /proc")
		}
	}
	if !seen {
		return Unavailable("there is no whole, writable /proc here", "mount /proc without ro and subset=pid")
	}
	return Available("")
}

// ptraceScopeFeature evaluates kernel.yama.ptrace_scope, "" without Yama. 3 forbids all tracing
// until the next boot (Documentation/admin-guide/LSM/Yama.rst).
func ptraceScopeFeature(scope string) Feature {
	if scope == "3" {
		return Unavailable("kernel.yama.ptrace_scope is 3: no process may read the arguments of another process's system calls",
			"set kernel.yama.ptrace_scope to 2 or less at boot")
	}
	return Available("")
}

// readsFeature evaluates what process_vm_readv answers for this process itself, which only a filter
// refuses. A supervisor reads the arguments of calls with it.
func readsFeature(errno syscall.Errno) Feature {
	if errno == 0 {
		return Available("")
	}
	return Unavailable(fmt.Sprintf("a seccomp filter around this process refuses process_vm_readv (%v), with which a supervisor reads the arguments of calls", errno),
		"allow process_vm_readv in that filter")
}

func tracesFeature(err error) Feature {
	if errors.Is(err, errNoProcess) {
		return Available("")
	}
	return Unavailable(fmt.Sprintf("ptrace is refused here (%v), by the seccomp filter of a container or a service", err),
		"allow ptrace there (docker run --cap-add SYS_PTRACE, or a seccomp profile that allows it)")
}

// errNoProcess is ESRCH, as Linux counts.
const errNoProcess = syscall.Errno(3)

// tracesOwn evaluates kernel.yama.ptrace_scope for a supervisor without CAP_SYS_PTRACE.
func tracesOwn(scope string) Feature {
	switch scope {
	case "", "0", "1":
		return Available("")
	}
	return Unavailable("kernel.yama.ptrace_scope is "+scope+": a supervisor without a capability may not read the arguments of its own processes' calls",
		"sudo sysctl kernel.yama.ptrace_scope=1")
}

func cgroupFeature(p CgroupLocation) Feature {
	if p.None() {
		return Unavailable(p.Why, p.Fix)
	}
	return Available("a scope of systemd, by way of " + p.Manager)
}

// Facts are the facts about the kernel, the host and this process that compiling a plan needs. A
// plan depends on the host only through them.
type Facts struct {
	Features
	Supported bool   // this operating system has a backend
	ProcFault string // why no jail can be built with the /proc that is here; "" if one can
	Machine   seccomp.Arch
	UID       int
	PID       int
	Devices   []string     // the device nodes that can be lent to a jail
	Inotify   spec.Inotify // the kernel's limits for each user; zero: not known
	// The fields from KernelFiles to TempDir are set only for a jail with host namespaces.
	KernelFiles []string // files about the kernel and the system, none about a process
	HostNames   []string // the canonical paths of /etc/hosts and /etc/resolv.conf
	Resolver    []string // of these, that of /etc/resolv.conf
	ReadsProc   bool     // processes can be found below /proc
	TracesOwn   Feature  // a process can read the memory of its descendants
	TempDir     string   // the name for the TMPDIR of one jail, which does not exist yet
	Traces      Feature  // ptrace can be called; PtraceScope and TracesOwn tell which processes it can trace
	Cgroup      CgroupLocation
	// HomeCopy is what is known about an overlay of the private HOME. nil: Features.Overlay counts.
	HomeCopy   *Feature
	TLSProgram Feature  // mcp-jail-tls can be started; Detail is its path
	Bundles    []string // files of the host with certificate authorities
	FullCopies Feature  // everything in an overlay can be removed

	Seatbelt Feature // macOS: sandbox-exec can be used here
	Proof    Proof   // macOS: what the self-test found out
}

// WithUserNS returns the facts for a known answer about user namespaces.
func (f Facts) WithUserNS(userns Feature) Facts {
	f.UserNamespaces = userns
	if userns.Answer == No {
		f.detectHostNS()
	}
	return f
}

// sandboxExec is the program of macOS that starts another under a profile of Seatbelt. It is never looked
// up in PATH.
const sandboxExec = "/usr/bin/sandbox-exec"

// seatbeltFeature evaluates the file of sandbox-exec, or the error of looking at it. Whether a profile
// can be applied, which another sandbox around this process prevents, only the self-test can tell.
func seatbeltFeature(mode fs.FileMode, owner int, err error) Feature {
	const fix = "use a macOS that has it as Apple ships it"
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Unavailable("this macOS has no "+sandboxExec, fix)
	case errors.Is(err, fs.ErrPermission):
		return Unavailable("another sandbox around this process hides "+sandboxExec, "start mcp-jail outside it")
	case err != nil:
		return Unavailable(fmt.Sprintf("%s cannot be looked at: %v", sandboxExec, err), fix)
	case !mode.IsRegular() || mode&0o111 == 0:
		return Unavailable(sandboxExec+" is no program", fix)
	case owner != 0:
		return Unavailable(fmt.Sprintf("%s belongs to user %d and not to root", sandboxExec, owner), fix)
	case mode&0o022 != 0:
		return Unavailable(sandboxExec+" can be written by others than its owner", fix)
	}
	return Available(sandboxExec)
}

// seatbeltTempDir returns the name for the TMPDIR of one jail, with 8 hex digits that are random.
func seatbeltTempDir(uid int, random [4]byte) string {
	return fmt.Sprintf("%s%d-%x", seatbelt.TempPrefix, uid, random)
}

// Proof is what the self-test of a Mac found out about Seatbelt. The zero value is none: nothing may be
// started.
type Proof struct {
	Made    bool          `json:"made"`              // the self-test ran to its end
	Failed  []ProbeResult `json:"failed,omitempty"`  // each makes its axis a gap
	Passed  []ProbeResult `json:"passed,omitempty"`  // all others
	Without []string      `json:"without,omitempty"` // optional operations that this system does not know
	Why     string        `json:"why,omitempty"`     // not Made: why there is no result
	Volume  uint64        `json:"-"`                 // the device of the cache directory, where it was made; 0: not known
}

// ProbeResult is a part of the self-test.
type ProbeResult struct {
	ID    string      `json:"id"`
	Axis  policy.Axis `json:"axis"`
	Fatal bool        `json:"fatal,omitempty"` // if it fails, nothing can be started
	What  string      `json:"what"`            // what it shows
	Got   string      `json:"got,omitempty"`   // what happened in place of that, if it failed
}

// Feature returns what the self-test says about this machine, as one feature.
func (p Proof) Feature() Feature {
	const fix = "run mcp-jail doctor, which makes the self-test"
	switch n := len(p.Failed); {
	case !p.Made && p.Why != "":
		return Undetermined("no result: " + p.Why)
	case !p.Made:
		return Undetermined("it has not run for this build of the system and this mcp-jail: " + fix)
	case n > 0:
		return Unavailable(strconv.Itoa(n)+" probes failed, the first of them "+p.Failed[0].ID+": "+p.Failed[0].What, "report this with the output of mcp-jail doctor")
	}
	return Available("passed")
}
