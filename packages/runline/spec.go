package runline

import (
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
)

// Spec is one package of a registry that a line names.
type Spec struct {
	Raw  string // as it was written
	Name string // of PyPI as PEP 503 normalises it

	// At most one of these is set. If none is, the spec asks for the newest version, as the launcher sees it.
	Version string // one exact version
	Range   string // bounds: "^1.2", ">=1,<2"
	Tag     string // "latest", "next"

	Extras []string // of PyPI: the extras in brackets, sorted
}

// String returns the spec as it was written.
func (s Spec) String() string { return s.Raw }

// Want returns the version, range or tag that is asked for, and "latest" if none is.
func (s Spec) Want() string {
	for _, v := range [...]string{s.Version, s.Range, s.Tag} {
		if v != "" {
			return v
		}
	}
	return "latest"
}

func (s Spec) identity() string {
	if len(s.Extras) > 0 {
		return s.Name + "[" + strings.Join(s.Extras, ",") + "]"
	}
	return s.Name
}

// The grammar of npm: what has a ":" or another "/", begins with a "." or ends like an archive can be an
// address or a file.
var (
	npmSpec    = show.Pattern(`^((?:@[\w.~-]+/)?[A-Za-z0-9][\w.~-]*)(?:@(.+))?$`)
	npmVersion = show.Pattern(`^[=v]?(\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?)$`)
	npmRange   = show.Pattern(`^(?:[xX]|v?[\d^~<>=*][\w.*+^~<>=| -]*)$`)
	npmTag     = show.Pattern(`^[A-Za-z][\w.-]*$`)
	archive    = show.Pattern(`(?i)\.(?:tgz|tar|tar\.gz)$`)
)

// maxName is the length of the longest name of a package that npm takes.
const maxName = 214

func parseNPM(raw string) (s Spec, ok bool) {
	m := npmSpec().FindStringSubmatch(raw)
	if m == nil || len(m[1]) > maxName || archive().MatchString(m[1]) || archive().MatchString(m[2]) {
		return s, false
	}
	s = Spec{Raw: raw, Name: m[1]}
	switch version := npmVersion().FindStringSubmatch(m[2]); {
	case m[2] == "":
		return s, raw == m[1]
	case version != nil:
		s.Version = version[1]
	case npmRange().MatchString(m[2]):
		s.Range = m[2]
	case npmTag().MatchString(m[2]):
		s.Tag = m[2]
	default:
		return s, false
	}
	return s, true
}

// The grammar of PyPI (PEP 440 and PEP 508), with the @VERSION of uvx. A program is a file name.
var (
	pythonSpec    = show.Pattern(`^([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)(?:\[([A-Za-z0-9._,-]+)\])?(?:@(latest|[vV]?\d[\w.!+-]*)| *([<>=!~].*))?$`)
	pythonBound   = show.Pattern(`^ *(===?|[~!<>]=|[<>]) *([vV]?\d[\w.!+-]*(?:\.\*)?) *$`)
	pythonVersion = show.Pattern(`^\d+(?:\.\d+){0,2}$`)
	programName   = show.Pattern(`^[A-Za-z0-9_][\w.-]*$`)
)

func parsePython(raw string) (s Spec, ok bool) {
	m := pythonSpec().FindStringSubmatch(raw)
	if m == nil {
		return s, false
	}
	s = Spec{Raw: raw, Name: pythonName(m[1])}
	if m[2] != "" {
		for extra := range strings.SplitSeq(m[2], ",") {
			s.Extras = append(s.Extras, pythonName(extra))
		}
		slices.Sort(s.Extras)
		s.Extras = slices.Compact(s.Extras)
	}
	switch {
	case m[3] == "latest":
		s.Tag = m[3]
	case m[3] != "":
		s.Version = m[3]
	case m[4] != "":
		return s.bounded(m[4])
	}
	return s, !slices.Contains(s.Extras, "")
}

// bounded returns a spec with bounds for its version, separated by commas.
func (s Spec) bounded(text string) (Spec, bool) {
	var bounds []string
	for bound := range strings.SplitSeq(text, ",") {
		m := pythonBound().FindStringSubmatch(bound)
		if m == nil {
			return s, false
		}
		bounds = append(bounds, m[1]+m[2])
	}
	version, exact := strings.CutPrefix(bounds[0], "==")
	if len(bounds) == 1 && exact && !strings.HasSuffix(version, "*") {
		s.Version = strings.TrimPrefix(version, "=")
		return s, true
	}
	s.Range = strings.Join(bounds, ",")
	return s, true
}

// pythonName returns a name as PEP 503 normalises it.
func pythonName(name string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r == '-' || r == '_' || r == '.' }), "-")
}
