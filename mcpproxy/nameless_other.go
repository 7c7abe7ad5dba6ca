//go:build !linux

package mcpproxy

import "os"

// namelessFile returns a file without a name.
func namelessFile() (*os.File, error) { return unlinkedFile() }
