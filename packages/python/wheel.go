package python

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/packages/runline"
)

// ParseWheel reads the name of a wheel's file ("Binary distribution format"). It returns the name of
// the package, normalised, and its version.
func ParseWheel(file string) (name, version string, err error) {
	parts := strings.Split(strings.TrimSuffix(file, ".whl"), "-")
	usual := len(parts) == 5 || len(parts) == 6
	if !strings.HasSuffix(file, ".whl") || !usual || slices.Contains(parts, "") || strings.ContainsAny(file, "/\\\n") {
		return "", "", fmt.Errorf("%q is not the name of a wheel", file)
	}
	return normal(parts[0]), parts[1], nil
}

// BoundTags reports from the file WHEEL of an installed package whether it is for one minor version
// of Python only: all its tags are like cp311-cp311-linux_x86_64.
func BoundTags(text string) bool {
	tagged := false
	for line := range strings.Lines(text) {
		tag, ok := strings.CutPrefix(strings.TrimSpace(line), "Tag:")
		parts := strings.SplitN(strings.TrimSpace(tag), "-", 3)
		if !ok || len(parts) < 3 {
			continue
		}
		tagged = true
		pythons, abis := strings.Split(parts[0], "."), strings.Split(parts[1], ".")
		anyPython := slices.Contains(pythons, "py3") || slices.Contains(pythons, "py2")
		if slices.Contains(abis, "abi3") || slices.Contains(abis, "none") && anyPython {
			return false
		}
	}
	return tagged
}

// A Package is one package of a tree.
type Package struct {
	Name, Version string
	// Hashes are those of the files that the package may be installed from: "sha256:HEX", sorted.
	// With pip, it is the hash of the chosen file. With uv, they are those of all files of the
	// version in the index.
	Hashes []string
}

// Integrity returns the hashes as the lock file has them.
func (p Package) Integrity() string { return strings.Join(p.Hashes, " ") }

// Digest returns a hash of the list of a tree's packages. Their order does not count.
func Digest(packages []Package) string {
	lines := make([]string, len(packages))
	for i, p := range packages {
		lines[i] = strconv.Quote(p.Name) + " " + strconv.Quote(p.Version) + " " + strconv.Quote(p.Integrity()) + "\n"
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte("mcp-jail python tree 1\n" + strings.Join(lines, "")))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Versions returns a file of constraints that allows these versions of the packages and no others.
func Versions(packages []Package) string {
	text := ""
	for _, p := range packages {
		text += p.Name + "==" + p.Version + "\n"
	}
	return text
}

// Requirements returns a requirements file that allows these packages and no other files.
func Requirements(packages []Package) string {
	text := ""
	for _, p := range packages {
		text += p.Name + "==" + p.Version
		for _, h := range p.Hashes {
			text += " --hash=" + h
		}
		text += "\n"
	}
	return text
}

// ReadRequirements reads what uv pip compile --generate-hashes writes: lines that a
// backslash continues, each with a package, its version and its hashes.
func ReadRequirements(text string) (packages []Package, err error) {
	text = strings.ReplaceAll(text, "\\\n", " ")
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, " #") // uv adds "# via NAME"
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		name, version, _ := strings.Cut(words[0], "==")
		p := Package{Name: normal(name), Version: version}
		for _, w := range words[1:] {
			hash, isHash := strings.CutPrefix(w, "--hash=")
			if !isHash || !IsHash(hash) {
				return nil, fmt.Errorf("the requirement %s has the word %q, which is not a hash", name, w)
			}
			p.Hashes = append(p.Hashes, hash)
		}
		if name == "" || version == "" || strings.HasSuffix(version, ";") || len(p.Hashes) == 0 {
			return nil, fmt.Errorf("the requirement %q has no version or no hash, or a condition", strings.TrimSpace(line))
		}
		slices.Sort(p.Hashes)
		packages = append(packages, p)
	}
	slices.SortFunc(packages, func(a, b Package) int { return strings.Compare(a.Name, b.Name) })
	return packages, nil
}

// IsHash reports whether text is a SHA-256 as pip and uv write it: sha256:HEX.
func IsHash(text string) bool {
	digits, ok := strings.CutPrefix(text, "sha256:")
	b, err := hex.DecodeString(digits)
	return ok && err == nil && len(b) == sha256.Size
}

// Same reports whether packages that were fetched again are the pinned ones: the same names and
// versions, and of each a file that the pin allows.
func Same(pinned, now []Package) bool {
	return len(pinned) == len(now) && !slices.ContainsFunc(pinned, func(p Package) bool {
		return !slices.ContainsFunc(now, func(n Package) bool {
			known := slices.ContainsFunc(n.Hashes, func(h string) bool { return slices.Contains(p.Hashes, h) })
			return n.Name == p.Name && n.Version == p.Version && known
		})
	})
}

// Requirement returns a package of a launcher's line as pip and uv take it (PEP 508).
func Requirement(s runline.Spec) string {
	text := s.Name
	if len(s.Extras) > 0 {
		text += "[" + strings.Join(s.Extras, ",") + "]"
	}
	if s.Version != "" {
		return text + "==" + s.Version
	}
	return text + s.Range
}

var separators = show.Pattern(`[-_.]+`)

// normal returns a name as an index spells it (PEP 503).
func normal(name string) string { return strings.ToLower(separators().ReplaceAllString(name, "-")) }

var leadingName = show.Pattern(`^[A-Za-z0-9][A-Za-z0-9._-]*`)

// RequirementName returns the normalised name of the package that a requirement names.
func RequirementName(text string) string {
	return normal(strings.TrimRight(leadingName().FindString(strings.TrimSpace(text)), "-_."))
}

var pythonVersion = show.Pattern(`^(?:c?python[@-]?)?([0-9]{1,4}(?:\.[0-9]{1,4}){0,2})$`)

// VersionRange returns the range of versions that a launcher's --python asks for: "3.12",
// "cpython@3.12" and "312" are ==3.12.*, "3.12.4" is ==3.12.4, ">=3.11" is itself. It returns false
// for a path, and for another implementation of Python.
func VersionRange(request string) (string, bool) {
	if request == "" || strings.ContainsAny(request[:1], "<>=~!") {
		return request, true
	}
	found := pythonVersion().FindStringSubmatch(request)
	if found == nil {
		return "", false
	}
	version := found[1]
	if len(version) > 1 && version[0] == '3' && !strings.Contains(version, ".") {
		version = "3." + version[1:]
	}
	if strings.Count(version, ".") < 2 {
		version += ".*"
	}
	return "==" + version, true
}
