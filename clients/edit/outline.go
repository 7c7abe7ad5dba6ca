package edit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// An outline is a JSON file without its long values outside of the tables of servers. Such values make
// up most of a large file: a client keeps what was said in past sessions there. In their place are empty
// values of the same kind, so that keys, tables and servers are what they are in the file.

// A cut is a value that an outline leaves out.
type cut struct {
	at         int // the offset of the empty value in the outline
	start, end int // of the value in the file
	lines      int // the line ends in the value
}

const (
	emptyValue = 2  // the length of {}, [] and ""
	leastCut   = 64 // the length of the shortest value that is left out
)

// extra is how many bytes of the file the outline lacks there.
func (c cut) extra() int { return c.end - c.start - emptyValue }

// inWhole returns the offset in the file of an offset in its outline.
func (f *File) inWhole(offset int) int {
	whole := offset
	for _, c := range f.cuts {
		if offset < c.at+emptyValue {
			break
		}
		whole += c.extra()
	}
	return whole
}

// spliceWhole makes the splices of an outline in the file itself.
func (f *File) spliceWhole(all []splice) ([]byte, error) {
	if f.cuts == nil {
		return splices(f.src, all), nil
	}
	var mapped []splice
	for _, s := range all {
		if slices.ContainsFunc(f.cuts, func(c cut) bool { return s.start < c.at+emptyValue && c.at < s.end }) {
			return nil, f.syntax(f.line(s.start), "a change would touch a value that is not looked at")
		}
		mapped = append(mapped, splice{f.inWhole(s.start), f.inWhole(s.end), s.text})
	}
	return splices(f.whole, mapped), nil
}

// cutLines returns how many lines of the file its outline lacks before one of its lines.
func (f *File) cutLines(line int) (lines int) {
	at := 0
	for range line {
		next := bytes.IndexByte(f.src[at:], '\n')
		if next < 0 {
			break
		}
		at += next + 1
	}
	for _, c := range f.cuts {
		if c.at < at {
			lines += c.lines
		}
	}
	return lines
}

// outline makes the outline of a JSON file. keep are the paths of the tables that it has in full.
func (f *File) outline(keep [][]string) error {
	o := outliner{file: f, src: f.src}
	at, err := o.blanks(f.skipped())
	if err != nil {
		return err
	}
	if at, err = o.value(at, keep, slices.ContainsFunc(keep, func(p []string) bool { return len(p) == 0 }), 1); err != nil {
		return err
	}
	if at, err = o.blanks(at); err != nil {
		return err
	}
	if at < len(o.src) {
		return o.fail(at, "there is more than one value")
	}
	var text []byte
	from := 0
	for i, c := range o.cuts {
		text = append(text, o.src[from:c.start]...)
		o.cuts[i].at, o.cuts[i].lines = len(text), bytes.Count(o.src[c.start:c.end], []byte{'\n'}) // here, no byte counts twice
		text, from = append(text, o.empty(c.start)...), c.end
	}
	if o.cuts != nil {
		f.whole, f.src, f.cuts = f.src, append(text, o.src[from:]...), o.cuts
	}
	return nil
}

// An outliner finds the values to leave out. It accepts JSON with comments and trailing commas, as the
// parser of the outline does.
type outliner struct {
	file *File
	src  []byte
	cuts []cut
}

func (o *outliner) fail(at int, format string, args ...any) error {
	return o.file.syntax(1+bytes.Count(o.src[:at], []byte{'\n'}), format, args...)
}

func (o *outliner) empty(at int) string {
	switch o.src[at] {
	case '{':
		return "{}"
	case '[':
		return "[]"
	}
	return `""`
}

// blanks returns the offset after blanks and comments.
func (o *outliner) blanks(i int) (int, error) {
	for i < len(o.src) {
		switch c := o.src[i]; c {
		case ' ', '\t', '\r', '\n':
			i++
		case '/':
			end := endOfComment(o.src, i)
			if end == i || bytes.HasPrefix(o.src[i:], []byte("/*")) && !bytes.HasSuffix(o.src[i+2:end], []byte("*/")) {
				return i, o.fail(i, "a comment is not closed, or a slash is out of place")
			}
			i = end
		default:
			return i, nil
		}
	}
	return i, nil
}

