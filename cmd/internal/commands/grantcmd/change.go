package grantcmd

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/shown"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// plan is a change of a server's file.
type plan struct {
	*server
	saved  *config.ServerFile // of a line without an id: its file, if it is there
	file   *config.ServerFile // as it is now; a new one has no rules
	now    *checked           // with that file
	grants config.Grants
	asked  *config.Server    // as grants.Table, with what the server has already
	lines  []string          // in words, what does not change
	why    map[string]string // of a flag that a failure lacked
	left   []string          // what is not granted, in words
}

func (p *plan) say(label, format string, args ...any) {
	p.lines = append(p.lines, fmt.Sprintf("  %-8s %s", label, fmt.Sprintf(format, args...)))
}

// change shows what becomes of the file of a server, asks, and writes it.
func (g *grantCmd) change(c terminal.Console, host hostfs.Host, s *server, wanted []flag) error {
	p := &plan{server: s, why: map[string]string{}}
	err := g.begin(host, p)
	if err != nil {
		return err
	}
	if g.last {
		wanted, err = g.lastOf(c, host, p)
	} else {
		wanted, err = g.spelled(wanted)
	}
	if err == nil {
		p.grants.Table, err = p.tableOf(wanted)
	}
	if err != nil {
		return err
	}
	p.asked = p.grants.Table
	if g.tool == "" && !p.now.target.Policy.Stateful && p.grants.Table.Access != nil {
		return exit.UsageErrorf("each tool of %s has its own process and rules: name the tool with --tool TOOL; --tool '*' means all that have none of their own", show.Name(g.server))
	}
	if !g.remove {
		if wanted, err = g.missing(p, wanted); err == nil {
			p.grants.Table, err = p.tableOf(wanted)
		}
		if err != nil {
			return err
		}
	}
	file, after, err := g.apply(p, p.file)
	if err != nil {
		return err
	}
	return g.write(c, host, p, file, after)
}

// begin reads the file of the server, and the policy that it has now.
func (g *grantCmd) begin(host hostfs.Host, p *plan) (err error) {
	files, _ := config.ServerFiles(host.ConfigDir)
	if p.adds && p.words != nil { // the words of a record may lack secrets, and so not lead to the file
		p.saved = p.among(files)
	}
	if p.now, err = p.check(p.saved, ""); err != nil {
		return err
	}
	p.file = p.in(host, files)
	in := person{runtime.GOOS, g.home, p.dir} // relative paths of a file are in the workspace
	if w := p.now.target.Policy.Workspace; w != "" {
		in.dir = in.absolute(w)
	}
	p.grants = config.Grants{Only: p.adds, At: in.absolute}
	return g.of(p)
}

// of takes the policy of the chosen tool.
func (g *grantCmd) of(p *plan) (err error) {
	if p.grants.Tool = g.tool; g.tool != "" {
		p.now, err = p.check(p.saved, g.tool)
	}
	return err
}

// among returns the file of the server among others, or nil.
func (s *server) among(files []*config.ServerFile) *config.ServerFile {
	for _, f := range files {
		if f.Server.ID == s.id && (f.Server.Command == "") == (s.words == nil) {
			return f
		}
	}
	return nil
}

// in returns the file of the server among others, or a new one.
func (p *plan) in(host hostfs.Host, files []*config.ServerFile) *config.ServerFile {
	if f := p.among(files); f != nil {
		return f
	}
	return p.made(host, p.now.target.Policy.Stateful)
}

// made returns a new file of the server.
func (p *plan) made(host hostfs.Host, stateful bool) *config.ServerFile {
	made := &config.Server{Name: p.name, ID: p.id}
	if p.words != nil {
		made.Command, made.Arguments = p.words[0], p.words[1:]
	}
	if !stateful {
		made.Stateful = &stateful
	}
	return &config.ServerFile{Path: filepath.Join(host.ConfigDir, config.ServersDir, p.name+".toml"), Server: made}
}

