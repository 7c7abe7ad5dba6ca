package paths

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/facts"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/grants"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/report"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/said"
	"github.com/mcp-jail/mcp-jail/internal/lazy"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Named is a path that exists on the host, that the policy does not let the server read, and that the
// user's own words name: an argument of the server, or the value of a granted variable.
type Named struct {
	Path     string
	Word     string // the argument, or the value
	Variable string // "" for an argument
}

// localURL matches URLs of a file or socket of this host. The group is its absolute path.
var localURL = lazy.Regexp(`^(?:jdbc:)?(?:unix|file|sqlite3?|duckdb)(?:\+[a-z0-9]+)?:/+([^/?#][^?#]*)`)

// Ungranted returns the named paths, each once: first those of the arguments.
func Ungranted(c *facts.Case) (all []Named) {
	if !c.Profile.RestrictsFiles() {
		return nil
	}
	add := func(n Named) {
		n.Path = ArgumentPath(c, n.Word)
		if n.Path != "" && Tilde(n.Word) == "" && !slices.ContainsFunc(all, func(o Named) bool { return o.Path == n.Path }) {
			all = append(all, n)
		}
	}
	for _, arg := range c.Profile.Argv[min(1, len(c.Profile.Argv)):] {
		add(Named{Word: arg})
	}
	for _, v := range c.GrantedVariables() {
		add(Named{Word: v.Value, Variable: v.Name})
	}
	return all
}

// AttributeNamed returns the finding that a named path is not granted.
func AttributeNamed(c *facts.Case, sure report.Attribution, n Named, cause string) facts.Finding {
	if isSocketName(n) {
		return forSocket(c, Attribute(c, sure, n.Path, policy.Update, false, cause), true)
	}
	return Attribute(c, sure, n.Path, policy.Read, false, cause)
}

// A MovedPath is a relative argument that names a file where mcp-jail was started, and nothing in the
// server's own working directory: rules without the workspace move that into the private HOME.
type MovedPath struct {
	Word   string
	Path   string // where mcp-jail was started
	Inside string // where the server looks for it
}

// Moved returns the moved paths among the arguments, and the relative path of the program itself.
func Moved(c *facts.Case) (all []MovedPath) {
	from := c.Evidence.StartDir
	if from == "" || c.Profile.Dir == "" || c.Profile.Dir == from || !c.Profile.HomePrivate || !policy.Within(c.Profile.Dir, c.Profile.Home) {
		return nil
	}
	for _, word := range c.Profile.Argv {
		if strings.HasPrefix(word, "-") {
			_, word, _ = strings.Cut(word, "=")
		}
		if word == "" || filepath.IsAbs(word) || !strings.ContainsAny(word, "/.") || Tilde(word) != "" || strings.Contains(word, "://") {
			continue
		}
		m := MovedPath{word, filepath.Join(from, word), filepath.Join(c.Profile.Dir, word)}
		if c.Exists(m.Path) == facts.Present && c.Exists(m.Inside) == facts.Absent {
			all = append(all, m)
		}
	}
	return all
}

// AttributeMoved returns the finding that a relative path is looked for in the private HOME.
func AttributeMoved(c *facts.Case, sure report.Attribution, m MovedPath) facts.Finding {
	from := c.Evidence.StartDir
	cause := c.Quote(m.Word) + " is relative; without the workspace the server runs in its private HOME, and not where " + c.Quote(m.Path) + " is"
	f := facts.Refused(sure, policy.AxisFs, m.Path, facts.Right(policy.Read), cause, grants.Grant{Path: from, Rights: policy.Read | policy.Write})
	f.Fix = "write its absolute path, or keep the workspace"
	if IsTooWide(c, from) {
		f.Grant, f.Fix = grants.Grant{}, "write its absolute path: '"+show.Line(c.Evidence.Redactor.Redact(m.Path))+"'" // in an argument nothing replaces a "~"
	}
	f.Hint.Explain = report.PagePathArg
	return f
}

