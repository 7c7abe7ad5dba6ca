package seatbelttest

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcp-jail/mcp-jail/confine/internal/seatbelt"
	"github.com/mcp-jail/mcp-jail/policy"
)

// A LintError reports a text that may grant more than it says, or that the system may refuse.
type LintError struct {
	Rule string // the rule of the text, cut; "" for the whole text
	Why  string
}

func (e *LintError) Error() string {
	msg := "the profile for macOS's sandbox is not used: " + e.Why
	if e.Rule != "" {
		msg += ": " + e.Rule
	}
	return msg
}

// Lint returns an error for a text that has anything but what Compile writes. Compile runs it on each
// text, so that a mistake in it does not reach the system.
func Lint(t seatbelt.Text) error {
	exprs, err := Parse(t.Profile)
	if err != nil {
		return &LintError{Why: err.Error()}
	}
	l := linter{params: map[string]string{}, allowed: map[string]bool{}}
	for _, p := range t.Params {
		name, value, _ := strings.Cut(p, "=")
		if why := unfit(value); why != "" {
			return &LintError{Why: "the parameter " + name + ": " + why}
		}
		l.params[name] = value
	}
	if len(exprs) < 2 || exprs[0].String() != "(version 1)" || exprs[1].String() != "(deny default)" {
		return &LintError{Why: `a text begins with (version 1) (deny default)`}
	}
	for _, e := range exprs[2:] {
		if why := l.rule(e); why != "" {
			s := e.String()
			return &LintError{Rule: s[:min(len(s), 200)], Why: why}
		}
	}
	return nil
}

type linter struct {
	params  map[string]string
	allowed map[string]bool // operations, by the rules before
}

// rule returns why a rule is refused, or "".
func (l linter) rule(e Expr) string {
	ops := operations(e)
	filters := []Expr(nil)
	if len(ops) > 0 {
		filters = e.List[1+len(ops):]
	}
	if len(ops) == 0 {
		return "it is no rule about operations"
	}
	deny := e.Head() == "deny"
	for _, op := range ops {
		how, known := operationTable[op.Text]
		switch {
		case !known && strings.HasSuffix(op.Text, "*"):
			return "operations are named one by one, and not by " + op.Text
		case !known:
			return "no rule is about " + op.Text
		case len(filters) == 0 && !how.bare:
			return "without a filter it is about everything"
		case deny && (how.paths != withPaths || !l.allowed[op.Text]):
			return "a deny is behind the allow that it limits"
		}
		l.allowed[op.Text] = true
	}
	for _, f := range filters {
		why := ""
		if deny {
			why = l.paths(f, true)
		} else {
			why = l.filter(f, ops)
		}
		if why != "" {
			return why
		}
	}
	return ""
}

// filter returns why a filter of an allow of some operations is refused, or "".
func (l linter) filter(f Expr, ops []Expr) string {
	paths := false
	for _, op := range ops {
		how := operationTable[op.Text]
		if head := f.Head(); how.paths == withPaths && head != "remote" && head != "local" {
			paths = true
			continue
		}
		if s := f.String(); !slices.Contains(how.filters, s) && (how.pattern == nil || !how.pattern().MatchString(s)) {
			return "the operation has no filter " + s
		}
	}
	if !paths {
		return ""
	}
	if f.Head() != "literal" && f.Head() != "subpath" {
		return "an allow has a path and no condition, which could make it more precise than a later deny"
	}
	return l.paths(f, false)
}

