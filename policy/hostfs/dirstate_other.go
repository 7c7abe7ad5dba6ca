//go:build !linux

package hostfs

func dirState(string, bool) (DirState, bool) { return DirState{}, false }
