package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"time"
)

// A report is the second serial line. Its lines that begin with @ are verdicts,
// which testdata/vm/machine.go counts; the rest is for people.
type report struct{ *os.File }

func openReport(path string) (*report, error) {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	return &report{f}, err
}

// errNotHere is what a check returns that says nothing about this kernel.
type errNotHere string

func (e errNotHere) Error() string { return string(e) }

func runChecks(r *report, m *thisKernel, only *regexp.Regexp) {
	fmt.Fprintf(r, "Linux %s, Landlock ABI %d expected, security modules %s\n", m.release, m.landlock, m.modules)
	for _, c := range checks {
		if !only.MatchString(m.boot+"/"+c.name) || c.boot != "" && c.boot != m.boot {
			continue
		}
		began := time.Now()
		said, err := c.run(m)
		took := time.Since(began).Round(100 * time.Millisecond)
		var notHere errNotHere
		switch {
		case errors.As(err, &notHere):
			fmt.Fprintf(r, "@skip %s (%s)\n", c.name, notHere)
		case err != nil:
			fmt.Fprintf(r, "@fail %s (%s): %v\n", c.name, took, err)
		default:
			fmt.Fprintf(r, "@pass %s (%s) %s\n", c.name, took, said)
		}
	}
}
