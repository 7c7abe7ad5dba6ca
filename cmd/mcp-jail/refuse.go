package main

import (
	"context"
	"errors"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/lifecycle"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// refuseSession reports why no server was started. It writes the diagnosis to standard
// error and, if the server is known, to its record, and answers the client's requests
// with it: most clients never show standard error.
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

// diagnosisOf returns the diagnosis of an error that prevented the start of a server.
func diagnosisOf(server string, err error) diagnostics.Diagnosis {
	var usage *usageError
	var missing *resolve.CommandError
	var host *hostError
	var unknown *config.UnknownServerError
	var install *installError
	var untrusted *config.UntrustedError
	switch {
	case errors.As(err, &unknown):
		d := diagnostics.ConfigFailure(server, err.Error())
		d.Fix = "name a configured server, or give the command itself: mcp-jail run -- COMMAND"
		return d
	case errors.As(err, &untrusted):
		d := diagnostics.ConfigFailure(server, err.Error())
		d.Fix = "read the file, and accept it with `mcp-jail trust`"
		return d
	case errors.As(err, &usage):
		return diagnostics.UsageFailure(server, err.Error())
	case errors.As(err, &install):
		d := diagnostics.ExecFailure(server, err.Error())
		d.Fix = ""
		return d
	case errors.As(err, &missing):
		return diagnostics.ExecFailure(server, err.Error())
	case errors.As(err, &host):
		d := diagnostics.JailFailure(server, err.Error(), nil)
		d.Fix = "" // the default fix is about missing kernel features
		return d
	}
	return diagnostics.ConfigFailure(server, err.Error())
}
