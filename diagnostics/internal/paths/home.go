package paths

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/facts"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/report"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/said"
	"github.com/mcp-jail/mcp-jail/policy"
)

// userPath returns the path in the user's home that has the place of a path in the server's
// private HOME. A rule that grants it shows it there.
func userPath(c *facts.Case, path string) (user string, ok bool) {
	home := c.Profile.Home
	if !c.Profile.HomePrivate || home == "" || c.Evidence.UserHome == "" || path == home || !policy.Within(path, home) {
		return "", false
	}
	return filepath.Join(c.Evidence.UserHome, path[len(home):]), true
}

// privatePath is the inverse of userPath.
func privatePath(c *facts.Case, path string) (private string, ok bool) {
	if !c.Profile.HomePrivate || c.Profile.Home == "" || !inUserHome(c, path) || path == c.Evidence.UserHome {
		return "", false
	}
	return filepath.Join(c.Profile.Home, path[len(c.Evidence.UserHome):]), true
}

// analyzePrivatePath analyzes a path in the private HOME at which the server did not find anything.
// user is the path in the user's home that has the same place.
func analyzePrivatePath(c *facts.Case, path, user string, ref said.Reference) facts.Finding {
	real := c.Canonical(user)
	switch c.Exists(real) {
	case facts.Unknown:
		return facts.Finding{}
	case facts.Absent:
		return analyzeAbsentTwin(c, path, user, ref)
	}
	missing := missingRights(c, real, ref, facts.Present)
	if starts := ref.FromShell || ref.Want.Has(policy.Execute) || programDir(c, real) != ""; starts && isProgram(c, real) {
		missing |= policy.Execute &^ c.RightsAt(real)
	}
	if missing == 0 {
		return takenPlace(c, path, user)
	}
	return attributeInHome(c, report.Likely, user, missing, "the server sees its private HOME in place of yours, and your "+c.Show(user)+" is not in it")
}

// analyzeAbsentTwin analyzes a path that is neither in the private HOME nor in the user's. What the
// server wanted to make there needs the directory, which the user may have.
func analyzeAbsentTwin(c *facts.Case, path, user string, ref said.Reference) facts.Finding {
	for _, arg := range TildeArguments(c) { // the server replaced the ~ itself
		named, _ := c.Absolute(arg)
		if named != user && policy.Within(user, named) && c.Exists(named) == facts.Present && !c.Allows(policy.OpRead, c.Canonical(named)) {
			return attributeInHome(c, report.Likely, named, policy.Read, "the server sees its private HOME in place of yours, and your "+c.Show(named)+", which its arguments name, is not in it")
		}
	}
	dir := filepath.Dir(user)
	if ref.Want&(policy.Create|policy.Update) != 0 && c.Exists(filepath.Dir(path)) == facts.Absent && c.Exists(dir) == facts.Present && dir != c.Evidence.UserHome {
		if real := c.Canonical(dir); !c.Allows(policy.OpCreate, filepath.Join(real, "x")) {
			return attributeInHome(c, report.Likely, dir, policy.Read|policy.Write, "the server could not make "+c.Show(user)+": it sees its private HOME in place of yours, and your "+c.Show(dir)+" is not in it")
		}
	}
	return facts.Finding{Note: c.Show(user) + " is neither in the server's private HOME nor in your home directory"}
}

// takenPlace explains why the server does not find what is granted: something of the server's own
// has its place in the private HOME.
func takenPlace(c *facts.Case, path, user string) facts.Finding {
	f := facts.Finding{AboutPolicy: true, Hint: report.Hint{Attribution: report.Possible, Explain: report.PageFsRead}}
	for at := c.Profile.Home; at != path; {
		rest := path[len(at)+1:]
		name, _, _ := strings.Cut(rest, "/")
		at = filepath.Join(at, name)
		if c.Exists(at) == facts.Present && (at == path || c.Exists(at+"/.") != facts.Present) {
			f.Note = "your " + c.Show(user) + " is granted, but the server's private HOME has something of the server's own in its place: " + c.Show(at)
			f.Fix = "move that away; the next start then shows yours there"
			return f
		}
	}
	f.Note = "your " + c.Show(user) + " is granted, and was not in the server's private HOME when it started"
	f.Fix = "start the server again, which shows it there"
	return f
}

// attributeInHome returns the finding that a right on a path in the user's home is missing. The
// path is not resolved: its rule must have the name under which the server looks for it.
func attributeInHome(c *facts.Case, sure report.Attribution, user string, missing policy.Rights, cause string) facts.Finding {
	at := user
	if dir := treeOf(c, user); dir != "" && missing&policy.Write == 0 {
		at, missing = dir, missing|policy.Read|policy.Execute
	} else if dir := settingsOf(c, user); dir != "" {
		at = dir
	}
	real := c.Canonical(at)
	f := Attribute(c, sure, real, missing, false, cause)
	f.Hint.Target = user
	for dir := at; f.Grant.Path != "" && dir != filepath.Dir(dir) && inUserHome(c, dir); dir = filepath.Dir(dir) {
		if c.Canonical(dir) == f.Grant.Path {
			f.Grant.Path = dir
			break
		}
	}
	return f
}

