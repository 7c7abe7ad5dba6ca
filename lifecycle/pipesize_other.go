//go:build !linux

package lifecycle

import "os"

// enlarge does nothing here: pipes have the size that they have.
func enlarge(*os.File) {}
