//go:build !unix

package hostfs

import (
	"os"
)

// lstat leaves the ID zero: nothing here can pin an object.
func lstat(path string) (FileInfo, error) {
	fi, err := os.Lstat(path)
	if err != nil {
		return FileInfo{}, err
	}
	return infoOf(fi), nil
}
