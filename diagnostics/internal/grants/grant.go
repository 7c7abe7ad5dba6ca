package grants

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/redact"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Grant is one addition to a policy. The zero grant adds nothing.
type Grant struct {
	Path      string        // absolute; "" unless the grant is for a path
	Rights    policy.Rights // all rights of the rule for path, not only the missing ones
	Create    bool          // path is a directory that does not exist yet
	Workspace bool          // path becomes the workspace of a server given on the command line under the default policy
	With      string        // a file in path whose own rule needs the same rights; "" for none

	Host    string
	Scheme  string
	Port    int
	Prefix  string // of the path of requests
	Methods string // of requests, with spaces between them
	Secret  string // the line that gives a rule its secrets

	Inbound  int // a port that leads into the jail
	Variable string
	File     string // of a variable: the file or directory that its value names, to be read; "" for none
	Program  string // base name, for the list of commands
	Args     string // lists of its arguments, in TOML; "": any

	Preset string // of the whole server

	Limit string // key of the limits table
	Value int
}

func (g Grant) IsZero() bool { return g == Grant{} }

// NetRule returns the rule of a grant for a host, without secrets.
func (g Grant) NetRule() policy.NetRule {
	return policy.NetRule{Host: g.Host, Scheme: g.Scheme, Port: g.Port, PathPrefix: g.Prefix, Methods: strings.Fields(g.Methods), Allow: true}
}

// Writer writes grants as lines of a policy or as flags. It knows which table applies
// to a process, and what a first access table would take away.
type Writer struct {
	Profile  *policy.Profile // never nil; empty when it is not known
	Server   string
	NoTable  bool // no table can grant anything to this process
	UserHome string

	ByFlags     bool            // the server was given on the command line: see Evidence.FromCommandLine
	CommandLine []string        // Evidence.CommandLine
	Declare     func() []string // Evidence.Declare
	Redactor    *redact.Redactor

	WriteForbidden func(path string) string // see paths.WriteForbidden
}

// Table returns the dotted name of the access table.
func (w Writer) Table() string {
	t := "servers." + show.Key(w.Server)
	if w.Profile.Tool != "" {
		t += ".tools." + show.Key(w.Profile.Tool)
	}
	return t + ".access"
}

// Preserved returns the grants that restore what the default policy gave. An access table
// replaces all of it (docs/policy.md "Default and explicit policy").
func (w Writer) Preserved() []Grant {
	p := w.Profile
	if !p.Default || p.Workspace == "" || !p.RightsAt(p.Workspace).Has(policy.Read) {
		return nil
	}
	// The default policy lets the server execute nothing in the workspace. Where a script
	// may be executed in its own directory, the baseline of every policy allows it.
	return []Grant{{Path: p.Workspace, Rights: p.RightsAt(p.Workspace) &^ policy.Execute}}
}

// MergeGrants joins grants for the same path and removes repetitions. It keeps the order.
func MergeGrants(grants []Grant) []Grant {
	var all []Grant
	if slices.ContainsFunc(grants, func(n Grant) bool { return n.File != "" }) {
		var apart []Grant
		for _, n := range grants {
			file := n.file()
			n.File = ""
			apart = append(apart, n, file)
		}
		grants = apart
	}
next:
	for _, n := range grants {
		for i := range all {
			if n == all[i] {
				continue next
			}
			// One table of a program takes several lists of arguments.
			if n.Args != "" && all[i].Args != "" && n.Program == all[i].Program {
				all[i].Args += ", " + n.Args
				continue next
			}
			if n.Path != "" && n.Path == all[i].Path {
				all[i].Rights |= n.Rights
				all[i].Create = all[i].Create || n.Create
				continue next
			}
		}
		if !n.IsZero() {
			all = append(all, n)
		}
	}
	return all
}

