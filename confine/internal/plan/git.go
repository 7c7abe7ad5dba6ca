package plan

import (
	"path"

	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
)

// gitSystem names the system's configuration to git, which may have been built with another place for it
// than /etc.
const gitSystem = "GIT_CONFIG_SYSTEM"

// gitInDev is where the system's configuration of git is in a jail whose /etc is the host's.
const gitInDev = "/dev/gitconfig"

// gitIdentity gives git a system's configuration with settings of the user. Repositories and the
// server's own configuration in HOME win over that. It returns false if git gets none.
func (c *compiler) gitIdentity(o *spec.Spec) bool {
	file := spec.MadeFile{Path: "/etc/gitconfig", Content: c.p.GitConfig}
	e, decided := c.p.Find(file.Path)
	switch {
	case file.Content == "" || hasEnv(o, gitSystem) || hasEnv(o, gitNoSystem):
		return false
	case o.HostNS:
		file.Path = path.Join(o.TempDir, "gitconfig")
	case decided && e.Path == "/": // nothing can be made in /etc, and the rule means no one file there
		file.Path = gitInDev
	case decided:
		return false
	}
	o.Files = append(o.Files, file)
	ensureEnv(o, gitSystem, file.Path)
	return true
}
