// Package gaps finds what this host cannot enforce of what the entries of clients ask for, so that wrap
// can ask about it, and status can show it.
//
// A [Finder] compiles the policy of an entry as a start does. Whether a jail can be built at all it
// finds out by building one. A [Need] is the result for one entry.
package gaps

import (
	"errors"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/egress/tlsworker"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/policy"
)

// A Need is what a policy asks for and this host cannot enforce, whether it is accepted or not.
type Need struct {
	Gaps []confine.Gap
	// Namespaces answers No, with the reason and the remedy, if user namespaces are refused.
	Namespaces confine.Feature
	// Accepted are the words that the user's configuration accepts for every server.
	Accepted []policy.Axis
}

// Waivers returns the words that accept the gaps which can be accepted, for an entry that has some already.
func (n Need) Waivers(has []policy.Axis) []policy.Axis {
	return Without(confine.WaiversFor(n.Gaps, has), Without(n.Accepted, has))
}

// Fatal returns a gap that cannot be accepted, or nil.
func (n Need) Fatal() *confine.Gap {
	if at := slices.IndexFunc(n.Gaps, func(g confine.Gap) bool { return g.Fatal }); at >= 0 {
		return &n.Gaps[at]
	}
	return nil
}

// add adds the gaps of another policy of the same server.
func (n Need) add(more Need) Need {
	n.Gaps = slices.Clone(n.Gaps)
	for _, g := range more.Gaps {
		if !slices.ContainsFunc(n.Gaps, func(o confine.Gap) bool { return o.Axis == g.Axis && o.What == g.What }) {
			n.Gaps = append(n.Gaps, g)
		}
	}
	if more.Namespaces.Answer == confine.No {
		n.Namespaces = more.Namespaces
	}
	return n
}

// A Finder finds the needs of entries. It builds a jail only when it must.
type Finder struct {
	host            clients.Host
	standard, fetch *Need // what try found for the default policy, and for one that fetches a package
	err             error // of standard
}

// NewFinder returns a Finder for entries as their clients start them on a host.
func NewFinder(host clients.Host) *Finder { return &Finder{host: host} }

// Try builds a jail, and one without namespaces where the host refuses them. The error says that
// neither can be built, and that no waiver changes this.
func (f *Finder) Try() error {
	if f.standard == nil {
		var need Need
		need, f.err = try()
		f.standard = &need
	}
	return f.err
}

// Standard returns the need of the default policy.
func (f *Finder) Standard() Need {
	f.Try()
	return *f.standard
}

func (f *Finder) fetching() Need {
	if f.fetch == nil {
		const anyHost = "registry.invalid"
		need, _ := try(anyHost) // the fetch says what is wrong
		for i, g := range need.Gaps {
			need.Gaps[i].What = strings.ReplaceAll(g.What, "hosts "+anyHost, "hosts that the package is fetched from")
		}
		f.fetch = &need
	}
	return *f.fetch
}

// try runs a program in a jail that reaches some hosts, and accepts what must be accepted for that.
func try(hosts ...string) (Need, error) {
	err := session.TryJail(confine.Launcher{}, hosts...)
	var open *confine.GapError
	switch {
	case err == nil:
		return Need{}, nil
	case !errors.As(err, &open) || open.Waive == nil:
		return Need{}, err
	case session.TryJail(confine.Launcher{Waive: open.Waive}, hosts...) != nil:
		return Need{}, err
	}
	return Need{Gaps: open.Gaps, Namespaces: open.HostNamespaces}, nil
}

// Of returns the need of an entry that starts a command line with some flags of mcp-jail run. It is not
// certain if its policy cannot be resolved.
func (f *Finder) Of(file *wrapping.File, e wrapping.Entry, flags, argv []string) (need Need, certain bool) {
	need, err := f.compile(file, e, flags, argv)
	if err != nil { // the start says what is wrong
		need = f.Standard()
	}
	if _, parsed := runline.Parse(file.Started(e, argv, f.host)); parsed == nil {
		need = need.add(f.fetching())
	}
	return need, err == nil
}

// compile compiles the policy of an entry for this host, with the variables that its client sets.
func (f *Finder) compile(file *wrapping.File, e wrapping.Entry, flags, argv []string) (Need, error) {
	given, err := cmdline.ParseRun(append([]string{"run"}, file.Started(e, flags, f.host)...))
	if err != nil {
		return Need{}, err
	}
	restore, _, _ := file.UseEnv(e, f.host.Home, false) // no program can be started with a variable that cannot be set
	defer restore()
	t, err := session.Resolve(given.ConfigFlags, given.PolicyFlags, "", "", cmdline.Server{Given: true, Argv: file.Started(e, argv, f.host)})
	if t != nil {
		defer t.Close()
	}
	if err != nil {
		return Need{}, err
	}
	plan, err := t.Compile()
	var open *confine.GapError
	if err != nil && !errors.As(err, &open) {
		return Need{}, err
	}
	// A program of mcp-jail that is missing is no fault of the host: doctor and the start name it.
	of := slices.DeleteFunc(plan.Gaps, func(g confine.Gap) bool { return strings.Contains(g.Why, tlsworker.ErrMissing.Error()) })
	return Need{of, plan.HostNamespaces, Without(t.Policy.Waive, Waived(file.Started(e, flags, f.host)))}, nil
}
