package session

import (
	"errors"
	"io/fs"
	"os"
	"slices"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/diagnostics/change"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// Decider decides about changes of what a server has, or one of its tools. What it compares is what is written.
type Decider struct {
	Was    *Target                                   // resolved, if it can be
	At     func(path string) string                  // where a path of a grant leads, before links are followed
	Load   func(*config.ServerFile) (*Target, error) // Was with another file; with an error perhaps, too
	Others func() []policy.Started                   // what other servers are started from; asked for writes alone
}

// With returns a file with more grants, and what the server has with it. Narrower rules go, unless they give what the new
// ones do not. With an error there is no file if the grants cannot be in it.
func (d *Decider) With(file *config.ServerFile, g config.Grants) (changed *config.ServerFile, after *Target, err error) {
	keeps := func(policy.FsRule) bool { return false }
	for range 2 {
		if changed, err = file.Checked(); err != nil {
			return nil, nil, err
		}
		var narrower []policy.FsRule
		if narrower, err = g.AddTo(changed.Server); err != nil {
			return nil, nil, err
		}
		for _, r := range narrower {
			if !keeps(r) {
				g.Drop(changed.Server, r)
			}
		}
		added := changed
		if changed, err = added.Checked(); err != nil {
			return added, nil, err
		}
		if after, err = d.Load(changed); after == nil {
			return changed, nil, err
		}
		if keeps = d.keeps(after); !slices.ContainsFunc(narrower, keeps) {
			return changed, after, err
		}
	}
	return changed, after, err
}

// keeps returns what reports whether a rule gives something that a policy without it lacks.
func (d *Decider) keeps(without *Target) func(policy.FsRule) bool {
	host := d.Was.Host
	return func(r policy.FsRule) bool {
		at := ResolveLinks(d.At(r.Path))
		if was, is := d.Was.Profile, without.Profile; was != nil && is != nil {
			return slices.ContainsFunc(change.Rows(was, is), func(row change.Row) bool {
				return row.Was.Rights&^row.Is.Rights != 0 && hostfs.Within(host.OS, row.Name, at)
			})
		}
		return resolve.Sensitive(&host, d.Was.Policy, at) != "" || hostfs.HasProtectedName(host.OS, at)
	}
}

// Exact returns a *change.BeyondError if a policy gives more than some objects beside the one before, or takes something
// away.
func (d *Decider) Exact(after *Target, objects ...change.Object) error {
	if d.Was.Profile == nil || after.Profile == nil {
		return nil
	}
	return change.Exact(change.Rows(d.Was.Profile, after.Profile), objects, d.Within)
}

// Within reports whether a path of a profile lies where a path that is named leads.
func (d *Decider) Within(path, named string) bool {
	return hostfs.Within(d.Was.Host.OS, path, ResolveLinks(d.At(named)))
}

// Decide decides about a change. after is what the server has with it, or nil if that is not known.
func (d *Decider) Decide(w change.Want, after *Target) change.Proposal {
	return d.decide(w, after, nil)
}

func (d *Decider) decide(w change.Want, after *Target, more []policy.Reason) change.Proposal {
	var rows []change.Row
	switch {
	case after == nil:
	case d.Was.Profile == nil || after.Profile == nil:
		rows = change.NetRows(d.Was.Policy.Net, after.Policy.Net)
	default:
		rows = change.Rows(d.Was.Profile, after.Profile)
	}
	rows = slices.DeleteFunc(rows, func(r change.Row) bool { return !w.Object.Has(r, d.Within) })
	return change.Judge(w, append(more, d.Reasons(w.Object)...), rows)
}

// Try decides about a change that the user has not typed, and makes it for that. file is what the server has, and was is why it
// would not start with that.
func (d *Decider) Try(w change.Want, file *config.ServerFile, was error) change.Proposal {
	p := d.decide(w, nil, change.ReasonsOf(w, !d.Was.Policy.Stateful))
	if p.Verdict() <= change.Cannot || w.Object.Setting.Key == "preset" { // that was made to fit
		return p
	}
	words := w.Object.Words()
	objects, err := change.Read(words)
	g := config.Grants{Tool: w.Tool, At: d.At}
	if err == nil {
		g.Table, err = TableOf(words)
	}
	var after *Target
	if err == nil {
		_, after, err = d.With(file, g)
	}
	var more []policy.Reason
	for _, r := range d.Was.Policy.Net {
		if o := w.Object.Net; o.Host != "" && !r.Allow && r.Methods == nil && r.PathPrefix == "" && r.Covers(o.Host, o.Port) {
			more = append(more, policy.Reason{Kind: policy.WhyDenied, Names: []string{r.Where}})
		}
	}
	var beyond *change.BeyondError
	switch {
	case err != nil && isNew(err, was):
		more = append(more, policy.Reason{Kind: policy.WhyWouldNotStart, Names: []string{terminal.OneLine(err)}})
	case after != nil && errors.As(d.Exact(after, objects...), &beyond): // also where this host cannot enforce either
		more = append(more, beyond.Reason())
	}
	return d.decide(w, after, more)
}

// Reasons returns what speaks against an object.
func (d *Decider) Reasons(o change.Object) (all []policy.Reason) {
	host, profile := &d.Was.Host, d.Was.Profile
	if o.Setting.Key == "workspace" {
		o, profile = change.Path(o.Setting.Value, policy.Read|policy.Write), nil
	}
	rights := o.Fs.Rights()
	switch {
	case o.Env != "":
		return policy.ReasonsOfVariable(o.Env)
	case o.Net.Host != "":
		return resolve.ReasonsOfHost(host, o.Net)
	case rights == 0:
		return nil
	}
	at := ResolveLinks(d.At(o.Fs.Path)) // with its slash: "~" is a name
	if info, err := os.Lstat(at); err == nil && info.Mode()&fs.ModeSocket != 0 && rights&policy.Write != 0 {
		rights = policy.Update
	}
	if profile != nil {
		rights = change.Gained(profile, at, rights)
		all = change.ReasonsIn(profile, at, rights)
	}
	all = append(all, resolve.Reasons(host, d.Was.Policy, at, rights)...)
	if rights&policy.Write != 0 && d.Others != nil {
		all = append(all, resolve.ReasonsOfStarted(&d.Was.Host, at, d.Others())...)
	}
	return all
}

// TableOf returns words of mcp-jail grant as the table of a server, but for a preset.
func TableOf(words []string) (*config.Server, error) {
	flags, err := cmdline.ParseRun(append([]string{"run"}, words...))
	if err != nil {
		return nil, err
	}
	return flags.Options(nil).Table()
}
