package attacks

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/attacker"
)

// TestAttackVerbs checks that every form has a verb and that no two verbs have one name.
func TestAttackVerbs(t *testing.T) {
	for name := range attacker.AttackVerbs() {
		if attacker.Verbs[name] != nil || attacker.CallVerbs[name] != nil {
			t.Errorf("%q is a verb of other tests too", name)
		}
	}
	for _, g := range allAttacks() {
		for _, a := range g.attacks {
			for _, form := range a.forms {
				for _, gated := range attacker.ABIs(form) {
					name, _, _ := strings.Cut(gated, " ")
					if attacker.AttackVerbs()[name] == nil && attacker.Verbs[name] == nil && attacker.CallVerbs[name] == nil {
						t.Errorf("%q has no verb", gated)
					}
				}
			}
		}
	}
}