// tableOf returns flags as a table. A preset comes as its rules.
func (p *plan) tableOf(flags []flag) (*config.Server, error) {
	i := slices.IndexFunc(flags, func(f flag) bool { return f.name == "--preset" })
	if i < 0 {
		return table(flags)
	}
	switch {
	case p.now.target.Profile != nil:
	case p.now.start != nil:
		return nil, refusal(p.now.start)
	default:
		return nil, exit.UsageErrorf("nothing was changed: whether the preset %s is for it shows when its package is there: start it once", policy.Abbreviate(flags[i].value))
	}
	rules, err := session.PresetTable(p.now.target, flags[i].value)
	if err != nil {
		return nil, exit.UsageErrorf("nothing was changed: --preset %s: %s", policy.Abbreviate(flags[i].value), err)
	}
	rest, err := table(slices.Delete(slices.Clone(flags), i, i+1))
	if err == nil {
		_, err = config.Grants{Table: rest, Only: true, At: p.grants.At}.AddTo(rules)
	}
	return rules, err
}

// apply returns a file with the change, and the policy that the server has with it. Narrower rules go, unless they give
// what the new ones do not.
func (g *grantCmd) apply(p *plan, file *config.ServerFile) (changed *config.ServerFile, after *checked, err error) {
	var keep func(policy.FsRule) bool
	for range 2 {
		if changed, err = file.Checked(); err != nil {
			return nil, nil, err
		}
		if g.remove {
			if err := p.grants.TakeFrom(changed.Server); err != nil {
				return nil, nil, p.notThere(err)
			}
			return p.read(changed, g.tool)
		}
		narrower, err := p.grants.AddTo(changed.Server)
		if err != nil {
			return nil, nil, exit.UsageErrorf("nothing was changed: %s", err)
		}
		for _, r := range narrower {
			if keep == nil || !keep(r) {
				p.grants.Drop(changed.Server, r)
			}
		}
		if changed, after, err = p.read(changed, g.tool); err != nil || !slices.ContainsFunc(narrower, p.keeps(after)) {
			return changed, after, err
		}
		keep = p.keeps(after)
	}
	return changed, after, nil
}

// keeps returns what reports whether a rule gives something that a policy without it lacks.
func (p *plan) keeps(without *checked) func(policy.FsRule) bool {
	return func(r policy.FsRule) bool {
		at := real(p.grants.At(r.Path))
		if was, is := p.now.target.Profile, without.target.Profile; was != nil && is != nil {
			return slices.ContainsFunc(lost(was, is), func(path string) bool { return hostfs.Within(p.now.target.Host.OS, path, at) })
		}
		return resolve.Sensitive(&p.now.target.Host, p.now.target.Policy, at) != "" || hostfs.HasProtectedName(p.now.target.Host.OS, at)
	}
}

// read returns a file as the next start reads it, and the policy with it.
func (p *plan) read(f *config.ServerFile, tool string) (*config.ServerFile, *checked, error) {
	f, err := f.Checked()
	if err != nil {
		return nil, nil, refusal(err)
	}
	after, err := p.check(f, tool)
	if err != nil {
		return nil, nil, refusal(err)
	}
	return f, after, nil
}

// missing returns the flags that the server does not have yet.
func (g *grantCmd) missing(p *plan, wanted []flag) (missing []flag, err error) {
	for _, f := range wanted {
		by, err := g.granted(p, f)
		if err != nil {
			return nil, err
		}
		if _, set := os.LookupEnv(f.value); f.name == "--env" && !set && !strings.Contains(f.value, "*") {
			p.say("note", "%s is set neither here nor in a file of a client: the server gets it once its client has it", show.Name(f.value))
		}
		if by == "" {
			missing = append(missing, f)
		} else {
			p.say("granted", "%s is granted already, by %s", f, show.Line(cli.ShortPath(by, g.home)))
		}
	}
	return missing, nil
}

// granted returns what grants a flag already, or "": the policy is the same with it, and gives it wherever the server
// is started.
func (g *grantCmd) granted(p *plan, f flag) (by string, err error) {
	one := *p
	if one.grants.Table, err = p.tableOf([]flag{f}); err != nil {
		return "", err
	}
	_, after, err := g.apply(&one, p.file)
	switch by := p.around(one.grants.Table); {
	case by != "" && (err != nil || after.files != nil && p.now.files == nil):
		return by, nil // a rule with fewer rights than the one around it is an error
	case err != nil || !after.isSame(p.now):
		return "", err
	}
	now := p.now.target.Policy
	switch f.name {
	case "--read", "--write", "--execute", "--deny":
		r := one.grants.Table.Access.Fs[0]
		by, denied := p.now.gives(p.grants.At(r.Path), r.Rights())
		switch {
		case r.Rights() == 0:
			return denied, nil
		case denied != "":
			return "", exit.UsageErrorf("nothing was changed: %s", &config.DenialError{Path: f.value, Where: denied})
		}
		return by, nil
	case "--net":
		if rule, ok := policy.MatchNet(now.Net, one.grants.Table.Access.Net[0].Host, "", one.grants.Table.Access.Net[0].Ports()[0], "", ""); ok {
			return rule.Where, nil
		}
	case "--env":
		rule, _ := policy.MatchEnv(now.Env, f.value) // it may not be set
		return rule.Where, nil
	}
	return "the policy that it has", nil
}

