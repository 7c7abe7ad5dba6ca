package learncmd

import (
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/drive"
	"github.com/mcp-jail/mcp-jail/internal/show"
)

// noMethod is the code of JSON-RPC for a method that a server does not have.
const noMethod = -32601

// noteCalls names what the policy does not tell of: calls that failed while the server was watched, and tools
// that were not called, by the reason.
func (l *lesson) noteCalls(note func(format string, args ...any)) {
	if l.expected.First != nil {
		for _, a := range l.expected.First.Answers {
			if a.Failed() && !(a.Error != nil && a.Error.Code == noMethod) {
				note("%s failed while the server was watched, so what it needs beyond that was not learned: %s", a.Request, a.Brief())
			}
		}
	}
	left := slices.Clone(l.skipped)
	for len(left) > 0 {
		why, names := left[0].Why, []string{}
		left = slices.DeleteFunc(left, func(s drive.Skipped) bool {
			if s.Why == why {
				names = append(names, show.Name(s.Tool))
			}
			return s.Why == why
		})
		if len(names) == 1 {
			note("%s was not called: %s", names[0], why)
		} else {
			note("%d tools were not called. Of each: %s. They are %s", len(names), why, strings.Join(names, ", "))
		}
	}
}
