package download

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"sync"

	"github.com/mcp-jail/mcp-jail/packages/npm"
)

const (
	connections   = 32 // at once to one host, with HTTP/1.1
	archives      = 20 // at once
	earlyArchives = 4  // while metadata come, which npm waits for
)

// walk fetches metadata and archives ahead of npm.
type walk struct {
	registry *registry
	dir      string // for what is unpacked
	ctx      context.Context
	cancel   context.CancelFunc
	system   system
	slots    chan struct{}
	early    chan struct{}
	looked   chan struct{}  // closed when all metadata are there
	work     sync.WaitGroup // that fetches archives
	look     sync.WaitGroup // that fetches metadata

	mu       sync.Mutex
	named    map[string]*metadata
	archives map[string]*archive // by integrity
	first    error               // of the metadata of a package that was asked for
}

// metadata are those of one package.
type metadata struct {
	once  sync.Once
	mu    sync.Mutex
	of    *npm.Packument
	taken []string // versions
	err   error
}

// archive is one that is fetched and unpacked.
type archive struct {
	done chan struct{}
	dir  string
	err  error
}

func newWalk(r *registry, dir string) *walk {
	w := &walk{registry: r, dir: dir, system: probable(), slots: make(chan struct{}, archives), early: make(chan struct{}, earlyArchives), looked: make(chan struct{}), named: map[string]*metadata{}, archives: map[string]*archive{}}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	return w
}

// end ends what is not needed any more, and waits for it.
func (w *walk) end() {
	w.cancel()
	w.look.Wait()
	w.work.Wait()
}

// from walks through the metadata of packages and of all that they need. It returns when these are in
// npm's cache. The archives still come then.
func (w *walk) from(specs []string) error {
	for _, spec := range specs {
		name, rng := splitSpec(spec)
		if name == "" {
			return errOther
		}
		w.visit(name, rng, true)
	}
	w.look.Wait()
	close(w.looked)
	return w.first
}

// splitSpec takes apart NAME@RANGE. It returns "" for a name if it is neither that nor an alias.
func splitSpec(spec string) (name, rng string) {
	at := strings.LastIndex(spec, "@")
	name, rng = spec, "latest"
	if at > 0 {
		name, rng = spec[:at], spec[at+1:]
	}
	if rng == "" {
		rng = "latest"
	}
	if strings.ContainsAny(name, ":\\ ") || strings.Count(name, "/") > 1 || strings.Contains(name, "/") != strings.HasPrefix(name, "@") {
		return "", ""
	}
	return name, rng
}

// visit fetches the metadata of a package in the background, and goes on with what it needs.
func (w *walk) visit(name, rng string, asked bool) {
	if other, ok := strings.CutPrefix(rng, "npm:"); ok {
		if name, rng = splitSpec(other); name == "" {
			return
		}
	}
	if strings.ContainsAny(rng, ":/") { // a repository or a file
		return
	}
	m := w.metadata(name)
	w.look.Add(1)
	go func() {
		defer w.look.Done()
		m.once.Do(func() { m.load(w, name) })
		if m.err != nil && asked {
			w.mu.Lock()
			w.first = errors.Join(w.first, m.err)
			w.mu.Unlock()
		}
		if r := m.take(rng); r != nil {
			w.take(r)
		}
	}()
}

// know fetches the metadata of a package in the background, and nothing that it needs.
func (w *walk) know(name string) {
	m := w.metadata(name)
	w.look.Add(1)
	go func() {
		defer w.look.Done()
		m.once.Do(func() { m.load(w, name) })
	}()
}

func (w *walk) metadata(name string) *metadata {
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.named[name]
	if m == nil {
		m = &metadata{}
		w.named[name] = m
	}
	return m
}

func (m *metadata) load(w *walk, name string) {
	text, err := w.registry.packument(w.ctx, name)
	if err == nil {
		m.of = &npm.Packument{}
		err = json.Unmarshal(text, m.of)
	}
	m.err = err
}

// take chooses a version. It returns nil if there is none, or if it was taken before.
func (m *metadata) take(rng string) *npm.Release {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil || m.of == nil {
		return nil
	}
	r := m.of.Guess(strings.TrimSpace(rng), m.taken)
	if r == nil {
		return nil
	}
	for _, v := range m.taken {
		if v == r.Version {
			return nil
		}
	}
	m.taken = append(m.taken, r.Version)
	return r
}

// take fetches a version, and visits what it needs.
func (w *walk) take(r *npm.Release) {
	for name, rng := range r.Dependencies {
		if _, optional := r.OptionalDependencies[name]; !optional {
			w.visit(name, rng, false)
		}
	}
	for name, rng := range r.OptionalDependencies {
		w.visit(name, rng, false)
	}
	for name, rng := range r.PeerDependencies {
		if !r.PeerMeta[name].Optional {
			w.visit(name, rng, false)
		} else {
			w.know(name) // npm asks for these, too
		}
	}
	if strings.HasPrefix(r.Dist.Integrity, "sha512-") && npm.Fits(r.OS, w.system.os) && npm.Fits(r.CPU, w.system.cpu) && npm.Fits(r.Libc, w.system.libc) {
		w.fetch(r.Name, r.Dist.Tarball, r.Dist.Integrity)
	}
}

// fetch fetches an archive in the background and unpacks it, once.
func (w *walk) fetch(name, address, integrity string) *archive {
	w.mu.Lock()
	defer w.mu.Unlock()
	a := w.archives[integrity]
	if a != nil {
		return a
	}
	sum := sha256.Sum256([]byte(integrity))
	a = &archive{done: make(chan struct{}), dir: filepath.Join(w.dir, hex.EncodeToString(sum[:12]))}
	w.archives[integrity] = a
	w.work.Add(1)
	go func() {
		defer w.work.Done()
		defer close(a.done)
		end, err := w.turn()
		defer end()
		if err != nil {
			a.err = err
			return
		}
		a.err = w.registry.unpack(w.ctx, name, address, integrity, a.dir)
	}()
	return a
}

// turn waits until an archive may be fetched. end gives the turn back.
func (w *walk) turn() (end func(), err error) {
	slots := w.slots
	select {
	case w.early <- struct{}{}:
		slots = w.early
	case <-w.looked:
		select {
		case w.slots <- struct{}{}:
		case <-w.ctx.Done():
			return func() {}, w.ctx.Err()
		}
	case <-w.ctx.Done():
		return func() {}, w.ctx.Err()
	}
	return func() { <-slots }, nil
}

// tarball returns the address of a version's archive, as far as the metadata are known.
func (w *walk) tarball(name, version, integrity string) string {
	w.mu.Lock()
	m := w.named[name]
	w.mu.Unlock()
	if m == nil || m.of == nil {
		return ""
	}
	if r := m.of.Versions[version]; r != nil && r.Dist.Integrity == integrity {
		return r.Dist.Tarball
	}
	return ""
}

// need fetches the archives of a tree, and waits until all are unpacked.
func (w *walk) need(tree []*node) error {
	var all []*archive
	for _, n := range tree {
		address := w.tarball(n.name, n.Version, n.Integrity)
		if address == "" {
			return errOther
		}
		all = append(all, w.fetch(n.name, address, n.Integrity))
	}
	for _, a := range all {
		if <-a.done; a.err != nil {
			return a.err
		}
	}
	return nil
}
