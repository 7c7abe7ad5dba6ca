package integration

import (
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/jailtest"
)

// TestJailThreadNames: a server names its own threads through /proc and writes nothing else there.
func TestJailThreadNames(t *testing.T) {
	jailtest.Needs(t)
	names := placesOf(t, "thread-names.txt", "")
	free, inJail := jailtest.Unconfined(t, "/", names.attempts...), jailtest.Attempts(t, jailtest.Profile(t), names.attempts...)
	for i := range free {
		names.check(t, i, control, free[i])
		names.check(t, i, jailed, inJail[i])
	}
}

func TestHostNSThreadNames(t *testing.T) {
	jailtest.NeedsHostNS(t)
	names := placesOf(t, "thread-names.txt", "")
	for i, got := range jailtest.AttemptsHostNS(t, jailtest.Profile(t), names.attempts...) {
		names.check(t, i, withoutNS, got)
	}
}
