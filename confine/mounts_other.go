//go:build !linux

package confine

// Mounts returns nothing: no jail has mounts of its own here.
func (*Process) Mounts() ([]byte, bool) { return nil, true }
