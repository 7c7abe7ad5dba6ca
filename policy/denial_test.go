package policy

import (
	"encoding/json"
	"testing"
	"time"
)

// TestDenialJSON checks the JSON form, which session records and `--format json` show.
func TestDenialJSON(t *testing.T) {
	at := time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC)
	for want, d := range map[string]Denial{
		`{"axis":"fs","operation":"open","target":"/x","count":1,"time":"2026-07-28T12:00:00Z"}`: {
			Axis: AxisFs, Operation: "open", Target: "/x", Count: 1, Time: at,
		},
		`{"axis":"net","operation":"connect","target":"x:1","reason":"limit","detail":"d","pid":7,"program":"/p","count":2,` +
			`"time":"2026-07-28T12:00:00Z","last":"2026-07-28T12:00:01Z","tool":"t","usual":true}`: {
			Axis: AxisNet, Operation: "connect", Target: "x:1", Reason: DeniedLimit, Detail: "d", PID: 7, Program: "/p", Count: 2,
			Time: at, Last: at.Add(time.Second), Tool: "t", Background: true,
		},
	} {
		got, err := json.Marshal(d)
		if err != nil || string(got) != want {
			t.Errorf("got %s, want %s: %v", got, want, err)
		}
		if latest := d.Latest(); latest.Before(d.Last) || latest.Before(d.Time) {
			t.Errorf("%s: latest %v", want, latest)
		}
	}
}
