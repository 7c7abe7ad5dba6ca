package session

import (
	"encoding/json"
	"slices"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/packages/toolpin"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Which tools are off may change while the session runs, so each call and each list asks anew. A call never depends on
// what was listed: clients keep lists.

// HasSwitches reports whether a tool may be off.
func (c *Client) HasSwitches() bool { return len(c.Config.Switches()) > 0 }

// SwitchedOff returns the answer to a call of a tool that is off, or nil.
func (c *Client) SwitchedOff(tool string) *diagnostics.Diagnosis {
	by, off := c.Config.Switches().Off(tool)
	if !off {
		return nil
	}
	if by.Tool == policy.AnyTool {
		by.Tool = tool
	}
	server := c.Config.Profile.Server
	d := Refusal(-32602, diagnostics.PageToolOff, server, tool, "", "Only the user can switch it on: "+show.Typed(show.Typed("mcp-jail grant", server)+" --tool", by.Tool))
	d.What = show.InSentence(tool) + " is switched off for " + show.InSentence(server)
	c.SayOnce(d.Sentence() + d.Explain.Reference())
	return &d
}

// Cut returns a page of a list of tools without those that are off. Each other byte stays. A page that is not held in
// memory, or that programs could read differently, has a diagnosis as the answer in its place.
func (c *Client) Cut(page []byte) ([]byte, *diagnostics.Diagnosis) {
	off := c.Config.Switches()
	if len(off) == 0 {
		return page, nil
	}
	why := "it is larger than 4 MiB"
	if page != nil {
		_, err := toolpin.New(toolpin.Server{}, page)
		if err == nil {
			return ReplaceMember(page, "tools", func(list []byte) []byte {
				return ReplaceElements(list, func(tool []byte) []byte {
					var named struct{ Name string }
					json.Unmarshal(tool, &named)
					if _, is := off.Off(named.Name); is {
						return nil
					}
					return tool
				})
			}), nil
		}
		why = diagnostics.NewRedactor(slices.Concat(c.Config.Profile.Env, confine.SessionSecrets())).Redact(err.Error())
	}
	d := c.Announce(Refusal(-32603, diagnostics.PageToolOff, c.Config.Profile.Server, "", "tools of it are off, and its list of tools cannot be read: "+why, ""))
	return nil, &d
}

// Declares reports whether the result of a legacy handshake says that the client is told when a kind of lists changes.
func Declares(handshake []byte, kind string) bool {
	var answer struct {
		Capabilities map[string]struct{ ListChanged bool }
	}
	json.Unmarshal(handshake, &answer)
	return answer.Capabilities[kind].ListChanged
}
