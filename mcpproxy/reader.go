package mcpproxy

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

const (
	// DefaultLimit is the largest frame of a Reader whose limit is 0.
	DefaultLimit = 64 << 20

	readSize    = 64 << 10  // most bytes of one read: the default capacity of a pipe
	maxInMemory = 4 << 20   // larger frames go to a file
	keepBuffer  = 256 << 10 // a larger buffer is not kept for the next frame
)

// Reader cuts a stream into frames.
type Reader struct {
	src   *bufio.Reader
	limit int64

	scan  scanner
	frame Frame
	held  bytes.Buffer // the bytes of frame that earlier reads brought, unless they are in a file

	headers headers
}

// NewReader returns a Reader of src for frames of at most limit bytes. A limit of 0 means
// DefaultLimit.
func NewReader(src io.Reader, limit int64) *Reader {
	if limit <= 0 {
		limit = DefaultLimit
	}
	return &Reader{src: bufio.NewReaderSize(src, readSize), limit: limit}
}

// Next returns the next frame. After the last one, which may lack a line end, it returns
// the error of the source: io.EOF at a clean end.
func (r *Reader) Next() (*Frame, error) {
	f := &r.frame
	f.reset()
	r.scan.reset()
	if r.held.Reset(); r.held.Cap() > keepBuffer {
		r.held = bytes.Buffer{}
	}
	for {
		part, ends, err := r.read()
		if err != nil && f.Size == 0 {
			return nil, err
		}
		r.scan.feed(part)
		ends = ends || err != nil || r.scan.state == sDone && r.headers.ends(f.Size+int64(len(part)))
		if ends && f.Size == 0 {
			f.line = part
		} else {
			r.keep(part)
		}
		f.Size += int64(len(part))
		if ends {
			return r.finish(), nil
		}
	}
}

// read returns what has come of a line, and whether that ends with the line end. The bytes are valid
// until the next read.
func (r *Reader) read() (part []byte, ends bool, err error) {
	if _, err := r.src.Peek(1); err != nil {
		return nil, false, err
	}
	part, _ = r.src.Peek(r.src.Buffered())
	if i := bytes.IndexByte(part, '\n'); i >= 0 {
		part, ends = part[:i+1], true
	}
	r.src.Discard(len(part))
	return part, ends, nil
}

// keep adds a part to the frame: in memory, in a file if the frame is large, and not at all if it is
// too large.
func (r *Reader) keep(part []byte) {
	f := &r.frame
	switch size := f.Size + int64(len(part)); {
	case f.Oversized:
		return
	case size > r.limit:
		f.Oversized = true
	case size <= maxInMemory:
		r.held.Write(part)
	default:
		if f.spill == nil {
			f.spill = newSpill()
			_, f.Err = f.spill.Write(r.held.Bytes())
		}
		if f.Err == nil {
			_, f.Err = f.spill.Write(part)
		}
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
	} else if f.line == nil && f.spill == nil && !f.Oversized {
		f.line = r.held.Bytes()
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
