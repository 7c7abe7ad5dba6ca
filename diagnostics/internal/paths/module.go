package paths

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/facts"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/grants"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/report"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/said"
	"github.com/mcp-jail/mcp-jail/policy"
)

// analyzeModule analyzes a module that a file of the server did not find. The grant is for the package
// or the directory that the module lies in, because the module imports others of it.
func analyzeModule(c *facts.Case, ref said.Reference) facts.Finding {
	from, ok := c.Absolute(ref.From)
	if !ok || c.Exists(from) != facts.Present || !c.Allows(policy.OpRead, from) {
		return facts.Finding{}
	}
	file := findModule(c, ref.Name, from)
	if file == "" { // the place of a granted file in the private HOME is a link, with no modules beside it
		from = c.Canonical(from)
		file = findModule(c, ref.Name, from)
	}
	real := c.Canonical(file)
	if file == "" || c.Allows(policy.OpRead, real) {
		return facts.Finding{}
	}
	cause := "the server did not find the module " + c.Show(file) + ", which exists on the host but is not granted"
	if real != file {
		cause += "; it is a link that leads to " + c.Show(real)
	}
	return withhold(c, Attribute(c, report.Likely, moduleDir(c, real, from), policy.Read, false, cause), false)
}

// findModule returns where the host has a module, as the file from would find it, or "".
func findModule(c *facts.Case, name, from string) string {
	var tried []string
	switch {
	case strings.HasPrefix(name, "/"):
		for _, suffix := range []string{"", ".js", ".cjs", ".mjs", ".json", ".ts", "/index.js"} {
			tried = append(tried, name+suffix)
		}
	case filepath.Ext(from) == ".py":
		for dir, n := filepath.Dir(from), 0; dir != filepath.Dir(dir) && n < 4; dir, n = filepath.Dir(dir), n+1 {
			tried = append(tried, filepath.Join(dir, name), filepath.Join(dir, name+".py"), filepath.Join(dir, "src", name))
		}
	default:
		parts := strings.SplitN(name, "/", 3)
		if !strings.HasPrefix(name, "@") || len(parts) < 2 {
			name = parts[0]
		} else {
			name = parts[0] + "/" + parts[1]
		}
		for dir := filepath.Dir(from); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
			tried = append(tried, filepath.Join(dir, "node_modules", name))
		}
	}
	i := slices.IndexFunc(tried, func(p string) bool { return c.Exists(p) == facts.Present })
	if i < 0 {
		return ""
	}
	return tried[i]
}

// moduleDir returns what to grant for a module: a package that is a directory, the package around
// it if its importer belongs to that too, or its directory, if it is beside that of the importer.
// Else it is the module alone.
func moduleDir(c *facts.Case, module, from string) string {
	code := slices.Contains([]string{".js", ".cjs", ".mjs", ".ts", ".cts", ".mts", ".jsx", ".tsx", ".node", ".py"}, filepath.Ext(module))
	if !code && c.Exists(module+"/.") != facts.Present {
		return module
	}
	for dir := filepath.Dir(module); dir != filepath.Dir(dir) && mayGrantModules(c, dir); dir = filepath.Dir(dir) {
		isPackage := slices.ContainsFunc([]string{"package.json", "pyproject.toml", "setup.py", "setup.cfg", "requirements.txt"}, func(name string) bool {
			return c.Exists(filepath.Join(dir, name)) == facts.Present
		})
		if isPackage && policy.Within(from, dir) {
			return dir
		}
		if isPackage {
			break
		}
	}
	if dir := filepath.Dir(module); code && mayGrantModules(c, dir) && policy.Within(from, filepath.Dir(dir)) {
		return dir
	}
	return module
}

func mayGrantModules(c *facts.Case, dir string) bool {
	return filepath.Dir(dir) != "/" && dir != "/" && !systemDir(dir) && !isShared(c, dir) && mayShow(c, dir) && grants.Expressible(dir) &&
		(c.Evidence.Shared == nil || inWorkspace(c, dir) || c.Evidence.Shared(dir) == "")
}
