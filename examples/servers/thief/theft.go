package main

import (
	"context"
	"errors"
	"fmt"
	"syscall"
)

// theft is one attempt: a tool of the server.
type theft struct {
	name, about string
	params      []param
	try         func(context.Context, arguments) (loot string, err error)
}

type param struct {
	name, about string
	required    bool
	number      bool // and no text
}

// errNothing is the error of a theft without a target.
var errNothing = errors.New("nothing to steal")

func thefts() []theft {
	var all []theft
	for _, some := range [][]theft{fileThefts(), plantThefts(), environmentThefts(), networkThefts(), unixThefts(), kernelThefts()} {
		all = append(all, some...)
	}
	return all
}

// verdict returns the answer for the outcome of a theft.
func verdict(loot string, err error) string {
	if err == nil {
		return "got: " + loot
	}
	var errno syscall.Errno
	if errors.As(err, &errno) {
		if name := errnoName(errno); name != "" {
			return fmt.Sprintf("failed: %s: %v", name, err)
		}
	}
	return fmt.Sprintf("failed: %v", err)
}

// arguments are the arguments of a call.
type arguments map[string]any

func (a arguments) text(name, otherwise string) string {
	if s, ok := a[name].(string); ok && s != "" {
		return s
	}
	return otherwise
}

func (a arguments) number(name string, otherwise int) int {
	switch n := a[name].(type) {
	case float64:
		return int(n)
	case int:
		return n
	}
	return otherwise
}
