//go:build unix

package sessiontest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// servers are programs to be started by a fake launcher. They write with plain
// writes of whole strings and read lines.
var servers = map[string]func(){
	// polite answers everything and exits 7 at end-of-file.
	"polite": func() { serve(nil); os.Exit(7) },
	// stubborn ignores end-of-file and SIGTERM.
	"stubborn": func() { signal.Ignore(syscall.SIGTERM); serve(nil); time.Sleep(time.Hour) },
	// deaf ignores end-of-file but dies of SIGTERM.
	"deaf": func() { serve(nil); time.Sleep(time.Hour) },
	// trap exits 9 on SIGINT.
	"trap": func() {
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGINT, syscall.SIGHUP)
		go func() { <-c; os.Exit(9) }()
		serve(nil)
		time.Sleep(time.Hour)
	},
	// tidy takes a moment at end-of-file, and exits 7.
	"tidy":   func() { serve(nil); time.Sleep(200 * time.Millisecond); os.Exit(7) },
	"silent": func() { io.Copy(io.Discard, os.Stdin); time.Sleep(time.Hour) },
	"crash": func() {
		fmt.Fprintln(os.Stderr, "Error: EACCES: permission denied, open '/secret/file'")
		os.Exit(3)
	},
	"crash-late": func() { bufio.NewReader(os.Stdin).ReadString('\n'); os.Exit(3) },
	"garbage": func() {
		fmt.Println("Listening on stdio")
		fmt.Println("[INFO] ready")
		serve(nil)
		fmt.Print("bye")
	},
	// indented writes each answer over several lines, and a notification too.
	"indented": func() {
		fmt.Print("{\n  \"jsonrpc\": \"2.0\",\n  \"method\": \"notifications/message\"\n}\n")
		serve(func(m message) bool {
			if m.ID != nil {
				fmt.Printf("{\n  \"jsonrpc\": \"2.0\",\n  \"id\": %s,\n  \"result\": {}\n}\n", m.ID)
			}
			return true
		})
	},
	// deep answers with 12,000 lists in one another.
	"deep": func() {
		serve(func(m message) bool {
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s%s}`+"\n", m.ID, strings.Repeat("[", 12000), strings.Repeat("]", 12000))
			return true
		})
	},
	// framed writes each answer with its length before it, and no line end after it.
	"framed": func() {
		serve(func(m message) bool {
			answer := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
			fmt.Printf("Content-Length: %d\r\n\r\n%s", len(answer), answer)
			return true
		})
	},
	// banner does not end the line before its first answer. It logs its later answers before it sends
	// them, and ends at the third request.
	"banner": func() {
		n := 0
		serve(func(m message) bool {
			answer := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`+"\n", m.ID)
			switch n++; n {
			case 1:
				fmt.Print("Welcome! ", answer)
			case 2:
				fmt.Print("DEBUG sending ", answer)
				time.Sleep(20 * time.Millisecond)
				fmt.Print(answer)
			default:
				fmt.Print("DEBUG sending ", answer)
				os.Exit(4)
			}
			return true
		})
	},
	// text-ids writes the ids of its answers as strings.
	"text-ids": func() {
		serve(func(m message) bool {
			fmt.Printf(`{"jsonrpc":"2.0","id":"%s","result":{}}`+"\n", m.ID)
			return true
		})
		os.Exit(4)
	},
	// mid-frame dies while it answers a call.
	"mid-frame": func() {
		serve(func(m message) bool {
			if m.Method != "tools/call" {
				return false
			}
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[`, m.ID)
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
			return true
		})
	},
	// no-newline ends its last message without one.
	"no-newline": func() {
		serve(func(m message) bool {
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
			os.Exit(0)
			return true
		})
	},
	// unended ends its answer to a call without a newline, and ends.
	"unended": func() {
		serve(func(m message) bool {
			if m.Method == "tools/call" {
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`, m.ID)
				os.Exit(0)
			}
			return false
		})
	},
	"exit-in-call": func() {
		serve(func(m message) bool {
			if m.Method == "tools/call" {
				fmt.Fprintln(os.Stderr, "panic: out of luck")
				os.Exit(5)
			}
			return false
		})
	},
	// forgetful does not answer calls.
	"forgetful": func() { serve(func(m message) bool { return m.Method == "tools/call" }); os.Exit(0) },
	// slow answers a call late, after its cancellation.
	"slow": func() {
		var id json.RawMessage
		serve(func(m message) bool {
			switch m.Method {
			case "tools/call":
				id = append(id[:0], m.ID...)
				return true
			case "notifications/cancelled":
				fmt.Fprintf(os.Stderr, "cancelled %s\n", m.Params)
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{}}`+"\n", id)
				return true
			}
			return false
		})
	},
	"flood": func() {
		line := strings.Repeat("x", 99) + "\n"
		for range 20_000 {
			os.Stderr.WriteString(line)
		}
		serve(nil)
	},
	// daemon leaves a process that holds stdout and stderr.
	"daemon": func() {
		c := exec.Command("sh", "-c", "while sleep 0.05; do echo '{}' || exit; done")
		c.Stdout, c.Stderr = os.Stdout, os.Stderr
		c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		c.Start()
		serve(nil)
		os.Exit(4)
	},
	// big answers a call with the number of bytes that its name says.
	"big": func() {
		serve(func(m message) bool {
			if m.Method != "tools/call" {
				return false
			}
			var params struct {
				Arguments struct{ Size int }
			}
			json.Unmarshal(m.Params, &params)
			fmt.Printf(`{"result":{"text":"%s"},"jsonrpc":"2.0","id":%s}`+"\n", strings.Repeat("b", params.Arguments.Size), m.ID)
			return true
		})
	},
	// grumbling goes without a directory that it was to have.
	"grumbling": func() {
		fmt.Fprintln(os.Stderr, "Warning: Cannot access directory /home/me/docs, skipping")
		fmt.Fprintln(os.Stderr, "Server running on stdio")
		serve(func(m message) bool {
			if m.Method == "tools/call" {
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"isError":true,"content":[{"type":"text","text":"no such row"}]}}`+"\n", m.ID)
			}
			return m.Method == "tools/call"
		})
	},
	"polite-aloud": func() {
		fmt.Fprintln(os.Stderr, "Server running on stdio, serving /home/me/docs")
		serve(nil)
	},
	// erring answers every request with an error whose data is the name that it asks for.
	"erring": func() {
		serve(func(m message) bool {
			var asked struct{ Name json.RawMessage }
			json.Unmarshal(m.Params, &asked)
			fmt.Printf(`{"jsonrpc":"2.0",  "id":%s,"error":{"code":-32000,"message":"failed","data":%s}}`+"\n", m.ID, asked.Name)
			return true
		})
	},
	// wordless answers the call of the tool "fails" with an error without words.
	"wordless": func() {
		serve(func(m message) bool {
			if m.Method != "tools/call" || !strings.Contains(string(m.Params), `"fails"`) {
				return false
			}
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":""}}`+"\n", m.ID)
			return true
		})
	},
	// failing answers calls and listings with errors.
	"failing": func() {
		serve(func(m message) bool {
			switch m.Method {
			case "tools/call":
				fmt.Printf(`{"jsonrpc": "2.0", "id":%s, "result":{"isError":true,"n":9007199254740993,"content":[{"type":"text","text":"EACCES: permission denied, open '/secret'"}]}}`+"\r\n", m.ID)
			case "tools/list":
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"cannot read /secret"}}`+"\n", m.ID)
			default:
				return false
			}
			return true
		})
	},
	// guarded asks for the roots and refuses paths outside of them.
	"guarded": func() {
		fmt.Println(`{"jsonrpc":"2.0","id":0,"method":"roots/list"}`)
		serve(func(m message) bool {
			if m.Method != "tools/call" {
				return m.Method == ""
			}
			fmt.Printf(`{"jsonrpc": "2.0", "id":%s, "result":{"isError":true,"content":[{"type":"text","text":"Access denied - path outside allowed directories: /home/u/.ssh/id_rsa not in /roots/a"}]}}`+"\r\n", m.ID)
			return true
		})
	},
	// asks sends requests of its own, with the id that the client uses too.
	"asks": func() {
		fmt.Println(`{"jsonrpc":"2.0","id":0,"method":"roots/list"}`)
		serve(nil)
	},
	// batch-late answers after a moment, a batch with one line.
	"batch-late": func() {
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			var all []message
			if json.Unmarshal(in.Bytes(), &all) != nil {
				continue
			}
			time.Sleep(400 * time.Millisecond)
			var answers []string
			for _, m := range all {
				answers = append(answers, fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID))
			}
			fmt.Println("[" + strings.Join(answers, ", ") + "]")
		}
	},
	// parting says more than a pipe of the client's holds, but no more than its own
	// does, and ends.
	"parting": func() {
		bufio.NewReader(os.Stdin).ReadString('\n')
		for range 300 {
			fmt.Printf(`{"jsonrpc":"2.0","method":"notifications/message","params":{"x":"%s"}}`+"\n", strings.Repeat("p", 600))
		}
		fmt.Println(`{"jsonrpc":"2.0","id":0,"result":{}}`)
		os.Exit(4)
	},
	// hung answers once and reads no more.
	"hung": func() {
		bufio.NewReader(os.Stdin).ReadString('\n')
		fmt.Println(`{"jsonrpc":"2.0","id":0,"result":{}}`)
		time.Sleep(time.Hour)
	},
	// wordy sends messages that are too large, and then reads.
	"wordy": func() {
		bufio.NewReader(os.Stdin).ReadString('\n')
		large := `"params":{"x":"` + strings.Repeat("w", 2<<20) + `"}}` + "\n"
		fmt.Print(`{"jsonrpc":"2.0","method":"notifications/message",` + large)
		fmt.Print(`{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage",` + large)
		fmt.Print(`{"jsonrpc":"2.0","method":"notifications/message",` + large) // more than a pipe holds
		fmt.Println(`{"jsonrpc":"2.0","id":0,"result":{}}`)
		io.Copy(io.Discard, os.Stdin)
	},
	"shop":          shop,
	"menu":          menu,
	"clerk":         clerk,
	"unreading":     func() { time.Sleep(time.Hour) },
	"stdin-closer":  func() { os.Stdin.Close(); time.Sleep(200 * time.Millisecond); os.Exit(6) },
	"stdout-closer": func() { os.Stdout.Close(); io.Copy(io.Discard, os.Stdin); os.Exit(6) },
	// chatty writes without being asked until it is ended.
	"chatty": func() {
		for i := 0; ; i++ {
			if _, err := fmt.Printf(`{"jsonrpc":"2.0","method":"notifications/message","params":{"n":%d}}`+"\n", i); err != nil {
				os.Exit(8)
			}
		}
	},
}

type message struct {
	ID     json.RawMessage
	Method string
	Params json.RawMessage
}

// serve answers every request with the bytes of the request as its result,
// unless special does it.
func serve(special func(message) bool) {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		var all []message
		if json.Unmarshal(line, &all) != nil {
			var one message
			if json.Unmarshal(line, &one) == nil {
				all = []message{one}
			}
		}
		for _, m := range all {
			if (special == nil || !special(m)) && m.ID != nil && m.Method != "" {
				fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"echo":%q}}`+"\n", m.ID, strings.TrimSpace(string(line)))
			}
		}
		if err != nil {
			return
		}
	}
}
