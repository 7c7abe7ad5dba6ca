package paths

import (
	"path/filepath"
	"slices"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/facts"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/report"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/said"
	"github.com/mcp-jail/mcp-jail/policy"
)

// AnalyzeMention analyzes a path in the text of a failure that no words connect to it. It counts if
// the path exists on the host and the policy does not grant it.
func AnalyzeMention(c *facts.Case, ref said.Reference) facts.Finding {
	path, ok := c.Absolute(ref.Name)
	if !ok {
		return facts.Finding{}
	}
	cause := "the server's message names " + c.Show(path) + ", which exists on the host but is not granted"
	if user, ok := userPath(c, c.Canonical(path)); ok {
		if c.Exists(c.Canonical(user)) != facts.Present {
			return facts.Finding{}
		}
		if c.Exists(path) == facts.Present { // the server has this one, and means it
			if c.Allows(policy.OpRead, c.Canonical(user)) && c.Exists(path+"/.") != facts.Present {
				return takenPlace(c, path, user)
			}
			return facts.Finding{}
		}
		path, cause = user, "the server's message names "+c.Quote(path)+": it sees its private HOME in place of yours, and your "+c.Show(user)+" is not in it"
	}
	real := c.Canonical(path)
	if place, _ := c.JailPlace(real); place != "" || c.Exists(real) != facts.Present || c.Allows(policy.OpRead, real) || IsTooWide(c, real) || Harm(c, real, policy.Read).Never != "" || isServerProgram(c, real) {
		return facts.Finding{}
	}
	missing := policy.Read
	if isProgram(c, real) && (ref.Want.Has(policy.Execute) || programDir(c, real) != "") {
		missing |= policy.Execute
	}
	sure := report.Possible
	if ref.Fault != said.NoFault {
		sure = report.Likely
	}
	if inUserHome(c, path) && !inWorkspace(c, path) {
		return withhold(c, attributeInHome(c, sure, path, missing, cause), false)
	}
	return withhold(c, Attribute(c, sure, real, missing, false, cause), false)
}

// besidePrograms are the names of files and directories that a program reads from its own directory.
var besidePrograms = []string{
	"icudtl.dat", "resources.pak", "v8_context_snapshot.bin", "snapshot_blob.bin", // Chrome, Electron
	"omni.ja", "platform.ini", "libxul.so", // Firefox
	"lib", "jre", "_internal",
}

// programDir returns the directory that a program needs besides its file, or "": its own, if it keeps
// its data there, or the one around bin with a lib. Programs of the system and of the workspace have
// none here.
func programDir(c *facts.Case, program string) string {
	if inWorkspace(c, program) || systemDir(program) || c.Exists(program) != facts.Present || c.Exists(program+"/.") == facts.Present {
		return ""
	}
	has := func(dir string, names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return c.Exists(filepath.Join(dir, name)) == facts.Present })
	}
	dir := filepath.Dir(program)
	switch {
	case filepath.Base(dir) == "bin" && has(filepath.Dir(dir), "lib", "lib64", "libexec"):
		dir = filepath.Dir(dir)
	case !has(dir, besidePrograms...):
		return ""
	}
	if whyShared(c, dir) != "" || IsSensitive(c, dir) {
		return ""
	}
	return dir
}
