//go:build !linux && !darwin && !freebsd

package terminal

func hideTyped(int) (restore func()) { return func() {} }
