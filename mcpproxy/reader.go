package mcpproxy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

const (
	// DefaultLimit is the largest frame of a Reader whose limit is 0.
	DefaultLimit = 64 << 20

	firstBuffer = 64 << 10  // the default capacity of a pipe
	readSize    = 256 << 10 // most bytes of one read, so that the scan runs while the peer writes on
	keepBuffer  = 256 << 10 // a larger buffer is kept until a frame that needs less
)

var maxInMemory = 4 << 20 // larger frames go to a file. Tests set it

// Reader cuts a stream into frames.
type Reader struct {
	src   io.Reader
	limit int64

	buf        []byte // buf[start:end] was read and not yet returned
	start, end int
	err        error // of src, once buf is used up

	scan  scanner
	frame Frame

	Large func(bool) // nil, or is told when a large frame begins, and when a small one has followed

	headers headers

	// Before sees each frame first that Receive reads, and takes it if it returns true. It may be nil.
	Before func(*Frame) (taken bool)
}

// NewReader returns a Reader of src for frames of at most limit bytes. A limit of 0 means
// DefaultLimit.
func NewReader(src io.Reader, limit int64) *Reader {
	if limit <= 0 {
		limit = DefaultLimit
	}
	return &Reader{src: src, limit: limit}
}

// Next returns the next frame. After the last one, which may lack a line end, it returns
// the error of the source: io.EOF at a clean end.
func (r *Reader) Next() (*Frame, error) {
	f := &r.frame
	if len(r.buf) > keepBuffer && f.Size <= keepBuffer && r.start == r.end {
		r.buf, r.start, r.end = nil, 0, 0
		r.tell(false)
	}
	f.reset()
	r.scan.reset()
	held := 0 // bytes of the frame at the start of buf, which the scanner has seen
	for {
		if r.start+held == r.end && r.err == nil {
			r.fill(held)
		}
		part := r.buf[r.start+held : r.end]
		if len(part) == 0 && f.Size == 0 {
			return nil, r.err
		}
		i := bytes.IndexByte(part, '\n') + 1
		if i > 0 {
			part = part[:i]
		}
		r.scan.feed(part)
		f.Size += int64(len(part))
		held += len(part)
		ends := i > 0 || r.err != nil && r.start+held == r.end || r.scan.state == sDone && r.headers.ends(f.Size)
		if ends && f.Size == int64(held) {
			f.line = r.buf[r.start : r.start+held]
		} else if ends || held >= maxInMemory || f.Size > r.limit {
			r.keep(r.buf[r.start : r.start+held])
			r.start, held = r.start+held, 0
		}
		if ends {
			r.start += held
			return r.finish(), nil
		}
	}
}

// fill reads more, after the held bytes of the frame, which it moves to the start of a buffer if there is no room.
func (r *Reader) fill(held int) {
	if r.end == len(r.buf) || held == 0 {
		to := r.buf
		if held == len(to) {
			if to = make([]byte, max(firstBuffer, 2*len(to))); len(to) == 2*keepBuffer {
				r.tell(true)
			}
		}
		copy(to, r.buf[r.start:r.end])
		r.buf, r.start, r.end = to, 0, held
	}
	for tries := 0; r.start+held == r.end && r.err == nil; tries++ {
		var n int
		n, r.err = r.src.Read(r.buf[r.end:min(len(r.buf), r.end+readSize)])
		if r.end += n; n == 0 && r.err == nil && tries == 100 {
			r.err = io.ErrNoProgress
		}
	}
}

func (r *Reader) tell(large bool) {
	if r.Large != nil {
		r.Large(large)
	}
}

// keep adds a part to the file of a frame that is large, unless it is too large.
func (r *Reader) keep(part []byte) {
	f := &r.frame
	switch {
	case f.Oversized:
		return
	case f.Size > r.limit:
		f.Oversized = true
	default:
		if f.spill == nil {
			f.spill = newSpill()
		}
		_, f.Err = f.spill.Write(part)
		f.Oversized = f.Err != nil
	}
	if f.Oversized {
		f.Close()
	}
}

func (r *Reader) finish() *Frame {
	f := &r.frame
	f.Messages, f.Flaws = r.scan.finish()
	f.firstByte, f.skipped, f.unread = r.scan.firstByte, r.scan.skipped, r.scan.unread
	f.Batch = f.firstByte == '['
	if f.Size > r.limit {
		f.Oversized, f.line = true, nil
	}
	if r.scan.deep && !f.Oversized && anyRecognised(f.Messages) {
		f.Oversized, f.Err = true, ErrTooDeep
	}
	r.headers.note(f)
	return f
}

