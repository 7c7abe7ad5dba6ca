package python

import (
	"encoding/csv"
	"fmt"
	"path"
	"slices"
	"strings"

	"deps.dev/util/semver"

	"github.com/mcp-jail/mcp-jail/internal/show"
)

// Metadata is what METADATA of an installed package says.
type Metadata struct {
	Name, Version string
	Python        string   // Requires-Python
	Requires      []string // Requires-Dist
}

// ReadMetadata reads METADATA ("Core metadata"). Only its header counts.
func ReadMetadata(text string) (m Metadata) {
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if line == "" {
			break
		}
		name, value, ok := strings.Cut(line, ":")
		if value = strings.TrimSpace(value); !ok {
			continue
		}
		switch strings.ToLower(name) {
		case "name":
			m.Name = normal(value)
		case "version":
			m.Version = value
		case "requires-python":
			m.Python = value
		case "requires-dist":
			m.Requires = append(m.Requires, value)
		}
	}
	return m
}

// pythonMarker finds a condition of a dependency about the interpreter (PEP 508).
var pythonMarker = show.Pattern(`\b(python_version|python_full_version|implementation_name|implementation_version|platform_python_implementation)\b`)

// Bound reports whether the dependencies of the package depend on the version or implementation of
// Python.
func (m Metadata) Bound() bool {
	return slices.ContainsFunc(m.Requires, func(r string) bool {
		_, marker, _ := strings.Cut(r, ";")
		return pythonMarker().MatchString(marker)
	})
}

var clause = show.Pattern(`^(~=|==|!=|<=|>=|<|>)\s*([0-9]+(?:\.[0-9]+)*)(\.\*)?$`)

const maxClauses = 50

// Range returns the versions of Python on which a tree runs, in the form of requires-python. All
// packages of the tree accept them. If bound, only the minor version that installed the tree is
// among them. Range leaves out a condition of a rare form, which it cannot compare, and those of a hostile package
// that has very many; the installer has obeyed them.
func Range(packages []Metadata, bound bool, installed string) string {
	var low, clauses []string
	for _, m := range packages {
		for c := range strings.SplitSeq(m.Python, ",") {
			parts := clause().FindStringSubmatch(strings.TrimSpace(c))
			if parts == nil || len(clauses) == maxClauses {
				continue
			}
			c = parts[1] + parts[2] + parts[3]
			if parts[1] == ">=" {
				low = append(low, parts[2])
			} else if !slices.Contains(clauses, c) {
				clauses = append(clauses, c)
			}
		}
	}
	slices.Sort(clauses)
	if len(low) > 0 {
		clauses = slices.Insert(clauses, 0, ">="+slices.MaxFunc(low, semver.PyPI.Compare))
	}
	if major, rest, ok := strings.Cut(installed, "."); ok && bound {
		minor, _, _ := strings.Cut(rest, ".")
		clauses = append(clauses, "=="+major+"."+minor+".*")
	}
	return strings.Join(clauses, ",")
}

// Fits reports whether a version of Python is in such a range. As for pip, a prerelease counts as its release.
func Fits(rng, version string) (bool, error) {
	c, err := semver.PyPI.ParseConstraint(rng)
	if err != nil {
		return false, fmt.Errorf("the Python versions %q cannot be read: %w", rng, err)
	}
	if end := strings.IndexFunc(version, func(r rune) bool { return r != '.' && (r < '0' || r > '9') }); end > 0 {
		version = version[:end]
	}
	v, err := semver.PyPI.Parse(version)
	if err != nil {
		return false, err
	}
	return c.MatchVersion(v), nil
}

// A Recorded file is a line of a RECORD: a file that a package has written, and its SHA-256 as the
// RECORD has it, "" if it has none. The path is that below the tree's site.
type Recorded struct {
	Path, Sum string
	line      []string
}

// ReadRecord returns the lines of a RECORD ("Recording installed projects").
func ReadRecord(text string) (files []Recorded, err error) {
	lines := csv.NewReader(strings.NewReader(text))
	lines.FieldsPerRecord = -1
	all, err := lines.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("RECORD cannot be read: %w", err)
	}
	for _, line := range all {
		// Programs and data lie above the directory that pip thinks of: ../../bin/NAME.
		r := Recorded{Path: strings.TrimPrefix(path.Clean("/"+line[0]), "/"), line: line}
		if len(line) > 1 {
			r.Sum, _ = strings.CutPrefix(line[1], "sha256=")
		}
		files = append(files, r)
	}
	return files, nil
}

// PortableRecord returns a RECORD without the files that an installer makes for its machine: the
// programs, the compiled files, and its own notes.
func PortableRecord(files []Recorded) string {
	var out strings.Builder
	lines := csv.NewWriter(&out)
	for _, r := range files {
		dir, base := path.Split(r.Path)
		notes := strings.HasSuffix(dir, ".dist-info/") && slices.Contains(InstallerFiles(), base)
		if !notes && dir != "bin/" && !strings.HasPrefix(r.line[0], "../") && path.Ext(base) != ".pyc" {
			lines.Write(r.line) // a Builder takes it
		}
	}
	lines.Flush()
	return out.String()
}

// InstallerFiles returns the names of the files in a dist-info that say how the package was
// installed.
func InstallerFiles() []string {
	return []string{"INSTALLER", "REQUESTED", "direct_url.json", "uv_cache.json"}
}
