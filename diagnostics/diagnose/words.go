package diagnose

import (
	"net/netip"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/diagnostics/change"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/analysis"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/words"
	"github.com/mcp-jail/mcp-jail/policy"
)

// fromWords returns what the failing lines point to without a record of the jail, the first one first:
// each path, host, variable and program in them which the policy refuses, and which this machine has;
// then what is known of the program whose words they are; then what the server's own line names.
func fromWords(c *analysis.Case, lines []string) (found []analysis.Finding) {
	add := func(more ...analysis.Finding) {
		for _, f := range more {
			known := slices.ContainsFunc(found, func(o analysis.Finding) bool {
				return o.Hint.Target == f.Hint.Target && o.Hint.Axis == f.Hint.Axis && o.Note == f.Note
			})
			if (f.Refused || f.Note != "") && !known {
				found = append(found, f)
			}
		}
	}
	all := ported(lines, words.Names(lines))
	if c.Windows() { // its jail refuses no file, host or program
		all = slices.DeleteFunc(all, func(n words.Name) bool { return n.Kind != words.Variable })
	}
	var known []analysis.Finding
	for _, line := range lines {
		for _, row := range analysis.MatchPrograms(line) {
			some := missed(c, row)
			if len(some) == 0 && row.Limit == "" {
				continue
			}
			known = append(known, some...)
			of := words.Names([]string{line}) // a host in it is the one that the program asks without what it lacks
			all = slices.DeleteFunc(all, func(n words.Name) bool {
				return (n.Kind == words.Host || row.Limit != "") && slices.ContainsFunc(of, func(o words.Name) bool { return o.Kind == n.Kind && o.Text == n.Text })
			})
		}
		if strings.Contains(line, "not a git repository") {
			known = append(known, analysis.RepositoryAbove(c))
		}
	}
	isName := func(n words.Name) bool { return n.Kind == words.Host && !isAddress(n.Text) && n.Text != "localhost" }
	for _, n := range all {
		if n.Kind == words.Host && isAddress(n.Text) && !analysis.IsLoopback(n.Text) && slices.ContainsFunc(all, isName) {
			continue // most likely that of the name
		}
		add(named(c, n)...)
	}
	add(known...)
	add(ungrantedRoot(c, lines))
	fault := words.FaultOf(lines)
	if !slices.ContainsFunc(found, isRefused) {
		add(given(c, fault, lines)...)
	}
	return found
}

// ported returns names with the port of the program whose words a line is, for the hosts in it that have none.
func ported(lines []string, all []words.Name) []words.Name {
	for _, line := range lines {
		for _, row := range analysis.MatchPrograms(line) {
			for _, host := range words.Names([]string{line}) {
				for i, n := range all {
					if n.Kind == words.Host && host.Kind == words.Host && n.Text == host.Text && n.Port == 0 {
						all[i].Port = row.Port
					}
				}
			}
		}
	}
	return all
}

func isAddress(host string) bool {
	_, err := netip.ParseAddr(host)
	return err == nil
}

func isRefused(f analysis.Finding) bool { return f.Refused }

// named returns the findings about one name.
func named(c *analysis.Case, n words.Name) []analysis.Finding {
	if c.Evidence.Profile == nil {
		return nil
	}
	switch n.Kind {
	case words.Path:
		return analysis.WithNeeds(c, analysis.NamedPath(c, n))
	case words.Host:
		return []analysis.Finding{analysis.NamedHost(c, n)}
	case words.Variable:
		return []analysis.Finding{analysis.NamedVariable(c, n.Text)}
	}
	if here := filepath.Join(c.Profile.Dir, n.Text); c.Exists(here) == analysis.Present || n.Fault == words.ReadOnly || n.Want&policy.Write != 0 { // a file of the working directory
		return []analysis.Finding{analysis.NamedPath(c, n)}
	}
	if n.Fault != words.Absent && n.Fault != words.Refused {
		return nil
	}
	return analysis.WithNeeds(c, analysis.NamedProgram(c, n.Text))
}

