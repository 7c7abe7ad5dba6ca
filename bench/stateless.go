package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A server with stateful = false gets a process for each call. The measures of this file
// say what that costs under the default policy.

// tooled is a server with the tool call to measure.
type tooled struct {
	name string
	argv []string
	call string // tools/call's params
	note string // why it cannot be measured
	slow bool   // to start
}

// listDirectories are the params of a small call of server-filesystem.
const listDirectories = `{"name":"list_allowed_directories","arguments":{}}`

func (s *site) tooled() []tooled {
	return []tooled{
		{name: "a server in Go", argv: []string{s.echo}, call: echoCall(`"bytes":200`)},
		{name: "server-filesystem (node)", argv: []string{s.node, s.files, s.workspace}, call: listDirectories, note: s.noNode, slow: true},
	}
}

// configured opens a session through a configuration, stateful or not, and lists the tools.
func (s *site) configured(ctx context.Context, stateful bool, warm int, argv []string) (*session, error) {
	var args string
	for _, a := range argv[1:] {
		args += fmt.Sprintf("%q, ", a)
	}
	name := fmt.Sprintf("%s-%t-%d-%t", filepath.Base(argv[0]), stateful, warm, s.forbidden) // no two servers share a private HOME
	file := filepath.Join(s.dir, name+".toml")
	text := fmt.Sprintf("version = 1\n[servers.%s]\ncommand = %q\narguments = [%s]\nworkspace = %q\nstateful = %t\n", name, argv[0], args, s.workspace, stateful)
	if warm > 0 {
		text += fmt.Sprintf("warm = %d\n", warm)
	}
	line := []string{s.jail, "run", "--config", file, name}
	if s.forbidden {
		text += "waive = [\"fs\", \"ipc\", \"process\", \"limits\"]\n" // what the other axes lack does not matter here
		line = append(slices.Clone(forbid), line...)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return nil, err
	}
	return s.listed(ctx, start{argv: line})
}

// perCall is a measure of a server with a process for each call.
type perCall struct {
	name, budget string
	tail         bool
	run          func(context.Context, tooled) (pairs, error)
}

func (s *site) perCall() []perCall {
	return []perCall{
		{"a call, cold", "≤ +10 ms", false, s.coldCall},
		{"8 calls at once, cold", "≤ × 2", true, s.callsAtOnce(8, 0)},
		{"8 calls at once, cold, after 0.3 s without a call", "≤ × 2", true, s.callsAtOnce(8, 300*time.Millisecond)},
		{"a call, `warm = 1`", "≤ × 1.5 or +1 ms", false, s.warmCall},
		{"the same, beside the first call of a bare process", "≤ × 1.5", false, s.firstCall},
	}
}

// measureStateless compares calls that have a process each with calls of one process for
// the session, and with the same process without a jail. It does so again without user namespaces.
func measureStateless(ctx context.Context, s *site) ([]row, error) {
	var rows []row
	add := func(s *site, server tooled, suffix string) error {
		measures := s.perCall()
		if suffix != "" {
			measures = measures[:2]
		}
		for _, m := range measures {
			p, err := m.run(ctx, server)
			if err != nil {
				return fmt.Errorf("%s: %s: %w", server.name, m.name, err)
			}
			if suffix != "" {
				m.budget = ""
			}
			r := p.row(m.name+", "+server.name+suffix, "ms", m.budget)
			r.Tail = m.tail
			rows = append(rows, r)
		}
		return nil
	}
	for _, server := range s.tooled() {
		if server.note != "" {
			rows = append(rows, row{Measure: "calls of " + server.name, Note: server.note})
			continue
		}
		if err := add(s, server, ""); err != nil {
			return rows, err
		}
	}
	long, err := s.manyCalls(ctx, s.tooled()[0])
	if rows = append(rows, long); err != nil {
		return rows, err
	}
	without := *s
	without.forbidden = true
	return rows, add(&without, s.tooled()[0], ", without user namespaces")
}

// forbid starts a program as root of a user namespace in which no other one can be made.
var forbid = []string{"unshare", "--user", "--map-root-user", "sh", "-c", `echo 0 >/proc/sys/user/max_user_namespaces && exec "$0" "$@"`}

// beside pairs the times of bare, which starts processes without a jail, with the times of
// cold in a session whose calls have a process each.
func (s *site) beside(ctx context.Context, server tooled, bare func(start) (float64, error), cold func(*session) (float64, error)) (p pairs, err error) {
	without, err := s.bare(server.argv...)
	if err != nil {
		return p, err
	}
	c, err := s.configured(ctx, false, 0, server.argv)
	if err != nil {
		return p, err
	}
	defer c.close()
	return s.rounds(func() (float64, error) {
		time.Sleep(s.pause)
		return bare(without)
	}, func() (float64, error) {
		time.Sleep(s.pause)
		return cold(c)
	})
}

