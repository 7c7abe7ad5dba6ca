package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/policy"
)

// The record of a server's last session stands beside its private HOME, which
// the server cannot see: StateDir/servers/NAME/last.json.
func recordFile(host policy.Host, server string) string {
	return filepath.Join(host.StateDir, "servers", server, "last.json")
}

// recorder keeps the record of one session. What cannot be written is said and no
// more: a record is not worth a failing session.
type recorder struct {
	file    string
	mark    mark
	refused error // why nothing is written there
	err     error // of the last keep
}

func newRecorder(host policy.Host, server string) *recorder {
	file := recordFile(host, server)
	return &recorder{file: file, mark: markBeside(file), refused: checkRecord(host, server)}
}

// checkRecord checks that another user has no say in a record and the mark beside it, nor
// by a link in which file is written.
func checkRecord(host policy.Host, server string) error {
	file := recordFile(host, server)
	for _, name := range []string{file, string(markBeside(file))} {
		below, err := filepath.Rel(host.StateDir, name)
		if err == nil {
			err = policy.CheckPrivate(host.StateDir, below)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// begin notes that a session begins.
func (k *recorder) begin() {
	if k.refused == nil {
		k.mark.begin()
	}
}

// keep is the session's Sink.
func (k *recorder) keep(r diagnostics.Record) {
	if k.refused != nil {
		k.err = k.refused
		return
	}
	before := k.err
	switch k.err = k.write(r); {
	case k.err != nil:
		k.lose(r.Time, k.err)
	case before != nil:
		k.mark.found()
	}
}

func (k *recorder) lose(session time.Time, cause error) {
	if k.mark.lose(session, cause) != nil && !k.mark.exists() {
		os.Remove(k.file) // better none than one that passes for this session's
	}
}

// lost is the session's Lost.
func (k *recorder) lost() error { return k.err }

func (k *recorder) write(r diagnostics.Record) error {
	b, err := r.Encode()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(k.file), 0o700); err != nil {
		return err
	}
	// Two sessions of one server may end at once: each writes a file of its own
	// and the last rename wins.
	tmp, err := os.CreateTemp(filepath.Dir(k.file), ".last-*")
	if err != nil {
		return err
	}
	_, err = tmp.Write(b)
	if closeErr := tmp.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(tmp.Name(), k.file)
	}
	if err != nil {
		os.Remove(tmp.Name())
	}
	return err
}

// recordOf reads the record of a server's last session.
func recordOf(host policy.Host, server string) func() (diagnostics.Record, bool) {
	return func() (diagnostics.Record, bool) {
		if checkRecord(host, server) != nil {
			return diagnostics.Record{}, false
		}
		b, err := os.ReadFile(recordFile(host, server))
		if err != nil {
			return diagnostics.Record{}, false
		}
		r, err := diagnostics.DecodeRecord(b)
		return r, err == nil
	}
}

type whyCmd struct {
	formatFlag
	endedArg `positional-args:"yes"`
}

// endedArg names the server that why is about.
type endedArg struct {
	Server string `positional-arg-name:"<server>" description:"The server. Default: the one whose session ended last."`
}

func (*whyCmd) Help() string {
	return `    mcp-jail why
    mcp-jail why github

A session is recorded when a server fails or is refused something, and at its
end. The record holds names and the last lines of the server's stderr, with the
values of granted variables taken out. Where a later session has no record,
that is said first.`
}

func (w *whyCmd) Run(c console) error {
	host, err := policy.LocalHost()
	if err != nil {
		return err
	}
	file := recordFile(host, w.Server)
	if w.Server == "" {
		if file, err = newestRecord(host); err != nil {
			return err
		}
	} else if w.Server != filepath.Base(w.Server) {
		return usageErrorf("%q is not the name of a server", w.Server)
	}
	if err := checkRecord(host, filepath.Base(filepath.Dir(file))); err != nil {
		return err
	}
	newer, marked := markBeside(file).read()
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		server := filepath.Base(filepath.Dir(file))
		if marked {
			return fmt.Errorf("server %q: %s", server, newer.Words())
		}
		return fmt.Errorf("there is no record of a session of server %q", server)
	}
	if err != nil {
		return err
	}
	record, err := diagnostics.DecodeRecord(b)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if record.Newer = nil; marked && record.Time.Before(newer.Time) {
		record.Newer = &newer.Unrecorded
	}
	if record.Incomplete = ""; newer.Session.Equal(record.Time) {
		record.Incomplete = newer.Why
	}
	if w.Format == "json" {
		if record.Newer != nil || record.Incomplete != "" {
			if b, err = record.Encode(); err != nil {
				return err
			}
		}
		c.printf("%s", b)
		return nil
	}
	c.printf("%s", record.Words())
	return nil
}

// newestRecord is where the record is of the session that ended last, or that began
// since and has none.
func newestRecord(host policy.Host) (newest string, err error) {
	var latest time.Time
	dirs, _ := filepath.Glob(filepath.Dir(recordFile(host, "*")))
	for _, dir := range dirs {
		file := filepath.Join(dir, filepath.Base(recordFile(host, "")))
		var at time.Time
		if st, err := os.Stat(file); err == nil {
			at = st.ModTime()
		}
		if m, ok := markBeside(file).read(); ok && m.latest().After(at) {
			at = m.latest()
		}
		if at.After(latest) {
			newest, latest = file, at
		}
	}
	if newest == "" {
		return "", errors.New("there is no record yet: no server was run")
	}
	return newest, nil
}
