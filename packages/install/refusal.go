package install

import (
	"fmt"
	"strconv"

	"github.com/mcp-jail/mcp-jail/policy"
)

// Refusal is an attempt that the jail of an installation has refused.
type Refusal struct {
	Installer string // "npm", "pip" or "uv", which made the attempt if no script did
	Package   string // NAME@VERSION, of Python only NAME, whose script it was; "" if it was none
	policy.Denial
}

// String returns the refusal as a sentence.
func (r Refusal) String() string {
	subject := r.Installer
	if r.Package != "" {
		subject = "the install script of " + r.Package
	}
	times := ""
	if r.Count > 1 {
		times = fmt.Sprintf(" (%d times)", r.Count)
	}
	return subject + " tried " + attempt(r.Denial) + times + ": refused"
}

// attempt returns the attempt in words. It quotes the target: a package has chosen that name, and a
// terminal shows it.
func attempt(d policy.Denial) string {
	target := strconv.Quote(d.Target)
	if d.Target == "" {
		target = "something"
	}
	switch d.Operation {
	case "connect":
		return "to connect to " + target
	case "send":
		return "to send to " + target
	case "resolve":
		return "to look up the name " + target
	case "exec":
		return "to start " + target
	case "mkdir":
		return "to make the directory " + target
	case "create", "write", "truncate", "remove", "rename", "link":
		return "to " + d.Operation + " " + target
	case "":
		return "to use " + target
	}
	return d.Operation + " of " + target
}

func refusals(installer, pkg string, denials []policy.Denial) (out []Refusal) {
	for _, d := range denials {
		out = append(out, Refusal{installer, pkg, d})
	}
	return out
}
