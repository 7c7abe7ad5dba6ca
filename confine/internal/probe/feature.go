package probe

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/confine/internal/cgroup"
	"github.com/mcp-jail/mcp-jail/confine/internal/landlock"
)

// Answer is what a probe came back with.
type Answer uint8

const (
	Unknown Answer = iota // could not tell: the probe itself was refused
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

// Feature is one thing that a kernel can offer. The zero value is unknown.
type Feature struct {
	Answer Answer `json:"answer"`
	Detail string `json:"detail,omitempty"` // yes: which form of it; otherwise why not
	Fix    string `json:"fix,omitempty"`    // what the user can do about it
}

func Available(detail string) Feature { return Feature{Answer: Yes, Detail: detail} }

func Unavailable(why, fix string) Feature { return Feature{Answer: No, Detail: why, Fix: fix} }

func Undetermined(why string) Feature { return Feature{Detail: why} }

// Features is what this host offers, as far as the probes could tell. Every
// answer concerns this process: a container or a service manager can take away
// what the kernel has.
type Features struct {
	OS     string `json:"os"`
	Arch   string `json:"arch"`
	Kernel string `json:"kernel,omitempty"` // release, "6.18.44-generic"

	// LandlockABI is the level to use (see Landlock for the kernel's own), and 0
	// where there is none.
	LandlockABI    int     `json:"landlock_abi"`
	LandlockErrata uint32  `json:"landlock_errata"`
	Landlock       Feature `json:"landlock"`

	Seccomp       Feature `json:"seccomp"`        // filters that answer with an errno, on a known machine
	SeccompNotify Feature `json:"seccomp_notify"` // a supervisor can be asked, undisturbed by signals
	SeccompTSync  Feature `json:"seccomp_tsync"`  // a filter for all threads at once

	UserNamespaces Feature `json:"user_namespaces"` // with the capabilities inside that a jail is built with
	MountAPI       Feature `json:"mount_api"`       // open_tree, move_mount, mount_setattr
	FreshProc      Feature `json:"fresh_proc"`      // nothing of /proc is masked, so a new one may be mounted
	PtraceScope    Feature `json:"ptrace_scope"`    // a supervisor may read the arguments of its jail's processes
	PidMax         Feature `json:"pid_max"`         // pid_max belongs to the PID namespace
	GetFD          Feature `json:"pidfd_getfd"`     // a supervisor may act on its server's own sockets
	Cgroup         Feature `json:"cgroup"`          // cgroup v2 delegated to this process
	Overlay        Feature `json:"overlay"`         // a call can have a copy of HOME
}

// NamedFeature is one line of a report.
type NamedFeature struct {
	Name string // as Has and MCPJAIL_REQUIRE spell it
	Feature
}

// List returns the features in the order in which a report prints them.
func (f Features) List() []NamedFeature {
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
		{"pidfd_getfd", f.GetFD},
		{"cgroup", f.Cgroup},
		{"overlay", f.Overlay},
	}
}

// Has answers for a feature by name, with an optional level for Landlock:
// "userns", "landlock", "landlock:6". An unknown name is an error, so that a
// misspelt requirement cannot pass.
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
			return Unavailable(fmt.Sprintf("Landlock counts as ABI %d here, and %d is asked for", f.LandlockABI, want), "use a newer kernel"), nil
		}
		return n.Feature, nil
	}
	return Feature{}, fmt.Errorf("there is no feature %q", name)
}

// kernelAtLeast compares a kernel release with a version. It is only for what
// cannot be asked for: distributions carry features back and take them out.
func kernelAtLeast(release string, major, minor int) Feature {
	gotMajor, rest := leadingNumber(release)
	gotMinor, _ := leadingNumber(strings.TrimPrefix(rest, "."))
	if gotMajor < 0 || gotMinor < 0 {
		return Undetermined("the kernel's release cannot be read: " + strconv.Quote(release))
	}
	if gotMajor > major || gotMajor == major && gotMinor >= minor {
		return Available("Linux " + release)
	}
	return Unavailable(fmt.Sprintf("this is Linux %s, and it takes %d.%d", release, major, minor), "use a newer kernel")
}

// leadingNumber cuts off the number that s begins with; -1 where there is none.
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

// overlayFeature judges /proc/filesystems. What is a module shows only once somebody
// has used it, and what lies below decides as well: a start tries.
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

// landlockFeature judges the answer of the version query.
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

