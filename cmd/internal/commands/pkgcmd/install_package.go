package pkgcmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/programs"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/packages/install"
	"github.com/mcp-jail/mcp-jail/packages/installed"
	"github.com/mcp-jail/mcp-jail/packages/lockfile"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

func (i *installCmd) installOne(ctx context.Context, c terminal.Console, host hostfs.Host, w wanted) error {
	t, err := w.load()
	if err != nil {
		return err
	}
	w.mcpName = t.Policy.Packages.MCPName
	p := newInstallProgress(c, w.name)
	defer p.done()
	in := i.installer(host, t, w, p.show)
	in.Waived = func(plan *confine.Plan) { i.warn(p, plan) }
	if i.update {
		return i.withWaivers(i.updateOne(ctx, c, in, p, w), w)
	}
	do := in.Install
	if i.repair {
		do = in.Repair
	}
	r, err := do(ctx, &w.line)
	p.done()
	if r != nil {
		for _, refused := range r.Refused {
			c.Printf("  %s\n", show.Line(refused.String()))
		}
	}
	if err != nil {
		return i.withWaivers(err, w)
	}
	// Pin the tools before the line that says so.
	what := "ready"
	if !r.Fetched {
		what = "ready already"
	}
	i.ready(ctx, c, host, p, what, w, r.Entry)
	for _, name := range r.Skipped {
		c.Printf("  the script that %s brings for its installation did not run (--install-scripts runs it)\n", show.Line(name))
	}
	return nil
}

// companion returns this program, or "" if it is not where it should be: then npm fetches alone.
func companion() string {
	program, err := programs.Beside(programs.Companion)
	if err == nil {
		_, err = os.Stat(program)
	}
	if err != nil {
		return ""
	}
	return program
}

func (i *installCmd) installer(host hostfs.Host, t *session.Target, w wanted, progress func(install.Progress)) *install.Installer {
	return &install.Installer{
		Store: session.PackageStore(host), LockFile: session.LockFile(host), Host: host, Untrusted: t.Untrusted, Asked: w.asked, Companion: companion(),
		Scripts: i.scripts || t.Policy.Packages.InstallScripts, Progress: progress, Waive: t.Policy.Waive,
	}
}

// warn says which gaps of a jail the user has waived, each once.
func (i *installCmd) warn(p *installProgress, plan *confine.Plan) {
	for _, line := range session.WaivedGaps(plan) {
		if !slices.Contains(i.waived, line) {
			i.waived = append(i.waived, line)
			p.done()
			p.console.Sayf("%s", show.Line(line))
		}
	}
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
	}{{i.update, " --update"}, {i.repair, " --repair"}, {i.scripts, " --install-scripts"}, {i.yes, " --yes"}} {
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

func (i *installCmd) ready(ctx context.Context, c terminal.Console, host hostfs.Host, p *installProgress, what string, w wanted, e *lockfile.Entry) {
	found := i.pinTools(ctx, c, p, w)
	p.done()
	if ctx.Err() != nil {
		return
	}
	line := fmt.Sprintf("%s: %s %s, ", c.Paint(terminal.Green, what), e.Name, e.Version)
	if found.listed {
		line += cli.Plural(found.count, "tool") + ", "
	}
	line += cli.SizeText(treeSize(host, e))
	if found.remark != "" {
		line += "; " + found.remark
	}
	c.Printf("%s\n", line)
	if remark := installed.NameRemark(session.PackageStore(host), e, w.mcpName); remark != "" {
		c.Printf("  %s %s\n", c.Paint(terminal.Yellow, "note:"), show.Line(remark))
	}
	for _, more := range found.more {
		c.Printf("  %s\n", show.Line(more))
	}
}

func (i *installCmd) updateOne(ctx context.Context, c terminal.Console, in *install.Installer, p *installProgress, w wanted) error {
	u, err := in.Update(ctx, &w.line)
	if err != nil {
		return err
	}
	defer u.Close()
	changes := u.Changes()
	if u.Old != nil && len(changes) == 0 {
		p.done()
		c.Printf("%s %s is the newest already%s\n", u.Old.Name, u.Old.Version, allowed(&w.line))
		return nil
	}
	// The user decides with the new tools in view.
	tools := i.tryUpdate(ctx, p, w, u)
	p.done()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	c.Printf("%s\n", c.Paint(terminal.Bold, u.New.Name+" "+u.New.Version))
	for _, change := range changes {
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
	for _, text := range tools.more {
		c.Printf("  %s\n", show.Line(text))
	}
	if tools.remark != "" {
		c.Printf("  %s %s\n", c.Paint(terminal.Yellow, "note:"), show.Line(tools.remark))
	}
	if !i.yes {
		if err := cli.Confirm(ctx, c, "Use "+u.New.Name+" "+u.New.Version+" from now on?"); err != nil {
			return err
		}
	}
	if err := in.Accept(u); err != nil {
		return err
	}
	i.ready(ctx, c, in.Host, p, "ready", w, u.New)
	return nil
}

// allowed returns a phrase for a line that names a version or a range, since a newer version may
// exist. It returns "" for other lines.
func allowed(line *runline.Line) string {
	if p := line.Packages[0]; p.Version != "" || p.Range != "" {
		return " that the line allows: " + show.Line(p.String())
	}
	return ""
}

// treeSize returns the bytes of an installed tree, 0 if it cannot be found.
func treeSize(host hostfs.Host, e *lockfile.Entry) int64 {
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
