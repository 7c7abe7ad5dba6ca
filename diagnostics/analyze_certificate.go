package diagnostics

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/facts"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/names"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/paths"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/report"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/said"
	"github.com/mcp-jail/mcp-jail/policy"
)

// analyzeCertificates looks for lines about a certificate that is not trusted. A variable that names
// further authorities is the cause if it is withheld, or is granted without its file.
func analyzeCertificates(c *facts.Case, lines []string) (all candidates) {
	if c.Evidence.Profile == nil {
		return nil
	}
	for at, line := range lines {
		if !said.DistrustsAuthority(line) {
			continue
		}
		if inspected(c, line) {
			return nil // untrusted says it
		}
		found := func(f facts.Finding) { all = append(all, candidate{Finding: f, distance: at, named: true}) }
		for _, ref := range said.VaguePaths(line, said.Absent) { // CAfile: /x
			if f := paths.Analyze(c, ref); f.Refused {
				found(f)
			}
		}
		variables := said.AuthorityVariables(line, serverProgram(c))
		for _, name := range slices.Concat(variables, said.AllAuthorityVariables()) {
			if f := ungrantedAuthority(c, name); f.Refused {
				found(f)
			}
		}
		if len(all) > 0 {
			return all // a granted variable shows what the user meant
		}
		for _, name := range variables {
			if f := withheldAuthority(c, name); f.Refused {
				found(f)
				return all
			}
		}
		return nil
	}
	return nil
}

func serverProgram(c *facts.Case) string {
	if len(c.Profile.Argv) > 0 {
		return filepath.Base(c.Profile.Argv[0])
	}
	return filepath.Base(c.Profile.Program)
}

// ungrantedAuthority returns the finding that a granted variable names authorities that the server
// may not read.
func ungrantedAuthority(c *facts.Case, name string) facts.Finding {
	for _, v := range c.Profile.Env {
		if v.Name != name {
			continue
		}
		f := unreadableAuthority(c, name, v.Value)
		f.Hint.Cause = "the server does not trust a certificate: the variable " + name + " is granted, and " + c.Show(f.Hint.Target) + ", which it names, is not"
		return f
	}
	return facts.Finding{}
}

func withheldAuthority(c *facts.Case, name string) facts.Finding {
	if !slices.Contains(c.Profile.Withheld, name) {
		return facts.Finding{}
	}
	value := ""
	if c.Evidence.Variable != nil {
		value = c.Evidence.Variable(name)
	}
	if value != "" && isJavaOptions(name) && said.AuthorityFile(name, value) == "" {
		return facts.Finding{} // its options are about something else
	}
	f := names.AttributeVariable(c, Likely, name, "the server does not trust a certificate, and the variable "+name+", which names further authorities, is set but not granted")
	switch file := unreadableAuthority(c, name, value); {
	case !file.Refused:
	case file.Grant.Path != "":
		f.Grant.File = file.Grant.Path
		f.Hint.Cause += ", nor is " + c.Show(file.Hint.Target) + ", which it names"
	default:
		f.Fix = "it names " + c.Show(file.Hint.Target) + ", which the server may not read: " + file.Fix
	}
	return f
}

func isJavaOptions(name string) bool {
	return name == "JAVA_TOOL_OPTIONS" || name == "JDK_JAVA_OPTIONS"
}

// unreadableAuthority returns the finding that the server may not read what the value of a variable
// names.
func unreadableAuthority(c *facts.Case, name, value string) facts.Finding {
	file := said.AuthorityFile(name, value)
	if file == "" || c.Exists(file) != facts.Present {
		return facts.Finding{}
	}
	f := paths.Analyze(c, said.Reference{Kind: said.Path, Name: file, Fault: said.Absent, Want: policy.Read})
	if f.Grant.Path != "" && (paths.IsTooWide(c, f.Grant.Path) || f.Grant.Rights&policy.Write != 0) {
		return f.Unfixable("move the certificates into a file or directory that has nothing else, and name that in " + name)
	}
	return f
}

// inspected reports whether a line names a host whose requests mcp-jail reads.
func inspected(c *facts.Case, line string) bool {
	return slices.ContainsFunc(c.Profile.Net, func(r policy.NetRule) bool {
		return r.Allow && (r.PathPrefix != "" || r.Methods != nil || len(r.Secrets) > 0) && strings.Contains(line, r.Host)
	})
}

// untrusted returns what to do about a certificate that the server does not trust, if no variable of
// the host names further authorities.
func untrusted(c *facts.Case, lines []string) (f facts.Finding, ok bool) {
	at := slices.IndexFunc(lines, said.DistrustsAuthority)
	if at < 0 || c.Evidence.Profile == nil {
		return f, false
	}
	if inspected(c, lines[at]) {
		return facts.Finding{
			Note: c.ServerSaid(lines[at]) + "; mcp-jail reads the requests to a host whose rule has path_prefix, methods or secret, and shows a certificate of its own there, which this program does not trust",
			Fix:  "grant the host by a rule without these keys, and the token as a variable",
		}, true
	}
	name := said.AuthorityVariables(lines[at], serverProgram(c))[0]
	what := "the PEM file with its authority's certificate"
	if isJavaOptions(name) {
		what = "-Djavax.net.ssl.trustStore=FILE, where FILE is a key store with its authority's certificate"
	}
	for _, v := range c.Profile.Env {
		if v.Name == name {
			return facts.Finding{
				Note: c.ServerSaid(lines[at]) + "; the variable " + name + " is granted, and what it names is not enough",
				Fix:  "if the authority is your company's or your own, its certificate has to be in what " + name + " names",
				Hint: report.Hint{Explain: report.PageEnv},
			}, true
		}
	}
	fix := "if the authority is your company's or your own, set " + name + " to " + what + ", in the client's configuration of this server, and grant both"
	if c.Evidence.FromCommandLine {
		fix += ": --env " + name + " --read FILE"
	}
	return facts.Finding{
		Note: c.ServerSaid(lines[at]) + ": it does not trust a certificate, and no variable tells it of a further authority",
		Fix:  fix,
		Hint: report.Hint{Explain: report.PageEnv},
	}, true
}
