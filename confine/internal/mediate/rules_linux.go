package mediate

import "time"

// ruleBudget bounds the Landlock rules that the server makes for sandboxes of its own. The kernel
// keeps some 70 bytes for a rule, 4 MB for a full ruleset, and a copy of all rules for each
// restricted thread, and no limit of the jail counts them.
type ruleBudget struct {
	since time.Time // the first rule
	made  int
}

// firstRules are the rules that may be made at once. One more may be made each second.
const firstRules = 2048

// allow counts a rule, and reports whether it may be made.
func (b *ruleBudget) allow(now time.Time) bool {
	if b.made == 0 {
		b.since = now
	}
	if b.made >= firstRules+int(now.Sub(b.since)/time.Second) {
		return false
	}
	b.made++
	return true
}
