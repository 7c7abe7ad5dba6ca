package policy

import (
	"encoding/json"
	"fmt"
	"path"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
)

// FsRule is one entry of access.fs as it was written.
type FsRule struct {
	Path    string
	Read    bool
	Create  bool
	Update  bool
	Delete  bool
	Execute bool
	// Deny are the rights that the server does not have at the path and below, also if other rules give them: 0,
	// Write or AllRights.
	Deny  Rights
	Where string // file and line, for messages
	// Preset says that a preset made the rule. Unlike a rule of the user, it never grants a place
	// that the default policy does not grant, such as a workspace that is the home directory.
	Preset bool
	// Optional says that the path may be missing without a warning: a preset names it for those who
	// have it.
	Optional bool
	// Made says that mcp-jail made the rule from an argument or a variable of the server. It names no
	// sensitive path and no protected name.
	Made bool
	// Workspace says that the rule is that of access.workspace, or of the default policy.
	Workspace bool
	// Beside is the file that the user named, if a preset made the rule for the directory around
	// it. Such a rule is refused where the directory is not the server's alone.
	Beside string
}

// NetRule is one entry of access.net, its host normalised.
type NetRule struct {
	Host       string // as NormalizeHost returns it: "*", "*.name", a name or an address
	Scheme     string // "http", "https", "tcp" or "" for any
	Port       int    // 0: as [NetRule.Ports] says; all ports, if the rule refuses
	PathPrefix string
	Methods    []string // of HTTP, sorted; empty: any
	Secrets    []Secret // put into the requests that this rule allows
	Allow      bool
	Where      string
}

// NeedsInterception reports whether the rule is about single requests. To see them, the
// connection is intercepted, and its TLS ended, outside the jail.
func (r NetRule) NeedsInterception() bool { return r.conditional() || len(r.Secrets) > 0 }

// conditional reports whether the rule depends on more than the connection.
func (r NetRule) conditional() bool {
	return len(r.Methods) > 0 || len(pathPrefix(r.PathPrefix)) > 0
}

// InboundRule is one entry of access.inbound: a TCP port on which the server in
// its jail can be reached from the host's loopback.
type InboundRule struct {
	Port int
	// Preset says that a preset made the rule. Where no port can lead in, the server starts without it.
	Preset bool
	Where  string
}

// EnvRule is one entry of access.env.
type EnvRule struct {
	Name  string // "X", or "X*" for all that begin with X
	Read  bool
	File  string // where its value is read from at each start, absolute or with ~/; "" is mcp-jail's own environment
	Where string
}

// CommandRule is one entry of access.commands. Several rules for one program add up.
type CommandRule struct {
	Name  string
	Args  [][]string // lists that the arguments must match: see MatchArguments; nil: any arguments
	Envs  []string   // the variables besides the minimal set, named as in EnvRule; nil: all variables
	Where string
}

// Limits bounds the resources of one jail. OpenFiles is for one process, FileSizeMB for one file,
// and MessageMB for one message. The others are for all processes together. 0 stands for the
// default.
type Limits struct {
	MemoryMB   int `json:"memory_mb"`
	Processes  int `json:"processes"`
	OpenFiles  int `json:"open_files"`
	FileSizeMB int `json:"file_size_mb"`
	MessageMB  int `json:"message_mb"`
}

// MaxConnections is how many connections of a jail to granted hosts are open at once.
const MaxConnections = 256

// DefaultLimits are the limits of a server that declares none.
var DefaultLimits = Limits{MemoryMB: 4096, Processes: 512, OpenFiles: 4096, FileSizeMB: 1024, MessageMB: 64}

func (l *Limits) keys() []struct {
	name  string
	value *int
} {
	return []struct {
		name  string
		value *int
	}{
		{"memory_mb", &l.MemoryMB}, {"processes", &l.Processes}, {"open_files", &l.OpenFiles}, {"file_size_mb", &l.FileSizeMB}, {"message_mb", &l.MessageMB},
	}
}

// maxLimit bounds each limit, so that its bytes can be counted.
const maxLimit = 1 << 24

// OrDefault returns the limits with the defaults in place of those that are 0. The error names a
// limit below 0 or above maxLimit.
func (l Limits) OrDefault() (Limits, error) {
	defaults := DefaultLimits
	for i, k := range l.keys() {
		switch {
		case *k.value < 0 || *k.value > maxLimit:
			return l, fmt.Errorf("the limit %s = %d is refused: write a number between 1 and %d, or 0 for the default", k.name, *k.value, maxLimit)
		case *k.value == 0:
			*k.value = *defaults.keys()[i].value
		}
	}
	return l, nil
}

