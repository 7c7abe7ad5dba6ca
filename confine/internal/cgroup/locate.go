package cgroup

import (
	"path"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// Location is where jails can have cgroups. At most one of Parent and Manager is set.
type Location struct {
	// Parent is a directory in which this process may make cgroups. Its children have the
	// controllers memory and pids.
	Parent string
	// Manager is the socket of the user's systemd, which makes the cgroups instead, below the
	// directory Root.
	Manager string
	Root    string
	// If neither is set, Why says why, and Fix says what the user can do.
	Why, Fix string
}

// None reports whether jails can have no cgroup.
func (p Location) None() bool { return p.Parent == "" && p.Manager == "" }

// Describe names the mechanism that enforces a limit by a file of the cgroup.
func (p Location) Describe(file string) string {
	if p.Manager != "" {
		return "a scope of systemd (" + file + ")"
	}
	return "a cgroup (" + file + ")"
}

// Writable reports whether the profile lets the server write the files of its cgroup, or connect
// to the manager. Then no limit holds, because the server could raise it or leave the cgroup.
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

// facts are the inputs of locate.
type facts struct {
	Own    string // the cgroup of this process, "/user.slice/…"; "": there is no v2 hierarchy
	Older  bool   // cgroup v1 has memory or pids; the other fields are not set then
	Mount  string // where the hierarchy is mounted; "": nowhere
	Top    string // the part of the hierarchy that is mounted there: "/", or less in a container
	UID    int
	Booted bool // systemd manages the system
	// Delegated reports whether this process may make cgroups in a directory that have both
	// controllers.
	Delegated func(dir string) bool
	// Manager is the socket of the user's systemd, if this process can connect to it and its
	// cgroup has both controllers. Root is that cgroup. The manager can only move processes
	// that are below Root.
	Manager, Root string
}

// locate chooses a location. Where systemd manages the hierarchy, that is the cgroup of this
// process if it was delegated, or else a scope of the user's systemd: all other cgroups belong
// to systemd. Elsewhere it is the nearest delegated cgroup around this process.
//
// locate does not enable controllers. A cgroup with processes cannot give controllers to its
// children, and moving those processes away is not mcp-jail's business.
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
	// In a container the parents may be delegated too. On a booted system they belong to its manager.
	for dir := path.Join("/", own); ; dir = path.Dir(dir) {
		if at := path.Join(f.Mount, dir); f.Delegated(at) {
			return Location{Parent: at}
		}
		if dir == path.Dir(dir) || f.Booted {
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
		p.Why = "no systemd manager with memory and pids manages this process"
		p.Fix = "start mcp-jail below the manager of the user, as a desktop does, or with systemd-run --user --scope; user@.service needs Delegate=memory pids"
	}
	return p
}

func parseLine(content, key string) int64 {
	for line := range strings.Lines(content) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok && name == key {
			n, _ := strconv.ParseInt(value, 10, 64)
			return n
		}
	}
	return 0
}

// Path returns the cgroup of a process in the v2 hierarchy from the content of its
// /proc/PID/cgroup. ok is false if there is none.
func Path(cgroup string) (path string, ok bool) {
	for line := range strings.Lines(cgroup) {
		if p, found := strings.CutPrefix(strings.TrimSpace(line), "0::"); found {
			return p, true
		}
	}
	return "", false
}

// isVersion1 reports whether memory or pids belong to a v1 hierarchy, from the content of
// /proc/self/cgroup. A controller belongs to one hierarchy, so v2 does not have it then.
func isVersion1(cgroup string) bool {
	for line := range strings.Lines(cgroup) {
		_, line, _ = strings.Cut(line, ":")
		controllers, _, _ := strings.Cut(line, ":")
		for c := range strings.SplitSeq(controllers, ",") {
			if c == "memory" || c == "pids" {
				return true
			}
		}
	}
	return false
}

// Mount returns where the v2 hierarchy is mounted and which part of it, from the content of
// /proc/self/mountinfo.
func Mount(mountinfo string) (dir, top string) {
	for line := range strings.Lines(mountinfo) {
		before, after, found := strings.Cut(line, " - ")
		fields := strings.Fields(before)
		if found && len(fields) >= 5 && strings.HasPrefix(after, "cgroup2 ") {
			return fields[4], fields[3]
		}
	}
	return "", ""
}
