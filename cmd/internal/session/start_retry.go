package session

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// A package upgrade or useradd replaces files that every jail shows. A jail that finds a
// file replaced since its profile was resolved is not built. The start then resolves the
// profile again and retries.
const (
	maxStartAttempts = 5
	startRetryPause  = 20 * time.Millisecond
)

// Start starts a jail for a profile of t. If that fails and the host has changed since the
// profile was resolved, it resolves the profile again and retries. It does not retry if a rule of
// the user now names another object.
func (t *Target) Start(ctx context.Context, p *policy.Profile, launch func(*policy.Profile) (*confine.Process, error)) (*confine.Process, error) {
	process, err := launch(p)
	for try := 1; err != nil; try++ {
		var failed *confine.StartError
		if !errors.As(err, &failed) || failed.Step == confine.StepExec || ctx.Err() != nil {
			return nil, err
		}
		now, unresolved := t.reresolve(p)
		switch {
		case unresolved == nil && now.Key() == p.Key():
			return nil, err // the host has not changed
		case unresolved == nil && !slices.Equal(ruleEntries(now), ruleEntries(p)):
			return nil, withAdvice(failed, "a file that a rule of the policy names was replaced during the start; start the server again to use the new file")
		case try == maxStartAttempts:
			return nil, withAdvice(failed, "files that every jail shows kept changing during the start; start the server again when the upgrade has finished")
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

func (t *Target) reresolve(p *policy.Profile) (*policy.Profile, error) {
	of := t.Policy
	if p.Tool != of.Tool {
		var err error
		if of, err = t.PolicyOf(p.Tool); err != nil {
			return nil, err
		}
	}
	now, _, err := resolve.Resolve(of, t.Host)
	return now, err
}

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
