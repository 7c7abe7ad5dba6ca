package stored

import (
	"path/filepath"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

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
	return policy.KeptName(name, project), project
}

// PlainName returns the name that a server has in its configuration. kept is the name under which
// things are kept, and project the file of a project's own server.
func PlainName(kept, project string) string {
	if project == "" {
		return kept
	}
	return strings.TrimSuffix(kept, "-"+policy.ShortHash(project))
}
