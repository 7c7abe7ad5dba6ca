// Package learncmd has the command learn: it starts a server in a jail that watches it, asks it something,
// and writes the smallest policy under which it gives the same answers.
//
// A lesson has rounds. Each is a session of mcp-jail run in a child process (package asclient), which this
// process drives (package drive). What the server writes in a round is thrown away, so each round begins
// with the same files.
//
//   - lesson.go has the rounds: watched with open reads, the same again, with hosts, and under the policy.
//   - facts.go asks this host what package learn needs to conclude a policy, variables.go the own files of the
//     server.
//   - trial.go writes the policy as a configuration for a round.
//   - percall.go finds out whether each call can have a process, and each tool a table of its own. oneprocess.go
//     has the reasons why one process stays, tables.go what those tables take the place of.
//   - smallest.go leaves out each rule without which the answers are the same.
//   - report.go writes what came of it, calls.go what no call told of.
//   - given.go finds mistakes in what is given, and forgets a new server from which nothing was learned.
//   - sessions.go has the sessions of the user's client watched, and takes what was observed there.
//   - preset.go writes the policy as a preset, and adopt.go takes a preset of another.
//   - apply.go and place.go put the policy where that of the server lives.
package learncmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/asclient"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/drive"
	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

type learnCmd struct {
	asclient.Chooser
	flags   cmdline.PolicyFlags // of a command after --
	command cmdline.Server

	probe    bool
	driveBy  string // a file of requests
	net      []string
	env      []string
	budget   time.Duration
	format   string
	verbose  bool
	verb     string // the command, for advice; "" for learn
	yes      bool
	applies  bool
	preset   string // the file that gets the policy as a preset
	wraps    bool
	unwraps  bool
	requests []drive.Request // of driveBy; nil for a probe
}

// Learn returns the command.
func Learn(line *cli.CommandLine) *cobra.Command {
	k := &learnCmd{budget: 2 * time.Minute}
	cmd := line.Command("learn [flags] [SERVER | -- COMMAND [ARG...]]", "Watch a server in a jail, and write the smallest policy that lets it work.", 1, true, func(words []string) error {
		k.command = line.Server
		if k.Server = cli.FirstOf(words); k.Server == "" && !k.command.Given {
			return exit.UsageErrorf("which server? mcp-jail status lists those of your clients. Then: mcp-jail learn SERVER\n  for a new one: mcp-jail learn -- npx -y PACKAGE")
		}
		return k.Run(line.Console)
	})
	cmd.Long = `learn starts the server in a jail, lists its tools, and calls those that say that they
only read (--probe, which is the default), or sends the requests of a file (--drive). From
what the server does it writes a policy, with a comment for each rule. Then it starts the
server under that policy, asks the same, and shows each answer that is another one. A rule
without which all answers are the same is left out. If each tool was called, and each answer
is the same with a process for each call, each tool gets a table of its own.

The jail of a lesson: the server reads all of your files but sensitive ones (keys,
passwords, .env), what it writes is thrown away, and no host is reached: names and ports
are noted. With --net HOST there is a second lesson in which these hosts are reached, and
there the server reads only what its policy grants. Variables are handed over by name
(--env NAME) only.

The policy goes to stdout, and what is said about it to stderr. With --apply it goes where
the policy of the server lives, as with mcp-jail grant: the table in the configuration. An
entry that has flags, or no jail yet, becomes one that starts this table. With --preset FILE it
becomes a file for others, who use it by mcp-jail preset --apply FILE. Tools that were not called
are named: what they would need is not guessed.

Exit status 0: the policy gives the same answers; 1: it does not (--preset writes it all
the same, and the file says so), or the server failed;
2: a mistake on the command line; 3: this host cannot hold a server that is watched.`
	cmd.Example = `    mcp-jail learn memory
    mcp-jail learn -- npx -y @modelcontextprotocol/server-filesystem ~/notes
    mcp-jail learn --drive requests.jsonl notes
    mcp-jail learn --apply memory
    mcp-jail learn --preset weather.toml -- npx -y weather-mcp
    mcp-jail learn --net api.github.com --env GITHUB_TOKEN github > learned.toml`
	k.addFlags(cmd)
	return cmd
}

