package edit

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/mcp-jail/mcp-jail/internal/diff"
)

// A Change replaces the first Drop words of a server's command line with Words. At least one word must
// be left.
type Change struct {
	Server Server // from [File.Servers] of the same file
	Drop   int
	Words  []string
}

// Apply returns the file with all changes made. If one of them cannot be made safely, none
// is, and the error is a [*RefusedError] for the first such server. The file f itself does
// not change.
func (f *File) Apply(changes ...Change) ([]byte, error) {
	all, inverse, err := f.splicesOf(changes)
	if err != nil {
		return nil, err
	}
	if len(changes) > 0 {
		result := splices(f.src, all)
		if err := f.verify(result, changes); err != nil {
			return nil, err
		}
		if inverse && len(all) > 0 {
			if err := f.verifyInverse(result, changes); err != nil {
				return nil, err
			}
		}
	}
	return f.spliceWhole(all)
}

// splicesOf returns the splices of some changes, and whether the changes only add words.
func (f *File) splicesOf(changes []Change) (all []splice, inverse bool, err error) {
	inverse = true
	for i := range changes {
		c := &changes[i]
		p := splicer{file: f, server: &c.Server}
		if err := p.splice(c); err != nil {
			return nil, false, err
		}
		for _, s := range p.splices {
			if slices.ContainsFunc(all, s.overlaps) {
				return nil, false, c.refuse(0, "two changes name it", "")
			}
		}
		all = append(all, p.splices...)
		// What only adds words must be undone to the byte by removing them.
		inverse = inverse && c.Drop == 0
	}
	return all, inverse, nil
}

// Diff returns the unified diff of the changes, or "" if they cannot be made; see the function
// [Diff]. What a large file has outside of its tables of servers is shown as empty values.
func (f *File) Diff(name string, context int, changes ...Change) string {
	all, _, err := f.splicesOf(changes)
	if err != nil {
		return ""
	}
	return diff.Format{Context: context, Skipped: f.cutLines}.Unified(name, f.src, splices(f.src, all))
}

// verify returns why the second parser does not find in a result what it should: the words of each change, and
// else the values of before.
func (f *File) verify(result []byte, changes []Change) error {
	was, err := f.format.decode(f.src)
	if err != nil {
		return f.syntax(lineOf(err), "%s", err)
	}
	c := &changes[0]
	got, err := f.format.decode(result)
	if err != nil {
		return c.refuse(lineOf(err), "the file would not be valid "+f.format.String()+" any more ("+err.Error()+")", "put the program between double quotes in one line")
	}
	for i := range changes {
		c := &changes[i]
		var before, after []any
		if was, before, err = c.Server.cut(was); err != nil || !c.Server.finds(before) {
			return c.refuse(c.Server.Line, "the two parsers of mcp-jail read it differently", "change it by hand, and please report the file's form")
		}
		if got, after, err = c.Server.cut(got); err != nil || !c.isMade(before, after) {
			return c.refuse(0, "the changed file would not say what it should", "change it by hand, and please report the file's form")
		}
	}
	if !sameValue(got, was) {
		return c.refuse(0, "the changed file would not say what it should", "change it by hand, and please report the file's form")
	}
	return nil
}

func (f *File) verifyInverse(result []byte, changes []Change) error {
	g := &File{format: f.format, src: result}
	err := g.parse()
	if err != nil {
		return changes[0].refuse(0, "the changed file could not be read again: "+err.Error(), "")
	}
	back := make([]Change, len(changes))
	for i := range changes {
		s, err := g.again(&changes[i].Server)
		if err != nil {
			return changes[i].refuse(0, err.Error(), "")
		}
		back[i] = Change{Server: s, Drop: len(changes[i].Words)}
	}
	original, err := g.Apply(back...)
	if err != nil {
		return err
	}
	if !bytes.Equal(original, f.src) {
		return changes[0].refuse(0, "the change could not be undone exactly", "change it by hand, and please report the file's form")
	}
	return nil
}

func (f *File) again(s *Server) (Server, error) {
	for _, other := range f.Servers(s.table) {
		if slices.Equal(other.Path, s.Path) {
			return other, nil
		}
	}
	return Server{}, fmt.Errorf("it would not be found any more")
}

func (c *Change) refuse(line int, reason, fix string) *RefusedError {
	name := c.Server.Name
	if name == "" {
		name = strings.Join(c.Server.Path, ".")
	}
	return &RefusedError{Server: name, Line: line, Reason: reason, Fix: fix}
}

func (c *Change) check(f *File) *RefusedError {
	s := &c.Server
	switch {
	case s.file != f:
		return c.refuse(0, "it is not a server of this file", "read the servers of the file again")
	case s.Refused != nil:
		return s.Refused
	case s.Ambiguous != nil && len(c.Words) > 0:
		return c.refuse(s.Ambiguous.Line, s.Ambiguous.Reason, s.Ambiguous.Fix)
	case c.Drop < 0 || c.Drop > len(s.Words) || c.Drop == len(s.Words) && len(c.Words) == 0:
		return c.refuse(s.Line, fmt.Sprintf("%d words in front of its command line cannot be removed, because it has %d", c.Drop, len(s.Words)), "")
	case len(c.Words) > 0 && c.Words[0] == "":
		return c.refuse(s.Line, "the new program has no name", "")
	}
	for _, word := range c.Words {
		if !utf8.ValidString(word) || strings.ContainsRune(word, 0) {
			return c.refuse(s.Line, "the new word "+strconv.Quote(word)+" is not text", "")
		}
	}
	return nil
}

// A splice replaces the bytes from start to end.
type splice struct {
	start, end int
	text       string
}

// overlaps reports whether two splices touch the same bytes, or insert at the same place.
func (s splice) overlaps(t splice) bool {
	return s.start < t.end && t.start < s.end || s.start == t.start && s.end == t.end
}

func splices(src []byte, all []splice) []byte {
	slices.SortStableFunc(all, func(a, b splice) int {
		if a.start != b.start {
			return a.start - b.start
		}
		return a.end - b.end
	})
	size := len(src)
	for _, s := range all {
		size += len(s.text)
	}
	out := make([]byte, 0, size)
	at := 0
	for _, s := range all {
		out = append(append(out, src[at:s.start]...), s.text...)
		at = s.end
	}
	return append(out, src[at:]...)
}

// Diff returns the unified diff of two versions of a file, or "" if they are equal. context is
// the number of equal lines around each change. The lines may hold secrets of the file, and are not
// safe for a terminal.
func Diff(name string, before, after []byte, context int) string {
	return diff.Format{Context: context}.Unified(name, before, after)
}
