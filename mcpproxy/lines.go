package mcpproxy

import (
	"bytes"
	"errors"
	"io"
	"strconv"
)

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

// maxEndings is how many places of a line are tried as the start of a message.
const maxEndings = 8

// Ending returns the message in which a line ends that is Noise because of other text before the
// message, or nil. The message may be meant for the client, or be part of a log, so that no one
// can tell by the line alone.
func (f *Frame) Ending() *Frame {
	line := bytes.TrimRight(f.line, " \t\r\n")
	if !f.Flaws.Has(FlawMalformed) || len(line) == 0 || line[len(line)-1] != '}' {
		return nil
	}
	for range maxEndings {
		i := bytes.IndexByte(line, '{')
		if i < 0 {
			return nil
		}
		if m := Parse(line[i:]); !m.Flaws.Has(FlawTrailing) && !m.Noise() {
			return m
		}
		line = line[i+1:]
	}
	return nil
}
