package journal

import (
	"bufio"
	"errors"
	"io"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/undo/internal/object"
)

// A journal is text. Each line is a record: a word, and then fields in a fixed order, separated
// by single spaces. Names are quoted as in Go, since a name may have any byte. A line is
// appended in one write. Where a write was cut short, the next one begins with a newline: so one
// record is lost and no other. A reader leaves out lines that it cannot read, and says so. An
// empty line means nothing.

// The words that begin a record.
const (
	WordHead = "mcp-jail-undo-1" // the first line
	WordWas  = "was"             // what was at a path before its first change
	WordAnew = "anew"            // what was at a path that others have changed since an earlier record
	WordNow  = "now"             // what the server left at a path
	WordOpen = "open"            // the server changes a path again
	wordCall = "call"            // the records that follow belong to a call
	WordEnd  = "end"             // the jail has ended, and what it left is on record
	WordLeft = "left"            // the state of a file with several names, when the server removes one of them
	WordGap  = "gap"             // something is not on record
	WordFor  = "for"             // undo makes a file that stands for another one from now on
)

// MaxJournal is how many bytes the journals of a session have at most.
const MaxJournal = 32 << 20

// Record is one line of a journal.
type Record struct {
	Word  string
	At    int64 // when, in nanoseconds since 1970; not of wordOpen
	Path  string
	State object.State // of wordWas, wordAnew, wordNow, wordLeft and wordFor
	For   object.ID    // of wordFor
	Call  *Call        // of wordCall
	Head  *Head        // of wordHead
	Gap   *Gap         // of wordGap
}

// Gap is something that is not known of a session.
type Gap struct {
	Path string `json:"path,omitempty"` // "": anywhere
	Why  string `json:"why"`
}

// Call is a tools/call of a client.
type Call struct {
	Number int
	Tool   string
	Beside bool // other calls ran in the same process meanwhile
}

// Head says which server a journal is about, and where that server could write.
type Head struct {
	Server string
	Roots  []string // the directories and files that the server may write
	Undoes string   // the session that was undone, if the changes are those of an undo
}

// Append appends the record as a line.
func (r *Record) Append(b []byte) []byte {
	b = append(b, r.Word...)
	switch r.Word {
	case WordHead:
		b = appendInt(b, r.At)
		b = appendText(b, r.Head.Server)
		b = appendText(b, r.Head.Undoes)
		for _, root := range r.Head.Roots {
			b = appendText(b, root)
		}
	case WordWas, WordAnew, WordNow, WordLeft:
		b = appendInt(b, r.At)
		b = appendText(b, r.Path)
		b = appendState(b, &r.State)
	case WordFor:
		b = appendInt(b, r.At)
		b = appendText(b, r.Path)
		for _, n := range []int64{int64(r.For.Dev), int64(r.For.Ino), r.For.Birth} {
			b = appendInt(b, n)
		}
		b = appendState(b, &r.State)
	case WordOpen:
		b = appendText(b, r.Path)
	case wordCall:
		b = appendInt(b, r.At)
		b = appendInt(b, int64(r.Call.Number))
		b = append(b, ' ', '0')
		if r.Call.Beside {
			b[len(b)-1] = '1'
		}
		b = appendText(b, r.Call.Tool)
	case WordEnd:
		b = appendInt(b, r.At)
	case WordGap:
		b = appendInt(b, r.At)
		b = appendText(b, r.Gap.Path)
		b = appendText(b, r.Gap.Why)
	}
	return append(b, '\n')
}

func appendState(b []byte, s *object.State) []byte {
	b = append(b, ' ', byte(s.Kind))
	if s.Kind == object.None {
		return b
	}
	b = append(b, ' ')
	b = strconv.AppendUint(b, uint64(s.Mode|s.Masked<<12), 8)
	for _, n := range []int64{int64(s.UID), int64(s.GID), s.Size, s.Mtime, s.Ctime, int64(s.ID.Dev), int64(s.ID.Ino), s.ID.Birth, int64(s.Nlink), s.Data} {
		b = appendInt(b, n)
	}
	b = appendText(b, s.Target)
	return appendText(b, s.Lost)
}

func appendInt(b []byte, n int64) []byte { return strconv.AppendInt(append(b, ' '), n, 10) }

