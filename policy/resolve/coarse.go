package resolve

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve/internal/places"
)

// resolveCoarse makes a profile for Windows. Nothing restricts files there, so it has a program and an
// environment, and no entries. It is pure, and tests of every system run it.
func resolveCoarse(p *policy.Policy, h *hostfs.Host) (*policy.Profile, []policy.Warning, error) {
	net, err := p.Normalize()
	if err != nil {
		return nil, nil, err
	}
	warnings := &warningList{}
	for _, r := range p.Fs {
		if p.Default {
			break // the gap tells the same as a warning would
		}
		if err := checkCoarseRule(r); err != nil {
			return nil, warnings.list, &RuleError{Rule: r.Label(), Reason: err.Error()}
		}
		warnings.warn("not-enforced", r.Where, "the rule path = %q holds nothing: on Windows the server reads all that you may, and writes in its own HOME and TEMP alone", r.Path)
	}
	b := &resolver{facts: &facts{p: p, h: h, warnings: warnings}}
	out := b.newProfile(net)
	if err := (windows{h}).fill(p, out); err != nil {
		return nil, warnings.list, err
	}
	out.Reach = coarseReach(p)
	return out, warnings.list, nil
}

// coarseReach returns where servers may write. Every policy may write everywhere, and so none is listed
// with rules.
func coarseReach(p *policy.Policy) *policy.Reach {
	return &policy.Reach{Writers: make([]policy.WriterRules, 1+len(p.Others))}
}

