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
