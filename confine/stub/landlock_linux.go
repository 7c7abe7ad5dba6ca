package stub

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// LandlockRuleset makes a ruleset that handles these accesses (struct
// landlock_ruleset_attr, as of ABI 6). What an ABI does not have is zero, and the kernel
// takes zeroes beyond its own size.
func (t *Task) LandlockRuleset(fs, net, scoped uint64) (int, error) {
	t.begin()
	attr := t.space(24)
	for i, v := range []uint64{fs, net, scoped} {
		binary.NativeEndian.PutUint64(attr[8*i:], v)
	}
	return t.call(unix.SYS_LANDLOCK_CREATE_RULESET, address(attr), uintptr(len(attr)), 0)
}

// LandlockAddPath allows accesses below an object (struct landlock_path_beneath_attr,
// which is packed).
func (t *Task) LandlockAddPath(ruleset, object int, access uint64) error {
	t.begin()
	attr := t.space(12)
	binary.NativeEndian.PutUint64(attr, access)
	t.put32(attr[8:], object)
	return t.do(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH, address(attr), 0)
}
