package mac

import "os"

// cloneTree makes to a copy of the directory from.
func cloneTree(from, to string) error {
	if _, err := os.Lstat(from); err != nil {
		return err
	}
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		return err
	}
	return os.Chmod(to, 0o700)
}

// confines: what stands for sandbox-exec in the tests confines nothing.
const confines = false
