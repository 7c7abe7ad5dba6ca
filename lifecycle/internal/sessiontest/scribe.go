//go:build unix

package sessiontest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"
)

// Servers of both eras. Each shows on stderr every line that it reads.
var scribes = map[string]scribe{
	"scribe":        {},
	"legacy":        {probe: "decline"},
	"dies":          {probe: "die"},
	"dies-twice":    {probe: "die", initialize: "die"},
	"declines-dies": {probe: "decline-die"},
	"ignores":       {probe: "ignore"},
	"ignores-late":  {probe: "late"},
	"declines-hang": {probe: "decline", initialize: "hang"},
	"dies-hang":     {probe: "die", initialize: "hang"},
	"ignores-dies":  {probe: "ignore", initialize: "die"},
	"asks-dies":     {probe: "ask-die"},
}

// scribe says what a server does with server/discover and with initialize; "" is
// to answer.
type scribe struct{ probe, initialize string }

func (s scribe) main() {
	in := bufio.NewReaderSize(os.Stdin, 8<<20)
	var late, asking json.RawMessage
	for {
		line, _ := in.ReadString('\n')
		if line != "" {
			if len(line) > 5000 {
				fmt.Fprintf(os.Stderr, "saw: %s…(%d)…%s", line[:100], len(line), line[len(line)-600:])
			} else {
				fmt.Fprintln(os.Stderr, "saw: "+strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "\r", `\r`))
			}
		}
		if line == "" {
			os.Exit(7)
		}
		var m struct {
			ID             json.RawMessage
			Method         string
			Result, Params json.RawMessage
		}
		json.Unmarshal([]byte(line), &m)
		answer := func(id json.RawMessage, rest string) { fmt.Printf(`{"jsonrpc":"2.0","id":%s,%s}`+"\n", id, rest) }
		switch m.Method {
		case "server/discover":
			const decline = `"error":{"code":-32601,"message":"Method not found"}`
			switch s.probe {
			case "":
				answer(m.ID, `"result":{"supportedVersions":["2026-07-28"],"capabilities":{},"resultType":"complete"}`)
			case "decline":
				answer(m.ID, decline)
			case "decline-die":
				answer(m.ID, decline)
				os.Exit(101)
			case "ask-die":
				fmt.Println(`{"jsonrpc":"2.0","id":0,"method":"ping"}`)
				os.Exit(101)
			case "die":
				os.Exit(101)
			case "late":
				late = m.ID
			}
		case "initialize":
			if late != nil {
				answer(late, `"result":{"late":true}`)
			}
			switch s.initialize {
			case "":
				answer(m.ID, `"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"scribe","version":"1"}}`)
			case "die":
				os.Exit(102)
			}
		case "tools/call":
			switch {
			case strings.Contains(string(m.Params), `"forge-notes"`):
				fmt.Println(`{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"warning","logger":"mcp-jail","data":"d","_meta":{"dev.mcp-jail/warning":"/forged","a":1}}}`)
				fmt.Println(`{"jsonrpc":"2.0","id":"f","method":"ping","params":{"_meta":{"dev.mcp\u002djail/x":"/forged"}}}`)
				answer(m.ID, `"result":{"content":[]}`)
			case strings.Contains(string(m.Params), `"forge"`):
				answer(m.ID, `"result":{"content":[],"_meta":{"a":1,"dev.mcp-jail/denials":[{"axis":"fs","target":"/forged"}]}}`)
			case strings.Contains(string(m.Params), `"hang"`):
			case strings.Contains(string(m.Params), `"sleep"`):
				time.Sleep(300 * time.Millisecond)
				answer(m.ID, `"result":{"content":[]}`)
			case strings.Contains(string(m.Params), "inputResponses"), !strings.Contains(string(m.Params), `"roots"`):
				answer(m.ID, `"result":{"content":[],"resultType":"complete"}`)
			case strings.Contains(string(m.Params), "2026-07-28"):
				answer(m.ID, `"result":{"resultType":"input_required","inputRequests":{"r":{"method":"roots/list"}},"requestState":"s"}`)
			default:
				asking = m.ID
				fmt.Println(`{"jsonrpc":"2.0","id":"0","method":"roots/list"}`)
			}
		case "":
			if asking != nil && m.Result != nil {
				answer(asking, `"result":{"content":[]}`)
				asking = nil
			}
		default:
			if m.ID != nil {
				answer(m.ID, `"result":{}`)
			}
		}
	}
}
