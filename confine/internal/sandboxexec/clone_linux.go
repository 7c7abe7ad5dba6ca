package sandboxexec

import "os"

// cloneTree makes to a copy of the directory from.
func cloneTree(from, to string) error {
	if _, err := os.Lstat(from); err != nil {
		return err
	}
	return os.CopyFS(to, os.DirFS(from))
}