// around returns the rule that gives what a rule for a path would, or "". At a sensitive path or a protected name the
// rules around it count for nothing.
func (p *plan) around(table *config.Server) string {
	if table.Access == nil || len(table.Access.Fs) == 0 || table.Access.Fs[0].Rights() == 0 {
		return ""
	}
	r, host := table.Access.Fs[0], p.now.target.Host
	at := real(p.grants.At(r.Path))
	by, denied := p.now.gives(at, r.Rights())
	if denied != "" || resolve.Sensitive(&host, p.now.target.Policy, at) != "" || hostfs.HasProtectedName(host.OS, at) {
		return ""
	}
	return by
}

// notThere returns the error about a rule that the file does not have.
func (p *plan) notThere(err error) error {
	text := fmt.Sprintf("nothing was changed: %s: %s", show.Line(p.file.Path), err)
	a := p.grants.Table.Access
	if a == nil {
		return errors.New(text)
	}
	for _, r := range a.Fs {
		if by, _ := p.now.gives(p.grants.At(r.Path), r.Rights()); by != "" && r.Rights() != 0 {
			return fmt.Errorf("%s. What gives it is  %s%s", text, show.Line(by), p.elsewhere(by))
		}
	}
	for _, r := range a.Net {
		if by, ok := policy.MatchNet(p.now.target.Policy.Net, r.Host, "", r.Ports()[0], "", ""); ok && by.Allow {
			return fmt.Errorf("%s. What gives it is  %s%s", text, show.Line(by.Where), p.elsewhere(by.Where))
		}
	}
	return errors.New(text)
}

// elsewhere says that a rule is in no file that grant writes.
func (p *plan) elsewhere(by string) string {
	if strings.HasPrefix(by, p.file.Path+":") {
		return ""
	}
	return ", which you wrote yourself: take it back there"
}

// compare returns what differs between the policies of two files.
func (p *plan) compare(after *checked) []config.Change {
	was, is := *p.now.target.Policy, *after.target.Policy
	if was.Workspace != is.Workspace { // a name for that of a server without one
		started := cmp.Or(cli.ShortPath(p.dir, p.now.target.Host.Home), "the directory that it is started in")
		was.Workspace, is.Workspace = cmp.Or(was.Workspace, started), cmp.Or(is.Workspace, started)
	}
	if was.Default && !is.Default { // the same rule, written
		was.Fs = slices.Clone(was.Fs)
		for i := range was.Fs {
			if was.Fs[i].Where == policy.DefaultSource {
				was.Fs[i].Where = ""
			}
		}
	}
	return config.ComparePolicies(&was, &is)
}

// differences returns what differs between the policies of two files, in words.
func (p *plan) differences(after *checked) (lines []string) {
	for _, ch := range p.compare(after) {
		sign, text := "+", ch.Text
		for _, loss := range []string{"no longer: ", "no longer "} {
			if rest, isLoss := strings.CutPrefix(text, loss); isLoss {
				sign, text = "-", rest
			}
		}
		lines = append(lines, fmt.Sprintf("  %s %s", sign, show.Line(text)))
	}
	return lines
}

