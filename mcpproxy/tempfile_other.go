//go:build !linux

package mcpproxy

import "os"

func tempFile() (*os.File, error) { return unlinkedTempFile() }
