package inspect

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/private"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// ownDir is a directory of mcp-jail's own in which it cannot write.
type ownDir struct {
	Dir      string `json:"dir"`
	Variable string `json:"variable"` // that names another place
	Error    string `json:"error"`
	without  string
}

// tryOwnDirs tries to write in mcp-jail's own directories, and returns those where that fails.
// needed reports that servers do not start for the lack of one.
func tryOwnDirs() (failed []ownDir, needed bool) {
	host, err := hostfs.LocalHost()
	if err != nil {
		return nil, false // the trial of a jail says so
	}
	for _, d := range []ownDir{
		{host.StateDir, "XDG_STATE_HOME", "", "a server with a private HOME does not start, and no session has a record"},
		{host.DataDir, "XDG_DATA_HOME", "", "no package can be installed"},
		{host.CacheDir, "XDG_CACHE_HOME", "", "each start does again what could be remembered"},
	} {
		if err := tryWrite(d.Dir); err != nil {
			d.Error = err.Error()
			failed, needed = append(failed, d), needed || d.Dir == host.StateDir
		}
	}
	return failed, needed
}

// tryWrite makes a directory in another, or where that would be made, and removes it.
func tryWrite(dir string) error {
	way, err := hostfs.NewLinkResolver(hostfs.OwnerHost()).PrivateWay(dir, ".")
	if err != nil {
		return err
	}
	d, err := private.Open(way.At, ".")
	if err != nil {
		return err
	}
	defer d.Close()
	temp, err := d.MakeTemp()
	var at *fs.PathError
	switch {
	case errors.As(err, &at): // without the name, which is not the user's concern
		return fmt.Errorf("no directory can be made in %s: %w", way.At, at.Err)
	case err != nil:
		return err
	}
	return d.Remove(temp)
}

func printOwnDirs(c terminal.Console, failed []ownDir) {
	for _, d := range failed {
		c.PrintText("\n" + c.Paint(terminal.Yellow, "mcp-jail cannot write in "+show.Line(d.Dir)) + ": " + show.Line(d.Error) + ". So " + d.without + ". " + d.Variable + " names another place\n")
	}
}
