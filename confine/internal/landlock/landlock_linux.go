package landlock

import (
	"errors"
	"fmt"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"github.com/mcp-jail/mcp-jail/confine/internal/stub"
)

// ruleError says which rule could not be added.
type RuleError struct {
	Rule LandlockRule
	Err  error
}

func (e *RuleError) Error() string {
	return fmt.Sprintf("landlock: %s (%s): %v", e.Rule.Path, AccessNames(e.Rule.Access), e.Err)
}

func (e *RuleError) Unwrap() error { return e.Err }

var ErrNothingHandled = errors.New("landlock: the ruleset handles nothing")

// createRuleset makes the ruleset and returns its descriptor, close-on-exec.
// open gives the object of each rule as a descriptor (O_PATH is enough), which
// is closed again. A rule that cannot be added is an error, whatever the reason:
// a ruleset is whole or not there.
func CreateRuleset(t *stub.Task, rules *LandlockRules, open func(LandlockRule) (fd int, err error)) (ruleset int, err error) {
	if rules.FS == 0 && rules.Net == 0 && rules.Scoped == 0 {
		return -1, ErrNothingHandled
	}
	attr := ll.RulesetAttr{HandledAccessFS: rules.FS, HandledAccessNet: rules.Net, Scoped: rules.Scoped}
	if ruleset, err = t.LandlockCreateRuleset(&attr); err != nil {
		return -1, err
	}
	for _, rule := range rules.Rules {
		if err := addRule(t, ruleset, rule, open); err != nil {
			t.Close(ruleset)
			return -1, &RuleError{rule, err}
		}
	}
	return ruleset, nil
}

func addRule(t *stub.Task, ruleset int, rule LandlockRule, open func(LandlockRule) (int, error)) error {
	fd, err := open(rule)
	if err != nil {
		return err
	}
	defer t.Close(fd)
	return t.LandlockAddPathBeneath(ruleset, fd, rule.Access)
}
