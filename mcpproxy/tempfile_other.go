//go:build !linux

package mcpproxy

import "os"

// tempFile returns a file without a name.
func tempFile() (*os.File, error) { return unlinkedTempFile() }
