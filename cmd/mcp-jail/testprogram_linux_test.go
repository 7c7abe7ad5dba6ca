package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// ttyMain runs a program with a terminal as its standard input, output and error, and copies
// the output of the terminal to stdout:
//
//	tty [-columns N] [-after TEXT -type TEXT]... PROGRAM [ARG...]
//
// It types the text of each -type, with \n for Enter, after the terminal has shown that of its
// -after. Without -columns the terminal does not know its width.
func ttyMain() {
	columns := flag.Int("columns", 0, "the width of the terminal")
	var keys, after []string
	flag.Func("type", "what to type; ^C, ^D and ^Z stand for those keys", func(s string) error {
		keys = append(keys, strings.NewReplacer("^C", "\x03", "^D", "\x04", "^Z", "\x1a", `\n`, "\n").Replace(s))
		return nil
	})
	flag.Func("after", "wait until the terminal shows this", func(s string) error { after = append(after, s); return nil })
	flag.Parse()
	err := errors.New("each -type needs its -after")
	if len(keys) == len(after) {
		err = inTTY(*columns, keys, after, flag.Args())
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		os.Exit(statusAfter(exit.ProcessState))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "tty:", err)
		os.Exit(99)
	}
}

func inTTY(columns int, keys, after, args []string) error {
	master, slave, err := testkit.Terminal(columns, 0)
	if err != nil {
		return err
	}
	defer master.Close()
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		return err
	}
	slave.Close()
	screen := &screen{}
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		io.Copy(screen, master) // fails with EIO after the last close of the other end
	}()
	for i, text := range after {
		if err = screen.wait(text, shown); err != nil {
			cmd.Process.Kill()
			break
		}
		master.WriteString(keys[i])
	}
	start := time.Now()
	ended := cmd.Wait()
	<-shown
	fmt.Fprintf(os.Stderr, "tty: ended after %.1f s\n", time.Since(start).Seconds())
	return errors.Join(err, ended)
}

// screen copies the output of a terminal and notes when a text has appeared.
type screen struct {
	mu  sync.Mutex
	all strings.Builder // since the last text that was waited for
}

// wait waits until the terminal has shown a text since the last one, or shows no more.
func (s *screen) wait(text string, ended <-chan struct{}) error {
	for deadline := time.Now().Add(testkit.Patience); ; {
		s.mu.Lock()
		seen := strings.Contains(s.all.String(), text)
		if seen {
			s.all.Reset()
		}
		s.mu.Unlock()
		if seen {
			return nil
		}
		select {
		case <-ended:
			return nil
		case <-time.After(20 * time.Millisecond):
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the terminal never showed %q", text)
		}
	}
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	s.all.Write(p)
	s.mu.Unlock()
	return os.Stdout.Write(p)
}

// withoutPtraceMain executes its arguments under a seccomp filter that refuses ptrace(2), as the
// profiles of some containers do.
func withoutPtraceMain() {
	runtime.LockOSThread()
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: 0}, // the number of the call
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_PTRACE, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(unix.EPERM)},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	if err == nil {
		err = unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
	}
	var path string
	if err == nil {
		path, err = exec.LookPath(os.Args[1])
	}
	if err == nil {
		err = syscall.Exec(path, os.Args[1:], os.Environ())
	}
	fmt.Fprintln(os.Stderr, "without-ptrace:", err)
	os.Exit(1)
}

// floodMain is a server that floods mcp-jail: the name of a called tool says how. From then on it
// reads nothing, unless the name begins with "read-".
func floodMain() {
	in := bufio.NewReaderSize(os.Stdin, 1<<16)
	for page := 0; ; {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var m struct {
			ID     json.RawMessage `json:"id"`
			Method string          `json:"method"`
			Params struct {
				Name string `json:"name"`
			} `json:"params"`
		}
		if json.Unmarshal(line, &m) != nil || m.ID == nil {
			continue
		}
		result := `{}`
		switch m.Method {
		case "initialize":
			result = `{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"resources":{}},"serverInfo":{"name":"flood","version":"1"}}`
		case "tools/list":
			result = toolsPage(page)
			page++
		case "tools/call":
			name, reads := strings.CutPrefix(m.Params.Name, "read-")
			if name == "fail" {
				result = fmt.Sprintf(`{"isError":true,"content":[{"type":"text","text":"%s"}]}`, strings.Repeat(fmt.Sprintf("open /home/%s: permission denied, %s is not set; ", m.ID, m.ID), 1000))
				break
			}
			if reads {
				go io.Copy(io.Discard, in)
			}
			repeatFlood(serverFloods[name])
			time.Sleep(time.Hour)
		case "resources/read": // it stays open
			continue
		case "resources/list", "resources/templates/list":
			result = `{"resources":[{"uri":"x:` + strings.Repeat("x", 1<<20) + `"}]}`
		}
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":%s}`+"\n", m.ID, result)
	}
}

// toolsPage returns a page of the server's tools. If an argument says so, the list has no end: each
// page has "one" tool with a name of 4 MB, or "many" with names of 250 bytes.
func toolsPage(page int) string {
	var b bytes.Buffer
	b.WriteString(`{"tools":[{"name":"deaf"},{"name":"fail"}`)
	for name := range serverFloods {
		fmt.Fprintf(&b, `,{"name":%q},{"name":%q}`, name, "read-"+name)
	}
	n, size := 12000, 230
	switch {
	case len(os.Args) < 2:
		return b.String() + "]}"
	case os.Args[1] == "one":
		n, size = 1, 4<<20-5000
	}
	for i := range n {
		fmt.Fprintf(&b, `,{"name":"%06d-%08d%s"}`, page, i, strings.Repeat("n", size))
	}
	fmt.Fprintf(&b, `],"nextCursor":"%d"}`, page+1)
	return b.String()
}

