package records

import (
	"crypto/rand"
	"encoding/json"
	"os"
	"path/filepath"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/internal/private"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// wishFile has the last wish that a server be started again where it runs.
const wishFile = "restart"

// Wish says that the sessions of a server are to start it again where it is as the user was shown it.
type Wish struct {
	ID string `json:"id"` // another one is another wish
	diagnostics.Made
}

// WishRestart tells a wish to the sessions of a server that run now. It returns its ID.
func WishRestart(host hostfs.Host, server string, shown diagnostics.Made) (id string, err error) {
	d, err := makeDir(host, server)
	if err != nil {
		return "", err
	}
	defer d.Close()
	id = rand.Text()
	text, err := json.Marshal(Wish{id, shown})
	if err == nil {
		err = d.Replace(wishFile, text, private.How{})
	}
	return id, err
}

// Told returns when the file of the wish was written, or zero. It costs a running session one look at the disk each second.
func Told(host hostfs.Host, server string) (at time.Time) {
	if info, err := os.Lstat(filepath.Join(host.StateDir, ServersDir, server, wishFile)); err == nil {
		at = info.ModTime()
	}
	return at
}

// LastWish returns the last wish, or one without an ID.
func LastWish(host hostfs.Host, server string) (w Wish) {
	if Told(host, server).IsZero() { // as of nearly all
		return w
	}
	d, err := Open(host, server)
	if err != nil {
		return w
	}
	defer d.Close()
	text, _ := d.ReadFile(wishFile, 1<<10)
	if json.Unmarshal(text, &w) != nil {
		return Wish{}
	}
	return w
}
