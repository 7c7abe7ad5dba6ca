package plan

import (
	"path"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// otherSpellings adds the gaps of entries in directories that ignore case. A mount may lie on one spelling
// only, and the supervisor goes by names. It compares without case what is protected by its name.
func (c *compiler) otherSpellings() {
	var hidden, executable, narrower []string
	for _, e := range c.p.Entries {
		around, _ := c.p.Find(path.Dir(e.Path))
		taken := around.Rights &^ e.Rights
		switch {
		case !c.p.IgnoresCase(e.Path):
		case taken.Has(policy.Read):
			hidden = append(hidden, e.Path)
		case taken.Has(policy.Execute):
			executable = append(executable, e.Path)
		case taken&policy.Write != 0 && !(c.mediated && c.p.Protects(policy.OpWrite, path.Join(path.Dir(e.Path), strings.ToUpper(path.Base(e.Path))))):
			narrower = append(narrower, e.Path)
		}
	}
	const why = "that filesystem finds its names under other spellings too (it ignores case), and what the jail mounts on one of them may not lie on the others"
	const fix = `move it to a filesystem that tells spellings apart, or out of the grant, or accept it for this server with waive = ["fs"] (--waive fs)`
	c.addPathsGap("hidden inside a wider grant: ", why, fix, hidden)
	c.addPathsGap("not executable inside a wider grant: ", why, fix, executable)
	c.addPathsGap("less than around them: ", why, fix, narrower)
}

// maxGapPaths is how many paths Gap.What names. Gap.Paths has all of them.
const maxGapPaths = 12

// addPathsGap adds a gap about paths, if there are any.
func (c *compiler) addPathsGap(what, why, fix string, paths []string) {
	if paths != nil {
		c.addGap(Gap{Axis: policy.AxisFs, What: what + strings.Join(shorten(paths, maxGapPaths), ", "), Why: why, Fix: fix, Paths: paths})
	}
}
