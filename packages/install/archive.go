package install

import (
	"bytes"

	"github.com/mcp-jail/mcp-jail/internal/lazy"
)

// outsideNames finds npm's warning about a name in an archive that leads out of its package.
var outsideNames = lazy.Regexp(`^npm (?:warn|WARN) tar TAR_ENTRY_ERROR path contains '\.\.'`)

// archiveWatch reads what npm prints, and notices an archive with a file outside of its package.
// npm leaves that file out and goes on. Nothing but an attack makes such an archive.
type archiveWatch struct {
	line    []byte // as far as it has come
	outside bool
}

// Write implements io.Writer. It accepts all of p.
func (w *archiveWatch) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		part, after, ended := bytes.Cut(rest, []byte("\n"))
		w.line = append(w.line, part[:min(len(part), maxArchiveLine-len(w.line))]...)
		w.outside = w.outside || outsideNames().Match(w.line)
		if ended {
			w.line = w.line[:0]
		}
		rest = after
	}
	return len(p), nil
}

// maxArchiveLine bounds how much of a line is looked at.
const maxArchiveLine = 200

// outsideCode is the code of the error about such an archive.
const outsideCode = "TAR_ENTRY_ERROR"
