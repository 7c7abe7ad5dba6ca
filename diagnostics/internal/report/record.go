package report

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// RecordVersion is the version of the record's format.
const RecordVersion = 1

// Record describes one session. `mcp-jail why` reads it.
type Record struct {
	Version   int             `json:"version"`
	Time      time.Time       `json:"time"`
	Server    string          `json:"server"`
	Tool      string          `json:"tool,omitempty"`
	Project   string          `json:"project,omitempty"` // the project's file, if the server is the project's own
	File      string          `json:"file,omitempty"`    // the file into which lines for the server belong
	Profile   string          `json:"profile"`           // digest of the profile: see Digest
	Warnings  []string        `json:"warnings,omitempty"`
	Waived    []string        `json:"waived,omitempty"`  // one line for each gap that the user accepted
	Changes   string          `json:"changes,omitempty"` // a sentence about what can be undone
	Denials   []policy.Denial `json:"denials,omitempty"`
	Diagnoses []Diagnosis     `json:"diagnoses,omitempty"`
	Remedies  []Hint          `json:"remedies,omitempty"` // hints for refused hosts, also for those that a diagnosis names: see Remedies
	// Unfinished says that the session went on when the record was written.
	Unfinished bool `json:"unfinished,omitempty"`

	// The following fields are not part of the stored record. `mcp-jail why` sets Newer
	// when a later session of the server has no record, and Incomplete to the reason why
	// the end of this record could not be written.
	Newer      *LostRecord `json:"newer,omitempty"`
	Incomplete string      `json:"incomplete,omitempty"`
	// Failed is the last earlier session with a failure, where this one has none.
	Failed *Record `json:"failed,omitempty"`
}

// LostRecord is a session without a record.
type LostRecord struct {
	Time  time.Time `json:"time"`            // start of the session
	Cause string    `json:"cause,omitempty"` // "" when unknown
}

// Text returns a sentence that there is no record, and why.
func (u LostRecord) Text() string {
	words := "the session that began " + u.Time.Local().Format(timeFormat) + " has no record"
	if u.Cause == "" {
		return words + " yet: it is still running, or mcp-jail was killed or could not write it, or a session that began earlier ended later"
	}
	return words + ": it could not be written: " + show.Line(u.Cause)
}

const timeFormat = "2006-01-02 15:04:05 -07:00"

// A record keeps the end of a session within bounds, because a server may fail all day.
const (
	recordDenials   = 1000
	recordDiagnoses = 100
	recordRemedies  = 50
)

// Encode returns the content of the record's file. It sets the version and keeps the last 1000
// denials, 100 diagnoses and 50 remedies.
func (r Record) Encode() ([]byte, error) {
	r.Version = RecordVersion
	r.Denials = lastN(r.Denials, recordDenials)
	r.Diagnoses = lastN(r.Diagnoses, recordDiagnoses)
	r.Remedies = lastN(r.Remedies, recordRemedies)
	data, err := json.MarshalIndent(r.stored(), "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode the session record of %q: %w", r.Server, err)
	}
	return append(show.JSON(data), '\n'), nil
}

// storedRecord is a Record as its file has it. Package json asks a type for the members of all types
// in it, which takes longer than to encode a record. Behind any it asks only for what is there: at
// the start of a session, nothing.
type storedRecord struct {
	Version    int       `json:"version"`
	Time       time.Time `json:"time"`
	Server     string    `json:"server"`
	Tool       string    `json:"tool,omitempty"`
	Project    string    `json:"project,omitempty"`
	File       string    `json:"file,omitempty"`
	Profile    string    `json:"profile"`
	Warnings   []string  `json:"warnings,omitempty"`
	Waived     []string  `json:"waived,omitempty"`
	Changes    string    `json:"changes,omitempty"`
	Denials    any       `json:"denials,omitempty"`
	Diagnoses  any       `json:"diagnoses,omitempty"`
	Remedies   any       `json:"remedies,omitempty"`
	Unfinished bool      `json:"unfinished,omitempty"`
	Newer      any       `json:"newer,omitempty"`
	Incomplete string    `json:"incomplete,omitempty"`
	Failed     any       `json:"failed,omitempty"`
}

