package download

import (
	"debug/elf"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path"
	"runtime"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/packages/npm"
)

// node is a package at a place of the tree, as npm's lock file has it.
type node struct {
	path, name string

	Name             string            `json:"name"`
	Version          string            `json:"version"`
	Integrity        string            `json:"integrity"`
	Bin              map[string]string `json:"bin"`
	Link             bool              `json:"link"`
	InBundle         bool              `json:"inBundle"`
	HasShrinkwrap    bool              `json:"hasShrinkwrap"`
	HasInstallScript bool              `json:"hasInstallScript"`
	Optional         bool              `json:"optional"`
	DevOptional      bool              `json:"devOptional"`
	Dev              bool              `json:"dev"`
	Bundles          json.RawMessage   `json:"bundleDependencies"`
	Dependencies     map[string]string `json:"dependencies"`
	OptionalDeps     map[string]string `json:"optionalDependencies"`
	PeerDependencies map[string]string `json:"peerDependencies"`
	OS               []string          `json:"os"`
	CPU              []string          `json:"cpu"`
	Libc             []string          `json:"libc"`
	Engines          json.RawMessage   `json:"engines"`
}

// readTree returns the packages that belong on this system, each after the one that it lies in.
func readTree(file string) ([]*node, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var lock struct {
		Packages map[string]*node `json:"packages"`
	}
	if err := json.Unmarshal(text, &lock); err != nil {
		return nil, err
	}
	all := lock.Packages
	for place, n := range all {
		if place == "" {
			continue
		}
		if n == nil || !isPlace(place) || n.Link || n.InBundle || n.HasShrinkwrap || n.DevOptional || n.Dev || len(n.Bundles) > 0 || !strings.HasPrefix(n.Integrity, "sha512-") || strings.Contains(n.Integrity, " ") {
			return nil, errOther
		}
		n.path = place
		if n.name = n.Name; n.name == "" {
			n.name = place[strings.LastIndex(place, "node_modules/")+len("node_modules/"):]
		}
	}
	gone, err := unfit(all)
	if err != nil {
		return nil, err
	}
	var tree []*node
	for place, n := range all {
		if place != "" && !gone[place] {
			tree = append(tree, n)
		}
	}
	slices.SortFunc(tree, func(a, b *node) int { return strings.Compare(a.path, b.path) })
	return tree, nil
}

// isPlace reports whether a path is a place of packages in a tree.
func isPlace(place string) bool {
	if path.Clean(place) != place || strings.ContainsAny(place, "\\\x00") {
		return false
	}
	for rest := place; ; {
		after, ok := strings.CutPrefix(rest, "node_modules/")
		if !ok {
			return false
		}
		name, more, nested := strings.Cut(after, "/node_modules/")
		if name == "" || strings.HasPrefix(name, ".") || strings.Count(name, "/") > 1 || strings.Contains(name, "/") != strings.HasPrefix(name, "@") || strings.HasPrefix(path.Base(name), ".") {
			return false
		}
		if !nested {
			return true
		}
		rest = "node_modules/" + more
	}
}

// unfit returns the places of the optional packages that are not for this system, and of what only
// they need.
func unfit(all map[string]*node) (gone map[string]bool, err error) {
	gone = map[string]bool{}
	var system system
	for place, n := range all {
		if place == "" || n.OS == nil && n.CPU == nil && n.Libc == nil && !(n.Optional && n.Engines != nil) {
			continue
		}
		if system, err = system.known(); err != nil {
			return nil, err
		}
		fits := npm.Fits(n.OS, system.os) && npm.Fits(n.CPU, system.cpu) && (n.Libc == nil || system.os == "linux" && npm.Fits(n.Libc, system.libc))
		if n.Optional && fits {
			var engines map[string]string
			json.Unmarshal(n.Engines, &engines)
			if rng := engines["node"]; rng != "" {
				ok, err := npm.EngineFits(rng, system.node)
				fits = ok && err == nil
			}
		}
		if !fits && !n.Optional {
			return nil, errOther // npm says what it thinks of that
		}
		if !fits {
			gone[place] = true
		}
	}
	if len(gone) == 0 {
		return gone, nil
	}
	return gone, orphans(all, gone)
}

// orphans adds to gone what no other package of the tree needs.
func orphans(all map[string]*node, gone map[string]bool) error {
	needed := map[string]bool{}
	var visit func(place string) error
	visit = func(place string) error {
		n := all[place]
		for _, deps := range []map[string]string{n.Dependencies, n.OptionalDeps, n.PeerDependencies} {
			for name := range deps {
				to := resolve(all, place, name)
				if to == "" || needed[to] {
					continue
				}
				if gone[to] {
					if n.Dependencies[name] != "" && n.OptionalDeps[name] == "" {
						return errOther // what needs it may not be here, either
					}
					continue
				}
				needed[to] = true
				if err := visit(to); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if err := visit(""); err != nil {
		return err
	}
	for place, n := range all {
		if place != "" && !needed[place] && !gone[place] {
			if !n.Optional {
				return errOther
			}
			gone[place] = true
		}
	}
	return nil
}

// resolve returns the place of the package that a package at a place finds under a name, or "".
func resolve(all map[string]*node, place, name string) string {
	for {
		to := path.Join(place, "node_modules", name)
		if all[to] != nil {
			return to
		}
		if place == "" {
			return ""
		}
		at := strings.LastIndex(place, "node_modules/")
		place = strings.TrimSuffix(place[:at], "/")
	}
}

// system is this one as node names it.
type system struct{ os, cpu, libc, node string }

// ask prints what npm compares the fields os, cpu, libc and engines of a package with.
const ask = `process.report.excludeNetwork = true
const r = process.report.getReport()
const musl = (r.sharedObjects || []).some(o => /libc\.musl-|ld-musl-/.test(o))
console.log(process.platform, process.arch, process.versions.node, r.header.glibcVersionRuntime ? "glibc" : musl ? "musl" : "none")`

// known asks node, once.
func (s system) known() (system, error) {
	if s.os != "" {
		return s, nil
	}
	out, err := exec.Command("node", "-e", ask).Output()
	words := strings.Fields(string(out))
	if err != nil || len(words) != 4 {
		return s, errors.Join(errOther, err)
	}
	return system{os: words[0], cpu: words[1], node: words[2], libc: words[3]}, nil
}

// probable returns the system as far as it is known without starting node.
func probable() system {
	s := system{os: runtime.GOOS, cpu: runtime.GOARCH}
	switch runtime.GOARCH {
	case "amd64":
		s.cpu = "x64"
	case "386":
		s.cpu = "ia32"
	}
	node, err := exec.LookPath("node")
	if err != nil {
		return s
	}
	program, err := elf.Open(node)
	if err != nil {
		return s // a shim, for instance
	}
	defer program.Close()
	for _, p := range program.Progs {
		if p.Type != elf.PT_INTERP {
			continue
		}
		if loader, err := io.ReadAll(p.Open()); err == nil && strings.Contains(string(loader), "ld-musl") {
			s.libc = "musl"
		} else if err == nil {
			s.libc = "glibc"
		}
	}
	return s
}
