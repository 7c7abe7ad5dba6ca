package policy

import "strings"

// Harm is what a grant could do beside what it is for. There is one judgement of that, for all that proposes or takes a
// grant which the user did not type: see resolve.HarmOf.
type Harm struct {
	Never  string // why it is neither proposed nor taken; "" if it may be
	Ask    string // why a person is asked about it by name; "" if it is fine
	Inside bool   // it is for what lies in or beside the path, which a user knows who named the path himself
	Secret bool   // it shows keys or passwords, or all: no mere words of a server lead to it
}

// HarmOfVariable judges a grant of a variable.
func HarmOfVariable(name string) (h Harm) {
	switch {
	case IsDangerousVariable(name):
		h.Ask = "it chooses what code programs load or start"
	case LooksLikeSecret(name):
		h.Ask = "it has the name of a token or key, which the server could send on"
	}
	return h
}

// Say returns the question of a Harm with the shown name of what it is about.
func (h Harm) Say(name string) string {
	if rest, ok := strings.CutPrefix(h.Never+h.Ask, "it "); ok {
		return name + " " + rest
	}
	return h.Never + h.Ask
}
