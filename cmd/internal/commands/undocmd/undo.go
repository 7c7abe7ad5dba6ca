// Package undocmd has the commands about what servers with undo changed: changes and undo.
package undocmd

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/keeping"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/undo"
)

type undoCmd struct {
	kept
	paths   []string
	session string
	call    int
	others  bool
	yes     bool
	format  string
}

func Undo(line *cli.CommandLine) *cobra.Command {
	u := &undoCmd{}
	cmd := line.Command("undo [flags] [SERVER [PATH...]]", "Put back what stood in your files before a server with undo changed them.", cli.AnyNumber, false, func(args []string) error {
		if u.server = cli.FirstOf(args); len(args) > 0 {
			u.paths = args[1:]
		}
		return u.Run(line.Console)
	})
	cmd.Long = `SERVER is the name of a server whose configuration has undo = "session" or
undo = "call". undo puts back what stood there before its last session: contents,
modes, names, links and times of files. Default: the session that began last, of
any server. With PATHs, only these, and what is below them.

undo shows what it is about to do, and asks. It leaves a file that was changed
after the server's last change, and says so. It follows no symbolic link, and
replaces each file in one step. If it is interrupted, run it again.

If others changed a path between two changes of the server, undo puts back what
stood there first, and says so; with --others, what they left.

What undo replaces is kept as a session of its own: --session with its name, which
undo prints at the end, takes the undo back. A session from before another one can
be undone when the later one is.

It sets no set-user-ID and set-group-ID bits of files, and no capabilities.

The exit status is 1 if a path was left as it was found or has lost such bits, or
if not everything is known of the session.

With --format json, undo does not ask. Without --yes it only tells what it would
do: an object with session, steps, and done.`
	cmd.Example = `    mcp-jail undo filesystem
    mcp-jail undo filesystem src/main.go
    mcp-jail undo filesystem --call 3
    mcp-jail undo filesystem --session 20261123-101845-7f15 --yes`
	f := cmd.Flags()
	f.StringVar(&u.session, "session", "", "Undo this session. `mcp-jail changes` shows them.")
	f.IntVar(&u.call, "call", 0, "Undo this call only: its number in the session.")
	f.BoolVar(&u.others, "others", false, "Put back what others left between two changes of the server.")
	f.BoolVar(&u.yes, "yes", false, "Do it without asking, for scripts.")
	cli.AddFlags(cmd, cli.FormatFlag(&u.format))
	cli.Propose(cmd, "session", proposeSessions(line))
	cli.Propose(cmd, "call", cobra.NoFileCompletions)
	cmd.ValidArgsFunction = proposeUndo
	return cmd
}

func (u *undoCmd) Run(c terminal.Console) error {
	host, err := hostfs.LocalHost()
	if err != nil {
		return err
	}
	s, err := u.find(c, host)
	if err != nil {
		return err
	}
	if u.call != 0 {
		if _, err := u.withCall([]*undo.Session{s}, u.call); err != nil {
			return err
		}
	}
	for i, path := range u.paths {
		if u.paths[i], err = session.AbsolutePath(path); err != nil {
			return err
		}
		// The journal has real directories. The last component may itself be a link that was changed.
		if dir, err := filepath.EvalSymlinks(filepath.Dir(u.paths[i])); err == nil {
			u.paths[i] = filepath.Join(dir, filepath.Base(u.paths[i]))
		}
	}
	sel := undo.Selection{Call: u.call, Paths: u.paths, Others: u.others}
	if err := u.checkPaths(s, sel); err != nil {
		return err
	}
	r, err := undo.NewRestorer(s, sel)
	if err != nil {
		return err
	}
	// Steps that are refused stay in the list, with their reasons.
	todo := len(r.Steps) - len(undo.Refused(r.Steps))
	if u.format == "json" {
		return u.runJSON(c, host, s, r)
	}
	u.show(c, s, r.Steps)
	if todo == 0 {
		if len(r.Steps) > 0 {
			return errors.New("nothing was changed: every path that differs is left, for the reason above")
		}
		if len(s.Gaps) > 0 {
			return errUnknown
		}
		c.Printf("nothing to undo: everything is as it was before\n")
		return nil
	}
	if !u.yes {
		if err := cli.Confirm(context.Background(), c, fmt.Sprintf("Do this to %s?", cli.Plural(todo, "path"))); err != nil {
			return err
		}
	}
	out, kept, err := r.Run(keeping.Store(host, s.Head.Server))
	if err != nil {
		return err
	}
	return u.report(c, s, r, out, kept)
}

func (u *undoCmd) find(c terminal.Console, host hostfs.Host) (*undo.Session, error) {
	all, err := u.sessions(c, host)
	if err != nil {
		return nil, err
	}
	if u.session != "" {
		if all, err = u.ofSession(all, u.session); err != nil {
			return nil, err
		}
		return all[0], nil
	}
	for _, s := range all {
		if s.Head.Undoes == "" && !(s.Empty() && len(s.Gaps) == 0) {
			return s, nil
		}
	}
	return nil, errors.New("nothing is kept of any server:\n" + howKept)
}

