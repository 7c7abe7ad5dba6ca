package places

import (
	"cmp"
	"io/fs"
	"path"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// HostSocket is the Entry.Named of a UNIX socket that was in a granted directory at the
// start. A process outside the jail listens there. Rights on a directory do not permit
// talking to it, so, like a sensitive path, it is reachable only through a rule that names
// it.
const HostSocket = "**/socket"

// hostDevice is that of a device in such a part: a mount lets a process write to it as well.
const hostDevice = "**/device"

// hostFifo is the Entry.Named of a fifo in a part that only a mount makes read-only. Such a
// mount does not keep a process from writing into a fifo.
const hostFifo = "**/fifo"

// linkPattern is the pattern of a match that is a symbolic link.
const linkPattern = "**/link"

// A match is a name that the scan found: sensitive by a pattern, protected, a link, a socket or
// a fifo.
type match struct {
	dir, name string
	typ       fs.FileMode
	pattern   string // a sensitive pattern, linkPattern, HostSocket, hostFifo or hostDevice; "" for a protected name
}

// scan searches the granted trees for sensitive and protected names at any depth, and turns
// them into entries.
//
// It lists directories. Of their files, it looks up only those that a name or type makes a
// match, and those whose type the directory does not record. It does not enter the targets of
// symbolic links, .git/objects, or another entry, which is a root of its own if it has rights.
// It hides directories that cannot be read.
func (b *Masks) scan() {
	w := &scanner{host: b.Host, patterns: b.Places.patterns(), stop: b.Entries, slots: make(chan struct{}, min(max(runtime.GOMAXPROCS(0), 2), 8)-1)}
	for _, e := range b.Entries.Sorted() {
		ofProgram := e.Origin == policy.OriginBaseline && e.Rights&policy.Write == 0 && !b.Entries.insideRule(e.Path)
		if e.Kind == policy.KindDir && e.Rights != 0 && !e.Make && e.Origin != policy.OriginHome && !isPseudo(e.Path) && (!ofProgram || b.Searched[e.Path]) {
			w.search(e.Path, ofProgram)
		}
	}
	w.running.Wait()
	hits := w.matches
	slices.SortFunc(hits, func(a, b match) int {
		return cmp.Or(strings.Compare(a.dir, b.dir), strings.Compare(a.name, b.name))
	})
	// Hidden first, so that nothing below them becomes an entry.
	slices.Sort(w.unread)
	for _, dir := range w.unread {
		b.HideUnreadable(dir)
	}
	for _, h := range hits {
		if h.pattern != "" && h.pattern != linkPattern {
			b.hideMatch(h)
		}
	}
	b.findLinksAstray(hits)
	// Which matches are in a package depends on the entries as they are by now.
	granted := policy.Profile{Entries: b.Entries.Sorted()}
	for _, h := range hits {
		if h.pattern == "" && !granted.InPackage(path.Join(h.dir, h.name)) {
			b.protectName(h.dir, h.name, h.typ)
		}
	}
	for _, e := range b.Entries.Sorted() {
		if e.Kind != policy.KindDir || !e.Rights.Has(policy.Create) || e.Origin == policy.OriginHome {
			continue
		}
		b.Paths.ReadAhead(e.Path)
		for _, name := range policy.ProtectedPaths() {
			b.protectPath(path.Join(e.Path, name), name)
		}
	}
	b.namesAround()
}

// namesAround protects files in grants that lie inside a protected name or a repository: parts of
// that name, and what the repository's configuration names.
func (b *Masks) namesAround() {
	seen := map[string]bool{}
	for _, e := range b.Entries.Sorted() {
		if e.Origin != policy.OriginRule || e.Rights&policy.Write == 0 {
			continue
		}
		for dir := e.Path; !seen[dir]; dir = path.Dir(dir) {
			seen[dir] = true
			if dir == e.Path && e.Kind != policy.KindDir {
				continue
			}
			if below, _ := policy.ProtectedParts(path.Base(dir)); below != nil {
				b.protectName(path.Dir(dir), path.Base(dir), fs.ModeDir)
			} else if b.Git.isDir(dir) {
				b.Git.repository(dir, "")
			}
			if dir == e.Path {
				continue // the scan has found what it holds
			}
			git := path.Join(dir, ".git")
			at, err := b.Paths.Resolve(git)
			switch {
			case err != nil || !at.Exists():
			case at.Info.Mode.IsDir():
				b.Git.repository(at.Path, dir)
			default:
				b.Git.protectLinkFile(git)
			}
		}
	}
}

// isPseudo reports whether a tree contains no files, or belongs to confinement.
func isPseudo(p string) bool { return p == "/proc" || p == "/sys" || p == "/dev" }

func (b *Masks) hideMatch(h match) {
	abs := path.Join(h.dir, h.name)
	b.Paths.Saw(abs)
	at, err := b.Paths.Resolve(abs)
	if err == nil && at.Unsearchable != "" {
		b.HideUnreadable(at.Unsearchable)
	}
	if err != nil || !at.Exists() {
		return
	}
	e, ok := b.Entries.Find(at.Path)
	if !ok || e.Rights == 0 || e.Origin == policy.OriginHome {
		return // it is out of reach
	}
	if h.pattern != hostFifo && h.pattern != hostDevice {
		b.stop(at.Path, abs, h.pattern, policy.AllRights)
	}
	if e.Path == at.Path {
		return // a rule leads to it
	}
	if h.typ&fs.ModeSymlink != 0 && e.Origin == policy.OriginBaseline {
		return // .env -> /usr/bin/node hides nothing and would break the server
	}
	rule := "sensitive: " + h.pattern
	switch h.pattern {
	case HostSocket:
		rule = "a socket of this machine"
	case hostFifo, hostDevice:
		if e.Rights.Has(policy.Update) || !b.Entries.rightsAround(e.Path).Has(policy.Update) {
			return
		}
		rule = "a " + strings.TrimPrefix(h.pattern, "**/") + " where only a mount takes writing away"
	}
	b.Entries[at.Path] = policy.Entry{Path: at.Path, Kind: hostfs.KindOf(at.Info.Mode), Origin: policy.OriginSensitive, Named: h.pattern, Rule: rule, ID: at.Info.ID}
	b.hideLinks(at.Links, h.pattern)
}

// A scanner searches directories with a few goroutines.
type scanner struct {
	host     *hostfs.Host
	patterns []pattern
	stop     map[string]policy.Entry // read only while it runs
	slots    chan struct{}           // one for each goroutine beside the first
	running  sync.WaitGroup

	mu      sync.Mutex
	matches []match
	unread  []string // directories that could not be read to their end
}

// search looks at a directory and at those below it. A package is searched without its dependencies.
func (w *scanner) search(dir string, pkg bool) {
	entries, err := w.host.ReadDir(dir)
	var hits []match
	var below []string
	for _, e := range entries {
		typ := e.Type
		if typ&fs.ModeIrregular != 0 { // a filesystem that does not say
			info, errType := w.host.Lstat(path.Join(dir, e.Name))
			if err = cmp.Or(err, errType); errType != nil {
				continue
			}
			typ = info.Mode.Type()
		}
		hit := func(pattern string) { hits = append(hits, match{dir, e.Name, typ, pattern}) }
		if p, ok := w.matchingPattern(dir, e.Name); ok {
			hit(p)
			continue // masked: nothing below it is reachable
		}
		if _, protected := policy.ProtectedParts(e.Name); protected {
			hit("")
		}
		switch {
		case typ&fs.ModeSymlink != 0 && !pkg && path.Base(dir) != ".bin": // npm's packages have links there
			hit(linkPattern)
		case typ&fs.ModeSocket != 0:
			hit(HostSocket)
		case typ&fs.ModeNamedPipe != 0:
			hit(hostFifo)
		case typ&fs.ModeDevice != 0:
			hit(hostDevice)
		case typ.IsDir() && !(pkg && e.Name == "node_modules") && !(e.Name == "objects" && path.Base(dir) == ".git"): // hundreds of directories whose names are digests
			below = append(below, path.Join(dir, e.Name))
		}
	}
	w.mu.Lock()
	w.matches = append(w.matches, hits...)
	if err != nil {
		w.unread = append(w.unread, dir)
	}
	w.mu.Unlock()
	for _, dir := range below {
		if _, other := w.stop[dir]; other || isPseudo(dir) {
			continue
		}
		select {
		case w.slots <- struct{}{}:
			w.running.Go(func() {
				w.search(dir, pkg)
				<-w.slots
			})
		default:
			w.search(dir, pkg)
		}
	}
}

func (w *scanner) matchingPattern(dir, name string) (text string, ok bool) {
	for i := range w.patterns {
		p := &w.patterns[i]
		if !(p.Builtin && name[0] != '.') && p.matches(dir, name) {
			return p.Text, true
		}
	}
	return "", false
}
