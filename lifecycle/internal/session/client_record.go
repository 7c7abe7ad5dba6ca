package session

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/lifecycle/internal/streams"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// Warn says a line once on stderr and adds it to the record.
func (c *Client) Warn(line string) {
	line = cutLine(line)
	c.RecordMu.Lock()
	if len(c.Record.Warnings) < maxRecords && !slices.Contains(c.Record.Warnings, line) {
		c.Record.Warnings = append(slices.Clip(c.Record.Warnings), line)
	}
	c.RecordMu.Unlock()
	c.SayOnce(line)
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
	line = cutLine(line)
	c.RecordMu.Lock()
	known := c.saidLines[line]
	if len(c.saidLines) < maxRecords {
		c.saidLines[line] = true
	}
	c.RecordMu.Unlock()
	if !known {
		c.Stderr.SayLine(line)
	}
}

// ExplainTyped prints Typed if f is not an MCP message.
func (c *Client) ExplainTyped(f *mcpproxy.Frame) {
	if c.Config.Typed != "" && f.NonMessage() {
		c.SayOnce(c.Config.Typed)
	}
}

// Announce writes a diagnosis to stderr and to the record.
func (c *Client) Announce(d diagnostics.Diagnosis) diagnostics.Diagnosis {
	c.Stderr.Say(d.Text())
	c.Log.Info().Str("server", d.Server).Str("stage", string(d.Stage)).Str("attribution", string(d.Attribution)).Int("code", int(d.Code)).Msg("failure")
	c.recordDiagnosis(d)
	return d
}

func (c *Client) recordDiagnosis(d diagnostics.Diagnosis) {
	c.RecordMu.Lock()
	if len(c.Record.Diagnoses) == maxRecords {
		c.Record.Diagnoses = append(c.Record.Diagnoses[:0:0], c.Record.Diagnoses[1:]...)
	}
	c.Record.Diagnoses = append(c.Record.Diagnoses, d)
	c.RecordMu.Unlock()
	c.recordChanged()
}

func (c *Client) recordChanged() {
	select {
	case c.unsavedRecord <- struct{}{}:
	default:
	}
}

// saveRecords passes the record to Sink after each change, on its own goroutine, so
// that answers to the client do not wait for a disk. It looks for new refusals once a second.
func (c *Client) saveRecords() {
	defer close(c.Saved)
	look := time.NewTicker(time.Second)
	defer look.Stop()
	for saved := 0; ; {
		select {
		case <-c.unsavedRecord:
			c.writeRecord(false)
		case <-look.C:
			// The jail tells of no refusal by itself.
			c.lookRefused()
			if n := c.countRefused(); n > saved {
				saved = n
				c.writeRecord(false)
			}
		case <-c.Finished:
			c.noteChanges()
			c.writeRecord(true)
			return
		}
	}
}

func (c *Client) noteChanges() {
	if c.Config.Changed == nil {
		return
	}
	if text := c.Config.Changed(); text != "" {
		c.RecordMu.Lock()
		c.Record.Changes = text
		c.RecordMu.Unlock()
		c.SayOnce(text)
	}
}

func (c *Client) writeRecord(finished bool) {
	if c.Config.Sink == nil {
		return
	}
	c.RecordMu.Lock()
	record := c.Record
	// The copy is never written to: Diagnoses is only appended to or replaced.
	c.RecordMu.Unlock()
	record.Unfinished = !finished
	// Computed here, so that the start does not wait for it.
	if c.digested != c.Config.Profile {
		c.digested, c.digest = c.Config.Profile, diagnostics.Digest(c.Config.Profile)
	}
	record.Profile = c.digest
	record.Denials = c.allDenials()
	c.Config.Sink(record)
	if c.Config.Lost == nil {
		return
	}
	if err := c.Config.Lost(); err != nil && !c.warnedLost {
		c.warnedLost = true
		c.Stderr.SayLine(fmt.Sprintf("warning: the record of this session cannot be written, so `mcp-jail why` will not have all of it: %s%s", err, diagnostics.PageRecord.Reference()))
	}
}