// Receive reads the frames of one server until it ends, which is not an error. Lines that
// are not MCP messages go to NonMessage, and frames that must not be forwarded go to Oversized. So
// does a message that the server has written over several lines, after its lines.
// All other frames go to message, whose error ends Receive. No other hook is called.
// RunServer reads this way; callers that do not forward to a single client use Receive
// directly.
func (h *Hooks) Receive(server *Reader, message func(*Frame) error) error {
	server.headers.watched = true
	var noise joinedLines
	for {
		f, err := server.Next()
		if err != nil {
			return ignoreEOF(err)
		}
		switch {
		case server.Before != nil && server.Before(f):
			continue
		case f.Oversized || !f.NonMessage() && exceedsReserved(f):
			if h.Oversized != nil {
				h.Oversized(FromServer, f)
			}
			continue
		case f.Noise():
			if h.NonMessage != nil {
				h.NonMessage(f)
			}
			if h.Oversized != nil {
				noise.add(f.Bytes(), func(whole *Frame) { h.Oversized(FromServer, whole) })
			}
			continue
		}
		noise.lines = 0
		if err := message(f); err != nil {
			return err
		}
	}
}

// ErrTooDeep is the Err of a message whose values lie in more values than the scanner follows. Its id is
// known if it comes before them, as SDKs write it.
var ErrTooDeep = fmt.Errorf("its values are nested more than %d deep", maxDepth)

// ErrTooManyReserved is the Err of a frame that has a message with MaxReserved reserved members or
// more. No server has a reason to write such a frame.
var ErrTooManyReserved = errors.New("the frame has too many members whose names begin with " + ReservedPrefix)

// ErrTooManyNames is the Err of a frame with more messages, or more text in names and ids, than the
// scanner reads.
var ErrTooManyNames = fmt.Errorf("the frame has more than %d messages, or names and ids of more than %d MiB", maxBatch, maxText>>20)

// exceedsReserved marks a frame as Oversized that has, or may have, more reserved members than are
// recorded, because the others could not be removed. It reports whether it has.
func exceedsReserved(f *Frame) bool {
	if f.unread {
		f.Oversized, f.Err = true, ErrTooManyNames
		return true
	}
	for i := range f.Messages {
		if len(f.Messages[i].Reserved) == MaxReserved {
			f.Oversized, f.Err = true, ErrTooManyReserved
			return true
		}
	}
	return false
}

var (
	// ErrSeveralLines is the Err of a message that was written over several lines.
	ErrSeveralLines = errors.New("the message is written over several lines, and MCP's stdio needs one line each")
	// ErrContentLength is the Err of a message after a header with its length, as LSP frames them.
	ErrContentLength = errors.New("the message is framed with Content-Length, and MCP's stdio has one message a line")
)

// joinedLines finds a message that was written over several lines, of which each is Noise. It keeps
// none of their bytes.
type joinedLines struct {
	scan  *scanner
	lines int   // that have begun a value without ending it
	size  int64 // bytes of them
}

// add takes a line, or nil for one that is not held in memory. It calls found for each message that
// began on an earlier line and ends on this one.
func (j *joinedLines) add(line []byte, found func(*Frame)) {
	if line == nil {
		j.lines = 0
	}
	for text := bytes.TrimRight(line, "\r\n"); len(text) > 0; {
		if j.lines == 0 {
			text = bytes.TrimLeft(text, " \t")
			if len(text) == 0 || text[0] != '{' && text[0] != '[' {
				return
			}
			if j.scan == nil {
				j.scan = new(scanner)
			}
			j.scan.reset()
			j.size = 0
		}
		before := j.scan.off
		j.scan.feed(text)
		j.size += int64(len(text))
		switch j.scan.state {
		case sBad:
			if j.lines == 0 {
				return
			}
			j.lines = 0 // the line may begin another value
		case sDone, sTrail:
			messages, flaws := j.scan.finish()
			if j.lines > 0 && anyRecognised(messages) {
				found(&Frame{Messages: messages, Flaws: flaws, Batch: j.scan.firstByte == '[', Size: j.size, Oversized: true, Err: ErrSeveralLines, firstByte: j.scan.firstByte})
			}
			j.lines = 0
			text = text[j.scan.valueEnd-before:]
		default:
			j.lines++
			// For the line end, which may even be in a string: a space is nowhere wrong.
			j.scan.feed([]byte{' '})
			return
		}
	}
}

// headers recognises messages that are framed with Content-Length. Such a message has no line end:
// what follows it on its line is the next header.
type headers struct {
	watched  bool
	announce int64 // the length in the last header; 0 for none
	body     int64 // the same once the headers are over: the next bytes are the message
}

const contentLength = "content-length:"

// ends reports whether a complete value of this size is the message that a header announced.
func (h *headers) ends(size int64) bool { return h.body > 0 && size == h.body }