// programTrees are the directories of a home that programs are installed in together with what they
// need: version managers and browsers. One file of such a tree is of no use.
var programTrees = []string{
	".nvm", ".volta", ".asdf", ".pyenv", ".rbenv", ".nodenv", ".goenv", ".jenv", ".phpenv", ".sdkman", ".fnm", ".local/share/fnm", ".local/share/mise", ".local/share/rtx",
	".rustup", ".bun", ".deno", ".local/share/uv", ".local/share/pipx", ".local/pipx", ".nix-profile", "miniconda3", "anaconda3", "miniforge3", ".linuxbrew",
	".cache/ms-playwright", ".cache/ms-playwright-go", ".cache/puppeteer", ".cache/selenium", "Library/Caches/ms-playwright",
}

// treeOf returns the program tree that a path in the user's home is or lies in, or "".
func treeOf(c *facts.Case, path string) string {
	for _, name := range programTrees {
		if dir := filepath.Join(c.Evidence.UserHome, name); policy.Within(path, dir) && c.Exists(dir+"/.") == facts.Present {
			return dir
		}
	}
	return ""
}

// settingsOf returns the directory of one program's settings that a file in the user's home lies in,
// if more than the file is needed: it has the server's name, or the user has granted another file
// of it already. Else it returns "".
func settingsOf(c *facts.Case, path string) string {
	dir := settingsDir(c, path)
	if dir == "" || dir == path || c.Exists(dir+"/.") != facts.Present {
		return ""
	}
	if real := c.Canonical(dir); whyShared(c, real) != "" || IsSensitive(c, real) || IsSensitive(c, path) || !isNamedAfter(c, dir) && !hasRuleIn(c, dir, path) {
		return ""
	}
	return dir
}

// settingsDir returns the outermost directory around path that belongs to one program, or "".
func settingsDir(c *facts.Case, path string) string {
	home := c.Evidence.UserHome
	if !inUserHome(c, path) || path == home {
		return ""
	}
	for dir := home; dir != filepath.Dir(path); {
		name, _, _ := strings.Cut(path[len(dir)+1:], "/")
		dir = filepath.Join(dir, name)
		if rel := dir[len(home)+1:]; slices.Contains(sharedPaths, rel) || dir == path {
			continue
		}
		if strings.HasPrefix(name, ".") || filepath.Dir(dir) != home {
			return dir
		}
		return "" // the user's own work, such as ~/Documents
	}
	return ""
}

// isNamedAfter reports whether a directory has a name of the server or of its package.
func isNamedAfter(c *facts.Case, dir string) bool {
	names := []string{c.Profile.Server}
	for _, arg := range c.Profile.Argv[:min(len(c.Profile.Argv), 4)] {
		if _, err := filepath.Rel("/", arg); err == nil && !strings.HasPrefix(arg, "-") {
			names = append(names, filepath.Base(arg))
		}
	}
	for _, word := range strings.FieldsFunc(strings.ToLower(filepath.Base(dir)), func(r rune) bool { return strings.ContainsRune(".-_@ ", r) }) {
		if len(word) < 3 || slices.Contains(plainWords, word) {
			continue
		}
		if slices.ContainsFunc(names, func(name string) bool { return slices.Contains(wordsOf(name), word) }) {
			return true
		}
	}
	return false
}

// plainWords are words in the names of many servers and programs.
var plainWords = []string{"mcp", "server", "servers", "config", "data", "node", "python", "python3", "npx", "uvx", "npm", "uv", "bun", "bunx", "deno", "main", "index", "cli", "src", "dist", "app", "bash", "run", "start", "srv", "local", "cache", "the"}

func wordsOf(name string) []string {
	return strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
}

// hasRuleIn reports whether a rule of the user is for another path in dir.
func hasRuleIn(c *facts.Case, dir, path string) bool {
	real := c.Canonical(dir)
	return slices.ContainsFunc(c.Profile.Entries, func(e policy.Entry) bool {
		return e.Origin == policy.OriginRule && e.Rights != 0 && e.Path != path && policy.Within(e.Path, real)
	})
}

// isProgram reports whether a path is a file that the host may execute.
func isProgram(c *facts.Case, path string) bool {
	return c.Evidence.Executable != nil && c.Evidence.Executable(path) && c.Exists(path+"/.") != facts.Present
}
