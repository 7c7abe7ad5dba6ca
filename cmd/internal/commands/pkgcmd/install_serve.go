package pkgcmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/packages/install"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// serve installs the package of a line for mcp-jail run or wrap, and prints a line of JSON for each step. The standard
// input has what the line needs, and its end says that the other program has left: wrap has then stopped, and the
// client of run may come back.
func (i *installCmd) serve(ctx context.Context, c terminal.Console, host hostfs.Host) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	signal.Ignore(syscall.SIGPIPE)
	say := func(m session.Message) {
		if text, err := json.Marshal(m); err == nil {
			c.Printf("%s\n", text)
		}
	}
	prepare := i.forStart
	if i.forWrap {
		prepare = i.forEntry
	}
	in, line, err := prepare(json.NewDecoder(c.Input()), host)
	if err == nil {
		in.Waived = func(plan *confine.Plan) { say(session.Message{Waived: session.WaivedGaps(plan)}) }
		in.NotUsed = func(line string) { say(session.Message{Waived: []string{line}}) }
		alone := &background{end: cancel}
		in.Progress = func(p install.Progress) {
			alone.progress(p)
			say(message(p))
		}
		go func() {
			io.Copy(io.Discard, c.Input())
			if i.forWrap {
				cancel()
			} else {
				alone.left()
			}
		}()
		var r *install.Result
		if r, err = in.Install(ctx, line); err == nil {
			list, _ := r.Entry.List()
			say(session.Message{Ready: r.Entry.Name + " " + r.Entry.Version, Packages: len(list), Skipped: r.Skipped, Bytes: treeSize(host, r.Entry)})
			return nil
		}
	}
	failure := session.Message{Error: strings.TrimSpace(err.Error())}
	errors.As(err, &failure.Gaps)
	say(failure)
	return terminal.ReportedStatus(terminal.Failure)
}

// forStart prepares the installation for a session: the input has the policy.Reach of its server.
func (i *installCmd) forStart(input *json.Decoder, host hostfs.Host) (*install.Installer, *runline.Line, error) {
	reach := &policy.Reach{}
	if err := input.Decode(reach); err != nil {
		return nil, nil, fmt.Errorf("it is not said where servers may write: %w", err)
	}
	line, err := runline.Parse(i.given.Argv)
	if err != nil {
		return nil, nil, err
	}
	waive, err := cmdline.ParseWaivers("--waive", i.Waive)
	return &install.Installer{
		Store: session.PackageStore(host), LockFile: session.LockFile(host), Host: host, Untrusted: session.Untrusted(reach, host),
		Asked: session.AskedLine(waive, i.given.Argv, &line), Own: i.own, Scripts: i.scripts, Waive: waive,
	}, &line, err
}

// forEntry prepares the installation for an entry: the input has the flags with which mcp-jail run starts its line.
func (i *installCmd) forEntry(input *json.Decoder, host hostfs.Host) (*install.Installer, *runline.Line, error) {
	var flags []string
	if err := input.Decode(&flags); err != nil {
		return nil, nil, fmt.Errorf("the flags of the line are missing: %w", err)
	}
	if _, err := cmdline.Parse(flags, slices.Concat(i.flags.Flags(), i.ConfigFlags.Flags())); err != nil {
		return nil, nil, err
	}
	w, err := i.behindDashes()
	if err != nil {
		return nil, nil, err
	}
	t, err := w.load()
	if err != nil {
		return nil, nil, err
	}
	return i.installer(host, t, w), &w.line, nil
}

func message(p install.Progress) session.Message {
	return session.Message{Step: string(p.Step), Files: p.Files, Bytes: p.Bytes}
}

// idleAfterClient is how long an installation without a client may make no progress. The next
// start waits for the end of this installation, and asks the registry anew.
const idleAfterClient = 15 * time.Second

// background ends an installation whose client has left. Its methods may be called from
// several goroutines.
type background struct {
	end func()

	mu    sync.Mutex
	last  install.Progress
	idle  *time.Timer // nil while there is a client
	total *time.Timer
}

func (b *background) left() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.idle, b.total = time.AfterFunc(idleAfterClient, b.end), time.AfterFunc(session.AfterClient, b.end)
}

func (b *background) progress(p install.Progress) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.idle != nil && p != b.last {
		b.idle.Reset(idleAfterClient)
	}
	b.last = p
}