// usernsFacts are the settings that can forbid a user namespace. A setting that
// the kernel does not have is "".
type usernsFacts struct {
	Errno              string // the refusal, "EPERM"
	Limit              string // user.max_user_namespaces
	UnprivilegedClone  string // kernel.unprivileged_userns_clone (Debian)
	AppArmorRestricted string // kernel.apparmor_restrict_unprivileged_userns (Ubuntu)
	AppArmorProfile    string // the profile of this process
	SeccompMode        string // the Seccomp line of /proc/self/status
	Root               bool
	Chrooted           bool
}

// usernsFeature says why user namespaces are refused, and what would help. The
// most certain cause comes first.
func usernsFeature(f usernsFacts) Feature {
	switch {
	case f.Limit == "0":
		return Unavailable("user.max_user_namespaces is 0", "sudo sysctl user.max_user_namespaces=15000 (for every program: the setting knows no single one)")
	case f.Errno == "ENOSPC" || f.Errno == "EUSERS":
		// A shortage is no prohibition: it can be over at the next start.
		return Feature{Detail: "there are too many user namespaces already, or too many inside each other, or a sandbox around this one allows none (user.max_user_namespaces is " + f.Limit + " here)",
			Fix: "raise user.max_user_namespaces, or start mcp-jail less deep inside other sandboxes"}
	case f.Errno == "ENOSYS" || f.Errno == "EINVAL":
		return Unavailable("this kernel is built without user namespaces", "use a kernel with CONFIG_USER_NS")
	case f.UnprivilegedClone == "0" && !f.Root:
		return Unavailable("kernel.unprivileged_userns_clone is 0", "sudo sysctl kernel.unprivileged_userns_clone=1 (for every program: the setting knows no single one)")
	case f.AppArmorRestricted == "1" && !f.Root:
		return Unavailable("AppArmor restricts user namespaces to programs with a profile (kernel.apparmor_restrict_unprivileged_userns is 1)",
			"allow them for this program only:  mcp-jail doctor --apparmor | sudo tee /etc/apparmor.d/mcp-jail && sudo apparmor_parser -r /etc/apparmor.d/mcp-jail")
	case f.Chrooted:
		return Unavailable("this process is in a chroot, where the kernel refuses user namespaces", "start mcp-jail outside of the chroot")
	case f.SeccompMode == "2":
		return Unavailable("a seccomp filter around this process refuses it, as containers and some sandboxes install one",
			"start the container with a seccomp profile that allows user namespaces, for instance --security-opt seccomp=unconfined")
	case f.AppArmorProfile != "" && f.AppArmorProfile != "unconfined":
		return Unavailable("the AppArmor profile "+f.AppArmorProfile+" around this process may refuse it", "add the rule `userns,` to that profile")
	}
	return Unavailable("the kernel refuses it with "+f.Errno+", and no setting that is known to forbid it does", "look for a security module's message in the kernel's log")
}

// freshProcFeature judges /proc/self/mountinfo: the kernel lets a user namespace
// mount a new /proc only where an old one is visible in full
// (mount_too_revealing in fs/namespace.c). Mounts on directories that are always
// empty do not count.
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

// ptraceScopeFeature judges kernel.yama.ptrace_scope, "" where there is no Yama:
// 3 is final and keeps everybody from everything (Documentation/admin-guide/LSM/Yama.rst).
func ptraceScopeFeature(scope string) Feature {
	if scope == "3" {
		return Unavailable("kernel.yama.ptrace_scope is 3: nobody may read the arguments of another process's calls",
			"set kernel.yama.ptrace_scope to 2 or less at boot")
	}
	return Available("")
}

// tracesOwn is ptraceScopeFeature for a supervisor without a capability.
func tracesOwn(scope string) Feature {
	switch scope {
	case "", "0", "1":
		return Available("")
	}
	return Unavailable("kernel.yama.ptrace_scope is "+scope+": a supervisor without a capability may not read the arguments of its own processes' calls",
		"sudo sysctl kernel.yama.ptrace_scope=1")
}

// feature is the place as a report shows it.
func cgroupFeature(p cgroup.Location) Feature {
	switch {
	case p.Parent != "":
		return Available("below " + p.Parent)
	case p.Manager != "":
		return Available("a scope of systemd, by way of " + p.Manager)
	}
	return Unavailable(p.Why, p.Fix)
}
