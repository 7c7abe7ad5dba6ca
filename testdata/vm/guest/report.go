package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"time"
)

// A report is the second serial line. Lines that begin with @ are verdicts, which
// testdata/vm/machine.go counts. The other lines are for people.
type report struct{ *os.File }

func openReport(path string) (*report, error) {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	return &report{f}, err
}

// errNotHere is the error of a check that does not apply to this kernel.
type errNotHere string

func (e errNotHere) Error() string { return string(e) }

func runChecks(r *report, m *runningKernel, only *regexp.Regexp) {
	fmt.Fprintf(r, "Linux %s, Landlock ABI %d expected, security modules %s\n", m.release, m.landlock, m.modules)
	for _, c := range checks {
		if !only.MatchString(m.boot+"/"+c.name) || c.boot != "" && c.boot != m.boot {
			continue
		}
		began := time.Now()
		said, err := c.run(m)
		took := time.Since(began).Round(100 * time.Millisecond)
		var skippedTests errNotHere
		switch {
		case errors.As(err, &skippedTests):
			fmt.Fprintf(r, "@skip %s (%s)\n", c.name, skippedTests)
		case err != nil:
			fmt.Fprintf(r, "@fail %s (%s): %v\n", c.name, took, err)
		default:
			fmt.Fprintf(r, "@pass %s (%s) %s\n", c.name, took, said)
		}
	}
}
