package change

import (
	"encoding/json"

	"github.com/mcp-jail/mcp-jail/policy"
)

// kept is a proposal in a record. Its verdict is for people: mcp-jail decides anew when it reads a record.
type kept struct {
	Tool    string          `json:"tool,omitempty"`
	Source  string          `json:"source"`            // "said" or "recorded"
	Words   []string        `json:"words,omitempty"`   // for mcp-jail grant, not quoted
	Program string          `json:"program,omitempty"` // which no flag grants
	Besides bool            `json:"besides,omitempty"`
	Verdict string          `json:"verdict"`
	Reasons []policy.Reason `json:"reasons,omitempty"`
}

const said, recorded = "said", "recorded"

var verdictNames = map[Verdict]string{Never: "never", Cannot: "cannot", Apart: "apart", Ask: "ask", Fine: "fine", Has: "has"}

// MarshalJSON implements json.Marshaler.
func (p Proposal) MarshalJSON() ([]byte, error) {
	k := kept{Tool: p.Tool, Source: said, Words: p.Object.Words(), Program: p.Object.Program, Besides: p.Besides, Verdict: verdictNames[p.verdict], Reasons: p.Reasons}
	if p.Source == Recorded {
		k.Source = recorded
	}
	return json.Marshal(k)
}

// UnmarshalJSON implements json.Unmarshaler. It takes what is wanted, and no verdict: that is Never until it is decided.
func (p *Proposal) UnmarshalJSON(data []byte) error {
	var k kept
	if err := json.Unmarshal(data, &k); err != nil {
		return err
	}
	*p = Proposal{Want: Want{Tool: k.Tool, Besides: k.Besides, Object: Object{Program: k.Program}}}
	if k.Source == recorded {
		p.Source = Recorded
	}
	objects, err := Read(k.Words)
	if objects = Merge(objects); err == nil && len(objects) == 1 { // other words are not those of mcp-jail
		p.Object = objects[0]
	}
	return nil
}
