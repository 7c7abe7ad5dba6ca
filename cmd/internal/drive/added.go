package drive

import "strings"

// What mcp-jail run adds to the answers of a server says what the jail refused: see docs/diagnoses.md. Under
// another policy it is something else, also where the server says the same.
const (
	addedPrefix = "dev.mcp-jail/" // of members; a session lets no server use it
	addedMark   = "[mcp-jail] "   // begins a text
)

// withoutAdded returns a result or an error as the server gave it.
func withoutAdded(v any) any {
	switch v := v.(type) {
	case map[string]any:
		if data, ok := v[addedPrefix+"server"]; ok { // the server's data of an error, which are no object
			return data
		}
		out := make(map[string]any, len(v))
		for key, value := range v {
			value = withoutAdded(value)
			o, isObject := value.(map[string]any)
			switch empty := value == nil || isObject && len(o) == 0; {
			case strings.HasPrefix(key, addedPrefix):
			case empty && (key == "_meta" || key == "data"): // they may have been made for it
			case key == "message":
				out[key] = withoutNote(value)
			default:
				out[key] = value
			}
		}
		return out
	case []any:
		out := make([]any, 0, len(v))
		for _, value := range v {
			if !isAddedBlock(value) {
				out = append(out, withoutAdded(value))
			}
		}
		return out
	}
	return v
}

func isAddedBlock(v any) bool {
	block, _ := v.(map[string]any)
	text, _ := block["text"].(string)
	return block["type"] == "text" && strings.HasPrefix(text, "\n"+addedMark)
}

// withoutNote cuts the sentence that is added to the message of an error.
func withoutNote(message any) any {
	text, ok := message.(string)
	if !ok {
		return message
	}
	text, _, _ = strings.Cut(text, addedMark)
	return strings.TrimSuffix(text, " ")
}
