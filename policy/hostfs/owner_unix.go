//go:build unix

package hostfs

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/mcp-jail/mcp-jail/policy"
)

// checkAccount is for Windows. Here each component of a way is looked at.
func checkAccount(string) error { return nil }

// infoOf translates what package os knows of a file.
func infoOf(fi os.FileInfo) FileInfo {
	info := FileInfo{Mode: fi.Mode()}
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		info.ID = policy.FileID{Dev: uint64(st.Dev), Ino: uint64(st.Ino), Birth: birth(st)}
		info.Links, info.UID, info.GID = uint64(st.Nlink), int(st.Uid), int(st.Gid)
	}
	return info
}

// OpenFlags keep a fifo from blocking the open, and a terminal from becoming that of
// this process; dirFlags open directories and nothing else.
const (
	OpenFlags = syscall.O_NONBLOCK | syscall.O_NOCTTY | syscall.O_CLOEXEC
	noFollow  = syscall.O_NOFOLLOW
	dirFlags  = OpenFlags | syscall.O_DIRECTORY | noFollow
)

// isOwnGroup reports whether a group is this process's, and the user is its only member. Many
// systems create such a group for each account, with a umask that lets the group write.
// isOwnGroup returns false for a group that /etc/group does not list, because its members are
// unknown, and for root's group, which services have.
func isOwnGroup(gid int) bool {
	if gid == 0 || gid != os.Getgid() {
		return false
	}
	own, group, uid := []string{}, strconv.Itoa(gid), strconv.Itoa(os.Getuid())
	for _, account := range readDatabase("/etc/passwd", 4) {
		if account[2] == uid {
			own = append(own, account[0])
		} else if account[3] == group {
			return false
		}
	}
	found := false
	for _, g := range readDatabase("/etc/group", 4) {
		if g[2] != group {
			continue
		}
		found = true
		for _, member := range strings.Split(g[3], ",") {
			if member != "" && !slices.Contains(own, member) {
				return false
			}
		}
	}
	return found
}

// readDatabase returns the lines of passwd(5) or group(5) that have at least the given
// number of fields.
func readDatabase(file string, fields int) (lines [][]string) {
	b, _ := os.ReadFile(file)
	for _, line := range strings.Split(string(b), "\n") {
		if f := strings.Split(line, ":"); len(f) >= fields {
			lines = append(lines, f)
		}
	}
	return lines
}

// accountName returns the name of a user, or "" if it is unknown.
func accountName(uid int) string {
	for _, account := range readDatabase("/etc/passwd", 4) {
		if account[2] == strconv.Itoa(uid) {
			return account[0]
		}
	}
	return ""
}
