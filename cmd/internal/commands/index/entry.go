package index

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/clients/ownfile"
	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// An Entry is a server as the file of a client declares it.
type Entry struct {
	File *wrapping.File
	wrapping.Entry

	judge func() wrapping.Verdict
	line  clients.Wrapped   // with the values of the client's variables that are known here
	flags *cmdline.RunFlags // of mcp-jail run in the line
	err   error             // of these flags
	home  string

	servers config.Servers // of the index
}

// Verdict returns how the entry starts its server. What wrap would make of one without mcp-jail takes a millisecond, so an entry
// is judged at the first call of Verdict.
func (e *Entry) Verdict() wrapping.Verdict { return e.judge() }

// signature tells entries without a key apart: two with one start the same server in the same way.
func (e *Entry) signature() string {
	return fmt.Sprintf("\x00%q %v %q %q %q %t", e.Argv(), e.Env, e.EnvFile, e.Cwd, e.For, e.File.IsProject())
}

// Entry returns the entry of a file; nil if it starts another server.
func (s *Server) Entry(f *wrapping.File, e wrapping.Entry) *Entry {
	for _, o := range s.Entries {
		if o.File == f && o.Key() == e.Key() {
			return o
		}
	}
	return nil
}

// Line returns the command line of the server, with the values of the client's variables.
func (e *Entry) Line() clients.Wrapped { return e.line }

// Configuration returns the files of configuration that the line chooses by --config; nil for the usual ones.
func (e *Entry) Configuration() []string {
	if e.flags == nil {
		return nil
	}
	return e.flags.Config
}

// Brings returns the flags by which the file of a project or plugin, and not the user, gives the server more than the default
// policy.
func (e *Entry) Brings() []string {
	if !e.File.IsProject() || e.flags == nil || e.line.Argv == nil {
		return nil
	}
	f := e.flags.PolicyFlags
	more := cmdline.PolicyFlags{Read: f.Read, Write: f.Write, Execute: f.Execute, Net: f.Net, Inbound: f.Inbound, Env: f.Env, Workspace: f.Workspace, Preset: f.Preset, Home: f.Home}
	if words := more.Words(); words != nil {
		return terminal.ShownWords(words)
	}
	return nil
}

// Place returns the file of the entry, with its line.
func (e *Entry) Place() string {
	return fmt.Sprintf("%s, line %d", show.Name(cli.ShortPath(e.File.Path, e.home)), e.Entry.Line)
}

// JailedEntry returns the entry of a server that starts in a jail of this mcp-jail: of those that a client calls by the word, if any
// is called so. The error says why none does, and what to do.
func (s *Server) JailedEntry(word string) (*Entry, error) {
	if len(s.Entries) == 0 {
		line := show.Spelled(terminal.ShownWords(append([]string{"mcp-jail", "plan", "--"}, s.Words...)))
		if s.File != nil && s.Words != nil {
			line = show.Spelled(terminal.ShownWords(append([]string{"mcp-jail", "plan", "--id", s.Key, "--"}, s.Words...)))
		}
		if s.Dir != "" {
			line = show.InDir(s.Dir, line)
		}
		return nil, terminal.UsageErrorf("no client starts %s. To see what it may use:\n  %s", s.Title(), line)
	}
	called := slices.DeleteFunc(slices.Clone(s.Entries), func(e *Entry) bool { return e.Server != word })
	if len(called) == 0 {
		called = s.Entries
	}
	var said []string
	for _, e := range called {
		why := e.whyOpen()
		if why == "" {
			return e, nil
		}
		said = append(said, fmt.Sprintf("%s of %s (%s) %s", ServerTitle(e.Entry), e.File.Client.Title, e.Place(), why))
	}
	return nil, terminal.UsageErrorf("%s", strings.Join(said, "\n"))
}

// whyOpen says why an entry does not start its server in a jail of this mcp-jail, or "".
func (e *Entry) whyOpen() string {
	wrap := show.Typed("mcp-jail wrap --server", e.Server)
	switch v := e.Verdict(); {
	case v.IsRepaired():
		return strings.TrimSpace(WhyUnclear(v, e.home)) + ". To put this mcp-jail there:  " + wrap
	case v.IsUnclear():
		return strings.TrimSpace(WhyUnclear(v, e.home))
	case v.State == wrapping.Unjailed:
		return "starts without a jail, and can reach what you can: put mcp-jail in front first, with  " + wrap
	case v.State != wrapping.Jailed:
		return "starts without a jail, and can reach what you can: it " + show.Line(string(v.Why))
	case e.err != nil:
		return "cannot start: " + e.err.Error()
	}
	return ""
}

// Unclear says of each entry of a server whose command line starts mcp-jail why it does not start, or may start without
// this jail.
func (s *Server) Unclear() (said []string) {
	for _, e := range s.Entries {
		if e.Verdict().IsUnclear() {
			said = append(said, fmt.Sprintf("%s of %s (%s) %s", show.Name(e.Server), e.File.Client.Title, e.Place(), e.whyOpen()))
		}
	}
	return said
}

// WhyUnclear says why the server of an entry does not start, or may start without this jail. The text
// continues one that begins with its name.
func WhyUnclear(v wrapping.Verdict, home string) string {
	text := " may start without this jail: it "
	if v.State == wrapping.Gone {
		text = " cannot start: it "
	}
	return text + show.Line(terminal.ShortHome(string(v.Why), home))
}

