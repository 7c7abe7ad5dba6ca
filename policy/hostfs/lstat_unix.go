//go:build unix && !linux

package hostfs

import "os"

func lstat(path string) (FileInfo, error) {
	fi, err := os.Lstat(path)
	if err != nil {
		return FileInfo{}, err
	}
	return infoOf(fi), nil
}
