package main

import (
	"context"
	"path/filepath"
	"runtime"
	"runtime/debug"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/internal/resident"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/lifecycle"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// softMemory is the memory above which Go collects more often. What a session usually holds is far below
// that.
const softMemory = 64 << 20

func boundMemory() {
	debug.SetMemoryLimit(softMemory)
	resident.Shrink()
}

// run serves one client session. Its arguments begin with "run". The result says how this process
// must end.
func run(args []string, c terminal.Console) confine.Exit {
	boundMemory()
	launcher := confine.Launcher{Umask: c.Umask, Say: func(line string) { c.Sayf("%s", line) }}
	args, server := cmdline.Split(args)
	flags, err := cmdline.ParseRun(args)
	if err != nil {
		return confine.Exit{Code: session.Misuse(c, args, server, err)}
	}
	report, err := openReport(flags.LogFile) // before a number of a descriptor is taken
	if err != nil {
		return refuse(c, nil, flags.Server, err, nil)
	}
	log := session.NewLog(report)
	launcher.Prepared = launcher.Prepare() // starts while the policy is read
	defer launcher.Prepared.Close()
	prepareFlags(flags)
	session.MakeOwn()
	t, err := session.Resolve(flags.ConfigFlags, flags.PolicyFlags, flags.Server, "", server)
	if err != nil && session.TakeOver(c, err) {
		t, err = session.Resolve(flags.ConfigFlags, flags.PolicyFlags, flags.Server, "", server)
	}
	// The first start of a package fetches it, and then the policy has its paths.
	var waived []string
	if t.InstallsAfter(err) {
		if waived, err = t.Package.Install(c, t.Reach); err == nil {
			t, err = session.Resolve(flags.ConfigFlags, flags.PolicyFlags, flags.Server, "", server)
		}
	}
	if err == nil {
		err = session.Prepare(t, c)
	}
	if err != nil {
		return refuse(c, t, flags.Server, err, log)
	}
	followed := t.Follow(c)
	defer followed.Close()
	followed.Log = log
	record := session.NewRecorder(t)
	if !t.Policy.Stateful {
		launcher.Pool = launcher.NewPool()
	}
	defer launcher.Pool.Close()
	session := followed.AskingSession(c, launcher)
	session.Refresh, session.Waived = followed.Refresh, waived
	t.Package.PinTools(&session)
	tellTyping(c, &session)
	record.MarkStart()
	session.ClientNamed = record.ClientNamed
	session.Sink, session.Lost = record.Save, record.LastError
	log.Take(&session, t)
	var exit confine.Exit
	if t.Policy.Stateful {
		exit, err = lifecycle.RunStateful(context.Background(), session)
	} else {
		options := followed.StatelessOptions()
		options.Prepare = launcher.Pool.Keep
		exit = lifecycle.RunStateless(context.Background(), session, options)
	}
	log.End(exit, err)
	return exit
}

// sayNotHeld says first what no jail of this system holds, before all that depends on the policy.
func sayNotHeld(c terminal.Console) {
	if text := confine.NotHeld(runtime.GOOS); text != "" {
		c.Sayf("%s", text)
	}
}

// prepareFlags makes the names of files absolute: the client may have another working directory.
func prepareFlags(flags *cmdline.RunFlags) {
	for i, f := range flags.Config {
		if _, ok := hostfs.CutHome(runtime.GOOS, f); !ok {
			flags.Config[i], _ = filepath.Abs(f)
		}
	}
}

// tellTyping tells a person who started a session in a terminal what it waits for.
func tellTyping(c terminal.Console, s *lifecycle.Session) {
	if c.InputIsTerminal() {
		call := "mcp-jail call SERVER"
		if !s.Known.FromCommandLine {
			call = show.Typed("mcp-jail call", s.Profile.Server)
		}
		c.Sayf("waiting for an MCP client on standard input. Ctrl-C ends it. `%s` calls a tool by hand", call)
		s.Typed = "that line is not an MCP message: a client writes JSON here, one message a line. Ctrl-C ends mcp-jail"
	}
}

func refuse(c terminal.Console, t *session.Target, name string, err error, log *session.Log) confine.Exit {
	session.RefuseInto(c, t, name, err, log)
	return confine.Exit{Code: terminal.Status(err)}
}
