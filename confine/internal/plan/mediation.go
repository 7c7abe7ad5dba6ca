package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/confine/internal/kernel"
	"github.com/mcp-jail/mcp-jail/confine/internal/landlock"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/policy"
)

func (c *compiler) decideMediation(o *spec.Spec) {
	c.canMediate = c.f.SeccompNotify
	switch {
	case c.once:
		c.canMediate = kernel.Unavailable("only starts of programs are held in this jail", "")
	case c.canMediate.Answer == kernel.Yes && !o.FreshProc:
		c.canMediate = c.f.FreshProc
	case c.canMediate.Answer == kernel.Yes && c.f.PtraceScope.Answer != kernel.Yes:
		c.canMediate = c.f.PtraceScope
	}
	c.mediated = c.canMediate.Answer == kernel.Yes
	c.decideTracing()
}

// mediation gives the supervisor the part of the profile by which it decides. Without mediated
// calls, the server can make protected names, files made under create without update stay empty,
// and no refusal is recorded.
func (c *compiler) mediation(o *spec.Spec) {
	if c.mediated {
		o.Profile = policy.Profile{
			Entries:     mediatedEntries(c.p.Entries, builtinEntries(o)),
			Unprotected: c.p.Unprotected, Hidden: c.p.Hidden, GitDirs: c.p.GitDirs, Programs: c.p.Programs,
		}
		c.commands(o)
		o.WorkerRules = workerRuleset(c.landlock(o))
		c.addEnforced(policy.AxisFs, "mcp-jail, asked by seccomp", "no protected file comes into being, and what another program replaces stays read-only")
		return
	}
	c.unmediated(c.canMediate)
}

// watched has the supervisor report refused reads, where calls are mediated.
func (c *compiler) watched() {
	switch {
	case !c.watch:
	case c.mediated:
		c.plan.WatchesReads = true
	default:
		c.addGap(Gap{
			Axis: policy.AxisProcess, What: "to record each blocked read", Fatal: true,
			Why: "mcp-jail cannot see its calls: " + c.canMediate.Detail, Fix: c.canMediate.Fix,
		})
	}
}

// startsOnce has the supervisor refuse each start of a program after the first, where it sees them.
func (c *compiler) startsOnce() {
	switch {
	case !c.once:
	case c.plan.CanWatch():
		c.plan.Spec.Once = true
		c.addEnforced(policy.AxisProcess, "mcp-jail, asked by seccomp", "no program is started after the first one")
	default:
		missing := c.f.SeccompNotify
		if missing.Answer == kernel.Yes { // in the host's namespaces it needs more
			missing = c.canMediate
		}
		c.addGap(Gap{
			Axis: policy.AxisProcess, What: "no further program is started", Fatal: true,
			Why: "mcp-jail cannot hold its calls: " + missing.Detail, Fix: missing.Fix,
		})
	}
}

// CanWatch reports whether the jail's supervisor sees the calls of the server, so that a start may ask
// for Launcher.CertainReads.
func (plan *Plan) CanWatch() bool { return len(plan.Spec.ListenerFilter) > 0 }

// keep has the supervisor keep files before the server changes them. The supervisor can do that
// only if the calls that change files are mediated.
func (c *compiler) keep(o *spec.Spec) {
	u := c.p.Undo
	if !u.On() {
		return
	}
	if !c.mediated {
		c.addGap(Gap{
			Axis: policy.AxisFs, What: "undo: what the server changes is not stored",
			Why: "mcp-jail cannot carry out the calls that change files: " + c.canMediate.Detail,
			Fix: `set undo = "off", or accept it for this server with waive = ["fs"] (--waive fs)`,
		})
		return
	}
	total := u.TotalMB
	if limit := o.Limits.FileSizeMB; limit > 0 { // of the supervisor too
		total = min(total, limit)
	}
	o.Keep = spec.Keep{On: true, PerCall: u.Mode == policy.UndoCall, TotalMB: total}
	c.addEnforced(policy.AxisFs, "mcp-jail", "files of up to %d MB are stored before the server changes them (mcp-jail undo). So it cannot rename a directory that is not empty: programs such as mv copy it then", policy.UndoFileMB)
}

func (c *compiler) unmediated(missing kernel.Feature) {
	for _, e := range c.p.Entries {
		if fillsOnly(e) {
			c.createsEmpty(e, "Landlock would only let the server make empty files, and mcp-jail cannot open them for it: "+missing.Detail)
		}
	}
	where := slices.IndexFunc(c.p.Entries, func(e policy.Entry) bool {
		return e.Rights.Has(policy.Create) && e.Origin != policy.OriginHome
	})
	if where < 0 {
		return
	}
	what := "protected files that do not exist yet, in " + c.p.Entries[where].Path
	if n := len(c.p.Unprotected); n > 0 {
		what += " (" + strings.Join(shorten(c.p.Unprotected, 4), ", ") + ")"
	}
	c.addGap(Gap{
		Axis: policy.AxisFs, What: what,
		Why: "the server could make them, since mcp-jail cannot decide the calls that make names: " + missing.Detail,
		Fix: strings.Join(slices.DeleteFunc([]string{missing.Fix, `grant no create, or accept it for this server with waive = ["fs"] (--waive fs)`}, func(s string) bool { return s == "" }), ", or "),
	})
}

