// Package seatbelttest reads texts for macOS's sandbox and tells what they allow, for tests. It knows
// the part of the language whose meaning is published, and refuses the rest.
package seatbelttest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// A Rule is a rule of a text as it was read.
type Rule struct {
	Deny    bool
	Ops     []string
	filters []filter // one must match; none matches everything
}

// A filter reports whether it matches the subject of an operation.
type filter func(subject, vnode string) bool

// Read returns the rules of a text, with the values of its parameters.
func Read(text string, params []string) ([]Rule, error) {
	exprs, err := Parse(text)
	if err != nil {
		return nil, err
	}
	r := reader{params: map[string]string{}}
	for _, p := range params {
		name, value, _ := strings.Cut(p, "=")
		r.params[name] = value
	}
	if len(exprs) < 2 || exprs[0].String() != "(version 1)" || !strings.HasPrefix(exprs[1].String(), "(deny default") {
		return nil, fmt.Errorf("a text begins with (version 1) (deny default)")
	}
	var out []Rule
	for _, e := range exprs[2:] {
		rule, err := r.rule(e)
		if err != nil {
			return nil, err
		}
		out = append(out, rule)
	}
	return out, decidable(out)
}

// Allowed reports whether rules allow an operation on a subject: a path, "localhost:443", the name of
// a service, "AF_INET SOCK_STREAM", "self". vnode is the type of the object at a path, or "". The
// last rule that matches decides.
func Allowed(rules []Rule, op, subject, vnode string) bool {
	for _, r := range slices.Backward(rules) {
		if slices.ContainsFunc(r.Ops, func(o string) bool { return covers(o, op) }) && r.matches(subject, vnode) {
			return !r.Deny
		}
	}
	return false
}

func (r Rule) matches(subject, vnode string) bool {
	return len(r.filters) == 0 || slices.ContainsFunc(r.filters, func(f filter) bool { return f(subject, vnode) })
}

// covers reports whether a rule about one operation is about another.
func covers(rule, op string) bool {
	group, isGroup := strings.CutSuffix(rule, "*")
	return rule == op || isGroup && strings.HasPrefix(op, group)
}

// decidable returns an error if more than the order of rules may decide: where a deny and an allow are
// about different groups of operations.
func decidable(rules []Rule) error {
	for _, d := range rules {
		for _, a := range rules {
			if !d.Deny || a.Deny {
				continue
			}
			for _, denied := range d.Ops {
				for _, allowed := range a.Ops {
					if denied != allowed && (covers(denied, allowed) || covers(allowed, denied)) {
						return fmt.Errorf("a deny of %s and an allow of %s: the order does not decide", denied, allowed)
					}
				}
			}
		}
	}
	return nil
}

type reader struct{ params map[string]string }

func (r reader) rule(e Expr) (rule Rule, err error) {
	switch e.Head() {
	case "allow":
	case "deny":
		rule.Deny = true
	default:
		return rule, fmt.Errorf("neither an allow nor a deny: %s", e)
	}
	for _, x := range e.List[1:] {
		if x.Kind == Symbol && len(rule.filters) == 0 {
			rule.Ops = append(rule.Ops, x.Text)
			continue
		}
		f, err := r.filter(x)
		if err != nil {
			return rule, err
		}
		rule.filters = append(rule.filters, f)
	}
	if len(rule.Ops) == 0 {
		return rule, fmt.Errorf("a rule without an operation: %s", e)
	}
	return rule, nil
}

func (r reader) filter(e Expr) (filter, error) {
	if head := e.Head(); head == "require-all" || head == "require-any" || head == "require-not" {
		return r.combined(e)
	}
	var args []string
	for _, x := range e.List[min(1, len(e.List)):] {
		switch {
		case x.Kind != List:
			args = append(args, x.Text)
		case x.Head() == "param" && len(x.List) == 2:
			value, ok := r.params[x.List[1].Text]
			if !ok {
				return nil, fmt.Errorf("unbound variable: %s", x.List[1].Text)
			}
			args = append(args, value)
		default:
			return nil, fmt.Errorf("not known: %s", e)
		}
	}
	switch {
	case len(args) == 1:
		return simple(e, args[0])
	case len(args) == 2 && args[0] == "ip" && (e.Head() == "remote" || e.Head() == "local"):
		return address(e.Head(), args[1]), nil
	}
	return nil, fmt.Errorf("not known: %s", e)
}

// simple returns a filter with one argument.
func simple(e Expr, arg string) (filter, error) {
	switch e.Head() {
	case "literal":
		return func(s, _ string) bool { return s == arg }, nil
	case "subpath":
		return func(s, _ string) bool { return s == arg || strings.HasPrefix(s, strings.TrimSuffix(arg, "/")+"/") }, nil
	case "regex":
		inner, whole := strings.CutPrefix(strings.TrimSuffix(arg, "$"), "^")
		if !whole || !strings.HasPrefix(inner, "/") || !strings.HasSuffix(arg, "$") || !isSimpleExpression(inner) {
			return nil, fmt.Errorf("no expression about a whole path that every system reads alike: %s", e)
		}
		re, err := expression(arg)
		return func(s, _ string) bool { return strings.HasPrefix(s, "/") && re.MatchString(s) }, err
	case "vnode-type":
		return func(_, vnode string) bool { return vnode == arg }, nil
	case "sysctl-name-prefix":
		return func(s, _ string) bool { return strings.HasPrefix(s, arg) }, nil
	case "global-name", "sysctl-name", "ipc-posix-name", "target", "fsctl-command", "mac-policy-name":
		return func(s, _ string) bool { return s == arg }, nil
	case "socket-domain", "socket-type", "socket-protocol", "mac-syscall-number":
		return func(s, _ string) bool { return slices.Contains(strings.Fields(s), arg) }, nil
	}
	return nil, fmt.Errorf("not known: %s", e)
}

// address returns the filter of an address. One about the local end of an outgoing connection matches
// each connection.
func address(end, want string) filter {
	host, port, _ := strings.Cut(want, ":")
	return func(s, _ string) bool {
		h, p, ok := strings.Cut(s, ":")
		return ok && !strings.HasPrefix(s, "/") && (end == "local" || host == "*" || h == host) && (end == "local" || port == "*" || p == port)
	}
}

func (r reader) combined(e Expr) (filter, error) {
	var parts []filter
	for _, x := range e.List[1:] {
		f, err := r.filter(x)
		if err != nil {
			return nil, err
		}
		parts = append(parts, f)
	}
	switch {
	case len(parts) == 0, e.Head() == "require-not" && len(parts) > 1:
		return nil, fmt.Errorf("the wrong number of filters: %s", e)
	case e.Head() == "require-not":
		return func(s, v string) bool { return !parts[0](s, v) }, nil
	case e.Head() == "require-any":
		return func(s, v string) bool { return slices.ContainsFunc(parts, func(f filter) bool { return f(s, v) }) }, nil
	}
	return func(s, v string) bool { return !slices.ContainsFunc(parts, func(f filter) bool { return !f(s, v) }) }, nil
}

// expressions are compiled once. The most part of them is in every text.
var (
	expressions = map[string]*regexp.Regexp{}
	compiling   sync.Mutex
)

func expression(s string) (*regexp.Regexp, error) {
	compiling.Lock()
	defer compiling.Unlock()
	if re := expressions[s]; re != nil {
		return re, nil
	}
	re, err := regexp.Compile(s)
	if err != nil {
		return nil, err
	}
	if len(expressions) > 3000 {
		clear(expressions)
	}
	expressions[s] = re
	return re, nil
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
