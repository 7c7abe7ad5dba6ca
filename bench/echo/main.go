// Command echo is a minimal MCP server for benchmarks: it starts and answers at once, and
// makes results of any size.
//
// Its one tool, echo, takes the argument "bytes" and answers with a text of that length.
// The text looks like a log: lines of words, with escapes at the line ends. With the argument "base64"
// it is digits of base64.
package main

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"io"
	"math/rand/v2"
	"os"
)

const (
	line    = `The quick brown fox jumps over the lazy dog, again and again.\n`
	maxText = 64 << 20
	tools   = `{"tools":[{"name":"echo","inputSchema":{"type":"object","properties":{"bytes":{"type":"integer"},"base64":{"type":"boolean"}}}}]}`
	hello   = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"echo","version":"1"}}`
)

type request struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Arguments struct {
			Bytes  int  `json:"bytes"`
			Base64 bool `json:"base64"`
		} `json:"arguments"`
	} `json:"params"`
}

func main() {
	in := bufio.NewReaderSize(os.Stdin, 64<<10)
	results := map[text][]byte{}
	var out []byte
	for {
		b, err := in.ReadBytes('\n')
		if err != nil {
			if err == io.EOF {
				return
			}
			os.Exit(1)
		}
		var r request
		if json.Unmarshal(b, &r) != nil || r.ID == nil {
			continue
		}
		out = append(out[:0], `{"jsonrpc":"2.0","id":`...)
		out = append(out, r.ID...)
		switch r.Method {
		case "initialize":
			out = append(out, `,"result":`+hello...)
		case "tools/list":
			out = append(out, `,"result":`+tools...)
		case "tools/call":
			want := text{min(max(r.Params.Arguments.Bytes, 0), maxText), r.Params.Arguments.Base64}
			if results[want] == nil {
				results[want] = want.result()
			}
			out = append(out, results[want]...)
		default:
			out = append(out, `,"error":{"code":-32601,"message":"no such method"}`...)
		}
		out = append(out, '}', '\n')
		if _, err := os.Stdout.Write(out); err != nil {
			return
		}
	}
}

// text is what a call asks for.
type text struct {
	bytes  int
	base64 bool
}

// result returns the tail of an answer whose text has so many bytes, give or take a line.
func (t text) result() []byte {
	b := []byte(`,"result":{"content":[{"type":"text","text":"`)
	if t.base64 {
		random := make([]byte, t.bytes/4*3)
		rand.NewChaCha8([32]byte{}).Read(random)
		return append(base64.StdEncoding.AppendEncode(b, random), `"}]}`...)
	}
	for len(b) < t.bytes {
		b = append(b, line...)
	}
	return append(b, `"}]}`...)
}
