//go:build !linux

package egress

import "os"

// refusalSocket are Linux's.
type refusalSocket struct{}

func (g *Gateway) watchRefusals(f *os.File) {}

func (g *Gateway) readRefusals() {}
