// Command server is the MCP server of the test under Wine. Its tool has the arguments that have reached it.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

func main() {
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if err := json.Unmarshal(in.Bytes(), &m); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		switch m.Method {
		case "initialize":
			answer(m.ID, json.RawMessage(`{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"test","version":"1"}}`))
		case "tools/call":
			words, _ := json.Marshal(os.Args[1:])
			answer(m.ID, map[string]any{"content": []any{map[string]any{"type": "text", "text": string(words)}}})
		}
	}
}

func answer(id json.RawMessage, result any) {
	b, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "result": result})
	if err != nil {
		panic(err)
	}
	os.Stdout.Write(append(b, '\n'))
}
