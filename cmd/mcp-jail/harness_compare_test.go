//go:build linux

package main

import (
	"strings"
	"testing"
)

// step is one step of a script that is played to a server twice.
type step struct {
	tool      string
	arguments map[string]any
}

// callTools calls the tools and returns their results.
func callTools(s *session, script []step) (results []toolResult) {
	s.t.Helper()
	for _, c := range script {
		results = append(results, s.tool(c.tool, c.arguments))
	}
	return results
}

// compareResults compares the results of a script, outside and inside of a jail, byte
// for byte but for the time of day. A failure gains text and _meta in the jail.
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
