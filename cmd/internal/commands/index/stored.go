package index

import (
	"cmp"
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/internal/private"
	"github.com/mcp-jail/mcp-jail/packages/store"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// Stored is what mcp-jail keeps of one user.
type Stored struct {
	Servers   []*StoredServer // the latest used first
	Unpinned  []store.Info    // trees that no pin names
	Leftovers []leftover      // of interrupted installations and removals
	ConfigErr error           // of the configuration: which servers use a pin is not known for sure

	host hostfs.Host
	lock *store.File
	uses map[store.Key][]string // the servers of each pin
}

// StoredServer is the directory of one server: its HOME and its records.
type StoredServer struct {
	Name    string
	About   records.About
	Asked   string // the package that its command asks for, as it is written; "" if it is no launcher's
	Pins    []*store.Entry
	Trees   []store.Info // those that Pins name
	Running bool
	Used    time.Time // the latest sign of a session; the date of the pin if there was none
	Failure *Failure
	Allowed []string          // in the client, for the session that runs
	Earlier *diagnostics.Kept // the session that runs has an earlier policy than the files; else nil
	Homes   []StoredHome      // private HOMEs that have files
	Records int64             // bytes of the records, and of what undo keeps

	started bool // there was a session
}

// Called returns the name of the server, as far as its key and its records tell it.
func (s *StoredServer) Called() string {
	if s.About.Project != "" {
		return PlainName(s.Name, s.About.Project)
	}
	if records.IsID(s.Name) {
		return cmp.Or(s.About.Name, records.KeyLabel(s.Name))
	}
	return records.ShortKey(s.Name)
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

// StoredHome is a private HOME: the server's own data.
type StoredHome struct {
	Path  string `json:"path"`
	Files int    `json:"files"`
	Bytes int64  `json:"bytes"`
}

// leftover is a directory that nothing needs any longer, or that an installation works in.
type leftover = store.Leftover

// LookStored is KnownStored, with the sizes of everything, the files of packages, and what was left by interrupted work. The error is
// about the lock file or the state directory, in which case nothing can be said for sure.
func LookStored(host hostfs.Host) (*Stored, error) {
	all, err := KnownStored(host)
	if err != nil {
		return nil, err
	}
	all.Measure()
	return all, nil
}

// Measure adds to what KnownStored returns what LookStored knows in addition, and sorts the servers.
func (a *Stored) Measure() {
	for _, s := range a.Servers {
		a.ReadSessions(s)
		s.measure(a.host)
	}
	a.joinTrees()
	a.Leftovers = session.PackageStore(a.host).Leftovers()
	if removed, err := private.Open(a.host.StateDir, removedDir); err == nil {
		defer removed.Close()
		_, size := measure(removed, ".")
		a.Leftovers = append(a.Leftovers, leftover{Path: filepath.Join(a.host.StateDir, removedDir), Bytes: size, Used: changed(removed, ".")})
	}
	slices.SortStableFunc(a.Servers, func(a, b *StoredServer) int { return cmp.Or(b.Used.Compare(a.Used), cmp.Compare(a.Name, b.Name)) })
}

// StoredNames returns the names of the servers that had a session.
func StoredNames(host hostfs.Host) (names []string, err error) {
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

// KnownStored returns the servers and their pins, and knows nothing of their sessions yet: see ReadSessions. With an error it
// returns the servers that were started.
func KnownStored(host hostfs.Host) (*Stored, error) {
	all := &Stored{host: host, uses: map[store.Key][]string{}}
	names, err := StoredNames(host)
	for _, name := range names {
		all.Servers = append(all.Servers, &StoredServer{Name: name, About: records.ReadAbout(host, name), started: true})
	}
	if err == nil {
		all.lock, err = store.Load(session.LockFile(host))
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
func (a *Stored) ReadSessions(s *StoredServer) {
	// What another user may have written tells nothing.
	if d, err := records.Open(a.host, s.Name); err == nil && s.started {
		defer d.Close()
		s.Running = d.Running()
		s.readTimes(d)
	}
}

// Sessions returns the servers that had a session, the latest first. It leaves out records that others may have written.
func (x *Index) Sessions() (all []*Server) {
	last := map[*Server]time.Time{}
	for _, s := range x.Servers {
		if s.Kept == nil {
			continue
		}
		if d, err := records.Open(x.Host, s.Kept.Name); err == nil {
			m, _ := d.Marker()
			if last[s] = d.Written(); m.After(last[s]) {
				last[s] = m
			}
			d.Close()
			all = append(all, s)
		}
	}
	all = slices.DeleteFunc(all, func(s *Server) bool { return last[s].IsZero() })
	slices.SortStableFunc(all, func(a, b *Server) int { return last[b].Compare(last[a]) })
	return all
}

// measure adds the sizes of what is in the directory of the server.
func (s *StoredServer) measure(host hostfs.Host) {
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
			s.Homes = append(s.Homes, StoredHome{filepath.Join(records.Path(host, s.Name), e.Name()), files, size})
		}
	}
}

func isHome(name string) bool { return name == "home" || strings.HasPrefix(name, "home-") }

func (s *StoredServer) readTimes(d records.Dir) {
	s.use(d.Written())
	entries, _ := d.Names()
	for _, e := range entries {
		if isHome(e.Name()) {
			s.use(changed(d.Dir, e.Name()))
		}
	}
	if begun, ok := d.Marker(); ok {
		s.use(begun)
	}
	if s.Used.IsZero() {
		s.use(changed(d.Dir, "."))
	}
	var last time.Time // the start of the session that a record without a failure is about
	for _, read := range []func() (diagnostics.Record, bool){d.Last, d.Failed} {
		r, ok := read()
		if s.Running && r.Unfinished {
			s.Allowed, s.Earlier = r.Allowed, r.Kept
		}
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

func (s *StoredServer) use(at time.Time) {
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
func (a *Stored) Trees() (trees []store.Info) {
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
func (s *StoredServer) HomeBytes() (n int64) {
	for _, h := range s.Homes {
		n += h.Bytes
	}
	return n
}

// PackageBytes returns the bytes of the server's packages.
func (s *StoredServer) PackageBytes() (n int64) {
	for _, t := range s.Trees {
		n += t.Bytes
	}
	return n
}

// Bytes returns the bytes of all that is kept of the server.
func (s *StoredServer) Bytes() int64 { return s.HomeBytes() + s.PackageBytes() + s.Records }
