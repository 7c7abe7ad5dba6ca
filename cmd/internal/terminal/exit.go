package terminal

import (
	"errors"
	"fmt"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// Exit statuses. run exits with the server's own status.
const (
	OK      = 0
	Failure = 1 // a server failed
	Usage   = 2 // a mistake on the command line or in the configuration
	Host    = 3 // this host cannot build a jail that enforces the policy
)

// UsageError is a mistake on the command line. Its exit status is Usage.
type UsageError struct{ err error }

func (e *UsageError) Error() string { return e.err.Error() }

func (e *UsageError) Unwrap() error { return errors.Unwrap(e.err) }

// UsageErrorf returns a mistake on the command line, in the words of fmt.Errorf.
func UsageErrorf(format string, args ...any) error { return &UsageError{fmt.Errorf(format, args...)} }

// configError is a mistake in the configuration that package policy does not find. Its
// exit status is Usage.
type configError struct{ msg string }

func (e *configError) Error() string { return e.msg }

// ConfigErrorf returns a mistake in the configuration.
func ConfigErrorf(format string, args ...any) error {
	return &configError{fmt.Sprintf(format, args...)}
}

// AdvisedError is a mistake, and what to do about it.
type AdvisedError struct {
	Err error
	Fix string
}

// Advise returns err as a mistake in the configuration, or on the command line, with what to do.
func Advise(configured bool, err error, fix string) error {
	if configured {
		return &AdvisedError{ConfigErrorf("%s", err), fix}
	}
	return &AdvisedError{UsageErrorf("%s", err), fix}
}

func (e *AdvisedError) Error() string { return e.Err.Error() + "\n  fix: " + e.Fix }

func (e *AdvisedError) Unwrap() error { return e.Err }

// DefaultsError is a mistake in a file that holds for a command after --: in the [defaults] of a configuration, or
// in what the user granted to the line. Its exit status is Usage.
type DefaultsError struct{ Err error }

func (e *DefaultsError) Error() string { return e.Err.Error() }

func (e *DefaultsError) Unwrap() error { return e.Err }

// HostError says why this host cannot build a jail. Its exit status is Host.
type HostError struct{ Err error }

func (e *HostError) Error() string { return e.Err.Error() }

func (e *HostError) Unwrap() error { return e.Err }

// ReportedStatus is an exit status whose error was already printed.
type ReportedStatus int

func (s ReportedStatus) Error() string { return fmt.Sprintf("exit status %d", int(s)) }

// InterruptedError is the end of a command by a signal.
type InterruptedError struct {
	Undone string // what did not happen
}

func (e *InterruptedError) Error() string {
	text := "Stopped. " + strings.ToUpper(e.Undone[:min(1, len(e.Undone))]) + e.Undone[min(1, len(e.Undone)):]
	if strings.Contains(text, "\n") || strings.HasSuffix(text, ".") {
		return text
	}
	return text + "."
}

// DeclinedError is the end of a command whose question the user answered with no.
type DeclinedError struct{}

func (e *DeclinedError) Error() string { return "Nothing was changed." }

// Report prints an error, unless it was printed before, and returns the exit status.
func Report(c Console, err error) int {
	var quiet ReportedStatus
	var problems policy.Problems
	var interrupted *InterruptedError
	var declined *DeclinedError
	switch {
	case err == nil, errors.As(err, &quiet):
	case errors.As(err, &interrupted), errors.As(err, &declined): // what the user wanted is no error
		c.Notef("%s", err)
	case errors.As(err, &problems) && err.Error() == problems.Error(): // not wrapped
		for _, p := range problems {
			c.Errorf("%s", p)
		}
	default:
		c.Errorf("%s", err)
	}
	return Status(err)
}

func Status(err error) int {
	var quiet ReportedStatus
	var missing *resolve.CommandError
	var host *HostError
	var owner *hostfs.OwnerError
	switch {
	case err == nil:
		return OK
	case errors.As(err, &quiet):
		return int(quiet)
	case errors.As(err, &missing):
		return Failure // the server could not be started
	case errors.As(err, &host):
		return Host
	case IsUserError(err), errors.As(err, &owner):
		return Usage
	}
	return Failure
}

// IsUserError reports whether the command line or the configuration caused an error.
func IsUserError(err error) bool {
	var (
		usage     *UsageError
		cfg       *configError
		problems  policy.Problems
		unknown   *config.UnknownServerError
		noFile    *config.UnknownIDError
		untrusted *config.UntrustedError
		store     *config.TrustStoreError
		conflict  *policy.ConflictError
		rule      *resolve.RuleError
		workspace *resolve.WorkspaceError
	)
	return errors.As(err, &usage) || errors.As(err, &cfg) || errors.As(err, &problems) ||
		errors.As(err, &unknown) || errors.As(err, &noFile) || errors.As(err, &untrusted) || errors.As(err, &store) || errors.As(err, &conflict) ||
		errors.As(err, &rule) || errors.As(err, &workspace)
}

// OneLine returns the first line of an error, and the number of further problems.
func OneLine(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	text = strings.TrimSuffix(text, ".")
	var problems policy.Problems
	if errors.As(err, &problems) && len(problems) > 1 {
		text += fmt.Sprintf(" (and %d more: mcp-jail check)", len(problems)-1)
	}
	return show.Line(text)
}

// Complete runs a command that prints, and returns its exit status. If output was lost, that is at least Failure.
func Complete(c Console, run func(Console) int) int {
	var lost error
	c.WriteErr = &lost
	status := run(c)
	if lost != nil {
		c.Errorf("the output is not complete: %s", lost)
		status = max(status, Failure)
	}
	return status
}
