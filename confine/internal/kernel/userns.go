package kernel

import (
	"strconv"
	"strings"
)

// usernsFacts are what can forbid user namespaces. A setting that the kernel does not have is "".
type usernsFacts struct {
	Errno              string      // of the refusal, "EPERM"
	Stage              usernsStage // what was refused
	Limit              string      // user.max_user_namespaces
	UnprivilegedClone  string      // kernel.unprivileged_userns_clone (Debian)
	AppArmorRestricted string      // kernel.apparmor_restrict_unprivileged_userns (Ubuntu)
	AppArmorProfile    string      // the profile that confines this process
	SeccompMode        string      // the Seccomp line of /proc/self/status
	Built              bool        // this kernel has user namespaces
	Nested             bool        // this process is in a user namespace that is not the host's
	Unmapped           bool        // which does not know the process's user or group
	Root               bool
	SetFCap            bool // the process has CAP_SETFCAP
	Chrooted           bool
	Step               string // of building a jail, which was refused in one; "" is a mount
	Outside            string // how to start outside of the sandbox that is known to be around
}

// A usernsStage is a part of making a user namespace.
type usernsStage uint8

const (
	stageMake usernsStage = iota
	stageUse              // its capabilities: a mount in it
	stageMap              // its user
)

// unlimited is the least user.max_user_namespaces of a namespace that limits nothing itself.
const unlimited = 1<<31 - 1

// usernsFeature says why user namespaces are refused and what would help. It tests for the most
// certain cause first.
func usernsFeature(f usernsFacts) Feature {
	outside, use := "start mcp-jail outside that sandbox", "a mount"
	seccompFix := "start the container with a seccomp profile that allows user namespaces, and mounts in them, for instance --security-opt seccomp=unconfined"
	if f.Outside != "" {
		outside, seccompFix = f.Outside, f.Outside
	}
	if f.Step != "" {
		use = "the step " + strconv.Quote(f.Step) + " of a jail"
	}
	limit, _ := strconv.Atoi(f.Limit)
	switch privileged := f.Root && !f.Nested; {
	case f.Limit == "0":
		return Unavailable("user.max_user_namespaces is 0", "allow them for every program, until the next boot:  sudo sysctl user.max_user_namespaces=15000")
	case (f.Errno == "ENOSPC" || f.Errno == "EUSERS") && f.Nested && limit >= unlimited:
		// This namespace limits nothing, so it is one around it, whose limit nothing here can change.
		return Unavailable("a sandbox around this process allows no user namespace in it (bwrap --disable-userns), or they are too many inside each other",
			outside)
	case f.Errno == "ENOSPC" || f.Errno == "EUSERS":
		// The limit is exhausted. That can be over at the next start, so the answer is unknown.
		return Feature{Detail: "there are too many user namespaces already, or too many inside each other (user.max_user_namespaces is " + f.Limit + " here)",
			Fix: "raise user.max_user_namespaces, or start mcp-jail less deep inside other sandboxes"}
	case (f.Errno == "ENOSYS" || f.Errno == "EINVAL") && !f.Built:
		return Unavailable("this kernel is built without user namespaces", "use a kernel with CONFIG_USER_NS")
	case f.Unmapped:
		return Unavailable("the user namespace around this process does not know its user or its group", "have that namespace map them (unshare --map-current-user, bwrap)")
	case f.Stage == stageMap && f.Root && !f.SetFCap:
		return Unavailable("root without CAP_SETFCAP may not map itself into one, as in a container without capabilities",
			"start mcp-jail as an ordinary user (docker run --user 1000), or give the container this capability (--cap-add SETFCAP)")
	case f.Stage == stageMap && f.Errno == "EROFS":
		return Unavailable("/proc is read-only here, and a user namespace is set up through it", "let the sandbox around mcp-jail have a /proc of its own (bwrap: --proc /proc)")
	case f.UnprivilegedClone == "0" && !privileged:
		return Unavailable("kernel.unprivileged_userns_clone is 0", "allow them for every program, until the next boot:  sudo sysctl kernel.unprivileged_userns_clone=1")
	case f.AppArmorRestricted == "1" && !privileged && f.AppArmorProfile == "":
		return Unavailable("AppArmor restricts user namespaces to programs with a profile (kernel.apparmor_restrict_unprivileged_userns is 1)",
			"allow them for this program only:  mcp-jail doctor --apparmor | sudo tee /etc/apparmor.d/mcp-jail && sudo apparmor_parser -r /etc/apparmor.d/mcp-jail")
	case f.Chrooted && f.Stage == stageMake:
		return Unavailable("this process is in a chroot, where the kernel refuses user namespaces", "start mcp-jail outside the chroot")
	case f.Errno == "EACCES" && f.AppArmorProfile != "": // a seccomp filter has answered EPERM
		return Unavailable("the AppArmor profile "+f.AppArmorProfile+" around this process refuses it, or the mounts in it",
			"start the container with --security-opt apparmor=unconfined, or with a profile that has the rules `userns,` and `mount,`")
	case f.Stage != stageMake && f.AppArmorProfile != "" && (f.SeccompMode != "2" || strings.Contains(f.AppArmorProfile, "bwrap")):
		// As Ubuntu's profile for what bwrap starts. It stays around a program with a profile.
		return Unavailable("the AppArmor profile "+f.AppArmorProfile+", of the sandbox around this process, takes the capabilities out of its user namespaces ("+f.Errno+")", outside)
	case f.SeccompMode == "2" && f.Stage == stageUse:
		return Unavailable("a seccomp filter around this process refuses "+use+" in one ("+f.Errno+"), as containers and some sandboxes install one", seccompFix)
	case f.SeccompMode == "2":
		return Unavailable("a seccomp filter around this process refuses it, as containers and some sandboxes install one", seccompFix)
	case f.AppArmorProfile != "":
		return Unavailable("the AppArmor profile "+f.AppArmorProfile+" around this process may refuse it", "add the rule `userns,` to that profile")
	case f.Stage == stageUse:
		return Unavailable("one can be made, and "+use+" in it is refused with "+f.Errno+", as by the Landlock rules of a sandbox around this process", outside)
	}
	return Unavailable("the kernel refuses it with "+f.Errno+", and no setting that is known to forbid it does", "look for a security module's message in the kernel's log")
}
