//go:build unix

package sessiontest

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// scripts is testdata/servers.txt, which has the servers that need no Go. Its head tells how it is read.
//
//go:embed testdata/servers.txt
var scripts string

// rule is what a scripted server does with a message, or at its start or end.
type rule struct {
	event   string
	parts   []string // of the params that it is for
	actions []string
}

// script is a running scripted server.
type script struct {
	rules    []rule
	requests int
	ids      map[string]json.RawMessage // of the last request of each method without an answer
	values   map[string]string          // more names that actions may use
}

// rulesOf returns the rules of a server, those that it has from another one last.
func rulesOf(server string) (rules []rule) {
	found := false
	like := ""
	for line := range strings.Lines(scripts) {
		line = strings.TrimSuffix(line, "\n")
		action, isAction := strings.CutPrefix(line, "\t\t")
		text, isRule := strings.CutPrefix(line, "\t")
		switch {
		case line == "" || strings.HasPrefix(strings.TrimSpace(line), "#"):
		case !isRule:
			name, other, _ := strings.Cut(line, " like ")
			if found = name == server; found {
				like = other
			}
		case !found:
		case isAction:
			last := &rules[len(rules)-1]
			last.actions = append(last.actions, action)
		default:
			event, first, _ := strings.Cut(text, ": ")
			words := strings.Fields(event)
			rules = append(rules, rule{words[0], words[1:], []string{first}})
		}
	}
	if like != "" {
		rules = append(rules, rulesOf(like)...)
	}
	return rules
}

// play runs a scripted server.
func play(server string) {
	s := script{rules: rulesOf(server), ids: map[string]json.RawMessage{}}
	if s.rules == nil {
		panic("no server " + server)
	}
	s.on("start", message{})
	serve(func(m message) bool {
		if m.Method == "" {
			return s.on("response", m)
		}
		if m.ID != nil {
			s.requests++
			s.ids[m.Method] = m.ID
		}
		return s.on(m.Method, m) || m.ID != nil && s.on("any", m)
	}, func(line string) { s.on("line", message{Params: json.RawMessage(line)}) })
	s.on("end", message{})
	os.Exit(0)
}

// on does what the first rule for an event says, and reports whether there is one.
func (s *script) on(event string, m message) bool {
	for _, r := range s.rules {
		if r.event != event || !s.meant(r, m) {
			continue
		}
		for _, action := range r.actions {
			s.do(action, m)
		}
		return true
	}
	return false
}

func (s *script) meant(r rule, m message) bool {
	for _, part := range r.parts {
		if number, ok := strings.CutPrefix(part, "#"); ok {
			if number != strconv.Itoa(s.requests) {
				return false
			}
		} else if !strings.Contains(string(m.Params), part) {
			return false
		}
	}
	return true
}

var repeated = regexp.MustCompile(`\$\((.)\*(\d+)\)`)

// expand fills in what belongs to a message.
func (s *script) expand(text string, m message) string {
	var params struct{ Name, Arguments json.RawMessage }
	json.Unmarshal(m.Params, &params)
	quoted, _ := json.Marshal(string(m.Params))
	pairs := []string{"$ID", string(m.ID), "$PARAMS", string(m.Params), "$QUOTED", string(quoted), "$NAME", string(params.Name), "$ARGUMENTS", string(params.Arguments)}
	for name, value := range s.values {
		pairs = append(pairs, "$"+name, value)
	}
	text = strings.NewReplacer(pairs...).Replace(text)
	return repeated.ReplaceAllStringFunc(text, func(r string) string {
		found := repeated.FindStringSubmatch(r)
		n, _ := strconv.Atoi(found[2])
		return strings.Repeat(found[1], n)
	})
}

func (s *script) do(action string, m message) {
	verb, text, _ := strings.Cut(action, " ")
	word, rest, _ := strings.Cut(text, " ")
	switch verb {
	case "print":
		fmt.Println(s.expand(text, m))
	case "write":
		unquoted, _ := strconv.Unquote(text)
		fmt.Print(s.expand(unquoted, m))
	case "error":
		fmt.Fprintln(os.Stderr, s.expand(text, m))
	case "answer":
		delete(s.ids, m.Method)
		answerWith(m.ID, s.expand(text, m))
	case "answer-last": // the last request of a method
		if id := s.ids[word]; id != nil {
			delete(s.ids, word)
			answerWith(id, rest)
		}
	case "repeat":
		for n, _ := strconv.Atoi(word); n > 0; n-- {
			s.do(rest, m)
		}
	case "exit":
		status, _ := strconv.Atoi(text)
		os.Exit(status)
	case "sleep":
		d, _ := time.ParseDuration(text)
		time.Sleep(d)
	case "drain":
		io.Copy(io.Discard, os.Stdin)
	case "ignore-term":
		signal.Ignore(syscall.SIGTERM)
	case "die":
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "close":
		map[string]*os.File{"stdin": os.Stdin, "stdout": os.Stdout}[text].Close()
	case "log":
		os.Stderr.WriteString(shortened(string(m.Params)))
	case "nothing":
	default:
		panic("no action " + verb)
	}
}

// shortened returns a line of the client for stderr.
func shortened(line string) string {
	if len(line) > 5000 {
		return fmt.Sprintf("saw: %s…(%d)…%s", line[:100], len(line), line[len(line)-600:])
	}
	return "saw: " + strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "\r", `\r`) + "\n"
}

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
	// big answers a call with the number of bytes that its name says. With asks it sends a request of that size and of the
	// call's id first, which readers could take in two ways, and waits for its answer.
	"big": func() {
		serve(func(m message) bool {
			if m.Method == "" {
				fmt.Printf(`{"result":{"text":"was told"},"jsonrpc":"2.0","id":%s}`+"\n", m.ID)
				return true
			}
			if m.Method != "tools/call" {
				return false
			}
			var params struct {
				Arguments struct {
					Size int
					Asks bool
				}
			}
			json.Unmarshal(m.Params, &params)
			if params.Arguments.Asks {
				fmt.Printf(`{"params":{"text":"%s","text":""},"method":"roots/list","jsonrpc":"2.0","id":%s}`+"\n", strings.Repeat("b", params.Arguments.Size), m.ID)
				return true
			}
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