// coldCall pairs a call with the same work without a jail: the start of the process, the
// handshake and the call.
func (s *site) coldCall(ctx context.Context, server tooled) (pairs, error) {
	return s.beside(ctx, server, func(without start) (float64, error) {
		return s.startAndCall(ctx, without, server.call)
	}, func(c *session) (float64, error) {
		return c.took(server.call)
	})
}

func (s *site) startAndCall(ctx context.Context, how start, call string) (float64, error) {
	began := time.Now()
	c, err := s.open(ctx, how)
	if err != nil {
		return 0, err
	}
	defer c.close()
	_, err = c.call(call)
	return ms(time.Since(began)), err
}

// atOnce is how many calls of a session run at once.
const atOnce = 8

// callsAtOnce is coldCall with many calls, until the last answer. As many run at once as a session runs
// by default. Of a server that is slow to start, more than these get few rounds. Each side waits for a pause
// first. Without one the calls come while the session still ends the processes of the last ones.
func (s *site) callsAtOnce(many int, pause time.Duration) func(context.Context, tooled) (pairs, error) {
	return func(ctx context.Context, server tooled) (pairs, error) {
		few := *s
		few.pause = pause
		if server.slow && many > atOnce {
			few.runs = min(s.runs, 3)
		}
		return few.manyAtOnce(ctx, server, many)
	}
}

func (s *site) manyAtOnce(ctx context.Context, server tooled, many int) (pairs, error) {
	return s.beside(ctx, server, func(without start) (float64, error) {
		var failed error
		var mu sync.Mutex
		var all sync.WaitGroup
		var left atomic.Int64
		left.Store(int64(many))
		began := time.Now()
		for range atOnce {
			all.Go(func() {
				for left.Add(-1) >= 0 {
					if _, err := s.startAndCall(ctx, without, server.call); err != nil {
						mu.Lock()
						failed = err
						mu.Unlock()
					}
				}
			})
		}
		all.Wait()
		return ms(time.Since(began)), failed
	}, func(c *session) (float64, error) {
		began := time.Now()
		for range many {
			if err := c.write("tools/call", server.call); err != nil {
				return 0, c.explain(err)
			}
		}
		if _, err := c.answers(many); err != nil {
			return 0, c.explain(err)
		}
		return ms(time.Since(began)), nil
	})
}

// warmCall pairs a call of a warm worker with a call of one process for the whole session.
// It waits for the time of a start before each call.
func (s *site) warmCall(ctx context.Context, server tooled) (p pairs, err error) {
	stateful, err := s.configured(ctx, true, 0, server.argv)
	if err != nil {
		return p, err
	}
	defer stateful.close()
	stateless, pause, err := s.withWarmWorker(ctx, server, stateful.started)
	if err != nil {
		return p, err
	}
	defer stateless.close()
	return s.rounds(func() (float64, error) {
		time.Sleep(pause)
		return stateful.took(server.call)
	}, func() (float64, error) { return stateless.took(server.call) })
}

// took returns the time of a call in ms.
func (c *session) took(params string) (float64, error) {
	took, err := c.call(params)
	return ms(took), err
}

// withWarmWorker opens a session whose calls find a warm worker if pause passes before
// each call. started is the time that the server takes to start. The session cannot tell:
// the list cache may have answered its handshake.
func (s *site) withWarmWorker(ctx context.Context, server tooled, started time.Duration) (c *session, pause time.Duration, err error) {
	if c, err = s.configured(ctx, false, 1, server.argv); err != nil {
		return nil, 0, err
	}
	pause = max(3*started, 50*time.Millisecond)
	time.Sleep(8 * pause) // at the beginning the whole pool is started
	return c, pause, nil
}

// firstCall pairs a warm call with its lower bound: the first call of a process that was
// started before, without a jail. The first call of a server with a just-in-time compiler
// takes longer than the following ones.
func (s *site) firstCall(ctx context.Context, server tooled) (p pairs, err error) {
	without, err := s.bare(server.argv...)
	if err != nil {
		return p, err
	}
	first, err := s.listed(ctx, without)
	if err != nil {
		return p, err
	}
	first.close()
	stateless, pause, err := s.withWarmWorker(ctx, server, first.started)
	if err != nil {
		return p, err
	}
	defer stateless.close()
	return s.rounds(func() (float64, error) {
		bare, err := s.listed(ctx, without)
		if err != nil {
			return 0, err
		}
		defer bare.close()
		time.Sleep(pause)
		return bare.took(server.call)
	}, func() (float64, error) { return stateless.took(server.call) })
}

// listed opens a session and lists the tools, as clients do.
func (s *site) listed(ctx context.Context, how start) (*session, error) {
	c, err := s.open(ctx, how)
	if err != nil {
		return nil, err
	}
	if err = c.write("tools/list", "{}"); err == nil {
		_, err = c.answers(1)
	}
	if err != nil {
		c.close()
		return nil, c.explain(err)
	}
	return c, nil
}
