package diagnostics

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// grant is one addition to a policy. The zero grant adds nothing.
type grant struct {
	path      string        // absolute; "" unless the grant is for a path
	rights    policy.Rights // all rights of the rule for path, not only the missing ones
	create    bool          // path is a directory that does not exist yet
	workspace bool          // path becomes the workspace of a server given on the command line under the default policy
	with      string        // a file in path whose own rule needs the same rights; "" for none

	host    string
	scheme  string
	port    int
	prefix  string // of the path of requests
	methods string // of requests, with spaces between them
	secret  string // the line that gives a rule its secrets

	variable string
	program  string // base name, for the list of commands
	args     string // lists of its arguments, in TOML; "": any

	limit string // key of the limits table
	value int
}

func (g grant) isZero() bool { return g == grant{} }

// netRule returns the rule of a grant for a host, without secrets.
func (g grant) netRule() policy.NetRule {
	return policy.NetRule{Host: g.host, Scheme: g.scheme, Port: g.port, PathPrefix: g.prefix, Methods: strings.Fields(g.methods), Allow: true}
}

// grantWriter writes grants as lines of a policy or as flags. It knows which table applies
// to a process, and what a first access table would take away.
type grantWriter struct {
	ev        *Evidence
	server    string
	tool      string // "" for the server's table
	byDefault bool   // the server runs under the default policy
	noTable   bool   // no table can grant anything to this process

	writeForbidden func(path string) string // see analyzer.writeForbidden
}

func newGrantWriter(ev *Evidence) grantWriter {
	w := grantWriter{ev: ev, server: ev.Server}
	if p := ev.Profile; p != nil {
		w.tool, w.byDefault = p.Tool, p.Default
		if p.Server != "" {
			w.server = p.Server
		}
	}
	// docs/reference.md "Stateful and stateless": no table applies to the process that
	// lists the tools of such a server.
	w.noTable = ev.Stateless && w.tool == ""
	return w
}

// table returns the dotted name of the access table.
func (w grantWriter) table() string {
	t := "servers." + show.Key(w.server)
	if w.tool != "" {
		t += ".tools." + show.Key(w.tool)
	}
	return t + ".access"
}

// preserved returns the grants that restore what the default policy gave. An access table
// replaces all of it (docs/policy.md "Default and explicit policy").
func (w grantWriter) preserved() []grant {
	p := w.ev.Profile
	if !w.byDefault || p.Workspace == "" || !p.RightsAt(p.Workspace).Has(policy.Read) {
		return nil
	}
	// The default policy lets the server execute nothing in the workspace. Where a script
	// may be executed in its own directory, the baseline of every policy allows it.
	return []grant{{path: p.Workspace, rights: p.RightsAt(p.Workspace) &^ policy.Execute}}
}

// mergeGrants joins grants for the same path and removes repetitions. It keeps the order.
func mergeGrants(grants []grant) []grant {
	var all []grant
next:
	for _, n := range grants {
		for i := range all {
			if n == all[i] {
				continue next
			}
			if n.args != "" && all[i].args != "" && n.program == all[i].program {
				all[i].args += ", " + n.args
				continue next
			}
			if n.path != "" && n.path == all[i].path {
				all[i].rights |= n.rights
				all[i].create = all[i].create || n.create
				continue next
			}
		}
		if !n.isZero() {
			all = append(all, n)
		}
	}
	return all
}

// mergeNested gives the rule for a path the rights of the rule for a directory around it, which the
// inner rule would otherwise take away there. It removes a rule that then adds nothing.
func (w grantWriter) mergeNested(grants []grant) []grant {
	var all []grant
	for i, n := range grants {
		around := grant{}
		for k, other := range grants {
			if k != i && n.path != "" && other.path != "" && other.path != n.path && policy.Within(n.path, other.path) && len(other.path) > len(around.path) {
				around = other
			}
		}
		if around.path != "" {
			more := around.rights
			if w.writeForbidden(n.path) != "" {
				more &^= policy.Write
			}
			n.rights |= more
			e, _ := w.ev.Profile.Find(n.path)
			between := e.Path != around.path && policy.Within(e.Path, around.path) && !(w.byDefault && e.Origin == policy.OriginRule)
			if n.rights == around.rights && n.with == "" && !n.create && !between {
				continue
			}
		}
		all = append(all, n)
	}
	return all
}

// toml returns grants as lines to paste at the end of a configuration. A server given on
// the command line gets flags. Where no flag exists for a grant, the lines follow those
// that declare the server.
func (w grantWriter) toml(grants []grant) []string {
	grants = mergeGrants(grants)
	if _, flags := w.flags(grants); flags && w.ev.FromCommandLine {
		return nil
	}
	if len(grants) == 0 || w.noTable || !writable(w.server) || !writable(w.tool) {
		return nil
	}
	if needsAccessTable(grants) {
		grants = w.mergeNested(mergeGrants(append(w.preserved(), grants...)))
	}
	var lines []string
	for _, n := range grants {
		lines = append(lines, w.block(n)...)
	}
	return lines
}

// needsAccessTable reports whether grants create an access table.
func needsAccessTable(grants []grant) bool {
	for _, n := range grants {
		if n.limit == "" {
			return true
		}
	}
	return false
}

