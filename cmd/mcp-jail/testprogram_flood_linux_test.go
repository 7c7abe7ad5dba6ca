//go:build linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

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
