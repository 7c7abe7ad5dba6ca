package cgroup

import (
	"path"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// cgroupPlace is where a jail can have a cgroup (v2) of its own with the
// controllers memory and pids. At most one of Parent and Manager is set.
type Location struct {
	// Parent is a directory in which this process may make cgroups, and whose
	// children have the controllers.
	Parent string
	// Manager is the socket of the service manager that makes them instead, below
	// Root.
	Manager string
	Root    string
	// Why and Fix say why there is neither.
	Why, Fix string
}

func (p Location) None() bool { return p.Parent == "" && p.Manager == "" }

// by is how an enforcement names it.
func (p Location) Describe(file string) string {
	if p.Manager != "" {
		return "a scope of systemd (" + file + ")"
	}
	return "a cgroup (" + file + ")"
}

// writable tells whether the server, in any of its processes, could write the files of
// its own cgroup, or talk to its manager. No limit holds then: it would raise it, or leave.
func (p Location) Writable(profile *policy.Profile) bool {
	if p.Manager != "" && (profile.RightsAt(p.Manager) != 0 || profile.HasRuleFor(p.Manager, policy.AllRights)) {
		return true
	}
	for _, dir := range []string{p.Parent, p.Root} {
		if dir == "" {
			continue
		}
		if _, ok := profile.Writer(dir, policy.Write); ok || profile.HasRuleFor(dir, policy.Write) {
			return true
		}
	}
	return false
}

// facts are what the choice of a place depends on.
type facts struct {
	Own    string // the cgroup of this process, "/user.slice/…"; "" when there is no v2 hierarchy
	Older  bool   // v1 has memory or pids; what follows is not asked for then
	Mount  string // where the hierarchy is mounted; "" when it is not
	Top    string // what of the hierarchy lies there: "/" unless this is a container's view
	UID    int
	Booted bool // systemd is the system's manager
	// Delegated tells of a directory whether this process may make cgroups in it
	// that have both controllers.
	Delegated func(dir string) bool
	// Manager is the socket of the service manager of this user, where it can be
	// connected to and its cgroup has both controllers; Root is that cgroup. It can
	// move what is below it and nothing else.
	Manager, Root string
}

// locate chooses. Where systemd manages the hierarchy only the cgroup of
// this process itself may be used, and only if somebody has made that possible:
// everything else is systemd's, to whom the request goes. Elsewhere it is the
// nearest cgroup around this process that serves. Controllers are never enabled
// here, nor processes moved: a cgroup that holds processes has no controllers to
// give, and those would be the processes of others.
func locate(f facts) Location {
	if f.Own == "" {
		return Location{Why: "there is no cgroup v2 here", Fix: "boot with cgroup v2 (systemd.unified_cgroup_hierarchy=1)"}
	}
	if f.Older {
		return Location{Why: "cgroup v1 has memory and pids here", Fix: "boot with cgroup v2 alone (systemd.unified_cgroup_hierarchy=1)"}
	}
	if f.Mount == "" {
		return Location{Why: "cgroup v2 is not mounted", Fix: "mount it on /sys/fs/cgroup"}
	}
	own, ok := strings.CutPrefix(f.Own, strings.TrimSuffix(f.Top, "/"))
	if !ok || strings.HasPrefix(f.Own, "/..") {
		return Location{Why: "the cgroup of this process is not visible: " + f.Own, Fix: "mount the whole hierarchy of cgroups, or start mcp-jail outside of this container"}
	}
	for dir := path.Join("/", own); ; dir = path.Dir(dir) {
		if at := path.Join(f.Mount, dir); f.Delegated(at) {
			return Location{Parent: at}
		}
		if dir == "/" || f.Booted {
			break
		}
	}
	if f.Manager != "" && policy.Within(path.Join(f.Mount, own), f.Root) {
		return Location{Manager: f.Manager, Root: f.Root}
	}
	p := Location{
		Why: "no cgroup around this process gives memory and pids to children",
		Fix: "give the cgroup that mcp-jail is started in no other process than those in its children, and write \"+memory +pids\" to its cgroup.subtree_control",
	}
	if f.Booted {
		p.Why = "no manager of systemd's has this process, memory and pids"
		p.Fix = "start mcp-jail below the manager of the user, as a desktop does, or with systemd-run --user --scope; user@.service needs Delegate=memory pids"
	}
	return p
}

// parseLine is the value of one line of a file such as memory.events: "max 7".
func parseLine(content, key string) int64 {
	for line := range strings.Lines(content) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok && name == key {
			n, _ := strconv.ParseInt(value, 10, 64)
			return n
		}
	}
	return 0
}