// serverFloods are what a server does without end, each time with another number. The text goes to
// its stdout.
var serverFloods = map[string]func(i int) string{
	"ask":       func(i int) string { return asks(fmt.Sprint(i), "sampling/createMessage") },
	"ask-long":  func(i int) string { return asks(fmt.Sprintf(`"%04000d"`, i), "sampling/createMessage") },
	"ask-huge":  func(i int) string { return asks(fmt.Sprintf(`"%0900000d"`, i), "roots/list") },
	"ask-roots": func(i int) string { return asks(fmt.Sprint(i), "roots/list") },
	"ask-batch": func(i int) string {
		return "[" + strings.Repeat(strings.TrimSpace(asks(fmt.Sprint(i), "ping"))+",", 4000) + "{}]\n"
	},
	"note":      func(i int) string { return notifies("message", fmt.Sprintf(`{"level":"info","data":%d}`, i)) },
	"note-big":  func(i int) string { return notifies("message", fmt.Sprintf(`{"level":"info","data":"%03000000d"}`, i)) },
	"note-huge": func(i int) string { return notifies(fmt.Sprintf("%0900000d", i), "{}") },
	"progress": func(i int) string {
		return notifies("progress", fmt.Sprintf(`{"progressToken":"%01000d","progress":1}`, i))
	},
	"cancelled": func(i int) string { return notifies("cancelled", fmt.Sprintf(`{"requestId":"%01000d"}`, i)) },
	"changed":   func(int) string { return notifies("tools/list_changed", "{}") },
	"answer":    func(i int) string { return fmt.Sprintf(`{"jsonrpc":"2.0","id":"%01000d","result":{}}`+"\n", i) },
	"garbage":   func(i int) string { return fmt.Sprintf("%01000d\n", i) },
	"one-line":  func(i int) string { return fmt.Sprintf("%01000d", i) },
	"stderr": func(i int) string {
		fmt.Fprintf(os.Stderr, "%065000d", i) // no line ends
		return ""
	},
	"paths": func(i int) string {
		os.WriteFile(fmt.Sprintf("/etc/%d", i), nil, 0o600)
		os.WriteFile("/usr"+strings.Repeat(fmt.Sprintf("/%0200d", i), 18), nil, 0o600)
		return ""
	},
	"starts": func(i int) string {
		exec.Command("/bin/true", fmt.Sprint(i), strings.Repeat("a", 60000)).Run()
		return ""
	},
	"hosts": func(i int) string {
		ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
		defer cancel()
		net.DefaultResolver.LookupHost(ctx, fmt.Sprintf("%060d.%060d.example.org", i, i))
		if c, err := net.DialTimeout("tcp", fmt.Sprintf("192.0.%d.%d:%d", i%250, i/250%250, 1+i%60000), 20*time.Millisecond); err == nil {
			c.Close()
		}
		return ""
	},
	"headers": func(int) string { return requestsWithoutEnd("/held", 48<<10) },
	"slow":    func(int) string { return requestsWithoutEnd("/endless", 100) },
	"heads":   func(int) string { return headsWithoutEnd(readOnlyHost + ":443") },
}

func asks(id, method string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"` + method + `"}` + "\n"
}

func notifies(method, params string) string {
	return `{"jsonrpc":"2.0","method":"notifications/` + method + `","params":` + params + "}\n"
}

func repeatFlood(text func(i int) string) {
	if text == nil {
		return
	}
	out := bufio.NewWriterSize(os.Stdout, 1<<16)
	for i := 0; ; i++ {
		if _, err := out.WriteString(text(i)); err != nil {
			return
		}
	}
}

// requestsWithoutEnd sends the internet's host requests with a header of some bytes, on many
// connections with many streams of HTTP/2 each, and reads no answer.
func requestsWithoutEnd(path string, header int) string {
	big := strings.Repeat("x", header)
	var all sync.WaitGroup
	for range 40 {
		t := &http.Transport{ForceAttemptHTTP2: true, MaxConnsPerHost: 1, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
		for range 100 {
			all.Go(func() {
				for {
					r, _ := http.NewRequest("GET", "https://"+internetHost+":8443/repos"+path, nil)
					r.Header.Set("X-Big", big)
					res, err := t.RoundTrip(r)
					if err != nil {
						time.Sleep(10 * time.Millisecond)
					} else if res.StatusCode == http.StatusOK {
						time.Sleep(time.Hour) // without reading the body
					} else {
						res.Body.Close()
					}
				}
			})
		}
	}
	all.Wait()
	return ""
}

// headsWithoutEnd opens connections that send a request without an end.
func headsWithoutEnd(address string) string {
	for range 400 {
		go func() {
			for {
				c, err := net.Dial("tcp", address)
				if err != nil {
					time.Sleep(10 * time.Millisecond)
					continue
				}
				// The head of a TLS record of 16 kB, with a ClientHello that has not ended.
				c.Write([]byte("\x16\x03\x01\x40\x00\x01\x00\x7f\xff\x03\x03" + strings.Repeat("x", 16000)))
				time.Sleep(time.Second)
				c.Close()
			}
		}()
	}
	time.Sleep(time.Hour)
	return ""
}
