package doctorcmd

import (
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/entries"
	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/programs"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// apparmorPattern matches the paths where packages and administrators install mcp-jail.
const apparmorPattern = "/usr/{,local/}bin/mcp-jail"

// apparmorProfile returns an AppArmor profile that allows the program at path to create user
// namespaces under kernel.apparmor_restrict_unprivileged_userns. The profile restricts
// nothing; mcp-jail does.
func apparmorProfile(path string) string {
	return `# Allows mcp-jail to create user namespaces, which its jails need, on kernels that allow
# them only to programs with a profile (Ubuntu 23.10 and newer).
#
#   sudo cp THIS-FILE /etc/apparmor.d/mcp-jail
#   sudo apparmor_parser -r /etc/apparmor.d/mcp-jail
#
# The permission belongs to the path. Any user who can write to the path can use it, so
# prefer a path that only root can write to. Programs in a jail cannot create namespaces.
abi <abi/4.0>,
include <tunables/global>

profile mcp-jail ` + path + ` flags=(unconfined) {
  userns,

  include if exists <local/mcp-jail>
}
`
}

// printApparmorProfile prints the profile for the path of mcp-jail, or of the copy of mcp-jail
// that clients start. mcp-jail-cli, which mcp-jail executes, stays under that profile.
func printApparmorProfile(c terminal.Console) error {
	self, err := programs.Beside(programs.Main)
	if err == nil && entries.InLauncherCache(self) {
		var host hostfs.Host
		host, err = hostfs.LocalHost()
		self = entries.CopyPath(host)
	}
	if err != nil {
		return &exit.HostError{Err: err}
	}
	c.Printf("%s", apparmorProfile(quoteApparmorPath(self)))
	return nil
}

// quoteApparmorPath quotes a path so that it is no pattern (apparmor.d(5), "Globbing").
func quoteApparmorPath(path string) string {
	var b strings.Builder
	for _, r := range path {
		if strings.ContainsRune(`\*?[]{}^",@`, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	if b.Len() == len(path) && !strings.ContainsAny(path, " \t") {
		return path
	}
	return `"` + b.String() + `"`
}
