package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sort"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/policy"
)

// The record of a server's last session stands beside its private HOME, which
// the server cannot see: StateDir/servers/NAME/last.json.
func recordFile(host policy.Host, server string) string {
	return filepath.Join(host.StateDir, "servers", server, "last.json")
}

// recordSink keeps the record of the session. What cannot be written is lost
// without a word: a record is not worth a failing session.
func recordSink(host policy.Host, server string) func(diagnostics.Record) {
	file := recordFile(host, server)
	return func(r diagnostics.Record) {
		b, err := r.Encode()
		if err != nil {
			return
		}
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return
		}
		// Two sessions of one server may end at once: each writes a file of its own
		// and the last rename wins.
		tmp, err := os.CreateTemp(filepath.Dir(file), ".last-*")
		if err != nil {
			return
		}
		_, err = tmp.Write(b)
		if closeErr := tmp.Close(); err == nil {
			err = closeErr
		}
		if err == nil {
			err = os.Rename(tmp.Name(), file)
		}
		if err != nil {
			os.Remove(tmp.Name())
		}
	}
}

// recordOf reads the record of a server's last session.
func recordOf(host policy.Host, server string) func() (diagnostics.Record, bool) {
	return func() (diagnostics.Record, bool) {
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
values of granted variables taken out.`
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
	b, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("there is no record of a session of server %q", w.Server)
	}
	if err != nil {
		return err
	}
	record, err := diagnostics.DecodeRecord(b)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if w.Format == "json" {
		c.printf("%s", b)
		return nil
	}
	c.printf("%s", record.Words())
	return nil
}

func newestRecord(host policy.Host) (string, error) {
	files, _ := filepath.Glob(recordFile(host, "*"))
	if len(files) == 0 {
		return "", errors.New("there is no record yet: no server was run")
	}
	age := func(f string) int64 {
		st, err := os.Stat(f)
		if err != nil {
			return 0
		}
		return st.ModTime().UnixNano()
	}
	sort.Slice(files, func(i, j int) bool { return age(files[i]) > age(files[j]) })
	return files[0], nil
}