func (u *undoCmd) show(c terminal.Console, s *undo.Session, steps []undo.Step) {
	c.Printf("%s  session %s\n", c.Paint(terminal.Bold, show.Name(u.index.NameOf(s.Head.Server))), s.ID)
	for _, step := range steps {
		text := show.Name(step.Path)
		if step.From != "" {
			text = show.Name(step.From) + " -> " + text
		}
		if step.Others {
			text += "  (changed by others meanwhile)"
		}
		if step.Partly != "" {
			text += "  (" + step.Partly + ")"
		}
		if step.Action == undo.Refuse {
			c.Printf("  %s %s\n", c.Paint(terminal.Yellow, fmt.Sprintf("%-10s", "leave")), show.Line(text+": "+step.Why))
			continue
		}
		c.Printf("  %-10s %s\n", step.Action, show.Line(text))
	}
	showUnknown(c, s.Gaps)
	if slices.ContainsFunc(steps, func(step undo.Step) bool { return step.Others }) {
		if u.others {
			c.Printf("where others changed a path meanwhile, this puts back what they left\n")
		} else {
			c.Printf("where others changed a path meanwhile, this puts back what stood there first;\n--others puts back what they left\n")
		}
	}
}

// errUnknown is the error of an undo of a session with gaps.
var errUnknown = errors.New("not everything is known of this session, so not everything may be as it was")

func (u *undoCmd) checkPaths(s *undo.Session, sel undo.Selection) error {
	for _, path := range sel.Paths {
		one := sel
		one.Paths = []string{path}
		if !s.Touches(one) {
			return fmt.Errorf("session %s changed nothing at or below %q:\n`%s` shows what", s.ID, path, u.line("changes", s.Head.Server, s.ID))
		}
	}
	return nil
}

func (u *undoCmd) report(c terminal.Console, s *undo.Session, r *undo.Restorer, out []undo.Outcome, kept string) error {
	failed := 0
	for _, o := range out {
		if o.Err != nil {
			failed++
			c.Errorf("%s", show.Line(fmt.Sprintf("%s: not done: %s", o.Path, o.Err)))
		}
	}
	if failed < len(out) {
		c.Printf("done: %s\n", cli.Plural(len(out)-failed, "path"))
	}
	if kept != "" {
		c.Printf("to undo the undo: %s\n", u.line("undo", s.Head.Server, kept))
	}
	refused := len(undo.Refused(r.Steps))
	switch {
	case refused+failed > 0:
		return fmt.Errorf("%s left as found: see above. To put one back, mend the cause\n(of one that was changed: move away what stands there), and run undo again", cli.Plural(refused+failed, "path"))
	case len(s.Gaps) > 0:
		return errUnknown
	case slices.ContainsFunc(r.Steps, partly):
		return errPartly
	}
	return nil
}

func partly(step undo.Step) bool { return step.Partly != "" }

// errPartly is the error of an undo that did all its steps, and one of them not as a whole.
var errPartly = errors.New("set-user-ID and set-group-ID bits were not put back: see above")

// undoResult is the output of undo --format json.
type undoResult struct {
	Server  string     `json:"server"`
	Session string     `json:"session"`
	Steps   []undoStep `json:"steps"`
	Done    bool       `json:"done"`
	Unknown []undo.Gap `json:"unknown,omitempty"` // the gaps of the session
	Kept    string     `json:"kept,omitempty"`    // the session that undoes the undo
}

type undoStep struct {
	undo.Step
	Error string `json:"error,omitempty"`
}

func (u *undoCmd) runJSON(c terminal.Console, host hostfs.Host, s *undo.Session, r *undo.Restorer) error {
	result := undoResult{Server: s.Head.Server, Session: s.ID, Steps: []undoStep{}, Unknown: s.Gaps}
	errs := map[string]string{}
	// Without --yes it only tells what it would do.
	if u.yes && len(undo.Refused(r.Steps)) < len(r.Steps) {
		out, kept, err := r.Run(keeping.Store(host, s.Head.Server))
		if err != nil {
			return err
		}
		for _, o := range out {
			if o.Err != nil {
				errs[o.Path] = o.Err.Error()
			}
		}
		result.Done, result.Kept = true, kept
	}
	for _, step := range r.Steps {
		result.Steps = append(result.Steps, undoStep{step, errs[step.Path]})
	}
	cli.PrintJSON(c, result)
	if left := len(undo.Refused(r.Steps)) + len(errs); left > 0 && u.yes {
		return fmt.Errorf("%s left as found", cli.Plural(left, "path"))
	}
	switch {
	case len(s.Gaps) > 0 && u.yes:
		return errUnknown
	case u.yes && slices.ContainsFunc(r.Steps, partly):
		return errPartly
	}
	return nil
}
