package target

import (
	"strings"

	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// findWriters puts into the target's policy where the servers that are in no configuration may
// write: see policy.Reach.
func (t *Target) findWriters() (err error) {
	if t.Policy.Noted != nil {
		return nil
	}
	t.Policy.Noted, err = records.Writes(t.Host, t.Policy.Server, t.noteKey(), func(server string) bool {
		return t.Config != nil && t.Config.Servers[server] != nil
	})
	if err != nil {
		return &HostError{err}
	}
	return nil
}

// Reach returns where servers may write, for a target that need not be resolved.
func (t *Target) Reach() (*policy.Reach, error) {
	if err := t.findWriters(); err != nil {
		return nil, err
	}
	return resolve.ReachOf(t.Policy, t.Host), nil
}

// Untrusted returns which server may write a file, and by which rule, or "". No interpreter and no
// installer is run from such a file.
func (t *Target) Untrusted(file string) string {
	if t.untrusted == nil {
		reach, err := t.Reach()
		if err != nil {
			return err.Error()
		}
		t.untrusted = Untrusted(reach, t.Host)
	}
	return t.untrusted(file)
}

// Untrusted returns the Untrusted of a target with a Reach.
func Untrusted(reach *policy.Reach, host hostfs.Host) func(file string) string {
	paths := hostfs.NewLinkResolver(&host)
	return func(file string) string { return resolve.WhyChangeable(reach, paths, file) }
}

// noteKey returns what distinguishes the note about the target from others of its server.
func (t *Target) noteKey() string {
	if t.Config != nil {
		return t.workspaceDir()
	}
	return t.workspaceDir() + "\x00" + strings.Join(t.commandLine.Command, "\x00")
}

// noteWrites notes where the server may write, for the starts of other servers. A failure is a
// warning: this server is as confined as without it.
func (t *Target) noteWrites() {
	if t.trial != nil || t.Profile == nil || t.Profile.Reach == nil {
		return
	}
	var rules []policy.WriterRules
	processes := []*policy.Policy{t.Policy}
	for _, p := range t.Policy.Others {
		if p.Server == t.Policy.Server {
			processes = append(processes, p)
		}
	}
	for i, p := range processes { // Reach has them first, in this order
		of := policy.WriterRules{Name: p.DisplayName(&policy.Policy{}), Rules: map[string]policy.WriteGrant{}}
		writes := false
		for at, grant := range t.Profile.Reach.Writers[i].Rules {
			if !grant.InHome { // private HOMEs count anyway
				grant.Rights &= policy.Write
				of.Rules[at] = grant
				writes = writes || grant.Rights != 0
			}
		}
		if writes {
			rules = append(rules, of)
		}
	}
	if err := records.NoteWrites(t.Host, t.Policy.Server, t.noteKey(), t.Config != nil, rules); err != nil {
		t.Warnings = append(t.Warnings, policy.Warning{Code: "writes-not-noted", Message: "where this server may write could not be noted (" + err.Error() + "): other servers start without that knowledge, and mcp-jail may believe what this server writes", Where: t.Policy.Where})
	}
}
