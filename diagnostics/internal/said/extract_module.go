package said

import (
	"path"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/lazy"
	"github.com/mcp-jail/mcp-jail/policy"
)

var (
	// Error: Cannot find module '../a.js'   (node; "Require stack:" and "- /x/b.js" follow)
	// Cannot find package 'a' imported from /x/b.js   (node, modules of ECMAScript)
	importedModule = lazy.Regexp(`Cannot find (?:module|package) '([^']+)'(?: imported from '?(?:file://)?(/[^\s']+))?`)
	// ModuleNotFoundError: No module named 'a.b'   (Python; File "/x/c.py", line 1 is above)
	pythonModule = lazy.Regexp(`No module named '?([A-Za-z_]\w*)`)
	pythonFrame  = lazy.Regexp(`^File "(/[^"]+)", line \d`)
)

// maxImporter is how many lines beside the one of a missing module are searched for its importer.
const maxImporter = 12

// moduleReferences returns the module that a line misses, if the lines beside it name the file that
// imports the module. lines are the closest to the failure first, so those above it come after it.
func moduleReferences(lines []string, i int) []Reference {
	ref := Reference{Kind: Path, Fault: Absent, Want: policy.Read}
	if m := importedModule().FindStringSubmatch(lines[i]); m != nil {
		if ref.Name, ref.From = strings.TrimPrefix(m[1], "file://"), m[2]; ref.From == "" {
			for j := i - 1; j >= max(0, i-maxImporter); j-- {
				if from, ok := strings.CutPrefix(lines[j], "- /"); ok {
					ref.From = "/" + from
					break
				}
			}
		}
		if strings.HasPrefix(ref.Name, ".") && ref.From != "" {
			ref.Name = path.Join(path.Dir(ref.From), ref.Name)
		}
	} else if m := pythonModule().FindStringSubmatch(lines[i]); m != nil {
		ref.Name = m[1]
		for _, line := range lines[i+1 : min(len(lines), i+1+maxImporter)] {
			if m := pythonFrame().FindStringSubmatch(line); m != nil {
				ref.From = m[1]
				break
			}
		}
	}
	if ref.From == "" {
		return nil
	}
	return []Reference{ref}
}
