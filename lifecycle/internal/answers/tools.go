package answers

import (
	"encoding/json"
	"sync"

	"github.com/mcp-jail/mcp-jail/lifecycle/internal/capability"
	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

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
		t.known[tool.Name] = capability.NeedsTask(tool.Execution)
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
