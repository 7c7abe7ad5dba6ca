package stub

import (
	"unsafe"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"
)

// The zero Task makes Landlock's calls through go-landlock. A stub makes them with
// go-landlock's structures.

// LandlockCreateRuleset creates a ruleset that handles the accesses in attr. Fields that the
// kernel's ABI does not have must be zero: the kernel accepts a longer structure whose
// surplus is zero.
func LandlockCreateRuleset(t *Task, attr *ll.RulesetAttr) (int, error) {
	if t.stub == nil {
		return ll.LandlockCreateRuleset(attr, 0)
	}
	return t.call(unix.SYS_LANDLOCK_CREATE_RULESET, copyStruct(t, attr), unsafe.Sizeof(*attr), 0)
}

// LandlockAddPathBeneath allows accesses to an object and to everything below it.
func LandlockAddPathBeneath(t *Task, ruleset, object int, access uint64) error {
	attr := ll.PathBeneathAttr{AllowedAccess: access, ParentFd: object}
	if t.stub == nil {
		return ll.LandlockAddPathBeneathRule(ruleset, &attr, 0)
	}
	at := t.arena.alloc(int(unsafe.Sizeof(attr)))
	*(*ll.PathBeneathAttr)(unsafe.Pointer(unsafe.SliceData(at))) = attr
	t.storeInt32(at[unsafe.Offsetof(attr.ParentFd):], object) // the number of a descriptor comes later in a batch
	return t.do(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), ll.RuleTypePathBeneath, address(at), 0)
}

// LandlockRestrictSelf restricts the task's thread, and every process that it starts later,
// with a ruleset. The thread must have no_new_privs. The caller of a zero Task must have
// locked its goroutine to its thread.
func LandlockRestrictSelf(t *Task, ruleset int) error {
	if t.stub == nil {
		return ll.LandlockRestrictSelf(ruleset, 0)
	}
	return t.do(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(ruleset), 0)
}