func appendText(b []byte, s string) []byte { return strconv.AppendQuote(append(b, ' '), s) }

// errNoHead is the error of a journal whose first line is no head. Without the head it is not known
// where the server could write.
var errNoHead = errors.New("its first line cannot be read")

// parseJournal returns the records of a journal. jail is the State.Jail of their states. damaged
// reports whether a line cannot be read.
func parseJournal(text io.Reader, jail int) (out []Record, damaged bool, err error) {
	in := bufio.NewReaderSize(text, 64<<10)
	paths := map[string]string{} // one copy of each path
	for {
		line, err := in.ReadString('\n')
		if err != nil && err != io.EOF {
			return nil, damaged, err
		}
		if line == "" {
			return out, damaged, nil
		}
		text, whole := strings.CutSuffix(line, "\n")
		if whole && text == "" {
			continue
		}
		r, ok := parseRecord(text, jail)
		switch {
		case !whole || !ok || (len(out) == 0) != (r.Word == WordHead):
			// A second head in the middle is as damaged as a first line that is none.
			if whole && len(out) == 0 {
				return nil, true, errNoHead
			}
			damaged = true
			continue
		case r.Path != "":
			if _, ok := paths[r.Path]; !ok {
				paths[r.Path] = r.Path
			}
			r.Path = paths[r.Path]
		}
		out = append(out, r)
	}
}

// fields takes fields from a line.
type fields struct {
	rest string
	bad  bool
}

func (f *fields) word() string {
	word, rest, _ := strings.Cut(f.rest, " ")
	f.rest = rest
	return word
}

func (f *fields) int() int64 {
	n, err := strconv.ParseInt(f.word(), 10, 64)
	f.bad = f.bad || err != nil
	return n
}

func (f *fields) text() string {
	quoted, err := strconv.QuotedPrefix(f.rest)
	if err != nil {
		f.bad = true
		return ""
	}
	f.rest = strings.TrimPrefix(f.rest[len(quoted):], " ")
	s, err := strconv.Unquote(quoted)
	f.bad = f.bad || err != nil
	return s
}

func parseRecord(line string, jail int) (r Record, ok bool) {
	f := &fields{rest: line}
	r.Word = f.word()
	switch r.Word {
	case WordHead:
		r.At, r.Head = f.int(), &Head{Server: f.text(), Undoes: f.text()}
		for f.rest != "" && !f.bad {
			r.Head.Roots = append(r.Head.Roots, f.text())
		}
	case WordWas, WordAnew, WordNow, WordLeft:
		r.At, r.Path = f.int(), f.text()
		r.State = f.state(jail)
	case WordFor:
		r.At, r.Path = f.int(), f.text()
		r.For = object.ID{Dev: uint64(f.int()), Ino: uint64(f.int()), Birth: f.int()}
		r.State = f.state(jail)
	case WordOpen:
		r.Path = f.text()
	case wordCall:
		r.At = f.int()
		r.Call = &Call{Number: int(f.int()), Beside: f.word() == "1", Tool: f.text()}
	case WordEnd:
		r.At = f.int()
	case WordGap:
		r.At, r.Gap = f.int(), &Gap{f.text(), f.text()}
	default:
		return r, false
	}
	return r, !f.bad && f.rest == ""
}

func (f *fields) state(jail int) object.State {
	kind := f.word()
	if kind == string(rune(object.None)) {
		return object.State{Kind: object.None, Data: object.NoData}
	}
	if len(kind) != 1 || !strings.Contains("fdlo", kind) {
		f.bad = true
		return object.State{}
	}
	mode, err := strconv.ParseUint(f.word(), 8, 32)
	f.bad = f.bad || err != nil
	var n [10]int64
	for i := range n {
		n[i] = f.int()
	}
	return object.State{
		Kind: object.Kind(kind[0]), Mode: uint32(mode) & 0o7777, Masked: uint32(mode) >> 12, UID: uint32(n[0]), GID: uint32(n[1]), Size: n[2], Mtime: n[3], Ctime: n[4],
		ID: object.ID{Dev: uint64(n[5]), Ino: uint64(n[6]), Birth: n[7]}, Nlink: uint64(n[8]), Data: n[9], Jail: jail,
		Target: f.text(), Lost: f.text(),
	}
}
