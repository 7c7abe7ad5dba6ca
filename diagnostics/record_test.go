package diagnostics

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

func TestRecord(t *testing.T) {
	in := Record{
		Version: RecordVersion, Time: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), Server: "github", Tool: "search", Profile: Digest(fixture(nil)),
		Warnings: []string{"w"}, Waived: []string{"net: x"},
		Denials:   []policy.Denial{{Axis: policy.AxisFs, Operation: "open", Target: "/x", PID: 3, Program: "/usr/bin/node", Count: 1, Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}},
		Diagnoses: []Diagnosis{bootFailure()},
	}
	data, err := in.Encode()
	testkit.Must(t, err)
	out, err := DecodeRecord(data)
	testkit.Must(t, err)
	if !reflect.DeepEqual(in, out) {
		t.Errorf("decode(encode)\n got %+v\nwant %+v", out, in)
	}
	for _, bad := range []string{"", "{}", `{"version":2}`, "[]"} {
		if _, err := DecodeRecord([]byte(bad)); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
	in.Denials = make([]policy.Denial, 5000)
	if data, _ = in.Encode(); len(data) > 1<<20 {
		t.Errorf("a record of %d bytes", len(data))
	}
	if w := whyText((Record{Server: "x"})); !strings.Contains(w, "Nothing was blocked") {
		t.Error(w)
	}
	if w := whyText((Record{Server: "x", Unfinished: true})); strings.Contains(w, "Nothing was blocked") || !strings.Contains(w, "still running") {
		t.Error(w)
	}
}

func TestDigest(t *testing.T) {
	a, b := fixture(nil), fixture(nil)
	b.Env[0].Value = "another"
	if Digest(a) != Digest(b) {
		t.Error("the value of a secret changes the digest")
	}
	if b.Entries[0].Rights ^= policy.Read; Digest(a) == Digest(b) {
		t.Error("another policy, the same digest")
	}
	if Digest(nil) != "" {
		t.Error("no profile, no digest")
	}
}

// TestNewerSession checks that the text of a record that is not of the last session
// begins with that fact, and that the stored record has no such member.
func TestNewerSession(t *testing.T) {
	r := Record{Server: "s", Newer: &LostRecord{Time: time.Now()}}
	if words := whyText(r); !strings.HasPrefix(words, "the session that began 20") || !strings.Contains(words, "\nThis is the session before it.\n\ns\n") ||
		!strings.Contains(words, " has no record yet: it is still running, or mcp-jail was killed or could not write it, or a session that began earlier ended later\n") {
		t.Errorf("%q", words)
	}
	r.Newer = nil
	if b, err := r.Encode(); err != nil || strings.Contains(string(b), "newer") || !strings.HasPrefix(whyText(r), "s\n") {
		t.Errorf("%s, %v", b, err)
	}
}
