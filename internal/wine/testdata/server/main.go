// Command server is the MCP server of the tests under Wine. Its tools are in the function call.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "child" {
		child(os.Args[2:])
		return
	}
	fmt.Fprintln(os.Stderr, "the server has started")
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct {
				Name      string
				Arguments map[string]any
			}
		}
		if err := json.Unmarshal(line, &m); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		switch m.Method {
		case "initialize":
			answer(m.ID, json.RawMessage(`{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"test","version":"1"}}`))
		case "tools/list":
			var tools []map[string]any
			for _, name := range []string{"args", "big", "env", "pid", "spawn"} {
				tools = append(tools, map[string]any{"name": name, "inputSchema": map[string]any{"type": "object"}})
			}
			answer(m.ID, map[string]any{"tools": tools})
		case "tools/call":
			text := call(m.Params.Name, m.Params.Arguments)
			answer(m.ID, map[string]any{"content": []any{map[string]any{"type": "text", "text": text}}})
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

func call(tool string, arguments map[string]any) string {
	switch tool {
	case "args": // what has reached the server, as JSON
		b, _ := json.Marshal(os.Args[1:])
		return string(b)
	case "env":
		return strings.Join(os.Environ(), "\n")
	case "big":
		n, _ := arguments["bytes"].(float64)
		return strings.Repeat("y", int(n))
	case "pid":
		return strconv.Itoa(os.Getpid())
	case "spawn": // a child, and a child of that, with a word by which they are found
		word, _ := arguments["word"].(string)
		if err := spawn("2", word); err != nil {
			return err.Error()
		}
		return "started"
	}
	return "no such tool"
}

// spawn starts a child, and returns when all that is below it has started.
func spawn(generations, word string) error {
	c := exec.Command(os.Args[0], "child", generations, word)
	out, err := c.StdoutPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	_, err = io.ReadFull(out, make([]byte, 1))
	return err
}

// child stays for longer than a test waits for its end, if nothing ends it.
func child(args []string) {
	if n, _ := strconv.Atoi(args[0]); n > 1 {
		if err := spawn(strconv.Itoa(n-1), args[1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Stdout.WriteString("+")
	time.Sleep(time.Hour)
}
