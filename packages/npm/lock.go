package npm

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
)

// A Package is one entry of a lock file: a package at a place in the tree.
type Package struct {
	Path    string // below the tree: node_modules/a/node_modules/@s/b
	Name    string // the package's own name, which an alias may differ from
	Version string
	// Integrity is the hash of its archive, in the form sha512-BASE64; "" for a package
	// that lies in the archive of another one.
	Integrity        string
	HasInstallScript bool
}

// ReadLock returns the packages that a package-lock.json names, ordered by path, without the root. The error
// names a package whose content the lock file does not fix: each needs a strong hash, unless it lies in the
// archive of one that has it.
func ReadLock(data []byte) ([]Package, error) {
	entries, err := entriesOf(data)
	if err != nil {
		return nil, fmt.Errorf("package-lock.json: %w", err)
	}
	var list []Package
	for place, entry := range entries {
		if place == "" {
			continue
		}
		if !isPlace(place) || entry.truth("link") {
			return nil, fmt.Errorf("package-lock.json: %q is no place in a tree of packages", place)
		}
		p := Package{
			Path: place, Name: entry.text("name"), Version: entry.text("version"),
			Integrity: strongest(entry.text("integrity")), HasInstallScript: entry.truth("hasInstallScript"),
		}
		if p.Name == "" {
			p.Name = place[strings.LastIndex(place, "node_modules/")+len("node_modules/"):]
		}
		if strings.Contains(p.Integrity, " ") {
			return nil, fmt.Errorf("the registry gives more than one hash of the archive of %s@%s, and npm takes any of them, so nothing fixes what is in it", p.Name, p.Version)
		}
		if p.Integrity == "" && !(entry.truth("inBundle") && insideArchive(place, entries)) {
			return nil, fmt.Errorf("the registry gives no SHA-512 of the archive of %s@%s, so nothing fixes what is in it", p.Name, p.Version)
		}
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b Package) int { return strings.Compare(a.Path, b.Path) })
	return list, nil
}

// needed are the members of a package's entry that npm ci reads. What else a registry's metadata have, such as a
// license of some megabytes, does not belong into a file that each start reads.
var needed = []string{"name", "version", "resolved", "integrity", "dependencies", "optionalDependencies", "peerDependencies", "peerDependenciesMeta",
	"bundleDependencies", "inBundle", "optional", "peer", "dev", "devOptional", "hasShrinkwrap", "hasInstallScript", "link", "os", "cpu", "libc", "bin"}

// Lean returns a package-lock.json with what npm ci needs. npm install leaves out optional packages that it could not get,
// and npm ci misses them: they are left out of the dependencies, too. extraneous reports whether npm install has put
// packages into the tree that npm ci does not: they are left out.
func Lean(lock []byte) (lean []byte, extraneous bool, err error) {
	entries, err := entriesOf(lock)
	if err != nil {
		return nil, false, fmt.Errorf("package-lock.json: %w", err)
	}
	for place, entry := range entries {
		if entry.truth("extraneous") {
			extraneous = true
			delete(entries, place)
		}
	}
	for place, entry := range entries {
		maps.DeleteFunc(entry, func(name string, _ json.RawMessage) bool { return !slices.Contains(needed, name) })
		optional := entry.object("optionalDependencies")
		maps.DeleteFunc(optional, func(name string, _ json.RawMessage) bool { return !isPlaced(place, name, entries) })
		if delete(entry, "optionalDependencies"); len(optional) > 0 {
			entry["optionalDependencies"], _ = json.Marshal(optional) // it has been read
		}
	}
	lean, err = json.Marshal(map[string]any{"lockfileVersion": 3, "requires": true, "packages": entries})
	return lean, extraneous, err
}

// isPlaced reports whether the package at a place finds one of that name in its tree.
func isPlaced(place, name string, entries map[string]object) bool {
	for ; ; place = place[:max(strings.LastIndex(place, "/node_modules/"), 0)] {
		if entries[strings.TrimPrefix(place+"/node_modules/"+name, "/")] != nil {
			return true
		}
		if place == "" {
			return false
		}
	}
}

// Manifest returns the package.json for which a package-lock.json was made.
func Manifest(lock []byte) ([]byte, error) {
	entries, err := entriesOf(lock)
	if err != nil {
		return nil, fmt.Errorf("package-lock.json: %w", err)
	}
	wanted := entries[""].object("dependencies")
	if wanted == nil {
		return nil, errors.New("package-lock.json: it does not say for which packages it was made")
	}
	return json.Marshal(map[string]object{"dependencies": wanted})
}

// entriesOf returns what a package-lock.json says of each place.
func entriesOf(data []byte) (map[string]object, error) {
	lock, err := readObject(data)
	if err != nil {
		return nil, err
	}
	if v := string(lock["lockfileVersion"]); v != "2" && v != "3" {
		return nil, fmt.Errorf("its lockfileVersion is %q, and 3 (or 2) can be read; npm 7 or newer writes it", v)
	}
	var entries map[string]object
	if err := json.Unmarshal(lock["packages"], &entries); err != nil {
		return nil, fmt.Errorf("its list of packages cannot be read: %w", err)
	}
	return entries, nil
}

// strongest returns the strongest hashes of an integrity, which may have several with spaces between them, or "".
// Where two are equally strong npm accepts either, so both remain: ReadLock refuses them.
func strongest(integrity string) string {
	sizes := map[string]int{"sha256": 32, "sha384": 48, "sha512": 64}
	var best []string
	size := 0
	for _, hash := range strings.Fields(integrity) {
		hash, _, _ = strings.Cut(hash, "?")
		algorithm, digest, _ := strings.Cut(hash, "-")
		sum, err := base64.StdEncoding.Strict().DecodeString(digest)
		n := sizes[algorithm]
		if err != nil || n == 0 || len(sum) != n || n < size {
			continue
		}
		if n > size {
			best, size = nil, n
		}
		best = append(best, hash)
	}
	slices.Sort(best)
	return strings.Join(slices.Compact(best), " ")
}

// insideArchive reports whether a package around this place has an integrity, which then
// covers what is bundled with it.
func insideArchive(place string, entries map[string]object) bool {
	for {
		i := strings.LastIndex(place, "/node_modules/")
		if i < 0 {
			return false
		}
		place = place[:i]
		if strongest(entries[place].text("integrity")) != "" {
			return true
		}
	}
}

// isPlace reports whether a path consists of node_modules/NAME or node_modules/@SCOPE/NAME,
// repeated.
func isPlace(place string) bool {
	if !fs.ValidPath(place) || strings.ContainsAny(place, "\\\x00\n") {
		return false
	}
	parts := strings.Split(place, "/")
	for len(parts) > 0 {
		if parts[0] != "node_modules" || len(parts) < 2 {
			return false
		}
		n := 2
		if strings.HasPrefix(parts[1], "@") {
			n = 3
		}
		if len(parts) < n || strings.HasPrefix(parts[n-1], ".") || parts[n-1] == "node_modules" {
			return false
		}
		parts = parts[n:]
	}
	return true
}

// Digest returns a hash of the list of a tree's packages, in the form sha256:HEX: their places, names, versions
// and integrities. What publishers can change afterwards, such as a deprecation, does not count.
func Digest(packages []Package) string {
	sum := sha256.New()
	for _, p := range packages {
		fmt.Fprintf(sum, "%q %q %q %q\n", p.Path, p.Name, p.Version, p.Integrity)
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil))
}
