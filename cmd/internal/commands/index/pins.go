package index

import (
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/packages/installed"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/packages/store"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// joinPins gives each pin to the servers that use it. For a pin that no server uses it adds a
// server, under the name with which the package would run.
func (a *Stored) joinPins() {
	for _, s := range a.Servers {
		key, asked := keyOf(s.About.Command, &a.host)
		s.Asked = asked
		if p := s.About.Package; p != nil {
			key = store.Key{Ecosystem: store.Ecosystem(p.Ecosystem), Spec: p.Spec}
		}
		if key.Spec != "" {
			a.use(key, s.Name)
		}
	}
	cfg, _, err := session.LoadTrusted(config.LoadOptions{}, a.host)
	if a.ConfigErr = err; err == nil {
		for _, name := range cfg.ServerNames() {
			p, err := cfg.Policy(name, "")
			if err != nil {
				a.ConfigErr = err
				continue
			}
			if key, asked := keyOf(append([]string{p.Command}, p.Arguments...), &a.host); asked != "" {
				a.use(key, p.KeptName())
			}
		}
	}
	for _, e := range a.lock.Entries() {
		name := nameOf(e)
		if s := a.Server(name); len(a.uses[e.Key]) == 0 || s != nil && s.started && s.About.Command == nil {
			a.use(e.Key, name)
		}
		for _, name := range a.uses[e.Key] {
			s := a.Server(name)
			if s == nil {
				s = &StoredServer{Name: name}
				a.Servers = append(a.Servers, s)
			}
			s.Pins = append(s.Pins, e)
			if !s.started && e.Pinned.After(s.Used) {
				s.Used = e.Pinned
			}
		}
	}
}

func (a *Stored) use(key store.Key, server string) {
	if !slices.Contains(a.uses[key], server) {
		a.uses[key] = append(a.uses[key], server)
	}
}

// Server returns the server that is kept under a name, or nil.
func (a *Stored) Server(name string) *StoredServer {
	for _, s := range a.Servers {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// isPackage reports whether a name is that of a package of the server, with or without a version.
func (s *StoredServer) isPackage(name string) bool {
	for _, e := range s.Pins {
		if name == e.Name || name == e.Spec || name == e.Name+"@"+e.Version {
			return true
		}
	}
	if name != "" && (name == s.Asked || strings.HasPrefix(s.Asked, name+"@")) {
		return true
	}
	p := s.About.Package
	return p != nil && (name == p.Name || name == p.Spec)
}

// keyOf returns the key of a launcher's line, and the package that the line asks for. asked is ""
// for any other command.
func keyOf(argv []string, host *hostfs.Host) (key store.Key, asked string) {
	if len(argv) == 0 {
		return key, ""
	}
	line, err := runline.Parse(argv)
	if err != nil {
		return key, ""
	}
	return installed.Key(&line, host), line.Packages[0].String()
}

// nameOf returns a name for a package that no server had yet.
func nameOf(e *store.Entry) string { return records.Label([]string{e.Name}) }

// lineOf returns the shortest line that uses an entry, or nil if the key of the entry tells
// only a part of the line that it is for.
func lineOf(e *store.Entry, host *hostfs.Host) []string {
	launch := []string{"npx", "-y"}
	if e.Ecosystem == store.PyPI {
		launch = []string{"uvx"}
	}
	for _, word := range []string{e.Name, e.Spec} {
		argv := append(launch[:len(launch):len(launch)], word)
		if key, asked := keyOf(argv, host); asked != "" && key == e.Key {
			return argv
		}
	}
	return nil
}

// Line returns the launcher's line of a pin: the one of the server's last session, or the
// shortest one. It is nil if neither is known.
func (a *Stored) Line(s *StoredServer, e *store.Entry) []string {
	if key, asked := keyOf(s.About.Command, &a.host); asked != "" && key == e.Key {
		return s.About.Command
	}
	return lineOf(e, &a.host)
}

// PinOf returns the pin of a launcher's line, or nil. The server may have had no session.
func (a *Stored) PinOf(argv []string) *store.Entry {
	key, _ := keyOf(argv, &a.host)
	return a.lock.Find(key)
}

// HasPackage reports whether the package of a key is pinned for a line of the user's own, and in the store.
func HasPackage(host hostfs.Host, key store.Key) bool {
	lock, err := store.Load(session.LockFile(host))
	if err != nil {
		return false
	}
	e := lock.Find(key)
	return inStore(e, host)
}

func inStore(e *store.Entry, host hostfs.Host) bool {
	if e == nil {
		return false
	}
	_, ok := session.PackageStore(host).Lookup(installed.ID(e))
	return ok
}

func (a *Stored) joinTrees() {
	packages := session.PackageStore(a.host)
	trees, _ := packages.Trees() // without those whose seals are damaged
	for _, s := range a.Servers {
		for _, e := range s.Pins {
			tree, ok := packages.Lookup(installed.ID(e))
			if !ok || slices.ContainsFunc(s.Trees, func(t store.Info) bool { return t.ID == tree.ID }) {
				continue
			}
			if i := slices.IndexFunc(trees, func(t store.Info) bool { return t.ID == tree.ID }); i >= 0 {
				tree = trees[i]
			}
			s.Trees = append(s.Trees, tree)
		}
	}
	for _, t := range trees {
		if !slices.ContainsFunc(a.lock.Entries(), func(e *store.Entry) bool { return isTreeOf(t, e) }) {
			a.Unpinned = append(a.Unpinned, t)
		}
	}
}

// isTreeOf reports whether an entry names a tree. It compares whole digests: the directory of the
// tree has a part only.
func isTreeOf(t store.Info, e *store.Entry) bool { return t.ID == installed.ID(e) }
