package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/private"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config/internal/reader"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// ProjectFile is the name of a project's own configuration, in its workspace.
const ProjectFile = ".mcp-jail.toml"

// LoadOptions name the layers. The zero value means this user's files, with the working
// directory as workspace.
type LoadOptions struct {
	Files     []string // --config, in order: only these are read
	Workspace string   // where the project file is looked for; "" is the working directory
	System    string   // "" is /etc/mcp-jail/config.toml, and on Windows no file
	User      string   // "" is $XDG_CONFIG_HOME/mcp-jail/config.toml
	Trust     string   // the trust store; "" is $XDG_STATE_HOME/mcp-jail/trust.toml
	// Project is the content of the project's file that the user is about to trust. It
	// replaces the file's content and needs no trust.
	Project []byte
	// ID is that of a server with a file of its own: Load reads this file, the defaults, and what the project's file
	// takes away.
	ID string
	// Candidate is the file of a server that the user is about to write, in place of the one that is there. Without an
	// id it is a table of the configuration.
	Candidate *ServerFile
	Servers   Servers // that were read already; nil for none
}

// Load reads and merges the layers (docs/reference.md "Layers"): the system's, the user's
// and the project's file, or only Files. A layer that does not exist is skipped; a file
// that was named must exist. All problems of all files are returned together, as
// [policy.Problems]. A project file that the user has not trusted is not decoded: the error is an
// [UntrustedError] then, with the problems of the other files.
func Load(o LoadOptions) (*Config, error) {
	if o.ID != "" {
		return loadServer(o)
	}
	layers, err := o.layers()
	if err != nil {
		return nil, err
	}
	merged, problems, err := o.merge(layers, nil)
	if err != nil {
		return nil, err
	}
	if len(problems) == 0 {
		problems = merged.validate()
	}
	if err := problems.Err(); err != nil {
		return nil, err
	}
	return merged, nil
}

// merge reads and merges layers, but for those whose content can be left out.
func (o *LoadOptions) merge(layers []layer, leaveOut func(data []byte) bool) (*Config, policy.Problems, error) {
	merged := &Config{Servers: map[string]*Server{}}
	var problems policy.Problems
	for _, l := range layers {
		if l.project {
			if err := merged.lookAtFiles(filepath.Dir(o.User)); err != nil { // layers has completed it
				return nil, nil, err
			}
			if o.Candidate != nil {
				merged.Servers[o.Candidate.Server.Name] = o.Candidate.Server
			}
		}
		data, err := o.read(l)
		switch {
		case errors.Is(err, fs.ErrNotExist) && !l.explicit:
			continue
		case err != nil:
			problems = append(problems, unreadable(l, err)...)
			continue
		case leaveOut != nil && leaveOut(data):
			continue
		}
		// The bytes that were hashed are the bytes that are decoded.
		if err := o.checkTrust(l, data); err != nil {
			return nil, nil, errors.Join(err, problems.Err())
		}
		c, ps := l.decode(data)
		problems = append(problems, ps...)
		if len(ps) == 0 {
			if l.project {
				merged.applyProject(c, l.path)
			}
			merged.overlay(c)
		}
	}
	if o.Candidate != nil && len(o.Files) > 0 { // they have no layer of a project
		merged.Servers[o.Candidate.Server.Name] = o.Candidate.Server
	}
	return merged, problems, nil
}

func (o *LoadOptions) checkTrust(l layer, data []byte) error {
	if !l.project || o.Project != nil {
		return nil
	}
	return reader.TrustStore{Path: o.Trust}.Check(l.path, data)
}

func unreadable(l layer, err error) policy.Problems {
	var ps policy.Problems
	if errors.As(err, &ps) {
		return ps
	}
	return policy.Problems{{File: l.path, Message: "cannot be read: " + cause(err)}}
}

type layer struct {
	path              string
	explicit, project bool
}

func (l layer) decode(data []byte) (*Config, policy.Problems) {
	c, ps := decodeLayer(data, l.path)
	ps = append(ps, c.refuseServerKeys()...)
	if l.project {
		ps = append(ps, c.refuseDefaults()...)
	}
	return c, ps
}

