package analysis

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/diagnostics/change"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Case is one failure: its evidence, compared with the profile.
type Case struct {
	Evidence       *diagnostics.Evidence
	Profile        *policy.Profile // never nil; empty when the evidence has none
	Writer         grantWriter
	MentionsSQLite bool // the text of the failure mentions SQLite
}

// Finding is what was concluded about one name. Refused and Note exclude each other. Both
// are unset when the name tells nothing.
type Finding struct {
	Refused bool // the policy refuses the name
	Hint    diagnostics.Hint
	Object  change.Object // whose change allows it
	// Note tells, without a refusal, why the policy is not the cause (the file does not exist on the
	// host either, or the policy grants the host), or what a possible cause is.
	Note   string
	Fix    string
	Whole  bool // Hint.Cause or Note is whole sentences, which say how sure they are
	Chosen bool // others choose what Object is, also where the jail has recorded it
	// Besides means that this finding and the one before it help only together.
	Besides bool
}

// NewCase returns the case of evidence. It sets the evidence's Redactor and Host, if they are nil.
func NewCase(ev *diagnostics.Evidence) *Case {
	c := &Case{Evidence: ev, Profile: ev.Profile, Writer: grantWriter{UserHome: ev.UserHome}}
	if c.Profile == nil {
		c.Profile = &policy.Profile{}
	}
	if ev.Host == nil {
		ev.Host = diagnostics.Unknown{}
	}
	if ev.Redactor == nil {
		ev.Redactor = diagnostics.NewRedactor(c.Profile.Env)
	}
	return c
}

// Refused returns the finding that target is refused.
func Refused(sure diagnostics.Attribution, axis policy.Axis, target, missing, cause string, o change.Object) Finding {
	return Finding{Refused: true, Object: o, Hint: diagnostics.Hint{Attribution: sure, Axis: axis, Target: target, Missing: missing, Cause: cause}}
}

// Unfixable returns the finding with a reason why no line of a policy helps.
func (f Finding) Unfixable(why string) Finding {
	f.Object, f.Fix = change.Object{}, why
	return f
}

// Decide decides about a change of what the server has.
func (c *Case) Decide(w change.Want) change.Proposal {
	w.Tool = c.Profile.Tool
	p := c.Evidence.Host.Decide(w)[0]
	p.Reasons = slices.Clone(p.Reasons)
	for i, r := range p.Reasons {
		p.Reasons[i].Names = c.Evidence.Redactor.Lines(r.Names)
	}
	return p
}

// IsNever reports whether rights at a path are never proposed, even if the jail has recorded them.
func (c *Case) IsNever(path string, rights policy.Rights) bool {
	return c.Decide(change.Want{Source: change.Recorded, Object: change.Path(path, rights)}).Verdict() == change.Never
}

// IsSensitive reports whether a path holds keys, tokens or passwords, or is a directory of them. It asks as for an
// entry, which never gives these: no other reason comes first.
func (c *Case) IsSensitive(path string) bool {
	return c.Decide(change.Want{Source: change.Entry, Object: change.Path(path, policy.Read)}).Is(policy.WhySensitive, policy.WhyLogin, policy.WhyKeyName)
}

// IsFree reports whether nothing speaks against rights at a path.
func (c *Case) IsFree(path string, rights policy.Rights) bool {
	return c.Decide(change.Want{Source: change.Recorded, Object: change.Path(path, rights)}).Verdict() >= change.Fine
}

// mac reports whether the jail is macOS's. It refuses with EPERM, hides no name, and has one way to
// hosts: the session's proxy.
func (c *Case) mac() bool { return c.Evidence.System == "darwin" }

// Windows reports whether the jail is that of Windows. It refuses no file, no host and no program.
func (c *Case) Windows() bool { return c.Evidence.System == "windows" }

// Restricts reports whether the jail can refuse what a rule of an axis grants.
func (c *Case) Restricts(axis policy.Axis) bool {
	return !c.Windows() || axis != policy.AxisFs && axis != policy.AxisNet && axis != policy.AxisIPC
}

// Show returns a path for a sentence. The reader may not know where the server was started, so no path is relative.
func (c *Case) Show(path string) string { return c.Name(c.Writer.whole(path)) }

// Name returns a name for a sentence, without the values of secrets.
func (c *Case) Name(s string) string { return show.InSentence(c.Evidence.Redactor.Redact(s)) }

// Who names the server in a sentence.
func (c *Case) Who() string { return diagnostics.Who(c.Evidence.Server) }

// Actor returns the name by which a user knows a program that was refused something: none for the server's own, and sh
// for the shell that is sh here.
func (c *Case) Actor(program string) string {
	switch {
	case program == c.Profile.Program:
		return ""
	case program == c.Canonical("/bin/sh") && strings.HasSuffix(program, "sh"): // busybox is more than a shell
		return "sh"
	}
	return program
}

// Lacks says that the server may not do something with a path, or "" if it may.
func (c *Case) Lacks(path string, missing policy.Rights) string {
	if missing&policy.Write != 0 && c.Exists(path) == Absent {
		path = filepath.Dir(path)
	}
	has := c.rightsAt(path)
	switch who, at := c.Who(), c.Show(path); {
	case missing&^has == 0:
		return ""
	case missing.Has(policy.Execute):
		return who + " may not start " + at
	case missing&policy.Write == 0:
		return who + " may not read " + at
	case !has.Has(policy.Read):
		return who + " may not write to " + at
	case c.Exists(path+"/.") == Present:
		return who + " may read " + at + ", but not write there"
	default:
		return who + " may read " + at + ", but not change it"
	}
}

