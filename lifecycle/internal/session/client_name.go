package session

import (
	"bytes"
	"encoding/json"
	"sync/atomic"

	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// introduction is what a client says of itself, for Session.ClientNamed.
type introduction struct {
	params atomic.Pointer[[]byte] // of the first message that may have it
	told   atomic.Bool
}

// MaxIntroduction bounds the params that are kept.
const MaxIntroduction = 64 << 10

// NoteIntroduction keeps the params of an initialize, or the _meta of a first modern request.
// They are decoded later, so that the server's start does not wait.
func (c *Client) NoteIntroduction(f *mcpproxy.Frame, e *mcpproxy.Envelope) {
	if c.Config.ClientNamed == nil || c.introduction.params.Load() != nil {
		return
	}
	var text []byte
	switch {
	case string(e.Method) == "initialize":
		text = f.Slice(e.Params)
	case e.Era() == mcpproxy.Modern:
		text = f.Slice(e.ParamsMeta)
	}
	if len(text) == 0 || len(text) > MaxIntroduction {
		return
	}
	text = bytes.Clone(text)
	c.introduction.params.CompareAndSwap(nil, &text)
}

// IntroduceSoon is introduce on another goroutine.
func (c *Client) IntroduceSoon() {
	if c.introduction.params.Load() != nil && !c.introduction.told.Load() {
		c.Tasks.Go(c.introduce)
	}
}

func (c *Client) introduce() {
	text := c.introduction.params.Load()
	if text == nil || c.introduction.told.Swap(true) {
		return
	}
	type info struct{ Name, Version string }
	var said struct {
		Legacy info `json:"clientInfo"`
		Modern info `json:"io.modelcontextprotocol/clientInfo"`
	}
	if json.Unmarshal(*text, &said) != nil {
		return
	}
	if said.Legacy.Name == "" {
		said.Legacy = said.Modern
	}
	if said.Legacy.Name != "" {
		c.Config.ClientNamed(said.Legacy.Name, said.Legacy.Version)
	}
}
