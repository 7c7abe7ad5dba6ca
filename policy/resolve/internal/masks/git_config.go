package masks

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/lazy"
)

// A setting is one line of a configuration of git: section.sub.key = value. Section and key
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

var (
	// gitHeader is [section], [section "sub"], or [section.sub], an old form.
	gitHeader = lazy.Regexp(`^\[([A-Za-z0-9.-]+)(?:[ \t]+"((?:[^"\\\n]|\\[^\n])*)")?\]`)
	gitKey    = lazy.Regexp(`^[A-Za-z][A-Za-z0-9-]*`)
	escaped   = lazy.Regexp(`\\(.)`)
)

// parseGitConfig reads a configuration as git-config(1) defines in "Syntax". With an error,
// it returns the settings before it; git itself stops there.
func parseGitConfig(data []byte) (settings []setting, err error) {
	text := bytes.ReplaceAll(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), []byte("\r\n"), []byte("\n"))
	p := gitParser{string(text)}
	var at setting
	for err == nil {
		p.skip(" \t\n\f\v\r")
		head, key := gitHeader().FindStringSubmatch(p.rest), gitKey().FindString(p.rest)
		switch {
		case p.rest == "":
			return settings, nil
		case p.rest[0] == '#' || p.rest[0] == ';':
			p.line()
		case head != nil:
			p.rest = p.rest[len(head[0]):]
			at.section, at.sub = strings.ToLower(head[1]), escaped().ReplaceAllString(head[2], "$1")
			if !strings.Contains(head[0], `"`) {
				at.section, at.sub, _ = strings.Cut(at.section, ".")
			}
		case key != "":
			p.rest = p.rest[len(key):]
			at.key = strings.ToLower(key)
			if at.value, err = p.setting(); err == nil {
				settings = append(settings, at)
			}
		default:
			err = errors.New("there is neither a section nor a setting")
		}
	}
	return settings, fmt.Errorf("line %d: %w", 1+strings.Count(string(text[:len(text)-len(p.rest)]), "\n"), err)
}

// A gitParser has the rest of a configuration.
type gitParser struct{ rest string }

func (p *gitParser) skip(set string) { p.rest = strings.TrimLeft(p.rest, set) }

func (p *gitParser) line() { _, p.rest, _ = strings.Cut(p.rest, "\n") }

// next returns the next byte. A configuration ends like a line.
func (p *gitParser) next() byte {
	if p.rest == "" {
		return '\n'
	}
	c := p.rest[0]
	p.rest = p.rest[1:]
	return c
}

// setting reads the rest of a line after a key, and returns the value. Without a "=" it is true.
func (p *gitParser) setting() (string, error) {
	p.skip(" \t")
	switch p.next() {
	case '\n':
		return "true", nil
	case '=':
		p.skip(" \t")
		return p.value()
	}
	return "", errors.New("there is no \"=\" after a name")
}

// value reads to the end of the line, or continues after a backslash at its end. Unquoted
// spaces at the end do not count, nor do comments.
func (p *gitParser) value() (string, error) {
	var value []byte
	quoted, length := false, 0 // up to the last byte that is no unquoted space
	for {
		c := p.next()
		switch {
		case c == '\n' && quoted:
			return "", errors.New("a quoted value does not end")
		case c == '\n':
			return string(value[:length]), nil
		case !quoted && (c == '#' || c == ';'):
			p.line()
			return string(value[:length]), nil
		case c == '"':
			quoted, length = !quoted, len(value)
			continue
		case c == '\\':
			if c = p.next(); c == '\n' {
				continue
			}
			i := strings.IndexByte(`ntb"\`, c)
			if i < 0 {
				return "", errors.New("a backslash precedes a character that git does not escape")
			}
			value = append(value, "\n\t\b\"\\"[i])
			length = len(value)
			continue
		}
		value = append(value, c)
		if quoted || !strings.ContainsRune(" \t\r\f\v", rune(c)) {
			length = len(value)
		}
	}
}
