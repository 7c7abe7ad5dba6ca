package installed

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"deps.dev/util/semver"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// An InterpreterFinder looks for interpreters on a host.
type InterpreterFinder struct {
	Host *hostfs.Host
	// Untrusted returns why a file may not be chosen: which server may write it. It returns "" if
	// none may. A nil function trusts all files.
	Untrusted func(file string) string
	// Version returns the version of an interpreter, or its answer to --version.
	Version func(ctx context.Context, file string) (string, error)
}

// A place is a path at which an interpreter may be.
type place struct {
	file, source string
	isDefault    bool
}

// find returns the interpreters of a language. The package comment says which are used.
func (f InterpreterFinder) find(ctx context.Context, lang language) (Found, error) {
	s := &search{InterpreterFinder: f, paths: hostfs.NewLinkResolver(f.Host), owners: ownerHost(f.Host), found: Found{Language: lang}}
	for _, p := range s.fromPath(lang) {
		s.add(ctx, p)
	}
	for _, m := range f.Host.VersionManagers() {
		if m.Language != string(lang) {
			continue
		}
		for _, v := range hostfs.NewestFirst(s.list(m.Versions)) {
			s.add(ctx, place{file: path.Join(m.Versions, v, m.Program), source: m.Name})
		}
	}
	for _, p := range s.fromHomebrew(lang) {
		s.add(ctx, p)
	}
	return s.found, ctx.Err()
}

// fromHomebrew returns what Homebrew on macOS has of a language beside PATH: versions that it does not
// link into its bin.
func (s *search) fromHomebrew(lang language) (out []place) {
	if s.Host.OS != "darwin" {
		return nil
	}
	formula := "node"
	if lang == Python {
		formula = "python"
	}
	for _, prefix := range [...]string{"/opt/homebrew", "/usr/local"} {
		for _, name := range hostfs.NewestFirst(s.list(path.Join(prefix, "opt"))) {
			if name != formula && !strings.HasPrefix(name, formula+"@") {
				continue
			}
			bin := path.Join(prefix, "opt", name, "bin")
			for _, program := range s.names(lang, bin) {
				out = append(out, place{file: path.Join(bin, program), source: "Homebrew"})
			}
		}
	}
	return out
}

// A search is one run of Find.
type search struct {
	InterpreterFinder
	paths, owners *hostfs.LinkResolver
	found         Found
}

// ownerHost returns a resolver that tells whether another account could replace a program. It
// trusts two more kinds of owners: on macOS the group of administrators, who own Homebrew, and in a
// user namespace that does not map root, the unmapped owner of the system's directories.
func ownerHost(h *hostfs.Host) *hostfs.LinkResolver {
	o := *h
	o.OwnGroup = func(gid int) bool {
		const admin = 80
		return h.OS == "darwin" && gid == admin || h.OwnGroup != nil && h.OwnGroup(gid)
	}
	o.Lstat = func(p string) (hostfs.FileInfo, error) {
		info, err := h.Lstat(p)
		system := func(tree string) bool { return policy.Within(p, tree) }
		if slices.ContainsFunc(systemTrees, system) && h.Unmapped != nil && h.Unmapped(info.UID) {
			info.UID = 0
		}
		return info, err
	}
	return hostfs.NewLinkResolver(&o)
}

// systemTrees are directories that only root, or the program that made a sandbox, fills.
var systemTrees = []string{"/usr", "/bin", "/sbin", "/lib", "/opt", "/app", "/snap", "/nix/store", "/gnu/store"}

// fromPath returns the places in PATH, and on macOS after it. The first is the default. It replaces a
// shim, or a stand-in of macOS, by the program that this would start.
func (s *search) fromPath(lang language) (out []place) {
	dirs := s.Host.SearchPath()
	for i, dir := range dirs {
		before := len(out)
		for _, name := range s.names(lang, dir) {
			file := path.Join(dir, name)
			if !s.paths.IsProgram(file) {
				continue
			}
			p := place{file: file, source: "PATH", isDefault: len(out) == 0}
			if tool, ok := s.paths.StandIn(file); ok {
				if p.file = tool; tool == "" {
					s.refuse(file, file+" "+hostfs.NoTools, nil)
					continue
				}
			}
			if program, shim := s.paths.Unshim(file, s.Host.Dir, dirs[i+1:]); shim {
				p.file = program
			}
			if p.file == "" && len(out) > before {
				continue // one refusal for all shims of a directory
			}
			if p.file == "" {
				s.refuse(file, "it is a shim of a version manager, and the version that it would start is not known", nil)
			}
			out = append(out, p)
		}
	}
	return slices.DeleteFunc(out, func(p place) bool { return p.file == "" })
}

