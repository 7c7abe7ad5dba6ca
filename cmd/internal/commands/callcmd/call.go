// Package callcmd has the command call: it is a client of one server for the time of one call.
//
// The server starts as its client starts it, in a child process: mcp-jail run with the flags of its
// entry. So its jail, its private HOME, its records and what undo keeps are those of the sessions of
// the client, beside which this is one session more.
//
//   - choose.go finds the server, and what run is given for it.
//   - session.go starts the session, and ends it; server.go speaks with it, over conn.go.
//   - arguments.go reads the arguments of the tool.
//   - result.go and tools.go write what the server answered.
//
// # mcp-jail as a client
//
// [Trial] is mcp-jail as a client: it starts a server in its jail, asks what it is and
// which tools it has, and ends it. Every handshake that mcp-jail makes as a client is made here:
// those of install and of learn.
//
//	a, err := callcmd.Trial{Target: t, Name: "mcp-jail install", Timeout: time.Minute}.Run(ctx)
//	p, err := a.Pin()
//
// [Trial.Run] is a client of a normal session, so a server that fails gets the same diagnosis as
// under run. [Ask] needs only the two ends of a connection. The messages are mark3labs/mcp-go's
// types; its client would cost each command 4 ms. It declares no capabilities, so it gets the tools
// that a session pins for such a client.
//
// Limits:
//
//   - The handshake is initialize of the protocol 2025-06-18. A server may answer with any
//     version that mcp-go knows.
//   - A server may send 64 MiB, and its list of tools may have 100 pages.
//   - A trial keeps no record for mcp-jail why, and compares nothing with pinned tools.
package callcmd

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/show"
)

type callCmd struct {
	Chooser
	format  string
	timeout time.Duration
	verbose bool
	yes     bool

	tool  string
	words []string // the arguments of the tool as they were typed
}

// maxAnswer bounds the bytes that a server may send in one call.
const maxAnswer = 1 << 30

// Call returns the command.
func Call(line *cli.CommandLine) *cobra.Command {
	k := &callCmd{Chooser: Chooser{Verb: "call"}, timeout: 5 * time.Minute}
	cmd := line.Command("call [options] SERVER [TOOL [JSON | NAME=VALUE...]]", cli.AnyNumber, false, func(words []string) error {
		if len(words) == 0 {
			return terminal.UsageErrorf("name a server. To see your servers:\n  mcp-jail status")
		}
		k.Server, k.words = words[0], words[1:]
		if len(k.words) > 0 {
			k.tool, k.words = k.words[0], k.words[1:]
		}
		return k.Run(line.Console)
	})
	cmd.Long = `call starts the server as its client does, with the same policy. The project folder is the
one that you are in, and a client uses the one that it has open. Without TOOL, call lists the tools.

The arguments of a tool are a JSON object, or NAME=VALUE for each; "-", or a stdin that
is no terminal, reads the JSON from there. The VALUE is text where the tool wants
text, and otherwise JSON.

The result goes to stdout. What the jail blocked follows on stderr, with the command that
allows it, so you can try that without a new session of the client.`
	cmd.Example = `    mcp-jail call memory
    mcp-jail call filesystem read_text_file path=/home/me/notes/today.md
    mcp-jail call github search_issues '{"q": "is:open", "perPage": 5}'
    mcp-jail call --client cursor notes search --format json < query.json`
	k.addFlags(cmd)
	return cmd
}

func (k *callCmd) addFlags(cmd *cobra.Command) {
	k.AddFileFlags(cmd)
	cli.AddFlags(cmd, cmdline.Flag{Name: "input", Value: "NAME[=VALUE]", Many: &k.Inputs, Usage: "The value of ${input:NAME} (repeatable)"})
	cli.AddFlags(cmd, cli.FormatFlag(&k.format))
	cmd.Flags().Var(cli.Duration(&k.timeout), "timeout", "The time limit for start and call (default: 5m)")
	cli.Propose(cmd, "timeout", cobra.NoFileCompletions)
	cmd.Flags().BoolVar(&k.verbose, "verbose", false, "Show what the server writes to its stderr")
	cmd.Flags().BoolVar(&k.yes, "yes", false, "Start a server of a project's file without asking")
}

