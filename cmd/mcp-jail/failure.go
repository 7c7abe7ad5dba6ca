package main

import (
	"context"
	"errors"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/lifecycle"
	"github.com/mcp-jail/mcp-jail/policy"
)

// answerFailure tells a client, as the answer to its requests, why no server was
// started: most clients never show standard error, where it stands too.
func answerFailure(c console, server string, err error) {
	lifecycle.Refuse(context.Background(), lifecycle.Session{In: c.in, Out: c.out, Err: c.err}, diagnose(server, err))
}

// diagnose turns an error from before the start into a diagnosis.
func diagnose(server string, err error) diagnostics.Diagnosis {
	var gaps *confine.GapError
	if errors.As(err, &gaps) {
		var lines []string
		for _, g := range gaps.Gaps {
			lines = append(lines, string(g.Axis)+": "+g.What+": "+g.Why+"; "+g.Fix)
		}
		return diagnostics.JailFailure(server, err.Error(), lines)
	}
	d := diagnostics.ConfigFailure(server, err.Error())
	var missing *policy.CommandError
	if errors.As(err, &missing) {
		d.Code, d.Stage = diagnostics.CodeExec, diagnostics.StageExec
	}
	return d
}
