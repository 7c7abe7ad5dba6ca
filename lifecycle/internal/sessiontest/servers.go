//go:build unix

package sessiontest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// servers are the programs for a fake launcher that servers.txt does not have. They write with plain
// writes of whole strings and read lines.
var servers = map[string]func(){
	// trap exits 9 on SIGINT.
	"trap": func() {
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGINT, syscall.SIGHUP)
		go func() { <-c; os.Exit(9) }()
		serve(nil)
		time.Sleep(time.Hour)
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
	"shop": shop,
	"menu": menu,
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
// unless special does it. It calls each for each line before.
func serve(special func(message) bool, each ...func(line string)) {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		for _, see := range each {
			if len(line) > 0 {
				see(string(line))
			}
		}
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