// names returns the names of a language's interpreters that a directory may have, in the
// order in which launchers try them.
func (s *search) names(lang language, dir string) []string {
	if lang == Node {
		return []string{"node", "nodejs"}
	}
	names := []string{"python3", "python"}
	var others []string
	for _, name := range s.list(dir) {
		if minor, ok := strings.CutPrefix(name, "python3."); ok && strings.Trim(minor, "0123456789") == "" {
			others = append(others, name)
		}
	}
	return append(names, hostfs.NewestFirst(others)...)
}

func (s *search) refuse(file, reason string, err error) {
	s.found.Refused = append(s.found.Refused, refusal{file, reason, err})
}

func (s *search) add(ctx context.Context, p place) {
	if !s.paths.IsProgram(p.file) || ctx.Err() != nil {
		return
	}
	at, _ := s.paths.Resolve(p.file) // isProgram has resolved it
	if i := slices.IndexFunc(s.found.Interpreters, func(i Interpreter) bool { return i.Path == at.Path }); i >= 0 {
		have := &s.found.Interpreters[i]
		if have.Default = have.Default || p.isDefault; !slices.Contains(have.Sources, p.source) {
			have.Sources = append(have.Sources, p.source)
		}
		return
	}
	if slices.ContainsFunc(s.found.Refused, func(r refusal) bool { return r.Path == p.file || r.Path == at.Path }) {
		return
	}
	if reason := s.fault(p.file, at); reason != "" {
		s.refuse(p.file, reason, nil)
		return
	}
	version := versionOfPath(at.Path)
	if version == "" {
		var ok bool
		if version, ok = s.askVersion(ctx, at.Path); !ok {
			return
		}
	}
	s.found.Interpreters = append(s.found.Interpreters, Interpreter{Path: at.Path, Version: version, Sources: []string{p.source}, Default: p.isDefault})
}

// askVersion asks an interpreter for its version, and refuses it if it tells none.
func (s *search) askVersion(ctx context.Context, file string) (version string, ok bool) {
	text, err := s.Version(ctx, file)
	version = versionIn(text)
	if err == nil && version != "" {
		return version, true
	}
	reason := "its version is not known: it answers --version with " + show.Quote(firstLine(text))
	if err != nil {
		reason = "its version is not known: " + err.Error()
	}
	s.refuse(file, reason, err)
	return "", false
}

func (s *search) fault(file string, at hostfs.ResolvedPath) string {
	if s.Untrusted != nil {
		if why := s.Untrusted(file); why != "" {
			return why
		}
	}
	if !IsInterpreter(s.found.Language, path.Base(at.Path)) {
		return "it is a stand-in: it leads to " + at.Path
	}
	if err := s.owners.CheckTrusted(file); err != nil {
		return err.Error()
	}
	return ""
}

// IsInterpreter reports whether a file has the name of an interpreter.
func IsInterpreter(lang language, name string) bool {
	stems := []string{"nodejs", "node"}
	if lang == Python {
		stems = []string{"python", "pypy"}
	}
	for _, stem := range stems {
		if rest, ok := strings.CutPrefix(name, stem); ok && strings.Trim(rest, "0123456789.-") == "" {
			return true
		}
	}
	return false
}

func (s *search) list(dir string) []string {
	names, _ := s.paths.Names(s.paths.Canonical(dir)) // none of one that cannot be read
	return names
}

// versionOfPath returns the version in the path of an interpreter, or "". Only directories of
// version managers and of Homebrew count: the 1.2.3 of /opt/app/1.2.3/bin/node is the version of
// the application.
func versionOfPath(real string) string {
	dir, bin := path.Split(path.Dir(real))
	if bin != "bin" {
		return ""
	}
	dir = path.Clean(dir)
	if path.Base(dir) == "installation" { // fnm
		dir = path.Dir(dir)
	}
	name, parent := path.Base(dir), path.Base(path.Dir(dir))
	known := slices.Contains([]string{"node", "nodejs", "python", "node-versions"}, parent) ||
		strings.HasPrefix(parent, "node@") || strings.HasPrefix(parent, "python@") ||
		parent == "versions" && slices.Contains([]string{".pyenv", "pyenv", ".nodenv", "nodenv"}, path.Base(path.Dir(path.Dir(dir))))
	if !known {
		return ""
	}
	name, _, _ = strings.Cut(name, "_") // the revision of Homebrew
	if version := bareVersion(name); strings.Count(version, ".") == 2 && strings.Trim(version, "0123456789.") == "" {
		return version
	}
	return ""
}

