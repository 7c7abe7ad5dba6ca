package session

import (
	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// About returns the command, the package and the configuration of a target, for `mcp-jail status`.
func (t *Target) About() (a records.About) {
	var redact *diagnostics.Redactor
	if t.Profile != nil {
		redact = diagnostics.NewRedactor(t.Profile.Env)
	}
	for _, word := range t.givenCommand() {
		a.Command = append(a.Command, redact.Redact(word))
	}
	if e := t.Package.Entry(); e != nil {
		a.Package = &records.Package{Ecosystem: string(e.Ecosystem), Spec: e.Spec, Name: e.Name, Version: e.Version}
	}
	a.Configuration = t.configuration()
	if t.Policy != nil {
		if a.Project = t.Policy.Project; t.Policy.Key != "" {
			a.Name = t.Policy.Server
		}
		for _, word := range policy.OrderWaivers(t.Policy.Waive) {
			a.Waived = append(a.Waived, string(word))
		}
	}
	return a
}

// NewRecorder returns the recorder of a session of a target.
func NewRecorder(t *Target) *records.Recorder {
	r := records.New(t.Host, t.Policy.KeptName())
	r.Project, r.About = t.Policy.Project, t.About
	return r
}

func (t *Target) givenCommand() []string {
	if t.given == nil && t.Policy != nil {
		return append([]string{t.Policy.Command}, t.Policy.Arguments...)
	}
	return t.given
}

// configuration returns the source of the policy of a target, or nil if the target was not loaded
// by Load.
func (t *Target) configuration() *records.Configuration {
	if t.Policy == nil || t.source.again == nil {
		return nil
	}
	c := &records.Configuration{ID: t.source.options.ID, Files: AbsolutePaths(t.source.options.Files), Stateful: t.Policy.Stateful}
	if len(c.Files) == 0 {
		c.Workspace = expand(t.source.options.Workspace, t.Host)
	}
	if c.Digest = lineDigest(t.commandLine.Defaults, t.commandLine.Added); t.Config != nil && t.commandLine.Command == nil {
		c.Configured, c.Digest = true, t.Config.Digest(t.Policy.Server)
	}
	return c
}

// lineDigest returns a digest of the files that give a line after -- a part of its policy.
func lineDigest(defaults *config.Defaults, added *config.ServerFile) string {
	if added == nil {
		return defaults.Digest()
	}
	return defaults.Digest() + config.Digest(added.Server)
}

// Outdated returns why a running session does not have the policy of its files, or "". c is the
// configuration with which the session began. The files have a mistake, or they have changed and
// the server is stateful.
func Outdated(host hostfs.Host, server string, c *records.Configuration) string {
	if c == nil {
		return ""
	}
	o := config.LoadOptions{ID: c.ID, Files: c.Files, Workspace: c.Workspace}
	digest := ""
	var err error
	if c.Configured {
		var cfg *config.Config
		if cfg, err = LoadConfig(o, host); err == nil {
			if c.ID != "" {
				server = cfg.ServerNames()[0]
			}
			_, err = cfg.Policy(server, "")
			digest = cfg.Digest(server)
		}
	} else {
		var defaults *config.Defaults
		var added *config.ServerFile
		if defaults, err = config.LoadDefaults(o); err == nil {
			added, err = o.AddedTo()
		}
		digest = lineDigest(defaults, added)
	}
	switch {
	case err != nil:
		return "keeps its policy of before, because of a mistake: " + exit.OneLine(err)
	case digest != c.Digest && c.Stateful:
		return "keeps the policy that it started with. Restart it in its client to give it the new one"
	}
	return ""
}
