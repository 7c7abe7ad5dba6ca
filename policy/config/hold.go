package config

import (
	"cmp"
	"fmt"
	"maps"
	"path"
	"slices"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// hold applies what the layers below the project's refuse to the policy of a process of s. It comes
// last, so that no table of the project's file, no strategy and no mode can take a refusal away.
func (c *Config) hold(p *policy.Policy, s *Server, tool string) {
	if s.later == nil {
		return
	}
	lower := s.lower
	if lower == nil {
		lower = &Server{Name: s.Name}
	}
	own := s.Project != "" || lower.IsStateful() != s.IsStateful()
	h := &holder{p: p, defaults: c.Defaults, lower: lower, below: &policy.Lower{Workspace: lower.Workspace, Own: own, Refused: slices.Clone(s.heldSettings)}}
	p.Lower = h.below
	// s runs another program than the layers below, or in other processes.
	if own {
		// The project chooses which tools there are, so every process gets every refusal.
		h.tables = append(h.tables, c.lowerProcess(lower, ""), lower.process(AnyTool))
		for _, name := range slices.Sorted(maps.Keys(lower.Tools)) {
			h.tables = append(h.tables, lower.process(name))
		}
	} else {
		h.tables = []*policy.Policy{c.lowerProcess(lower, tool)}
	}
	h.files()
	h.hosts()
	h.variables()
	h.programs()
}

// lowerProcess returns the policy that a process has without the project's file.
func (c *Config) lowerProcess(lower *Server, tool string) *policy.Policy {
	p := lower.process(tool)
	c.Defaults.apply(p)
	return p
}

// A holder applies the refusals of tables, which are policies of the layers below, to a policy.
type holder struct {
	p        *policy.Policy
	below    *policy.Lower
	tables   []*policy.Policy
	lower    *Server
	defaults *Defaults
}

func (h *holder) sensitiveAt(path string) (where string) {
	for _, l := range h.lower.laidTables() {
		tables := []*Access{l.Access}
		for _, name := range slices.Sorted(maps.Keys(l.Tools)) {
			tables = append(tables, l.Tools[name].Access)
		}
		for _, a := range tables {
			if a != nil {
				where = cmp.Or(where, a.sensitiveAt[path])
			}
		}
	}
	if h.defaults != nil {
		where = cmp.Or(where, h.defaults.sensitiveAt[path], h.defaults.Where)
	}
	return where
}

// tell notes a rule of the project's file that has no effect where a layer below refuses.
func (h *holder) tell(rule, where, refusal, by string) {
	h.below.Refused = append(h.below.Refused, policy.RefusedBelow(rule, where, refusal, by))
}

func (h *holder) files() {
	for _, t := range h.tables {
		base := cmp.Or(t.Workspace, ".")
		fix := func(r policy.FsRule) policy.FsRule {
			if !path.IsAbs(r.Path) && r.Path != "~" && (len(r.Path) < 2 || r.Path[:2] != "~/") {
				r.Base = base
			}
			return r
		}
		refusals := slices.DeleteFunc(slices.Clone(t.Fs), func(r policy.FsRule) bool { return r.Deny == 0 })
		if !h.below.Own {
			for _, r := range t.Fs {
				h.below.Fs = append(h.below.Fs, fix(r))
			}
		}
		for _, r := range refusals {
			// The refusal may already be there, and a later rule of the same layers may then lift it in part.
			has := !h.below.Own && slices.Contains(h.p.Fs, r)
			if r = fix(r); h.below.Own && !slices.ContainsFunc(h.below.Fs, func(b policy.FsRule) bool { return sameFs(r, b) }) {
				h.below.Fs = append(h.below.Fs, r)
			}
			if has && (r.Base == "" || h.p.Workspace == t.Workspace) || slices.ContainsFunc(h.p.Fs, func(b policy.FsRule) bool { return sameFs(r, b) }) {
				continue
			}
			h.p.Fs = append(h.p.Fs, r)
		}
		for _, s := range t.Sensitive {
			if !slices.ContainsFunc(h.below.Sensitive, func(b policy.SensitivePath) bool { return b.Path == s }) {
				h.below.Sensitive = append(h.below.Sensitive, policy.SensitivePath{Path: s, Where: h.sensitiveAt(s)})
			}
		}
	}
	for _, s := range h.below.Sensitive {
		if !slices.Contains(h.p.Sensitive, s.Path) {
			h.p.Sensitive = append(h.p.Sensitive, s.Path)
		}
	}
}

func (h *holder) hosts() {
	var refusals []policy.NetRule
	for _, t := range h.tables {
		refusals = append(refusals, live(t.Net, func(r policy.NetRule) bool { return !r.Allow }, func(a, b policy.NetRule) bool {
			a.Allow, a.Secrets, b.Allow, b.Secrets = false, nil, false, nil
			return sameNet(a, b)
		})...)
	}
	for _, r := range refusals {
		h.below.Hosts = append(h.below.Hosts, r.Where)
	}
	lifts := func(r policy.NetRule) bool {
		return !h.below.Own && slices.ContainsFunc(h.tables[0].Net, func(own policy.NetRule) bool { return sameNet(r, own) && r.Where == own.Where })
	}
	var lost [][2]policy.NetRule
	h.p.Net, lost = policy.RefuseNet(h.p.Net, refusals, lifts)
	for _, l := range lost {
		h.tell("host = "+show.TOML(l[0].Host), l[0].Where, "host = "+show.TOML(l[1].Host), l[1].Where)
	}
}

// variables also holds the secrets of hosts, whose source is a variable.
func (h *holder) variables() {
	var refusals []policy.EnvRule
	for _, t := range h.tables {
		refusals = append(refusals, live(t.Env, func(r policy.EnvRule) bool { return !r.Read }, func(a, b policy.EnvRule) bool { return a.Name == b.Name })...)
	}
	// refused tells of something that a refusal is about, and reports it.
	refused := func(name, what, where string) bool {
		at := slices.IndexFunc(refusals, func(n policy.EnvRule) bool { return policy.EnvIncludes(n.Name, name) })
		if at >= 0 {
			h.tell(what, where, "name = "+show.TOML(refusals[at].Name), refusals[at].Where)
		}
		return at >= 0
	}
	h.p.Env = slices.DeleteFunc(slices.Clone(h.p.Env), func(r policy.EnvRule) bool {
		below := !h.below.Own && slices.Contains(h.tables[0].Env, r)
		return r.Read && !below && refused(r.Name, "the variable "+r.Name, r.Where)
	})
	h.p.Net = slices.DeleteFunc(h.p.Net, func(r policy.NetRule) bool {
		return h.below.Own && slices.ContainsFunc(r.Secrets, func(s policy.Secret) bool {
			return s.File == "" && s.Command == nil && refused(s.Env, "the secret "+s.Env+" for "+r.Host, r.Where)
		})
	})
	for _, n := range refusals {
		if !slices.ContainsFunc(h.p.Env, func(r policy.EnvRule) bool { return sameEnv(n, r) }) {
			h.p.Env = append(h.p.Env, n)
		}
	}
}

func (h *holder) programs() {
	asked := h.p.Commands
	for _, t := range h.tables {
		// Each table narrows what the ones before it have left.
		h.p.Commands = policy.NarrowCommands(h.p.Commands, t.Commands)
	}
	for _, r := range asked {
		if slices.ContainsFunc(h.p.Commands, r.Equal) {
			continue
		}
		for _, t := range h.tables {
			if t.Commands == nil || slices.ContainsFunc(t.Commands, r.Equal) {
				continue
			}
			refusal, where := "access.commands", t.Where
			if len(t.Commands) > 0 {
				where = t.Commands[0].Where
			}
			if at := slices.IndexFunc(t.Commands, func(b policy.CommandRule) bool { return b.Name == r.Name }); at >= 0 {
				refusal, where = "commands."+show.Key(r.Name), t.Commands[at].Where
			}
			for _, b := range t.Commands { // this package knows no host, on which both may be one program
				if b.Name != r.Name && path.Base(b.Name) == path.Base(r.Name) {
					refusal, where = "it lists commands."+show.Key(b.Name)+", use that name", b.Where
				}
			}
			h.tell("commands."+show.Key(r.Name), r.Where, refusal, where)
			break
		}
	}
}

// live returns the rules of a list that refuse, without those that a later rule of the list for the
// same thing replaces.
func live[T any](rules []T, refuses func(T) bool, same func(a, b T) bool) (out []T) {
	for i, r := range rules {
		if refuses(r) && !slices.ContainsFunc(rules[i+1:], func(later T) bool { return same(r, later) }) {
			out = append(out, r)
		}
	}
	return out
}

// keepStricter replaces settings of later, the project's table for a server, that are weaker than
// those of the layers below, and notes each. earlier is the server of these layers, or nil.
func (c *Config) keepStricter(earlier, later *Server) (notes []policy.Warning) {
	own := &Server{}
	if c.Defaults != nil {
		own.overlaySettings(&c.Defaults.settings)
	}
	if earlier != nil {
		own.overlaySettings(earlier)
		own.Home, own.GPU = earlier.Home, earlier.GPU
	}
	held := func(key, asked, value string) {
		where := own.places[key]
		if where == "" && (key == "home" || key == "gpu") {
			where = earlier.Where
		}
		notes = append(notes, policy.RefusedBelow(key+" = "+asked, cmp.Or(later.places[key], later.Where), key+" = "+value, where))
		if later.places != nil && own.places[key] != "" {
			later.places[key] = own.places[key]
		}
	}
	own.holdWords(later, held)
	own.holdFlags(later, held)
	own.holdNumbers(later, held)
	return notes
}

func (s *Server) holdWords(later *Server, held func(key, asked, value string)) {
	for _, w := range []struct {
		key           string
		values        []string // from the weakest to the strictest
		below, preset string
		later         *string
	}{
		{"leaks", []string{policy.LeaksOff, policy.LeaksWarn, policy.LeaksBlock}, s.Leaks, policy.LeaksWarn, &later.Leaks},
		{"pin_tools", []string{policy.PinOff, policy.PinWarn, policy.PinEnforce}, s.PinTools, policy.PinWarn, &later.PinTools},
		{"undo", []string{policy.UndoOff, policy.UndoSession, policy.UndoCall}, s.Undo, policy.UndoOff, &later.Undo},
		{"home", []string{"real", "private"}, s.Home, "real", &later.Home},
	} {
		below := cmp.Or(w.below, w.preset)
		if *w.later != "" && slices.Index(w.values, *w.later) < slices.Index(w.values, below) {
			held(w.key, show.TOML(*w.later), show.TOML(below))
			*w.later = below
		}
	}
}

func (s *Server) holdFlags(later *Server, held func(key, asked, value string)) {
	for _, f := range []struct {
		key          string
		strict       bool // the value that refuses
		always       bool // it is not weakened even where no layer below has it
		below, later **bool
	}{
		{"leak_patterns", true, true, &s.LeakPatterns, &later.LeakPatterns},
		{"auto_install", false, false, &s.AutoInstall, &later.AutoInstall},
		{"install_scripts", false, false, &s.InstallScripts, &later.InstallScripts},
		{"gpu", false, false, &s.GPU, &later.GPU},
	} {
		if *f.later == nil || **f.later == f.strict {
			continue
		}
		switch {
		case *f.below != nil && **f.below == f.strict:
			held(f.key, fmt.Sprint(!f.strict), fmt.Sprint(f.strict))
			*f.later = *f.below
		case f.always && *f.below == nil:
			*f.later = nil
			delete(later.places, f.key)
		}
	}
}

func (s *Server) holdNumbers(later *Server, held func(key, asked, value string)) {
	below := s.Limits.list()
	for i, l := range later.Limits.list() {
		most, asked := *below[i].value, *l.value
		if most != nil && asked != nil && *most != 0 && (*asked > *most || *asked == 0) {
			held("limits."+l.name, fmt.Sprint(*asked), fmt.Sprint(*most))
			*l.value = most
		}
	}
	if s.Undo == "" || s.Undo == policy.UndoOff {
		return
	}
	for _, n := range []struct {
		key          string
		preset       int
		below, later **int
	}{
		{"undo_file_mb", policy.DefaultUndo.FileMB, &s.UndoFileMB, &later.UndoFileMB},
		{"undo_total_mb", policy.DefaultUndo.TotalMB, &s.UndoTotalMB, &later.UndoTotalMB},
		{"undo_days", policy.DefaultUndo.Days, &s.UndoDays, &later.UndoDays},
	} {
		least := n.preset
		if *n.below != nil {
			least = **n.below
		}
		if *n.later != nil && **n.later < least {
			held(n.key, fmt.Sprint(**n.later), fmt.Sprint(least))
			*n.later = &least
		}
	}
}
