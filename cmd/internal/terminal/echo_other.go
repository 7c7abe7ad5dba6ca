//go:build !linux && !darwin && !freebsd

package terminal

import (
	"os"

	"golang.org/x/term"
)

// readHidden reads a line, and hides it.
func readHidden(f *os.File) (line []byte, err error) { return term.ReadPassword(int(f.Fd())) }

func hideTyped(int) (restore func()) { return func() {} }
