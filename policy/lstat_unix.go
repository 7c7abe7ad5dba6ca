//go:build unix && !linux

package policy

import (
	"os"
	"syscall"
)

func lstat(path string) (FileInfo, error) {
	fi, err := os.Lstat(path)
	if err != nil {
		return FileInfo{}, err
	}
	info := FileInfo{Mode: fi.Mode()}
	if st, ok := fi.Sys().(*syscall.Stat_t); ok {
		info.ID = FileID{Dev: uint64(st.Dev), Ino: uint64(st.Ino)}
		info.Links, info.UID, info.GID = uint64(st.Nlink), int(st.Uid), int(st.Gid)
	}
	return info, nil
}
