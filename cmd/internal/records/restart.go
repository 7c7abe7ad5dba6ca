package records

import (
	"crypto/rand"

	"github.com/mcp-jail/mcp-jail/internal/private"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// wishFile has another text after each wish of the user's that a server be started again where it runs.
const wishFile = "restart"

// WishRestart tells the sessions of a server that run now to start it again under the policy that its files have.
func WishRestart(host hostfs.Host, server string) error {
	d, err := makeDir(host, server)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Replace(wishFile, []byte(rand.Text()+"\n"), private.How{})
}

// Wish returns the text of the last wish, or "".
func Wish(host hostfs.Host, server string) string {
	d, err := Open(host, server)
	if err != nil {
		return ""
	}
	defer d.Close()
	text, _ := d.ReadFile(wishFile, 1<<10)
	return string(text)
}