// note sees each frame when it is whole.
func (h *headers) note(f *Frame) {
	if !h.watched {
		return
	}
	body := h.body
	h.body = 0
	switch {
	case f.Blank():
		h.body, h.announce = h.announce, 0
		return
	case body > 0 && f.Size == body && !f.hasLineEnd() && !f.Noise():
		h.reject(f)
	}
	if !f.Flaws.Has(FlawMalformed | FlawTrailing) {
		h.announce = 0
		return
	}
	line := f.lastBytes(128)
	if f.Flaws.Has(FlawTrailing) {
		line = line[bytes.LastIndexAny(line, "}]")+1:]
	}
	line = bytes.TrimSpace(line)
	name, value, isField := bytes.Cut(line, []byte{':'})
	switch length, err := strconv.ParseInt(string(bytes.TrimSpace(value)), 10, 64); {
	case isField && bytes.EqualFold(line[:len(name)+1], []byte(contentLength)) && err == nil && length > 0:
		h.announce = length
		if f.Flaws.Has(FlawTrailing) && !f.Noise() {
			h.reject(f)
		}
	case !isField || bytes.ContainsAny(name, " {"):
		h.announce = 0
	}
}

func (h *headers) reject(f *Frame) {
	if !f.Oversized {
		f.Oversized, f.Err = true, ErrContentLength
	}
}

// lastBytes returns at most n bytes of the end of the frame.
func (f *Frame) lastBytes(n int64) []byte {
	n = min(n, f.Size)
	switch {
	case f.spill != nil:
		out := make([]byte, n)
		read, _ := io.NewSectionReader(f.spill, f.spillBase+f.Size-n, n).Read(out)
		return out[:read]
	case int64(len(f.line)) == f.Size:
		return f.line[f.Size-n:]
	}
	return nil
}

// Flaw is a set of properties of a frame that can make two readers see different messages.
// A frame with flaws can still be forwarded. The caller decides.
type Flaw uint16

const (
	FlawMalformed Flaw = 1 << iota // not JSON, or cut off
	FlawTrailing                   // text follows the first value
	FlawDuplicate                  // an object has two members of the same name
	FlawCase                       // a name equals another or a known one but for its case, or the method is not tools/call but SameName as it
	FlawText                       // invalid UTF-8, a byte order mark, or a lone surrogate or NUL in a name, id, token or method
	FlawID                         // the id is neither string, number nor null
	FlawBounds                     // more names, members or text than the scanner records
	FlawNumber                     // NaN or an infinity: Python writes and reads them, most others do not
	FlawLine                       // a carriage return or newline between tokens; some readers end the line there
	FlawShape                      // the method is not a string, a tools/call has no name, or a request is a response too
)

// IsStrict reports whether every JSON reader sees the same message.
func (f Flaw) IsStrict() bool { return f == 0 }

// Has reports whether f contains any of the flaws in g.
func (f Flaw) Has(g Flaw) bool { return f&g != 0 }

// Ambiguous reports whether another reader of the frame could see another message: a tool,
// a method or an id that the envelope does not hold. Every flaw but FlawNumber has that
// effect. A reader either accepts such a number as a value or rejects the whole frame.
//
// Ambiguous concerns the frame as a whole. Other requirements of a single message
// (Trackable, a Kind other than Other) are checked on its Envelope. Ambiguous does not cover
// elements of a batch that are not messages.
func (f Flaw) Ambiguous() bool { return f&^FlawNumber != 0 }

// SameName reports whether a reader that ignores case, or white space around a name, could
// take one name for the other: `Write ` for `write`, `ſearch` for `search`.
func SameName(a, b []byte) bool {
	return bytes.EqualFold(foldSpecial(bytes.TrimFunc(a, isBlank)), foldSpecial(bytes.TrimFunc(b, isBlank)))
}

// isBlank reports whether some reader trims r as white space: Unicode white space, the
// byte order mark (JavaScript) and control characters.
func isBlank(r rune) bool { return r <= ' ' || r == '\ufeff' || strings.ContainsRune(blanks, r) }

const blanks = "\u0085\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"

// asciiFolds maps the letters that simple case folding misses and that become ASCII in
// lower or upper case, or by full folding (Unicode, CaseFolding.txt and
// SpecialCasing.txt).
var asciiFolds = strings.NewReplacer("İ", "i", "ı", "i", "ß", "ss", "ẞ", "ss", "ﬀ", "ff", "ﬁ", "fi", "ﬂ", "fl", "ﬃ", "ffi", "ﬄ", "ffl", "ﬅ", "st", "ﬆ", "st")

func foldSpecial(name []byte) []byte {
	for _, c := range name {
		if c >= 0x80 {
			return []byte(asciiFolds.Replace(string(name)))
		}
	}
	return name
}

const methodToolsCall = "tools/call"

// messageFlaws returns the flaws that show only when the whole message is known.
func (e *Envelope) messageFlaws() Flaw {
	switch {
	case e.Method == nil:
		return 0
	case e.Result.Present() && e.Result.Kind != 'n', e.Error.Present() && e.Error.Kind != 'n':
		return FlawShape
	case string(e.Method) == methodToolsCall:
		if e.Name == nil {
			return FlawShape
		}
	case SameName(e.Method, []byte(methodToolsCall)):
		return FlawCase
	}
	return 0
}
