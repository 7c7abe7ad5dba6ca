package records

import (
	"bytes"
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/internal/private"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// Follower reads the refusals of servers as sessions write them down, also of sessions that begin
// later.
type Follower struct {
	host    hostfs.Host
	only    string // the server to follow; "" is every one
	servers map[string]*followed
	watch   *watch
}

// followed is the file of refusals of one server.
type followed struct {
	file *os.File // that is read; nil: there was none
	rest []byte   // of a line that is not complete
}

// Told is a refusal of a server, by the name under which its records are kept.
type Told struct {
	Kept string
	diagnostics.Refusal
}

// pollPause is how long Wait waits at most where no system tells of changes.
const pollPause = 500 * time.Millisecond

// maxRest bounds a line that does not end. Refusal.Encode writes shorter ones.
const maxRest = 1 << 20

// Follow begins to follow a server, or all of them if server is "". Refusals of before are left out.
func Follow(host hostfs.Host, server string) *Follower {
	f := &Follower{host: host, only: server, servers: map[string]*followed{}, watch: newWatch()}
	f.Read()
	return f
}

// Close ends the following.
func (f *Follower) Close() {
	f.watch.close()
	for _, s := range f.servers {
		if s.file != nil {
			s.file.Close()
		}
	}
}

// Wait returns when there may be something to read, when stop gets a value, which it returns, or after
// some time.
func (f *Follower) Wait(stop <-chan os.Signal, most time.Duration) os.Signal {
	timer := time.NewTimer(min(f.watch.pause(), max(most, 0)))
	defer timer.Stop()
	select {
	case s := <-stop:
		return s
	case <-f.watch.changed:
	case <-timer.C:
	}
	return nil
}

// Read returns the refusals since the last call, in the order in which they happened.
func (f *Follower) Read() (all []Told) {
	base := filepath.Join(f.host.StateDir, ServersDir)
	f.watch.add(base) // before the look, so that no change is missed
	servers, err := private.Open(f.host.StateDir, ServersDir)
	if err != nil {
		return nil
	}
	defer servers.Close()
	names := []string{f.only}
	if f.only == "" {
		names = nil
		entries, _ := servers.Names()
		for _, e := range entries {
			if e.IsDir() {
				names = append(names, e.Name())
			}
		}
	}
	for _, name := range names {
		f.watch.add(filepath.Join(base, name))
		f.watch.add(filepath.Join(base, name, refusedDir))
		for _, r := range f.readServer(servers, name) {
			all = append(all, Told{name, r})
		}
	}
	slices.SortStableFunc(all, func(a, b Told) int { return a.Time.Compare(b.Time) })
	return all
}

func (f *Follower) readServer(servers *private.Dir, name string) (all []diagnostics.Refusal) {
	s := f.servers[name]
	if s == nil {
		s = new(followed)
		f.servers[name] = s
	}
	server, err := servers.Open(name)
	if err != nil {
		return nil
	}
	defer server.Close()
	d, err := server.Open(refusedDir)
	if err != nil {
		return nil
	}
	defer d.Close()
	now, err := d.OpenFile(refusedNow, os.O_RDONLY, 0)
	if err != nil {
		return nil // a session is about to make it
	}
	switch {
	case s.file == nil:
	case sameFile(s.file, now):
		now.Close()
		return s.read()
	default:
		all = s.read()
		// More than one file may have been filled meanwhile. Of those, the last is still there.
		if before, err := d.OpenFile(refusedBefore, os.O_RDONLY, 0); err == nil {
			if !sameFile(s.file, before) && !sameFile(now, before) && modified(before).After(modified(s.file)) {
				all = append(all, (&followed{file: before}).read()...)
			}
			before.Close()
		}
		s.file.Close()
		s.rest = nil
	}
	s.file = now
	return append(all, s.read()...)
}

func sameFile(a, b *os.File) bool {
	x, err := a.Stat()
	y, err2 := b.Stat()
	return cmp.Or(err, err2) == nil && os.SameFile(x, y)
}

func modified(f *os.File) (at time.Time) {
	if info, err := f.Stat(); err == nil {
		at = info.ModTime()
	}
	return at
}

// read returns the refusals in the rest of the file. It leaves out lines that are none.
func (s *followed) read() (all []diagnostics.Refusal) {
	var chunk [64 << 10]byte
	for {
		n, err := s.file.Read(chunk[:])
		s.rest = append(s.rest, chunk[:n]...)
		for {
			line, rest, whole := bytes.Cut(s.rest, []byte{'\n'})
			if !whole {
				break
			}
			s.rest = rest
			if r, err := diagnostics.DecodeRefusal(line); err == nil {
				all = append(all, r)
			}
		}
		if len(s.rest) > maxRest {
			s.rest = nil
		}
		if err != nil || n == 0 {
			s.rest = bytes.Clone(s.rest)
			return all
		}
	}
}
