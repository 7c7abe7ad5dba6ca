package confine

import (
	"errors"
	"fmt"

	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"

	"github.com/mcp-jail/mcp-jail/confine/stub"
)

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
	attr := ll.RulesetAttr{HandledAccessFS: rules.FS, HandledAccessNet: rules.Net, Scoped: rules.Scoped}
	if ruleset, err = t.LandlockCreateRuleset(&attr); err != nil {
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
	return t.LandlockAddPathBeneath(ruleset, fd, rule.Access)
}
