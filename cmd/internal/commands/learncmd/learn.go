// Package learncmd has the command learn: it starts a server in its jail again and again, each time with what a start
// or a call of the time before lacked, and proposes that as the policy of the server.
//
//   - learn.go has the command line and the steps, in their order.
//   - loop.go has the tries.
//   - try.go is one try: a start, and the calls.
//   - judge.go decides what a try may be given.
//   - end.go says what came of it, and writes or prints the policy.
//   - drive.go asks a server a list of MCP requests and keeps its answers; it also makes requests that
//     change nothing, from the list of tools.
//   - values.go makes the arguments of a call from the schema of a tool.
//
// Package callcmd starts the server, and package grantcmd changes its file.
package learncmd

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/callcmd"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/grantcmd"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/diagnostics/change"
	"github.com/mcp-jail/mcp-jail/internal/show"
)

type learnCmd struct {
	callcmd.Chooser
	drive  string
	hosts  []string
	budget time.Duration
	yes    bool
}

// Learn returns the command learn.
func Learn(line *cli.CommandLine) *cobra.Command {
	k := &learnCmd{budget: 5 * time.Minute}
	cmd := line.Command("learn [options] SERVER", 1, false, func(args []string) error {
		k.Server = cli.FirstOf(args)
		return k.Run(line.Console)
	})
	cmd.Long = `learn starts the server in its jail, calls each tool that says that it only reads
(readOnlyHint), and tries again with what a call needed: ten times at most. --drive FILE
has the calls instead, such as
  {"method": "tools/call", "params": {"name": "TOOL", "arguments": {}}}

A try gets files to read, programs, and files to write in the project folder, but never
keys, or what this machine runs. It gets a host only with --net HOST or after a question,
and from then on each path is a question too.

At the end learn shows what changes, asks, and writes the file of the server.`
	cmd.Example = `    mcp-jail learn notes
    mcp-jail learn notes --drive calls.jsonl
    mcp-jail learn weather --net api.weather.gov`
	cli.AddFlags(cmd,
		cmdline.Flag{Name: "drive", Value: "FILE", One: &k.drive, Usage: "The calls to make: a JSON-RPC request a line"},
		cmdline.Flag{Name: "net", Value: "HOST[:PORT]", Many: &k.hosts, Usage: "Let the server reach a host (repeatable)"})
	cli.AddFlags(cmd, cmdline.Flag{Name: "input", Value: "NAME[=VALUE]", Many: &k.Inputs, Usage: "The value of ${input:NAME} (repeatable)"})
	cmd.Flags().Var(cli.Duration(&k.budget), "budget", "The time limit for all tries (default: 5m)")
	cli.Propose(cmd, "budget", cobra.NoFileCompletions)
	cmd.Flags().BoolVar(&k.yes, "yes", false, "Take what needs no question, for scripts")
	return cmd
}

// Run makes the tries, and writes or prints the policy.
func (k *learnCmd) Run(c terminal.Console) error {
	switch {
	case k.Server == "":
		return terminal.UsageErrorf("name a server. To see your servers:\n  mcp-jail status")
	case k.budget <= 0:
		return terminal.UsageErrorf("--budget %s: it must be positive, such as 90s or 10m", k.budget)
	}
	requests, err := k.requests()
	if err != nil {
		return err
	}
	ctx, stop := callcmd.Interruptible("nothing was changed")
	defer stop()
	l, err := k.find(c)
	if err != nil {
		return err
	}
	l.drive = requests
	for _, host := range k.hosts {
		typed, err := change.Read([]string{"--net", host})
		if err != nil {
			return terminal.UsageErrorf("%s", err)
		}
		l.grants = append(l.grants, &grant{Object: typed[0], typed: true})
	}
	if err := l.restart(l.grants); err != nil {
		return err
	}
	err = l.run(ctx, k.budget)
	var by *terminal.InterruptedError
	switch {
	case errors.As(context.Cause(ctx), &by):
		return by
	case err != nil:
		return err
	}
	stop() // a question has its own
	return l.end()
}

// requests returns the calls of --drive, or nil.
func (k *learnCmd) requests() ([]request, error) {
	if k.drive == "" {
		return nil, nil
	}
	f, err := os.Open(k.drive)
	if err != nil {
		return nil, terminal.UsageErrorf("--drive %s cannot be read: %s", show.Name(k.drive), strings.TrimPrefix(err.Error(), "open "+k.drive+": "))
	}
	defer f.Close()
	requests, err := read(f, k.drive)
	if err != nil {
		return nil, terminal.UsageErrorf("--drive: %s", err)
	}
	return requests, nil
}

// find finds the server and how it is started.
func (k *learnCmd) find(c terminal.Console) (*loop, error) {
	x, err := index.Read()
	if err != nil {
		return nil, err
	}
	l := &loop{c: c, yes: k.yes}
	if l.edit, err = grantcmd.Begin(x, k.Server); err != nil {
		return nil, err
	}
	k.Verb = "learn"
	t, err := k.Choose(c)
	if err != nil {
		return nil, err
	}
	if t.Key != l.edit.Key {
		return nil, terminal.UsageErrorf("%s means two servers here: %s, and the one that %s starts", show.Name(k.Server), show.Name(l.edit.Name), show.Line(t.Place))
	}
	if err := t.Confirm(c, k.yes); err != nil {
		return nil, err
	}
	_, server := cmdline.Split(t.Argv)
	l.argv, l.root, l.name, l.words = t.Argv, t.Root, k.Server, server.Argv
	return l, t.Enter()
}
