package mcpproxy

import (
	"bytes"
	"errors"
	"fmt"
	"io"
)

const (
	// DefaultLimit is the largest frame of a Reader whose limit is 0.
	DefaultLimit = 64 << 20

	readSize    = 64 << 10  // bytes of the first buffer: the default capacity of a pipe
	maxInMemory = 4 << 20   // larger frames go to a file
	keepBuffer  = 256 << 10 // most bytes of one read; a larger buffer is released when it is no longer needed
	shrinkAfter = 64        // small frames in a row before a larger buffer is released
)

// Reader cuts a stream into frames.
//
// Invariant: buf[start:end] was read and not yet returned. The scanner has seen
// buf[start:scanned], which holds no newline.
type Reader struct {
	src   io.Reader
	limit int64

	buf         []byte
	start, end  int
	scanned     int
	smallFrames int // frames in a row that fit a new buffer
	err         error

	scan  Scanner
	frame Frame

	headers headers
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
	r.shrink()
	r.frame.reset()
	r.scan.Reset()
	r.scanned = r.start
	for {
		part := r.buf[r.scanned:r.end]
		ascii := textPrefix(part)
		if i := bytes.IndexByte(part[ascii:], '\n'); i >= 0 {
			r.feed(ascii+i+1, ascii)
			return r.finish(), nil
		}
		r.feed(len(part), ascii)
		if r.scan.state == sDone && r.headers.ends(r.frame.Size+int64(r.scanned-r.start)) {
			return r.finish(), nil
		}
		if r.err != nil {
			if r.start < r.end || r.frame.Size > 0 {
				return r.finish(), nil
			}
			r.frame.reset()
			return nil, r.err
		}
		if r.end-r.start > maxInMemory-readSize || r.frame.Size > 0 {
			r.spillOut()
		}
		r.fill()
	}
}

// feed has the scanner see the next n bytes, which begin with so much text: see textPrefix.
func (r *Reader) feed(n, ascii int) {
	r.scan.feed(r.buf[r.scanned:r.scanned+n], ascii)
	r.scanned += n
}

// finish returns the frame that ends before buf[scanned].
func (r *Reader) finish() *Frame {
	f, to := &r.frame, r.scanned
	f.Messages, f.Flaws = r.scan.Finish()
	f.firstByte, f.skipped, f.unread = r.scan.firstByte, r.scan.skipped, r.scan.unread
	f.Batch = f.firstByte == '['
	switch {
	case f.Size > 0: // earlier parts are in the spill, or were dropped
		r.spillOut()
	default:
		f.line = r.buf[r.start:to]
		f.Size = int64(to - r.start)
		if f.Oversized = f.Size > r.limit; f.Oversized {
			f.line = nil
		}
	}
	r.start = to
	if r.scan.deep && !f.Oversized && anyRecognised(f.Messages) {
		f.Oversized, f.Err = true, ErrTooDeep
	}
	r.headers.note(f)
	return f
}

// spillOut moves buf[start:scanned] to the end of the spill, or drops it when the frame is
// oversized.
func (r *Reader) spillOut() {
	f := &r.frame
	part := r.buf[r.start:r.scanned]
	r.start = r.scanned
	if f.Size == 0 {
		f.spill = newSpill()
	}
	f.Size += int64(len(part))
	if f.Size > r.limit {
		f.Oversized = true
	}
	if !f.Oversized {
		if _, f.Err = f.spill.Write(part); f.Err != nil {
			f.Oversized = true
		}
	}
	if f.Oversized {
		f.Close()
	}
}

func (r *Reader) fill() {
	held := r.end - r.start
	// While that costs little, the bytes move to the front, so that a smaller buffer suffices.
	if full := len(r.buf)-r.end < readSize/2; full || held <= r.start/4 {
		to := r.buf
		if full && held+readSize > len(r.buf) {
			to = make([]byte, max(2*len(r.buf), readSize))
		}
		copy(to, r.buf[r.start:r.end])
		r.buf, r.scanned = to, r.scanned-r.start
		r.start, r.end = 0, held
	}
	for range 100 {
		n, err := r.src.Read(r.buf[r.end:min(len(r.buf), r.end+keepBuffer)])
		r.end += n
		r.err = err
		if n > 0 || err != nil {
			return
		}
	}
	r.err = io.ErrNoProgress
}

func (r *Reader) shrink() {
	if len(r.buf) <= keepBuffer {
		return
	}
	if r.frame.Size > readSize || r.end-r.start > readSize {
		r.smallFrames = 0
		return
	}
	if r.smallFrames++; r.smallFrames < shrinkAfter {
		return
	}
	fresh := make([]byte, 2*readSize)
	r.end = copy(fresh, r.buf[r.start:r.end])
	r.buf, r.start, r.smallFrames = fresh, 0, 0
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
