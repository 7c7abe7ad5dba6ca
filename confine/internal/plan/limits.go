package plan

import (
	"fmt"
	"strings"

	"github.com/mcp-jail/mcp-jail/confine/internal/kernel"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/policy"
)

// limits records what enforces each limit. The rlimits stay if a cgroup enforces the same limit.
func (c *compiler) limits(o *spec.Spec) {
	l := c.p.Limits
	switch place := c.f.Cgroup; {
	case place.None():
	// A server that could write there could lift its own limits.
	case place.Writable(c.p):
		c.plan.Notes = append(c.plan.Notes, "the profile lets the server write to cgroups, so none holds its limits")
	case wantsScope(c, o):
		c.plan.Cgroup = place
	}
	c.memory(o, l.MemoryMB)
	if o.HostNS && l.MemoryMB > 0 {
		c.addGap(Gap{
			Axis: policy.AxisLimits, What: "space in TMPDIR",
			Why: "the server can fill the disk that its temporary files are on",
			Fix: FixNamespaces,
		})
	}
	c.processLimit(o, l.Processes)
	c.inotifyLimit(o)
	c.fileAndMessageLimits()
}

func (c *compiler) fileAndMessageLimits() {
	l := c.p.Limits
	if l.OpenFiles > 0 {
		c.addEnforced(policy.AxisLimits, "RLIMIT_NOFILE", "%d open files a process", l.OpenFiles)
	}
	if l.FileSizeMB > 0 {
		c.addEnforced(policy.AxisLimits, "RLIMIT_FSIZE", "%d MB a file", l.FileSizeMB)
	}
	if l.MessageMB > 0 {
		c.addEnforced(policy.AxisLimits, "the relay", "%d MB a message", l.MessageMB)
	}
}

// wantsScope reports whether systemd is asked for a scope. That takes longer than the rest of
// a start. So it is done only if the user has set a limit or nothing else enforces it.
func wantsScope(c *compiler, o *spec.Spec) bool {
	l, preset := c.p.Limits, policy.DefaultLimits
	sampled, _, _ := canSampleMemory(c, o)
	return l.MemoryMB != preset.MemoryMB || l.Processes != preset.Processes || !sampled || o.HostNS && l.Processes > 0
}

func canSampleMemory(c *compiler, o *spec.Spec) (ok bool, why, fix string) {
	switch {
	case o.FreshProc, o.HostNS && c.f.ReadsProc:
		return true, "", ""
	case o.HostNS:
		return false, "there is no /proc here, so the memory of the server cannot be watched", "mount /proc"
	}
	return false, "the jail has no /proc here, so its memory cannot be watched", "run where /proc is not masked"
}

func (c *compiler) memory(o *spec.Spec, mb int) {
	if mb <= 0 {
		return
	}
	sampled, why, fix := canSampleMemory(c, o)
	switch place := c.plan.Cgroup; {
	case !place.None():
		c.addEnforced(policy.AxisLimits, place.Describe("memory.max"), "%d MB of memory and no swap: the kernel ends a process when all together exceed it", mb)
	case sampled:
		o.SampleMemory = true
		c.addEnforced(policy.AxisLimits, "a sampler in mcp-jail", "%d MB of memory: the jail is ended when all processes together exceed it", mb)
	default:
		if c.f.Cgroup.Why != "" {
			why += ", and it gets no cgroup: " + c.f.Cgroup.Why
		}
		c.addGap(Gap{
			Axis: policy.AxisLimits, What: fmt.Sprintf("memory_mb = %d", mb), Why: why,
			Fix: fix + `, or accept it for this server with waive = ["limits"] (--waive limits)`,
		})
		return
	}
	if own := ownTmpfs(o); own != "" {
		c.addEnforced(policy.AxisLimits, "the size of a tmpfs", "%d MB in %s each, which count as memory", max(mb/2, 1), own)
	}
}

// ownTmpfs returns the places in memory that have a size of their own, the copy of HOME last.
func ownTmpfs(o *spec.Spec) string {
	var names, home []string
	for _, m := range o.Mounts {
		switch m.Kind {
		case spec.MountTmpfs:
			names = append(names, m.Path)
		case spec.MountOverlay:
			home = append(home, m.Path)
		}
	}
	return strings.Join(append(names, home...), " and ")
}

// inotifyLimit limits the inotify watches of the jail. The kernel counts them as the user's, so a
// jail could leave none for the user's other programs.
func (c *compiler) inotifyLimit(o *spec.Spec) {
	f := c.f.Inotify
	if !o.FreshProc || f.Instances <= 0 || f.Watches <= 0 {
		return
	}
	o.Inotify = spec.Inotify{Instances: max(f.Instances/4, 1), Watches: max(f.Watches/4, 1)}
	c.addEnforced(policy.AxisLimits, "the user namespace", "%d inotify instances and %d watches, a quarter of what each user has", o.Inotify.Instances, o.Inotify.Watches)
}

func (c *compiler) processLimit(o *spec.Spec, n int) {
	if n <= 0 {
		return
	}
	var by []string
	if !c.plan.Cgroup.None() {
		by = append(by, c.plan.Cgroup.Describe("pids.max"))
	}
	// The kernel exempts the host's root from RLIMIT_NPROC (fork(2), EAGAIN).
	o.PidMax = c.f.UID == 0 && c.f.PidMax.Answer == kernel.Yes && o.FreshProc
	gap := Gap{
		Axis: policy.AxisLimits, What: fmt.Sprintf("processes = %d", n),
		Fix: `run as an ordinary user, or accept it for this server with waive = ["limits"] (--waive limits)`,
	}
	switch {
	case o.HostNS:
		gap.Fix = FixNamespaces
		gap.Why = "the server can have more when your other processes end: the limit counts all of yours together, and is that far above what runs at the start"
		if c.f.UID == 0 {
			gap.Why = "the server can start any number: root is exempt from RLIMIT_NPROC, and there is no PID namespace that could have a limit"
		}
	case o.PidMax:
		by = append(by, "pid_max of the PID namespace")
	case c.f.UID != 0:
		by = append(by, "RLIMIT_NPROC in the user namespace")
	default:
		missing := c.f.PidMax
		if missing.Answer == kernel.Yes {
			missing = c.f.FreshProc
		}
		gap.Why = "root is exempt from RLIMIT_NPROC, and the PID namespace cannot be given a limit of its own: " + missing.Detail
	}
	if by == nil {
		c.addGap(gap)
		return
	}
	c.addEnforced(policy.AxisLimits, strings.Join(by, ", "), "%d processes and threads", n)
}
