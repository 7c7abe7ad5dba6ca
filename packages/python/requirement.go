package python

import (
	"strings"

	"github.com/mcp-jail/mcp-jail/packages/runline"

	"github.com/mcp-jail/mcp-jail/internal/lazy"
)

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

var separators = lazy.Regexp(`[-_.]+`)

// Normal returns a name as an index spells it (PEP 503).
func Normal(name string) string { return strings.ToLower(separators().ReplaceAllString(name, "-")) }

var leadingName = lazy.Regexp(`^[A-Za-z0-9][A-Za-z0-9._-]*`)

// RequirementName returns the normalised name of the package that a requirement names.
func RequirementName(text string) string {
	return Normal(strings.TrimRight(leadingName().FindString(strings.TrimSpace(text)), "-_."))
}

var pythonVersion = lazy.Regexp(`^(?:c?python[@-]?)?([0-9]{1,4}(?:\.[0-9]{1,4}){0,2})$`)

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
