package grants

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mcp-jail/mcp-jail/diagnostics/internal/words"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Grant is one addition to a policy. The zero grant adds nothing.
type Grant struct {
	Path      string        // absolute; "" unless the grant is for a path
	Rights    policy.Rights // all rights of the rule for path, not only the missing ones
	Create    bool          // path is a directory that does not exist yet
	Workspace bool          // path becomes the workspace of a server given on the command line under the default policy

	Host   string
	Scheme string
	Port   int

	Inbound  int // a port that leads into the jail
	Variable string
	File     string // of a variable: the file or directory that its value names, to be read; "" for none
	Program  string // base name, for the list of commands: no flag grants it

	Preset string // of the whole server

	Limit string // key of the limits table
	Value int
}

func (g Grant) IsZero() bool { return g == Grant{} }

// NetRule returns the rule of a grant for a host.
func (g Grant) NetRule() policy.NetRule {
	return policy.NetRule{Host: g.Host, Scheme: g.Scheme, Port: g.Port, Allow: true}
}

// Endpoint returns the host, with the port if no scheme implies it.
func (g Grant) Endpoint() string {
	if g.Port == 80 || g.Port == 443 {
		return g.Host
	}
	return words.Endpoint(g.Host, g.Port)
}

// parts returns a grant and those of the files that it names beside it.
func (g Grant) parts() []Grant {
	all := []Grant{g}
	if g.File != "" {
		all[0].File = ""
		all = append(all, Grant{Path: g.File, Rights: policy.Read})
	}
	return all
}

// MergeGrants joins grants for the same path and removes repetitions. It keeps the order.
func MergeGrants(grants []Grant) (all []Grant) {
	for _, g := range grants {
		for _, n := range g.parts() {
			same := slices.IndexFunc(all, func(o Grant) bool { return o == n || n.Path != "" && n.Path == o.Path })
			switch {
			case n.IsZero():
			case same < 0:
				all = append(all, n)
			default:
				all[same].Rights |= n.Rights
				all[same].Create = all[same].Create || n.Create
			}
		}
	}
	return all
}

// Writer shows paths and grants as the user writes them.
type Writer struct {
	Profile  *policy.Profile // never nil; empty when it is not known
	NoTable  bool            // nothing can be granted to this process
	UserHome string
}

// Words returns grants as words for mcp-jail grant, not quoted, without those that it has no flag for. It does not
// matter how the server was given.
func (w Writer) Words(grants []Grant) (flags []string) {
	if w.NoTable {
		return nil
	}
	grants = MergeGrants(grants)
	for i, n := range grants {
		// A rule for n adds nothing to one around it, but where another rule lies between the two.
		if !slices.ContainsFunc(grants, func(o Grant) bool { return o.Path != "" && o.Path != n.Path && w.includes(o, n) }) {
			flags = append(flags, w.words(grants[i])...)
		}
	}
	return flags
}

func (w Writer) includes(around, n Grant) bool {
	e, _ := w.Profile.Find(n.Path)
	between := e.Path != around.Path && policy.Within(e.Path, around.Path)
	return n.Path != "" && policy.Within(n.Path, around.Path) && around.Rights.Has(n.Rights) && !n.Create && !between
}

func (w Writer) words(n Grant) (flags []string) {
	switch {
	case n.Workspace:
		flags = []string{"--workspace", w.whole(n.Path)}
	case n.Path != "":
		path := w.whole(n.Path)
		if n.Create && !strings.HasSuffix(path, "/") {
			path += "/" // docs/policy.md "Filesystem rules": the slash asks mcp-jail to create it
		}
		if n.Rights&policy.Write != 0 {
			flags = append(flags, "--write", path)
		}
		if n.Rights.Has(policy.Execute) {
			flags = append(flags, "--execute", path)
		}
		if flags == nil {
			flags = []string{"--read", path}
		}
	case n.Host != "":
		flags = []string{"--net", n.Endpoint()}
	case n.Inbound != 0:
		flags = []string{"--inbound", strconv.Itoa(n.Inbound)}
	case n.Variable != "":
		flags = []string{"--env", n.Variable}
	case n.Preset != "":
		flags = []string{"--preset", n.Preset}
	case n.Limit != "":
		flags = []string{"--limit", n.Limit + "=" + strconv.Itoa(n.Value)}
	}
	for _, f := range flags {
		if show.Line(f) != f || show.Expands(f) {
			return nil // no line of a shell, or no list of a client, would hold it as it is
		}
	}
	return flags
}

// IsDenial reports whether an entry is that of a rule with deny, or of a flag --deny.
func IsDenial(e policy.Entry) bool {
	return e.Origin == policy.OriginRule && (strings.HasPrefix(e.Rule, "--deny ") || strings.Contains(e.Rule, ", deny = "))
}

// Typed returns words that can be typed, quoted for a shell.
func Typed(words []string) (typed []string) {
	for _, w := range words {
		word, _ := show.Path(w)
		typed = append(typed, word)
	}
	return typed
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
	return w.whole(path)
}

// whole returns a path as it means the same in every directory.
func (w Writer) whole(path string) string {
	if home := w.UserHome; home != "" && home != "/" && policy.Within(path, home) {
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
