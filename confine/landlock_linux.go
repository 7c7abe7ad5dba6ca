package confine

import (
	"errors"
	"fmt"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// struct landlock_ruleset_attr, as of ABI 6. What an ABI does not have is zero,
// and the kernel takes zeroes beyond its own size.
type landlockRulesetAttr struct{ fs, net, scoped uint64 }

// landlockVersion returns the ABI; 0 where Landlock is not there, with the
// reason: ENOSYS (not built in) or EOPNOTSUPP (not enabled at boot).
func landlockVersion() (int, error) { return landlockQuery(unix.LANDLOCK_CREATE_RULESET_VERSION) }

// landlockErrata returns the repairs that the kernel has; 0 where it is too old
// to tell (EINVAL).
func landlockErrata() uint32 {
	n, _ := landlockQuery(unix.LANDLOCK_CREATE_RULESET_ERRATA)
	return uint32(n)
}

func landlockQuery(flag uintptr) (int, error) {
	r, _, errno := syscall.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, flag)
	if errno != 0 {
		return 0, errno
	}
	return int(r), nil
}

// ruleError says which rule could not be added.
type ruleError struct {
	Rule landlockRule
	Err  error
}

func (e *ruleError) Error() string {
	return fmt.Sprintf("landlock: %s (%s): %v", e.Rule.Path, accessNames(e.Rule.Access), e.Err)
}

func (e *ruleError) Unwrap() error { return e.Err }

var errNothingHandled = errors.New("landlock: the ruleset handles nothing")

// createRuleset makes the ruleset and returns its descriptor, close-on-exec.
// open gives the object of each rule as a descriptor (O_PATH is enough), which
// is closed again. A rule that cannot be added is an error, whatever the reason:
// a ruleset is whole or not there.
func createRuleset(rules *landlockRules, open func(landlockRule) (fd int, err error)) (ruleset int, err error) {
	if rules.FS == 0 && rules.Net == 0 && rules.Scoped == 0 {
		return -1, errNothingHandled
	}
	attr := landlockRulesetAttr{rules.FS, rules.Net, rules.Scoped}
	r, _, errno := syscall.RawSyscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	runtime.KeepAlive(&attr)
	if errno != 0 {
		return -1, errno
	}
	ruleset = int(r)
	for _, rule := range rules.Rules {
		if err := addRule(ruleset, rule, open); err != nil {
			syscall.Close(ruleset)
			return -1, &ruleError{rule, err}
		}
	}
	return ruleset, nil
}

func addRule(ruleset int, rule landlockRule, open func(landlockRule) (int, error)) error {
	fd, err := open(rule)
	if err != nil {
		return err
	}
	defer syscall.Close(fd)
	// struct landlock_path_beneath_attr is packed: 12 bytes, then padding here.
	attr := struct {
		access uint64
		parent int32
	}{rule.Access, int32(fd)}
	_, _, errno := syscall.RawSyscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&attr)), 0, 0, 0)
	runtime.KeepAlive(&attr)
	if errno != 0 {
		return errno
	}
	return nil
}

// restrictThread puts the calling thread, which must be locked, and all that it
// starts from now on under the ruleset. no_new_privs must be set. Refusals are
// logged as the kernel does by default: those of programs that this one starts
// are not, unless they ask for it.
func restrictThread(ruleset int) error {
	_, _, errno := syscall.RawSyscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(ruleset), 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}