func (r Record) stored() storedRecord {
	s := storedRecord{
		Version: r.Version, Time: r.Time, Server: r.Server, Tool: r.Tool, Project: r.Project, File: r.File, Profile: r.Profile,
		Warnings: r.Warnings, Waived: r.Waived, Changes: r.Changes, Unfinished: r.Unfinished, Incomplete: r.Incomplete,
		Denials: unlessEmpty(r.Denials), Diagnoses: unlessEmpty(r.Diagnoses), Remedies: unlessEmpty(r.Remedies),
	}
	if r.Newer != nil {
		s.Newer = r.Newer
	}
	if r.Failed != nil {
		s.Failed = r.Failed.stored()
	}
	return s
}

func unlessEmpty[T any](s []T) any {
	if len(s) == 0 {
		return nil
	}
	return s
}

// DecodeRecord decodes the output of Encode.
func DecodeRecord(data []byte) (Record, error) {
	var r Record
	if err := json.Unmarshal(data, &r); err != nil {
		return Record{}, fmt.Errorf("the session record cannot be read: %w", err)
	}
	if r.Version != RecordVersion {
		return Record{}, fmt.Errorf("the session record has version %d, this mcp-jail reads version %d", r.Version, RecordVersion)
	}
	return r, nil
}

// HasDiagnosis reports whether the output of Encode is that of a session that failed. It reads no more
// than that: each session asks it of the one before.
func HasDiagnosis(data []byte) bool {
	var r struct {
		Version   int               `json:"version"`
		Diagnoses []json.RawMessage `json:"diagnoses"`
	}
	return json.Unmarshal(data, &r) == nil && r.Version == RecordVersion && len(r.Diagnoses) > 0
}

// Text returns the session as `mcp-jail why` prints it. It sanitizes all strings again,
// because other programs can write to the state directory, and names in the record come
// from servers.
func (r Record) Text() string {
	var b strings.Builder
	if r.Newer != nil {
		b.WriteString(r.Newer.Text() + "\nThis is the session before it.\n\n")
	}
	b.WriteString(r.heading())
	if r.Unfinished {
		b.WriteString("\nThe record ends before the session did: it is still running, or mcp-jail was killed.\n")
	}
	section := func(title string, lines []string) {
		if len(lines) == 0 {
			return
		}
		b.WriteString("\n" + title + "\n")
		for _, l := range lines {
			b.WriteString("  " + show.Line(l) + "\n")
		}
	}
	if r.Incomplete != "" {
		b.WriteString("\nThe last part of the record could not be written: " + show.Line(r.Incomplete) + "\n")
	}
	section("Not enforced, accepted by --waive:", r.Waived)
	section("Warnings:", r.Warnings)
	if r.Changes != "" {
		b.WriteString("\n" + show.Line(r.Changes) + "\n")
	}
	section("Refused by the jail:", r.Refusals())
	for _, h := range r.unreported() {
		h.writeText(&b, r.File)
	}
	for _, d := range r.Diagnoses {
		d.writeText(&b, r.File)
	}
	if len(r.Denials) == 0 && len(r.Diagnoses) == 0 {
		b.WriteString("\n" + r.nothing() + "\n")
	}
	if r.Failed != nil {
		b.WriteString("\nThe last session before it with a failure:\n\n" + r.Failed.Text())
	}
	return b.String()
}

// Refusals returns a line for each thing that the jail refused. It may have names that the server chose.
func (r Record) Refusals() (lines []string) {
	for _, d := range r.Denials {
		lines = append(lines, denialText(d))
	}
	return lines
}

// Lacks reports whether a flag grants something that the last session with a failure lacked.
func (r Record) Lacks() bool {
	if len(r.Diagnoses) == 0 && r.Failed != nil {
		return r.Failed.Lacks()
	}
	return slices.ContainsFunc(r.Diagnoses, func(d Diagnosis) bool { return len(d.Words)+len(d.Flags) > 0 })
}

// LacksHost reports whether the last session with a failure lacked a host whose name the jail did not
// learn, since the server has no network. The server's own words may name the host: then it is known.
func (r Record) LacksHost() bool {
	if len(r.Diagnoses) == 0 && r.Failed != nil {
		return r.Failed.LacksHost()
	}
	return slices.ContainsFunc(r.Diagnoses, func(d Diagnosis) bool {
		about := func(named bool) bool {
			return slices.ContainsFunc(d.Hints, func(h Hint) bool { return h.Axis == policy.AxisNet && (h.Target != "") == named })
		}
		return about(false) && !about(true)
	})
}

