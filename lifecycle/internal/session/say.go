package session

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/streams"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// saidLines are the lines that a session has written to stderr and does not repeat.
type saidLines struct {
	mu   sync.Mutex
	said map[string]bool
}

// first reports whether a line is new.
func (l *saidLines) first(line string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	known := l.said[line]
	if len(l.said) < maxRecords {
		l.said[line] = true
	}
	return !known
}

// Warn says a line once on stderr and adds it to the record.
func (c *Client) Warn(line string) {
	line = cutLine(line)
	c.Record.addLine(&c.Record.Warnings, line)
	c.SayOnce(line)
}

// warnNow is Warn for what happens while the session runs.
func (c *Client) warnNow(line string) {
	c.Warn(line)
	c.Record.changes()
}

func cutLine(line string) string {
	if len(line) > streams.MaxLine {
		return strings.ToValidUTF8(line[:streams.MaxLine], "") + "…"
	}
	return line
}

// SayOnce writes a line to stderr unless this session has written it before. Many
// processes of a server cause the same line.
func (c *Client) SayOnce(line string) {
	if line = cutLine(line); c.said.first(line) {
		c.Stderr.SayLine(line)
	}
}

// ExplainTyped prints Typed if f is not an MCP message.
func (c *Client) ExplainTyped(f *mcpproxy.Frame) {
	if c.Config.Typed != "" && f.NonMessage() {
		c.SayOnce(c.Config.Typed)
	}
}

// SayDropped says that a frame was dropped for which nothing waits. A server whose messages are not
// lines writes all of them so.
func (c *Client) SayDropped(f *mcpproxy.Frame, d diagnostics.Diagnosis) {
	line := d.What + ". It was dropped"
	if d.Cause != "" {
		line += ": " + d.Cause
	}
	if errors.Is(f.Err, mcpproxy.ErrSeveralLines) || errors.Is(f.Err, mcpproxy.ErrContentLength) {
		c.SayOnce(line)
		return
	}
	c.Stderr.SayLine(line)
}

// Announce writes a diagnosis to stderr and to the record.
func (c *Client) Announce(d diagnostics.Diagnosis) diagnostics.Diagnosis {
	c.Record.addDiagnosis(d, d.CanAllow())
	c.Stderr.Say(d.Text())
	return d
}

// warnWaived says which gaps of a plan the user has waived, each line once in a session.
func (c *Client) warnWaived(plan *confine.Plan) {
	for _, line := range WaivedWarnings(plan) {
		c.Record.addLine(&c.Record.Waived, line)
		c.SayOnce(line)
	}
}

// WaivedWarnings returns a line for each gap of a plan that the user has waived.
func WaivedWarnings(plan *confine.Plan) (lines []string) {
	if plan == nil {
		return nil
	}
	if plan.HostNamespaces.Answer == confine.No {
		lines = append(lines, "warning: this server runs in a weaker jail, without namespaces: "+plan.HostNamespaces.Detail+diagnostics.PageUserns.Reference())
	}
	var platform []string
	for _, g := range plan.Gaps {
		switch {
		case g.Waived && g.Platform != "":
			platform = append(platform, g.What)
		case g.Waived:
			lines = append(lines, fmt.Sprintf("warning: not enforced, as you have accepted: %s: %s%s", g.What, g.Why, diagnostics.PageGap.Reference()))
		}
	}
	if platform != nil { // in one line: they are the same at each start of every server
		lines = append(lines, "warning: not enforced on this system, as you have accepted: "+strings.Join(platform, "; ")+diagnostics.PageGap.Reference())
	}
	return lines
}

// Refreshed is what Session.Refresh has found.
type Refreshed struct {
	// Changed says that processes which start from now on have another policy than those
	// before. It is true once for each change.
	Changed bool
	// Tools says that other tools are on than before. It is true once for each change.
	Tools bool
	// Next is what a stateful server is to be started again with, while the session goes on; nil: it is not.
	Next *Next
	// Kept says that the files have another policy than that of a stateful server's process; nil: they have not.
	Kept *diagnostics.Kept
	// Restart says that a wish of the user has no effect, once; nil: there is no such wish.
	Restart *diagnostics.Restart
	// Notice tells the user of a change, once; "" if there is nothing to tell.
	Notice string
	// Problem says why the configuration cannot be used as it is now, and what is used in its
	// place. It is told at every call of a tool.
	Problem string
}

// TellRefreshed tells the client what a refresh has found, and the user of a problem: see Follows. asked says that the
// request at hand has asked for log messages.
func (c *Client) TellRefreshed(r Refreshed, asked bool) {
	if r.Notice != "" {
		c.notify(asked, r.Notice)
	}
	if r.Problem != "" {
		c.Stderr.SayLine(r.Problem)
		c.notify(asked, r.Problem)
	}
}
