//go:build !linux

package resident

func unmap() {}
