package policy

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
)

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
