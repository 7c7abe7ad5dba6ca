package pkgcmd

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"time"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/packages/install"
	"github.com/mcp-jail/mcp-jail/packages/installed"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/packages/store"
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
	changes   []string // of update
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
	last := map[store.Key]*job{}
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
	j.installer.Note = func(line string) { j.progress.board.warn([]string{line}) }
	if i.update {
		if j.update, err = j.installer.Update(ctx, &j.line); err != nil {
			return err
		}
		switch j.changes = j.update.Changes(); {
		case j.update.Old != nil && len(j.changes) == 0:
		case j.update.RunsScripts(): // without them it may start otherwise, or not at all
			j.tools = toolsFound{remark: "its install scripts run after your yes, so its tools are compared at its next session"}
		default: // the user decides with the new tools in view
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
	if err == nil && !i.forWrap { // wrap starts no server
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
		what = "is already installed"
	}
	if j.stopped && !j.tools.listed && !i.forWrap {
		j.tools = toolsFound{remark: "its tools are pinned at its first session"}
	}
	j.ready(c, what, j.result.Entry, j.tools)
	for _, name := range j.result.Skipped {
		c.Printf("  the install script of %s did not run\n", show.Line(name))
	}
	if j.result.Skipped != nil {
		c.Printf("  To run such scripts, without a network, which can take minutes:\n    mcp-jail install --install-scripts %s\n", show.Line(j.asked))
	}
}

func (i *installCmd) finishUpdate(ctx context.Context, c terminal.Console, j *job) (err error) {
	u, board := j.update, j.progress.board
	if u.Old != nil && len(j.changes) == 0 {
		i.newest = append(i.newest, show.Line(u.Old.Name+" "+u.Old.Version+allowed(&j.line)))
		return nil
	}
	accepted := false
	board.quietly(func() {
		j.sayUpdate(c)
		if !i.yes {
			err = cli.Confirm(ctx, c, "Use "+u.New.Name+" "+u.New.Version+" from now on?")
		}
		accepted = err == nil
	})
	if !accepted {
		return err
	}
	u.Refused = nil
	if err := j.installer.Accept(ctx, u); err != nil {
		return err
	}
	if u.Refused != nil { // of the scripts that ran after the yes
		board.quietly(func() {
			for _, refused := range u.Refused {
				c.Printf("  %s\n", show.Line(refused.String()))
			}
		})
	}
	if t, err := j.load(); err == nil {
		session.LogGrant(c, t.Host, t.Policy, "install --update", false, []string{u.New.Name + "@" + u.New.Version})
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
		c.Printf("  %s\n", show.Line(change))
	}
	runs := ""
	if u.RunsScripts() {
		runs = ", which runs then"
	}
	for _, name := range u.Scripts {
		c.Printf("  %s brings a script for its installation%s\n", show.Line(name), runs)
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

func (i *installCmd) installer(host hostfs.Host, t *session.Target, w wanted, progress func(install.Progress)) *install.Installer {
	return &install.Installer{
		Store: session.PackageStore(host), LockFile: session.LockFile(host), Host: host, Untrusted: t.Untrusted, Asked: w.asked,
		Own: w.own || session.IsOwn(t), Scripts: i.scripts, Progress: progress, Waive: t.Policy.Waive,
	}
}

// installed is the result of a job that ended with err.
func (j *job) installed(err error) installedPackage {
	var e *store.Entry
	switch {
	case err != nil:
		return installedPackage{Name: j.name, Error: err.Error()}
	case j.update == nil && j.result != nil:
		e = j.result.Entry
	case j.update != nil && j.update.Old != nil && len(j.changes) == 0:
		e = j.update.Old
	case j.update != nil:
		e = j.update.New
	}
	if e == nil {
		return installedPackage{Name: j.name}
	}
	return installedPackage{Name: j.name, Package: e.Name, Version: e.Version}
}

// withWaivers adds to the error of a jail with gaps the command line that accepts them.
func (i *installCmd) withWaivers(err error, w wanted) error {
	var gaps *confine.GapError
	if !errors.As(err, &gaps) || gaps.Waive == nil {
		return err
	}
	command := "mcp-jail install"
	for _, option := range []struct {
		given bool
		flag  string
	}{{i.update, " --update"}, {i.scripts, " --install-scripts"}, {i.yes, " --yes"}} {
		if option.given {
			command += option.flag
		}
	}
	asked := w.asked
	for given := true; given; { // the axes that are waived already are among those of gaps
		var rest string
		if rest, given = strings.CutPrefix(asked, "--waive "); given {
			_, asked, _ = strings.Cut(rest, " ")
		}
	}
	return fmt.Errorf("%w. To accept them: %s %s %s", err, command, confine.WaiveFlags(gaps.Waive), asked)
}

// ready says that a package is installed, and what its server lists.
func (j *job) ready(c terminal.Console, what string, e *store.Entry, found toolsFound) {
	line := fmt.Sprintf("%s %s: version %s, ", show.Line(j.name), c.Paint(terminal.Green, what), e.Version)
	if found.listed {
		line += cli.Plural(found.count, "tool") + ", "
	}
	line += cli.SizeText(treeSize(j.host, e)) + "."
	c.PrintText(line + "\n")
	if found.remark != "" {
		c.PrintText("  note: " + show.Line(found.remark) + "\n")
	}
	for _, more := range found.more {
		c.Printf("  %s\n", show.Line(more))
	}
}

// allowed returns what a line asks for if it names a version or a range, since a newer version may
// exist. It returns "" for other lines.
func allowed(line *runline.Line) string {
	if p := line.Packages[0]; p.Version != "" || p.Range != "" {
		return " (of " + p.String() + ")"
	}
	return ""
}

// treeSize returns the bytes of an installed tree, 0 if it cannot be found.
func treeSize(host hostfs.Host, e *store.Entry) int64 {
	trees, _ := session.PackageStore(host).Trees()
	for _, t := range trees {
		if t.ID == installed.ID(e) {
			return t.Bytes
		}
	}
	return 0
}

// idleAfterClient is how long an installation without a client may make no progress. The next
// start waits for the end of this installation, and asks the registry anew.
const idleAfterClient = 15 * time.Second

// background ends an installation whose client has left. Its methods may be called from
// several goroutines.
type background struct {
	end func()

	mu    sync.Mutex
	last  install.Progress
	idle  *time.Timer // nil while there is a client
	total *time.Timer
}

func (b *background) left() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.idle, b.total = time.AfterFunc(idleAfterClient, b.end), time.AfterFunc(session.AfterClient, b.end)
}

func (b *background) progress(p install.Progress) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.idle != nil && p != b.last {
		b.idle.Reset(idleAfterClient)
	}
	b.last = p
}
