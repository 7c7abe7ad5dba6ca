package mcpproxy

import "errors"

// Receive reads the frames of one server until it ends, which is no error. Lines
// that are no MCP message go to Junk and frames that must not be forwarded to
// Oversized; all others are given to message, whose error ends it. No other hook
// is called: it is how RunServer reads, for those who send what they read
// elsewhere than to one client.
func (h *Hooks) Receive(server *Reader, message func(*Frame) error) error {
	for {
		f, err := server.Next()
		if err != nil {
			return ignoreEOF(err)
		}
		switch {
		case f.Oversized || !f.Junk() && exceedsReserved(f):
			if h.Oversized != nil {
				h.Oversized(FromServer, f)
			}
			continue
		case f.Junk():
			if h.Junk != nil {
				h.Junk(f)
			}
			continue
		}
		if err := message(f); err != nil {
			return err
		}
	}
}

// ErrTooManyReserved is the Err of a frame with more members of ours than are looked into:
// no server has a reason to write one.
var ErrTooManyReserved = errors.New("it has too many members whose names begin with " + ReservedPrefix)

// exceedsReserved refuses such a frame: a member that is not found is not taken out.
func exceedsReserved(f *Frame) bool {
	for i := range f.Messages {
		if len(f.Messages[i].Reserved) == MaxReserved {
			f.Oversized, f.Err = true, ErrTooManyReserved
			return true
		}
	}
	return false
}
