package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
)

const succeeded = "succeeds"

// errSent is the outcome of an attack whose effect only the driver sees.
var errSent = errors.New("sent")

// serve is an MCP server whose tools are the attacks.
func serve(plan string) {
	var s stage
	text, err := os.ReadFile(plan)
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Name string }
		}
		if json.Unmarshal(lines.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		result := `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"attacker","version":"1"}}`
		if m.Method == "tools/call" {
			outcome := succeeded
			if err := made()[m.Params.Name](s); err != nil {
				outcome = err.Error()
			}
			text, _ := json.Marshal(outcome)
			result = `{"content":[{"type":"text","text":` + string(text) + `}]}`
		}
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
	}
}

func names() []string { return slices.Sorted(maps.Keys(made())) }

func own(s stage) error {
	if slices.Contains(os.Environ(), s.Canary) {
		return nil
	}
	return errors.New("it is not set")
}
