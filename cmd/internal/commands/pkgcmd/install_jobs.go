package pkgcmd

import (
	"context"
	"errors"
	"iter"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/packages/install"
	"github.com/mcp-jail/mcp-jail/packages/installed"
	"github.com/mcp-jail/mcp-jail/packages/lockfile"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// atOnce is how many packages are fetched at once. While one unpacks, another uses the line.
const atOnce = 4

// job is the installation of one package. begin prepares it beside others; finish says what it came
// to.
type job struct {
	wanted
	host     hostfs.Host
	progress *installProgress
	after    <-chan struct{} // closed when the job before with the same package is done; may be nil
	prepared chan struct{}   // closed when the fields below are set
	finished chan struct{}   // closed when it was said what the job came to

	installer *install.Installer
	result    *install.Result
	update    *install.Update
	changes   []lockfile.Change // of update
	tools     toolsFound
	err       error
	stopped   bool // by the user
	mended    bool // what was stored was not what is pinned
}

// jobs are the installations of one command.
type jobs struct {
	all      []*job
	board    *progressBoard
	inOrder  bool
	prepared chan *job // in the order in which they were prepared
}

// begin starts the installations, at most atOnce at once. The caller finishes all of them.
func (i *installCmd) begin(ctx context.Context, c terminal.Console, host hostfs.Host, all []wanted) *jobs {
	r := &jobs{board: &progressBoard{console: c, all: len(all)}, inOrder: !i.update, prepared: make(chan *job, len(all))}
	last := map[lockfile.Key]*job{}
	for _, w := range all {
		j := &job{wanted: w, host: host, progress: r.board.add(w.name), prepared: make(chan struct{}), finished: make(chan struct{})}
		key := installed.Key(&w.line, &host)
		if before := last[key]; before != nil {
			j.after = before.prepared
			if i.update {
				j.after = before.finished // until then it holds the stage of the package
			}
		}
		last[key] = j
		r.all = append(r.all, j)
	}
	slots := make(chan struct{}, atOnce)
	go func() {
		for _, j := range r.all {
			slots <- struct{}{}
			go func() {
				j.err = i.prepare(ctx, j)
				j.stopped = ctx.Err() != nil
				j.progress.end()
				close(j.prepared)
				r.prepared <- j
				<-slots
			}()
		}
	}()
	return r
}

// finished returns the jobs in the order in which they are finished. That is the order of the
// command line. Updates come as they are prepared: each holds the stage of its package until it is
// finished, and another process may wait for that while it holds another stage.
func (r *jobs) finished() iter.Seq[*job] {
	return func(yield func(*job) bool) {
		for _, j := range r.all {
			if r.inOrder {
				<-j.prepared
			} else {
				j = <-r.prepared
			}
			if !yield(j) {
				return
			}
		}
	}
}

// prepare does what needs no answer of the user. It prints nothing but progress.
func (i *installCmd) prepare(ctx context.Context, j *job) error {
	if j.after != nil {
		select {
		case <-j.after:
		case <-ctx.Done():
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	t, err := j.load()
	if err != nil {
		return err
	}
	j.installer = i.installer(j.host, t, j.wanted, j.progress.show)
	j.installer.Waived = func(plan *confine.Plan) { j.progress.board.warn(session.WaivedGaps(plan)) }
	j.installer.NotUsed = func(line string) { j.progress.board.warn([]string{line}) }
	if i.update {
		if j.update, err = j.installer.Update(ctx, &j.line); err != nil {
			return err
		}
		if j.changes = j.update.Changes(); j.update.Old == nil || len(j.changes) > 0 { // the user decides with the new tools in view
			j.tools = i.tryUpdate(ctx, j.progress, j.wanted, j.update)
		}
		return nil
	}
	j.result, err = j.installer.Install(ctx, &j.line)
	var changed *install.ChangedError
	if errors.As(err, &changed) {
		j.mended = true
		j.result, err = j.installer.Repair(ctx, &j.line)
	}
	if err == nil {
		j.tools = i.pinTools(ctx, j.progress, j.wanted)
	}
	return err
}

// finish says what a job came to. For an update it asks the user. After an interruption it says what
// is complete.
func (i *installCmd) finish(ctx context.Context, c terminal.Console, j *job) error {
	if j.update == nil {
		j.progress.board.quietly(func() { i.finishInstall(c, j) })
		return i.withWaivers(j.err, j.wanted)
	}
	defer j.update.Close()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return i.withWaivers(i.finishUpdate(ctx, c, j), j.wanted)
}

func (i *installCmd) finishInstall(c terminal.Console, j *job) {
	if j.result != nil {
		for _, refused := range j.result.Refused {
			c.Printf("  %s\n", show.Line(refused.String()))
		}
	}
	if j.result == nil || j.err != nil {
		return
	}
	what := "is ready"
	switch {
	case j.mended:
		what = "is ready again"
	case !j.result.Fetched:
		what = "was ready already"
	}
	if j.stopped && !j.tools.listed {
		j.tools = toolsFound{remark: "its tools are pinned at its first session"}
	}
	j.ready(c, what, j.result.Entry, j.tools)
	for _, name := range j.result.Skipped {
		c.Printf("  the install script of %s did not run (--install-scripts runs it)\n", show.Line(name))
	}
}

func (i *installCmd) finishUpdate(ctx context.Context, c terminal.Console, j *job) (err error) {
	u, board := j.update, j.progress.board
	accepted := false
	board.quietly(func() {
		if u.Old != nil && len(j.changes) == 0 {
			c.Printf("%s %s is the newest already%s\n", u.Old.Name, u.Old.Version, allowed(&j.line))
			return
		}
		j.sayUpdate(c)
		if !i.yes {
			err = cli.Confirm(ctx, c, "Use "+u.New.Name+" "+u.New.Version+" from now on?")
		}
		accepted = err == nil
	})
	if !accepted {
		return err
	}
	if err := j.installer.Accept(u); err != nil {
		return err
	}
	found := i.pinTools(ctx, j.progress, j.wanted)
	j.progress.end()
	if ctx.Err() == nil {
		board.quietly(func() { j.ready(c, "is ready", u.New, found) })
	}
	return nil
}

// sayUpdate says what an update changes.
func (j *job) sayUpdate(c terminal.Console) {
	u := j.update
	c.Printf("%s\n", c.Paint(terminal.Bold, u.New.Name+" "+u.New.Version))
	for _, change := range j.changes {
		c.Printf("  %s\n", show.Line(change.Text))
	}
	for _, s := range u.Signals {
		c.Printf("  %s %s\n", c.Paint(terminal.Yellow, "note:"), show.Line(s.String()))
	}
	if u.SignalsErr != nil {
		c.Printf("  %s what the registry says against this version could not be found out: %s\n", c.Paint(terminal.Yellow, "note:"), show.Lines(u.SignalsErr.Error()))
	}
	for _, name := range u.Scripts {
		c.Printf("  %s brings a script for its installation\n", show.Line(name))
	}
	for _, refused := range u.Refused {
		c.Printf("  %s\n", show.Line(refused.String()))
	}
	for _, text := range j.tools.more {
		c.Printf("  %s\n", show.Line(text))
	}
	if j.tools.remark != "" {
		c.Printf("  %s %s\n", c.Paint(terminal.Yellow, "note:"), show.Line(j.tools.remark))
	}
}
