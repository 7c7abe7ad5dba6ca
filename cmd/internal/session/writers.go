package session

import (
	"cmp"
	"strings"
	"sync"

	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// writers knows where servers may write that are in no configuration: see policy.Reach.
type writers struct {
	host    *hostfs.Host
	policy  *policy.Policy // of this server; its Noted is set
	config  *config.Config // nil for a command after --
	key     string         // tells the note about this server from others of its name
	broken  []error        // about files of servers that cannot be used
	servers config.Servers

	mu        sync.Mutex               // calls of tools ask at once
	untrusted func(file string) string // nil before it is asked
}

func (t *Target) writers() *writers {
	if t.others == nil || t.others.policy != t.Policy {
		t.others = &writers{host: &t.Host, policy: t.Policy, config: t.Config, key: t.workspaceDir(), servers: t.source.options.Servers}
		if t.commandLine.Command != nil {
			t.others.key += "\x00" + strings.Join(t.commandLine.Command, "\x00")
		}
	}
	return t.others
}

func (w *writers) find() (err error) {
	if w.policy.Noted != nil {
		return nil
	}
	w.policy.Noted, err = records.Writes(*w.host, cmp.Or(w.policy.Key, w.policy.Server), w.key, func(server string) bool {
		return w.config != nil && w.config.Servers[server] != nil
	})
	if err != nil {
		return &terminal.HostError{Err: err}
	}
	if w.servers == nil {
		w.servers = config.ReadServers(w.host.ConfigDir)
	}
	files, broken := w.servers()
	for _, f := range files {
		if f.Server.ID != w.policy.Key {
			w.policy.Others = append(w.policy.Others, f.Policies()...)
		}
	}
	w.broken = broken
	return nil
}

func (w *writers) reach() (*policy.Reach, error) {
	if err := w.find(); err != nil {
		return nil, err
	}
	return resolve.ReachOf(w.policy, *w.host), nil
}

// whyUntrusted returns which server may write a file, and by which rule, or "". No interpreter and
// no installer is run from such a file.
func (w *writers) whyUntrusted(file string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.untrusted == nil {
		reach, err := w.reach()
		if err != nil {
			return err.Error()
		}
		w.untrusted = Untrusted(reach, *w.host)
	}
	return w.untrusted(file)
}

func (w *writers) note(profile *policy.Profile) error {
	var rules []policy.WriterRules
	processes := []*policy.Policy{w.policy}
	for _, p := range w.policy.Others {
		if p.KeptName() == w.policy.KeptName() {
			processes = append(processes, p)
		}
	}
	for i, p := range processes { // Reach has them first, in this order
		of := policy.WriterRules{Name: p.DisplayName(&policy.Policy{}), Rules: map[string]policy.WriteGrant{}}
		writes := false
		for at, grant := range profile.Reach.Writers[i].Rules {
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
	started := resolve.StartedAs(w.host, profile)
	started.Key, started.Name = w.policy.KeptName(), w.policy.Server
	return records.NoteWrites(*w.host, cmp.Or(w.policy.Key, w.policy.Server), w.key, w.config != nil, rules, &started)
}

// Untrusted returns which server may write a file, and by which rule, or "".
func (t *Target) Untrusted(file string) string { return t.writers().whyUntrusted(file) }

// Others returns what the other servers are started from, as far as that is noted.
func (t *Target) Others() (all []policy.Started) {
	starts, err := records.Starts(t.Host, t.Policy.KeptName())
	if err != nil {
		return []policy.Started{{Err: err}}
	}
	for _, s := range starts {
		all = append(all, s.Started)
	}
	return all
}

// Reach returns where servers may write, for a target that need not be resolved.
func (t *Target) Reach() (*policy.Reach, error) { return t.writers().reach() }

// Untrusted returns which server may write a file, as whyUntrusted does, for a Reach. On Windows every
// server may write every file, which is a gap of its own, so none is told.
func Untrusted(reach *policy.Reach, host hostfs.Host) func(file string) string {
	if host.OS == "windows" {
		return func(string) string { return "" }
	}
	paths := hostfs.NewLinkResolver(&host)
	return func(file string) string { return resolve.WhyChangeable(reach, paths, file) }
}

// noteWrites notes where the server may write, and what it is started from. A failure is a warning: this server is as confined
// as without it.
func (t *Target) noteWrites() {
	if t.trial != nil || t.Profile == nil || t.Profile.Reach == nil {
		return
	}
	for _, err := range t.writers().broken {
		t.Warnings = append(t.Warnings, policy.Warning{Code: "server-file", Message: "what another server may write is not known, and mcp-jail may believe it: " + terminal.OneLine(err), Where: t.Policy.Where})
	}
	if err := t.writers().note(t.Profile); err != nil {
		t.Warnings = append(t.Warnings, policy.Warning{Code: "writes-not-noted", Message: "where this server may write could not be noted (" + err.Error() + "): other servers start without that knowledge, and mcp-jail may believe what this server writes", Where: t.Policy.Where})
	}
}
