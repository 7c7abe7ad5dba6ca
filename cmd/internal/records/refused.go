package records

import (
	"errors"
	"os"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/internal/private"
)

// The refusals of a server are in a directory of their own beside its record, one JSON object a line,
// in the order in which they happened. All sessions of the server append to the same file. When it is
// full it takes the place of the one before it, so there are never more than two.
const (
	refusedDir     = "refused"
	refusedNow     = "now.jsonl"
	refusedBefore  = "before.jsonl"
	maxRefusedFile = 512 << 10
)

// Refused writes refusals down. It is the Refused of the session.
func (k *Recorder) Refused(all []diagnostics.Refusal) {
	if k.unsafe != nil {
		return
	}
	var lines []byte
	for _, r := range all {
		r.Project, r.File = k.Project, k.File
		line, err := r.Encode()
		if err != nil {
			k.refusedErr = err
			continue
		}
		lines = append(append(lines, line...), '\n')
	}
	if len(lines) > 0 {
		k.refusedErr = k.appendRefused(lines)
	}
}

func (k *Recorder) appendRefused(lines []byte) error {
	server, err := makeDir(k.host, k.server)
	if err != nil {
		return err
	}
	defer server.Close()
	d, err := server.Make(refusedDir)
	if err != nil {
		return err
	}
	defer d.Close()
	defer waitLock(d)()
	if info, err := d.Lstat(refusedNow); err == nil && info.Size() >= maxRefusedFile {
		if err := d.Rename(refusedNow, refusedBefore); err != nil {
			return err
		}
	}
	f, err := d.OpenFile(refusedNow, os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	// A full disk may have cut the line before off.
	_, err = f.Write(append([]byte{'\n'}, lines...))
	return errors.Join(err, f.Close())
}

// waitLock takes the lock of the directory of refusals, which other sessions of the server have for a
// moment. A session that is stopped there is not waited for.
func waitLock(d *private.Dir) (unlock func()) {
	for range 100 {
		unlock, err := d.Lock(private.Exclusive)
		if err == nil {
			return unlock
		}
		if !errors.Is(err, private.ErrLocked) {
			break // there are no locks here
		}
		time.Sleep(time.Millisecond)
	}
	return func() {}
}
