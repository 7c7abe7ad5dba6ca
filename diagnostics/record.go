package diagnostics

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
const RecordVersion = 2

// Record describes one session. `mcp-jail why` reads it.
type Record struct {
	Version   int             `json:"version"`
	Time      time.Time       `json:"time"`
	Server    string          `json:"server"`
	Tool      string          `json:"tool,omitempty"`
	Project   string          `json:"project,omitempty"` // the project's file, if the server is the project's own
	Warnings  []string        `json:"warnings,omitempty"`
	Waived    []string        `json:"waived,omitempty"`  // one line for each gap that the user accepted
	Changes   string          `json:"changes,omitempty"` // a sentence about what can be undone
	Allowed   []string        `json:"allowed,omitempty"` // in the client, for the session: words of mcp-jail grant
	Kept      *Kept           `json:"kept,omitempty"`    // of a stateful server that has an earlier policy than its files
	Restart   *Restart        `json:"restart,omitempty"` // the last one that the user wanted
	Denials   []policy.Denial `json:"denials,omitempty"`
	Diagnoses []Diagnosis     `json:"diagnoses,omitempty"`
	// Unfinished says that the session went on when the record was written.
	Unfinished bool `json:"unfinished,omitempty"`

	// The following fields are not part of the stored record. `mcp-jail why` sets Newer
	// when a later session of the server has no record.
	Newer *LostRecord `json:"newer,omitempty"`
	// Failed is the last earlier session with a failure, where this one has none.
	Failed *Record `json:"failed,omitempty"`
}

// Kept says that the process of a session keeps the policy with which it started.
type Kept struct {
	Since time.Time   `json:"since"`          // when the files got another policy
	Rows  [][3]string `json:"rows,omitempty"` // what differs: its name, what the process has, and what the files say
	Why   string      `json:"why,omitempty"`  // why the server was not started again under it; "" if that was not wanted
	Made
}

// Made says what a server that runs and its files are at: what its process is made from, and what the files say now. Both are
// as session.Target.Written returns them; "" is not known.
type Made struct {
	Runs  string `json:"runs,omitempty"`
	Files string `json:"files,omitempty"`
}

// Restart says what has become of a user's wish that a server be started again where it runs.
type Restart struct {
	Wish   string `json:"wish"`             // see records.Wish
	Why    string `json:"why,omitempty"`    // why it failed, or what it waits for; "": the client has the new process
	Failed bool   `json:"failed,omitempty"` // it is over
}

// Text says it of a server.
func (k Kept) Text(server string) string {
	text := server + " runs under its earlier policy since " + k.Since.Local().Format("15:04")
	if k.Why != "" {
		text += ": " + k.Why
	}
	return fullStop(text)
}

// LostRecord is a session without a record.
type LostRecord struct {
	Time time.Time `json:"time"` // start of the session
}

// Text returns a sentence that there is no record.
func (u LostRecord) Text() string {
	return "the session that began " + u.Time.Local().Format(timeFormat) + " has no record yet: it is still running, or mcp-jail was killed or could not write it, or a session that began earlier ended later"
}

const timeFormat = "2006-01-02 15:04:05 -07:00"

// A record keeps the end of a session within bounds, because a server may fail all day.
const (
	recordDenials   = 1000
	recordDiagnoses = 100
)

// Encode returns the content of the record's file. It sets the version and keeps the last 1000
// denials and 100 diagnoses.
func (r Record) Encode() ([]byte, error) {
	r.Version = RecordVersion
	r.Denials = lastN(r.Denials, recordDenials)
	r.Diagnoses = lastN(r.Diagnoses, recordDiagnoses)
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode the session record of %q: %w", r.Server, err)
	}
	return append(show.JSON(data), '\n'), nil
}