// missed returns what a row of known programs explains: a limit, what the program looks for and does
// not get, or what no grant gives.
func missed(c *analysis.Case, row analysis.ProgramRow) (found []analysis.Finding) {
	switch {
	case row.Limit != "":
		if f, ok := analysis.NamedLimit(c, row.Limit); ok && !c.Windows() {
			found = append(found, f)
		}
		return found
	case row.Says != "":
		if c.Windows() || row.Places != nil && len(analysis.NeededPaths(c, diagnostics.Likely, row.Places, "")) == 0 {
			return nil
		}
		return []analysis.Finding{{Note: row.Says, Hint: diagnostics.Hint{Attribution: diagnostics.Likely, Explain: diagnostics.Page(row.Page)}}}
	}
	if !c.Windows() {
		for _, place := range row.Login {
			if some := analysis.NeededPaths(c, diagnostics.Likely, []string{place}, row.Name+" looks for"); len(some) > 0 && (!row.IsAny() || c.IsSensitive(some[0].Hint.Target)) {
				found = append(found, some[0])
				break
			}
		}
		for _, place := range row.Places {
			if len(found) > 0 {
				break
			}
			for _, f := range analysis.NeededPaths(c, diagnostics.Likely, []string{place}, row.Name+" looks for") {
				found = append(found, raised(c, f, row.Above))
			}
		}
		found = append(found, analysis.NeededPaths(c, diagnostics.Likely, row.Needs, row.Name+" needs")...)
		if len(found) == 0 && row.Modules != nil {
			found = analysis.Beside(c, row.Modules, row.Name+" looks for")
		}
	}
	if row.Any && slices.ContainsFunc(c.Profile.Env, func(v policy.Variable) bool {
		return slices.ContainsFunc(row.Variables, func(w string) bool { return policy.EnvIncludes(w, v.Name) })
	}) {
		return found
	}
	for _, name := range c.Profile.Withheld {
		if slices.ContainsFunc(row.Variables, func(v string) bool { return policy.EnvIncludes(v, name) }) {
			found = append(found, analysis.AttributeVariable(c, diagnostics.Likely, name, row.Name+" reads the variable "+name+", which is set but not granted"))
			found = append(found, socketOf(c, name)...)
		}
	}
	if row.Given && len(found) == 0 {
		found = analysis.GivenPaths(c, diagnostics.Likely, words.Absent, nil, true)
	}
	return found
}

// socketOf returns the finding about the socket that a withheld variable names: each is of no use without the other.
func socketOf(c *analysis.Case, name string) []analysis.Finding {
	socket := policy.SocketOf(c.Evidence.Host.Variable(name))
	if socket == "" || c.Exists(socket) != analysis.Present || c.Profile.RightsAt(c.Canonical(socket)).Has(policy.Update) {
		return nil
	}
	f := analysis.Refused(diagnostics.Likely, policy.AxisIPC, socket, analysis.RightName(policy.Update), "the variable "+name+" names "+c.Show(socket)+", which is not granted", change.Path(c.Canonical(socket), policy.Read|policy.Update))
	f.Besides = true
	return []analysis.Finding{f}
}

// raised returns a finding about a module with a grant for what is around it, since modules import
// each other.
func raised(c *analysis.Case, f analysis.Finding, levels int) analysis.Finding {
	for range levels {
		if dir := filepath.Dir(f.Object.Fs.Path); f.Object.Fs.Path != "" && c.IsFree(dir, policy.Read) {
			f.Object.Fs.Path = dir
		}
	}
	return f
}

// given returns the findings about the files that the server's own arguments and variables name, where the failing lines
// name nothing that is refused, and a file was not found or the server ended at its start.
func given(c *analysis.Case, fault words.Fault, lines []string) []analysis.Finding {
	ended := c.Evidence.Stage == diagnostics.StageStartup && c.Evidence.Exit != nil && c.Evidence.Exit.Signal == 0 || c.Evidence.Timeout > 0 && len(lines) == 0
	switch {
	case c.Evidence.Profile == nil || c.Windows():
		return nil
	case len(lines) > 0:
		isName := func(n words.Name) bool { return n.Kind == words.Path || n.Kind == words.Program }
		return analysis.GivenPaths(c, diagnostics.Likely, fault, lines, slices.ContainsFunc(lines, words.LacksFile) && !slices.ContainsFunc(words.Names(lines), isName))
	case ended:
		return analysis.GivenPaths(c, diagnostics.Likely, words.Absent, nil, true)
	}
	return nil
}

