package toolpin

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcp-jail/mcp-jail/internal/show"
)

// maxDepth is the deepest nesting of a result. Schemas need about 20 levels.
const maxDepth = 64

// A scanner reads one JSON value and appends its canonical form (RFC 8785) to out. Its work
// is linear in the input, apart from the sorting of members, which copies an object once
// for each level above it that is not sorted.
type scanner struct {
	in      []byte
	pos     int
	out     []byte
	depth   int
	members []member // of all open objects, the innermost ones last
	scratch []byte
}

// A member is a piece of out: a quoted name, a colon and a value.
type member struct{ start, name, end int } // name is the end of the quoted name

func (s *scanner) fail(format string, args ...any) error {
	return &InvalidError{Offset: s.pos, Reason: fmt.Sprintf(format, args...)}
}

// peek skips white space and returns the next byte, or 0 at the end.
func (s *scanner) peek() byte {
	for s.pos < len(s.in) {
		switch c := s.in[s.pos]; c {
		case ' ', '\t', '\n', '\r':
			s.pos++
		default:
			return c
		}
	}
	return 0
}

func (s *scanner) value() error {
	switch c := s.peek(); {
	case c == '{':
		return s.object(func([]byte) error { return s.value() })
	case c == '[':
		return s.array(s.value)
	case c == '"':
		return s.text(true)
	case c == '-' || c >= '0' && c <= '9':
		return s.number()
	}
	for _, word := range []string{"true", "false", "null"} {
		if len(s.in)-s.pos >= len(word) && string(s.in[s.pos:s.pos+len(word)]) == word {
			s.pos += len(word)
			s.out = append(s.out, word...)
			return nil
		}
	}
	if s.pos >= len(s.in) {
		return s.fail("the JSON text ends early")
	}
	return s.fail("no JSON value begins with %q", s.in[s.pos])
}

func (s *scanner) end() error {
	if s.peek(); s.pos < len(s.in) {
		return s.fail("more text follows the JSON value")
	}
	return nil
}

func (s *scanner) enter(open byte) error {
	if s.depth++; s.depth > maxDepth {
		return s.fail("the JSON is nested more than %d deep", maxDepth)
	}
	s.pos++
	s.out = append(s.out, open)
	return nil
}

// next reads what separates elements. It reports whether the closing bracket was read.
func (s *scanner) next(first bool, closing byte) (done bool, err error) {
	switch c := s.peek(); {
	case c == closing:
		s.pos++
		s.depth--
		return true, nil
	case first:
		return false, nil
	case c != ',':
		return false, s.fail("a comma or %q is missing", closing)
	}
	s.pos++
	if s.peek() == closing {
		return false, s.fail("nothing follows the comma")
	}
	return false, nil
}

// array calls each at the start of each element. each appends exactly one value.
func (s *scanner) array(each func() error) error {
	if err := s.enter('['); err != nil {
		return err
	}
	for first := true; ; first = false {
		done, err := s.next(first, ']')
		if err != nil {
			return err
		}
		if done {
			s.out = append(s.out, ']')
			return nil
		}
		if !first {
			s.out = append(s.out, ',')
		}
		if err := each(); err != nil {
			return err
		}
	}
}

// object calls each at the start of each value, with the decoded name of the member, which
// is valid until each appends to out. each appends exactly one value. The members end up
// sorted by name.
func (s *scanner) object(each func(name []byte) error) error {
	if err := s.enter('{'); err != nil {
		return err
	}
	base, start := len(s.members), len(s.out)
	for first := true; ; first = false {
		done, err := s.next(first, '}')
		if err != nil {
			return err
		}
		if done {
			break
		}
		m := member{start: len(s.out)}
		if s.peek() != '"' {
			return s.fail("the name of a member is missing")
		}
		if err := s.text(false); err != nil {
			return err
		}
		m.name = len(s.out)
		if s.peek() != ':' {
			return s.fail("a colon is missing")
		}
		s.pos++
		s.out = append(s.out, ':')
		// The members of inner objects are pushed and popped here, above those of this one.
		if err := each(s.name(m)); err != nil {
			return err
		}
		m.end = len(s.out)
		s.out = append(s.out, ',')
		s.members = append(s.members, m)
	}
	err := s.sort(s.members[base:], start)
	s.members = s.members[:base]
	return err
}