// mergeNested gives the rule for a path the rights of the rule for a directory around it, which the
// inner rule would otherwise take away there. It removes a rule that then adds nothing.
func (w Writer) mergeNested(grants []Grant) []Grant {
	var all []Grant
	for i, n := range grants {
		around := Grant{} // the innermost rule around n
		for k, other := range grants {
			if k != i && n.Path != "" && other.Path != "" && other.Path != n.Path && policy.Within(n.Path, other.Path) && len(other.Path) > len(around.Path) {
				around = other
			}
		}
		// What a flag --deny refuses, the outer rule does not give to n, and takes nothing from it.
		if e, _ := w.Profile.Find(n.Path); around.Path != "" && !(IsDenial(e) && policy.Within(e.Path, around.Path)) {
			more := around.Rights // without n's rule, they would hold at its path
			if w.WriteForbidden(n.Path) != "" {
				more &^= policy.Write
			}
			n.Rights |= more
			// A rule between the two would decide in place of the outer one.
			between := e.Path != around.Path && policy.Within(e.Path, around.Path) && !(w.Profile.Default && e.Origin == policy.OriginRule)
			if n.Rights == around.Rights && n.With == "" && !n.Create && !between {
				continue
			}
		}
		all = append(all, n)
	}
	return all
}

// TOML returns grants as lines to paste at the end of a configuration. A server given on
// the command line gets flags. If no flag exists for a grant, the lines follow those
// that declare the server.
func (w Writer) TOML(grants []Grant) []string {
	grants = MergeGrants(grants)
	if _, flags := w.Flags(grants); flags && w.ByFlags {
		return nil
	}
	if len(grants) == 0 || w.NoTable || !Writable(w.Server) || !Writable(w.Profile.Tool) {
		return nil
	}
	if NeedsAccessTable(grants) {
		grants = w.mergeNested(MergeGrants(append(w.Preserved(), grants...)))
	}
	var lines []string
	for _, n := range grants {
		if n.Preset == "" { // it belongs into the table that the file has
			lines = append(lines, w.Lines(n)...)
		}
	}
	return lines
}

// NeedsAccessTable reports whether grants create an access table.
func NeedsAccessTable(grants []Grant) bool {
	return slices.ContainsFunc(grants, func(n Grant) bool { return n.Limit == "" && n.Preset == "" })
}

// Lines returns a grant as lines of a policy.
func (w Writer) Lines(n Grant) []string {
	b := w.block(n)
	if b.table == "" {
		return nil
	}
	lines := []string{b.table}
	if b.replaced != "" {
		lines = append(lines, "# in place of the table at "+b.replaced)
	}
	lines = append(lines, b.fields...)
	if n.With != "" {
		lines = append(lines, w.Lines(n.companion())...)
	}
	if n.File != "" {
		lines = append(lines, w.Lines(n.file())...)
	}
	return lines
}

// Phrase returns a grant as a phrase: path = "x", read = true under [[…]].
func (w Writer) Phrase(n Grant) string {
	b := w.block(n)
	if len(b.fields) == 0 {
		return b.table
	}
	said := strings.Join(b.fields, ", ") + " under " + b.table
	if b.replaced != "" {
		said += ", in place of the table at " + b.replaced
	}
	if n.File != "" {
		said += ", and " + w.Phrase(n.file())
	}
	if n.With != "" {
		said += ", and the same for " + show.Quote(w.Redactor.Redact(w.Display(n.With)))
	}
	return said
}

// block is one table of a policy.
type block struct {
	table    string // its head; "" for no table
	fields   []string
	replaced string // where the file has the table that this one replaces; "" for none
}

func (w Writer) block(n Grant) block {
	t := w.Table()
	switch {
	case n.Path != "":
		b := block{table: "[[" + t + ".fs]]", fields: []string{"path = " + show.TOML(w.ruleText(n))}}
		if n.Rights != 0 {
			for _, right := range strings.Fields(n.Rights.String()) {
				b.fields = append(b.fields, right+" = true")
			}
		}
		return b
	case n.Host != "":
		return block{table: "[[" + t + ".net]]", fields: n.netFields()}
	case n.Inbound != 0:
		return block{table: "[[" + t + ".inbound]]", fields: policy.InboundRule{Port: n.Inbound}.TOMLFields()}
	case n.Variable != "":
		return block{table: "[[" + t + ".env]]", fields: []string{"name = " + show.TOML(n.Variable), "read = true"}}
	case n.Program != "":
		return w.commandBlock(t+".commands."+show.Key(n.Program), n)
	case n.Preset != "":
		return block{table: "[servers." + show.Key(w.Server) + "]", fields: []string{"preset = " + show.TOML(n.Preset)}}
	case n.Limit != "":
		return block{table: "[servers." + show.Key(w.Server) + ".limits]", fields: []string{n.Limit + " = " + strconv.Itoa(n.Value)}}
	}
	return block{}
}

