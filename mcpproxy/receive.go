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
			return clean(err)
		}
		switch {
		case f.Oversized || !f.Junk() && overmarked(f):
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

// ErrForged is the Err of a frame with more members of ours than are looked into:
// no server has a reason to write one.
var ErrForged = errors.New("it has too many members whose names begin with " + OwnPrefix)

// overmarked refuses such a frame: a member that is not found is not taken out.
func overmarked(f *Frame) bool {
	for i := range f.Messages {
		if len(f.Messages[i].Own) == MaxOwn {
			f.Oversized, f.Err = true, ErrForged
			return true
		}
	}
	return false
}
