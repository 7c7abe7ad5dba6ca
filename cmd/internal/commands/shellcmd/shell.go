// Package shellcmd has the command shell: another program than the server in the server's jail, for a person
// who looks around.
//
//   - shell.go finds the server, starts the program, and tells what was refused in it.
//   - program.go chooses the program, and describes the jail in a line.
//   - refusals.go tells mcp-jail why --follow of refusals as they happen.
//   - run.go connects it with the user's terminal, or with pipes. The program gets no descriptor of the
//     user's own.
//
// The jail, the private HOME, the records and what undo keeps are those of the server.
package shellcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/signal"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/entries"
	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/lifecycle"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

type shellCmd struct {
	cmdline.ConfigFlags
	cmdline.PolicyFlags
	tool, server string
	command      []string // in place of a shell
}

// Shell returns the command.
func Shell(line *cli.CommandLine) *cobra.Command {
	s := &shellCmd{}
	cmd := line.Command("shell [flags] [SERVER] [-- COMMAND [ARG...]]", "Start a shell in the jail of a server, to look around.", 1, true, func(args []string) error {
		s.server, s.command = cli.FirstOf(args), line.Server.Argv
		return s.Run(line.Console, line.Server)
	})
	cmd.Long = `SERVER is the name of a configured server, or of one that a client starts in mcp-jail
(see ` + "`mcp-jail status`" + `). The shell has the server's files, variables, limits, hosts,
directory and private HOME, and no more. What is not granted is mostly not there at all.
The server itself is not started, and one that runs has a jail of its own. If the entry
is in a file of the project, there is a question first.

Without SERVER, the flags say what may be reached, as for ` + "`mcp-jail run`" + `: without any,
the working directory and no network.

The program is your shell (SHELL) if the jail may execute it, and else /bin/sh. A COMMAND
after -- takes its place. On a terminal it gets a terminal of its own, and the variable
TERM. What it writes draws on yours, escape sequences too. With a pipe or a file, its
streams are pipes. On macOS it gets no terminal of its own, so there only pipes work.

Exit or Ctrl-D leaves the shell, and ends what it has started. Then follows what was
refused in it, as far as the jail was asked; ` + "`mcp-jail why`" + ` says more, and
` + "`mcp-jail undo`" + ` knows what was changed, if the server's policy has undo.

The exit status is that of the program, and 128 and the number of a signal that ended it.
It is 3 if this host cannot enforce the policy.`
	cmd.Example = `    mcp-jail shell
    mcp-jail shell github
    mcp-jail shell filesystem -- cat /etc/passwd
    mcp-jail shell --read ~/notes --net example.org`
	cli.AddFlags(cmd, s.ConfigFlags.Flags()...)
	cli.AddFlags(cmd, s.PolicyFlags.Flags()...)
	tool := cmdline.Flag{Name: "tool", Value: "TOOL", One: &s.tool, Usage: "The jail of this tool, of a stateless server."}
	cli.AddFlag(cmd, tool, cobra.NoFileCompletions)
	cmd.ValidArgsFunction = cli.ProposeServers(line, &s.ConfigFlags)
	return cmd
}

// Run starts the program and waits for its end.
func (s *shellCmd) Run(c terminal.Console, line cmdline.Server) error {
	if line.Given && len(line.Argv) == 0 {
		return exit.UsageErrorf("the command after -- is missing; without --, it is a shell")
	}
	t, err := s.resolve(c, line)
	if t.InstallsAfter(err) {
		return fmt.Errorf("%s. Then there is a jail to look around in:  mcp-jail install %s", t.Package.Text(), t.Asked())
	}
	if err == nil && s.tool == "" && !t.Policy.Stateful {
		c.Sayf("each tool of %s has a jail of its own: --tool TOOL. This one is of its lists", show.Name(t.Policy.Server))
	}
	var guest session.Guest
	if err == nil {
		guest, err = s.guest(t)
	}
	if err == nil {
		err = session.Prepare(t, c)
	}
	if err != nil {
		return err
	}
	return s.start(c, t, guest)
}

