package resolve

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

// HostSocket is the Entry.Named of a UNIX socket that lay in a granted directory
// at the start. Something outside of the jail listens there, and a directory's
// rights say nothing of who may be talked to: like a sensitive path, it is
// reachable only through a rule that names it.
const HostSocket = "**/socket"

// hostFifo is the same of a fifo in a part that a mount makes read-only: that does
// not keep anybody from writing into it.
const hostFifo = "**/fifo"

// symlink is the pattern of a hit that is a symbolic link.
const symlink = "**/link"

// hit is a name that the search found: sensitive by a pattern, protected, or a link.
type hit struct {
	dir, name string
	typ       fs.FileMode
	pattern   string // "" for a protected name
}

// search walks the granted trees for sensitive and protected names, at any
// depth, and turns what it finds into entries.
//
// It reads directories and nothing else: no file is looked at that is not found
// by name. It does not follow symbolic links, enter .git/objects, or go into
// another entry (that is a root of its own if it has rights). Directories that cannot be
// read are hidden.
func (b *builder) search() {
	w := &walker{host: b.h, patterns: b.patterns(), stop: b.at}
	for _, e := range b.entries() {
		if e.Kind != policy.KindDir || e.Rights == 0 || e.Make || e.Origin == policy.OriginHome {
			continue
		}
		if e.Origin == policy.OriginBaseline && e.Rights&policy.Write == 0 && !b.walk[e.Path] && !b.granted(e.Path) {
			continue
		}
		if pseudo(e.Path) {
			continue
		}
		// What comes from a package is searched without its dependencies.
		pkg := e.Origin == policy.OriginBaseline && e.Rights&policy.Write == 0 && !b.granted(e.Path)
		w.push(job{dir: e.Path, pkg: pkg})
	}
	hits := w.run()
	slices.SortFunc(hits, func(a, b hit) int {
		return cmp.Or(strings.Compare(a.dir, b.dir), strings.Compare(a.name, b.name))
	})
	slices.Sort(w.unread)
	for _, dir := range w.unread {
		b.shut(dir)
	}
	for _, h := range hits {
		if h.pattern != "" && h.pattern != symlink {
			b.sensitiveName(h)
		}
	}
	b.follow(hits)
	var entries []policy.Entry
	for _, h := range hits {
		if entries == nil {
			entries = b.entries()
		}
		if h.pattern == "" && !policy.Packaged(entries, path.Join(h.dir, h.name)) {
			b.protectName(h.dir, h.name, h.typ)
		}
	}
	for _, e := range b.entries() {
		if e.Kind != policy.KindDir || !e.Rights.Has(policy.Create) || e.Origin == policy.OriginHome {
			continue
		}
		switch path.Base(e.Path) { // a grant of .git itself
		case ".git", ".github", ".hg":
			b.protectName(path.Dir(e.Path), path.Base(e.Path), fs.ModeDir)
		}
		for _, name := range policy.EveryProtected() {
			b.protectPath(path.Join(e.Path, name), name)
		}
	}
	b.repositoriesAround()
}

// repositoriesAround protects what the configurations of repositories name inside of a
// grant that lies in one.
func (b *builder) repositoriesAround() {
	seen := map[string]bool{}
	for _, e := range b.entries() {
		if e.Origin != policy.OriginRule || e.Rights&policy.Write == 0 {
			continue
		}
		for dir := path.Dir(e.Path); !seen[dir]; dir = path.Dir(dir) {
			seen[dir] = true
			git := path.Join(dir, ".git")
			at, err := b.f.Find(git)
			switch {
			case err != nil || !at.Exists():
			case at.Info.Mode.IsDir():
				b.protectNamedBy(at.Path, dir)
			default:
				b.protectGitFile(git)
			}
		}
	}
}

// granted tells whether a baseline entry lies inside a rule with rights.
func (b *builder) granted(p string) bool {
	for p != "/" {
		p = path.Dir(p)
		if e, ok := b.at[p]; ok && e.Origin == policy.OriginRule {
			return e.Rights != 0
		}
	}
	return false
}

// pseudo tells whether a tree is not made of files, or is confinement's own.
func pseudo(p string) bool { return p == "/proc" || p == "/sys" || p == "/dev" }

