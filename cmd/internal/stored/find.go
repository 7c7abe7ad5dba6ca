package stored

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// UnknownError reports a name that no server has.
type UnknownError struct {
	Name string
	Near []string // names that look like it
	None bool     // nothing is kept of any server
}

func (e *UnknownError) Error() string {
	text := fmt.Sprintf("mcp-jail keeps nothing of a server %q", e.Name)
	switch {
	case e.None:
		return text + ", nor of any other"
	case len(e.Near) > 0:
		return text + "; names like it: " + strings.Join(e.Near, ", ")
	}
	return text + "; `mcp-jail list` shows all servers"
}

// AmbiguousError reports a name that several servers have.
type AmbiguousError struct {
	Name  string
	Names []string
}

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("%q may be any of %s: type the whole name", e.Name, strings.Join(e.Names, ", "))
}

// Find returns the server of a name: the name under which it is kept, that by which people call it, its
// package, or the beginning of the name. The error is an *UnknownError or an *AmbiguousError.
func (a *All) Find(name string) (*Server, error) {
	for _, matches := range []func(*Server) bool{
		func(s *Server) bool { return s.Name == name },
		func(s *Server) bool { return s.Called() == name },
		func(s *Server) bool { return s.isPackage(name) },
		func(s *Server) bool { return strings.HasPrefix(s.Name, name) || strings.HasPrefix(s.Called(), name) },
	} {
		var found []*Server
		for _, s := range a.Servers {
			if name != "" && matches(s) {
				found = append(found, s)
			}
		}
		if len(found) == 1 {
			return found[0], nil
		}
		// The other rules match more servers, not fewer.
		if len(found) > 1 {
			e := &AmbiguousError{Name: name}
			for _, s := range found {
				e.Names = append(e.Names, s.Name)
			}
			return nil, e
		}
	}
	return nil, &UnknownError{name, a.near(name), len(a.Servers) == 0}
}

// WithOnePin returns the first of several servers that share one pin, and nil if they do not.
func (a *All) WithOnePin(names []string) (first *Server) {
	for _, name := range names {
		s := a.server(name)
		if len(s.Pins) != 1 || first != nil && first.Pins[0] != s.Pins[0] {
			return nil
		}
		if first == nil {
			first = s
		}
	}
	return first
}

func (s *Server) isPackage(name string) bool {
	for _, e := range s.Pins {
		if name == e.Name || name == e.Spec || name == e.Name+"@"+e.Version {
			return true
		}
	}
	p := s.About.Package
	return p != nil && (name == p.Name || name == p.Spec)
}

// maxNear is how many names an error proposes.
const maxNear = 3

func (a *All) near(name string) (near []string) {
	candidates := map[string]string{} // the server of each
	var words []string
	for _, s := range a.Servers {
		for _, word := range []string{s.Name, s.Called()} {
			if candidates[word] == "" {
				candidates[word] = a.ShortName(s)
				words = append(words, word)
			}
		}
		if len(name) > 2 && strings.Contains(s.Name, name) && len(near) < maxNear {
			near = append(near, a.ShortName(s))
		}
	}
	for len(near) < maxNear {
		word := config.Suggest(name, words)
		if word == "" {
			break
		}
		words = slices.DeleteFunc(words, func(w string) bool { return w == word })
		if !slices.Contains(near, candidates[word]) {
			near = append(near, candidates[word])
		}
	}
	return near
}

// ShortName returns a short name by which Find finds a server: that by which people call it, or as much
// of the other one as is necessary.
func (a *All) ShortName(s *Server) string {
	names := []string{s.Called()}
	for n := len(s.Called()) + 5; n < len(s.Name); n += 5 {
		names = append(names, s.Name[:n])
	}
	for _, name := range names {
		if found, err := a.Find(name); err == nil && found == s {
			return name
		}
	}
	return s.Name
}

// Here returns the server that a name means in a directory: the name under which mcp-jail keeps what
// belongs to it, and the project's file if it is the project's own. It returns every other name as it
// is.
//
// If the configuration does not tell, as with a project's file that has changed since it was trusted,
// the name means the project's server of which something is kept.
func Here(host hostfs.Host, dir, name string) (kept, project string) {
	if dir == "" || !policy.ValidServerName(name) {
		return name, ""
	}
	cfg, ignored, err := session.LoadTrusted(config.LoadOptions{Workspace: dir}, host)
	if known := err == nil && ignored == nil && cfg.Servers[name] != nil; known {
		if project = cfg.Servers[name].Project; project == "" {
			return name, ""
		}
	}
	files := []string{filepath.Join(dir, config.ProjectFile)}
	// A session may have named the directory by another way to it.
	if real, err := filepath.EvalSymlinks(dir); err == nil && real != dir {
		files = append(files, filepath.Join(real, config.ProjectFile))
	}
	for _, file := range files {
		if d, err := records.Open(host, policy.KeptName(name, file)); err == nil {
			d.Close()
			return policy.KeptName(name, file), file
		}
	}
	if project == "" {
		return cmp.Or(keptAs(host, dir, name), name), ""
	}
	return policy.KeptName(name, project), project
}

// keptAs returns the name under which a server is kept that people call by another one, or "": the one with a
// file of that name, or else the one of that name that was started last, in a directory or anywhere.
func keptAs(host hostfs.Host, dir, name string) (kept string) {
	files, _ := config.ServerFiles(host.ConfigDir)
	for _, f := range files {
		if f.Server.Name == name {
			return f.Server.ID
		}
	}
	if d, err := records.Open(host, name); err == nil {
		d.Close()
		return name
	}
	names, _ := Names(host)
	var last time.Time
	for _, n := range names {
		d, err := records.Open(host, n)
		if err != nil {
			continue
		}
		if a := d.About(); a.Name == name {
			here := a.Configuration != nil && a.Configuration.Workspace == dir
			if m, _ := d.Marker(); here || kept == "" || m.Time.After(last) {
				kept, last = n, m.Time
			}
			if here {
				d.Close()
				return n
			}
		}
		d.Close()
	}
	return kept
}

// PlainName returns the name that a server has in its configuration. kept is the name under which
// things are kept, and project the file of a project's own server.
func PlainName(kept, project string) string {
	if project == "" {
		return kept
	}
	return strings.TrimSuffix(kept, "-"+policy.ShortHash(project))
}
