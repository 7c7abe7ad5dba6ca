//go:build darwin || linux

package mac

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/mcp-jail/mcp-jail/confine/internal/seatbelt"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/confine/internal/sys"
)

// Command is a start.
type Command struct {
	Text    seatbelt.Text
	Self    string // mcp-jail's own program, which becomes the server inside; it calls Main
	Spec    *spec.Spec
	Stdio   [3]*os.File // the server's; nil: /dev/null
	Sandbox string      // sandbox-exec; "" is that of the system
}

// Process is a server in its sandbox, and all processes of its group.
type Process struct {
	PID     int
	cmd     *exec.Cmd
	said    *limited // by sandbox-exec
	watcher *exec.Cmd
	alive   *os.File // the watcher ends the group when it is closed

	mu    sync.Mutex
	ended bool
}

// Start starts a server. It returns once the server was executed, or once it is certain that it was not.
func Start(ctx context.Context, c Command) (*Process, error) {
	if c.Sandbox == "" {
		c.Sandbox = Path
	}
	var pipes [2][2]*os.File // the spec, and the reports of the program inside
	for i := range pipes {
		r, w, err := os.Pipe()
		if err != nil {
			return nil, sys.Wrap("descriptors", err)
		}
		defer r.Close()
		defer w.Close()
		pipes[i] = [2]*os.File{r, w}
	}
	p := &Process{said: &limited{most: maxWords}}
	p.cmd = exec.Command(c.Sandbox, arguments(c.Text, c.Self, insideName)...)
	p.cmd.Env, p.cmd.Dir, p.cmd.SysProcAttr = []string{}, "/", &syscall.SysProcAttr{Setsid: true}
	p.cmd.Stderr, p.cmd.ExtraFiles = p.said, []*os.File{pipes[0][0], pipes[1][1]}
	if c.Stdio[0] != nil { // a nil *os.File is no nil Reader
		p.cmd.Stdin = c.Stdio[0]
	}
	if c.Stdio[1] != nil {
		p.cmd.Stdout = c.Stdio[1]
	}
	errs := c.Stdio[2]
	if errs == nil {
		null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
		if err != nil {
			return nil, sys.Wrap("descriptors", err)
		}
		defer null.Close()
		errs = null
	}
	p.cmd.ExtraFiles = append(p.cmd.ExtraFiles, errs)
	if err := p.cmd.Start(); err != nil {
		return nil, &sys.Error{Step: stepApply, Errno: sys.Errno(err), Detail: c.Sandbox + ": " + err.Error()}
	}
	p.PID = p.cmd.Process.Pid
	pipes[0][0].Close()
	pipes[1][1].Close()
	// The watcher is there before the program inside gets what it needs to become the server.
	err := p.watch(c.Self, c.Spec.TempDir)
	if err == nil {
		err = p.becomes(ctx, c.Spec, pipes[0][1], pipes[1][0])
	}
	if err != nil {
		p.Kill()
		state := p.Wait()
		if err == errNotReady {
			err = classify(Ended{Code: state.ExitStatus(), Signal: signalOf(state), Said: p.said.String()})
		}
		return nil, err
	}
	return p, nil
}

// watch starts the watcher.
func (p *Process) watch(self, temp string) error {
	in, alive, err := os.Pipe()
	if err != nil {
		return sys.Wrap(sys.Supervision, err)
	}
	defer in.Close()
	p.watcher = exec.Command(self, watchName, strconv.Itoa(p.PID), temp)
	p.watcher.Env, p.watcher.Dir, p.watcher.Stdin, p.watcher.SysProcAttr = []string{"GOMAXPROCS=1"}, "/", in, &syscall.SysProcAttr{Setsid: true}
	if err := p.watcher.Start(); err != nil {
		alive.Close()
		p.watcher = nil
		return sys.Wrap(sys.Supervision, err)
	}
	p.alive = alive
	return nil
}

// errNotReady: the program inside ended before it was ready, and the status of the process says why.
var errNotReady = &sys.Error{Step: stepReady}

// becomes hands the spec to the program inside, and waits until that has executed the server: the end of
// its pipe is close-on-exec.
func (p *Process) becomes(ctx context.Context, s *spec.Spec, specs, reports *os.File) error {
	go func() {
		specs.Write(s.Encode())
		specs.Close()
	}()
	stop := context.AfterFunc(ctx, func() { reports.SetReadDeadline(time.Now()) })
	defer stop()
	said, _ := io.ReadAll(io.LimitReader(reports, maxWords))
	if ctx.Err() != nil {
		return ctx.Err()
	}
	failure, ready := bytes.CutPrefix(said, []byte{readyByte})
	if len(failure) == 0 && ready {
		return nil
	}
	var failed sys.Error
	if json.Unmarshal(failure, &failed) != nil {
		return errNotReady
	}
	return &failed
}

// Signal sends a signal to the server.
func (p *Process) Signal(sig syscall.Signal) error { return p.cmd.Process.Signal(sig) }

// Kill ends every process of the group.
func (p *Process) Kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended { // else the number of the group may be another's
		unix.Kill(-p.PID, unix.SIGKILL)
	}
}

// goneTime is how long Wait waits for the end of processes that were killed.
const goneTime = 2 * time.Second

// Wait waits for the end of the server, and then ends what it has left in its group.
func (p *Process) Wait() syscall.WaitStatus {
	p.cmd.Wait() // an error is one of the copy of stderr, or says what the state does
	p.mu.Lock()
	unix.Kill(-p.PID, unix.SIGKILL)
	p.ended = true
	p.mu.Unlock()
	// Without members the group has no process that a signal could reach.
	for begun := time.Now(); unix.Kill(-p.PID, 0) == nil && time.Since(begun) < goneTime; {
		time.Sleep(2 * time.Millisecond)
	}
	if p.watcher != nil {
		p.watcher.Process.Kill()
		p.watcher.Wait()
		p.alive.Close()
	}
	return p.cmd.ProcessState.Sys().(syscall.WaitStatus)
}

func signalOf(ws syscall.WaitStatus) syscall.Signal {
	if ws.Signaled() {
		return ws.Signal()
	}
	return 0
}

// maxWords is how much of the stderr of sandbox-exec is kept.
const maxWords = 64 << 10

// limited keeps the beginning of what is written to it.
type limited struct {
	bytes.Buffer
	most int
}

func (l *limited) Write(b []byte) (int, error) {
	l.Buffer.Write(b[:min(len(b), l.most-l.Len())])
	return len(b), nil
}
