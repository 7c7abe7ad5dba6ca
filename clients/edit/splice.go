package edit

import (
	"bytes"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
)

// A splicer turns a change into splices. Its methods return why that is not possible.
type splicer struct {
	file    *File
	server  *Server
	change  *Change
	splices []splice
}

func (p *splicer) src() []byte { return p.file.src }

func (p *splicer) add(start, end int, text string) {
	if start != end || text != "" {
		p.splices = append(p.splices, splice{start, end, text})
	}
}

func (p *splicer) splice(c *Change) error {
	p.change = c
	if err := c.check(p.file); err != nil {
		return err
	}
	if c.Drop == 0 && len(c.Words) == 0 {
		return nil
	}
	if err := p.words(); err != nil {
		return err // a nil *RefusedError would not be a nil error
	}
	return nil
}

// words decides how many arguments go, and what comes before the others.
func (p *splicer) words() *RefusedError {
	c, s := p.change, p.server
	program := s.command.value
	var texts []string
	for _, word := range c.Words {
		if program.plain && isPlain(word) {
			texts = append(texts, word)
		} else {
			texts = append(texts, p.file.quote(word))
		}
	}
	if s.List {
		return p.replaceHead(program, c.Drop, texts)
	}
	drop := c.Drop
	// Without new words, the first word that stays becomes the program. With them, an old program
	// that stays becomes an argument.
	if len(texts) == 0 {
		raw, err := p.raw(s.args.value.items[drop-1], false)
		if err != nil {
			return err
		}
		texts = []string{raw}
	} else if drop == 0 {
		raw, err := p.raw(program, s.args == nil || s.args.value.flow)
		if err != nil {
			return err
		}
		texts = append(texts, raw)
	} else {
		drop--
	}
	// A scalar without a known end cannot be replaced in place.
	if program.end < 0 {
		return p.refuseSpelling(program)
	}
	p.add(program.start, program.end, texts[0])
	switch texts = texts[1:]; {
	case s.args == nil && len(texts) == 0:
		return nil
	case s.args == nil:
		return p.insertArgs(texts)
	case len(texts) == 0 && drop == len(s.args.value.items) && p.isInserted():
		return p.removeArgs()
	}
	return p.replaceHead(s.args.value, drop, texts)
}

// raw returns the spelling of a word that moves. In a list between brackets, YAML gives
// some characters another meaning.
func (p *splicer) raw(n *node, intoFlow bool) (string, *RefusedError) {
	if n.kind != isText {
		return "", p.refuse(n, "the program would be "+n.kind.String()+", and has to be a string", "")
	}
	if n.end < 0 {
		return "", p.refuseSpelling(n)
	}
	raw := string(p.src()[n.start:n.end])
	if n.plain && intoFlow && strings.ContainsAny(raw, ",[]{}") {
		return "", p.refuse(n, "the program has a bracket or comma and no quotes", "put it between double quotes")
	}
	return raw, nil
}

func (p *splicer) refuse(n *node, reason, fix string) *RefusedError {
	return p.change.refuse(n.line, reason, fix)
}

func (p *splicer) refuseSpelling(n *node) *RefusedError {
	return p.refuse(n, "the program is a block scalar, has a tag or an anchor, or goes on in another line", "write it in one line, between double quotes")
}

// replaceHead replaces the first drop words of a list by texts.
func (p *splicer) replaceHead(list *node, drop int, texts []string) *RefusedError {
	if drop == 0 && len(texts) == 0 {
		return nil
	}
	for _, item := range list.items[:min(drop+1, len(list.items))] {
		if item.start < 0 {
			return p.refuse(item, "the place of a word was not found", "")
		}
	}
	if !list.flow {
		return p.replaceBlockHead(list, drop, texts)
	}
	if list.start < 0 || p.src()[list.start] != '[' {
		return p.refuse(list, "the list does not begin with a bracket", "write it without tag and anchor")
	}
	if len(list.items) == 0 {
		p.add(list.start+1, list.start+1, strings.Join(texts, ", "))
		return nil
	}
	// Cut up to the next word, with the separators and comments between.
	from := list.items[0].start
	if drop < len(list.items) {
		text := ""
		if len(texts) > 0 {
			before, between := p.separators(list)
			text = strings.Join(texts, between) + before
		}
		p.add(from, list.items[drop].start, text)
		return nil
	}
	// All words go: cut up to the end of the last, and take its comma along if nothing follows.
	last := list.items[drop-1]
	if last.end < 0 {
		return p.refuseSpelling(last)
	}
	p.add(from, last.end, strings.Join(texts, ", "))
	if comma := p.skipExtra(last.end); len(texts) == 0 && comma < len(p.src()) && p.src()[comma] == ',' {
		p.add(comma, comma+1, "")
	}
	return nil
}

