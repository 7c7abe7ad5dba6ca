package session

import (
	"github.com/mcp-jail/mcp-jail/cmd/internal/tried"
	"github.com/mcp-jail/mcp-jail/cmd/internal/watch"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

func loadTried(t *Target) (err error) {
	if t.tried, err = tried.Load(t.watch.Try, t.Host.Home); err != nil || t.tried.Config == nil {
		return err
	}
	return LayPresets(t.tried.Config, t.Host)
}

// JudgeOf returns what judges the processes that have a profile by the policy that is tried: this policy
// takes the place of the server's grants, and nothing else is changed.
func JudgeOf(t *Target, of *policy.Profile) (*tried.Judge, error) {
	s := &Target{Config: t.tried.Config, Host: t.Host, isTool: true, commandLine: t.commandLine}
	s.commandLine.Command, s.commandLine.Name = t.givenCommand(), t.Policy.Server
	grants, err := t.tried.Grants(of.Tool, &s.commandLine, s.layPreset)
	if err != nil {
		return nil, err
	}
	if t.Config != nil {
		s.Policy, err = t.policyOf(of.Tool, grants)
	} else if s.Policy, err = config.FromCommandLine(t.commandLine); err == nil {
		watch.Replace(s.Policy, grants)
		t.Package.use(s.Policy)
		t.inJail.use(s.Policy)
	}
	if err == nil {
		s.Profile, _, err = resolveProfile(s.Policy, t.Host, nil)
	}
	if err != nil {
		return nil, err
	}
	ev := s.evidence()
	ev.Redactor = diagnostics.NewRedactor(of.Env) // that policy may lack what is secret
	return &tried.Judge{Evidence: ev, Policy: s.Policy, Tried: t.tried}, nil
}