// resolve returns the server in whose jail the program is to run.
func (s *shellCmd) resolve(c terminal.Console, line cmdline.Server) (*session.Target, error) {
	if s.server == "" { // as run would start the program
		if !line.Given {
			line = cmdline.Server{Given: true, Argv: []string{usersShell()}, Line: append([]string{"mcp-jail", "shell"}, s.PolicyFlags.Words()...)}
		}
		return session.Resolve(s.ConfigFlags, s.PolicyFlags, "", s.tool, line)
	}
	if len(s.Config) == 0 {
		entries.UseClientEnv(s.server)
	}
	t, err := session.Resolve(s.ConfigFlags, s.PolicyFlags, s.server, s.tool, cmdline.Server{})
	var unknown *config.UnknownServerError
	if !errors.As(err, &unknown) || len(s.Config) > 0 {
		return t, err
	}
	if configured := entries.Configured(unknown); configured != "" {
		s.server = configured
		return s.resolve(c, line)
	}
	w, err := entries.FindWrapped(s.server, unknown)
	if err == nil && s.tool != "" {
		err = exit.UsageErrorf("--tool %s is for a configured server; %s is wrapped, and has one process for all tools", s.tool, s.server)
	}
	if err != nil {
		return nil, err
	}
	if err := confirm(c, w); err != nil {
		return nil, err
	}
	if t, err = w.Load(s.Waive); err == nil {
		err = t.Resolve()
	}
	return t, err
}

// confirm asks about an entry of a project's file. It chooses the rights of the program, and by its variables
// what a shell does first.
func confirm(c terminal.Console, w *entries.WrappedServer) error {
	if !w.File.IsProject() {
		return nil
	}
	what := fmt.Sprintf("%s is in a file of this project (%s), which others may have written", show.Name(w.Entry.Server), w.Place())
	if !c.Asks() {
		return exit.UsageErrorf("%s, and there is no terminal to ask on. To choose the rights yourself:  mcp-jail shell --read PATH -- COMMAND", what)
	}
	c.Notef("%s. It chooses the rights and the variables:\n  %s", what, w.PlanLine(nil))
	err := cli.Confirm(context.Background(), c, "Start a program with them?")
	var interrupted *exit.InterruptedError
	switch {
	case errors.As(err, &interrupted):
		interrupted.Undone = "no program was started"
	case err != nil:
		return errors.New("no program was started: the answer was not yes")
	}
	return err
}

// start starts the program, and records the session as one of the server.
func (s *shellCmd) start(c terminal.Console, t *session.Target, guest session.Guest) error {
	followed := t.Follow(c)
	defer followed.Close()
	record := session.NewRecorder(t)
	record.MarkStart()
	began := time.Now() // after the mark, else why takes the record for that of an earlier session
	for _, w := range t.WarningTexts() {
		c.Sayf("warning: %s", w)
	}
	on := &connection{console: c, interactive: c.Asks()}
	if on.interactive {
		guest.Term = cmp.Or(terminalKind(), "dumb")
		if s.command == nil {
			c.Sayf("%s", describe(t))
		}
	}
	signals := cli.Interrupts()
	defer signal.Stop(signals)
	launcher := confine.Launcher{Umask: c.Umask, Say: func(line string) { c.Sayf("%s", line) }}
	process, err := on.start(func(stdio confine.Stdio) (lifecycle.Process, error) {
		return followed.StartGuest(context.Background(), launcher, guest, stdio)
	})
	if err != nil {
		d, status := session.GuestFailure(t, err)
		record.Save(followed.GuestRecord(began, nil, []diagnostics.Diagnosis{d}))
		c.Notef("%s", d.Text())
		return exit.ReportedStatus(status)
	}
	session.Answered(t) // the user may log in there
	for _, w := range lifecycle.WaivedWarnings(process.Plan()) {
		c.Sayf("%s", w)
	}
	told := &refusals{write: record.Refused, of: func() diagnostics.Evidence { return followed.GuestEvidence(process) }}
	on.look = told.look
	ended, err := on.serve(process, signals)
	told.look(true)
	after := followed.GuestRecord(began, process, nil)
	record.Save(after)
	if lost := record.LastError(); lost != nil {
		c.Sayf("warning: the record of this session cannot be written: %s", lost)
	}
	tell(c, t, after)
	if words := after.GuestLacks(); words != nil && s.server != "" && len(s.Config) == 0 {
		c.Sayf("to grant what was refused:  %s", show.Spelled(append([]string{"mcp-jail", "grant", s.server}, words...)))
	}
	if err == nil && ended.Code != 0 {
		err = exit.ReportedStatus(ended.Code)
	}
	return err
}

// maxTold bounds the refusals that are told. The record has all.
const maxTold = 3

// tell tells what was refused in a shell, and what it changed.
func tell(c terminal.Console, t *session.Target, r diagnostics.Record) {
	refused := r.Refusals()
	for i, line := range refused {
		if i == maxTold {
			break
		}
		c.Sayf("refused: %s", line)
	}
	if n := len(refused); n > 0 {
		more := ""
		if n > maxTold {
			more = fmt.Sprintf("%d more were refused. ", n-maxTold)
		}
		c.Sayf("%s`%s` has all of it", more, show.Typed("mcp-jail why", t.Policy.KeptName()))
	}
	if r.Changes != "" {
		c.Sayf("%s", r.Changes)
	}
}
