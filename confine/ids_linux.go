package confine

import (
	"os"

	"golang.org/x/sys/unix"
)

// mapIDs maps the launcher's user and group to themselves (user_namespaces(7)): until
// then this process is nobody.
func mapIDs() error {
	if v, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0); err == nil && v == 0 {
		// A program that may be executed and not read: its files below /proc are root's.
		unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0)
	}
	for _, f := range []struct{ name, content string }{
		{"setgroups", "deny"},
		{"uid_map", os.Args[2] + " " + os.Args[2] + " 1"},
		{"gid_map", os.Args[3] + " " + os.Args[3] + " 1"},
	} {
		if err := writeAt(-1, "/proc/self/"+f.name, f.content); err != nil {
			return on(f.name, err)
		}
	}
	return nil
}