// checkCoarseRule refuses a rule about files whose path is spelled in a form that mcp-jail does not take. A
// path of a preset for all systems, such as /etc, is one that is not there.
func checkCoarseRule(r policy.FsRule) error {
	if err := hostfs.CheckWindowsVariable(r.Path); err != nil {
		return err
	}
	if strings.HasPrefix(r.Path, `\`) || strings.HasPrefix(r.Path, "//") || strings.HasPrefix(r.Path, `/\`) || strings.Contains(r.Path, ":") {
		_, err := hostfs.CleanWindows(r.Path)
		return err
	}
	return hostfs.CheckWindowsNames(strings.TrimPrefix(r.Path, "~/"))
}

// placedOnWindows returns where rules would lead.
func placedOnWindows(p *policy.Policy, h *hostfs.Host) (placed []PlacedRule, err error) {
	for _, r := range p.Fs {
		if err := checkCoarseRule(r); err != nil {
			return nil, &RuleError{Rule: r.Label(), Reason: err.Error()}
		}
		at, dir := r.Path, h.Dir
		if rest, ok := hostfs.CutHome(h.OS, at); ok {
			at, dir = rest, h.Home
		}
		if at, err := hostfs.CleanWindows(hostfs.JoinWindows(dir, at)); err == nil {
			placed = append(placed, PlacedRule{r, at})
		}
	}
	return placed, nil
}

// fill sets the directories, the program and the environment of a profile.
func (h windows) fill(p *policy.Policy, out *policy.Profile) (err error) {
	for _, r := range p.Env {
		if r.File != "" {
			return &RuleError{r.Label(), "mcp-jail reads no file of variables on Windows: set the variable where your client starts the server, and take file out of the rule"}
		}
	}
	dir := h.Dir
	if p.Workspace != "" {
		dir = p.Workspace
	}
	if out.Dir, err = hostfs.CleanWindows(dir); err != nil {
		return &places.WorkspaceError{Workspace: dir, Reason: err.Error()}
	}
	out.Workspace = out.Dir
	if out.Home, err = h.home(p); err != nil {
		return err
	}
	if out.HomePrivate && !p.Stateful {
		// The only entry: the plan says that no call has a copy of its own.
		out.Entries = []policy.Entry{{Path: out.Home, Kind: policy.KindDir, Rights: policy.AllRights, Origin: policy.OriginHome, Named: out.Home, Rule: "the server's own HOME", Ephemeral: true}}
	}
	if err := h.program(p, out); err != nil {
		return err
	}
	if p.Commands != nil {
		out.Programs = []string{out.Program} // not resolved further: the plan has a gap for them
	}
	h.environment(p, out)
	return nil
}

// A windows host makes what a profile for Windows has.
type windows struct{ *hostfs.Host }

// home returns the directory of the server's own, or the user's.
func (h windows) home(p *policy.Policy) (string, error) {
	if p.HomeReal {
		return hostfs.CleanWindows(h.Home)
	}
	state, err := hostfs.CleanWindows(h.StateDir)
	if err != nil {
		return "", err
	}
	return hostfs.CleanWindows(state + `\servers\` + p.KeptName() + `\home`)
}

// checkScript returns an error if the script of an interpreter is written in a form that no program may have. It
// is the code of the server, as a program is.
func checkScript(program string, args []string) error {
	lang := policy.InterpreterFamily(strings.ToLower(program[strings.LastIndexByte(program, '\\')+1:]))
	script := strings.ReplaceAll(policy.ScriptArgument(lang, args), "/", `\`)
	if lang == "" || !hostfs.HasDrive(script) && !strings.HasPrefix(script, `\\`) && !strings.HasPrefix(script, `\??\`) {
		return nil
	}
	return hostfs.CheckWindowsFile(script)
}

func (h windows) program(p *policy.Policy, out *policy.Profile) error {
	isFile := func(path string) bool {
		info, err := h.Lstat(path)
		return err == nil && !info.Mode.IsDir()
	}
	dirs := h.SearchPath()
	name := p.Command
	if rest, ok := hostfs.CutHome(h.OS, name); ok {
		name = hostfs.JoinWindows(h.Home, rest)
	}
	found, err := hostfs.FindWindows(name, out.Dir, dirs, isFile)
	var script *hostfs.ScriptError
	switch {
	case errors.Is(err, hostfs.ErrNotFound):
		e := &Error{Command: p.Command, Reason: "there is no such program"}
		if !strings.ContainsAny(p.Command, `\/:`) {
			e.Reason, e.Path = "not found", dirs
		}
		return e
	case errors.As(err, &script):
		return &Error{Command: p.Command, Reason: script.Path + " " + script.Why, Fix: script.Fix, Refused: true}
	case err != nil:
		return &Error{Command: p.Command, Reason: err.Error(), Refused: true}
	}
	if err := checkScript(found, p.Arguments); err != nil {
		return &Error{Command: p.Command, Reason: err.Error(), Refused: true}
	}
	out.Program = found
	out.Argv = append([]string{found}, p.Arguments...)
	return nil
}

// minimal are the variables that programs of Windows need to start, and some that say no more than
// what every program can ask the system. TEMP and TMP get another value when the server starts.
var minimal = []string{
	"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATH", "PATHEXT", "TEMP", "TMP", "OS", "USERNAME", "LANG", "TZ",
	"NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE", "PROCESSOR_IDENTIFIER", "PROCESSOR_LEVEL", "PROCESSOR_REVISION",
	"PROGRAMFILES", "PROGRAMFILES(X86)", "PROGRAMW6432", "COMMONPROGRAMFILES", "COMMONPROGRAMFILES(X86)", "COMMONPROGRAMW6432", "PROGRAMDATA", "ALLUSERSPROFILE",
}

// environment builds the variables of the server. Those about the user's directories lead into its own.
func (h windows) environment(p *policy.Policy, out *policy.Profile) {
	env := environment{}
	withheld := map[string]bool{}
	rules := slices.Clone(p.Env) // in capitals: names have no case
	for i, r := range rules {
		rules[i].Name = strings.ToUpper(r.Name)
	}
	for _, v := range h.Environ {
		name, value, _ := strings.Cut(v, "=")
		if name == "" { // of cmd.exe, for the working directory of each drive
			continue
		}
		upper := strings.ToUpper(name)
		rule, granted := policy.MatchEnv(rules, upper)
		if i := slices.Index(rules, rule); i >= 0 {
			rule = p.Env[i] // as it is written
		}
		always := slices.Contains(minimal, upper)
		switch {
		case upper == "PATH":
			env.set(name, strings.Join(h.SearchPath(), ";"), policy.MinimalEnvironment, false)
		case granted && !always:
			exact := strings.EqualFold(rule.Name, name)
			env.set(name, value, rule.Label(), exact || policy.LooksLikeSecret(upper))
		case always && (granted || rule.Name == "" || !strings.EqualFold(rule.Name, name)):
			env.set(name, value, policy.MinimalEnvironment, false)
		default:
			withheld[name] = true
		}
	}
	for _, v := range p.Packages.Env {
		if name, value, ok := strings.Cut(v, "="); ok && !strings.EqualFold(name, "PATH") {
			env.replace(withheld, name, value, policy.PackageEnvironment)
		}
	}
	if out.HomePrivate {
		for name, below := range map[string]string{"USERPROFILE": "", "HOME": "", "APPDATA": `\AppData\Roaming`, "LOCALAPPDATA": `\AppData\Local`} {
			env.replace(withheld, name, out.Home+below, policy.MinimalEnvironment)
		}
		env.replace(withheld, "HOMEDRIVE", out.Home[:2], policy.MinimalEnvironment)
		env.replace(withheld, "HOMEPATH", out.Home[2:], policy.MinimalEnvironment)
	}
	out.Env = slices.SortedFunc(maps.Values(env), func(a, b policy.Variable) int { return strings.Compare(a.Name, b.Name) })
	out.Withheld = slices.Sorted(maps.Keys(withheld))
}

// replace sets a variable in place of every one that differs only in case.
func (e environment) replace(withheld map[string]bool, name, value, rule string) {
	same := func(n string) bool { return strings.EqualFold(n, name) }
	maps.DeleteFunc(e, func(n string, _ policy.Variable) bool { return same(n) })
	maps.DeleteFunc(withheld, func(n string, _ bool) bool { return same(n) })
	e.set(name, value, rule, false)
}