func (k *learnCmd) addFlags(cmd *cobra.Command) {
	k.AddFileFlags(cmd)
	cli.AddFlags(cmd,
		cmdline.Flag{Name: "config", Value: "FILE", Many: &k.Config, Usage: "Read only this configuration file, and no file of a client. Repeatable; later files override earlier ones."},
		cmdline.Flag{Name: "drive", Value: "FILE", One: &k.driveBy, Usage: `Send the MCP requests of a file, one a line, such as {"method": "tools/call", "params": {"name": "TOOL", "arguments": {}}}.`},
		cmdline.Flag{Name: "net", Value: "none|ask|HOST", Many: &k.net, Usage: "none (default): no host is reached. HOST[:PORT] (repeatable): this host is, in a second lesson. ask: there you are asked about each host."},
		cmdline.Flag{Name: "env", Value: "NAME", Many: &k.env, Usage: "Hand this variable of yours to the server. Repeatable."},
		cmdline.Flag{Name: "workspace", Value: "DIR", One: &k.flags.Workspace, Usage: "The workspace of a command after --. Default: the working directory."},
		cmdline.Flag{Name: "name", Value: "NAME", One: &k.flags.Name, Usage: "The name of a server that is given after --. Default: derived from the command."},
		cmdline.Flag{Name: "preset", Value: "FILE", One: &k.preset, Usage: "Write the policy as a preset that others can use (mcp-jail preset --apply), without names of this machine: NAME.toml."},
		cli.FormatFlag(&k.format))
	cli.AddFlag(cmd, cmdline.Flag{Name: "input", Value: "NAME[=VALUE]", Many: &k.Inputs, Usage: "The value of ${input:NAME}, or of another variable that only the client knows. Repeatable."}, cobra.NoFileCompletions)
	cmd.Flags().BoolVar(&k.probe, "probe", false, "Call the tools that say that they only read, with arguments from their schemas. This is the default.")
	cmd.Flags().Var(cli.Duration(&k.budget), "budget", "The time limit for all rounds together. What was learned until then is kept. Default: 2m.")
	cli.Propose(cmd, "budget", cobra.NoFileCompletions)
	cmd.Flags().BoolVar(&k.verbose, "verbose", false, "Show what the server writes to its stderr.")
	cmd.Flags().BoolVar(&k.applies, "apply", false, "Put the policy into your configuration, and have the entry of the client use it: the difference is shown, and then asked for.")
	cmd.Flags().BoolVar(&k.wraps, "wrap", false, "Have the sessions of the server's client watched: the entry gets --learn, after a question. Then learn makes the policy of what was observed there, too.")
	cmd.Flags().BoolVar(&k.unwraps, "unwrap", false, "Take --learn out of the entry again.")
	cmd.Flags().BoolVar(&k.yes, "yes", false, "Start a server of a project's file, and apply a verified policy, without asking: for scripts.")
	cmd.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return k.AddNames(nil), cobra.ShellCompDirectiveNoFileComp
	}
}

// Run learns, and writes the policy.
func (k *learnCmd) Run(c terminal.Console) error {
	if err := cmp.Or(k.check(), k.appliable(c), k.checkPreset(c)); err != nil {
		return err
	}
	if k.wraps || k.unwraps {
		return k.watchEntry(c)
	}
	interrupted := cli.Interrupts()
	defer signal.Stop(interrupted)
	t, err := k.choose(c)
	if err != nil {
		return err
	}
	if err := t.Confirm(c, k.yes); err != nil {
		return err
	}
	t.Notes = append(t.Notes, k.unset(t)...)
	for _, note := range t.Notes {
		c.Notef("%s %s", c.Paint(terminal.Yellow, "note:"), show.Line(note))
	}
	ctx, stop := k.limit(interrupted)
	defer stop(nil)
	host, err := hostfs.LocalHost()
	if err != nil {
		return &exit.HostError{Err: err}
	}
	l := &lesson{learnCmd: k, c: c, t: t, host: host}
	defer l.close()
	began, isNew := time.Now(), isUnknown(host, t.Stored)
	err = l.learn(ctx)
	var by *interruptedError
	if errors.As(context.Cause(ctx), &by) {
		l.cut = "it was interrupted"
	} else if ctx.Err() != nil {
		l.cut = "the time was over (--budget " + k.budget.String() + ")"
	}
	if l.result == nil {
		if isNew {
			forget(l, began)
		}
		if by != nil {
			c.Errorf("interrupted before anything was learned")
			return cli.Interrupted(by.Signal)
		}
		if l.cut != "" {
			return fmt.Errorf("nothing was learned: %s", l.cut)
		}
		return err
	}
	err = l.report(err)
	stop(nil) // a signal is for a question now
	signal.Stop(interrupted)
	err = place(l, err)
	if by != nil && !k.applies && k.preset == "" {
		return cli.Interrupted(by.Signal)
	}
	return err
}