// createsEmpty adds the gap of an entry whose new files would stay empty.
func (c *compiler) createsEmpty(e policy.Entry, why string) {
	c.addGap(Gap{Axis: policy.AxisFs, What: e.Rule + ": create without update", Why: why, Fix: "add update = true to the rule"})
}

// mediatedEntries returns the entries by which calls are decided. The jail's own places count as
// a home: no process outside the jail uses the files that are made there.
func mediatedEntries(granted, own []policy.Entry) []policy.Entry {
	all := make([]policy.Entry, 0, len(granted)+len(own))
	for _, e := range granted {
		all = append(all, policy.Entry{Path: e.Path, Kind: e.Kind, Rights: e.Rights, Origin: e.Origin, Ephemeral: e.Ephemeral})
	}
	for _, e := range own {
		all = append(all, policy.Entry{Path: e.Path, Kind: e.Kind, Rights: e.Rights, Origin: policy.OriginHome})
	}
	slices.SortStableFunc(all, func(a, b policy.Entry) int { return strings.Compare(a.Path, b.Path) })
	entries := all[:0]
	for _, e := range all {
		if n := len(entries); n > 0 && entries[n-1].Path == e.Path {
			e.Rights |= entries[n-1].Rights
			entries = entries[:n-1]
		}
		entries = append(entries, e)
	}
	return entries
}

func fillsOnly(e policy.Entry) bool {
	return e.Kind == policy.KindDir && e.Rights.Has(policy.Create) && !e.Rights.Has(policy.Update)
}

// workerRuleset returns the ruleset of the supervisor's workers if it differs from the server's.
// It lets the workers open files for writing where the server may only create them. The workers
// do so only with files that they have just made.
func workerRuleset(server landlock.Input) landlock.Ruleset {
	if server.ABI < 1 || !slices.ContainsFunc(server.Entries, fillsOnly) {
		return landlock.Ruleset{}
	}
	server.Entries = slices.Clone(server.Entries)
	for i, e := range server.Entries {
		if fillsOnly(e) {
			server.Entries[i].Rights |= policy.Update
		}
	}
	return landlock.Compile(server).Ruleset
}

// decideTracing decides whether the supervisor traces the starts of programs. It needs the
// mediation of calls, which holds each execve.
func (c *compiler) decideTracing() {
	c.traced = c.p.ConstrainsStarts() && c.mediated && c.f.Traces.Answer == kernel.Yes
}

func (c *compiler) commands(o *spec.Spec) {
	if c.traced {
		o.Profile.CommandArgs, o.Profile.Commands, o.Profile.AndCommands, o.Profile.OwnPrograms = c.p.CommandArgs, c.p.Commands, c.p.AndCommands, c.p.OwnPrograms
	}
}

// ownEnv adds the variables that mcp-jail sets for every program of the jail to the rules with
// envs, which need not name them.
func (c *compiler) ownEnv(o *spec.Spec) {
	var own []string
	for _, v := range o.Env {
		name, _, _ := strings.Cut(v, "=")
		i := slices.IndexFunc(c.p.Env, func(v policy.Variable) bool { return v.Name == name })
		if i < 0 || strings.HasPrefix(c.p.Env[i].Rule, "mcp-jail: ") {
			own = append(own, name)
		}
	}
	for _, list := range []*[]policy.Command{&o.Profile.Commands, &o.Profile.AndCommands} {
		*list = slices.Clone(*list)
		for i := range *list {
			if r := &(*list)[i]; r.Envs != nil {
				r.Envs = append(slices.Clone(r.Envs), own...)
			}
		}
	}
}

// programs records that only listed files can be executed. One of them may be the loader,
// which the kernel must be able to execute for each program linked to it. by is the mechanism, and
// decides names it in a sentence.
func (c *compiler) programs(by, decides string, cannot kernel.Feature) {
	if c.p.Programs == nil {
		return
	}
	what := fmt.Sprintf("only %d programs can be started (what a started program then does is up to the other axes)", len(c.p.Programs))
	if len(c.p.Loaders) > 0 && !c.traced {
		what += fmt.Sprintf("; one of them is the loader (%s), which runs any dynamically linked program that the server can read", strings.Join(c.p.Loaders, ", "))
	}
	c.addEnforced(policy.AxisProcess, by, "%s", what)
	names := strings.Join(c.p.CommandArgs, ", ")
	switch {
	case !c.p.ConstrainsStarts():
	case c.traced:
		c.addEnforced(policy.AxisProcess, "mcp-jail, by seccomp and ptrace",
			"each program that is started is looked at before its first instruction: the arguments and variables of %s are those of the rules, and loaders and interpreters without a rule start nothing by themselves", names)
	default:
		if cannot.Answer == kernel.Yes {
			cannot = c.f.Traces
		}
		c.addGap(Gap{
			Axis: policy.AxisProcess, What: "arguments and variables of " + names,
			Why: decides + " decides which file is started, not with which arguments, and mcp-jail cannot look at what is started: " + cannot.Detail,
			Fix: strings.Join(slices.DeleteFunc([]string{cannot.Fix, "drop args and envs from the command rules"}, func(s string) bool { return s == "" }), ", or "),
		})
	}
}
