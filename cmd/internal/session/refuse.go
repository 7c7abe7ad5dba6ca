package session

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/lifecycle"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// Refuse reports why no server was started. It writes the diagnosis to standard
// error and, if the server is known, to its own record, and answers the client's requests
// with it: most clients never show standard error.
func Refuse(c terminal.Console, t *Target, name string, err error) { RefuseInto(c, t, name, err, nil) }

// RefuseInto is Refuse, and tells a log.
func RefuseInto(c terminal.Console, t *Target, name string, err error, log *Log) {
	in, out, errs := c.Raw()
	s := lifecycle.Session{In: in, Out: out, Err: errs}
	if c.ErrIsTerminal() {
		s.Fold = c.FoldMessages
	}
	if t != nil && t.Policy != nil {
		name = t.Policy.Server
	}
	if t != nil && t.Policy != nil {
		record := NewRecorder(t)
		record.MarkStart()
		s.Sink, s.Lost, s.ClientNamed = record.Save, record.LastError, record.ClientNamed
	}
	log.Take(&s, t)
	lifecycle.Refuse(context.Background(), s, t.Refusal(name, err))
	log.End(confine.Exit{Code: terminal.Status(err)}, err)
}

// Check returns the error with which the start of a resolved target would end before its jail is built, beside those of its
// plan. It changes nothing.
func (t *Target) Check(ctx context.Context, plan *confine.Plan) error {
	_, err := t.programs(t.Profile)
	if err == nil {
		err = t.refuseHome(unmade(filepath.Dir(t.homePath())))
	}
	if err == nil {
		err = confine.CheckStart(plan)
	}
	if err == nil {
		err = t.Package.Check(ctx)
	}
	return err
}

// unmade returns the error of making a directory in which it cannot be made.
func unmade(dir string) error {
	if mayUse(dir, policy.Write) {
		return nil
	}
	for parent := filepath.Dir(dir); !pathExists(parent); parent = filepath.Dir(dir) {
		dir = parent
	}
	return &fs.PathError{Op: "mkdir", Path: dir, Err: syscall.EACCES}
}

// Refusal returns the diagnosis of an error that prevents the start of a server. t may be nil.
func (t *Target) Refusal(server string, err error) diagnostics.Diagnosis {
	if advised := (*terminal.AdvisedError)(nil); errors.As(err, &advised) {
		d := t.Refusal(server, advised.Err)
		d.Fix = advised.Fix
		return d
	}
	var usage *terminal.UsageError
	var workspace *resolve.WorkspaceError
	var missing *resolve.CommandError
	var host *terminal.HostError
	var unknown *config.UnknownServerError
	var install *Error
	var owner *hostfs.OwnerError
	var beside *resolve.BesideError
	switch {
	case errors.As(err, &workspace):
		d := diagnostics.ConfigFailure(server, err.Error())
		d.What, d.Fix = "the project folder cannot be used", "make that folder, or name another one"
		return d
	case errors.As(err, new(*records.WordsError)), errors.As(err, new(*ProgramError)), errors.As(err, new(*config.UnknownIDError)), errors.As(err, new(*config.UntrustedError)):
		return configFailure(server, err)
	case errors.As(err, &usage):
		return diagnostics.UsageFailure(server, err.Error())
	case errors.As(err, new(*confine.GapError)), errors.As(err, new(*confine.StartError)):
		ev := diagnostics.Evidence{Server: server, System: runtime.GOOS}
		if t != nil && t.Profile != nil {
			ev = t.evidence()
		}
		d, _ := lifecycle.StartFailure(ev, err)
		return d
	case errors.As(err, &unknown):
		d := diagnostics.ConfigFailure(server, err.Error())
		d.Fix = "name a configured server, or give the command itself (mcp-jail run -- COMMAND). To try a server of a client: " + show.Typed("mcp-jail call", unknown.Server)
		return d
	case errors.As(err, &owner) && owner.Role != "":
		d := diagnostics.ConfigFailure(server, err.Error())
		d.What, d.Fix = "another user has control over a directory of mcp-jail's own", "" // the cause says what to do
		return d
	case errors.As(err, &beside):
		d := diagnostics.ConfigFailure(server, err.Error())
		// The cause says what to do.
		d.What, d.Fix = "the preset does not grant a directory that is not for this server alone", ""
		return d
	case errors.As(err, &install):
		d := diagnostics.ExecFailure(server, install.Reason, "")
		d.Fix, d.Explain = install.Fix, diagnostics.PagePackageInstall
		return d
	case errors.As(err, &missing):
		d := execFailure(server, missing, t != nil && t.Policy != nil && t.Policy.FromCommandLine)
		if t != nil && t.Package.notPinned() != "" { // else the launcher itself would not be needed
			d.Detail = append(d.Detail, show.Line(t.Package.notPinned()))
		}
		return d
	case errors.As(err, &host):
		d := diagnostics.JailFailure(server, err.Error(), nil)
		d.Fix = "" // the default fix is about missing kernel features
		return d
	}
	return configFailure(server, err)
}

