package policy

import (
	"fmt"
	"sort"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
)

// TOMLFields returns the rule's fields as TOML assignments.
func (r FsRule) TOMLFields() []string {
	out := []string{"path = " + show.TOML(r.Path)}
	flag := func(name string, set bool) {
		if set {
			out = append(out, name+" = true")
		}
	}
	flag("read", r.Read)
	if r.Create && r.Update && r.Delete {
		flag("write", true)
	} else {
		flag("create", r.Create)
		flag("update", r.Update)
		flag("delete", r.Delete)
	}
	flag("execute", r.Execute)
	flag("deny", r.Deny == AllRights)
	if r.Deny == Write {
		out = append(out, `deny = "write"`)
	}
	return out
}

// TOMLFields returns the rule's fields as TOML assignments.
func (r NetRule) TOMLFields() []string {
	out := []string{"host = " + show.TOML(r.Host)}
	if r.Scheme != "" {
		out = append(out, "scheme = "+show.TOML(r.Scheme))
	}
	if r.Port != 0 {
		out = append(out, "port = "+strconv.Itoa(r.Port))
	}
	if r.PathPrefix != "" {
		out = append(out, "path_prefix = "+show.TOML(r.PathPrefix))
	}
	if len(r.Methods) > 0 {
		out = append(out, "methods = "+show.List(r.Methods))
	}
	secrets := make([]string, len(r.Secrets))
	for i, s := range r.Secrets {
		secrets[i] = s.toml()
	}
	if secret := strings.Join(secrets, ", "); len(secrets) == 1 {
		out = append(out, "secret = "+secret)
	} else if secret != "" {
		out = append(out, "secret = ["+secret+"]")
	}
	return append(out, "allow = "+strconv.FormatBool(r.Allow))
}

func (s Secret) toml() string {
	out := "{ env = " + show.TOML(s.Env)
	if s.File != "" {
		out += ", file = " + show.TOML(s.File)
	}
	if s.Command != nil {
		out += ", command = " + show.List(s.Command)
	}
	if len(s.Header) == 1 {
		out += ", header = " + show.TOML(s.Header[0])
	} else if s.Header != nil {
		out += ", header = " + show.List(s.Header)
	}
	return out + " }"
}

// TOMLFields returns the rule's fields as TOML assignments.
func (r InboundRule) TOMLFields() []string { return []string{"port = " + strconv.Itoa(r.Port)} }

// TOMLFields returns the rule's fields as TOML assignments.
func (r EnvRule) TOMLFields() []string {
	out := []string{"name = " + show.TOML(r.Name), "read = " + strconv.FormatBool(r.Read)}
	if r.File != "" {
		out = append(out, "file = "+show.TOML(r.File))
	}
	return out
}

// TOMLFields returns the rule's fields as TOML assignments.
func (r CommandRule) TOMLFields() (out []string) {
	if r.Args != nil {
		lists := make([]string, len(r.Args))
		for i, list := range r.Args {
			lists[i] = show.List(list)
		}
		out = append(out, "args = ["+strings.Join(lists, ", ")+"]")
	}
	if r.Envs != nil {
		out = append(out, "envs = "+show.List(r.Envs))
	}
	return out
}

// JoinKey returns a dotted key as TOML writes it.
func JoinKey(parts []string) string {
	out := make([]string, len(parts))
	for i, p := range parts {
		out[i] = show.Key(Abbreviate(p))
	}
	return strings.Join(out, ".")
}

// Abbreviate shortens a text for a message, so that a hostile one cannot fill it.
func Abbreviate(s string) string { return show.Abbreviate(s) }

// Problem is one thing wrong with a configuration, at one place.
type Problem struct {
	File    string
	Line    int    // 0 when the whole file is meant
	Key     string // dotted key or table name, "" when none is meant
	Message string // may have more than one line
}

// Error prints "file:line: key: message"; the key is left out where the
// message names it already.
func (p Problem) Error() string {
	var b strings.Builder
	b.WriteString(p.position())
	if b.Len() > 0 {
		b.WriteString(": ")
	}
	if p.Key != "" && !strings.Contains(p.Message, p.Key) {
		b.WriteString(p.Key + ": ")
	}
	b.WriteString(p.Message)
	return b.String()
}

func (p Problem) position() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d", p.File, p.Line)
}

// ProblemAt returns a problem at a place in the form that rules carry: see Position.
func ProblemAt(where, key, format string, args ...any) Problem {
	file, line := SplitPosition(where)
	return Problem{file, line, key, fmt.Sprintf(format, args...)}
}

// Problems is every problem found in a configuration, in the order of the
// files and their lines.
type Problems []Problem

// Error prints one problem a line.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// MaxProblems bounds how many problems [Problems.Err] reports, of all files together.
const MaxProblems = 100

// Err returns ps as an error, or nil if it is empty. It sorts by line within each file,
// drops duplicates, and cuts the list at MaxProblems.
func (ps Problems) Err() error {
	if len(ps) == 0 {
		return nil
	}
	order := map[string]int{}
	for _, p := range ps {
		if _, ok := order[p.File]; !ok {
			order[p.File] = len(order)
		}
	}
	sort.SliceStable(ps, func(i, j int) bool {
		if a, b := order[ps[i].File], order[ps[j].File]; a != b {
			return a < b
		}
		return ps[i].Line < ps[j].Line
	})
	out := ps[:0:0]
	for i, p := range ps {
		if i > 0 && p == ps[i-1] {
			continue
		}
		out = append(out, p)
	}
	if more := len(out) - MaxProblems; more > 0 {
		out = append(out[:MaxProblems:MaxProblems], Problem{File: out[MaxProblems].File, Message: fmt.Sprintf("and %d more problems", more)})
	}
	return out
}

// Warning is something the user should know that does not stop a start.
// Warnings are returned, never logged.
type Warning struct {
	Code    string // stable, kebab-case: "missing-path", "sensitive-granted", ...
	Message string
	Where   string // file:line or flag; "" when none
}

// String prints the warning as one line.
func (w Warning) String() string {
	if w.Where == "" {
		return w.Message
	}
	return w.Where + ": " + w.Message
}

// Position returns a place in the form that rules carry: file:line.
func Position(file string, line int) string { return file + ":" + strconv.Itoa(line) }

// SplitPosition is the inverse of Position. line is 0 if the place is not in a file.
func SplitPosition(w string) (file string, line int) {
	if i := strings.LastIndexByte(w, ':'); i >= 0 {
		if n, err := strconv.Atoi(w[i+1:]); err == nil {
			return w[:i], n
		}
	}
	return w, 0
}
