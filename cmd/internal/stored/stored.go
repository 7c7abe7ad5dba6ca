// Package stored tells what mcp-jail keeps of the servers of one user, and removes it.
//
//	all, err := stored.Look(host)
//	removal, err := all.Removal([]*stored.Server{all.Server("server-memory")})
//	... // show it, and ask
//	err = removal.Do()
//
// Of a server, mcp-jail keeps these things:
//
//	STATE/servers/NAME/home, home-…       its private HOMEs: the server's own data. A project's server
//	                                      has NAME-HASH, and in older states NAME/home-HASH
//	STATE/servers/NAME/last.json, …       the records of its sessions
//	STATE/servers/NAME/undo               the files that mcp-jail undo can put back
//	CONFIG/mcp-jail.lock                  the pin of its package
//	DATA/packages/…                       the files of its package
//
// A [Server] joins them. One that was installed and never started has no directory, and one
// that is no package has no pin.
//
// # Removal
//
// A [Removal] is a list that can be shown before anything happens. [Removal.Do] first takes
// the directories of the servers from all sessions, and refuses a server that runs. It then
// removes the pins, then the files of packages, then the directories. Each directory is moved
// to STATE/removed in one step before it is deleted. So a crash leaves a server with all of
// its data, or without any.
//
// # Limits
//
//   - A pin that another server uses stays, and so do the files of a package that a remaining
//     pin names.
//   - Which servers use a pin is known from their sessions and from the configuration that
//     applies in the working directory. Configurations of other projects are not read.
//   - Sizes are the sums of the sizes of files. Files of a package that several servers use count
//     for each of them.
package stored

