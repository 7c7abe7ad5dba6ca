package jail

import "os"

// Stdio holds the server's first three descriptors. A nil file means /dev/null. The launcher
// does not close them.
type Stdio struct {
	In, Out, Err *os.File

	// Terminal, if it is not nil, gives the server a new terminal in place of the three files. It is
	// the controlling terminal of the server. A start makes it; on macOS none does.
	Terminal *Terminal
}

// Terminal is a terminal that a start makes for its server alone. With namespaces it is in the jail's
// own /dev/pts.
type Terminal struct {
	// Master is the launcher's end. A start sets it before the server is executed, and sets it again if
	// it has to build the jail again. The caller of the start closes it.
	Master *os.File

	// Prepare, if it is not nil, is called with Master before the server is executed. It may set the
	// size of the terminal, and its modes.
	Prepare func(master *os.File)
}

// all returns the files of Stdio, and none if the server gets a terminal.
func (s *Stdio) all() []*os.File {
	if s.Terminal != nil {
		return nil
	}
	return []*os.File{s.In, s.Out, s.Err}
}
