package records

import (
	"os"
	"path/filepath"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/private"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// wishFile has the time at which the user last wanted that a server be started again where it runs.
const wishFile = "restart"

// WishRestart tells the sessions of a server that run now to start it again under the policy that its files have.
func WishRestart(host hostfs.Host, server string) error {
	d, err := makeDir(host, server)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Replace(wishFile, []byte(time.Now().Format(time.RFC3339Nano)), private.How{})
}

// Told returns when the file of the wish was written, or zero. It costs a running session one look at the disk each second.
func Told(host hostfs.Host, server string) (at time.Time) {
	if info, err := os.Lstat(filepath.Join(host.StateDir, ServersDir, server, wishFile)); err == nil {
		at = info.ModTime()
	}
	return at
}

// Wish returns the time of the last wish, or zero.
func Wish(host hostfs.Host, server string) (at time.Time) {
	d, err := Open(host, server)
	if err != nil {
		return at
	}
	defer d.Close()
	text, _ := d.ReadFile(wishFile, 1<<10)
	at, _ = time.Parse(time.RFC3339Nano, string(text))
	return at
}
