//go:build unix

package sessiontest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/lifecycle/internal/streams"
)

// shopkeeper is one process of the test server "shop". It speaks both eras. It writes
// each line that it reads to its log, up to 4 KiB of it.
type shopkeeper struct {
	in      *bufio.Reader
	log     *os.File
	options map[string]string
	greeted bool
	calls   int
	tools   script // those of servers.txt
}

type shopMessage struct {
	message
	Result, Error json.RawMessage
}

// shop runs with the options (words, some with a value after "=") of
// MCP_JAIL_TEST_OPTIONS:
//
//	die-boot, die-probe, silent-boot, error-boot, big-boot, stuck-probe
//	                                 how it handles initialize or server/discover
//	start=JSON                       a line that it writes first
//	stdout=TEXT, stderr=TEXT         text that it prints first
//	after=JSON                       a line that it writes after the handshake
//	stuff                            after the handshake it sends requests and reads nothing
//	tools=a,b,c                      the tools that it lists, instead of AllTools
//	ttl=MS                           ttlMs of its lists and of server/discover
//	pages                            one tool a page
//	die-list, silent-list            on tools/list
//	list-changed                     it sends list_changed after each tools/list
//	slow-level, no-level             how it answers logging/setLevel
//	changing=a,b,c                   it lists these after resources/list, and sends list_changed
func shop() {
	s := shopkeeper{in: bufio.NewReaderSize(os.Stdin, 1<<20), options: map[string]string{}, tools: script{rules: rulesOf("shop"), ids: map[string]json.RawMessage{}}}
	for _, word := range strings.Fields(os.Getenv("MCP_JAIL_TEST_OPTIONS")) {
		name, value, _ := strings.Cut(word, "=")
		s.options[name] = value
	}
	s.log, _ = os.OpenFile(os.Getenv("MCP_JAIL_TEST_LOG"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	for _, out := range []struct {
		name string
		to   *os.File
	}{{"stdout", os.Stdout}, {"stderr", os.Stderr}, {"start", os.Stdout}} {
		if text, ok := s.options[out.name]; ok {
			fmt.Fprintln(out.to, text)
		}
	}
	for {
		m, ok := s.read()
		if !ok {
			return
		}
		s.message(m)
	}
}

const AllTools = "echo,ask,never,crash,progress,forge,forge-log,twice,ambiguous,fail,vague,late,big,size,deaf,input,withdraw,behind,mute,last"

func (s *shopkeeper) read() (m shopMessage, ok bool) {
	line, err := s.in.ReadBytes('\n')
	if err != nil {
		return m, false
	}
	s.log.Write(line[:min(len(line), 4096)])
	if len(line) > 4096 {
		fmt.Fprintf(s.log, "… (%d)\n", len(line))
	}
	json.Unmarshal(line, &m)
	return m, true
}

func say(format string, args ...any) { os.Stdout.WriteString(fmt.Sprintf(format, args...) + "\n") }

func answerWith(id json.RawMessage, result string) {
	say(`{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
}

func (s *shopkeeper) is(option string) bool { _, ok := s.options[option]; return ok }

func (s *shopkeeper) message(m shopMessage) {
	switch m.Method {
	case "initialize":
		s.boot(m)
	case "notifications/initialized":
		if line, ok := s.options["after"]; ok {
			say("%s", line)
		}
		if s.is("stuff") {
			for range 70 { // each gets an error, which repeats the id
				say(`{"jsonrpc":"2.0","id":"%s","method":"m","a":1,"a":2}`, strings.Repeat("x", 1000<<10))
			}
			time.Sleep(time.Hour)
		}
	case "server/discover":
		s.discover(m)
	case "tools/list":
		s.list(m)
	case "resources/list":
		answerWith(m.ID, `{"resources":[]}`)
		if s.is("changing") {
			s.options["tools"] = s.options["changing"]
			say(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		}
	case "resources/read", "prompts/get", "completion/complete":
		s.resource(m)
	case "logging/setLevel":
		if s.is("slow-level") { // messages that come meanwhile are handled
			time.Sleep(50 * time.Millisecond)
			if s.in.Buffered()+streams.UnreadBytes(os.Stdin) > 0 {
				s.log.WriteString("hurried\n")
			}
		}
		if !s.is("no-level") {
			answerWith(m.ID, `{}`)
		}
	case "tools/call":
		s.calls++
		s.call(m)
	}
}

func (s *shopkeeper) boot(m shopMessage) {
	switch {
	case s.is("die-boot"):
		fmt.Fprintln(os.Stderr, "cannot start today")
		os.Exit(5)
	case s.is("silent-boot"):
		return
	case s.is("error-boot"):
		say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"no such version","data":{"theirs":1}}}`, m.ID)
		return
	case s.is("ambiguous-boot"):
		say(`{"jsonrpc":"2.0","id":%s,"id":7,"result":{}}`, m.ID)
		return
	}
	s.greeted = true
	extra := ""
	if s.is("big-boot") {
		extra = `,"instructions":"` + strings.Repeat("x", 5<<20) + `"`
	}
	if s.is("forged-boot") {
		extra = `,"_meta":{"dev.mcp-jail/policy":{}}`
	}
	answerWith(m.ID, fmt.Sprintf(`{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true},"logging":{},"resources":{"subscribe":true,"listChanged":true},"tasks":{}},"serverInfo":{"name":"shop","version":"1"}%s}`, extra))
}

func (s *shopkeeper) discover(m shopMessage) {
	switch {
	case s.is("die-probe"):
		os.Exit(6)
	case s.is("silent-probe"):
	case s.is("stuck-probe"):
		time.Sleep(time.Hour)
	case s.is("error-probe"):
		say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"what?"}}`, m.ID)
	default:
		answerWith(m.ID, `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true},"resources":{"subscribe":true}}`+s.ttl()+`}`)
	}
}

func (s *shopkeeper) ttl() string {
	if s.is("ttl") {
		return `,"ttlMs":` + s.options["ttl"]
	}
	return ""
}

func (s *shopkeeper) list(m shopMessage) {
	if s.is("die-list") {
		os.Exit(7)
	}
	if s.is("silent-list") {
		return
	}
	tools := strings.Split(AllTools, ",")
	if s.is("tools") {
		tools = strings.Split(s.options["tools"], ",")
	}
	next := ""
	if s.is("pages") {
		var params struct{ Cursor string }
		json.Unmarshal(m.Params, &params)
		var at int
		fmt.Sscan(params.Cursor, &at)
		if at+1 < len(tools) {
			next = fmt.Sprintf(`,"nextCursor":"%d"`, at+1)
		}
		tools = tools[at : at+1]
	}
	var list []string
	for _, name := range tools {
		list = append(list, fmt.Sprintf(`{"name":%q}`, name))
	}
	answerWith(m.ID, `{"tools":[`+strings.Join(list, ",")+`]`+next+s.ttl()+`}`)
	if s.is("list-changed") {
		say(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	}
}

// resource answers resources/read. The URI says how.
func (s *shopkeeper) resource(m shopMessage) {
	var params struct{ URI string }
	json.Unmarshal(m.Params, &params)
	switch params.URI {
	case "crash":
		os.Exit(8)
	case "never":
	case "ask":
		say(`{"jsonrpc":"2.0","id":0,"method":"roots/list"}`)
		if answer, ok := s.read(); ok {
			answerWith(m.ID, `{"contents":[],"heard":`+string(answer.Result)+`}`)
		}
	default:
		answerWith(m.ID, fmt.Sprintf(`{"contents":[],"pid":%d}`, os.Getpid()))
	}
}

// call answers tools/call. The name of the tool says how.
func (s *shopkeeper) call(m shopMessage) {
	var call struct {
		Name      string
		Arguments json.RawMessage
		Meta      map[string]json.RawMessage `json:"_meta"`
		Answers   json.RawMessage            `json:"inputResponses"`
		State     json.RawMessage            `json:"requestState"`
	}
	json.Unmarshal(m.Params, &call)
	if _, modern := call.Meta["io.modelcontextprotocol/protocolVersion"]; !s.greeted && !modern {
		say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32600,"message":"not initialized"}}`, m.ID)
		return
	}
	text := func(what string) string {
		return fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, what+" "+s.tools.values["CALL"])
	}
	s.tools.values = map[string]string{"CALL": fmt.Sprintf("pid=%d calls=%d tool=%s", os.Getpid(), s.calls, os.Getenv("MCP_JAIL_TEST_TOOL")), "TOKEN": string(call.Meta["progressToken"])}
	if s.tools.on(call.Name, m.message) {
		return
	}
	switch call.Name {
	case "chat": // logs after its answer, unless its input has ended
		answerWith(m.ID, text("done"))
		time.AfterFunc(5*time.Millisecond, func() {
			say(`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"and that was it"}}`)
		})
	case "vague": // names nothing, unless its arguments are text
		if len(call.Arguments) == 0 || call.Arguments[0] != '"' {
			answerWith(m.ID, `{"isError":true,"content":[{"type":"text","text":"Error: EACCES: permission denied"}]}`)
			return
		}
		answerWith(m.ID, text("well"))
	case "late": // answers when the call is cancelled
		say(`{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"working","id":%s}}`, m.ID)
		s.read()
		answerWith(m.ID, text("late"))
		s.log.WriteString("answered late\n")
	case "ask": // sends a request with the id of the arguments, and answers with the reply
		say(`{"jsonrpc":"2.0","id":%s,"method":%s,"params":{"_meta":{"progressToken":"t"}}}`, or(call.Arguments, "id", "0"), or(call.Arguments, "method", `"sampling/createMessage"`))
		for answer := (shopMessage{}); ; {
			answer, _ = s.read()
			if answer.Method == "notifications/progress" {
				continue
			}
			answerWith(m.ID, text(fmt.Sprintf("id=%s result=%s error=%s method=%s", answer.ID, answer.Result, answer.Error, answer.Method)))
			return
		}
	case "big":
		var size int
		json.Unmarshal(call.Arguments, &size)
		answerWith(m.ID, `{"content":[],"big":"`+strings.Repeat("b", size)+`"}`)
	case "size":
		answerWith(m.ID, fmt.Sprintf(`{"content":[],"sum":%d,"size":%d}`, Sum(call.Arguments), len(call.Arguments)))
	case "deaf":
		s.log.WriteString("deaf\n")
		time.Sleep(time.Hour)
	case "input":
		if call.Answers == nil {
			answerWith(m.ID, fmt.Sprintf(`{"resultType":"input_required","inputRequests":{"a":{"method":"elicitation/create"}},"requestState":"%d\u0041/+="}`, os.Getpid()))
			return
		}
		answerWith(m.ID, fmt.Sprintf(`{"resultType":"complete","content":[],"pid":%d,"answers":%s,"state":%s}`, os.Getpid(), call.Answers, call.State))
	default:
		answerWith(m.ID, text(string(call.Arguments)))
	}
}

// Sum is a checksum that does not depend on a library.
func Sum(b []byte) (n uint32) {
	for _, c := range b {
		n = n*31 + uint32(c)
	}
	return n
}

// or returns a member of an object, or otherwise if there is none.
func or(object json.RawMessage, name, otherwise string) string {
	var members map[string]json.RawMessage
	if json.Unmarshal(object, &members) == nil && members[name] != nil {
		return string(members[name])
	}
	return otherwise
}
