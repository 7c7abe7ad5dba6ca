package plan

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/confine/internal/features"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/policy"
)

// decideTracing decides whether the supervisor traces the starts of programs. It needs the
// mediation of calls, which holds each execve.
func (c *compiler) decideTracing() {
	c.traced = c.p.ConstrainsStarts() && c.mediated && c.f.Traces.Answer == features.Yes
}

func (c *compiler) commands(o *spec.Spec) {
	if c.traced {
		o.Profile.CommandArgs, o.Profile.Commands, o.Profile.OwnPrograms = c.p.CommandArgs, c.p.Commands, c.p.OwnPrograms
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
	o.Profile.Commands = slices.Clone(o.Profile.Commands)
	for i := range o.Profile.Commands {
		if r := &o.Profile.Commands[i]; r.Envs != nil {
			r.Envs = append(slices.Clone(r.Envs), own...)
		}
	}
}

// programs records that only listed files can be executed. One of them may be the loader,
// which the kernel must be able to execute for each program linked to it. by is the mechanism, and
// decides names it in a sentence.
func (c *compiler) programs(by, decides string, cannot features.Feature) {
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
		c.addEnforced(policy.AxisProcess, "the jail's supervisor, by seccomp and ptrace",
			"each program that is started is looked at before its first instruction: the arguments and variables of %s are those of the rules, and loaders and interpreters without a rule start nothing by themselves", names)
	default:
		if cannot.Answer == features.Yes {
			cannot = c.f.Traces
		}
		c.addGap(Gap{
			Axis: policy.AxisProcess, What: "arguments and variables of " + names,
			Why: decides + " decides which file is started, not with which arguments, and no supervisor can look at what is started: " + cannot.Detail,
			Fix: strings.Join(slices.DeleteFunc([]string{cannot.Fix, "drop args and envs from the command rules"}, func(s string) bool { return s == "" }), ", or "),
		})
	}
}