func isSocketName(n Named) bool {
	return strings.HasSuffix(n.Variable, "_SOCK") || strings.HasSuffix(n.Path, ".sock") || strings.HasSuffix(n.Path, ".socket")
}

// ArgumentPath returns the path that an argument, or the value of a flag, names, if it
// exists on the host and the server may not read it. It returns "" for any other argument.
func ArgumentPath(c *facts.Case, arg string) string {
	if strings.HasPrefix(arg, "-") {
		_, arg, _ = strings.Cut(arg, "=")
	}
	if m := localURL().FindStringSubmatch(arg); m != nil {
		arg = "/" + m[1]
	}
	if !strings.ContainsAny(arg, "/.~") { // no path
		return ""
	}
	path, ok := c.Absolute(arg)
	if !ok || c.Exists(path) != facts.Present {
		return ""
	}
	path = c.Canonical(path)
	switch place, _ := c.JailPlace(path); {
	case (place == "/tmp" || place == "/dev/shm") && path != place: // the jail has a directory of its own there
		return path
	case place != "" || policy.Within(path, "/proc") || c.Allows(policy.OpRead, path):
		return ""
	}
	return path
}

// TildeArguments returns what the arguments name below "~".
func TildeArguments(c *facts.Case) (args []string) {
	if len(c.Profile.Argv) < 2 || c.Evidence.UserHome == "" {
		return nil
	}
	for _, arg := range c.Profile.Argv[1:] {
		if t := Tilde(arg); t != "" {
			args = append(args, t)
		}
	}
	return args
}

// TildeText says what the server gets.
func TildeText(c *facts.Case, args []string) string {
	var written []string
	for _, arg := range args {
		written = append(written, c.Quote(c.Evidence.Redactor.Redact(arg)))
	}
	finds := "; a server that replaces it itself finds its private HOME"
	if !c.Profile.HomePrivate {
		finds = ""
	}
	return "~ is not replaced in arguments: the server gets " + report.InWords(written) + " as it is written" + finds
}

// TildeFix says what to write.
func TildeFix(c *facts.Case, args []string) string {
	var whole []string
	for _, arg := range args {
		whole = append(whole, "'"+show.Line(c.Evidence.Redactor.Redact(c.Evidence.UserHome+strings.TrimPrefix(arg, "~")))+"'") // in single quotation marks, terminal.ShortHome leaves a path whole
	}
	return "write " + report.InWords(whole)
}

// analyzeTilde analyzes a path that a text says is absent, if the server has it from an argument
// that begins with "~" and did not replace that. A rule for the path in the user's home would not
// help alone.
func analyzeTilde(c *facts.Case, ref said.Reference) facts.Finding {
	if ref.Fault != said.Absent {
		return facts.Finding{}
	}
	args := slices.DeleteFunc(TildeArguments(c), func(arg string) bool {
		arg = strings.TrimSuffix(arg, "/")
		return ref.Name != arg && !strings.HasPrefix(ref.Name, arg+"/")
	})
	if len(args) == 0 {
		return facts.Finding{}
	}
	args = args[:1]
	f := facts.Refused(report.Likely, policy.AxisFs, ref.Name, facts.Right(policy.Read), "the server's message names "+c.Quote(ref.Name)+": "+TildeText(c, args), grants.Grant{})
	f.Fix, f.Hint.Explain = TildeFix(c, args), report.PagePathArg
	if path, ok := c.Absolute(args[0]); ok && !c.Allows(policy.OpRead, path) && mayShow(c, path) {
		f.Fix += ", and grant that"
	}
	return f
}

// Tilde returns what an argument, or the value of a flag, names below "~"; "" for any other.
func Tilde(arg string) string {
	if strings.HasPrefix(arg, "-") {
		_, arg, _ = strings.Cut(arg, "=")
	}
	if arg == "~" || strings.HasPrefix(arg, "~/") {
		return arg
	}
	return ""
}
