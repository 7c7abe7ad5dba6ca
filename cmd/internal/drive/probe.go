package drive

import (
	"encoding/json"
)

// Place is where the server works. Arguments that are paths or addresses are taken from it.
type Place struct {
	Workspace string   // absolute; "" for none
	File      string   // a file in it, relative to it; "" for none
	Hosts     []string // that the server may reach
}

// tool is what a probe reads of a tool.
type tool struct {
	Name        string          `json:"name"`
	InputSchema json.RawMessage `json:"inputSchema"`
	Annotations struct {
		ReadOnly    *bool `json:"readOnlyHint"`
		Destructive *bool `json:"destructiveHint"`
	} `json:"annotations"`
}

func toolsOf(pages [][]byte) (tools []tool) {
	for _, page := range pages {
		var list struct {
			Tools []tool `json:"tools"`
		}
		if json.Unmarshal(page, &list) == nil {
			tools = append(tools, list.Tools...)
		}
	}
	return tools
}

// Probe returns a call of each tool that says of itself that it only reads, with arguments that its schema
// allows. The other tools are skipped: what they would do is not guessed.
func Probe(pages [][]byte, place Place) (requests []Request, skipped []Skipped) {
	requests = []Request{}
	for _, t := range toolsOf(pages) {
		arguments, err := argumentsFor(t.Name, t.InputSchema, place)
		call := Call(t.Name, arguments)
		why := ""
		switch {
		case t.Name == "":
			why = "it has no name"
		case len(requests) >= maxRequests:
			why = "there are too many tools"
		case t.Annotations.ReadOnly == nil:
			why = "it does not say whether it only reads (readOnlyHint)"
		case !*t.Annotations.ReadOnly:
			why = "it says that it changes something"
		case err != nil:
			why = "no arguments could be made for it: " + err.Error()
		default:
			requests = append(requests, call)
			continue
		}
		s := Skipped{Tool: t.Name, Why: why}
		if t.Name != "" && err == nil {
			s.Example = `{"method": "tools/call", "params": ` + string(call.Params) + `}`
		}
		skipped = append(skipped, s)
	}
	return requests, skipped
}
