package session

import (
	"bytes"
	"encoding/json"
	"sync/atomic"

	"github.com/mcp-jail/mcp-jail/mcpproxy"
)

// introduction is what a client says of itself, for Session.ClientNamed.
type introduction struct {
	named  func(name, version string) // nil: nobody asks
	params atomic.Pointer[[]byte]     // of the first message that may have it
	told   bool                       // used by saveRecords alone
}

// MaxIntroduction bounds the params that are kept.
const MaxIntroduction = 64 << 10

// Note keeps the params of an initialize, or the _meta of a first modern request. They are decoded
// later, so that the server's start does not wait.
func (i *introduction) Note(f *mcpproxy.Frame, e *mcpproxy.Envelope) {
	if i.named == nil || i.params.Load() != nil {
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
	i.params.CompareAndSwap(nil, &text)
}

func (i *introduction) tell() {
	text := i.params.Load()
	if text == nil || i.told {
		return
	}
	i.told = true
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
		i.named(said.Legacy.Name, said.Legacy.Version)
	}
}
