package index

import (
	"fmt"
	"slices"

	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/packages/store"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// Removal lists what is to be removed. Only Do removes it.
type Removal struct {
	Servers   []*StoredServer
	Pins      []*store.Entry
	Trees     []store.Info
	Leftovers []leftover
	Stays     []string // sentences about what is not removed, and why

	host hostfs.Host
}

// runningError reports a server that cannot be removed because a session uses it.
type runningError struct{ Name string }

func (e *runningError) Error() string {
	return fmt.Sprintf("nothing was removed: %s is running. Close its client, and try again", show.Name(e.Name))
}

// inUseError reports a package that a session of another server uses.
type inUseError struct{ Package string }

func (e *inUseError) Error() string {
	return fmt.Sprintf("nothing was removed: a running server uses the files of %s. Close its client and retry", e.Package)
}

// Removal returns the removal of servers, with the pins and trees that only they use, the trees that no pin names, and
// the leftovers of interrupted work. The error
// is a *runningError, an *inUseError, or that of the configuration: without it, the servers that
// use a pin are not known.
func (a *Stored) Removal(servers []*StoredServer) (*Removal, error) {
	r := &Removal{host: a.host}
	for _, s := range servers {
		if s.Running {
			return nil, &runningError{s.Called()}
		}
		// A server of a configuration that cannot be read may need the same package.
		if len(s.Pins) > 0 && a.ConfigErr != nil {
			return nil, fmt.Errorf("nothing was removed: the configuration cannot be read, so mcp-jail does not know which servers use the package of %s: %w", show.Name(s.Called()), a.ConfigErr)
		}
		r.Servers = append(r.Servers, s)
	}
	a.addPins(r)
	for _, t := range a.Unpinned { // such as other versions of the packages
		a.addUnpinned(r, t)
	}
	for _, l := range a.Leftovers {
		if !l.Busy {
			r.Leftovers = append(r.Leftovers, l)
		}
	}
	for _, t := range r.Trees {
		if session.PackageStore(a.host).InUse(t) {
			return nil, &inUseError{t.ID.String()}
		}
	}
	return r, nil
}

// addPins adds the pins of the servers, and their trees, as far as nothing else needs them.
func (a *Stored) addPins(r *Removal) {
	goes := func(name string) bool {
		return slices.ContainsFunc(r.Servers, func(s *StoredServer) bool { return s.Name == name })
	}
	for _, e := range a.lock.Entries() {
		users := a.uses[e.Key]
		if !slices.ContainsFunc(users, goes) {
			continue
		}
		if i := slices.IndexFunc(users, func(name string) bool { return !goes(name) }); i >= 0 {
			r.Stays = append(r.Stays, fmt.Sprintf("the package %s %s stays: server %s uses it too", e.Name, e.Version, users[i]))
			continue
		}
		r.Pins = append(r.Pins, e)
	}
	for _, s := range r.Servers {
		for _, t := range s.Trees {
			switch pinned := a.remainingPin(t, r.Pins); {
			case slices.ContainsFunc(r.Trees, func(o store.Info) bool { return o.ID == t.ID }), !slices.ContainsFunc(r.Pins, func(e *store.Entry) bool { return isTreeOf(t, e) }):
			case pinned != nil:
				r.Stays = append(r.Stays, fmt.Sprintf("the files of %s stay, because %s is pinned to them too", t.ID, pinned.Spec))
			default:
				r.Trees = append(r.Trees, t)
			}
		}
	}
}

// remainingPin returns an entry that names a tree and is not among those that go, or nil.
func (a *Stored) remainingPin(t store.Info, go_ []*store.Entry) *store.Entry {
	for _, e := range a.lock.Entries() {
		if isTreeOf(t, e) && !slices.Contains(go_, e) {
			return e
		}
	}
	return nil
}

// addUnpinned adds a tree that no pin names, unless a server runs from it or an installation is
// under way.
func (a *Stored) addUnpinned(r *Removal, t store.Info) {
	switch {
	case session.PackageStore(a.host).InUse(t):
		r.Stays = append(r.Stays, fmt.Sprintf("the files of %s stay, because a running server uses them", t.ID))
	case slices.ContainsFunc(a.Leftovers, func(l leftover) bool { return l.Busy }):
		r.Stays = append(r.Stays, fmt.Sprintf("the files of %s stay, because an installation is under way, which may be theirs", t.ID))
	default:
		r.Trees = append(r.Trees, t)
	}
}

// RemovalOfAll returns the removal of all servers that do not run.
func (a *Stored) RemovalOfAll() (*Removal, error) {
	return a.Removal(slices.DeleteFunc(slices.Clone(a.Servers), func(s *StoredServer) bool { return s.Running }))
}

// Empty reports whether there is nothing to remove.
func (r *Removal) Empty() bool {
	return len(r.Servers)+len(r.Pins)+len(r.Trees)+len(r.Leftovers) == 0
}

// Bytes returns the bytes of all that is to be removed.
func (r *Removal) Bytes() (n int64) {
	for _, s := range r.Servers {
		n += s.HomeBytes() + s.Records
	}
	for _, t := range r.Trees {
		n += t.Bytes
	}
	for _, l := range r.Leftovers {
		n += l.Bytes
	}
	return n
}

// Data returns the number of files and bytes of the servers' own data in the removal. Nothing
// brings that data back.
func (r *Removal) Data() (files int, bytes int64) {
	for _, s := range r.Servers {
		for _, h := range s.Homes {
			files, bytes = files+h.Files, bytes+h.Bytes
		}
	}
	return files, bytes
}
