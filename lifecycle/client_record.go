package lifecycle

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/internal/show"
)

// warn says a line once on stderr and adds it to the record.
func (c *client) warn(line string) {
	line = cutLine(line)
	c.recordMu.Lock()
	if len(c.record.Warnings) < maxRecords && !slices.Contains(c.record.Warnings, line) {
		c.record.Warnings = append(slices.Clip(c.record.Warnings), line)
	}
	c.recordMu.Unlock()
	c.sayOnce(line)
}

// cutLine cuts a line that a peer's text has made long.
func cutLine(line string) string {
	if len(line) > maxKeptLine {
		return strings.ToValidUTF8(line[:maxKeptLine], "") + "…"
	}
	return line
}

// sayOnce writes a line to stderr unless this session has written it before. Many
// processes of a server cause the same line.
func (c *client) sayOnce(line string) {
	line = cutLine(line)
	c.recordMu.Lock()
	known := c.saidLines[line]
	if len(c.saidLines) < maxRecords {
		c.saidLines[line] = true
	}
	c.recordMu.Unlock()
	if !known {
		c.stderr.SayLine(line)
	}
}

// announce writes a diagnosis to stderr and to the record.
func (c *client) announce(d diagnostics.Diagnosis) diagnostics.Diagnosis {
	c.stderr.Say(d.Text())
	c.log.Info().Str("server", d.Server).Str("stage", string(d.Stage)).Str("attribution", string(d.Attribution)).Int("code", int(d.Code)).Msg("failure")
	c.recordDiagnosis(d)
	return d
}

// recordDiagnosis adds a diagnosis to the record.
func (c *client) recordDiagnosis(d diagnostics.Diagnosis) {
	c.recordMu.Lock()
	if len(c.record.Diagnoses) == maxRecords {
		c.record.Diagnoses = append(c.record.Diagnoses[:0:0], c.record.Diagnoses[1:]...)
	}
	c.record.Diagnoses = append(c.record.Diagnoses, d)
	c.recordMu.Unlock()
	c.recordChanged()
}

// recordChanged wakes saveRecords.
func (c *client) recordChanged() {
	select {
	case c.unsavedRecord <- struct{}{}:
	default:
	}
}

// saveRecords passes the record to Sink after each change, on a goroutine of its own, so
// that answers to the client do not wait for a disk. It looks for new refusals once a second.
func (c *client) saveRecords() {
	defer close(c.saved)
	look := time.NewTicker(time.Second)
	defer look.Stop()
	for saved := 0; ; {
		select {
		case <-c.unsavedRecord:
			c.writeRecord(false)
		case <-look.C:
			c.noteShown()
			if n := c.countRefused(); n > saved {
				saved = n
				c.writeRecord(false)
			}
		case <-c.finished:
			c.noteShown()
			c.noteChanges()
			c.writeRecord(true)
			return
		}
	}
}

// watchHidden has noteShown look for the paths of a plan that the server can read if the host makes
// them.
func (c *client) watchHidden(plan *confine.Plan) {
	if plan == nil || c.config.Exists == nil {
		return
	}
	c.recordMu.Lock()
	defer c.recordMu.Unlock()
	for _, hidden := range plan.ShownLater {
		if !slices.Contains(c.shownLater, hidden) {
			c.shownLater = append(c.shownLater, hidden)
		}
	}
}

// noteShown warns of each path of watchHidden that has come into being.
func (c *client) noteShown() {
	c.recordMu.Lock()
	var made []string
	c.shownLater = slices.DeleteFunc(c.shownLater, func(hidden string) bool {
		if !c.config.Exists(hidden) {
			return false
		}
		made = append(made, hidden)
		return true
	})
	c.recordMu.Unlock()
	for _, hidden := range made {
		c.warn("warning: " + show.Line(hidden) + " was made after the start of this server, which can read it until it is started again: a rule without rights, or the list of sensitive paths, hides only what exists at the start")
		c.recordChanged()
	}
}

// noteChanges writes the sentence of Changed to stderr and to the record.
func (c *client) noteChanges() {
	if c.config.Changed == nil {
		return
	}
	if text := c.config.Changed(); text != "" {
		c.recordMu.Lock()
		c.record.Changes = text
		c.recordMu.Unlock()
		c.sayOnce(text)
	}
}

// writeRecord passes a copy of the record to Sink. The slice Diagnoses is only appended to or
// replaced, so the copy is never written to. The digest of the profile is computed here and not at
// the start, so that the start does not wait for it.
func (c *client) writeRecord(finished bool) {
	if c.config.Sink == nil {
		return
	}
	c.recordMu.Lock()
	record := c.record
	c.recordMu.Unlock()
	record.Unfinished = !finished
	record.Profile = diagnostics.Digest(c.config.Profile)
	record.Denials, record.Remedies = c.allDenials()
	c.config.Sink(record)
	if c.config.Lost == nil {
		return
	}
	if err := c.config.Lost(); err != nil && !c.warnedLost {
		c.warnedLost = true
		c.stderr.SayLine(fmt.Sprintf("warning: the record of this session cannot be written, so `mcp-jail why` will not have all of it: %s%s", err, diagnostics.PageRecord.Reference()))
	}
}
