package main

import (
	"errors"
	"fmt"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// Exit statuses. run exits with the server's own status.
const (
	exitOK      = 0
	exitFailure = 1 // a server failed
	exitUsage   = 2 // a mistake on the command line or in the configuration
	exitHost    = 3 // this host cannot build a jail that enforces the policy
)

// usageError is a mistake on the command line. Its exit status is exitUsage.
type usageError struct{ msg string }

func (e *usageError) Error() string { return e.msg }

func usageErrorf(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

// configError is a mistake in the configuration that package policy does not find. Its
// exit status is exitUsage.
type configError struct{ msg string }

func (e *configError) Error() string { return e.msg }

func configErrorf(format string, args ...any) error {
	return &configError{fmt.Sprintf(format, args...)}
}

// hostError says why this host cannot build a jail. Its exit status is exitHost.
type hostError struct{ err error }

func (e *hostError) Error() string { return e.err.Error() }

func (e *hostError) Unwrap() error { return e.err }

// reportedStatus is an exit status whose error was already printed.
type reportedStatus int

func (s reportedStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// reportError prints an error, unless it was printed before, and returns the exit status.
func reportError(c console, err error) int {
	var quiet reportedStatus
	var problems policy.Problems
	switch {
	case err == nil, errors.As(err, &quiet):
	case errors.As(err, &problems) && err.Error() == problems.Error(): // not wrapped
		for _, p := range problems {
			c.errorf("%s", p)
		}
	default:
		c.errorf("%s", err)
	}
	return exitStatusOf(err)
}

func exitStatusOf(err error) int {
	var quiet reportedStatus
	var missing *resolve.CommandError
	var host *hostError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &quiet):
		return int(quiet)
	case errors.As(err, &missing):
		return exitFailure // the server could not be started
	case errors.As(err, &host):
		return exitHost
	case isUserError(err):
		return exitUsage
	}
	return exitFailure
}

// isUserError reports whether the command line or the configuration caused an error.
func isUserError(err error) bool {
	var (
		usage     *usageError
		cfg       *configError
		problems  policy.Problems
		unknown   *config.UnknownServerError
		untrusted *config.UntrustedError
		store     *config.TrustStoreError
		conflict  *policy.ConflictError
		rule      *resolve.RuleError
		workspace *resolve.WorkspaceError
	)
	return errors.As(err, &usage) || errors.As(err, &cfg) || errors.As(err, &problems) ||
		errors.As(err, &unknown) || errors.As(err, &untrusted) || errors.As(err, &store) || errors.As(err, &conflict) ||
		errors.As(err, &rule) || errors.As(err, &workspace)
}
