package jail

import "os"

// Stdio holds the server's first three descriptors. A nil file means /dev/null. The launcher
// does not close them.
type Stdio struct {
	In, Out, Err *os.File
}

func (s *Stdio) all() []*os.File { return []*os.File{s.In, s.Out, s.Err} }
