package commands

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/undo"
)

type undoCmd struct {
	server     string // as it was typed; "" is all
	paths      []string
	session    string
	call       int    // a number in the session
	callText   string // as it was typed
	list, diff bool
	format     string // of the list
	yes        bool

	index *index.Index
}

// Undo returns the command undo.
func Undo(line *cli.CommandLine) *cobra.Command {
	u := &undoCmd{}
	cmd := line.Command("undo [options] [NAME [PATH...]]", cli.AnyNumber, false, func(args []string) error {
		if u.server = cli.FirstOf(args); len(args) > 0 {
			u.paths = args[1:]
		}
		return u.run(line.Console)
	})
	cmd.Long = `NAME is the name of a server whose policy has undo = "session" or undo = "call".
Without it, undo takes the session that began last, of any server. With PATHs it
restores only these, and what is below them.

undo shows what it will do, and asks. It skips a file that has changed since the
server changed it, and says so. Name that PATH to restore it all the same.
With --yes, undo always skips such a file.

What undo replaces is stored as a session too, so you can undo the undo. The exit
status is 1 if a path was skipped.`
	cmd.Example = `    mcp-jail undo --list
    mcp-jail undo filesystem
    mcp-jail undo filesystem src/main.go
    mcp-jail undo filesystem --call 3`
	f := cmd.Flags()
	f.BoolVar(&u.list, "list", false, "List what servers changed, and change nothing")
	f.BoolVar(&u.diff, "diff", false, "With --list: also show how the files differ from now")
	const only = "Only this session, or this call of it: see --list"
	cli.AddFlags(cmd,
		cmdline.Flag{Name: "session", Value: "ID", One: &u.session, Usage: only},
		cmdline.Flag{Name: "call", Value: "N", One: &u.callText, Usage: only},
		cli.FormatFlag(&u.format))
	f.BoolVar(&u.yes, "yes", false, "Restore without asking, for scripts")
	return cmd
}

func (u *undoCmd) conflicts() (err error) {
	if u.callText != "" {
		if u.call, err = strconv.Atoi(u.callText); err != nil || u.call < 0 {
			return terminal.UsageErrorf("--call %s: a call is a number, as undo --list shows it", u.callText)
		}
	}
	switch {
	case u.diff && !u.list:
		return terminal.UsageErrorf("--diff is for --list")
	case u.format == "json" && (!u.list || u.diff):
		return terminal.UsageErrorf("--format json is for --list, without --diff")
	case u.yes && u.list:
		return terminal.UsageErrorf("--list changes nothing, so --yes is not for it")
	}
	return nil
}

func (u *undoCmd) run(c terminal.Console) (err error) {
	if err := u.conflicts(); err != nil {
		return err
	}
	for i, path := range u.paths {
		if u.paths[i], err = realPath(path); err != nil {
			return err
		}
	}
	if u.index, err = index.Read(); err != nil {
		return err
	}
	all, err := u.sessions(c)
	if err != nil {
		return err
	}
	chosen, err := u.choose(all)
	switch {
	case err != nil:
		return err
	case u.list && u.format == "json":
		cli.PrintJSON(c, u.listed(chosen, undoneBy(all)))
		return nil
	case u.list:
		u.printList(c, chosen, undoneBy(all))
		return nil
	}
	last := slices.IndexFunc(chosen, func(s *undo.Session) bool {
		return u.session != "" || s.Head.Undoes == "" && !(s.Empty() && !s.Damaged)
	})
	if last < 0 {
		c.PrintText(nothingStored + "\n")
		return nil
	}
	return u.restore(c, chosen[last])
}

// realPath returns the absolute path, with real directories, as journals have it. The last component may itself be a link
// that was changed.
func realPath(path string) (string, error) {
	path, err := session.AbsolutePath(path)
	if err != nil {
		return "", err
	}
	if dir, err := filepath.EvalSymlinks(filepath.Dir(path)); err == nil {
		path = filepath.Join(dir, filepath.Base(path))
	}
	return path, nil
}

