package paths

import (
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/facts"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/grants"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/report"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/said"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// ArgumentPath returns the path that an argument, or the value of a flag, names, if it
// exists on the host and the server may not read it. It returns "" for any other argument.
func ArgumentPath(c *facts.Case, arg string) string {
	if strings.HasPrefix(arg, "-") {
		_, arg, _ = strings.Cut(arg, "=")
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
// that begins with "~". A rule for the path in the user's home would not help alone.
func analyzeTilde(c *facts.Case, ref said.Reference) facts.Finding {
	if ref.Fault != said.Absent {
		return facts.Finding{}
	}
	name := ref.Name
	if home := c.Profile.Home; c.Profile.HomePrivate && home != "" && policy.Within(name, home) {
		name = "~" + name[len(home):]
	}
	args := slices.DeleteFunc(TildeArguments(c), func(arg string) bool {
		arg = strings.TrimSuffix(arg, "/")
		return name != arg && !strings.HasPrefix(name, arg+"/")
	})
	if len(args) == 0 {
		return facts.Finding{}
	}
	args = args[:1]
	f := facts.Refused(report.Likely, policy.AxisFs, ref.Name, facts.Right(policy.Read), "the server's message names "+c.Quote(ref.Name)+": "+TildeText(c, args), grants.Grant{})
	f.Fix, f.Hint.Explain = TildeFix(c, args), report.PagePathArg
	if path, ok := c.Absolute(args[0]); ok && !c.Allows(policy.OpRead, path) && !IsSensitive(c, path) && !isWholeHome(c, path) {
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
