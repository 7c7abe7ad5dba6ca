package policy

// MatchCommand evaluates the command rules for a program started by name (the
// base name of its file, or the path as a rule writes it) with arguments. With
// no rules any program may be started; rules must be nil for that, not empty.
func MatchCommand(rules []CommandRule, name string, args []string) (rule CommandRule, ok bool) {
	if rules == nil {
		return CommandRule{}, true
	}
	for _, r := range rules {
		if r.Name == name {
			return r, r.matches(args)
		}
	}
	return CommandRule{}, false
}

// matches compares with each list of args in turn: all of the words, or with "**"
// at the end the first ones (docs/policy.md "Command rules"). No args at all is
// no condition.
func (r CommandRule) matches(args []string) bool {
	if r.Args == nil {
		return true
	}
	for _, prefix := range r.Args {
		tail := len(prefix) > 0 && prefix[len(prefix)-1] == "**"
		if tail {
			prefix = prefix[:len(prefix)-1]
		}
		if len(args) < len(prefix) || !tail && len(args) != len(prefix) {
			continue
		}
		same := true
		for i, word := range prefix {
			same = same && args[i] == word
		}
		if same {
			return true
		}
	}
	return false
}
