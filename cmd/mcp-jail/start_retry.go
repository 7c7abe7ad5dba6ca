package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// An upgrade or a useradd replaces files that every jail shows. A start that meets one
// fails, since a jail shows what was resolved or is not built. It is resolved again then.
const (
	maxStartAttempts = 5
	startRetryPause  = 20 * time.Millisecond
)

// startWithRetry starts a profile of t. Where that fails and the host has changed meanwhile, the
// profile is resolved again, unless an object that a rule of the user names is another
// one now.
func (t *target) startWithRetry(ctx context.Context, p *policy.Profile, launch func(*policy.Profile) (*confine.Process, error)) (*confine.Process, error) {
	process, err := launch(p)
	for try := 1; err != nil; try++ {
		var failed *confine.StartError
		if !errors.As(err, &failed) || failed.Step == confine.StepExec || ctx.Err() != nil {
			return nil, err
		}
		now, unresolved := t.reresolve(p)
		switch {
		case unresolved == nil && now.Key() == p.Key():
			return nil, err // it was something else
		case unresolved == nil && !slices.Equal(ruleEntries(now), ruleEntries(p)):
			return nil, withAdvice(failed, "a rule of the policy names what changed, so this start was given up; start the server again to use what is there now")
		case try == maxStartAttempts:
			return nil, withAdvice(failed, "files that every jail shows kept changing while it was built; start the server again when the upgrade is over")
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(startRetryPause):
		}
		if unresolved == nil {
			p = now
			process, err = launch(p)
		}
	}
	return process, nil
}

// reresolve is the profile that p would be if it were resolved now.
func (t *target) reresolve(p *policy.Profile) (*policy.Profile, error) {
	of := t.policy
	if p.Tool != of.Tool {
		var err error
		if of, err = t.policyOf(p.Tool); err != nil {
			return nil, err
		}
	}
	now, _, err := resolve.Resolve(of, t.host)
	return now, err
}

// ruleEntries are the entries that rules of the user made.
func ruleEntries(p *policy.Profile) (entries []policy.Entry) {
	for _, e := range p.Entries {
		if e.Origin == policy.OriginRule {
			entries = append(entries, e)
		}
	}
	return entries
}

func withAdvice(e *confine.StartError, why string) error {
	with := *e
	if with.Errno != 0 {
		with.Detail, with.Errno = with.Detail+": "+with.Errno.Error(), 0
	}
	with.Detail += "; " + why
	return &with
}
