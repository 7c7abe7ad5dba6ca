package runline

import "strings"

// Kind is where a package comes from.
type Kind string

// The kinds. An Alias installs a package of the registry under another name.
const (
	Registry  Kind = "registry"
	Alias     Kind = "alias"
	Git       Kind = "git"
	URL       Kind = "url"
	File      Kind = "file"
	Directory Kind = "directory"
)

// Spec is one package that a line names.
type Spec struct {
	Raw  string // as it was written
	Kind Kind
	// Name is the package's name. It is "" for a kind other than Registry and Alias, unless
	// the line gives one. Names of PyPI are normalised (PEP 503).
	Name string
	// Target is the package that an Alias installs.
	Target string

	// For a package of a registry, at most one of Version, Range and Tag is set. If none is set,
	// the spec asks for the newest version, as the launcher sees it. A Git spec may have a Range,
	// which chooses among the tags of its repository.
	Version string // one exact version
	Range   string // bounds: "^1.2", ">=1,<2"
	Tag     string // "latest", "next"

	Extras []string // of PyPI: the extras in brackets

	// Location is the repository, URL or path of the other kinds, without Ref.
	Location string
	Ref      string // the commit, branch or tag of a Git spec
}

// String returns the spec as it was written.
func (s Spec) String() string { return s.Raw }

// Exact reports whether the spec names one version that the registry cannot replace, or one
// commit.
func (s Spec) Exact() bool {
	switch s.Kind {
	case Registry, Alias:
		return s.Version != ""
	case Git:
		return len(s.Ref) == 40 && strings.Trim(s.Ref, "0123456789abcdef") == ""
	}
	return false
}

// Moving reports whether the spec may stand for something else tomorrow.
func (s Spec) Moving() bool { return !s.Exact() }

// Relative reports whether what the spec means depends on the working directory.
func (s Spec) Relative() bool {
	return (s.Kind == File || s.Kind == Directory) && s.Location[0] != '/' && s.Location[0] != '~' && !windowsPath(s.Location)
}

// Want returns the version, range, tag or commit that is asked for, and "latest" if none is.
func (s Spec) Want() string {
	for _, v := range [...]string{s.Version, s.Range, s.Tag, s.Ref} {
		if v != "" {
			return v
		}
	}
	return "latest"
}

func (s Spec) identity() string {
	switch {
	case s.Kind == Alias:
		return s.Name + "=" + s.Target
	case s.Kind == Registry && len(s.Extras) > 0:
		return s.Name + "[" + strings.Join(s.Extras, ",") + "]"
	case s.Kind == Registry:
		return s.Name
	}
	return string(s.Kind) + ":" + s.Location
}

func (s Spec) baseName() string {
	name := s.Name
	if name == "" {
		name = strings.TrimRight(s.Location, "/")
		for _, suffix := range [...]string{".git", ".tgz", ".tar.gz", ".tar", ".whl", ".zip"} {
			name = strings.TrimSuffix(name, suffix)
		}
	}
	return name[strings.LastIndexAny(name, `/\:`)+1:]
}

// parseSpec takes a package apart as the launcher does. why says why it cannot, or is "".
func parseSpec(l Launcher, raw string) (s Spec, why string) {
	switch {
	case raw == "":
		return s, "the package is an empty word"
	case raw[0] == '-':
		return s, "the package begins with a hyphen"
	case strings.IndexFunc(raw, func(r rune) bool { return r < ' ' || r == 0x7f }) >= 0:
		return s, "the package contains a control character"
	}
	if l.Ecosystem() == PyPI {
		return pythonSpec(l, raw)
	}
	s, why = npmSpec(raw)
	if why != "" || l == Npx || l == NpmExec {
		return s, why
	}
	// The other launchers agree with npm on these only.
	if s.Kind != Registry && !(s.Kind == Git && (l == Bunx || l == PnpmDlx) && strings.HasPrefix(raw, "github:")) {
		return s, "only npm's reading of this is known, and " + string(l) + " has its own"
	}
	if l == Bunx && (s.Name == "tsc" || s.Name == "typescript" || s.Name == "claude") {
		return s, "bun takes this for the name of another package or program"
	}
	return s, ""
}
