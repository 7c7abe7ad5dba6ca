package npm

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

// A Package is one entry of a lock file: a package at a place in the tree.
type Package struct {
	Path    string // below the tree: node_modules/a/node_modules/@s/b
	Name    string // the package's own name, which an alias may differ from
	Version string
	// Integrity is the hash of its archive, in the form sha512-BASE64; "" for a package
	// that lies in the archive of another one (Bundled), and for an entry without one.
	Integrity string
	Resolved  string // the address that it came from, if the lock file has it
	Bundled   bool
	// Optional packages may be missing where they do not fit the system.
	Optional         bool
	HasInstallScript bool
	OS, CPU, Libc    []string // systems that it is for, as in package.json; nil for all
	Deprecated       string   // the message of its publisher
	License          string
}

// Why an entry of a lock file does not fix what is installed.
var (
	ErrGit         = errors.New("it comes from git, and nothing fixes its content")
	ErrFile        = errors.New("it is a folder of this machine, and nothing fixes its content")
	ErrLink        = errors.New("it is a link to a folder, and nothing fixes its content")
	ErrNoIntegrity = errors.New("it has no integrity")
	ErrWeak        = errors.New("its integrity is weaker than SHA-256")
)

// An Unpinned is a package whose content a lock file does not fix. Reason is one of the
// errors above.
type Unpinned struct {
	Package
	Reason error
}

// An UnpinnedError lists the packages whose content a lock file does not fix, by path.
type UnpinnedError struct{ Packages []Unpinned }

func (e *UnpinnedError) Error() string {
	var out strings.Builder
	out.WriteString("the lock file does not fix what is installed:")
	for i, u := range e.Packages {
		if i == 5 {
			fmt.Fprintf(&out, " and %d more;", len(e.Packages)-i)
			break
		}
		fmt.Fprintf(&out, " %s: %v;", u.Path, u.Reason)
	}
	return out.String() + " use a version from a registry"
}

// Unwrap returns the reasons.
func (e *UnpinnedError) Unwrap() []error {
	out := make([]error, len(e.Packages))
	for i, u := range e.Packages {
		out[i] = u.Reason
	}
	return out
}

// ReadLock returns the packages that a package-lock.json names, ordered by path, without the root.
// If the lock file does not fix the content of all packages, the error is an [*UnpinnedError], and
// the list is whole. With any other error, the list is empty.
func ReadLock(data []byte) ([]Package, error) {
	lock, err := readObject(data)
	if err != nil {
		return nil, fmt.Errorf("package-lock.json: %w", err)
	}
	var v int
	if json.Unmarshal(lock["lockfileVersion"], &v) != nil || v != 2 && v != 3 {
		return nil, fmt.Errorf("package-lock.json: its lockfileVersion is %q, and 3 (or 2) can be read; npm 7 or newer writes it", lock["lockfileVersion"])
	}
	var entries map[string]object
	if err := json.Unmarshal(lock["packages"], &entries); err != nil {
		return nil, fmt.Errorf("package-lock.json: its list of packages cannot be read: %w", err)
	}
	var list []Package
	var unpinned []Unpinned
	for place, entry := range entries {
		if place == "" {
			continue
		}
		p := newPackage(place, entry)
		if strings.HasPrefix(place, "node_modules/") && !isPlace(place) {
			return nil, fmt.Errorf("package-lock.json: %q is no place in a tree of packages", place)
		}
		reason := entry.pinned(&p)
		// The archive around a bundled package has the integrity of both.
		if errors.Is(reason, ErrNoIntegrity) && p.Bundled && insideArchive(place, entries) {
			reason = nil
		}
		if reason != nil {
			unpinned = append(unpinned, Unpinned{p, reason})
		}
		list = append(list, p)
	}
	slices.SortFunc(list, func(a, b Package) int { return strings.Compare(a.Path, b.Path) })
	if unpinned != nil {
		slices.SortFunc(unpinned, func(a, b Unpinned) int { return strings.Compare(a.Path, b.Path) })
		return list, &UnpinnedError{unpinned}
	}
	return list, nil
}

func newPackage(place string, entry object) Package {
	p := Package{
		Path: place, Name: entry.text("name"), Version: entry.text("version"), Resolved: entry.text("resolved"),
		Bundled: entry.truth("inBundle"), Optional: entry.truth("optional") || entry.truth("devOptional"),
		HasInstallScript: entry.truth("hasInstallScript"),
		OS:               entry.list("os"), CPU: entry.list("cpu"), Libc: entry.list("libc"),
		Deprecated: entry.text("deprecated"), License: entry.text("license"),
	}
	if p.Name == "" {
		p.Name = place
		if i := strings.LastIndex(place, "node_modules/"); i >= 0 {
			p.Name = place[i+len("node_modules/"):]
		}
	}
	if p.License == "" { // {"type": "MIT"}, as before 2015
		p.License = entry.object("license").text("type")
	}
	return p
}

// pinned sets the integrity of a package, and returns why its content is not fixed, or nil.
func (o object) pinned(p *Package) error {
	switch {
	case o.truth("link"):
		return ErrLink
	case !strings.HasPrefix(p.Path, "node_modules/"):
		return ErrFile
	}
	var err error
	if p.Integrity, err = strongest(o.text("integrity")); err == nil {
		return nil
	}
	scheme, _, _ := strings.Cut(p.Resolved, ":")
	switch {
	case scheme == "git" || strings.HasPrefix(scheme, "git+"):
		return ErrGit
	case scheme == "file":
		return ErrFile
	}
	return err
}

// strongest returns the strongest hashes of an integrity, which may have several with
// spaces between them. Where two are equally strong npm accepts either, so both remain.
func strongest(integrity string) (string, error) {
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
	switch {
	case best != nil:
		slices.Sort(best)
		return strings.Join(slices.Compact(best), " "), nil
	case strings.TrimSpace(integrity) == "":
		return "", ErrNoIntegrity
	}
	return "", fmt.Errorf("%w: %q", ErrWeak, integrity)
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
		if _, err := strongest(entries[place].text("integrity")); err == nil {
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

// Digest returns a hash of the list of a tree's packages: their places, names, versions and
// integrities, the systems that they are for, and whether they are bundled or optional. The order
// of the list does not count, nor do the addresses of the packages, nor the fields that publishers
// can change afterwards (deprecation). The result has the form sha256:HEX.
//
// Two lists with one digest lead npm ci to the same files on one system. The digest says
// nothing about files that were changed after the installation.
func Digest(packages []Package) string {
	lines := make([]string, len(packages))
	for i, p := range packages {
		fields := []string{p.Path, p.Name, p.Version, p.Integrity, strconv.FormatBool(p.Bundled), strconv.FormatBool(p.Optional)}
		for _, list := range [][]string{p.OS, p.CPU, p.Libc} {
			quoted := make([]string, len(list))
			for j, s := range list {
				quoted[j] = strconv.Quote(s)
			}
			fields = append(fields, strings.Join(quoted, ","))
		}
		for j, f := range fields {
			fields[j] = strconv.Quote(f)
		}
		lines[i] = strings.Join(fields, " ") + "\n"
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte("mcp-jail npm tree 1\n" + strings.Join(lines, "")))
	return "sha256:" + hex.EncodeToString(sum[:])
}