// DecodeRecord decodes the output of Encode.
func DecodeRecord(data []byte) (Record, error) {
	var r Record
	if err := json.Unmarshal(data, &r); err != nil {
		return Record{}, fmt.Errorf("the session record cannot be read: %w", err)
	}
	if r.Version != RecordVersion {
		return Record{}, fmt.Errorf("the session record is of another mcp-jail (version %d, and not %d): start the server once more", r.Version, RecordVersion)
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

// maxFailures bounds the failures that are told in short.
const maxFailures = 5

// Text returns the session as `mcp-jail why` prints it, but for the command that allows what was blocked: in short a
// block for each of the last failures. title says which server and when. It sanitizes all strings again, because other
// programs can write to the state directory, and names in the record come from servers.
func (r Record) Text(title func(Record) string, verbose bool) string {
	var b strings.Builder
	line := func(indent, text string) { b.WriteString(indent + show.Line(text) + "\n") }
	section := func(heading string, lines []string) {
		if len(lines) > 0 {
			b.WriteString(heading + "\n")
		}
		for _, l := range lines {
			line("    ", l)
		}
	}
	if r.Newer != nil {
		b.WriteString(r.Newer.Text() + "\nThis is the session before it.\n\n")
	}
	b.WriteString(title(r) + "\n")
	if r.Unfinished {
		b.WriteString("  The record ends before the session did: it is still running, or mcp-jail was killed.\n")
	}
	failures, unclear := r.Diagnoses, len(r.Diagnoses) == 0
	if more := len(failures) - maxFailures; more > 0 && !verbose {
		line("  ", strconv.Itoa(more)+" earlier failures: --verbose shows them")
		failures = failures[more:]
	}
	for n, d := range failures {
		if n > 0 {
			b.WriteString("\n")
		}
		for i, l := range d.lines(d.Brief()) {
			line("  ", strings.TrimPrefix(l, "  "))
			if i == 0 && d.Cause == "" && d.Attribution == None && d.Fix == "" {
				unclear = unclear || len(d.Denials) == 0
				line("  ", d.unexplained(r.Server))
			}
		}
	}
	if len(r.Denials) == 0 && len(r.Diagnoses) == 0 {
		line("  ", r.nothing())
	}
	if unclear || verbose {
		section("  Also blocked:", r.besides())
	}
	if verbose || len(r.Diagnoses) == 0 {
		section("  Not enforced, because you accepted a weaker jail:", r.Waived)
		section("  Warnings:", r.Warnings)
	}
	section("  Allowed in the client, for that session:", r.Allowed)
	if r.Changes != "" {
		line("  ", r.Changes)
	}
	if r.Failed != nil {
		b.WriteString("\nThe failure before the last session, in which nothing failed:\n\n" + r.Failed.Text(title, verbose))
	}
	return b.String()
}

// unexplained says what is known of a failure without a cause. It is the server's own fault only if nothing is otherwise
// in the jail than outside.
func (d Diagnosis) unexplained(server string) string {
	compare := ". Compare: " + show.Typed("mcp-jail plan", server)
	switch {
	case len(d.Denials) > 0:
		var all []string
		for _, denial := range d.Denials {
			all = append(all, denialText(denial))
		}
		return "The jail blocked this then, which the text does not give as its cause: " + inWords(all) + compare
	case len(d.Apart) > 0:
		return "The jail recorded no refusal then, but hides this from " + Who(server) + ", or has its own: " + inWords(d.Apart) + compare
	}
	return "The jail recorded no refusal then. The cause is probably in " + Who(server) + " itself."
}

// maxBesides bounds the refusals that are told without a failure. The JSON form has all.
const maxBesides = 10

// besides returns a line for each thing that the jail blocked and that is not told as the cause of a failure. It may have names that the
// server chose.
func (r Record) besides() (lines []string) {
	for _, d := range r.Denials {
		told := func(h Hint) bool { return h.Axis == d.Axis && h.Target == d.Target }
		if !slices.ContainsFunc(r.Diagnoses, func(d Diagnosis) bool { return slices.ContainsFunc(d.Hints, told) }) {
			lines = append(lines, denialText(d))
		}
	}
	if more := len(lines) - maxBesides; more > 0 {
		lines = append(lines[:maxBesides], strconv.Itoa(more)+" more: --format json has all")
	}
	return lines
}

// Lacks reports whether mcp-jail grant can allow something that the last session with a failure lacked.
func (r Record) Lacks() bool {
	if len(r.Diagnoses) == 0 && r.Failed != nil {
		return r.Failed.Lacks()
	}
	return slices.ContainsFunc(r.Diagnoses, func(d Diagnosis) bool { return d.CanAllow() })
}

func (r Record) nothing() string {
	if r.Unfinished {
		return "No refusal and no failure is on record so far."
	}
	return "Nothing was blocked and nothing failed."
}

// inWords returns the first five things, and how many more there are.
func inWords(things []string) string {
	const most = 5
	if more := len(things) - most; more > 0 {
		return strings.Join(things[:most], ", ") + " and " + strconv.Itoa(more) + " more"
	}
	return strings.Join(things, ", ")
}

// gerunds have what a program was blocked from, by the operation of a denial.
var gerunds = map[string]string{
	"": "using", "connect": "reaching", "send": "sending to", "resolve": "looking up", "exec": "starting", "read": "reading", "list": "listing",
	"create": "creating", "write": "writing", "truncate": "truncating", "remove": "removing", "mkdir": "making the directory", "rename": "renaming something to",
}

// Blocked says what the jail blocked: which program, and from what. target is the shown name of that.
func Blocked(d policy.Denial, target string) string {
	who := "the server"
	if d.Program != "" {
		who = show.InSentence(filepath.Base(d.Program))
	}
	from, known := gerunds[d.Operation]
	switch {
	case !known:
		from = "this: " + show.Line(d.Operation) + " of"
	}
	return strings.TrimSpace("the jail blocked "+who+" from "+from+" "+target) + Arguments(d)
}

// Arguments returns the command line that was refused to a program, as a shell takes it.
func Arguments(d policy.Denial) string {
	if d.Reason != policy.DeniedArguments || len(d.Arguments) == 0 {
		return ""
	}
	return " as " + show.Spelled(d.Arguments)
}

// Joined returns texts as sentences, but for the first letter and the full stop at the end. Texts may be "".
func Joined(texts ...string) string {
	texts = slices.DeleteFunc(texts, func(s string) bool { return s == "" })
	for i := range texts {
		if i > 0 {
			texts[i] = sentence(texts[i])
		}
		if i < len(texts)-1 {
			texts[i] = fullStop(texts[i])
		}
	}
	return strings.TrimSuffix(strings.Join(texts, " "), ".")
}

func denialText(d policy.Denial) string {
	words := Blocked(d, show.Quote(d.Target))
	if d.Count > 1 {
		words += " (" + strconv.Itoa(d.Count) + " times)"
	}
	if d.Tool != "" {
		words += ", in " + show.InSentence(d.Tool)
	}
	if d.Detail != "" && d.Reason != policy.DeniedNotGranted {
		words += ": " + d.Detail
	}
	if d.Background {
		words += " (as also where nothing fails)"
	}
	return words
}
