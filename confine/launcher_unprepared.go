//go:build !linux

package confine

// Prepared is nothing: no process is started ahead.
type Prepared struct{}

// Prepare does nothing here.
func (l Launcher) Prepare() *Prepared { return nil }

// Close does nothing here.
func (*Prepared) Close() {}

func (l Launcher) claim(bool) *Prepared { return nil }

func (*Prepared) cancel() {}
