package install

import (
	"github.com/mcp-jail/mcp-jail/packages/jail"
	"github.com/mcp-jail/mcp-jail/policy"
)

// A fetchJail is the jail of an installer, or of the scripts of packages.
type fetchJail struct{ jail.Jail }

// jail returns a jail whose HOME is below dir, the directory of a stage. It reaches nothing yet.
func (i *Installer) jail(dir, name string, path []string) *fetchJail {
	limits := policy.DefaultLimits
	limits.FileSizeMB = i.Limits.file()
	return &fetchJail{jail.Jail{Host: i.Host, Dir: dir, Name: name, Purpose: "the installation of a package", Path: path, Variables: map[string]string{}, Limits: limits}}
}