// choose returns the sessions that the flags select, the latest first.
func (u *undoCmd) choose(all []*undo.Session) ([]*undo.Session, error) {
	list := "mcp-jail undo --list"
	if u.session != "" {
		if all = slices.DeleteFunc(slices.Clone(all), func(s *undo.Session) bool { return s.ID != u.session }); len(all) == 0 {
			return nil, fmt.Errorf("there is no session %q. To see all sessions:\n  %s", u.session, list)
		}
	}
	if u.call != 0 {
		isOther := func(s *undo.Session) bool {
			return !slices.ContainsFunc(s.Calls, func(c undo.Call) bool { return c.Number == u.call })
		}
		if all = slices.DeleteFunc(slices.Clone(all), isOther); len(all) == 0 {
			return nil, fmt.Errorf("no session has a call %d. To see all calls:\n  %s", u.call, list)
		}
	}
	return all, nil
}

func (u *undoCmd) restore(c terminal.Console, s *undo.Session) error {
	sel := undo.Selection{Call: u.call, Paths: u.paths}
	for _, path := range u.paths {
		if one := (undo.Selection{Call: u.call, Paths: []string{path}}); len(s.Changes(one)) == 0 {
			return fmt.Errorf("nothing was restored: session %s changed nothing at %s. To see what it changed:\n  %s", s.ID, show.Quote(path), u.line("--list --session "+s.ID, s.Head.Server))
		}
	}
	if !u.yes { // a person is asked about these
		sel.Take = u.paths
	}
	r := undo.NewRestorer(s, sel, u.forbidden(s.Head.Server))
	c.PrintText(terminal.ShortHome(u.text(s, r.Steps), u.index.Host.Home))
	printDamage(c, s)
	files := len(undo.Those(r.Steps, undo.Restore, undo.Remove))
	todo := files + len(undo.Those(r.Steps, undo.Clear))
	switch {
	case todo == 0 && len(r.Steps) > 0:
		return errors.New("nothing was restored: every path that differs was skipped, for the reason above")
	case todo == 0 && s.Damaged:
		return errUnknown
	case todo == 0:
		c.Printf("Your files are as they were before session %s already. To see the others:\n  mcp-jail undo --list\n", s.ID)
		return nil
	}
	if !u.yes {
		question := "Remove that?"
		if files > 0 {
			question = fmt.Sprintf("Restore %s?", cli.Plural(files, "file"))
		}
		if err := cli.Confirm(context.Background(), c, question); err != nil {
			return err
		}
	}
	stored, err := r.Run()
	if err != nil {
		return err
	}
	return u.report(c, s, r.Steps, stored)
}

// text says what the server did and what comes back. Steps that are refused are in it, with their reasons.
func (u *undoCmd) text(s *undo.Session, steps []undo.Step) string {
	if len(steps) == 0 {
		return ""
	}
	text := ""
	if changed := len(steps) - len(undo.Those(steps, undo.Clear)); changed > 0 {
		text = fmt.Sprintf("%s changed %s %s. ", show.Name(u.index.NameOf(s.Head.Server)), cli.Plural(changed, "file"), cli.DayText(time.Now(), s.Started))
	}
	text += group("Your earlier version comes back:", steps, undo.Restore)
	text += group("This was made, and is removed:", steps, undo.Remove)
	text += group("An undo that was killed has left this, and it is removed:", steps, undo.Clear)
	text += group("This is skipped:", steps, undo.Refuse)
	for _, step := range steps {
		if step.Action != undo.Refuse && step.Foreign {
			text += show.Name(step.Path) + " is replaced because you named it.\n"
		}
	}
	if i := slices.IndexFunc(steps, func(s undo.Step) bool { return s.Action == undo.Refuse && s.Foreign }); i >= 0 {
		text += "To restore such a file all the same, name it:\n  " + u.again(u.session, s.Head.Server, steps[i].Path) + "\n"
	}
	if len(undo.Those(steps, undo.Restore, undo.Remove)) > 0 {
		text += "What is there now is stored, so you can undo this too.\n"
	}
	return text
}

func group(title string, steps []undo.Step, action undo.Action) string {
	rows := ""
	for _, step := range steps {
		if step.Action == action {
			rows += "  " + show.Line(stepText(step)) + "\n"
		}
	}
	if rows == "" {
		return ""
	}
	return title + "\n" + rows
}