// write shows the difference, asks and writes the file.
func (g *grantCmd) write(c terminal.Console, host hostfs.Host, p *plan, file *config.ServerFile, after *checked) error {
	c.PrintText(c.Paint(terminal.Bold, show.Name(p.name)) + "  " + p.place + "\n")
	if p.adds && p.words != nil && p.dir != "" {
		c.PrintText("  for      " + shown.Line(p.words) + "  started in " + show.Line(cli.ShortPath(p.dir, g.home)) + "\n")
	}
	for _, l := range p.lines {
		c.PrintText(l + "\n")
	}
	taken := g.takenAway(p, file)
	if string(file.Encode()) == string(p.file.Encode()) {
		if taken != "" {
			c.PrintText(fmt.Sprintf("  %s %s\n", c.Paint(terminal.Yellow, "note:"), taken))
		} else if len(p.left) == 0 && !g.remove {
			c.PrintText("nothing to do: " + p.takesEffect() + "\n")
		}
		return g.status(c, p)
	}
	if err := p.show(c, after); err != nil {
		return err
	}
	if taken != "" {
		c.PrintText(fmt.Sprintf("  %s %s\n", c.Paint(terminal.Yellow, "note:"), taken))
	}
	if g.dryRun {
		c.Printf("nothing was changed (--dry-run)\n")
		return g.status(c, p)
	}
	if err := g.askApart(c, p, after); err != nil {
		return err
	}
	if err := g.confirm(c, p); err != nil {
		return err
	}
	err := g.commit(c, host, p, func(f *config.ServerFile) (*config.ServerFile, error) {
		changed, _, err := g.apply(p, f)
		return changed, err
	})
	if err != nil {
		return err
	}
	return g.status(c, p)
}

// show says what differs between the policies of two files, and what a start newly warns of.
func (p *plan) show(c terminal.Console, after *checked) error {
	warnings, err := after.since(p.now)
	if err != nil {
		return err
	}
	for _, l := range p.differences(after) {
		c.PrintText(l + "\n")
	}
	for _, w := range warnings {
		c.PrintText(fmt.Sprintf("  %s %s\n", c.Paint(terminal.Yellow, "note:"), show.Line(w)))
	}
	return nil
}

// commit writes the file of the server. Others may have changed it meanwhile: change is made to what it has now.
func (g *grantCmd) commit(c terminal.Console, host hostfs.Host, p *plan, change func(*config.ServerFile) (*config.ServerFile, error)) error {
	err := config.ChangeServers(host.ConfigDir, func(files []*config.ServerFile, broken []error) ([]*config.ServerFile, error) {
		changed, err := change(p.in(host, files))
		if err != nil {
			return nil, err
		}
		files = slices.DeleteFunc(files, func(f *config.ServerFile) bool { return f.Path == changed.Path })
		return append(files, changed), nil
	})
	if err == nil {
		c.PrintText(fmt.Sprintf("%s %s\n\nTo use it: %s\n", c.Paint(terminal.Green, "changed:"), show.Line(cli.ShortPath(p.file.Path, g.home)), p.takesEffect()))
	}
	return err
}

// takesEffect says when the policy holds.
func (p *plan) takesEffect() string {
	if !p.now.target.Policy.Stateful {
		return "the next call of a tool has it"
	}
	text := "the next session has it"
	for i, client := range p.starters {
		if client.Reload != "" && !slices.ContainsFunc(p.starters[:i], func(o clients.Client) bool { return o.Name == client.Name }) {
			text = strings.TrimSuffix(text, ".") + ". " + client.Title + ": " + client.Reload
		}
	}
	return text
}

// status says what was left out, and returns the exit status for that.
func (g *grantCmd) status(c terminal.Console, p *plan) error {
	if len(p.left) == 0 {
		return nil
	}
	for _, text := range p.left {
		c.Notef("%s %s", c.Paint(terminal.Yellow, "left out:"), text)
	}
	return exit.ReportedStatus(exit.Failure)
}

func (g *grantCmd) person() person { return person{runtime.GOOS, g.home, g.dir} }

// spelled returns flags that the user typed with paths that mean the same wherever a client starts the server.
func (g *grantCmd) spelled(typed []flag) (flags []flag, err error) {
	for _, f := range typed {
		if f.isPath() {
			path, err := g.person().path(f.value)
			if err != nil {
				return nil, exit.UsageErrorf("%s", err)
			}
			isHome := g.home != "" && hostfs.Within(runtime.GOOS, g.home, g.person().absolute(path))
			if isHome && !g.remove && f.name != "--deny" && !slices.Contains([]string{"/", "~", "~/", g.home, g.home + "/"}, f.value) {
				return nil, exit.UsageErrorf("%s is your whole home directory here, or more. To grant all of that, write it as %s; the workspace of the server needs no flag", f, path)
			}
			f.value = path
		}
		flags = append(flags, f)
	}
	return flags, nil
}

// real returns the path without symbolic links, as far as it exists.
func real(path string) string {
	if at, err := filepath.EvalSymlinks(path); err == nil {
		return at
	}
	dir := filepath.Dir(path)
	if dir == path {
		return path
	}
	return filepath.Join(real(dir), filepath.Base(path))
}
