package plan

import (
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// bypassedMounts adds the gaps of filesystems that find a name under other spellings without
// the kernel knowing: a mount then lies on one spelling only. The supervisor compares objects,
// so read-only entries hold. Calls that only read or execute are not mediated.
func (c *compiler) bypassedMounts() {
	var hidden, executable, narrower []string
	for _, e := range c.p.Entries {
		i := slices.IndexFunc(c.p.Folded, func(f policy.FoldedName) bool { return f.BypassesMount && policy.Within(e.Path, f.Path) })
		if i < 0 {
			continue
		}
		what := e.Path
		if f := c.p.Folded[i]; f.OtherSpelling != "" {
			what += " (as " + f.OtherSpelling + e.Path[len(f.Path):] + ")"
		}
		// The mount on the entry is bypassed, so the rights around it hold there.
		around, ok := c.p.Find(path.Dir(e.Path))
		taken := around.Rights &^ e.Rights
		switch {
		case !ok:
		case taken.Has(policy.Read):
			hidden = append(hidden, what)
		case taken.Has(policy.Execute):
			executable = append(executable, what)
		case taken&policy.Write != 0 && !c.mediated:
			narrower = append(narrower, what)
		}
	}
	const why = "that filesystem finds its names under other spellings too (it ignores case), and what the jail mounts on one of them does not lie on the others"
	const fix = `move it to a filesystem that tells spellings apart, or out of the grant, or accept it for this server with waive = ["fs"] (--waive fs)`
	gap := func(what string, paths []string) {
		if paths != nil {
			c.addGap(Gap{Axis: policy.AxisFs, What: what + strings.Join(shorten(paths, maxGapPaths), ", "), Why: why, Fix: fix, Paths: paths})
		}
	}
	gap("hidden inside a wider grant: ", hidden)
	gap("not executable inside a wider grant: ", executable)
	gap("less than around them: ", narrower)
	if len(c.p.Folded) > 0 && c.mediated {
		c.addEnforced(policy.AxisFs, "the jail's supervisor, asked by seccomp", "what may not be written stays so under every spelling that its filesystem takes")
	}
}