func configFailure(server string, err error) diagnostics.Diagnosis {
	d := diagnostics.ConfigFailure(server, err.Error())
	var untrusted *config.UntrustedError
	var conflict *policy.ConflictError
	var words *records.WordsError
	var program *ProgramError
	switch {
	case errors.As(err, &untrusted):
		d.What, d.Detail, d.Explain = notStarted(server), nil, diagnostics.PageTrust
		d.Fix = "to read what it allows, and then decide: " + untrusted.Command()
	case errors.As(err, &conflict):
		d.Explain = diagnostics.PageConflict
	case errors.As(err, &words):
		d.What, d.Cause, d.Detail = notStarted(cmp.Or(words.Name, words.ID)), "its command is not the one that you wrapped", words.Lines()
		d.Fix = "if the new command is yours, write it into your client's file and run: mcp-jail wrap"
	case errors.As(err, &program):
		d.What, d.Cause, d.Detail, d.Fix = notStarted(server), program.cause(), program.lines(), program.fix()
	case errors.As(err, new(*config.UnknownIDError)):
		d.Fix = "put the file back, or run: mcp-jail wrap"
	}
	return d
}

// notStarted is what happened to a server that has a name, or none.
func notStarted(server string) string { return diagnostics.JailFailure(server, "", nil).What }

// Misuse reports a mistake on the command line and returns terminal.Usage. If an MCP client probably
// started mcp-jail, the client gets the error as the response to its first request.
func Misuse(c terminal.Console, args []string, server cmdline.Server, err error) int {
	msg := err.Error()
	client := len(args) == 0 || args[0] == "run"
	if hint := cmdline.MissingDashes(args, server); hint != "" {
		msg = hint
		// An executable in place of a subcommand: the user forgot run and --.
		client = client || args[0] != "plan" && args[0] != "install" && cmdline.IsInPath(args[0]) && !c.InputIsTerminal()
	}
	if client {
		Refuse(c, nil, "", terminal.UsageErrorf("%s", msg))
		return terminal.Usage
	}
	if len(args) > 0 && slices.Contains(cmdline.Commands(), args[0]) {
		msg += "\nAll options of " + args[0] + ":\n  mcp-jail " + args[0] + " --help"
	}
	c.Errorf("%s", msg)
	return terminal.Usage
}

// execFailure returns the diagnosis of a program that cannot be started. If the error has no fix
// of its own, and isTyped says that the program is named after --, the fix says so.
func execFailure(server string, e *resolve.CommandError, isTyped bool) diagnostics.Diagnosis {
	// A name with a blank in it may be a whole line, with secrets.
	if where, ok := show.TypedOK("command -v", e.Command); ok && !strings.Contains(e.Command, " ") && e.Reason == "was not found" && len(e.Path) > 0 && !e.Refused {
		of := "that its client gives it"
		if isTyped {
			of = "here"
		}
		return diagnostics.ExecFailure(server, "the PATH "+of+" has no program "+show.Name(e.Command), strings.TrimSpace(e.Fix+" Install it. If a terminal finds it, write the full path in place of the name: "+where))
	}
	fix := e.Fix
	if fix == "" && isTyped {
		fix = "install the program, or correct its name after `--`"
	}
	bare := *e
	bare.Fix = ""
	return diagnostics.ExecFailure(server, bare.Error(), fix)
}
