package records

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/mcp-jail/mcp-jail/internal/private"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// Rename moves the directory with a server's HOME and records to another name, unless that exists. words are the
// command line of the server: if the directory is that of another line, it stays. nil moves it for any line.
func Rename(host hostfs.Host, former, name string, words []string) error {
	d, err := Open(host, former)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer d.Close()
	if about := d.About(); words != nil && (!slices.Equal(about.Command, words) || about.Configuration != nil && about.Configuration.Configured) {
		return nil
	}
	unlock, ok := d.Lock()
	if !ok {
		return fmt.Errorf("a session has the private HOME of %s, which stays where it is: end it, and rename %s to %s there", show.Name(former), Path(host, former), show.Name(name))
	}
	defer unlock()
	servers, err := private.Open(host.StateDir, ServersDir)
	if err != nil {
		return err
	}
	defer servers.Close()
	if _, err := servers.Lstat(name); err == nil {
		return fmt.Errorf("%s has a private HOME already, so that of %s stays in %s", show.Name(name), show.Name(former), Path(host, former))
	}
	return servers.Rename(former, name)
}
