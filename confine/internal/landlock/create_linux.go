package landlock

import (
	"errors"
	"fmt"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"github.com/mcp-jail/mcp-jail/confine/internal/stub"
)

// RuleError is the error of a rule that could not be added.
type RuleError struct {
	Rule Rule
	Err  error
}

func (e *RuleError) Error() string {
	return fmt.Sprintf("landlock: %s (%s): %v", e.Rule.Path, AccessNames(e.Rule.Access), e.Err)
}

func (e *RuleError) Unwrap() error { return e.Err }

// ErrNothingHandled is the error of a ruleset that would deny nothing.
var ErrNothingHandled = errors.New("landlock: the ruleset handles nothing")

// Create creates a ruleset in a task and returns its descriptor, which is close-on-exec. open
// returns a descriptor of a rule's object, which Create closes; O_PATH is enough. If a rule
// cannot be added, there is no ruleset.
func Create(t *stub.Task, rules *Ruleset, open func(Rule) (fd int, err error)) (ruleset int, err error) {
	if rules.FS == 0 && rules.Net == 0 && rules.Scoped == 0 {
		return -1, ErrNothingHandled
	}
	attr := ll.RulesetAttr{HandledAccessFS: rules.FS, HandledAccessNet: rules.Net, Scoped: rules.Scoped}
	if ruleset, err = stub.LandlockCreateRuleset(t, &attr); err != nil {
		return -1, err
	}
	for _, rule := range rules.Rules {
		if err := addRule(t, ruleset, rule, open); err != nil {
			stub.Close(t, ruleset)
			return -1, &RuleError{rule, err}
		}
	}
	return ruleset, nil
}

func addRule(t *stub.Task, ruleset int, rule Rule, open func(Rule) (int, error)) error {
	fd, err := open(rule)
	if err != nil {
		return err
	}
	defer stub.Close(t, fd)
	return stub.LandlockAddPathBeneath(t, ruleset, fd, rule.Access)
}
