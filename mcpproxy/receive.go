package mcpproxy

import (
	"errors"
	"fmt"
)

// Receive reads the frames of one server until it ends, which is not an error. Lines that
// are not MCP messages go to NonMessage, and frames that must not be forwarded go to Oversized.
// All other frames go to message, whose error ends Receive. No other hook is called.
// RunServer reads this way; callers that do not forward to a single client use Receive
// directly.
func (h *Hooks) Receive(server *Reader, message func(*Frame) error) error {
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
		case f.NonMessage():
			if h.NonMessage != nil {
				h.NonMessage(f)
			}
			continue
		}
		if err := message(f); err != nil {
			return err
		}
	}
}

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