// IsReplacement reports whether the table of a grant replaces one that the file has.
func (w Writer) IsReplacement(n Grant) bool { return w.block(n).replaced != "" }

func (g Grant) netFields() []string {
	fields := []string{"host = " + show.TOML(g.Host)}
	if g.Scheme != "" {
		fields = append(fields, "scheme = "+show.TOML(g.Scheme))
	}
	if g.Port != 0 {
		fields = append(fields, "port = "+strconv.Itoa(g.Port))
	}
	if g.Prefix != "" {
		fields = append(fields, "path_prefix = "+show.TOML(g.Prefix))
	}
	if g.Methods != "" {
		fields = append(fields, `methods = ["`+strings.Join(strings.Fields(g.Methods), `", "`)+`"]`)
	}
	if g.Secret != "" {
		fields = append(fields, g.Secret)
	}
	return append(fields, "allow = true")
}

func (g Grant) companion() Grant { return Grant{Path: g.With, Rights: g.Rights} }

// file returns the grant of the file that the variable of a grant names.
func (g Grant) file() Grant {
	if g.File == "" {
		return Grant{}
	}
	return Grant{Path: g.File, Rights: policy.Read}
}

func (w Writer) ruleText(n Grant) string {
	s := w.Display(n.Path)
	if n.Create && !strings.HasSuffix(s, "/") {
		s += "/" // docs/policy.md "Filesystem rules": the slash asks mcp-jail to create it
	}
	return s
}

// Display returns an absolute path as the configuration writes it. No path is written relative to a
// workspace that is the home, or a directory around it: a client only happened to start there, and
// later starts may have another workspace.
func (w Writer) Display(path string) string {
	home := w.UserHome
	if p := w.Profile; p.Workspace != "" && policy.Within(path, p.Workspace) && (home == "" || !policy.Within(home, p.Workspace)) {
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

// Writable reports whether s can be written in a configuration.
func Writable(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// Expressible reports whether a rule can name a path: policy refuses line breaks and
// globs.
func Expressible(path string) bool {
	return Writable(path) && len(path) < 4096 && !strings.ContainsAny(path, "\r\n") &&
		!strings.Contains(path, "**") && !strings.HasSuffix(path, "/*")
}

// commandBlock returns the table of a program. A file cannot have a table twice, so the new table
// also has the arguments and variables of the present one. If the program has several tables,
// one more is added to them.
func (w Writer) commandBlock(table string, n Grant) block {
	b := block{table: "[" + table + "]"}
	if n.Args == "" {
		return b
	}
	var rules []policy.CommandRule
	for _, c := range w.Profile.Commands {
		if c.Name == n.Program {
			r := policy.CommandRule{Args: c.Args, Where: c.Where}
			if c.OnlyEnvs {
				r.Envs = append([]string{}, c.Envs...)
			}
			rules = append(rules, r)
		}
	}
	args := "args = [" + n.Args + "]"
	switch {
	case len(rules) == 0:
		b.fields = []string{args}
		return b
	case len(rules) > 1:
		return block{table: "[" + b.table + "]", fields: []string{args}}
	}
	b.replaced = show.Line(rules[0].Where)
	fields := rules[0].TOMLFields()
	// The new lists follow those that the table has.
	if i := slices.IndexFunc(fields, func(f string) bool { return strings.HasPrefix(f, "args = ") }); i >= 0 {
		fields[i] = strings.TrimSuffix(fields[i], "]") + ", " + n.Args + "]"
		b.fields = fields
	} else {
		b.fields = append([]string{args}, fields...)
	}
	return b
}
