//go:build !linux

package egress

import "os"

// refusalSocket exists on Linux only.
type refusalSocket struct{}

func (g *Gateway) watchRefusals(f *os.File) {}

func (g *Gateway) readRefusals() {}
