package python

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Wheel holds the parts of the name of a wheel's file.
type Wheel struct {
	File    string
	Name    string // normalised
	Version string
	Python  []string // py3, cp312
	ABI     []string // none, abi3, cp312
}

// ParseWheel reads the name of a wheel's file ("Binary distribution format").
func ParseWheel(file string) (Wheel, error) {
	parts := strings.Split(strings.TrimSuffix(file, ".whl"), "-")
	if !strings.HasSuffix(file, ".whl") || len(parts) != 5 && len(parts) != 6 || slices.Contains(parts, "") || strings.ContainsAny(file, "/\\\n") {
		return Wheel{}, fmt.Errorf("%q is not the name of a wheel", file)
	}
	tags := parts[len(parts)-3:]
	return Wheel{File: file, Name: Normal(parts[0]), Version: parts[1], Python: strings.Split(tags[0], "."), ABI: strings.Split(tags[1], ".")}, nil
}

// Bound reports whether the wheel is for one minor version of Python only.
func (w Wheel) Bound() bool {
	for _, abi := range w.ABI {
		if abi == "abi3" {
			return false
		}
		if abi == "none" && slices.ContainsFunc(w.Python, func(p string) bool { return p == "py3" || p == "py2" }) {
			return false
		}
	}
	return true
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

// Requirements returns a requirements file that allows these packages and no other files.
func Requirements(packages []Package) string {
	var out strings.Builder
	for _, p := range packages {
		out.WriteString(p.Name + "==" + p.Version)
		for _, h := range p.Hashes {
			out.WriteString(" --hash=" + h)
		}
		out.WriteString("\n")
	}
	return out.String()
}

// ReadRequirements reads what uv pip compile --generate-hashes writes: lines that a
// backslash continues, each with a package, its version and its hashes.
func ReadRequirements(text string) (packages []Package, err error) {
	text = strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\\\n", " ")
	for line := range strings.Lines(text) {
		// uv adds "# via NAME" after a requirement.
		line, _, _ = strings.Cut(line, " #")
		words := strings.Fields(line)
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		name, version, ok := strings.Cut(words[0], "==")
		p := Package{Name: Normal(name), Version: version}
		words = words[1:]
		if len(words) > 0 && words[0] == ";" || strings.HasSuffix(version, ";") {
			return nil, fmt.Errorf("the requirement %q has a condition", strings.TrimSpace(line))
		}
		for _, w := range words {
			hash, isHash := strings.CutPrefix(w, "--hash=")
			if !isHash || !IsHash(hash) {
				return nil, fmt.Errorf("the requirement %s has the word %q, which is not a hash", name, w)
			}
			p.Hashes = append(p.Hashes, hash)
		}
		if !ok || name == "" || version == "" || len(p.Hashes) == 0 {
			return nil, fmt.Errorf("the requirement %q has no version or no hash", strings.TrimSpace(line))
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

// Same reports whether packages that were fetched again are the pinned ones: the same names
// and versions, and of each a file that the pin allows. A package for which mayDiffer reports true
// may have another file, such as a wheel for another version of Python.
func Same(pinned, now []Package, mayDiffer func(name string) bool) bool {
	if len(pinned) != len(now) {
		return false
	}
	for _, p := range pinned {
		i := slices.IndexFunc(now, func(n Package) bool { return n.Name == p.Name && n.Version == p.Version })
		if i < 0 {
			return false
		}
		known := slices.ContainsFunc(now[i].Hashes, func(h string) bool { return slices.Contains(p.Hashes, h) })
		if !known && !mayDiffer(p.Name) {
			return false
		}
	}
	return true
}

// Common returns the packages of each list whose names are in both.
func Common(a, b []Package) (inA, inB []Package) {
	in := func(list, other []Package) (out []Package) {
		for _, p := range list {
			if slices.ContainsFunc(other, func(o Package) bool { return o.Name == p.Name }) {
				out = append(out, p)
			}
		}
		return out
	}
	return in(a, b), in(b, a)
}

// BoundTags reports the same as Wheel.Bound from the file WHEEL of an installed package.
func BoundTags(text string) bool {
	tagged, free := false, false
	for line := range strings.Lines(text) {
		tag, ok := strings.CutPrefix(strings.TrimSpace(line), "Tag:")
		if !ok {
			continue
		}
		parts := strings.SplitN(strings.TrimSpace(tag), "-", 3)
		if tagged = true; len(parts) == 3 {
			free = free || !Wheel{Python: strings.Split(parts[0], "."), ABI: strings.Split(parts[1], ".")}.Bound()
		}
	}
	return tagged && !free
}
