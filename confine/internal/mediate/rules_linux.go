package mediate

import (
	"time"

	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
)

// ruleBudget bounds the Landlock rules that the server makes for sandboxes of its own. The kernel
// keeps some 70 bytes for a rule, 4 MB for a full ruleset, and a copy of all rules for each
// restricted thread, and no limit of the jail counts them. A copy lives as long as a descriptor that
// the thread opened, so ending threads does not bound the copies.
type ruleBudget struct {
	jail   int       // rules of the jail itself, of which each restricted thread has a copy too
	since  time.Time // the first call
	made   int
	copied int // by landlock_restrict_self, at most
}

const (
	// firstRules are the rules that may be made at once. One more may be made each second.
	firstRules = 2048
	// firstCopies are the rules that may be copied at once, 35 MB. A thousand more may be copied each
	// second.
	firstCopies = 500000
)

// allow counts a call, and reports whether it may be made. A copy counts as one of every rule made
// so far, because the receiver does not see which rules a thread has.
func (b *ruleBudget) allow(op seccomp.Op, now time.Time) bool {
	if b.since.IsZero() {
		b.since = now
	}
	seconds := int(now.Sub(b.since) / time.Second)
	if op == seccomp.OpRestrict {
		copies := b.jail + b.made
		if b.copied+copies > firstCopies+1000*seconds {
			return false
		}
		b.copied += copies
		return true
	}
	if b.made >= firstRules+seconds {
		return false
	}
	b.made++
	return true
}