// Run calls the tool, and writes the result and what was refused.
func (k *callCmd) Run(c terminal.Console) error {
	r, err := k.call(c)
	if err == nil && r.listed {
		return r.printTools(c, k.format)
	}
	var quiet terminal.ReportedStatus
	if k.format == "json" && !errors.As(err, &quiet) {
		if r == nil {
			r = &outcome{Server: k.Server, Tool: k.tool}
		}
		return r.printJSON(c, err)
	}
	if err != nil || r == nil {
		return err
	}
	return r.print(c)
}

func (k *callCmd) call(c terminal.Console) (*outcome, error) {
	if k.timeout <= 0 {
		return nil, terminal.UsageErrorf("--timeout %s: it must be positive, such as 30s or 2m", k.timeout)
	}
	// A mistake in the arguments is told before anything is started.
	arguments, err := k.readArguments(c)
	if err != nil {
		return nil, err
	}
	interruptible, stop := Interruptible("the server was ended")
	defer stop()
	t, err := k.Choose(c)
	if err != nil {
		return nil, err
	}
	if err := t.Confirm(c, k.yes); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(interruptible, k.timeout)
	defer cancel()
	r, err := k.talk(ctx, c, t, arguments)
	var by *terminal.InterruptedError
	if errors.As(context.Cause(ctx), &by) {
		return nil, by
	}
	return r, err
}

// talk starts the server, asks it, and waits for its end.
func (k *callCmd) talk(ctx context.Context, c terminal.Console, t *target, arguments arguments) (*outcome, error) {
	session, err := start(ctx, c, t, k.verbose)
	if err != nil {
		return nil, err
	}
	r := &outcome{Server: k.Server, Tool: k.tool, Name: t.Key, off: t.off}
	failed := k.ask(ctx, c, t, session, r, arguments)
	session.end()
	if errors.Is(ctx.Err(), context.DeadlineExceeded) && failed != nil {
		what := "list its tools"
		if k.tool != "" {
			what = "answer the call of " + show.InSentence(k.tool)
		}
		failed = fmt.Errorf("%s did not %s within %v (--timeout), and was ended", show.Name(k.Server), what, k.timeout)
	}
	r.learn(session, t, failed)
	var usage *terminal.UsageError
	if errors.As(failed, &usage) {
		return nil, failed
	}
	return r, nil
}

// ask makes the handshake, lists the tools, and calls the tool.
func (k *callCmd) ask(ctx context.Context, c terminal.Console, t *target, s *clientSession, r *outcome, a arguments) error {
	slow := time.AfterFunc(time.Second, func() { c.Sayf("starting %s ...", k.Server) })
	defer slow.Stop()
	client := Client{Name: "mcp-jail call", Root: t.Root, Limit: maxAnswer}
	conn, err := Open(ctx, client, s.out, s.in)
	slow.Stop()
	if err != nil {
		return err
	}
	defer conn.Close()
	r.About = strings.TrimSpace(conn.Name + " " + conn.Version)
	tools, _, err := conn.Tools()
	if k.tool == "" {
		r.list, r.listed = tools, err == nil
		return err
	}
	// A server that does not list may still answer.
	at := slices.IndexFunc(tools, func(o Tool) bool { return o.Name == k.tool })
	if _, off := t.off.Off(k.tool); err == nil && at < 0 && !off { // of one that is off, the session says more
		return unknownTool(k.Server, k.tool, tools)
	}
	var schema *schema
	if at >= 0 {
		schema = tools[at].schema()
	}
	object, err := a.object(schema)
	if err != nil {
		return err
	}
	s.hold()
	waiting := time.AfterFunc(2*time.Second, func() { c.Sayf("waiting for %s ...", k.tool) })
	defer waiting.Stop()
	r.Result, err = conn.call(k.tool, object)
	return err
}

// arguments are those of a tool, as they were given.
type arguments struct {
	json  json.RawMessage
	pairs []string // NAME=VALUE
}