// Label returns the name of the rule in messages.
func (r EnvRule) Label() string {
	if _, line := SplitPosition(r.Where); strings.HasPrefix(r.Where, "--") || line == 0 && r.Where != "" {
		return r.Where
	}
	label := strings.TrimPrefix(r.Where+": ", ": ") + "name = " + show.TOML(r.Name)
	if r.File != "" {
		label += ", file = " + show.TOML(r.File)
	}
	return label
}

// Rights returns the rights that the rule grants.
func (r FsRule) Rights() (out Rights) {
	for _, f := range []struct {
		set   bool
		right Rights
	}{{r.Read, Read}, {r.Create, Create}, {r.Update, Update}, {r.Delete, Delete}, {r.Execute, Execute}} {
		if f.set {
			out |= f.right
		}
	}
	return out
}

// Label returns the name of the rule in messages: `mcp-jail.toml:14: path = "src"`, or the
// flag that it came from. That of a denial says so.
func (r FsRule) Label() string {
	if _, line := SplitPosition(r.Where); strings.HasPrefix(r.Where, "--") || line == 0 && r.Where != "" {
		return r.Where
	}
	label := strings.TrimPrefix(r.Where+": ", ": ")
	if r.Workspace {
		return label + "workspace = " + show.TOML(r.workspaceWord())
	}
	label += "path = " + show.TOML(r.Path)
	switch r.Deny {
	case AllRights:
		return label + ", deny = true"
	case Write:
		return label + `, deny = "write"`
	}
	return label
}

// Rights is the set of things that may be done below a path. The five are
// separate in the policy and in the kernel.
type Rights uint8

const (
	Read    Rights = 1 << iota // open to read, list
	Create                     // new names: files, directories, links
	Update                     // open to write, truncate
	Delete                     // remove names
	Execute                    // start as a program
)

const (
	// Write is what the `write` alias stands for.
	Write = Create | Update | Delete
	// AllRights is every right there is.
	AllRights = Read | Write | Execute
)

// RightNames are the names of the rights, in the order of the configuration.
var RightNames = []struct {
	Right Rights
	Name  string
}{
	{Read, "read"}, {Create, "create"}, {Update, "update"}, {Delete, "delete"}, {Execute, "execute"},
}

// Names returns the names of the rights, in the order of the configuration.
func (r Rights) Names() []string {
	out := []string{}
	for _, n := range RightNames {
		if r.Has(n.Right) {
			out = append(out, n.Name)
		}
	}
	return out
}

// MarshalJSON returns the names of the rights.
func (r Rights) MarshalJSON() ([]byte, error) { return json.Marshal(r.Names()) }

// UnmarshalJSON reads the names of rights.
func (r *Rights) UnmarshalJSON(text []byte) error {
	var names []string
	err := json.Unmarshal(text, &names)
	*r = 0
	for _, name := range names {
		before := *r
		for _, n := range RightNames {
			if n.Name == name {
				*r |= n.Right
			}
		}
		if *r == before {
			return fmt.Errorf("%q is no right of its own", name)
		}
	}
	return err
}

// Has reports whether r contains every right of want.
func (r Rights) Has(want Rights) bool { return r&want == want }

// String names the rights in the order of the configuration, with the alias
// `write` where all three of its rights are present: "read write execute".
// The empty set is "nothing".
func (r Rights) String() string {
	if r == 0 {
		return "nothing"
	}
	var names []string
	for _, n := range RightNames {
		switch {
		case n.Right == Create && r.Has(Write):
			names = append(names, "write")
		case Write.Has(n.Right) && r.Has(Write):
		case r.Has(n.Right):
			names = append(names, n.Name)
		}
	}
	return strings.Join(names, " ")
}

// ConflictError is a pair of rules of which one has no effect that its author can have meant, or that
// no kernel mechanism can enforce together (docs/policy.md "Filesystem rules").
type ConflictError struct{ Reason string } // which names both, as file:line: path = "..."

func (e *ConflictError) Error() string { return e.Reason }

// unenforceable returns the part of union minus rights that no mount can take away. union is the sum
// of what all entries around a path grant: Landlock's rules reach through mount points. A mount can hide
// a path, make it read-only, or keep programs from starting.
func unenforceable(union, rights Rights) Rights {
	lost := union &^ rights
	if rights == 0 {
		return 0 // a mask
	}
	var bad Rights
	if lost.Has(Read) {
		bad |= Read // there is no write-only mount
	}
	if w := lost & Write; w != 0 && rights&Write != 0 {
		bad |= w // read-only is all of them or none
	}
	return bad // a lost Execute is a mount without exec
}

