package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strconv"
	"time"
)

// Time limits for a server that hangs, long enough for a loaded machine.
const (
	answerTimeout = 60 * time.Second
	endTimeout    = 10 * time.Second
)

const initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}` + "\n"

const initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"

// session is a client with the server that it started.
type session struct {
	site    *site
	cmd     *exec.Cmd
	cancel  context.CancelFunc
	overdue *time.Timer // kills a server that does not answer
	in      io.WriteCloser
	pipe    io.ReadCloser
	out     *bufio.Reader
	began   time.Time
	started time.Duration // from the spawn to the answer to initialize
	lastID  int
	request []byte
}

// open starts a server and initializes it.
func (s *site) open(ctx context.Context, how start) (*session, error) {
	c := &session{site: s}
	ctx, c.cancel = context.WithCancel(ctx)
	c.cmd = exec.CommandContext(ctx, how.argv[0], how.argv[1:]...)
	c.cmd.Dir, c.cmd.Env = s.workspace, how.env
	c.cmd.Stderr = s.stderr
	in, err := c.cmd.StdinPipe()
	if err != nil {
		c.cancel()
		return nil, err
	}
	c.in = in
	c.pipe, err = c.cmd.StdoutPipe()
	if err != nil {
		c.cancel()
		return nil, err
	}
	c.out = bufio.NewReaderSize(c.pipe, 256<<10)
	s.stderr.Truncate(0)
	c.began = time.Now()
	if err := c.cmd.Start(); err != nil {
		c.cancel()
		return nil, err
	}
	c.overdue = time.AfterFunc(answerTimeout, c.cancel)
	if _, err = io.WriteString(c.in, initialize); err == nil {
		_, err = c.answers(1)
	}
	c.started = time.Since(c.began)
	if err == nil {
		_, err = io.WriteString(c.in, initialized)
	}
	if err != nil {
		c.close()
		return nil, fmt.Errorf("initialize: %w", c.explain(err))
	}
	return c, nil
}

// explain adds what the server wrote to stderr.
func (c *session) explain(err error) error {
	if errors.Is(err, io.EOF) {
		err = errors.New("the server ended")
	}
	if said := c.site.complaint(); said != "" {
		return fmt.Errorf("%w\n%s", err, said)
	}
	return err
}

// answers reads until the end of the answers to the last n requests, which may come in any order, and
// returns their size. It skips other messages.
func (c *session) answers(n int) (size int, err error) {
	c.overdue.Reset(answerTimeout)
	defer c.overdue.Stop()
	var open [][]byte
	for id := c.lastID - n + 1; id <= c.lastID; id++ {
		open = append(open, strconv.AppendInt([]byte(`"id":`), int64(id), 10))
	}
	for len(open) > 0 {
		wanted := false
		for begin := size; ; {
			part, err := c.out.ReadSlice('\n')
			size += len(part)
			if i := slices.IndexFunc(open, func(token []byte) bool { return names(part, token) }); i >= 0 {
				open, wanted = slices.Delete(open, i, i+1), true
			}
			if err == nil {
				if wanted && failed(part) {
					return size, fmt.Errorf("the call failed: %s", firstLine(string(part)))
				}
				if !wanted {
					size = begin
				}
				break
			}
			if !errors.Is(err, bufio.ErrBufferFull) {
				return size, err
			}
		}
	}
	return size, nil
}

// failed reports whether a short answer is an error, of the request or of the tool.
func failed(answer []byte) bool {
	const short = 4 << 10
	return len(answer) < short && (bytes.Contains(answer, []byte(`"error":{`)) || bytes.Contains(answer, []byte(`"isError":true`)))
}

// names reports whether a part of a message has the token. Servers put the id at the
// beginning or the end, so that the text between is not searched.
func names(part, token []byte) bool {
	const near = 64
	for _, p := range [][]byte{part[:min(near, len(part))], part[max(0, len(part)-near):]} {
		if i := bytes.Index(p, token); i >= 0 && i+len(token) < len(p) && (p[i+len(token)] == ',' || p[i+len(token)] == '}') {
			return true
		}
	}
	return false
}

// write sends a request.
func (c *session) write(method, params string) error {
	c.lastID++
	b := append(c.request[:0], `{"jsonrpc":"2.0","id":`...)
	b = strconv.AppendInt(b, int64(c.lastID), 10)
	b = append(append(append(b, `,"method":"`...), method...), `","params":`...)
	c.request = append(append(b, params...), "}\n"...)
	_, err := c.in.Write(c.request)
	return err
}

// call makes one tools/call and returns the time that it took.
func (c *session) call(params string) (time.Duration, error) {
	began := time.Now()
	err := c.write("tools/call", params)
	if err == nil {
		_, err = c.answers(1)
	}
	if err != nil {
		return 0, c.explain(err)
	}
	return time.Since(began), nil
}

// close kills the server and waits until all of its processes have ended. The kernel ends
// all processes of a jail when the first one dies.
func (c *session) close() {
	defer c.cancel()
	c.cmd.Process.Kill()
	c.in.Close()
	stop := time.AfterFunc(endTimeout, func() { c.pipe.Close() })
	defer stop.Stop()
	io.Copy(io.Discard, c.out) // ends when the last writer is gone
	c.cmd.Wait()
}
