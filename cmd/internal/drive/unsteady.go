package drive

import (
	"slices"
	"strings"
)

// Unsteady returns the requests to which a part of the answer is wholly another one in each session. So in a third
// one it may be anything. A server can see to it that all of its answers are like that.
func (e Expected) Unsteady() (requests []Request) {
	for i, was := range e.First.Answers {
		if e.Again == nil || i >= len(e.Again.Answers) {
			break
		}
		if again := e.Again.Answers[i]; was.Failed() != again.Failed() || unsteady(tree(was), tree(again)) {
			requests = append(requests, was.Request)
		}
	}
	return requests
}

// unsteady reports whether a and b have a part for which unlike accepts any other one.
func unsteady(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, _ := b.(map[string]any)
		for key, value := range a {
			if other, ok := b[key]; ok && unsteady(value, other) {
				return true
			}
		}
	case []any:
		b, ok := b.([]any)
		if ok && len(a) != len(b) {
			return true
		}
		a, b = sorted(a), sorted(b)
		return ok && slices.ContainsFunc(a, func(v any) bool {
			other := b[0]
			b = b[1:]
			return unsteady(v, other)
		})
	case string:
		b, ok := b.(string)
		words := len(strings.Fields(steady(a)))
		return ok && steady(a) != steady(b) && sameText(a, b, strings.Repeat("\x02 ", words))
	}
	return false
}