// PlanLine returns the command line that plans the server as its client starts it, with more
// flags.
func (e *Entry) PlanLine(more []string) string {
	words := append([]string{"mcp-jail", "plan"}, e.line.Flags...)
	return show.Spelled(terminal.ShownWords(append(append(append(words, more...), "--"), e.line.Argv...)))
}

// UseEnv is [wrapping.File.UseEnv] for the entry.
func (e *Entry) UseEnv(keep bool) (restore func(), set int, err error) {
	return e.File.UseEnv(e.Entry, e.home, keep)
}

// Load loads the policy that the server gets from its client. It sets the variables of the entry
// in the environment of this process.
func (e *Entry) Load(waive []string) (*session.Target, error) {
	return e.LoadWith(config.LoadOptions{Servers: e.servers}, waive, "")
}

// LoadWith is Load for one tool, or for the whole server if tool is "", as session.LoadWith does it. Without Servers in the options,
// their files are read again.
func (e *Entry) LoadWith(o config.LoadOptions, waive []string, tool string) (t *session.Target, err error) {
	if err = e.err; err == nil {
		_, _, err = e.UseEnv(false)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", e.Place(), err)
	}
	common := e.flags.ConfigFlags
	common.Waive = append(append([]string{}, common.Waive...), waive...)
	name, server := "", cmdline.Server{Given: true, Argv: e.line.Argv}
	if e.line.Argv == nil { // it starts a server of the configuration
		name, server = e.line.Name, cmdline.Server{}
	}
	if t, err = session.LoadWith(o, common, e.flags.PolicyFlags, name, tool, server); err != nil {
		return nil, fmt.Errorf("%s: %w", e.Place(), err)
	}
	return t, nil
}

// CheckLog returns the error of a start whose log is in a file that cannot be one.
func (e *Entry) CheckLog() error {
	if !filepath.IsAbs(e.flags.LogFile) {
		return nil
	}
	if err := session.CheckLog(e.flags.LogFile); err != nil {
		return session.LogError(err)
	}
	return nil
}

// InPath returns what PATH has for a start of the server by its client, as far as the entry says: see
// policy.Profile.InPath.
func (e *Entry) InPath() map[string]string {
	restore, _, err := e.UseEnv(false)
	defer restore()
	if err != nil || e.flags == nil || e.flags.ID == "" || len(e.line.Argv) == 0 {
		return nil
	}
	return session.FindPrograms(e.line.Argv)
}

// Write writes the files of changes that command makes. It returns the changes that were written. If one file cannot be
// written, it goes on with the others.
func Write(c terminal.Console, host hostfs.Host, command string, changes []*wrapping.Change) (written []*wrapping.Change, err error) {
	var failed []error
	for _, ch := range changes {
		if len(ch.Changed()) == 0 {
			continue
		}
		if ch.Rewrites() {
			_, err := ch.Write(host.StateDir, time.Now())
			var written *wrapping.WrittenError
			if errors.As(err, &written) {
				c.Notef("warning: %s was changed, but mcp-jail could not note that: %s", cli.ShortPath(ch.File.Path, host.Home), show.Line(err.Error()))
			} else if err != nil {
				failed = append(failed, &unchangedError{ch.File.Path, command, err})
				continue
			}
		}
		written = append(written, ch)
	}
	return written, errors.Join(failed...)
}

// An unchangedError is about a file that could not be written.
type unchangedError struct {
	path, command string
	err           error
}

func (e *unchangedError) Error() string {
	text := e.path + " was not changed"
	switch {
	case errors.Is(e.err, ownfile.ErrChanged):
		text += ": you or its client have changed it meanwhile. To go on:"
	case errors.Is(e.err, syscall.ENOSPC):
		text += ": the disk is full.\nFree some space, then run:"
	default:
		return text + ": " + strings.TrimPrefix(e.err.Error(), e.path+" is refused: ")
	}
	return text + "\n  mcp-jail " + e.command
}

func (e *unchangedError) Unwrap() error { return e.err }

// ServerTitle returns the name of an entry, for a line of text.
func ServerTitle(e wrapping.Entry) string {
	if e.Server == "" {
		return "(no name)"
	}
	return show.Name(e.Server)
}

// longLine is the length of a line above which a diff is hard to read.
const longLine = 400

// DiffText returns the diff of a file in colours. If the file is a single line, or has several servers
// in one long line, it has the command lines of the servers instead.
func DiffText(c terminal.Console, ch *wrapping.Change) string {
	diff := ch.Diff()
	// A whole file in one line would be one line of the difference.
	oneLine := !bytes.Contains(bytes.TrimSpace(ch.After), []byte{'\n'})
	if oneLine || slices.ContainsFunc(strings.Split(diff, "\n"), func(l string) bool { return len(l) > longLine }) {
		path := show.Name(ch.File.Path)
		diff = fmt.Sprintf("--- %s\n+++ %s\n", path, path)
		for _, s := range ch.Changed() {
			diff += "-" + ServerTitle(s.Entry) + ": " + terminal.ShownLine(s.Argv()) + "\n+" + ServerTitle(s.Entry) + ": " + terminal.ShownLine(s.After) + "\n"
		}
	}
	return paintDiff(c, diff)
}

// paintDiff returns a diff in colours.
func paintDiff(c terminal.Console, diff string) string {
	var b strings.Builder
	for line := range strings.Lines(diff) {
		line = show.Line(cli.Clip(strings.ReplaceAll(strings.TrimRight(line, "\r\n"), "\t", "    "), 2*longLine))
		switch {
		case strings.HasPrefix(line, "+"):
			line = c.Paint(terminal.Green, line)
		case strings.HasPrefix(line, "-"):
			line = c.Paint(terminal.Red, line)
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}
