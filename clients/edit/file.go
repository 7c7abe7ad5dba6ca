package edit

import (
	"bytes"
	"fmt"
	"path"
	"strconv"
	"strings"
	"unicode/utf8"
)

// maxSize is the size of the largest file that Parse reads, in bytes, and maxJSON that of one of JSON, in which
// clients keep much else. maxValues bounds the memory for what that is parsed into.
const (
	maxSize   = 5 << 20
	maxJSON   = 64 << 20
	maxValues = 1_000_000
)

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
	return map[string]Format{".json": JSON, ".jsonc": JSON, ".toml": TOML, ".yaml": YAML, ".yml": YAML}[strings.ToLower(path.Ext(name))]
}

func (f Format) String() string {
	return map[Format]string{JSON: "JSON", TOML: "TOML", YAML: "YAML"}[f]
}

// A File is a parsed configuration file.
type File struct {
	format Format
	src    []byte
	root   node
}

// A Fault is why mcp-jail does not change a server, or that clients read a place of a file in different
// ways: what mcp-jail finds there may not be what a client starts.
type Fault struct {
	Server       string   // the server that is not changed, or ""
	Path         []string // of its entry
	Line, Column int      // 0 if that is not known; Column counts characters, from 1
	Reason       string
	Fix          string // what the user can do; may be empty

	offset int
}

func (e *Fault) Error() string {
	text := ""
	if e.Server != "" {
		text = "the server " + strconv.Quote(e.Server) + " is not changed: "
	}
	if e.Line > 0 {
		text += "line " + strconv.Itoa(e.Line)
		if e.Column > 0 {
			text += ", column " + strconv.Itoa(e.Column)
		}
		text += ": "
	}
	text += e.Reason
	if e.Fix != "" {
		text += "; " + e.Fix
	}
	return text
}

// placed returns a fault with its line and column.
func (f *File) placed(e *Fault) *Fault {
	placed, before := *e, f.src[:max(e.offset, 0)]
	placed.Line = 1 + bytes.Count(before, []byte{'\n'})
	placed.Column = 1 + utf8.RuneCount(before[1+bytes.LastIndexByte(before, '\n'):])
	return &placed
}

const byteOrderMark = "\ufeff"

// Parse reads a file. It keeps src, which must not change afterwards. An empty file has no servers. The
// error is a [*Fault] if clients read the text in different ways.
func Parse(format Format, src []byte) (*File, error) {
	f := &File{format: format, src: src}
	if err := f.parse(); err != nil {
		return nil, err
	}
	_, err := f.decode() // what other parsers refuse is not edited
	return f, err
}

func (f *File) parse() error {
	most := maxSize
	if f.format == JSON {
		most = maxJSON
	}
	if len(f.src) > most {
		return f.syntax(0, "it has %d bytes, and mcp-jail edits %s of at most %d", len(f.src), f.format, most)
	}
	if !utf8.Valid(f.src) {
		valid := bytes.ToValidUTF8(f.src, []byte("\n"))
		same := 0
		for f.src[same] == valid[same] {
			same++
		}
		return f.syntax(1+bytes.Count(f.src[:same], []byte{'\n'}), "it has bytes that are not UTF-8")
	}
	if len(bytes.TrimSpace(f.text())) == 0 {
		return nil
	}
	switch f.format {
	case JSON:
		return f.parseJSON()
	case TOML:
		return f.parseTOML()
	case YAML:
		return f.parseYAML()
	}
	return f.syntax(0, "the format is not known")
}

// text returns the file without its byte order mark, which is skipped bytes long.
func (f *File) text() []byte { return f.src[f.skipped():] }

func (f *File) skipped() int {
	if bytes.HasPrefix(f.src, []byte(byteOrderMark)) {
		return len(byteOrderMark)
	}
	return 0
}

func (f *File) syntax(line int, format string, args ...any) error {
	text := fmt.Sprintf("the file is not valid %s: %s", f.format, fmt.Sprintf(format, args...))
	if line > 0 {
		text = fmt.Sprintf("line %d: %s", line, text)
	}
	return fmt.Errorf("%s", text)
}