func stepText(step undo.Step) string {
	text := show.Name(step.Path)
	if step.Others && step.Action != undo.Refuse {
		text += " (changed by others meanwhile; their version comes back, and the first one if you name it)"
	}
	if why := step.Why + step.Partly; why != "" {
		text += ": " + why
	}
	return text
}

// report says what was restored, and how to take that back.
func (u *undoCmd) report(c terminal.Console, s *undo.Session, steps []undo.Step, stored string) error {
	failed := 0
	for _, step := range steps {
		if step.Err == nil {
			continue
		}
		failed++
		what := "was not restored: "
		if errors.Is(step.Err, undo.ErrHalf) {
			what = ""
		}
		c.Errorf("%s %s%s", show.Name(step.Path), what, show.Line(step.Err.Error()))
	}
	isFailed := func(s undo.Step) bool { return s.Err != nil }
	if restored := slices.DeleteFunc(undo.Those(steps, undo.Restore, undo.Remove), isFailed); len(restored) > 0 {
		c.Printf("Restored %s.\n", cli.Plural(len(restored), "file"))
	}
	if failed > 0 { // what was there before may be in no place but the session
		c.Printf("To run it again:\n  %s\n", u.again(s.ID, s.Head.Server, u.paths...))
	}
	if stored != "" {
		c.Printf("To undo this:\n  %s\n", u.line("--session "+stored, s.Head.Server))
	}
	skipped := len(undo.Those(steps, undo.Refuse)) + failed
	switch {
	case skipped > 0:
		return fmt.Errorf("%s not restored, for the reasons above", cli.Plural(skipped, "file"))
	case s.Damaged:
		return errUnknown
	case slices.ContainsFunc(steps, func(s undo.Step) bool { return s.Others }):
		return errors.New("a file that others had changed meanwhile has their version")
	case slices.ContainsFunc(steps, func(s undo.Step) bool { return s.Partly != "" }):
		return errors.New("set-user-ID and set-group-ID bits were not restored, for the reason above")
	}
	return nil
}

// errUnknown is the error of an undo of a session with gaps.
var errUnknown = errors.New("not everything is known of this session, so not every file may be as it was")

// again is the command undo for the same call of a session of the server with a key. session is "" for the last one.
func (u *undoCmd) again(session, key string, paths ...string) string {
	line := "mcp-jail undo"
	if session != "" {
		line += " --session " + session
	}
	if u.call != 0 {
		line += fmt.Sprintf(" --call %d", u.call)
	}
	return show.Typed(line, append([]string{u.index.NameOf(key)}, paths...)...)
}

// line is the command undo, with flags, for the server with a key.
func (u *undoCmd) line(flags, key string) string {
	return show.Typed("mcp-jail undo "+flags, u.index.NameOf(key))
}

// forbidden returns a function that says why the policy of the server with a key does not let the server make or change a
// path with a protected name now. Without such a path the policy is not asked.
func (u *undoCmd) forbidden(key string) func(path string) string {
	resolve := sync.OnceValue(func() *policy.Profile { return u.profile(key) })
	everywhere := policy.Profile{Entries: []policy.Entry{{Path: "/", Rights: policy.AllRights, Origin: policy.OriginRule}}}
	return func(path string) string {
		if !everywhere.Protects(policy.OpCreate, path) {
			return ""
		}
		if p := resolve(); p == nil || p.Mediate(policy.OpCreate, path) != policy.Granted {
			return "the server's policy protects this name now"
		}
		return ""
	}
}

// profile returns what the policy of a server is now; nil if it has none that can be told.
func (u *undoCmd) profile(key string) *policy.Profile {
	s := u.index.WithKey(key)
	if s == nil {
		return nil
	}
	var t *session.Target
	var err error
	if s.Table != nil {
		t, err = session.Load(cmdline.ConfigFlags{}, cmdline.PolicyFlags{}, s.Table.Name, "", cmdline.Server{})
	} else if e := s.EntryByName(); e != nil {
		t, err = e.Load(nil)
	}
	if err == nil && t != nil && t.Resolve() == nil {
		return t.Profile
	}
	return nil
}