// value returns the offset after the value at i. keep are the paths below it that the outline has in
// full, and whole reports that it has all of it.
func (o *outliner) value(i int, keep [][]string, whole bool, depth int) (int, error) {
	switch {
	case depth > maxDepth:
		return i, o.fail(i, "it is nested more than %d levels deep", maxDepth)
	case i == len(o.src):
		return i, o.fail(i, "it ends early")
	}
	start, cuts := i, len(o.cuts)
	end, err := i, error(nil)
	switch c := o.src[i]; {
	case c == '{':
		end, err = o.members(i, keep, whole, depth)
	case c == '[':
		end, err = o.items(i, whole, depth)
	case c == '"':
		end, err = o.text(i)
	default:
		return o.scalar(i)
	}
	if err == nil && !whole && keep == nil && end-start >= leastCut {
		o.cuts = append(o.cuts[:cuts], cut{start: start, end: end})
	}
	return end, err
}

func (o *outliner) members(i int, keep [][]string, whole bool, depth int) (end int, err error) {
	for i++; ; {
		if i, err = o.blanks(i); err != nil {
			return i, err
		}
		if i < len(o.src) && o.src[i] == '}' {
			return i + 1, nil
		}
		if i == len(o.src) || o.src[i] != '"' {
			return i, o.fail(i, "a key is missing")
		}
		nameEnd, err := o.text(i)
		if err != nil {
			return i, err
		}
		below, all := o.below(o.src[i:nameEnd], keep, whole)
		if i, err = o.blanks(nameEnd); err != nil {
			return i, err
		}
		if i == len(o.src) || o.src[i] != ':' {
			return i, o.fail(i, "a colon is missing after a key")
		}
		if i, err = o.blanks(i + 1); err != nil {
			return i, err
		}
		if i, err = o.value(i, below, all, depth+1); err != nil {
			return i, err
		}
		done := false
		if i, done, err = o.separator(i, '}'); done || err != nil {
			return i, err
		}
	}
}

// below returns the paths that go on below a key.
func (o *outliner) below(name []byte, keep [][]string, whole bool) (paths [][]string, all bool) {
	if whole || keep == nil {
		return nil, whole
	}
	var key string
	_ = json.Unmarshal(name, &key) // the text was looked at
	for _, path := range keep {
		if len(path) > 0 && (path[0] == "*" || path[0] == key) {
			if paths = append(paths, path[1:]); len(path) == 1 {
				return nil, true
			}
		}
	}
	return paths, false
}

func (o *outliner) items(i int, whole bool, depth int) (end int, err error) {
	for i++; ; {
		if i, err = o.blanks(i); err != nil {
			return i, err
		}
		if i < len(o.src) && o.src[i] == ']' {
			return i + 1, nil
		}
		if i, err = o.value(i, nil, whole, depth+1); err != nil {
			return i, err
		}
		done := false
		if i, done, err = o.separator(i, ']'); done || err != nil {
			return i, err
		}
	}
}

// separator returns the offset after the comma, or the closing bracket, that follows a value.
func (o *outliner) separator(i int, closing byte) (end int, done bool, err error) {
	if i, err = o.blanks(i); err != nil {
		return i, false, err
	}
	switch {
	case i < len(o.src) && o.src[i] == closing:
		return i + 1, true, nil
	case i < len(o.src) && o.src[i] == ',':
		return i + 1, false, nil
	}
	return i, false, o.fail(i, "a comma or %q is missing after a value", closing)
}

// text returns the offset after the string at i.
func (o *outliner) text(i int) (int, error) {
	for at := i + 1; at < len(o.src); at++ {
		switch c := o.src[at]; {
		case c == '"':
			return at + 1, nil
		case c < ' ':
			return at, o.fail(at, "a control character is in a string")
		case c == '\\':
			if at++; at == len(o.src) || strings.IndexByte(`"\/bfnrtu`, o.src[at]) < 0 || o.src[at] == 'u' && !isHex(o.src[at+1:]) {
				return at, o.fail(min(at, len(o.src)), "a backslash begins no escape")
			}
		}
	}
	return i, o.fail(i, "a string is not closed")
}

func isHex(digits []byte) bool {
	if len(digits) < 4 {
		return false
	}
	for _, d := range digits[:4] {
		if (d < '0' || d > '9') && (d|0x20 < 'a' || d|0x20 > 'f') {
			return false
		}
	}
	return true
}

// scalar returns the offset after the number, boolean or null at i.
func (o *outliner) scalar(i int) (int, error) {
	end := i
	for end < len(o.src) && strings.IndexByte(" \t\r\n,]}/:\"[{", o.src[end]) < 0 {
		end++
	}
	if !json.Valid(o.src[i:end]) {
		return i, o.fail(i, "%s is not a value", shortened(o.src[i:end]))
	}
	return end, nil
}

func shortened(text []byte) string {
	const most = 20
	if len(text) > most {
		return fmt.Sprintf("%q…", text[:most])
	}
	return fmt.Sprintf("%q", text)
}
