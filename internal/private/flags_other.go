//go:build !darwin

package private

import "os"

// ClearFlags takes the flags of a file or directory below root away that keep its owner from removing
// it, and reports whether there were any. An owner cannot set such flags here.
func ClearFlags(*os.Root, string) bool { return false }
