package main

import (
	"os"
	"path/filepath"
	"strings"
)

// apparmorPattern are where packages and administrators put a program.
const apparmorPattern = "/usr/{,local/}bin/mcp-jail"

// apparmorProfile is the AppArmor profile that gives the programs at a path back
// what kernel.apparmor_restrict_unprivileged_userns takes from every program
// without one. It confines nothing itself: that is what mcp-jail does.
func apparmorProfile(path string) string {
	return `# Lets mcp-jail make user namespaces, of which it builds its jails, where the kernel
# allows them to programs with a profile only (Ubuntu 23.10 and newer).
#
#   sudo cp THIS-FILE /etc/apparmor.d/mcp-jail
#   sudo apparmor_parser -r /etc/apparmor.d/mcp-jail
#
# The permission belongs to the path. Whoever may write there may use it, so prefer
# one that only root can write to. What runs inside of a jail cannot make namespaces.
abi <abi/4.0>,
include <tunables/global>

profile mcp-jail ` + path + ` flags=(unconfined) {
  userns,

  include if exists <local/mcp-jail>
}
`
}

// printApparmorProfile prints the profile for this very program.
func (c console) printApparmorProfile() error {
	self, err := os.Executable()
	if err == nil {
		self, err = filepath.EvalSymlinks(self)
	}
	if err != nil {
		return &hostError{err}
	}
	c.printf("%s", apparmorProfile(quoteApparmorPath(self)))
	return nil
}

// quoteApparmorPath keeps a path from being a pattern (apparmor.d(5), "Globbing").
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
