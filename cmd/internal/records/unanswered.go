package records

import (
	"errors"
	"io/fs"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/internal/private"
)

// unansweredFile is there after a session that ended before its first answer, if all sessions before it did. It
// is missing while a session runs, and so also after one that was killed: such a session may have answered.
const unansweredFile = "unanswered"

// takeUnanswered removes the file. It reports whether no earlier session can have answered.
func (d Dir) takeUnanswered() bool {
	if d.Remove(unansweredFile) == nil {
		return true
	}
	_, err := d.Lstat(markerFile)
	return errors.Is(err, fs.ErrNotExist) // this session is the first
}

// noteUnanswered makes the file if the session of a record ended before its first answer, and else removes it.
// It reports no error: without the file the directory stays with its owner.
func (k *Recorder) noteUnanswered(d Dir, r diagnostics.Record) {
	switch {
	case !k.unanswered:
	case endedEarly(r):
		_ = d.Replace(unansweredFile, nil, private.How{})
	default:
		_ = d.Remove(unansweredFile)
	}
}

// neverAnswered reports whether each session of a server ended before its first answer. The record of a server
// with a process for each call does not say so: other calls may have had answers.
func (d Dir) neverAnswered() bool {
	_, err := d.Lstat(unansweredFile)
	last, ok := d.Last()
	c := d.About().Configuration
	return err == nil && ok && endedEarly(last) && c != nil && c.Stateful
}

// endedEarly reports whether the server of a session ended before its first answer.
func endedEarly(r diagnostics.Record) bool {
	for _, d := range r.Diagnoses {
		if d.Stage != diagnostics.StageExec && d.Stage != diagnostics.StageStartup {
			return false
		}
	}
	return len(r.Diagnoses) > 0 && !r.Guest
}
