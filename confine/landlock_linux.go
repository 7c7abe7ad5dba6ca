package confine

import (
	"errors"
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/stub"
)

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
func createRuleset(t *stub.Task, rules *landlockRules, open func(landlockRule) (fd int, err error)) (ruleset int, err error) {
	if rules.FS == 0 && rules.Net == 0 && rules.Scoped == 0 {
		return -1, errNothingHandled
	}
	if ruleset, err = t.LandlockRuleset(rules.FS, rules.Net, rules.Scoped); err != nil {
		return -1, err
	}
	for _, rule := range rules.Rules {
		if err := addRule(t, ruleset, rule, open); err != nil {
			t.Close(ruleset)
			return -1, &ruleError{rule, err}
		}
	}
	return ruleset, nil
}

func addRule(t *stub.Task, ruleset int, rule landlockRule, open func(landlockRule) (int, error)) error {
	fd, err := open(rule)
	if err != nil {
		return err
	}
	defer t.Close(fd)
	return t.LandlockAddPath(ruleset, fd, rule.Access)
}

// restrictThread puts the task's thread, which must be locked where it is this one, and
// all that it starts from now on under the ruleset. no_new_privs must be set. Refusals
// are logged as the kernel does by default: those of programs that this one starts
// are not, unless they ask for it.
func restrictThread(t *stub.Task, ruleset int) error {
	_, err := t.Call(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(ruleset), 0)
	return err
}
