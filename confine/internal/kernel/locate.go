package kernel

import (
	"path"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// CgroupLocation is where jails can have cgroups.
type CgroupLocation struct {
	// Manager is the socket of the user's systemd, which makes the cgroups, below the directory Root.
	// If it is empty, Why says why, and Fix says what the user can do.
	Manager  string
	Root     string
	Why, Fix string
}

// None reports whether jails can have no cgroup.
func (p CgroupLocation) None() bool { return p.Manager == "" }

// Describe names the mechanism that enforces a limit by a file of the cgroup.
func (p CgroupLocation) Describe(file string) string { return "a scope of systemd (" + file + ")" }

// Writable reports whether the profile lets the server write the files of its cgroup, or connect
// to the manager. Then no limit holds, because the server could raise it or leave the cgroup.
func (p CgroupLocation) Writable(profile *policy.Profile) bool {
	if p.None() {
		return false
	}
	_, writes := profile.Writer(p.Root, policy.Write)
	return writes || profile.HasRuleFor(p.Root, policy.Write) ||
		profile.RightsAt(p.Manager) != 0 || profile.HasRuleFor(p.Manager, policy.AllRights)
}

// hierarchy is where systemd mounts cgroup v2.
const hierarchy = "/sys/fs/cgroup"

// facts are the inputs of locate.
type facts struct {
	Own     string // the cgroup of this process, "/user.slice/…"; "": there is no v2 hierarchy
	UID     int
	Manager string                   // the socket of the user's systemd, if this process can connect to it
	Has     func(cgroup string) bool // both controllers
}

// locate returns the user's manager if it can give this process a scope. It can only move processes
// that are below its own cgroup.
func locate(f facts) CgroupLocation {
	own := "/user.slice/user-" + strconv.Itoa(f.UID) + ".slice/user@" + strconv.Itoa(f.UID) + ".service"
	p := CgroupLocation{Manager: f.Manager, Root: path.Join(hierarchy, own)}
	switch {
	case f.Own == "":
		return CgroupLocation{Why: "there is no cgroup v2 here", Fix: "boot with cgroup v2 (systemd.unified_cgroup_hierarchy=1)"}
	case f.UID == 0:
		return CgroupLocation{Why: "root has no systemd manager of its own", Fix: "run as an ordinary user"}
	case f.Manager == "" || !policy.Within(f.Own, own) || !f.Has(p.Root):
		return CgroupLocation{
			Why: "no systemd manager with memory and pids manages this process",
			Fix: "start mcp-jail below the manager of the user, as a desktop does, or with systemd-run --user --scope; user@.service needs Delegate=memory pids",
		}
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

// CgroupPath returns the cgroup of a process in the v2 hierarchy from the content of its
// /proc/PID/cgroup. ok is false if there is none.
func CgroupPath(cgroup string) (path string, ok bool) {
	for line := range strings.Lines(cgroup) {
		if p, found := strings.CutPrefix(strings.TrimSpace(line), "0::"); found {
			return p, true
		}
	}
	return "", false
}
