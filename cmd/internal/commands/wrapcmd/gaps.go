package wrapcmd

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// openGaps are what this host cannot enforce of the servers of a wrap, and they have not accepted.
type openGaps struct {
	servers []serverGaps
	axes    []policy.Axis // that must be accepted
}

type serverGaps struct {
	title string
	need  index.GapNeed
	axes  []policy.Axis
}

// lookForGaps has each entry of some changes accept what this host cannot enforce of its policy. The error says that no jail can be built at all.
func lookForGaps(c terminal.Console, servers config.Servers, host clients.Host, changes []*wrapping.Change) (open openGaps, err error) {
	finder := index.NewGapFinder(host, servers)
	here := slices.ContainsFunc(changes, func(ch *wrapping.Change) bool { return len(ch.Changed()) > 0 })
	if here {
		session.Prove(context.Background(), c)
	}
	if here && finder.Try() != nil {
		return open, &terminal.HostError{Err: noJail(finder.Try())}
	}
	for _, ch := range changes {
		for _, s := range ch.Servers {
			line, wrapped := clients.ParseWrapped(s.Argv())
			switch {
			case !wrapped && s.Left == "":
				line = clients.Wrapped{Flags: s.Flags, Argv: s.Argv()}
			case !wrapped || line.Argv == nil || s.Own == nil:
				continue
			}
			need := finder.Of(ch.File, s.Entry, s.Own, line.Flags, line.Argv)
			open.add(ch.File, s, need)
		}
	}
	open.axes = policy.OrderWaivers(open.axes)
	return open, nil
}

// noJail says that no jail can be built at all: never, or not now.
func noJail(err error) error {
	if errno := syscall.Errno(0); confine.IsShortage(err) && errors.As(err, &errno) {
		return fmt.Errorf("nothing was changed: a test jail could not be built, also at the second try (%w).\nThis has been seen on a busy machine. Try again in a minute:\n  mcp-jail wrap", err)
	}
	return fmt.Errorf("nothing was changed: no jail can be built on this machine (%w).\nTo see what is missing:\n  mcp-jail doctor", err)
}

// add adds what a server needs. Its file then accepts that.
func (g *openGaps) add(file *wrapping.File, s wrapping.ServerChange, need index.GapNeed) {
	if fatal := need.Fatal(); fatal != nil {
		file.Leave(s.Key(), clients.Reason("would not start: this machine cannot enforce "+fatal.What+": "+fatal.Why))
		return
	}
	if s.Own == nil {
		if needs := need.Waivers(nil); len(needs) > 0 {
			file.Leave(s.Key(), clients.Reason("would not start: this machine can only build a weaker jail. To accept that, name "+index.AxisNames(needs, ", ")+" at waive in [defaults] of your configuration"))
		}
		return
	}
	has := s.Own.Server.Waive
	needs := need.Waivers(has)
	if more := index.WithoutAxes(needs, has); len(more) > 0 {
		file.Waive(s.Key(), policy.OrderWaivers(append(slices.Clone(has), more...)))
		g.servers = append(g.servers, serverGaps{index.ServerTitle(s.Entry), need, more})
		g.axes = append(g.axes, index.WithoutAxes(more, g.axes)...)
	}
}

// check returns why a weaker jail is not accepted and cannot be asked about, or nil.
func (g *openGaps) check(c terminal.Console, w *wrapCmd) error {
	given, err := index.NamedAxes(w.waive)
	missing := index.WithoutAxes(g.axes, given)
	switch {
	case err != nil:
		return err
	case len(missing) == 0:
		g.servers = nil
		return nil
	case w.waive == nil && !w.yes && c.Asks():
		return nil
	}
	why := "--yes does not accept that"
	switch {
	case given != nil:
		why = "--waive does not name " + index.AxisNames(missing, " ")
	case !w.yes:
		why = "there is no terminal to ask on"
	}
	return &terminal.HostError{Err: fmt.Errorf("nothing was changed: the jail of %s would be weaker on this machine, and %s. To accept it, add:\n  --yes --waive %s", cli.Plural(len(g.servers), "server"), why, index.AxisNames(g.axes, ","))}
}

// print says what a server could do in the weaker jail, and what would make it a full one.
func (g openGaps) print(c terminal.Console) {
	if len(g.servers) == 0 {
		return
	}
	var all []confine.Gap
	var namespaces confine.Feature
	of := map[string][]string{} // the servers of each gap
	for _, s := range g.servers {
		if s.need.Namespaces.Answer == confine.No {
			namespaces = s.need.Namespaces
		}
		for _, gap := range s.need.Gaps {
			key := string(gap.Axis) + gap.What + gap.Why
			if !gap.WaivedBy(s.axes) {
				continue
			}
			if of[key] == nil {
				all = append(all, gap)
			}
			of[key] = append(of[key], s.title)
		}
	}
	because := "This machine cannot enforce all rules"
	if namespaces.Answer == confine.No {
		because = "This machine does not allow user namespaces"
	}
	c.PrintText(c.Paint(terminal.Yellow, because) + ", so the jail would be weaker. A server could then:\n")
	for platform, text := range platformGaps {
		if slices.ContainsFunc(all, func(gap confine.Gap) bool { return gap.Platform == platform }) {
			c.PrintText(text + "\n")
		}
	}
	for _, gap := range all {
		text, isPlain := strings.CutPrefix(gap.Why, "the server can ")
		if !isPlain {
			text = "pass this rule: " + gap.What + " (" + gap.Why + ")"
		}
		if names := of[string(gap.Axis)+gap.What+gap.Why]; len(names) < len(g.servers) {
			text += " (" + strings.Join(names, ", ") + ")"
		}
		if fix := closing(gap); fix != "" {
			text += ". To prevent it: " + fix
		}
		c.Printf("%s\n", terminal.Hang("  - ", "    ", show.Line(text), c.TextColumns()))
	}
	if namespaces.Answer == confine.No {
		// A line to be typed stays in one line.
		how, line, _ := strings.Cut(namespaces.Fix, ":  ")
		if c.PrintText("The reason: " + namespaces.Detail + ".\n"); line != "" {
			c.PrintText("For the full jail, " + how + ":\n")
			c.Printf("  %s\n", line)
		} else {
			c.PrintText("For the full jail, " + how + ".\n")
		}
	}
	c.Printf("\n")
}

// platformGaps says what a system cannot enforce under any policy, and what holds there all the same.
var platformGaps = map[policy.Axis]string{
	policy.WaiveMacOS:   "macOS has gaps under every policy. Seatbelt enforces the rest, as the self-test on this Mac has shown.",
	policy.WaiveWindows: "Windows has gaps under every policy: servers read all your files and reach every host. What a job object and a restricted token hold is in `mcp-jail plan`. For walls around files and hosts, run servers in WSL 2.",
}

// closing returns what would close a gap, or "". The question is about accepting it, and the text above
// is about namespaces.
func closing(gap confine.Gap) string {
	fix, _, _ := strings.Cut(gap.Fix, ", or accept ")
	if fix == confine.FixNamespaces || gap.Platform != "" {
		return ""
	}
	return fix
}