func (o *LoadOptions) layers() ([]layer, error) {
	if len(o.Files) > 0 {
		var out []layer
		for _, f := range o.Files {
			out = append(out, layer{path: f, explicit: true})
		}
		return out, nil
	}
	config, state, err := reader.UserDirs()
	if err != nil && (o.User == "" || o.Trust == "") {
		return nil, err
	}
	if o.System == "" {
		o.System = systemFile(runtime.GOOS)
	}
	if o.User == "" {
		o.User = filepath.Join(config, "config.toml")
	}
	if o.Trust == "" {
		o.Trust = filepath.Join(state, reader.FileName)
	}
	workspace := o.Workspace
	if workspace == "~" || strings.HasPrefix(workspace, "~/") {
		// Resolve expands ~ in the same way. The project's file must be that of the
		// workspace that is used.
		home, err := hostfs.HomeDir()
		if err != nil {
			return nil, err
		}
		workspace = filepath.Join(home, workspace[1:])
	}
	if workspace, err = filepath.Abs(workspace); err != nil {
		return nil, err
	}
	layers := []layer{{path: o.User}, {path: filepath.Join(workspace, ProjectFile), project: true}}
	if o.System != "" {
		layers = slices.Insert(layers, 0, layer{path: o.System})
	}
	return layers, nil
}

// systemFile returns the administrator's configuration on an operating system. Windows has none: each
// user may make directories in the places for files of all users, and on the drive of a working directory.
func systemFile(system string) string {
	if system == "windows" {
		return ""
	}
	return path.Join(policy.SystemConfigDir, "config.toml")
}

func (o *LoadOptions) read(l layer) ([]byte, error) {
	if l.project && o.Project != nil {
		return o.Project, nil
	}
	if l.project { // its content was trusted, so its owner does not matter
		return ReadConfigFile(l.path)
	}
	refuse := func(reason string) error {
		return policy.Problems{{File: l.path, Message: "is refused: " + reason}}
	}
	data, err := private.ReadFollowed(l.path, reader.MaxFileSize)
	var owner *hostfs.OwnerError
	var large *private.LargeError
	switch {
	case errors.As(err, &owner):
		return nil, refuse(owner.Detail())
	case errors.As(err, &large):
		return nil, refuse(tooLarge(large.Bytes))
	case errors.Is(err, private.ErrIrregular):
		return nil, refuse(private.ErrIrregular.Error())
	}
	return data, err
}

func tooLarge(size int64) string {
	return fmt.Sprintf("%d bytes are more than a configuration may have (%d)", size, reader.MaxFileSize)
}

// ReadConfigFile reads a configuration file of a project once. The file may belong to another user:
// the user trusts its content. It refuses a file over 1 MiB, and one that is not a regular file
// (docs/reference.md "Configuration").
func ReadConfigFile(name string) ([]byte, error) {
	refuse := func(reason string) error {
		return policy.Problems{{File: name, Message: "is refused: " + reason}}
	}
	// Opening a device can do something already: a project's file may be a link to one.
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return nil, refuse(private.ErrIrregular.Error())
	}
	f, err := os.OpenFile(name, os.O_RDONLY|hostfs.OpenFlags, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	switch info, err := f.Stat(); {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, refuse(private.ErrIrregular.Error())
	case info.Size() > reader.MaxFileSize:
		return nil, refuse(tooLarge(info.Size()))
	}
	return io.ReadAll(io.LimitReader(f, reader.MaxFileSize+1)) // a file that grew meanwhile is refused by the decoder
}

func cause(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err.Error()
	}
	return err.Error()
}

// Stamp returns the stamp of the layers, and of the trust store. It is empty if the layers cannot
// be determined; Load returns the error then.
func (o LoadOptions) Stamp() Stamp {
	s := reader.Now()
	layers, err := o.layers()
	if err != nil {
		return s
	}
	for _, l := range layers {
		s.Add(l.path)
	}
	if len(o.Files) == 0 {
		s.Add(o.Trust) // layers has completed it
	}
	if len(o.Files) == 0 {
		dir := filepath.Join(filepath.Dir(o.User), ServersDir)
		_ = eachServerFile(filepath.Dir(o.User), func(_ *private.Dir, name string) error { // a start says what is wrong
			s.Add(filepath.Join(dir, name))
			return nil
		})
		s.Add(dir) // a file that is not there yet
	}
	return s
}
