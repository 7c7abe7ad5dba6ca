package runtime

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// A Finder looks for interpreters on a host.
type Finder struct {
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

// Find returns the interpreters of a language. The package comment says which are used.
func (f Finder) Find(ctx context.Context, lang Language) (Found, error) {
	s := &search{Finder: f, paths: hostfs.NewLinkResolver(f.Host), owners: ownerHost(f.Host), found: Found{Language: lang}}
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
func (s *search) fromHomebrew(lang Language) (out []place) {
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
	Finder
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
func (s *search) fromPath(lang Language) (out []place) {
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
					s.refuse(file, "PATH", file+" "+hostfs.NoTools, nil)
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
				s.refuse(file, "PATH", "it is a shim of a version manager, and the version that it would start is not known", nil)
			}
			out = append(out, p)
		}
	}
	return slices.DeleteFunc(out, func(p place) bool { return p.file == "" })
}

// names returns the names of a language's interpreters that a directory may have, in the
// order in which launchers try them.
func (s *search) names(lang Language, dir string) []string {
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

func (s *search) refuse(file, source, reason string, err error) {
	s.found.Refused = append(s.found.Refused, Refusal{file, source, reason, err})
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
	if slices.ContainsFunc(s.found.Refused, func(r Refusal) bool { return r.Path == p.file || r.Path == at.Path }) {
		return
	}
	if reason := s.fault(p.file, at); reason != "" {
		s.refuse(p.file, p.source, reason, nil)
		return
	}
	version := versionOfPath(at.Path)
	if version == "" {
		var ok bool
		if version, ok = s.askVersion(ctx, at.Path, p.source); !ok {
			return
		}
	}
	s.found.Interpreters = append(s.found.Interpreters, Interpreter{Language: s.found.Language, Path: at.Path, Version: version, Sources: []string{p.source}, Default: p.isDefault})
}

// askVersion asks an interpreter for its version, and refuses it if it tells none.
func (s *search) askVersion(ctx context.Context, file, source string) (version string, ok bool) {
	text, err := s.Version(ctx, file)
	version = VersionIn(text)
	if err == nil && version != "" {
		return version, true
	}
	reason := "its version is not known: it answers --version with " + show.Quote(firstLine(text))
	if err != nil {
		reason = "its version is not known: " + err.Error()
	}
	s.refuse(file, source, reason, err)
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
func IsInterpreter(lang Language, name string) bool {
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
