package table

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"time"

	"github.com/mcp-jail/mcp-jail/clients/ownfile"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// A Place is a file of the configuration that has a table of a server.
type Place struct {
	Path string
	Line int // of the table
	// Project says that the file is the project's, and that the user trusts what it has. A Write trusts
	// what it writes.
	Project bool
	// Closed is why the file cannot be changed by this user; nil if it can.
	Closed error

	server  string
	options config.LoadOptions
	host    hostfs.Host // its Dir is where the server starts; "" for not known
	file    *ownfile.File
}

// Find returns the files with a table of a server, first layer first. The options are those of its
// start. The host has the directory in which it starts, or "" if that is not known.
func Find(o config.LoadOptions, host hostfs.Host, server string) (all []*Place, err error) {
	layers, err := o.Layers()
	if err != nil {
		return nil, err
	}
	for _, l := range layers {
		p := &Place{Path: l.Path, Project: l.Project, server: server, options: o, host: host}
		if l.Project {
			p.host.Dir = filepath.Dir(l.Path) // a project's server starts there
		}
		data, err := config.ReadConfigFile(l.Path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		} else if err != nil {
			return nil, err
		}
		layer, err := config.DecodeLayer(data, l.Path)
		if err != nil {
			return nil, err
		}
		if s := layer.Servers[server]; s != nil {
			_, p.Line = policy.SplitPosition(s.Where)
			p.Closed = p.open()
			all = append(all, p)
		}
	}
	return all, nil
}

// open reads the file for a change.
func (p *Place) open() (err error) {
	if p.file, err = ownfile.Read(p.Path); err != nil {
		return err
	}
	if err := p.file.Replaceable(); err != nil || !p.Project {
		return err
	}
	// The servers of the project may have made a link.
	dir, err := filepath.EvalSymlinks(filepath.Dir(p.Path))
	if err != nil {
		return err
	}
	if own := filepath.Join(dir, filepath.Base(p.Path)); own != p.file.Real {
		return fmt.Errorf("%s is a symbolic link to %s: change that file by hand, and trust it again", show.Line(p.Path), show.Line(p.file.Real))
	}
	return p.trusted(p.file.Data)
}

// trusted returns an error unless the user trusts a content of the project's file.
func (p *Place) trusted(data []byte) error {
	err := config.TrustStore{Path: p.options.Trust}.Check(p.file.Real, data)
	var untrusted *config.UntrustedError
	if errors.As(err, &untrusted) {
		what := "is not trusted"
		if untrusted.Changed {
			what = "has changed since you trusted it"
		}
		return fmt.Errorf("%s %s: read it and trust it first, with  %s", show.Line(p.Path), what, show.Typed("mcp-jail trust", p.Path))
	}
	return err
}

// Text returns the content of the file.
func (p *Place) Text() []byte { return p.file.Data }

// Dir returns where the server starts, or "" if that is not known.
func (p *Place) Dir() string { return p.host.Dir }

// Home returns the home directory of the user.
func (p *Place) Home() string { return p.host.Home }

// Edit is a change of a file that has not been written.
type Edit struct {
	Result
	place *Place
	made  []byte // the file that it is made of
}

// Edit returns what a change makes of the file. It takes the server, the file and what is known of the
// host from the place.
func (p *Place) Edit(c Change) (*Edit, error) {
	if p.Closed != nil {
		return nil, p.Closed
	}
	was, err := p.Policy(p.file.Data, c.Tool)
	if err != nil {
		return nil, err
	}
	c.File, c.Server, c.System, c.Home = p.Path, p.server, p.host.OS, p.host.Home
	c.Policy = func(text []byte) (*policy.Policy, error) { return p.Policy(text, c.Tool) }
	c.Workspace = p.host.Dir
	if was.Workspace != "" {
		c.Workspace = c.native(c.placed(was.Workspace))
	}
	known := map[string]bool{}
	c.Hidden = func(written string) bool {
		at := c.placed(written)
		hidden, ok := known[at]
		if !ok && path.IsAbs(at) {
			hidden = resolve.Sensitive(&p.host, was, at) != "" || resolve.Guarded(&p.host, at, true) != ""
			known[at] = hidden
		}
		return hidden
	}
	result, err := c.Apply(p.file.Data)
	if err != nil {
		return nil, err
	}
	return &Edit{result, p, p.file.Data}, nil
}

// Policy returns the policy of a process if the file has a text.
func (p *Place) Policy(text []byte, tool string) (*policy.Policy, error) {
	t, err := p.Target(text, tool)
	switch {
	case err != nil:
		return nil, err
	case t.Policy.Lower != nil:
		return resolve.WithoutRefused(t.Policy, p.host), nil
	}
	return t.Policy, nil
}

// Target returns the server, or one of its tools, as it is if the file has a text.
func (p *Place) Target(text []byte, tool string) (*session.Target, error) {
	o, host := p.options, p.host
	o.Written = map[string][]byte{p.Path: text}
	cfg, _, err := session.LoadTrusted(o, host)
	if err != nil {
		return nil, err
	}
	if host.Dir == "" {
		host.Dir = host.Home // the default policy grants none of it
	}
	t := session.Configured(host, cfg, p.server, nil)
	t.Policy, err = t.PolicyOf(tool)
	return t, err
}

// Write keeps a copy of the file in the state directory dir, and puts the new text in the place of the
// old one. Of a project's file it trusts exactly that text, if the user trusted the old one. It returns
// the path of the copy. The error is ownfile.ErrChanged if the file is not as it was any more.
func (e *Edit) Write(dir string, now time.Time) (backup string, err error) {
	p := e.place
	if err := p.file.Unchanged(e.made); err != nil {
		return "", err
	}
	if p.Project {
		if err := p.trusted(p.file.Data); err != nil {
			return "", err
		}
	}
	if backup, err = wrapping.KeepCopy(dir, p.file, now); err != nil {
		return "", fmt.Errorf("no copy of the file could be kept, so it was not changed: %w", err)
	}
	if err := p.file.Replace(e.Text); err != nil || !p.Project {
		return backup, err
	}
	if err := (config.TrustStore{Path: p.options.Trust}).Trust(p.file.Real, e.Text); err != nil {
		return backup, fmt.Errorf("the file was changed, but it is not trusted any more: %w", err)
	}
	return backup, nil
}