// ungrantedRoot returns the finding about a path that the server itself refuses, although it is in one
// of the client's roots: servers ignore the roots that they cannot see. A path of its own HOME, which
// the model wrote with a ~, gets a note.
func ungrantedRoot(c *analysis.Case, lines []string) analysis.Finding {
	for _, line := range lines {
		if !words.OwnList(line) {
			continue
		}
		for _, n := range words.Paths(line) {
			path, ok := c.Absolute(n.Text)
			if !ok {
				continue
			}
			if home := c.Profile.Home; c.Profile.HomePrivate && home != "" && policy.Within(path, home) {
				return analysis.Finding{
					Note: "the server refuses " + c.Show(path) + ", which is in its own HOME: in the jail a ~ does not mean your home directory",
					Fix:  "write the whole path into the call, " + c.Quote(c.Evidence.UserHome+path[len(home):]),
					Hint: diagnostics.Hint{Explain: diagnostics.PagePathArg},
				}
			}
			for _, root := range c.Evidence.Roots {
				real := c.Canonical(root)
				if !policy.Within(c.Canonical(path), real) || c.Allows(policy.OpRead, real) || c.Exists(root) != analysis.Present || analysis.IsTooWide(c, real) {
					continue
				}
				f := analysis.AttributePath(c, diagnostics.Likely, real, policy.Read, false, "the client has given the server "+c.Show(root)+" as a root, which is not granted")
				return f
			}
			if len(c.Evidence.Roots) > 0 && !slices.ContainsFunc(c.Evidence.Roots, func(r string) bool { return policy.Within(path, r) }) {
				return analysis.Finding{
					Note: "the server refuses " + c.Show(path) + ", because it is in none of the folders that the client has given it",
					Fix:  "open that folder in the client as well",
				}
			}
			break // the first path of such a line is the refused one
		}
	}
	return analysis.Finding{}
}

// inspected returns a note about a certificate of mcp-jail's own, which the server does not trust.
func inspected(c *analysis.Case, lines []string) (f analysis.Finding, ok bool) {
	for _, line := range lines {
		if words.Distrusts(line) && slices.ContainsFunc(c.Profile.Net, func(r policy.NetRule) bool {
			return r.Allow && (r.PathPrefix != "" || r.Methods != nil || len(r.Secrets) > 0) && strings.Contains(line, r.Host)
		}) {
			return analysis.Finding{
				Note: "mcp-jail reads the requests to a host whose rule has path_prefix, methods or secret, and shows a certificate of its own there, which this program does not trust",
				Fix:  "grant the host by a rule without these keys, and the token as a variable",
			}, true
		}
	}
	return f, false
}

// looksLike returns a possible cause: words that refusals of the jail have, too, and that name nothing.
func looksLike(c *analysis.Case, lines []string) (f analysis.Finding, ok bool) {
	if f, ok = analysis.AnalyzeSignal(c); ok {
		return f, true
	}
	if c.Windows() { // its job tells of limits, and its jail refuses nothing else
		return f, false
	}
	if slices.ContainsFunc(words.Names(lines), func(n words.Name) bool {
		return n.Kind == words.Path || n.Kind == words.Host || n.Kind == words.Program && c.Exists(filepath.Join(c.Profile.Dir, n.Text)) == analysis.Present
	}) {
		return f, false // what they name is not refused
	}
	for _, line := range lines {
		fault := words.MatchFault(line)
		switch {
		case words.Elsewhere(line), fault == words.NoFault, fault == words.Absent, fault == words.Busy,
			fault == words.Network && slices.ContainsFunc(c.Profile.Net, func(r policy.NetRule) bool { return r.Allow }):
			continue
		}
		but := "but nothing is on record"
		switch {
		case fault == words.Network:
			but = "since no host is granted"
		case len(c.Evidence.Denials) > 0:
			but = "but has only other things on record"
		}
		return analysis.Finding{Note: "the jail may have blocked this, " + but, Whole: true, Fix: "to compare: " + c.PlanCommand()}, true
	}
	return f, false
}
