//go:build !linux

package policy

import "os"

func readDir(path string) ([]DirEntry, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	list, err := f.ReadDir(-1) // unsorted, and no stat where the directory records types
	out := make([]DirEntry, len(list))
	for i, e := range list {
		out[i] = DirEntry{e.Name(), e.Type()}
	}
	return out, err
}
