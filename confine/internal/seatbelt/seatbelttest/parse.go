package seatbelttest

import (
	"fmt"
	"strings"
)

// Kind is the kind of an expression of a text.
type Kind uint8

const (
	Symbol     Kind = iota // a word or a number
	String                 // "text", without escapes
	Expression             // #"text", a regular expression
	List                   // (…)
)

// An Expr is an expression of a text.
type Expr struct {
	Kind Kind
	Text string // of all but a List
	List []Expr
}

// Head returns the symbol that begins a list, or "".
func (e Expr) Head() string {
	if e.Kind != List || len(e.List) == 0 || e.List[0].Kind != Symbol {
		return ""
	}
	return e.List[0].Text
}

// String returns the expression in one line without comments.
func (e Expr) String() string {
	switch e.Kind {
	case String:
		return `"` + e.Text + `"`
	case Expression:
		return `#"` + e.Text + `"`
	case Symbol:
		return e.Text
	}
	parts := make([]string, len(e.List))
	for i, x := range e.List {
		parts[i] = x.String()
	}
	return "(" + strings.Join(parts, " ") + ")"
}

// Parse reads a text. It knows the part of the language that Compile writes, and refuses the rest:
// escapes, quotes, bytes outside of printable ASCII.
func Parse(text string) ([]Expr, error) {
	for i := range len(text) {
		if c := text[i]; c != '\n' && (c < ' ' || c > '~') {
			return nil, fmt.Errorf("byte %d: 0x%02x is not printable ASCII", i, c)
		}
	}
	p := parser{text: text}
	out, err := p.list(0)
	if err == nil && p.at < len(text) {
		err = fmt.Errorf("byte %d: a closing bracket too many", p.at)
	}
	return out, err
}

type parser struct {
	text string
	at   int
}

// maxDepth is the most lists inside each other that a text may have.
const maxDepth = 12

// list reads expressions up to a closing bracket or the end.
func (p *parser) list(depth int) (out []Expr, err error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("byte %d: too many brackets inside each other", p.at)
	}
	for {
		p.space()
		if p.at == len(p.text) || p.text[p.at] == ')' {
			return out, nil
		}
		e, err := p.expr(depth)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
}

func (p *parser) space() {
	for p.at < len(p.text) {
		switch p.text[p.at] {
		case ' ', '\n':
			p.at++
		case ';':
			if n := strings.IndexByte(p.text[p.at:], '\n'); n >= 0 {
				p.at += n
			} else {
				p.at = len(p.text)
			}
		default:
			return
		}
	}
}

func (p *parser) expr(depth int) (e Expr, err error) {
	start := p.at
	switch c := p.text[p.at]; {
	case c == '(':
		p.at++
		e.Kind = List
		if e.List, err = p.list(depth + 1); err != nil {
			return e, err
		}
		if p.at == len(p.text) {
			return e, fmt.Errorf("byte %d: the bracket is not closed", start)
		}
		p.at++
	case c == '"':
		e.Kind = String
		e.Text, err = p.quoted(1)
	case strings.HasPrefix(p.text[p.at:], `#"`):
		e.Kind = Expression
		e.Text, err = p.quoted(2)
	default:
		n := p.at
		for n < len(p.text) && strings.IndexByte(" \n();\"", p.text[n]) < 0 {
			n++
		}
		if e.Text = p.text[p.at:n]; strings.ContainsAny(e.Text, "'`,#\\|[]{}") {
			return e, fmt.Errorf("byte %d: %q is none of the language's words here", p.at, e.Text)
		}
		p.at = n
	}
	return e, err
}

// quoted reads a string whose quote is the last of the next n bytes.
func (p *parser) quoted(n int) (string, error) {
	rest := p.text[p.at+n:]
	end := strings.IndexByte(rest, '"')
	if end < 0 || strings.ContainsAny(rest[:end], "\\\n") {
		return "", fmt.Errorf("byte %d: the string has no end, a backslash or a line break", p.at)
	}
	p.at += n + end + 1
	return rest[:end], nil
}
