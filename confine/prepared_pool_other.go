//go:build !linux || seatbelt

package confine

// PreparedPool has processes that are started ahead for later starts. There are none here.
type PreparedPool struct{}

// NewPool returns nil here.
func (l Launcher) NewPool() *PreparedPool { return nil }

// Keep does nothing here.
func (*PreparedPool) Keep(int) {}

// Close does nothing here.
func (*PreparedPool) Close() {}