func (s *scanner) name(m member) []byte {
	name := s.out[m.start+1 : m.name-1]
	if bytes.IndexByte(name, '\\') >= 0 {
		text, _ := Unquote(string(s.out[m.start:m.name]))
		return []byte(text)
	}
	return name
}

func (s *scanner) sort(members []member, start int) error {
	compare := func(a, b member) int { return compareNames(s.name(a), s.name(b)) }
	// Most servers send sorted members, which stay where they are.
	if !slices.IsSortedFunc(members, compare) {
		s.scratch = append(s.scratch[:0], s.out[start:]...)
		slices.SortFunc(members, compare)
	} else {
		s.scratch = s.scratch[:0]
	}
	for i := 1; i < len(members); i++ {
		if compare(members[i-1], members[i]) == 0 {
			return s.fail("the member %s is there twice, and programs differ in which one they read", show.Named(string(s.name(members[i])), 60))
		}
	}
	if len(s.scratch) > 0 {
		s.out = s.out[:start]
		for _, m := range members {
			s.out = append(s.out, s.scratch[m.start-start:m.end-start]...)
			s.out = append(s.out, ',')
		}
	}
	if len(members) > 0 {
		s.out = s.out[:len(s.out)-1]
	}
	s.out = append(s.out, '}')
	return nil
}

// compareNames orders names by their UTF-16 code units (RFC 8785, section 3.2.3). That is
// the order of their bytes, except that surrogates come before U+E000.
func compareNames(a, b []byte) int {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	if n == len(a) || n == len(b) || a[n] < 0xee || b[n] < 0xee {
		return bytes.Compare(a[n:], b[n:])
	}
	// 0xee and 0xef begin U+E000 to U+FFFF, 0xf0 and more what UTF-16 writes as surrogates.
	// Continuation bytes are below 0xc0, so both bytes here begin a character.
	if longA, longB := a[n] >= 0xf0, b[n] >= 0xf0; longA != longB {
		if longA {
			return -1
		}
		return 1
	}
	return bytes.Compare(a[n:], b[n:])
}

// text appends a string. Only a value may contain a lone surrogate.
func (s *scanner) text(isValue bool) error {
	begin := s.pos + 1
	plain, ascii := true, true
	i := begin
	for ; ; i++ {
		for i < len(s.in) && s.in[i] >= ' ' && s.in[i] < utf8.RuneSelf && s.in[i] != '"' && s.in[i] != '\\' {
			i++
		}
		if i >= len(s.in) {
			return s.fail("a string does not end")
		}
		c := s.in[i]
		if c == '"' {
			break
		}
		switch {
		case c == '\\':
			plain = false
			i++
		case c < 0x20:
			s.pos = i
			return s.fail("a string contains the control character U+%04X", c)
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	if !ascii && !utf8.Valid(s.in[begin:i]) {
		return s.fail("a string is not valid UTF-8")
	}
	if plain {
		s.out = append(append(append(s.out, '"'), s.in[begin:i]...), '"')
		s.pos = i + 1
		return nil
	}
	// Escapes: only now is the string copied character by character.
	out, lone, ok := appendUnescaped(append(s.out, '"'), s.in[begin:i])
	if !ok {
		return s.fail("a string has an invalid escape")
	}
	if lone && !isValue {
		return s.fail("the name of a member contains half of a surrogate pair")
	}
	s.out, s.pos = append(out, '"'), i+1
	return nil
}

// Canonical returns the canonical form (RFC 8785) of one JSON text.
func Canonical(text []byte) (string, error) {
	s := scanner{in: text}
	err := s.value()
	if err == nil {
		err = s.end()
	}
	return string(s.out), err
}

// sameButCase reports whether a program that ignores case takes name for want.
func sameButCase(name []byte, want string) bool {
	return string(name) != want && len(name) < 4*len(want) && strings.EqualFold(string(name), want)
}
