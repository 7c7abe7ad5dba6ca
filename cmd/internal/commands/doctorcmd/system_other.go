//go:build !linux

package doctorcmd

func othersWrite(string) bool { return false }