// paths returns why a filter of paths is refused, or "". negated tells that what it matches is denied.
func (l linter) paths(f Expr, negated bool) string {
	switch f.Head() {
	case "literal", "subpath":
		p, why := l.path(f)
		if why == "" && f.Head() == "subpath" && !negated {
			why = tooWide(p)
		}
		return why
	case "regex":
		return lintRegex(f)
	case "vnode-type":
		if negated && (f.String() == "(vnode-type SYMLINK)" || f.String() == "(vnode-type DIRECTORY)") {
			return "" // it can only narrow
		}
	case "require-all", "require-any", "require-not":
		if len(f.List) < 2 || f.Head() == "require-not" && len(f.List) != 2 {
			return f.Head() + " has the wrong number of filters"
		}
		for _, g := range f.List[1:] {
			if why := l.paths(g, negated != (f.Head() == "require-not")); why != "" {
				return why
			}
		}
		return ""
	}
	return "it has a filter other than literal, subpath, regex and their combinations: " + f.String()
}

// path returns the path of a literal or subpath.
func (l linter) path(f Expr) (string, string) {
	if len(f.List) != 2 {
		return "", f.Head() + " has one path"
	}
	p := f.List[1].Text
	switch e := f.List[1]; {
	case e.Kind == String:
	case e.Head() == "param" && len(e.List) == 2 && e.List[1].Kind == String:
		value, ok := l.params[e.List[1].Text]
		if !ok {
			return "", "the parameter " + e.List[1].Text + " has no value"
		}
		return value, unclean(value)
	default:
		return "", f.Head() + " has one path"
	}
	if len(p) > maxLiteral {
		return "", fmt.Sprintf("a string has %d bytes", len(p))
	}
	return p, unclean(p)
}

func unclean(p string) string {
	if p != "/" && (!strings.HasPrefix(p, "/") || strings.HasSuffix(p, "/") || strings.Contains(p+"/", "//") || strings.Contains(p+"/", "/./") || strings.Contains(p+"/", "/../")) {
		return "a path is absolute and clean"
	}
	return ""
}

// tooWide returns why no rule may be about a whole tree: it has all data of the users under another
// name, and an exclusion of the one name does not exclude the other.
func tooWide(p string) string {
	const data = "/System/Volumes/Data"
	if policy.Within(data, p) || policy.Within(p, data) || p == "/var" || p == "/var/folders" {
		return "the subpath " + p + " holds files under a second name"
	}
	return ""
}

func lintRegex(f Expr) string {
	if len(f.List) != 2 || f.List[1].Kind != Expression {
		return "regex has one expression"
	}
	re := f.List[1].Text
	switch {
	case len(re) > maxLiteral:
		return fmt.Sprintf("a string has %d bytes", len(re))
	case !strings.HasPrefix(re, "^/") || !strings.HasSuffix(re, "$"):
		return "an expression is about the whole path"
	case !isSimpleExpression(re[1 : len(re)-1]):
		return "an expression has only ^ at its start, $ at its end, . * + ? [] () |"
	}
	return ""
}

// isSimpleExpression reports whether an expression has only what each dialect of regular expressions
// reads the same way: no escape, no count, no anchor inside, no class by name, and a repetition behind
// what can be repeated.
func isSimpleExpression(re string) bool {
	open, repeatable := 0, false
	for i := 0; i < len(re); i++ {
		switch c := re[i]; c {
		case '(':
			open, repeatable = open+1, false
			continue
		case '|':
			repeatable = false
			continue
		case ')':
			open--
		case '*', '+', '?':
			if !repeatable {
				return false
			}
			repeatable = false
			continue
		case '[':
			n := strings.IndexByte(re[i:], ']')
			if n < 2 || re[i:i+n] == "[^" {
				return false
			}
			for _, c := range []byte(re[i+1 : i+n]) {
				if c == '[' || c == '\\' || c == ':' {
					return false
				}
			}
			i += n
		case ']', '{', '}', '^', '$', '\\':
			return false
		}
		if repeatable = true; open < 0 {
			return false
		}
	}
	return open == 0
}

const maxLiteral = 900

func unfit(p string) string {
	if !strings.HasPrefix(p, "/") || !utf8.ValidString(p) || strings.ContainsFunc(p, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return "it is no path"
	}
	return ""
}
