package index

import (
	"errors"
	"slices"
	"strings"
	"unicode"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/confine/egress/tlsworker"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// A GapNeed is what a policy asks for and this host cannot enforce, whether it is accepted or not.
type GapNeed struct {
	Gaps []confine.Gap
	// Namespaces answers No, with the reason and the remedy, if user namespaces are refused.
	Namespaces confine.Feature
	// Accepted are the words that the user's configuration accepts for every server.
	Accepted []policy.Axis
}

// Waivers returns the words that accept the gaps which can be accepted, for an entry that has some already.
func (n GapNeed) Waivers(has []policy.Axis) []policy.Axis {
	return WithoutAxes(confine.WaiversFor(n.Gaps, has), WithoutAxes(n.Accepted, has))
}

// Fatal returns a gap that cannot be accepted, or nil.
func (n GapNeed) Fatal() *confine.Gap {
	if at := slices.IndexFunc(n.Gaps, func(g confine.Gap) bool { return g.Fatal }); at >= 0 {
		return &n.Gaps[at]
	}
	return nil
}

// add adds the gaps of another policy of the same server.
func (n GapNeed) add(more GapNeed) GapNeed {
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

// A gapFinder finds the needs of entries. It builds a jail only when it must.
type gapFinder struct {
	host            clients.Host
	servers         config.Servers
	standard, fetch *GapNeed // what try found for the default policy, and for one that fetches a package
	err             error    // of standard
}

// NewGapFinder returns a gapFinder for entries as their clients start them on a host, beside some servers.
func NewGapFinder(host clients.Host, servers config.Servers) *gapFinder {
	return &gapFinder{host: host, servers: servers}
}

// Try builds a jail, and one without namespaces where the host refuses them. The error says that
// neither can be built, and that no waiver changes this.
func (f *gapFinder) Try() error {
	if f.standard == nil {
		var need GapNeed
		need, f.err = try()
		f.standard = &need
	}
	return f.err
}

// Standard returns the need of the default policy.
func (f *gapFinder) Standard() GapNeed {
	f.Try()
	return *f.standard
}

func (f *gapFinder) fetching() GapNeed {
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
func try(hosts ...string) (GapNeed, error) {
	err := session.TryJail(confine.Launcher{}, hosts...)
	var open *confine.GapError
	switch {
	case err == nil:
		return GapNeed{}, nil
	case !errors.As(err, &open) || open.Waive == nil:
		return GapNeed{}, err
	case session.TryJail(confine.Launcher{Waive: open.Waive}, hosts...) != nil:
		return GapNeed{}, err
	}
	return GapNeed{Gaps: open.Gaps, Namespaces: open.HostNamespaces}, nil
}

// Of returns the need of an entry that starts a command line: with the file of its server, or else with some flags of mcp-jail run.
func (f *gapFinder) Of(file *wrapping.File, e wrapping.Entry, own *config.ServerFile, flags, argv []string) (need GapNeed) {
	need, err := f.compile(file, e, own, flags, argv)
	if err != nil { // the start says what is wrong
		need = f.Standard()
	}
	if _, parsed := runline.Parse(file.Started(e, argv, f.host)); parsed == nil {
		need = need.add(f.fetching())
	}
	return need
}

// compile compiles the policy of an entry for this host, with the variables that its client sets.
func (f *gapFinder) compile(file *wrapping.File, e wrapping.Entry, own *config.ServerFile, flags, argv []string) (GapNeed, error) {
	given, err := cmdline.ParseRun(append([]string{"run"}, file.Started(e, flags, f.host)...))
	switch {
	case own != nil:
		given = &cmdline.RunFlags{PolicyFlags: cmdline.PolicyFlags{ID: own.Server.ID}}
	case err != nil:
		return GapNeed{}, err
	}
	restore, _, _ := file.UseEnv(e, f.host.Home, false) // no program can be started with a variable that cannot be set
	defer restore()
	t, err := session.LoadWith(config.LoadOptions{Candidate: own, Servers: f.servers}, given.ConfigFlags, given.PolicyFlags, "", "", cmdline.Server{Given: true, Argv: file.Started(e, argv, f.host)})
	if err == nil {
		err = t.Resolve()
	}
	if t != nil {
		defer t.Close()
	}
	if err != nil {
		return GapNeed{}, err
	}
	plan, err := t.Compile()
	var open *confine.GapError
	if err != nil && !errors.As(err, &open) {
		return GapNeed{}, err
	}
	// A program of mcp-jail that is missing is no fault of the host: doctor and the start name it.
	of := slices.DeleteFunc(plan.Gaps, func(g confine.Gap) bool { return strings.Contains(g.Why, tlsworker.ErrMissing.Error()) })
	return GapNeed{of, plan.HostNamespaces, WithoutAxes(t.Policy.Waive, HasWaivers(own, clients.Wrapped{ID: given.ID, Flags: file.Started(e, flags, f.host)}))}, nil
}

// waivedBy returns the axes, and the words of systems, that flags of mcp-jail run accept.
func waivedBy(flags []string) []policy.Axis {
	given, err := cmdline.ParseRun(append([]string{"run"}, flags...))
	if err != nil {
		return nil
	}
	known := slices.DeleteFunc(given.Waive, func(w string) bool { return !slices.Contains(cmdline.Waivers(), w) })
	waivers, _ := cmdline.ParseWaivers("--waive", known)
	return policy.OrderWaivers(waivers)
}

// HasWaivers returns what a server accepts that an entry starts: by its flags, or by the file of the server, if it has one.
func HasWaivers(own *config.ServerFile, line clients.Wrapped) []policy.Axis {
	switch {
	case line.ID == "":
		return waivedBy(line.Flags)
	case own == nil:
		return nil
	}
	return policy.OrderWaivers(own.Server.Waive)
}

// NamedAxes returns the axes, and the words of systems, that the values of wrap --waive name. Each may have
// several, separated by commas or blanks. The error is about a word that is none.
func NamedAxes(words []string) ([]policy.Axis, error) {
	names := strings.FieldsFunc(strings.Join(words, ","), func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
	waivers, err := cmdline.ParseWaivers("--waive", names)
	return policy.OrderWaivers(waivers), err
}

// WithoutAxes returns the axes of a list that are not in another one.
func WithoutAxes(axes, others []policy.Axis) []policy.Axis {
	return slices.DeleteFunc(slices.Clone(axes), func(a policy.Axis) bool { return slices.Contains(others, a) })
}

// OfSystems parts words into axes and words of operating systems.
func OfSystems(words []policy.Axis) (axes, systems []policy.Axis) {
	axes = slices.DeleteFunc(slices.Clone(words), policy.Axis.IsPlatform)
	return axes, WithoutAxes(words, axes)
}

// AxisNames returns axes as text, with a separator.
func AxisNames(axes []policy.Axis, separator string) string {
	var names []string
	for _, a := range axes {
		names = append(names, string(a))
	}
	return strings.Join(names, separator)
}