func (p *splicer) separators(list *node) (before, between string) {
	src, first := p.src(), list.items[0].start
	if space := src[len(bytes.TrimRight(src[:first], " \t")):first]; first > len(space) && src[first-len(space)-1] == '\n' {
		return "," + lineEnd(src, first-len(space)) + string(space), ", "
	}
	comma := list.items[0].end
	// A list of one word shows no separator: the colon before the list tells the style.
	compact := list.start > 0 && src[list.start-1] == ':'
	if len(list.items) > 1 {
		compact = comma >= 0 && comma+1 == list.items[1].start
	}
	if compact {
		return ",", ","
	}
	return ", ", ", "
}

func lineEnd(src []byte, offset int) string {
	if bytes.HasSuffix(src[:offset], []byte("\r\n")) {
		return "\r\n"
	}
	return "\n"
}

func (p *splicer) replaceBlockHead(list *node, drop int, texts []string) *RefusedError {
	src, dash := p.src(), list.start
	indent := linePrefix(src, max(dash, 0))
	if dash < 0 || src[dash] != '-' || strings.Trim(indent, " ") != "" {
		return p.refuse(list, "the first dash of the list is not on a line by itself", "write the list between brackets, or each word on its own line after a dash")
	}
	newline := lineEnd(src, dash-len(indent))
	between := newline + indent
	if drop < len(list.items) {
		// The first new word takes over the dash of the first old one.
		to := dash
		if drop > 0 {
			item := list.items[drop].start
			to = len(bytes.TrimRight(src[:item], " \t")) - 1
			if to < dash || src[to] != '-' || linePrefix(src, to) != indent {
				return p.refuse(list.items[drop], "the word is not directly after its dash", "write it there")
			}
		}
		text := ""
		for _, t := range texts {
			text += "- " + t + between
		}
		p.add(dash, to, text)
		return nil
	}
	last := list.items[drop-1]
	if last.end < 0 {
		return p.refuseSpelling(last)
	}
	if len(texts) > 0 {
		p.add(dash, last.end, "- "+strings.Join(texts, between+"- "))
		return nil
	}
	// A block list cannot be empty: it becomes [] after the colon of its key.
	colon := len(bytes.TrimRight(src[:dash], " \t\r\n"))
	if colon == 0 || src[colon-1] != ':' {
		return p.refuse(list, "a comment stands before the first word, and the list would be empty", "remove the comment")
	}
	p.add(colon, last.end, " []")
	return nil
}

func linePrefix(src []byte, offset int) string {
	return string(src[bytes.LastIndexByte(src[:offset], '\n')+1 : offset])
}

// skipExtra returns the offset of the next byte that is neither blank nor in a comment.
func (p *splicer) skipExtra(at int) int {
	src := p.src()
	for at < len(src) {
		switch c := src[at]; {
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			at++
		case c == '#' && p.file.format != JSON:
			for at < len(src) && src[at] != '\n' {
				at++
			}
		case c == '/' && p.file.format == JSON && endOfComment(src, at) > at:
			at = endOfComment(src, at)
		default:
			return at
		}
	}
	return at
}

func (f *File) quote(word string) string {
	if f.format == JSON {
		return show.Item("json", word)
	}
	return show.TOML(word) // which YAML reads alike
}

// isPlain reports whether a word needs no quotes in YAML: every reader of YAML 1.1 and 1.2 takes
// it for that string. It is strict: quotes are never wrong.
func isPlain(word string) bool {
	rest := strings.TrimPrefix(word, "--")
	for i, r := range rest {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '/'
		if !letter && (i == 0 || !strings.ContainsRune("0123456789-_.=@+", r)) {
			return false
		}
	}
	switch strings.ToLower(rest) {
	case "", "y", "n", "yes", "no", "on", "off", "true", "false", "null", "nan", "inf":
		return false
	}
	return true
}