// limit returns a context that ends with the budget, or with a signal.
func (k *learnCmd) limit(interrupted <-chan os.Signal) (context.Context, context.CancelCauseFunc) {
	ctx, cancel := context.WithTimeout(context.Background(), k.budget)
	ctx, stop := context.WithCancelCause(ctx)
	go func() {
		defer cancel()
		select {
		case s := <-interrupted:
			stop(&interruptedError{s})
		case <-ctx.Done():
		}
	}()
	return ctx, stop
}

type interruptedError struct{ os.Signal }

func (e *interruptedError) Error() string { return "signal: " + e.String() }

// check finds mistakes before anything is started, and reads the requests.
func (k *learnCmd) check() error {
	switch {
	case k.budget <= 0:
		return exit.UsageErrorf("--budget %s: it must be positive, such as 30s or 2m", k.budget)
	case k.Server != "" && k.command.Given:
		return exit.UsageErrorf("both a server (%s) and a command after -- are given; use one", show.Name(k.Server))
	case k.command.Given && len(k.command.Argv) == 0:
		return exit.UsageErrorf("the command after -- is missing, such as  mcp-jail learn -- npx -y PACKAGE")
	case k.lacksPackage():
		return exit.UsageErrorf("the command names no package: add it after  %s", show.Spelled(k.command.Argv))
	case k.probe && k.driveBy != "":
		return exit.UsageErrorf("--probe makes the requests, and --drive has them in a file: use one")
	case !k.command.Given && (k.flags.Workspace != "" || k.flags.Name != ""):
		return exit.UsageErrorf("--workspace and --name are for a command after --; a server of a client has what its entry says")
	}
	for _, h := range k.net {
		if (h == cmdline.LearnFiles || h == cmdline.LearnAsk) && len(k.net) > 1 {
			return exit.UsageErrorf("--net %s must be the only --net, and --net is given %d times", h, len(k.net))
		}
		if h == cmdline.LearnPolicy {
			return exit.UsageErrorf("--net %s: name a host, such as api.example.org", h)
		}
		if _, _, err := policy.ParseHostPort(h); err != nil {
			return exit.UsageErrorf("--net: %s", err)
		}
	}
	if k.driveBy == "" {
		return nil
	}
	f, err := os.Open(k.driveBy)
	if err != nil {
		return exit.UsageErrorf("--drive: %s", err)
	}
	defer f.Close()
	if k.requests, err = drive.Read(f, show.Line(k.driveBy)); err != nil {
		return exit.UsageErrorf("--drive: %s", err)
	}
	return nil
}

// asks reports whether the user is asked about hosts.
func (k *learnCmd) asks() bool { return slices.Contains(k.net, cmdline.LearnAsk) }

// choose finds the server of a client or of the configuration, or takes the command after --.
func (k *learnCmd) choose(c terminal.Console) (*asclient.Target, error) {
	if !k.command.Given {
		k.Verb = cmp.Or(k.verb, "learn")
		t, err := k.Choose(c)
		if err == nil {
			t.Argv, err = k.handOver(unwatched(t.Argv))
		}
		return t, k.unknown(err)
	}
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	if k.flags.Name == "" {
		k.flags.Name = cmdline.DefaultName(k.command.Argv, dir)
	}
	k.flags.Env = k.env
	argv := append([]string{"run"}, k.flags.Words()...)
	argv = append(append(argv, "--"), k.command.Argv...)
	return &asclient.Target{Argv: argv, Dir: dir, Stored: k.flags.Name}, nil
}

// unknown adds to an error about a name what the user may have meant: a program or a package.
func (k *learnCmd) unknown(err error) error {
	var none *asclient.UnknownError
	if !errors.As(err, &none) {
		return err
	}
	meant := []string{"npx", "-y", k.Server}
	switch {
	case cmdline.IsInPath(k.Server):
		meant = []string{k.Server}
	case !strings.ContainsAny(k.Server, "@/"):
		return err
	}
	return exit.UsageErrorf("%s\n  if it is no name but a program or a package: %s", err, show.Typed("mcp-jail learn --", meant...))
}