// bareVersion returns the version in the name of a directory: v20.1.0, 20.1.0, or
// cpython-3.12.3-linux-x86_64-gnu.
func bareVersion(name string) string {
	if rest, ok := strings.CutPrefix(name, "cpython-"); ok {
		name, _, _ = strings.Cut(rest, "-")
	}
	return strings.TrimPrefix(strings.TrimPrefix(name, "python"), "v")
}

// versionIn returns the version in what an interpreter answers to --version: "v20.1.0" or
// "Python 3.12.3", "" if there is none.
func versionIn(answer string) string {
	answer = strings.TrimPrefix(firstLine(answer), "Python ")
	word, _, _ := strings.Cut(answer, " ")
	word = strings.TrimPrefix(strings.TrimSuffix(word, "+"), "v")
	if !isVersion().MatchString(word) {
		return ""
	}
	return word
}

// isVersion is a version as interpreters tell it. It is kept, compared, and shown to users.
var isVersion = show.Pattern(`^[0-9]{1,6}\.[0-9]{1,6}\.[0-9]{1,6}([-+.]?[0-9A-Za-z]{1,40}){0,4}$`)

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(line)
}

// A Language is what an interpreter runs.
type language string

const (
	Node   language = "node"
	Python language = "python"
)

// An Interpreter is a program of this machine that can be started.
type Interpreter struct {
	Path    string   // absolute, without links
	Version string   // 20.11.1, without a "v"
	Sources []string // where it was found: PATH, or the name of a version manager
	// Default reports that PATH gives this one.
	Default bool
}

// A Refusal is an interpreter that was found and is not used.
type refusal struct {
	Path   string
	Reason string
	Err    error // of asking for the version; nil otherwise
}

// Found is all that a search found of one language.
type Found struct {
	Language     language
	Interpreters []Interpreter // in the order of the search, PATH first
	Refused      []refusal
}

// A MissingError says that no interpreter of this machine fits.
type MissingError struct {
	Range string // the versions that the package asks for; "" for any
	Found Found
}

func (e *MissingError) Error() string {
	var out strings.Builder
	out.WriteString(strings.TrimSpace("the package needs " + map[language]string{Node: "Node.js", Python: "Python"}[e.Found.Language] + " " + e.Range))
	if len(e.Found.Interpreters) == 0 {
		out.WriteString(", and there is none in PATH or of a version manager")
	} else {
		out.WriteString(", and what is here does not fit:")
		for i, f := range e.Found.Interpreters {
			if i > 0 {
				out.WriteString(",")
			}
			fmt.Fprintf(&out, " %s (%s, from %s)", f.Version, f.Path, strings.Join(f.Sources, " and "))
		}
	}
	for _, r := range e.Found.Refused {
		fmt.Fprintf(&out, "; %s is not used: %s", r.Path, strings.TrimPrefix(r.Reason, r.Path+" is refused: "))
	}
	return out.String() + "; install a version that fits"
}

// Anew adds to the error of a package of Python whose interpreter is gone what has it installed for another one. asked are
// the arguments of mcp-jail install for it. Other errors stay as they are.
func Anew(err error, asked string) error {
	var missing *MissingError
	if !errors.As(err, &missing) || missing.Found.Language != Python {
		return err
	}
	return fmt.Errorf("%w. Or have it installed for the Python that is here, and see what changes: mcp-jail install --update %s", err, asked)
}

// Unwrap returns why interpreters did not tell their version.
func (e *MissingError) Unwrap() (all []error) {
	for _, r := range e.Found.Refused {
		if r.Err != nil {
			all = append(all, r.Err)
		}
	}
	return all
}

// Choose returns the interpreter for a range: the one that PATH gives if it fits, otherwise
// the newest that fits. fits reports whether a version is in the range; its error says why the
// range cannot be read. Choose does not call fits for an empty range, which every version fits. The
// error is a [*MissingError], or the error of fits.
func (f Found) Choose(rng string, fits func(rng, version string) (bool, error)) (Interpreter, error) {
	system, best := semver.NPM, -1
	if f.Language == Python {
		system = semver.PyPI
	}
	for i, candidate := range f.Interpreters {
		ok, err := strings.TrimSpace(rng) == "", error(nil)
		if !ok {
			ok, err = fits(rng, candidate.Version)
		}
		if err != nil {
			return Interpreter{}, err
		}
		switch {
		case ok && candidate.Default:
			return candidate, nil
		case ok && (best < 0 || system.Compare(candidate.Version, f.Interpreters[best].Version) > 0):
			best = i
		}
	}
	if best >= 0 {
		return f.Interpreters[best], nil
	}
	return Interpreter{}, &MissingError{Range: rng, Found: f}
}