// FindConflict returns a *[ConflictError] for the first entry that cannot be enforced below the wider
// ones, or nil. Such is a rule inside a sensitive path or a protected name that grants only some of what
// a rule around that name grants.
func FindConflict(entries []Entry) error {
	at := make(map[string]*Entry, len(entries))
	for i := range entries {
		at[entries[i].Path] = &entries[i]
	}
	for _, e := range entries {
		var union Rights
		var wide string
		for p := e.Path; p != path.Dir(p); {
			p = path.Dir(p)
			if w := at[p]; w != nil {
				if bad := unenforceable(w.Rights, e.Rights); bad != 0 && wide == "" {
					wide = w.Rule + " (" + w.Rights.String() + ")"
				}
				union |= w.Rights
			}
		}
		if bad := unenforceable(union, e.Rights); bad != 0 {
			return &ConflictError{e.Rule + " (" + e.Rights.String() + ") cannot be enforced inside " + wide + ": no rule from above gives rights at such a name, " +
				"and there a mount can only hide a path, make it read-only or leave it as it is. Grant " + bad.String() + " there too, or nothing of create, update and delete."}
		}
	}
	return nil
}

// CheckPath validates the path of an fs rule without looking at the disk.
func CheckPath(path string) error {
	switch {
	case path == "":
		return fmt.Errorf("the path is empty; write \".\" for the project folder")
	case strings.ContainsAny(path, "\x00"):
		return fmt.Errorf("the path contains a NUL")
	case strings.ContainsAny(path, "\n\r"):
		return fmt.Errorf("the path contains a line break")
	case len(path) >= 4096:
		return fmt.Errorf("the path is longer than 4095 bytes")
	case path[0] == '~' && path != "~" && !strings.HasPrefix(path, "~/"):
		return fmt.Errorf("%q: only ~/ is understood; write the home directory of another user as an absolute path, and a name that begins with ~ as ./%s", Abbreviate(path), Abbreviate(path))
	case variableIn(path) != "":
		return fmt.Errorf("%q: variables are not expanded; write ~/ for the home directory, %q for the project folder, and a name that begins with $ as ./%s", Abbreviate(path), ".", Abbreviate(path))
	case strings.Contains(path, "**") || strings.HasSuffix(path, "/*") || path == "*":
		return fmt.Errorf("%q: a path is literal, there are no globs; a rule covers everything below its path already", Abbreviate(path))
	}
	return nil
}

func variableIn(path string) string {
	first, _, _ := strings.Cut(path, "/")
	name := strings.Trim(strings.TrimPrefix(first, "$"), "{}")
	if !strings.HasPrefix(first, "$") || name == "" || strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789") != "" {
		return ""
	}
	return name
}

// CheckSensitivePath validates an entry of access.sensitive_paths.
func CheckSensitivePath(s string) error {
	switch {
	case s == "":
		return fmt.Errorf("a sensitive file is empty")
	case strings.ContainsAny(s, "\x00\r\n"):
		return fmt.Errorf("a sensitive file contains a NUL or a line break")
	case len(s) >= 4096:
		return fmt.Errorf("a sensitive file is longer than 4095 bytes")
	case variableIn(s) != "":
		return fmt.Errorf("%q: variables are not expanded; write ~/NAME for a place in the home directory, and a name that begins with $ as ./%s", Abbreviate(s), Abbreviate(s))
	case s[0] == '~' && !strings.HasPrefix(s, "~/"):
		return fmt.Errorf("%q: write ~/NAME, an absolute path, a path in the project folder, or **/NAME", Abbreviate(s))
	}
	literal := s
	if pattern, ok := strings.CutPrefix(s, "**/"); ok {
		if strings.Trim(pattern, "*/") == "" {
			return fmt.Errorf("%q would make everything sensitive", Abbreviate(s))
		}
		literal = ""
		if strings.Contains(pattern, "**") {
			return fmt.Errorf("%q: ** is only understood once, at the beginning", Abbreviate(s))
		}
		for _, part := range strings.Split(pattern, "/") {
			if part == "" || part == "." || part == ".." {
				return fmt.Errorf("%q: no empty or dot components after **/", Abbreviate(s))
			}
		}
	}
	if strings.ContainsAny(path.Dir(literal), "*?[") {
		return fmt.Errorf("%q: wildcards are for the last component, or after a leading **/", Abbreviate(s))
	}
	if _, err := path.Match(s, ""); err != nil {
		return fmt.Errorf("%q is not a valid pattern", Abbreviate(s))
	}
	return nil
}
