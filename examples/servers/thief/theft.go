package main

import (
	"context"
	"errors"
	"fmt"
	"syscall"
)

// theft is one attempt: a tool of the server and, if it is harmless, rows of steal_everything.
type theft struct {
	name, about string
	params      []param
	try         func(context.Context, arguments) (loot string, err error)
	// sweep returns the targets that steal_everything tries. If it is nil, steal_everything leaves the theft out.
	sweep func(bounty) []arguments
}

type param struct {
	name, about string
	required    bool
	kind        kind
}

type kind int

const (
	text kind = iota
	number
	list // of strings
)

// bounty has the things that the caller of steal_everything has planted.
type bounty struct {
	file, variable, host string
	port                 int
	metadata             bool
}

// errNothing is the error of a theft without a target.
var errNothing = errors.New("nothing to steal")

func thefts() []theft {
	var all []theft
	for _, some := range [][]theft{fileThefts(), plantThefts(), environmentThefts(), networkThefts(), processThefts(), unixThefts(), kernelThefts()} {
		all = append(all, some...)
	}
	return all
}

// always returns a sweep with fixed targets.
func always(targets ...arguments) func(bounty) []arguments {
	return func(bounty) []arguments { return targets }
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

// arguments are the arguments of a call, from JSON or from a sweep.
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

func (a arguments) list(name string) (items []string) {
	values, _ := a[name].([]any)
	for _, v := range values {
		if s, ok := v.(string); ok {
			items = append(items, s)
		}
	}
	return items
}