// Quote quotes s without the values of secrets. All else works on unredacted names, because a redacted name would match another rule.
func (c *Case) Quote(s string) string { return show.Quote(c.Evidence.Redactor.Redact(s)) }

// Absolute returns the absolute path that a name in a text means. ok is false when it
// means none.
func (c *Case) Absolute(name string) (path string, ok bool) {
	name = strings.TrimPrefix(name, "file://")
	for _, home := range []string{"$HOME/", "${HOME}/"} {
		if rest, ok := strings.CutPrefix(name, home); ok {
			name = "~/" + rest
		}
	}
	switch {
	case name == "" || len(name) > 4096 || strings.ContainsRune(name, 0):
		return "", false
	case name == "~" || strings.HasPrefix(name, "~/"):
		if c.Evidence.UserHome == "" {
			return "", false
		}
		name = filepath.Join(c.Evidence.UserHome, strings.TrimPrefix(name, "~"))
	case !filepath.IsAbs(name):
		if c.Profile.Dir == "" {
			return "", false
		}
		name = filepath.Join(c.Profile.Dir, name)
	}
	return filepath.Clean(name), true
}

// Canonical resolves path through the links in the jail and, where the host can be asked,
// through those of the host.
func (c *Case) Canonical(path string) string {
	for range 8 { // links may lead to links
		next := path
		for _, l := range c.Profile.Links {
			if policy.Within(path, l.Path) {
				target := l.Target
				if !filepath.IsAbs(target) {
					target = filepath.Join(filepath.Dir(l.Path), target)
				}
				next = filepath.Join(target, path[len(l.Path):])
				break
			}
		}
		if next == path {
			break
		}
		path = next
	}
	if real := c.Evidence.Host.Canonical(path); filepath.IsAbs(real) {
		return filepath.Clean(real)
	}
	return path
}

// may reports whether the user, without a jail, has rights at a path. What the user's own rights refuse
// is no refusal of the jail.
func (c *Case) may(path string, rights policy.Rights) bool {
	return c.Evidence.Host.May(path, rights)
}

// existence is yes, no or unknown.
type existence uint8

const (
	unknown existence = iota
	Absent
	Present
)

// Exists reports whether a path exists on the host.
func (c *Case) Exists(path string) existence {
	switch exists, known := c.Evidence.Host.Exists(path); {
	case !known:
		return unknown
	case exists:
		return Present
	}
	return Absent
}

// grantedVariables returns the variables that the user's rules forward, without those that are about
// the place where mcp-jail was started.
func (c *Case) grantedVariables() (all []policy.Variable) {
	for _, v := range c.Profile.Env {
		own := v.Rule == policy.MinimalEnvironment || v.Rule == policy.PackageEnvironment || strings.HasPrefix(v.Rule, policy.OwnVariable)
		if !own && !policy.IsMinimalVariable(v.Name) && v.Name != "PWD" && v.Name != "OLDPWD" && v.Name != policy.StatementVar {
			all = append(all, v)
		}
	}
	return all
}

// RightName returns the name of a right in the configuration.
func RightName(r policy.Rights) string {
	switch {
	case r.Has(policy.Execute):
		return "execute"
	case r&policy.Write != 0:
		return "write"
	}
	return "read"
}

// PlanCommand returns the command that shows the policy of this server.
func (c *Case) PlanCommand() string {
	if c.Evidence.Server == "" {
		return "mcp-jail plan"
	}
	return show.Typed("mcp-jail plan", c.Evidence.Server)
}

// TimeoutHint returns how to give a server more time than the limit that passed. when is the
// condition, in words.
func TimeoutHint(c *Case, when string) string {
	ev := c.Evidence
	key := "call_timeout_secs"
	if ev.Stage == diagnostics.StageStartup {
		key = "startup_timeout_secs"
	}
	switch {
	case ev.FromCommandLine && ev.Stage == diagnostics.StageStartup:
		return when + ", start it with " + strings.Join(Longer(c).Words(), " ")
	case ev.FromCommandLine:
		return when + ", declare the server in a configuration file with a larger " + key
	}
	return when + ", raise " + key + " = " + strconv.Itoa(int(ev.Timeout.Seconds())) + " under [servers." + show.Key(ev.Server) + "]"
}

// Longer returns what gives the start of a server more time than the limit that passed. Calls have no such flag.
func Longer(c *Case) (o change.Object) {
	if ev := c.Evidence; ev.Stage == diagnostics.StageStartup && ev.Timeout > 0 {
		o.Setting = change.Setting{Key: change.StartupTimeout, Value: strconv.Itoa(2 * int(ev.Timeout.Seconds()))}
	}
	return o
}

// cannotRemove returns the finding about a removal that no further rule makes possible: the host has
// no such file either, or a rule names the directory.
func cannotRemove(c *Case, path, operation, cause string) (f Finding, ok bool) {
	if !strings.HasPrefix(operation, "remove") {
		return f, false
	}
	f = Refused(diagnostics.Certain, policy.AxisFs, path, RightName(policy.Delete), cause, change.Object{})
	if c.Exists(path) == Absent {
		f.Fix = absent(c, path)
		return f, true
	}
	e, found := c.Profile.Find(path)
	if !found || e.Path != path || e.Kind != policy.KindDir || e.Origin != policy.OriginRule {
		return f, false
	}
	f.Hint.Explain = diagnostics.PageFsMove
	return f.Unfixable("the path of a rule stays in its place: leave out " + show.Line(c.Evidence.Redactor.Redact(e.Rule)) + ", and grant the directory around it"), true
}
