//go:build linux

package main

import (
	"strings"
	"testing"
)

// step is a tool call in a script for two sessions.
type step struct {
	tool      string
	arguments map[string]any
}

// callTools calls the tools of a script and returns their results.
func callTools(s *clientSession, script []step) (results []toolResult) {
	s.t.Helper()
	for _, c := range script {
		results = append(results, s.tool(c.tool, c.arguments))
	}
	return results
}

// compareResults compares the results of a script without and with a jail, byte for byte
// except for times. In the jail a failure may have additional text and _meta.
func compareResults(t *testing.T, script []step, plain, jailed []toolResult) {
	t.Helper()
	for i, c := range script {
		p, j := plain[i], jailed[i]
		same := withoutTimes(string(p.raw)) == withoutTimes(string(j.raw))
		if p.IsError && j.IsError {
			same = strings.HasPrefix(withoutTimes(j.texts()), withoutTimes(p.texts()))
		}
		if !same {
			t.Errorf("%s %v\n plain  %s\n jailed %s", c.tool, c.arguments, p.raw, j.raw)
		}
	}
}
