package main

import (
	"context"
	"errors"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/lifecycle"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// refuseSession tells why no server was started: on standard error, in the
// record of the server when it is known which one is meant, and to the client as
// the answer to its requests, since most clients never show standard error.
func refuseSession(c console, t *target, name string, err error) {
	s := lifecycle.Session{In: c.in, Out: c.out, Err: c.err}
	if t != nil && t.policy != nil {
		name = t.policy.Server
		records := newRecorder(t.host, name)
		records.markStart()
		s.Sink, s.Lost = records.save, records.lastError
	}
	lifecycle.Refuse(context.Background(), s, diagnosisOf(name, err))
}

// diagnosisOf turns an error from before the start into a diagnosis.
func diagnosisOf(server string, err error) diagnostics.Diagnosis {
	var usage *usageError
	var missing *resolve.CommandError
	var host *hostError
	var unknown *config.UnknownServerError
	var untrusted *config.UntrustedError
	switch {
	case errors.As(err, &unknown):
		d := diagnostics.ConfigFailure(server, err.Error())
		d.Fix = "name a server that is declared, or give its command in place: mcp-jail run -- COMMAND"
		return d
	case errors.As(err, &untrusted):
		d := diagnostics.ConfigFailure(server, err.Error())
		d.Fix = "read the file, and accept it with `mcp-jail trust`"
		return d
	case errors.As(err, &usage):
		return diagnostics.UsageFailure(server, err.Error())
	case errors.As(err, &missing):
		return diagnostics.ExecFailure(server, err.Error())
	case errors.As(err, &host):
		d := diagnostics.JailFailure(server, err.Error(), nil)
		d.Fix = "" // it is no feature of the kernel that is missing
		return d
	}
	return diagnostics.ConfigFailure(server, err.Error())
}
