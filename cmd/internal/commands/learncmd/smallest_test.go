package learncmd

import (
	"encoding/json"
	"testing"

	"github.com/mcp-jail/mcp-jail/cmd/internal/drive"
	"github.com/mcp-jail/mcp-jail/policy/learn"
)

// TestUnsteadyRulesStay: a rule of a call whose answers are other ones each time is not tried.
func TestUnsteadyRulesStay(t *testing.T) {
	answers := func(steady, other string) *drive.Played {
		p := &drive.Played{}
		for tool, text := range map[string]string{"steady": steady, "other": other} {
			quoted, _ := json.Marshal(text)
			p.Answers = append(p.Answers, drive.Answer{Request: drive.Call(tool, json.RawMessage("{}")), Result: json.RawMessage(`{"content":[{"type":"text","text":` + string(quoted) + `}]}`)})
		}
		return p
	}
	order := func(p *drive.Played) *drive.Played { // of a map
		if p.Answers[0].Request.Tool != "steady" {
			p.Answers[0], p.Answers[1] = p.Answers[1], p.Answers[0]
		}
		return p
	}
	l := &lesson{expected: drive.Expected{First: order(answers("a", "b c d")), Again: order(answers("a", "x"))}}
	for tool, want := range map[string]bool{"steady": false, "other": true, "": false} {
		if got := (perCall{l}).isUnsteady(learn.Rule{Tools: map[string]int{tool: 1}}); got != want {
			t.Errorf("%q: %t", tool, got)
		}
	}
}
