package answers

import (
	"bytes"
	"encoding/json"
	"sync"

	"github.com/mcp-jail/mcp-jail/lifecycle/internal/session"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

const (
	prefix         = "io.modelcontextprotocol/"
	tasksExtension = prefix + "tasks"
)

// StripServer removes capabilities from a server's answer to a handshake. listChanged of tools and
// prompts stays in the legacy era, since mcp-jail sends those notifications itself.
func StripServer(result []byte, modern bool) []byte {
	removed := [][]string{{"tasks"}, {"extensions", tasksExtension}, {"resources", "subscribe"}, {"resources", "listChanged"}}
	if modern { // a subscription gets an empty filter
		removed = append(removed, []string{"tools", "listChanged"}, []string{"prompts", "listChanged"})
	}
	for _, path := range removed {
		result = remove(result, append([]string{"capabilities"}, path...)...)
	}
	return result
}

// StripRequest returns a request of the client without the extension for tasks, and a call without
// the member by which it asks for a task. Then a server must answer with a result: 2025-11-25,
// "Tasks, Capability Negotiation", and SEP-2663. It returns f itself if there is nothing to remove,
// or if f is not held in memory. It closes a frame that it replaces.
func StripRequest(f *mcpproxy.Frame) *mcpproxy.Frame {
	e := &f.Messages[0]
	params := f.Slice(e.Params)
	if !mayHold(params, "task") {
		return f
	}
	stripped := params
	switch {
	case e.Era() == mcpproxy.Modern:
		stripped = remove(params, "_meta", prefix+"clientCapabilities", "extensions", tasksExtension)
	case string(e.Method) == "initialize":
		stripped = remove(params, "capabilities", "extensions", tasksExtension)
	case string(e.Method) == "tools/call":
		stripped = remove(params, "task")
	}
	if len(stripped) == len(params) {
		return f
	}
	line := session.Splice(f.Bytes(), e.Params.Start, e.Params.End, stripped)
	f.Close()
	return mcpproxy.Parse(line)
}

// StripTools removes execution.taskSupport from the tools of an answer to tools/list. A client that
// reads there that a tool needs a task would not call it.
func StripTools(result []byte) []byte {
	if !mayHold(result, "taskSupport") {
		return result
	}
	return session.ReplaceMember(result, "tools", func(list []byte) []byte {
		return session.ReplaceElements(list, func(tool []byte) []byte {
			return session.ReplaceMember(tool, "execution", func(execution []byte) []byte {
				if taskSupport(execution) == "forbidden" { // it says what holds here
					return execution
				}
				return remove(execution, "taskSupport")
			})
		})
	})
}

// needsTask reports whether a tool of 2025-11-25 answers with tasks alone, by its member execution.
func needsTask(execution []byte) bool { return taskSupport(execution) == "required" }

func taskSupport(execution []byte) string {
	var e struct {
		TaskSupport string `json:"taskSupport"`
	}
	json.Unmarshal(execution, &e)
	return e.TaskSupport
}

// IsTask reports whether a result is the handle of a task in place of an answer. result is nil if it
// is not held in memory; a handle is never that large.
func IsTask(result []byte) bool {
	if !mayHold(result, "task") {
		return false
	}
	var kind string
	var handle, content bool
	session.EachMember(result, func(name string, _ int64, value []byte) {
		switch name {
		case "resultType":
			json.Unmarshal(value, &kind)
		case "task":
			var task struct {
				ID *string `json:"taskId"`
			}
			handle = json.Unmarshal(value, &task) == nil && task.ID != nil
		case "content":
			content = true
		}
	})
	return kind == "task" || handle && !content
}

// mayHold reports whether a name or a value can be in a text. It saves decoding most messages.
func mayHold(message []byte, text string) bool {
	return bytes.Contains(message, []byte(text)) || bytes.Contains(message, []byte(`\u`))
}

// remove returns an object without the member at a path. All other bytes stay. If there is no such
// member, it returns the object itself.
func remove(object []byte, path ...string) []byte {
	if len(path) > 1 {
		return session.ReplaceMember(object, path[0], func(value []byte) []byte { return remove(value, path[1:]...) })
	}
	before, from, to := int64(1), int64(-1), int64(-1) // after the brace, or the member before
	session.EachMember(object, func(name string, at int64, value []byte) {
		end := at + int64(len(value))
		if name == path[0] && from < 0 {
			from, to = before, end
		}
		before = end
	})
	if from < 0 {
		return object
	}
	if from == 1 { // the first member: the comma after it goes with it
		rest := bytes.TrimLeft(object[to:], " \t\r\n")
		if bytes.HasPrefix(rest, []byte{','}) {
			to = int64(len(object)-len(rest)) + 1
		}
	}
	return remove(session.Splice(object, from, to, nil), path[0])
}

// Tools are the tools that a server has listed. The zero value has none.
type Tools struct {
	mu      sync.Mutex
	known   map[string]bool // every tool that was ever listed, since clients remember them: whether it answers with tasks only
	partial []string        // tools of the list that is being read; nil without its first page
}

// toolsPage is the part of an answer to tools/list that we read.
type toolsPage struct {
	Tools []struct {
		Name      string          `json:"name"`
		Execution json.RawMessage `json:"execution"`
	} `json:"tools"`
	NextCursor string `json:"nextCursor"`
}

// maxTools bounds the tools that are known by name, since a server may list others each
// time. Those beyond count as not listed.
const maxTools = 10000

// AddPage adds a page of the list of tools and returns the cursor of the next, or "". After the last
// page it returns the names of the whole list. They are nil if its first page was not seen.
func (t *Tools) AddPage(result []byte, first bool) (next string, all []string) {
	var part toolsPage
	if json.Unmarshal(result, &part) != nil {
		return "", nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if first {
		t.partial = []string{}
	}
	if t.known == nil {
		t.known = map[string]bool{}
	}
	for _, tool := range part.Tools {
		_, listed := t.known[tool.Name]
		if len(t.known) == maxTools && !listed || len(tool.Name) > mcpproxy.MaxTool || len(t.partial) == maxTools {
			continue
		}
		t.known[tool.Name] = needsTask(tool.Execution)
		if t.partial != nil {
			t.partial = append(t.partial, tool.Name)
		}
	}
	if part.NextCursor != "" {
		return part.NextCursor, nil
	}
	all, t.partial = t.partial, nil
	return "", all
}

// Has reports whether the server has listed a tool.
func (t *Tools) Has(tool string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, listed := t.known[tool]
	return listed
}

// NeedsTask reports whether a tool answers with tasks only, in the legacy era.
func (t *Tools) NeedsTask(tool string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.known[tool]
}
