package edit

import (
	"bytes"
	"fmt"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"
)

// MaxSize is the size of the largest file that Parse reads, in bytes, and of the largest outline that
// ParseLarge makes.
const MaxSize = 5 << 20

// maxDepth bounds the nesting of values. The parsers recurse.
const maxDepth = 500

// Format is the language of a file.
type Format int

const (
	JSON Format = iota + 1 // with comments and trailing commas
	TOML
	YAML
)

// FormatOf returns the format that the ending of a file's name stands for, or 0.
func FormatOf(name string) Format {
	switch strings.ToLower(path.Ext(name)) {
	case ".json", ".jsonc":
		return JSON
	case ".toml":
		return TOML
	case ".yaml", ".yml":
		return YAML
	}
	return 0
}

func (f Format) String() string {
	switch f {
	case JSON:
		return "JSON"
	case TOML:
		return "TOML"
	case YAML:
		return "YAML"
	}
	return "Format(" + strconv.Itoa(int(f)) + ")"
}

// A File is a parsed configuration file.
type File struct {
	format Format
	src    []byte // its text, or its outline
	root   *node  // nil if the file holds no value

	whole []byte // its text, if src is its outline
	cuts  []cut  // what the outline leaves out, in order
}

// A SyntaxError reports a file that is not in its format.
type SyntaxError struct {
	Format Format
	Line   int // 0 if the parser names none
	Reason string
}

func (e *SyntaxError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("the file is not valid %s: %s", e.Format, e.Reason)
	}
	return fmt.Sprintf("line %d: the file is not valid %s: %s", e.Line, e.Format, e.Reason)
}

const byteOrderMark = "\ufeff"

// Parse reads a file. It keeps src, which must not change afterwards. An empty file has no
// servers. The error is a [*SyntaxError] or an [*AmbiguousError].
func Parse(format Format, src []byte) (*File, error) { return ParseLarge(format, src, nil) }

// ParseLarge reads a file as Parse does. Of a JSON file of more than MaxSize bytes it looks only at the
// tables at some paths, in which "*" stands for every key: other values seem to be empty if they are
// long. The time and memory for the rest of the file are those of reading its bytes.
func ParseLarge(format Format, src []byte, tables [][]string) (*File, error) {
	return parseUpTo(MaxSize, format, src, tables)
}

func parseUpTo(most int, format Format, src []byte, tables [][]string) (*File, error) {
	f := &File{format: format, src: src}
	if len(src) > most && (format != JSON || tables == nil) {
		return nil, f.syntax(0, "it has %d bytes, and mcp-jail edits %s of at most %d", len(src), format, most)
	}
	if !utf8.Valid(src) {
		return nil, f.syntax(f.line(validPrefix(src)), "it has bytes that are not UTF-8")
	}
	if len(bytes.TrimSpace(f.text())) == 0 {
		return f, nil
	}
	if doubt := f.checkText(); doubt != nil {
		return nil, doubt
	}
	if len(src) > most {
		if err := f.outline(tables); err != nil {
			return nil, err
		}
		if len(f.src) > most {
			return nil, f.syntax(0, "its tables of servers and short values have %d bytes, and mcp-jail edits at most %d", len(f.src), most)
		}
	}
	if err := f.parse(); err != nil {
		return nil, err
	}
	return f, nil
}

func (f *File) parse() (err error) {
	switch f.format {
	case JSON:
		f.root, err = f.parseJSON()
	case TOML:
		f.root, err = f.parseTOML()
	case YAML:
		f.root, err = f.parseYAML()
	default:
		err = f.syntax(0, "the format is not known")
	}
	return err
}

func validPrefix(src []byte) int {
	n := 0
	for n < len(src) {
		r, size := utf8.DecodeRune(src[n:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		n += size
	}
	return n
}

// text returns the file without its byte order mark, which is skipped bytes long.
func (f *File) text() []byte { return f.src[f.skipped():] }

func (f *File) skipped() int {
	if bytes.HasPrefix(f.src, []byte(byteOrderMark)) {
		return len(byteOrderMark)
	}
	return 0
}

// IsOutline reports whether some values of the file were not looked at.
func (f *File) IsOutline() bool { return f.cuts != nil }

func (f *File) line(offset int) int {
	c := lineCounter{src: f.src, cuts: f.cuts}
	return c.at(offset)
}

func (f *File) syntax(line int, format string, args ...any) error {
	return &SyntaxError{Format: f.format, Line: line, Reason: fmt.Sprintf(format, args...)}
}

// A lineCounter turns offsets that mostly grow into line numbers.
type lineCounter struct {
	src          []byte
	cuts         []cut
	offset, line int
	passed       int // the number of cuts before offset
}

func (c *lineCounter) at(offset int) int {
	if offset < c.offset || c.line == 0 {
		c.offset, c.line, c.passed = 0, 1, 0
	}
	for ; c.passed < len(c.cuts) && c.cuts[c.passed].at < offset; c.passed++ {
		c.line += c.cuts[c.passed].lines
	}
	c.line += bytes.Count(c.src[c.offset:offset], []byte{'\n'})
	c.offset = offset
	return c.line
}
