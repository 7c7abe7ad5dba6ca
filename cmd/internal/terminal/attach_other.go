//go:build !linux && !darwin && !freebsd

package terminal

import (
	"errors"
	"os"
)

// Attached is a console that is connected with another terminal. There is none on this system.
type Attached struct{}

// LikeConsole does nothing.
func (c Console) LikeConsole(*os.File) {}

// Attach returns an error.
func (c Console) Attach(*os.File) (*Attached, error) {
	return nil, errors.New("this system has no terminals to connect")
}

// Drawn returns nil.
func (a *Attached) Drawn() <-chan struct{} { return nil }

// Detach does nothing.
func (a *Attached) Detach() {}