func (w grantWriter) block(n grant) []string {
	t := w.table()
	switch {
	case n.path != "":
		lines := []string{"[[" + t + ".fs]]", "path = " + show.TOML(w.ruleText(n))}
		for _, right := range strings.Fields(n.rights.String()) {
			if n.rights != 0 {
				lines = append(lines, right+" = true")
			}
		}
		if n.with != "" {
			lines = append(lines, w.block(grant{path: n.with, rights: n.rights})...)
		}
		return lines
	case n.host != "":
		lines := []string{"[[" + t + ".net]]", "host = " + show.TOML(n.host)}
		if n.scheme != "" {
			lines = append(lines, "scheme = "+show.TOML(n.scheme))
		}
		if n.port != 0 {
			lines = append(lines, "port = "+strconv.Itoa(n.port))
		}
		if n.prefix != "" {
			lines = append(lines, "path_prefix = "+show.TOML(n.prefix))
		}
		if n.methods != "" {
			lines = append(lines, `methods = ["`+strings.Join(strings.Fields(n.methods), `", "`)+`"]`)
		}
		if n.secret != "" {
			lines = append(lines, n.secret)
		}
		return append(lines, "allow = true")
	case n.variable != "":
		return []string{"[[" + t + ".env]]", "name = " + show.TOML(n.variable), "read = true"}
	case n.program != "":
		return w.commandBlock(t+".commands."+show.Key(n.program), n)
	case n.limit != "":
		return []string{"[servers." + show.Key(w.server) + ".limits]", n.limit + " = " + strconv.Itoa(n.value)}
	}
	return nil
}

// ruleText returns the path of a grant as a rule writes it: relative inside of the
// workspace, with ~/ inside of the home, else absolute.
func (w grantWriter) ruleText(n grant) string {
	s := w.display(n.path)
	if n.create && !strings.HasSuffix(s, "/") {
		s += "/" // docs/policy.md "Filesystem rules": the slash asks mcp-jail to create it
	}
	return s
}

// display returns an absolute path as the configuration writes it. No path is written relative to a
// workspace that is the home, or a directory around it: a client only happened to start there, and
// later starts may have another workspace.
func (w grantWriter) display(path string) string {
	home := w.ev.UserHome
	if p := w.ev.Profile; p != nil && p.Workspace != "" && policy.Within(path, p.Workspace) && (home == "" || !policy.Within(home, p.Workspace)) {
		rel, err := filepath.Rel(p.Workspace, path)
		if err == nil {
			if strings.HasPrefix(rel, "~") || strings.HasPrefix(rel, "$") || strings.HasPrefix(rel, "-") || rel == "*" {
				rel = "./" + rel
			}
			return rel
		}
	}
	if home != "" && home != "/" && policy.Within(path, home) {
		if path == home {
			return "~/"
		}
		return "~/" + strings.TrimPrefix(path[len(home):], "/")
	}
	return path
}

// flags returns grants as flags of `mcp-jail run`, quoted for a shell, for a server given
// on the command line. ok is false when one of them has no flag.
func (w grantWriter) flags(grants []grant) (flags []string, ok bool) {
	words, ok := w.flagWords(grants)
	for _, w := range words {
		word, _ := show.Path(w) // flagWords has looked
		flags = append(flags, word)
	}
	return flags, ok
}

// flagWords returns grants as flags, as flags does, but not quoted.
func (w grantWriter) flagWords(grants []grant) (flags []string, ok bool) {
	grants = mergeGrants(grants)
	if len(grants) == 0 || !w.ev.FromCommandLine {
		return nil, len(grants) == 0
	}
	if slices.ContainsFunc(grants, func(n grant) bool { return n.path != "" && w.isDenied(n.path) }) {
		return nil, false // the user has to remove the flag --deny first
	}
	for i, n := range grants {
		// --read, --write, --execute and --net replace the default policy; --env and
		// --limit only add.
		if n.workspace && !slices.ContainsFunc(slices.Delete(slices.Clone(grants), i, i+1), func(other grant) bool { return other.path != "" || other.host != "" }) {
			continue
		}
		if n.path != "" || n.host != "" {
			grants = w.mergeNested(mergeGrants(append(w.preserved(), grants...)))
			break
		}
	}
	for i := 0; i < len(grants); i++ {
		n := grants[i]
		if n.with != "" {
			grants = slices.Insert(slices.Clone(grants), i+1, grant{path: n.with, rights: n.rights})
		}
		switch {
		case n.workspace:
			flags = append(flags, "--workspace", w.display(n.path))
		case n.path != "":
			flags = append(flags, n.pathFlags(w.ruleText(n))...)
		case n.host != "" && n.prefix+n.methods != "":
			return nil, false
		case n.host != "":
			flags = append(flags, "--net", n.endpoint())
		case n.variable != "":
			flags = append(flags, "--env", n.variable)
		case n.limit != "":
			flags = append(flags, "--limit", n.limit+"="+strconv.Itoa(n.value))
		default:
			return nil, false
		}
	}
	for _, f := range flags {
		if show.Line(f) != f || show.Expands(f) {
			return nil, false // no line of a shell, or no list of a client, would hold it as it is
		}
	}
	return flags, true
}

// isDenied reports whether the flag --deny names a path.
func (w grantWriter) isDenied(path string) bool {
	if w.ev.Profile == nil {
		return false
	}
	e, ok := w.ev.Profile.Find(path)
	return ok && e.Path == path && strings.HasPrefix(e.Rule, "--deny ")
}

// pathFlags returns the flags for the rights of a grant on its path. Each of them includes
// reading.
func (g grant) pathFlags(path string) (flags []string) {
	if g.rights&policy.Write != 0 {
		flags = append(flags, "--write", path)
	}
	if g.rights.Has(policy.Execute) {
		flags = append(flags, "--execute", path)
	}
	if flags == nil {
		flags = []string{"--read", path}
	}
	return flags
}

// endpoint returns the host, with the port where no scheme implies it.
func (g grant) endpoint() string {
	if g.port == 0 || g.port == 80 || g.port == 443 {
		return g.host
	}
	if strings.Contains(g.host, ":") {
		return "[" + g.host + "]:" + strconv.Itoa(g.port)
	}
	return g.host + ":" + strconv.Itoa(g.port)
}