// sensitiveName masks what a pattern matched.
func (b *builder) sensitiveName(h hit) {
	abs := path.Join(h.dir, h.name)
	at, err := b.f.Find(abs)
	if err == nil && at.Shut != "" {
		b.shut(at.Shut)
	}
	if err != nil || !at.Exists() {
		return
	}
	e, ok := b.find(at.Path)
	if !ok || e.Rights == 0 || e.Path == at.Path || e.Origin == policy.OriginHome {
		return // a rule names it, or it is out of reach
	}
	if h.typ&fs.ModeSymlink != 0 && e.Origin == policy.OriginBaseline {
		return // .env -> /usr/bin/node hides nothing and would break the server
	}
	rule := "sensitive: " + h.pattern
	switch h.pattern {
	case HostSocket:
		rule = "a socket of the host"
	case hostFifo:
		if e.Rights.Has(policy.Update) || !b.above(e.Path).Has(policy.Update) {
			return
		}
		rule = "a fifo where only a mount takes writing away"
	}
	b.at[at.Path] = policy.Entry{Path: at.Path, Kind: hostfs.KindOf(at.Info.Mode), Origin: policy.OriginSensitive, Named: h.pattern, Rule: rule, ID: at.Info.ID}
	b.hold(at.Links, h.pattern)
}

// above is what the entries around a path grant together.
func (b *builder) above(p string) (rights policy.Rights) {
	for p != "/" {
		p = path.Dir(p)
		rights |= b.at[p].Rights
	}
	return rights
}

type job struct {
	dir string
	pkg bool
}

// walker reads directories with a few workers; the queue is a stack, so that it
// stays small.
type walker struct {
	host     *hostfs.Host
	patterns []pattern
	stop     map[string]policy.Entry // read only while it runs

	mu      sync.Mutex
	more    sync.Cond
	jobs    []job
	helped  bool // by workers of other goroutines
	running int
	hits    []hit
	unread  []string // directories that could not be read to their end
}

func (w *walker) push(j job) { w.jobs = append(w.jobs, j) }

func (w *walker) run() []hit {
	w.more.L = &w.mu
	w.work()
	// Helpers may still be on their way out: there is nothing left for them.
	return w.hits
}

// few jobs are done before another thread would have come to help.
const few = 4

func (w *walker) help() {
	w.helped = true
	for range min(max(runtime.GOMAXPROCS(0), 2), 8) - 1 {
		go w.work()
	}
}

func (w *walker) work() {
	var found []job
	var hits []hit
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		for len(w.jobs) == 0 && w.running > 0 {
			w.more.Wait()
		}
		if len(w.jobs) == 0 {
			return
		}
		if len(w.jobs) > few && !w.helped {
			w.help()
		}
		j := w.jobs[len(w.jobs)-1]
		w.jobs = w.jobs[:len(w.jobs)-1]
		w.running++
		w.mu.Unlock()

		found, hits = w.list(j, found[:0], hits[:0])

		w.mu.Lock()
		w.running--
		w.jobs = append(w.jobs, found...)
		w.hits = append(w.hits, hits...)
		if w.helped && (len(found) > 0 || w.running == 0) {
			w.more.Broadcast()
		}
	}
}

func (w *walker) list(j job, found []job, hits []hit) ([]job, []hit) {
	entries, err := w.host.ReadDir(j.dir)
	if err != nil {
		w.mu.Lock()
		w.unread = append(w.unread, j.dir)
		w.mu.Unlock()
	}
next:
	for _, e := range entries {
		typ := e.Type
		if typ&fs.ModeIrregular != 0 { // a filesystem that does not say
			info, err := w.host.Lstat(path.Join(j.dir, e.Name))
			if err != nil {
				w.mu.Lock()
				w.unread = append(w.unread, j.dir)
				w.mu.Unlock()
				continue
			}
			typ = info.Mode.Type()
		}
		for _, p := range w.patterns {
			if p.built && e.Name[0] != '.' {
				continue
			}
			if p.matches(j.dir, e.Name) {
				hits = append(hits, hit{j.dir, e.Name, typ, p.text})
				continue next // masked: nothing below it is reachable
			}
		}
		if e.Name[0] == '.' {
			if _, protected := policy.ProtectedNames(e.Name); protected {
				hits = append(hits, hit{j.dir, e.Name, typ, ""})
			}
		}
		if typ&fs.ModeSymlink != 0 && !j.pkg && path.Base(j.dir) != ".bin" { // of npm's packages
			hits = append(hits, hit{j.dir, e.Name, typ, symlink})
			continue
		}
		if typ&fs.ModeSocket != 0 {
			hits = append(hits, hit{j.dir, e.Name, typ, HostSocket})
			continue
		}
		if typ&fs.ModeNamedPipe != 0 {
			hits = append(hits, hit{j.dir, e.Name, typ, hostFifo})
			continue
		}
		if !typ.IsDir() || j.pkg && e.Name == "node_modules" {
			continue
		}
		if e.Name == "objects" && path.Base(j.dir) == ".git" {
			continue // hundreds of directories whose names are digests
		}
		child := j.dir + "/" + e.Name
		if j.dir == "/" {
			child = "/" + e.Name
		}
		if _, other := w.stop[child]; other || pseudo(child) {
			continue
		}
		found = append(found, job{child, j.pkg})
	}
	return found, hits
}
