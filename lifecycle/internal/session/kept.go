package session

import (
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/diagnostics/change"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Next is a policy under which a stateful server is to be started again, beside the process that runs.
type Next struct {
	Profile *policy.Profile
	Unset   []string // variables that are granted and not set
	Kept    diagnostics.Kept
	Wish    string          // see records.Wish; "" if the user has allowed it in the client
	Done    func(took bool) // called at the end, perhaps more than once; took says that the client has the new process
}

// keptPolicy is the newer policy that the process of a stateful server does not have.
type keptPolicy struct {
	mu    sync.Mutex
	next  *Next
	why   string
	files *diagnostics.Kept // what was found of it last
}

// Keeps notes that the process keeps its policy for now, and why.
func (c *Client) Keeps(next *Next, why string) {
	kept := next.Kept
	kept.Why = why
	c.noteKept(&kept, next, why, false)
}

// noteKept notes how the policy of the process differs, or for nil that it has no other one to keep, and what has become of
// the wish for next.
func (c *Client) noteKept(kept *diagnostics.Kept, next *Next, why string, failed bool) {
	c.kept.mu.Lock()
	if c.kept.next = nil; kept != nil {
		c.kept.next, c.kept.why = next, kept.Why
	}
	c.kept.mu.Unlock()
	c.Record.note(func(r *diagnostics.Record) {
		if r.Kept = kept; next.Wish != "" {
			r.Restart = &diagnostics.Restart{Wish: next.Wish, Why: why, Failed: failed}
		}
	})
}

// CannotSucceed says that the process keeps its policy until the client starts the server again. If that is the one of the
// files, it has nothing else to keep.
func (c *Client) CannotSucceed(next *Next, why string) {
	server := c.Config.Profile.Server
	c.kept.mu.Lock()
	differs := c.kept.files != nil
	c.kept.mu.Unlock()
	var kept *diagnostics.Kept
	if differs {
		of := next.Kept
		of.Why = server + " could not be started again beside the running one: " + why + ". Restart it in your client"
		kept = &of
	}
	c.noteKept(kept, next, why, true)
	c.tellNow("warning: " + server + " was not started again (" + time.Now().Format(time.TimeOnly) + "), and keeps the policy that it started with: " + why + ". Restart it in your client")
}

// Succeeded says that the client has a new process.
func (c *Client) Succeeded(next *Next) {
	c.noteKept(nil, next, "", false)
	c.tellNow(c.Config.Profile.Server + " was started again under its new policy (" + time.Now().Format(time.TimeOnly) + "). What it held in memory is lost")
}

func (c *Client) tellNow(line string) {
	c.warnNow(line)
	c.notify(false, line)
}

// Follows notes what a refresh has found of the policy that the process does not have. The session may have no call for
// long.
func (c *Client) Follows(r Refreshed) {
	if r.Notice != "" {
		c.warnNow(r.Notice)
	}
	if r.Restart != nil {
		c.Record.note(func(record *diagnostics.Record) { record.Restart = r.Restart })
	}
	c.kept.mu.Lock()
	defer c.kept.mu.Unlock()
	next, before := c.kept.next, c.kept.files
	c.kept.files = r.Kept
	if r.Kept == before || next != nil && r.Kept != nil && next.Kept.Since.Equal(r.Kept.Since) { // of which more was said
		return
	}
	c.kept.next = nil
	c.Record.note(func(record *diagnostics.Record) { record.Kept = r.Kept })
}

// allowedSince returns why a call was refused though the policy of now gives what it needs, or "".
func (c *Client) allowedSince(d diagnostics.Diagnosis) string {
	c.kept.mu.Lock()
	defer c.kept.mu.Unlock()
	lacks := func(p *change.Proposal) bool { return p.IsOpen() && !c.gives(c.kept.next.Profile, p.Object) }
	if c.kept.next == nil || !d.CanAllow() || slices.ContainsFunc(d.Proposals(), lacks) {
		return ""
	}
	return c.kept.why
}

// at returns where a path of mcp-jail grant leads.
func (c *Client) at(path string) string {
	known := &c.Config.Known
	if rest, below := strings.CutPrefix(path, "~/"); below {
		path = filepath.Join(known.UserHome, rest)
	}
	return known.Host.Canonical(filepath.Clean(path))
}

// gives reports whether a profile gives what an object is.
func (c *Client) gives(p *policy.Profile, o change.Object) bool {
	switch path := o.At(); {
	case path != "":
		return p.RightsAt(c.at(path)).Has(o.Fs.Rights())
	case o.Net.Host != "":
		rule, _ := policy.MatchNet(p.Net, o.Net.Host, "", o.Net.Ports()[0], "", "")
		return rule.Allow
	}
	return o.Env != "" && slices.ContainsFunc(p.Env, func(v policy.Variable) bool { return policy.EnvIncludes(o.Env, v.Name) })
}
