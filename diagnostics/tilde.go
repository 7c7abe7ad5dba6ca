package diagnostics

import (
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/said"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Tildes returns a warning about arguments that begin with "~/", or "". No shell replaces that, and
// mcp-jail does not either.
func Tildes(ev Evidence) string {
	if ev.Profile == nil || len(ev.Profile.Argv) < 2 || ev.UserHome == "" {
		return ""
	}
	a := newAnalyzer(&ev)
	args := a.tildeArguments()
	if args == nil {
		return ""
	}
	return a.tildeText(args) + "; " + a.tildeFix(args) + PagePathArg.Reference()
}

// tildeArguments returns what the arguments name below "~".
func (a *analyzer) tildeArguments() (args []string) {
	if len(a.profile.Argv) < 2 || a.ev.UserHome == "" {
		return nil
	}
	for _, arg := range a.profile.Argv[1:] {
		if t := tilde(arg); t != "" {
			args = append(args, t)
		}
	}
	return args
}

// tildeText says what the server gets.
func (a *analyzer) tildeText(args []string) string {
	var written []string
	for _, arg := range args {
		written = append(written, a.quote(a.ev.redactor().Redact(arg)))
	}
	finds := "; a server that replaces it itself finds its private HOME"
	if !a.profile.HomePrivate {
		finds = ""
	}
	return "~ is not replaced in arguments: the server gets " + inWords(written) + " as it is written" + finds
}

// tildeFix says what to write.
func (a *analyzer) tildeFix(args []string) string {
	var whole []string
	for _, arg := range args {
		whole = append(whole, "'"+show.Line(a.ev.redactor().Redact(a.ev.UserHome+strings.TrimPrefix(arg, "~")))+"'") // in single quotation marks, terminal.ShortHome leaves a path whole
	}
	return "write " + inWords(whole)
}

// analyzeTilde analyzes a path that a text says is absent, if the server has it from an argument
// that begins with "~". A rule for the path in the user's home would not help alone.
func (a *analyzer) analyzeTilde(ref said.Reference) finding {
	if ref.Fault != said.Absent {
		return finding{}
	}
	name := ref.Name
	if home := a.profile.Home; a.profile.HomePrivate && home != "" && policy.Within(name, home) {
		name = "~" + name[len(home):]
	}
	args := slices.DeleteFunc(a.tildeArguments(), func(arg string) bool {
		arg = strings.TrimSuffix(arg, "/")
		return name != arg && !strings.HasPrefix(name, arg+"/")
	})
	if len(args) == 0 {
		return finding{}
	}
	args = args[:1]
	f := a.attribute(Likely, policy.AxisFs, ref.Name, rightWord(policy.Read), "the server's message names "+a.quote(ref.Name)+": "+a.tildeText(args), grant{})
	f.fix, f.hint.Explain = a.tildeFix(args), PagePathArg
	if path, ok := a.absolute(args[0]); ok && !a.allows(policy.OpRead, path) && !a.isSensitive(path) && !a.isWholeHome(path) {
		f.fix += ", and grant that"
	}
	return f
}

// tilde returns what an argument, or the value of a flag, names below "~"; "" for any other.
func tilde(arg string) string {
	if strings.HasPrefix(arg, "-") {
		_, arg, _ = strings.Cut(arg, "=")
	}
	if arg == "~" || strings.HasPrefix(arg, "~/") {
		return arg
	}
	return ""
}