func (r Record) heading() string {
	text := "server " + show.Quote(r.Server)
	if r.Tool != "" {
		text += ", tool " + show.Quote(r.Tool)
	}
	if r.Project != "" {
		text += " of the project " + show.Line(filepath.Dir(r.Project)) + " (" + show.Line(r.Project) + ")"
	}
	if !r.Time.IsZero() {
		text += ", session of " + r.Time.Format(timeFormat)
	}
	return text + "\n"
}

func (r Record) nothing() string {
	if r.Unfinished {
		return "No refusal and no failure is on record so far."
	}
	return "Nothing was refused and nothing failed."
}

func (r Record) unreported() (hints []Hint) {
	for _, h := range r.Remedies {
		if len(h.Grant)+len(h.Flags) == 0 {
			continue
		}
		if h.Axis == policy.AxisNet && slices.ContainsFunc(r.Diagnoses, func(d Diagnosis) bool { return d.Explain == PagePackageMissing }) {
			continue // what a launcher was refused, and not the server, which did not start
		}
		told := func(t Hint) bool { return t.Axis == h.Axis && t.Target == h.Target }
		if !slices.ContainsFunc(r.Diagnoses, func(d Diagnosis) bool { return slices.ContainsFunc(d.Hints, told) }) {
			hints = append(hints, h)
		}
	}
	return hints
}

// writeText appends the rule that would grant something that was refused without a
// failure.
func (h Hint) writeText(b *strings.Builder, file string) {
	b.WriteString("\n" + show.Quote(h.Target) + " would be granted by")
	if len(h.Flags) > 0 {
		b.WriteString("  " + show.Line(strings.Join(h.Flags, " ")))
	} else if file != "" {
		b.WriteString(" these lines, added" + intoFile(file))
	}
	b.WriteString("\n")
	if h.Warning != "" {
		b.WriteString("  careful: " + show.Line(h.Warning) + "\n")
	}
	for i, l := range h.Grant {
		if i == 0 {
			b.WriteString("\n")
		}
		b.WriteString(show.Line(l) + "\n")
	}
}

// theConfiguration stands for the file into which lines belong, if it is not known.
const theConfiguration = "the configuration"

func intoFile(file string) string {
	switch {
	case file == "":
		return ""
	case isProjects(file):
		return " to " + show.Line(file) + " (then: " + trustLine(file) + ")"
	}
	return " to " + show.Line(file)
}

// AndTrust says that a project's file counts once it was trusted again.
func AndTrust(file string) string {
	if !isProjects(file) {
		return ""
	}
	return ", then: " + trustLine(file)
}

func isProjects(file string) bool { return filepath.Base(file) == ".mcp-jail.toml" }

func trustLine(file string) string { return show.Typed("mcp-jail trust", file) }

func (d Diagnosis) writeText(b *strings.Builder, file string) {
	b.WriteString("\n" + show.Line(d.What) + "\n")
	put := func(head, s string) {
		if s != "" {
			b.WriteString("  " + head + show.Line(s) + "\n")
		}
	}
	switch {
	case d.Attribution == "" || d.Cause == "":
		put("", "nothing points at the jail")
	case d.Attribution == None:
		put("cause: ", d.Cause)
	default:
		put("cause ("+string(d.Attribution)+"): ", d.Cause)
	}
	for _, l := range d.Detail {
		put("  ", strings.TrimLeft(l, " "))
	}
	put("fix: ", d.Fix)
	for i, h := range d.Hints {
		if i > 0 || d.Cause == "" {
			put("also ("+string(h.Attribution)+"): ", h.Cause)
			put("  fix: ", h.Fix)
		}
	}
	if d.Explain != "" {
		put("more: mcp-jail explain ", string(d.Explain))
	}
	put("flags to add: ", strings.Join(d.Flags, " "))
	if word := d.LastError(); word != "" {
		b.WriteString("  server said: " + show.Quote(word) + "\n")
	}
	if _, ok := d.grantLast(file); len(d.Grant) > 0 && !ok { // why ends with the command
		b.WriteString("  lines to add" + intoFile(file) + ":\n\n")
		for _, l := range d.Grant {
			b.WriteString(show.Line(l) + "\n")
		}
	}
}

// InWords returns the first five things, and how many more there are.
func InWords(things []string) string {
	const most = 5
	if more := len(things) - most; more > 0 {
		return strings.Join(things[:most], ", ") + " and " + strconv.Itoa(more) + " more"
	}
	return strings.Join(things, ", ")
}
