package git

import (
	"bytes"
	"fmt"
	"strings"
)

// A setting is one line of a git configuration: section.sub.key = value. Section and key
// are in lower case.
type setting struct{ section, sub, key, value string }

func (s setting) name() string {
	name := s.key
	if s.sub != "" {
		name = s.sub + "." + name
	}
	if s.section != "" {
		name = s.section + "." + name
	}
	return name
}

// parseConfig reads a configuration as git-config(1) defines in "Syntax". With an error,
// it returns the settings before it; git itself stops there.
func parseConfig(data []byte) (settings []setting, err error) {
	p := parser{rest: bytes.ReplaceAll(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), []byte("\r\n"), []byte("\n")), line: 1}
	var at setting
	for {
		p.skip(" \t\n\f\v\r")
		c := p.next()
		switch {
		case c == 0:
			return settings, nil
		case c == '#' || c == ';':
			p.until('\n')
		case c == '[':
			at.section, at.sub, err = p.header()
		case isLetter(c):
			at.key = p.key(c)
			at.value, err = p.setting()
			if err == nil {
				settings = append(settings, at)
			}
		default:
			err = fmt.Errorf("unexpected character %q", string(rune(c)))
		}
		if err != nil {
			return settings, fmt.Errorf("line %d: %w", p.line, err)
		}
	}
}

type parser struct {
	rest []byte
	line int
}

// next returns the next byte, 0 at the end. A NUL byte is returned as 1, which no
// configuration contains.
func (p *parser) next() byte {
	if len(p.rest) == 0 {
		return 0
	}
	c := p.rest[0]
	p.rest = p.rest[1:]
	if c == '\n' {
		p.line++
	}
	return max(c, 1)
}

func (p *parser) peek() byte {
	if len(p.rest) == 0 {
		return 0
	}
	return max(p.rest[0], 1)
}

func (p *parser) skip(set string) {
	for len(p.rest) > 0 && strings.IndexByte(set, p.rest[0]) >= 0 {
		p.next()
	}
}

func (p *parser) until(end byte) {
	for c := p.next(); c != 0 && c != end; c = p.next() {
	}
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func isWord(c byte) bool { return isLetter(c) || '0' <= c && c <= '9' || c == '-' }

// header reads a section's name after its bracket. [a.B] is an old form of [a "b"].
func (p *parser) header() (section, sub string, err error) {
	var name []byte
	for {
		switch c := p.next(); {
		case isWord(c) || c == '.':
			name = append(name, c)
		case c == ']' && len(name) > 0:
			section, sub, _ = strings.Cut(strings.ToLower(string(name)), ".")
			return section, sub, nil
		case (c == ' ' || c == '\t') && len(name) > 0:
			sub, err = p.subsection()
			return strings.ToLower(string(name)), sub, err
		default:
			return "", "", fmt.Errorf("a section name does not end")
		}
	}
}

func (p *parser) subsection() (string, error) {
	p.skip(" \t")
	if p.next() != '"' {
		return "", fmt.Errorf("the name of a subsection has no quotes")
	}
	var sub []byte
	for {
		c := p.next()
		switch c {
		case 0, '\n':
			return "", fmt.Errorf("the name of a subsection does not end")
		case '"':
			if p.next() != ']' {
				return "", fmt.Errorf("text follows the name of a subsection")
			}
			return string(sub), nil
		case '\\':
			if c = p.next(); c == 0 || c == '\n' {
				return "", fmt.Errorf("the name of a subsection does not end")
			}
		}
		sub = append(sub, c)
	}
}

func (p *parser) key(first byte) string {
	name := []byte{first}
	for isWord(p.peek()) {
		name = append(name, p.next())
	}
	return strings.ToLower(string(name))
}

// setting reads the rest of a line after a key, and returns the value. Without a "=" it is true.
func (p *parser) setting() (string, error) {
	p.skip(" \t")
	switch c := p.next(); c {
	case 0, '\n':
		return "true", nil
	case '=':
		return p.value()
	default:
		return "", fmt.Errorf("there is no \"=\" after a name")
	}
}

// value reads to the end of the line, or continues after a backslash at its end. Unquoted
// spaces at the end do not count, nor do comments.
func (p *parser) value() (string, error) {
	p.skip(" \t")
	var value []byte
	quoted, length := false, 0 // up to the last byte that is no unquoted space
	for {
		c := p.next()
		switch {
		case c == 0 && quoted, c == '\n' && quoted:
			return "", fmt.Errorf("a quoted value does not end")
		case c == 0, c == '\n':
			return string(value[:length]), nil
		case !quoted && (c == '#' || c == ';'):
			p.until('\n')
			return string(value[:length]), nil
		case c == '"':
			quoted, length = !quoted, len(value)
			continue
		case c == '\\':
			switch c = p.next(); c {
			case '\n':
				continue
			case 'n', 't', 'b':
				c = map[byte]byte{'n': '\n', 't': '\t', 'b': '\b'}[c]
			case '"', '\\':
			default:
				return "", fmt.Errorf("a backslash precedes a character that git does not escape")
			}
			value = append(value, c)
			length = len(value)
			continue
		}
		value = append(value, c)
		if quoted || c != ' ' && c != '\t' && c != '\r' && c != '\f' && c != '\v' {
			length = len(value)
		}
	}
}
