package masks

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
	"github.com/mcp-jail/mcp-jail/policy/resolve/internal/places"
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
	w := &scanner{host: b.h, patterns: b.places.Patterns(), stop: b.entries}
	for _, e := range b.entries.Sorted() {
		if e.Kind != policy.KindDir || e.Rights == 0 || e.Make || e.Origin == policy.OriginHome {
			continue
		}
		if e.Origin == policy.OriginBaseline && e.Rights&policy.Write == 0 && !b.searched[e.Path] && !b.entries.InsideRule(e.Path) {
			continue
		}
		if isPseudo(e.Path) {
			continue
		}
		// A package is searched without its dependencies.
		pkg := e.Origin == policy.OriginBaseline && e.Rights&policy.Write == 0 && !b.entries.InsideRule(e.Path)
		w.push(task{dir: e.Path, pkg: pkg})
	}
	hits := w.run()
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
	granted := policy.Profile{Entries: b.entries.Sorted()}
	for _, h := range hits {
		if h.pattern == "" && !granted.InPackage(path.Join(h.dir, h.name)) {
			b.protectName(h.dir, h.name, h.typ)
		}
	}
	for _, e := range b.entries.Sorted() {
		if e.Kind != policy.KindDir || !e.Rights.Has(policy.Create) || e.Origin == policy.OriginHome {
			continue
		}
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
	for _, e := range b.entries.Sorted() {
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
			at, err := b.paths.Resolve(git)
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
	b.paths.Saw(abs)
	at, err := b.paths.Resolve(abs)
	if err == nil && at.Unsearchable != "" {
		b.HideUnreadable(at.Unsearchable)
	}
	if err != nil || !at.Exists() {
		return
	}
	e, ok := b.entries.Find(at.Path)
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
		rule = "a socket of the host"
	case hostFifo, hostDevice:
		if e.Rights.Has(policy.Update) || !b.entries.RightsAround(e.Path).Has(policy.Update) {
			return
		}
		rule = "a " + strings.TrimPrefix(h.pattern, "**/") + " where only a mount takes writing away"
	}
	b.entries[at.Path] = policy.Entry{Path: at.Path, Kind: hostfs.KindOf(at.Info.Mode), Origin: policy.OriginSensitive, Named: h.pattern, Rule: rule, ID: at.Info.ID}
	b.hideLinks(at.Links, h.pattern)
}

type task struct {
	dir string
	pkg bool
}

// A scanner reads directories with a few workers. Its queue is a stack, so that it stays
// short.
type scanner struct {
	host     *hostfs.Host
	patterns []places.Pattern
	stop     map[string]policy.Entry // read only while it runs

	mu      sync.Mutex
	more    sync.Cond
	tasks   []task
	helped  bool // workers in other goroutines have been started
	running int
	matches []match
	unread  []string // directories that could not be read to their end
}

func (w *scanner) push(j task) { w.tasks = append(w.tasks, j) }

func (w *scanner) run() []match {
	w.more.L = &w.mu
	w.work()
	// Helpers may still be on their way out: there is nothing left for them.
	return w.matches
}

// minQueue is the number of tasks from which a second worker is worth its start.
const minQueue = 4

func (w *scanner) addWorkers() {
	w.helped = true
	for range min(max(runtime.GOMAXPROCS(0), 2), 8) - 1 {
		go w.work()
	}
}

func (w *scanner) work() {
	var found []task
	var hits []match
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		for len(w.tasks) == 0 && w.running > 0 {
			w.more.Wait()
		}
		if len(w.tasks) == 0 {
			return
		}
		if len(w.tasks) > minQueue && !w.helped {
			w.addWorkers()
		}
		j := w.tasks[len(w.tasks)-1]
		w.tasks = w.tasks[:len(w.tasks)-1]
		w.running++
		w.mu.Unlock()

		found, hits = w.list(j, found[:0], hits[:0])

		w.mu.Lock()
		w.running--
		w.tasks = append(w.tasks, found...)
		w.matches = append(w.matches, hits...)
		if w.helped && (len(found) > 0 || w.running == 0) {
			w.more.Broadcast()
		}
	}
}

// list looks at one directory. It appends the directories to search next to found, and the
// matches to hits.
func (w *scanner) list(j task, found []task, hits []match) ([]task, []match) {
	entries, err := w.host.ReadDir(j.dir)
	if err != nil {
		w.addUnread(j.dir)
	}
	for _, e := range entries {
		typ := e.Type
		if typ&fs.ModeIrregular != 0 { // a filesystem that does not say
			info, err := w.host.Lstat(path.Join(j.dir, e.Name))
			if err != nil {
				w.addUnread(j.dir)
				continue
			}
			typ = info.Mode.Type()
		}
		if p, ok := w.matchingPattern(j.dir, e.Name); ok {
			hits = append(hits, match{j.dir, e.Name, typ, p})
			continue // masked: nothing below it is reachable
		}
		if e.Name[0] == '.' {
			if _, protected := policy.ProtectedParts(e.Name); protected {
				hits = append(hits, match{j.dir, e.Name, typ, ""})
			}
		}
		switch {
		case typ&fs.ModeSymlink != 0 && !j.pkg && path.Base(j.dir) != ".bin": // npm's packages have links there
			hits = append(hits, match{j.dir, e.Name, typ, linkPattern})
		case typ&fs.ModeSocket != 0:
			hits = append(hits, match{j.dir, e.Name, typ, HostSocket})
		case typ&fs.ModeNamedPipe != 0:
			hits = append(hits, match{j.dir, e.Name, typ, hostFifo})
		case typ&fs.ModeDevice != 0:
			hits = append(hits, match{j.dir, e.Name, typ, hostDevice})
		case typ.IsDir():
			if child, ok := w.descend(j, e.Name); ok {
				found = append(found, child)
			}
		}
	}
	return found, hits
}

func (w *scanner) matchingPattern(dir, name string) (text string, ok bool) {
	for i := range w.patterns {
		p := &w.patterns[i]
		if p.Builtin && name[0] != '.' {
			continue
		}
		if p.Matches(dir, name) {
			return p.Text, true
		}
	}
	return "", false
}

// descend returns the task for a subdirectory, if it is to be searched.
func (w *scanner) descend(j task, name string) (child task, ok bool) {
	if j.pkg && name == "node_modules" {
		return task{}, false
	}
	if name == "objects" && path.Base(j.dir) == ".git" {
		return task{}, false // hundreds of directories whose names are digests
	}
	dir := j.dir + "/" + name
	if j.dir == "/" {
		dir = "/" + name
	}
	if _, other := w.stop[dir]; other || isPseudo(dir) {
		return task{}, false
	}
	return task{dir, j.pkg}, true
}

func (w *scanner) addUnread(dir string) {
	w.mu.Lock()
	w.unread = append(w.unread, dir)
	w.mu.Unlock()
}