import (
	"cmp"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/cmd/internal/identity"
	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/internal/private"
	"github.com/mcp-jail/mcp-jail/packages/lockfile"
	"github.com/mcp-jail/mcp-jail/packages/store"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// All is what mcp-jail keeps of one user.
type All struct {
	Servers   []*Server              // the latest used first
	Unpinned  []store.Info           // trees that no pin names
	Leftovers []Leftover             // of interrupted installations and removals
	ConfigErr error                  // of the configuration: which servers use a pin is not known for sure
	Untrusted *config.UntrustedError // the project's file that was left out; nil for none

	host hostfs.Host
	lock *lockfile.File
	uses map[lockfile.Key][]string // the servers of each pin
}

// Server is the directory of one server: its HOME and its records.
type Server struct {
	Name    string
	About   records.About
	Asked   string // the package that its command asks for, as it is written; "" if it is no launcher's
	Pins    []*lockfile.Entry
	Trees   []store.Info // those that Pins name
	Running bool
	Used    time.Time // the latest sign of a session; the date of the pin if there was none
	Failure *Failure
	Homes   []Home // private HOMEs that have files
	Records int64  // bytes of the records, and of what undo keeps

	started bool // there was a session
}

// Called returns the name by which people call the server.
func (s *Server) Called() string {
	if s.About.Project != "" {
		return PlainName(s.Name, s.About.Project)
	}
	return cmp.Or(s.About.Name, identity.KeyLabel(s.Name))
}

// IsOlder reports whether the directory is that of a session of an older mcp-jail, which knew a server by another name than a
// start of this one does.
func (s *Server) IsOlder() bool {
	c := s.About.Configuration
	return len(s.About.Command) > 0 && (c == nil || c.ID == "" && !c.Configured)
}

// PlainName returns the name that a server has in its configuration. kept is the name under which
// things are kept, and project the file of a project's own server.
func PlainName(kept, project string) string {
	if project == "" {
		return kept
	}
	return strings.TrimSuffix(kept, "-"+policy.ShortHash(project))
}

// Failure is the last known failure of a server.
type Failure struct {
	Time time.Time `json:"time"` // the start of the session
	What string    `json:"what"` // the first line of the diagnosis
	Past bool      `json:"past"` // a later session began, and nothing failed in it so far

	Tool    string            `json:"-"`
	Stage   diagnostics.Stage `json:"-"`
	Blocked bool              `json:"-"` // by the jail
}

// Home is a private HOME: the server's own data.
type Home struct {
	Path  string `json:"path"`
	Files int    `json:"files"`
	Bytes int64  `json:"bytes"`
}

// Leftover is a directory that nothing needs any longer, or that an installation works in.
type Leftover = store.Leftover

// Look is Known, with the sizes of everything, the files of packages, and what was left by interrupted work. The error is
// about the lock file or the state directory, in which case nothing can be said for sure.
func Look(host hostfs.Host) (*All, error) {
	all, err := Known(host)
	if err != nil {
		return nil, err
	}
	all.Measure()
	return all, nil
}

// Measure adds to what Known returns what Look knows in addition, and sorts the servers.
func (a *All) Measure() {
	for _, s := range a.Servers {
		a.ReadSessions(s)
		s.measure(a.host)
	}
	a.joinTrees()
	a.Leftovers = session.PackageStore(a.host).Leftovers()
	if removed, err := private.Open(a.host.StateDir, removedDir); err == nil {
		defer removed.Close()
		_, size := measure(removed, ".")
		a.Leftovers = append(a.Leftovers, Leftover{Path: filepath.Join(a.host.StateDir, removedDir), Bytes: size, Used: changed(removed, ".")})
	}
	slices.SortStableFunc(a.Servers, func(a, b *Server) int { return cmp.Or(b.Used.Compare(a.Used), cmp.Compare(a.Name, b.Name)) })
}

// Names returns the names of the servers that had a session.
func Names(host hostfs.Host) (names []string, err error) {
	d, err := private.Open(host.StateDir, records.ServersDir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer d.Close()
	entries, err := d.Names()
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), ".") {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// Known returns the servers and their pins, and knows nothing of their sessions yet: see ReadSessions. With an error it
// returns the servers that were started.
func Known(host hostfs.Host) (*All, error) {
	all := &All{host: host, uses: map[lockfile.Key][]string{}}
	names, err := Names(host)
	for _, name := range names {
		all.Servers = append(all.Servers, &Server{Name: name, About: records.ReadAbout(host, name), started: true})
	}
	if err == nil {
		all.lock, err = lockfile.Load(session.LockFile(host))
	}
	if err == nil {
		all.joinPins()
	}
	return all, err
}

// removedDir is the directory, in the state directory, into which the directories of servers are
// moved to be deleted.
const removedDir = "removed"

// ReadSessions adds what the records tell of the sessions of a server: whether one runs, the last one, and what failed.
func (a *All) ReadSessions(s *Server) {
	if d, err := records.Open(a.host, s.Name); err == nil && s.started { // what another user may have written tells nothing
		defer d.Close()
		s.Running = d.Running()
		s.readTimes(d)
	}
}

// measure adds the sizes of what is in the directory of the server.
func (s *Server) measure(host hostfs.Host) {
	d, err := records.Open(host, s.Name)
	if err != nil || !s.started {
		return
	}
	defer d.Close()
	entries, _ := d.Names()
	for _, e := range entries {
		files, size := measure(d.Dir, e.Name())
		switch {
		case !isHome(e.Name()):
			s.Records += size
		case files > 0:
			s.Homes = append(s.Homes, Home{filepath.Join(records.Path(host, s.Name), e.Name()), files, size})
		}
	}
}

func isHome(name string) bool { return name == "home" || strings.HasPrefix(name, "home-") }

func (s *Server) readTimes(d records.Dir) {
	s.use(d.Written())
	entries, _ := d.Names()
	for _, e := range entries {
		if isHome(e.Name()) {
			s.use(changed(d.Dir, e.Name()))
		}
	}
	if m, ok := d.Marker(); ok {
		s.use(m.LastActivity())
	}
	if s.Used.IsZero() {
		s.use(changed(d.Dir, "."))
	}
	var last time.Time // the start of the session that a record without a failure is about
	for _, read := range []func() (diagnostics.Record, bool){d.Last, d.Failed} {
		r, ok := read()
		if n := len(r.Diagnoses); ok && n > 0 {
			failure := r.Diagnoses[n-1]
			what, _, _ := strings.Cut(failure.What, "\n")
			s.Failure = &Failure{Time: r.Time, What: what, Past: last.After(r.Time) || d.BegunSince(r.Time), Tool: failure.Tool, Stage: failure.Stage, Blocked: failure.Refused()}
			return
		}
		if ok {
			last = r.Time
		}
	}
}

func (s *Server) use(at time.Time) {
	if at.After(s.Used) {
		s.Used = at
	}
}

// changed returns the time of a file, or the zero time if there is none.
func changed(d *private.Dir, name string) (at time.Time) {
	if info, err := d.Lstat(name); err == nil {
		at = info.ModTime()
	}
	return at
}

// Trees returns the trees of all packages, each once.
func (a *All) Trees() (trees []store.Info) {
	for _, s := range a.Servers {
		for _, t := range s.Trees {
			if !slices.ContainsFunc(trees, func(o store.Info) bool { return o.ID == t.ID }) {
				trees = append(trees, t)
			}
		}
	}
	return append(trees, a.Unpinned...)
}

// measure returns the number of files below a name, and the bytes of the regular ones. It leaves
// out what it cannot read, and links: a start makes some in a HOME.
func measure(d *private.Dir, name string) (files int, size int64) {
	fs.WalkDir(d.Root().FS(), name, func(_ string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || e.Type() == fs.ModeSymlink {
			return nil
		}
		files++
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			size += info.Size()
		}
		return nil
	})
	return files, size
}

// HomeBytes returns the bytes of the server's own data.
func (s *Server) HomeBytes() (n int64) {
	for _, h := range s.Homes {
		n += h.Bytes
	}
	return n
}

// PackageBytes returns the bytes of the server's packages.
func (s *Server) PackageBytes() (n int64) {
	for _, t := range s.Trees {
		n += t.Bytes
	}
	return n
}

// Bytes returns the bytes of all that is kept of the server.
func (s *Server) Bytes() int64 { return s.HomeBytes() + s.PackageBytes() + s.Records }
