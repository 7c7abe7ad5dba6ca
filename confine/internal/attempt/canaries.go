//go:build darwin || linux

package attempt

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"
)

// Canaries are what no server may reach under any policy. The launcher puts them there, and the
// first program under a profile tries each of them before it executes the server. All fields must
// be set.
type Canaries struct {
	File     string // with a byte in it, mode 0600, in Dir
	Dir      string // CacheDir
	Temp     string // a directory that every user may write: /private/tmp
	Name     string // that nothing in Temp has
	Port     int    // of a listener on 127.0.0.1 that is not the session's proxy
	Launcher int    // the number of a process of the same user, outside of the jail
}

// Try makes each attempt. The error names the first one that was not refused with EPERM; a jail that
// lets one through is none.
func (c Canaries) Try() error {
	name := filepath.Join(c.Temp, c.Name)
	port := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(c.Port)).String()
	for _, a := range []struct{ what, do, arg string }{
		{"read a private file of mcp-jail", "read", c.File},
		{"list mcp-jail's cache directory", "list", c.Dir},
		{"make a file in " + c.Temp, "create", name},
		{"connect to a port of another program", "tcp", port},
		{"send a signal to mcp-jail", "kill", strconv.Itoa(c.Launcher)},
	} {
		got := Make(a.do, []string{a.arg})
		if a.do == "create" && got == Works {
			unix.Unlink(name)
		}
		if got != "EPERM" {
			return fmt.Errorf("%s: %s, and must be refused with EPERM", a.what, got)
		}
	}
	return nil
}
