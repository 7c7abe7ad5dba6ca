//go:build !unix

package store

import (
	"errors"
	"os"
)

const (
	shared = iota
	exclusive
)

// lockFile fails: without locks between processes, the store is not used.
func lockFile(*os.File, int) error { return errors.ErrUnsupported }
