package plan

import (
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/confine/internal/landlock"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/policy"
)

// builtinEntries returns the places that every jail has of its own, with the rights that
// Landlock grants there. Without them the jail's own mounts could not be reached.
func builtinEntries(o *spec.Spec) []policy.Entry {
	own := make([]policy.Entry, 0, 4+len(o.Devices)+len(o.Files))
	if !slices.ContainsFunc(o.Mounts, func(m spec.Mount) bool { return m.Path == "/dev" || m.Path == "/dev/pts" }) {
		// Otherwise /dev/pts is the host's, and the rule decides whether the server may read and
		// write the user's terminals.
		own = append(own, policy.Entry{Path: "/dev/pts", Kind: policy.KindDir, Rights: policy.Read | policy.Update})
	}
	for _, dir := range deviceDirs(o.Mounts) {
		own = append(own, policy.Entry{Path: dir, Kind: policy.KindDir, Rights: policy.Read})
	}
	if o.FreshProc {
		own = append(own, policy.Entry{Path: "/proc", Kind: policy.KindDir, Rights: policy.Read})
	}
	for _, m := range o.Mounts {
		if m.Kind == spec.MountTmpfs {
			own = append(own, policy.Entry{Path: m.Path, Kind: policy.KindDir, Rights: policy.AllRights})
		}
	}
	for _, d := range o.Devices {
		own = append(own, policy.Entry{Path: d, Kind: policy.KindSpecial, Rights: policy.Read | policy.Update})
	}
	for _, f := range o.Files {
		if f.Over {
			continue // the rule of its directory covers it
		}
		own = append(own, policy.Entry{Path: f.Path, Kind: policy.KindFile, Rights: policy.Read})
	}
	return own
}

// deviceDirs returns the directories of the jail's own in which the nodes of the host are that it
// has, such as /dev/dri. They contain nothing else, and libraries list them to find devices.
func deviceDirs(mounts []spec.Mount) (dirs []string) {
	for _, m := range mounts {
		dir := path.Dir(m.Path)
		if m.IsDir || m.Kind != spec.MountBind || !strings.HasPrefix(dir, "/dev/") || slices.Contains(dirs, dir) ||
			slices.ContainsFunc(mounts, func(around spec.Mount) bool { return around.IsDir && policy.Within(dir, around.Path) }) {
			continue
		}
		dirs = append(dirs, dir)
	}
	return dirs
}

// withoutLandlock reports whether the kernel has no Landlock, and then adds the gap that no waiver closes.
func (c *compiler) withoutLandlock(what, because string) bool {
	if c.f.LandlockABI >= 1 {
		return false
	}
	c.addGap(Gap{Axis: policy.AxisFs, What: what, Fatal: true, Why: because + c.f.Landlock.Detail, Fix: c.f.Landlock.Fix})
	return true
}

func (c *compiler) landlock(o *spec.Spec) landlock.Input {
	return landlock.Input{ABI: c.f.LandlockABI, Entries: c.p.MinimalEntries(), Own: builtinEntries(o), Programs: c.p.Programs}
}

// ruleset compiles the profile for Landlock and names, as gaps, the rights that
// this ABI does not handle if the mounts do not hold them either.
func (c *compiler) ruleset(o *spec.Spec) {
	compiled := landlock.Compile(c.landlock(o))
	o.Landlock = compiled.Ruleset
	for _, u := range compiled.Unhandled {
		if u.Name == "refer" {
			c.plan.Notes = append(c.plan.Notes, "before Linux 5.19 nothing can be moved or linked from one directory into another (EXDEV: most programs copy instead)")
		}
		if u.Name != "truncate" || c.mediated {
			continue // the namespaces or the supervisor hold it
		}
		for _, e := range c.p.Entries {
			if e.Rights&(policy.Create|policy.Delete) != 0 && !e.Rights.Has(policy.Update) {
				c.addGap(Gap{
					Axis: policy.AxisFs, What: e.Rule + ": no update", Why: "before Linux 6.2 Landlock cannot refuse " + u.What,
					Fix: "use Linux 6.2 or newer, or grant update too",
				})
			}
		}
	}
	for _, p := range compiled.Unreadable {
		c.plan.Notes = append(c.plan.Notes, p+": execute without read starts nothing, since the kernel reads a program to start it")
	}
}
