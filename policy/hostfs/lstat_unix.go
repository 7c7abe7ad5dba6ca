//go:build unix && !linux

package hostfs

import (
	"os"
	"syscall"

	"github.com/mcp-jail/mcp-jail/policy"
)

func lstat(path string) (FileInfo, error) {
	fi, err := os.Lstat(path)
	if err != nil {
		return FileInfo{}, err
	}
	info := FileInfo{Mode: fi.Mode()}
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		info.ID = policy.FileID{Dev: uint64(st.Dev), Ino: uint64(st.Ino)}
		info.Links, info.UID, info.GID = uint64(st.Nlink), int(st.Uid), int(st.Gid)
	}
	return info, nil
}
