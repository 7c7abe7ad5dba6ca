package pkgcmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/packages/install"
	"github.com/mcp-jail/mcp-jail/packages/installed"
	"github.com/mcp-jail/mcp-jail/packages/store"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// job is the installation of one package.
type job struct {
	wanted
	*progress
	cmd       *installCmd
	host      hostfs.Host
	installer *install.Installer
}

// one installs or updates one package, and says what it came to.
func (i *installCmd) one(ctx context.Context, c terminal.Console, host hostfs.Host, w wanted) error {
	t, err := w.load()
	if err != nil {
		return err
	}
	j := &job{wanted: w, progress: newProgress(c, w.name), cmd: i, host: host, installer: i.installer(host, t, w)}
	defer j.clear()
	j.installer.Progress = func(p install.Progress) { j.show(message(p)) }
	j.installer.Waived = func(plan *confine.Plan) { i.warn(j.progress, session.WaivedGaps(plan)) }
	j.installer.NotUsed = func(line string) { i.warn(j.progress, []string{line}) }
	if i.update {
		err = j.update(ctx)
	} else {
		err = j.install(ctx)
	}
	var gaps *confine.GapError
	if errors.As(err, &gaps) && gaps.Waive != nil {
		return fmt.Errorf("%w. To accept them: mcp-jail install %s %s", err, confine.WaiveFlags(gaps.Waive), w.asked)
	}
	return err
}

func (i *installCmd) installer(host hostfs.Host, t *session.Target, w wanted) *install.Installer {
	return &install.Installer{
		Store: session.PackageStore(host), LockFile: session.LockFile(host), Host: host, Untrusted: t.Untrusted, Asked: w.asked,
		Own: w.own || session.IsOwn(t), Scripts: i.scripts, Waive: t.Policy.Waive,
	}
}

func (j *job) install(ctx context.Context) error {
	what := "is ready"
	r, err := j.installer.Install(ctx, &j.line)
	var changed *install.ChangedError
	if errors.As(err, &changed) {
		what = "is ready again"
		r, err = j.installer.Repair(ctx, &j.line)
	} else if err == nil && !r.Fetched {
		what = "was ready already"
	}
	if r != nil {
		j.list(texts(r.Refused))
	}
	if err != nil {
		return err
	}
	tools := j.pinTools(ctx)
	if ctx.Err() != nil && !tools.listed {
		tools = toolsFound{remark: "its tools are pinned at its first session"}
	}
	j.ready(what, r.Entry, tools)
	for _, name := range r.Skipped {
		j.list([]string{"the install script of " + name + " did not run (--install-scripts runs it)"})
	}
	return nil
}

// update fetches the newest version, says what it changes, and asks.
func (j *job) update(ctx context.Context) error {
	u, err := j.installer.Update(ctx, &j.line)
	if err != nil {
		return err
	}
	defer u.Close()
	c, changes := j.console, u.Changes()
	if u.Old != nil && len(changes) == 0 {
		j.clear()
		c.Printf("%s %s is the newest already%s\n", u.Old.Name, u.Old.Version, j.allowed())
		return nil
	}
	tools := j.tryUpdate(ctx, u) // the user decides with the new tools in view
	if ctx.Err() != nil {
		return ctx.Err()
	}
	j.clear()
	c.Printf("%s\n", c.Paint(terminal.Bold, u.New.Name+" "+u.New.Version))
	for _, change := range changes {
		j.list([]string{change.Text})
	}
	j.notes(texts(u.Signals)...)
	if u.SignalsErr != nil {
		j.notes("what the registry says against this version could not be found out: " + u.SignalsErr.Error())
	}
	for _, name := range u.Scripts {
		j.list([]string{name + " brings a script for its installation"})
	}
	j.list(texts(u.Refused))
	j.list(tools.more)
	if tools.remark != "" {
		j.notes(tools.remark)
	}
	if !j.cmd.yes {
		if err := cli.Confirm(ctx, c, "Use "+u.New.Name+" "+u.New.Version+" from now on?"); err != nil {
			return err
		}
	}
	if err := j.installer.Accept(u); err != nil {
		return err
	}
	j.ready("is ready", u.New, j.pinTools(ctx))
	return nil
}

// list says lines about a package.
func (j *job) list(lines []string) {
	for _, line := range lines {
		j.clear()
		j.console.Printf("  %s\n", show.Line(line))
	}
}

func (j *job) notes(lines ...string) {
	for _, line := range lines {
		j.console.Printf("  %s %s\n", j.console.Paint(terminal.Yellow, "note:"), show.Lines(line))
	}
}

// ready says that a package is installed, and what its server lists.
func (j *job) ready(what string, e *store.Entry, found toolsFound) {
	j.clear()
	line := fmt.Sprintf("%s %s: version %s, ", show.Line(j.name), j.console.Paint(terminal.Green, what), e.Version)
	if found.listed {
		line += cli.Plural(found.count, "tool") + ", "
	}
	j.console.PrintText(line + cli.SizeText(treeSize(j.host, e)) + ".\n")
	if found.remark != "" {
		j.console.PrintText("  note: " + show.Line(found.remark) + "\n")
	}
	j.list(found.more)
}

// allowed returns a phrase for a line that names a version or a range, since a newer version may
// exist. It returns "" for other lines.
func (j *job) allowed() string {
	if p := j.line.Packages[0]; p.Version != "" || p.Range != "" {
		return " that the line allows: " + show.Line(p.String())
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

func texts[T fmt.Stringer](all []T) (lines []string) {
	for _, one := range all {
		lines = append(lines, one.String())
	}
	return lines
}

// progressEvery is the least time between two lines of one step where there is no terminal.
const progressEvery = 10 * time.Second

// progress shows how far the installation of a package is: on a terminal in one line that changes, elsewhere in a
// line for each step, and in one every ten seconds while a step lasts.
type progress struct {
	console terminal.Console
	label   string

	mu          sync.Mutex
	spinner     *terminal.Spinner // nil where a line cannot be changed
	step        string
	begin, said time.Time
}

func newProgress(c terminal.Console, name string) *progress {
	p := &progress{console: c, label: name}
	if c.Spins() {
		p.spinner = c.Spinner()
	}
	return p
}

// show may be called in another goroutine.
func (p *progress) show(m session.Message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	another := m.Step != p.step || p.begin.IsZero()
	if another {
		p.step, p.begin = m.Step, time.Now()
	}
	text := session.Moving(p.label, m, time.Since(p.begin))
	switch {
	case p.spinner != nil:
		p.spinner.Show(text)
	case another || time.Since(p.said) >= progressEvery:
		p.said = time.Now()
		p.console.Sayf("%s", text)
	}
}

func (p *progress) clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.spinner != nil {
		p.spinner.Clear()
	}
}

// warn says lines about the jail of an installation, each once.
func (i *installCmd) warn(p *progress, lines []string) {
	for _, line := range lines {
		if !slices.Contains(i.warned, line) {
			i.warned = append(i.warned, line)
			p.clear()
			p.console.Sayf("%s", show.Line(line))
		}
	}
}
