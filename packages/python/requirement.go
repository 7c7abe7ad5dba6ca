package python

import (
	"fmt"
	"path"
	"strings"

	"github.com/mcp-jail/mcp-jail/packages/runline"

	"github.com/mcp-jail/mcp-jail/internal/lazy"
)

// Requirement returns a package of a launcher's line as pip and uv take it (PEP 508). A
// relative path is below dir. The error says that the package comes from a place from
// which nothing can be fetched without running its code.
func Requirement(s runline.Spec, dir string) (string, error) {
	switch s.Kind {
	case runline.Registry:
		text := s.Name
		if len(s.Extras) > 0 {
			text += "[" + strings.Join(s.Extras, ",") + "]"
		}
		switch {
		case s.Version != "":
			text += "==" + s.Version
		case s.Range != "":
			text += s.Range
		}
		return text, nil
	case runline.File:
		if !strings.HasSuffix(s.Location, ".whl") {
			break
		}
		return below(dir, s.Location), nil
	case runline.URL:
		if location, _, _ := strings.Cut(s.Location, "#"); strings.HasSuffix(location, ".whl") {
			return s.Location, nil
		}
	}
	return "", &SourceError{Spec: s}
}

// below returns a file that a line names as an installer takes it. A relative one is below dir.
func below(dir, file string) string {
	if path.IsAbs(file) || strings.Contains(file, "://") {
		return file
	}
	return path.Join(dir, file)
}

// A SourceError says that a package is no wheel, so that installing it runs its code.
type SourceError struct{ Spec runline.Spec }

func (e *SourceError) Error() string {
	from := map[runline.Kind]string{runline.Git: "a git repository", runline.Directory: "a directory", runline.File: "an archive of sources", runline.URL: "an archive of sources"}[e.Spec.Kind]
	return fmt.Sprintf("%s is %s: mcp-jail installs Python packages from an index, or from a wheel, because to install this one runs its code", e.Spec, from)
}

var separators = lazy.Regexp(`[-_.]+`)

// Normal returns a name as an index spells it (PEP 503).
func Normal(name string) string { return strings.ToLower(separators().ReplaceAllString(name, "-")) }

// VersionRange returns the range of versions that a launcher's --python asks for: "3.12",
// "cpython@3.12" and "python3.12" are ==3.12.*, "3.12.4" is ==3.12.4, ">=3.11" is itself. It
// returns "" and false for a path or another implementation of Python.
func VersionRange(request string) (string, bool) {
	if request == "" {
		return "", true
	}
	if strings.ContainsAny(request[:1], "<>=~!") {
		return request, true
	}
	version := request
	for _, prefix := range []string{"cpython@", "python@", "cpython-", "cpython", "python"} {
		if rest, ok := strings.CutPrefix(version, prefix); ok {
			version = rest
			break
		}
	}
	parts := strings.Split(version, ".")
	for _, p := range parts {
		if strings.Trim(p, "0123456789") != "" || len(parts) > 1 && p == "" || len(p) > 4 {
			return "", false
		}
	}
	switch {
	case version == "":
		return "", true
	case len(parts) == 1 && len(version) > 1 && version[0] == '3': // 312
		return "==3." + version[1:] + ".*", true
	case len(parts) < 3:
		return "==" + version + ".*", true
	}
	return "==" + version, true
}

var leadingName = lazy.Regexp(`^[A-Za-z0-9][A-Za-z0-9._-]*`)

// RequirementName returns the normalised name of the package that a requirement names.
func RequirementName(text string) string {
	return Normal(strings.TrimRight(leadingName().FindString(strings.TrimSpace(text)), "-_."))
}
