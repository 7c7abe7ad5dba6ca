package main

import (
	"errors"
	"fmt"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// Exit statuses. run passes the server's own on.
const (
	exitOK      = 0
	exitFailure = 1 // something is wrong with a server
	exitUsage   = 2 // a mistake of the user
	exitHost    = 3 // no jail here that holds the policy
)

// usageError is a mistake on the command line: exit status 2.
type usageError struct{ msg string }

func (e *usageError) Error() string { return e.msg }

func usageErrorf(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

// configError is a mistake in the configuration that only the command line can
// tell: exit status 2.
type configError struct{ msg string }

func (e *configError) Error() string { return e.msg }

func configErrorf(format string, args ...any) error {
	return &configError{fmt.Sprintf(format, args...)}
}

// hostError is something about this machine that keeps a jail from being built:
// exit status 3.
type hostError struct{ err error }

func (e *hostError) Error() string { return e.err.Error() }

func (e *hostError) Unwrap() error { return e.err }

// reportedStatus is an exit status whose reason was already told.
type reportedStatus int

func (s reportedStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// reportError tells an error and maps it to the exit status.
func reportError(c console, err error) int {
	var quiet reportedStatus
	var problems policy.Problems
	switch {
	case err == nil, errors.As(err, &quiet):
	case errors.As(err, &problems) && err.Error() == problems.Error(): // nothing around them
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

// isUserError tells errors that the command line or the configuration caused.
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
