package report

import (
	"strings"
	"testing"
)

// TestCauseText tests that a verb says how sure a cause is, and that no full stop follows a command: "--write .."
// would mean the directory above.
func TestCauseText(t *testing.T) {
	for attribution, want := range map[Attribution]string{
		Certain: "No disk.", Likely: "The jail probably blocked this: no disk.", Possible: "The jail may have blocked this: no disk.", None: "The jail blocked nothing here: no disk.",
	} {
		d := Diagnosis{Stage: StageCall, What: "x", Attribution: attribution, Cause: "no disk", Hints: []Hint{{Attribution: attribution}}}
		for name, text := range map[string]string{"why": Record{Diagnoses: []Diagnosis{d}}.Text(func(Record) string { return "" }, true), "stderr": d.Text(), "answer": d.resultText()} {
			if !strings.Contains(strings.ToLower(text), strings.ToLower(want)) {
				t.Errorf("%s, %s: %q", name, attribution, text)
			}
		}
	}
	for words, want := range map[string]string{
		"": "", "start it": "Start it.", "is it?": "Is it?", "leave out --write .": "Leave out --write .", "start it with --read": "Start it with --read", "type: mcp-jail grant x --read ~/y": "Type: mcp-jail grant x --read ~/y",
	} {
		if got := sentence(words); got != want {
			t.Errorf("%q: %q, want %q", words, got, want)
		}
	}
}

// TestAdvice tests that an answer ends with the one command that allows what was blocked, and names a page where there
// is none.
func TestAdvice(t *testing.T) {
	d := Diagnosis{Server: "notes", Attribution: Certain, Cause: "c", Explain: PageFsWrite, Words: []string{"--write", "~/notes"}}
	const command = "\nOnly the user can allow it. They run this and then restart the server:\n  mcp-jail grant notes --last"
	if got := d.resultText(); got != "\n[mcp-jail] c"+command {
		t.Errorf("%q", got)
	}
	if got := d.LogText(); !strings.HasSuffix(got, command) {
		t.Errorf("%q", got)
	}
	d.Words = nil
	if got := d.resultText(); got != "\n[mcp-jail] c\nMore:\n  mcp-jail help fs-write" {
		t.Errorf("%q", got)
	}
}
