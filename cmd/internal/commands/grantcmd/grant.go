// Package grantcmd has the command grant, which changes what a server may reach: the file of the server, and
// nothing else. Begin at [Grant]. An [Edit] is the change from the first word to the written file.
package grantcmd

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/diagnostics/change"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

type grantCmd struct {
	cmdline.PolicyFlags
	server, tool string
	tools        []string // as they were typed
	last, remove bool
	perCall      bool
	dryRun, yes  bool
	format       string
	result       grantResult
}

// grantResult is what grant was asked for, and what became of it.
type grantResult struct {
	Server  string   `json:"server"`
	File    string   `json:"file"`
	Changed bool     `json:"changed"`
	Asked   []string `json:"asked"` // as flags
	Skipped []string `json:"skipped"`
}

// Grant returns the command grant.
func Grant(line *cli.CommandLine) *cobra.Command {
	g := &grantCmd{}
	cmd := line.Command("grant [options] SERVER", 1, false, func(args []string) error {
		g.server = cli.FirstOf(args)
		return cli.WithResult(line.Console, g.format, &g.result, g.Run)
	})
	cmd.Long = `grant shows what changes, asks, and writes the file of the server: servers/NAME.toml
below your configuration. It changes no other file. SERVER is a server that a client
starts in mcp-jail, or one that you started yourself. For one of your configuration
grant prints what to write there, with file and line.

--last allows what the last failure of the server needed, as mcp-jail why shows it. What
mcp-jail took from the server's own words, and what may do harm, is asked for by name, and
skipped with --yes.

--tool alone switches a tool on, and with --remove off: clients do not see it, and its calls
are refused. A running session takes that up at once.

A table that you wrote yourself, and a project's .mcp-jail.toml, are changed by hand.

Exit status 0: all of it is allowed; 1: something was skipped or nothing was changed; 2: a
mistake, or the server could not start with it.`
	cmd.Example = `    mcp-jail grant github --last
    mcp-jail grant filesystem --read ~/notes
    mcp-jail grant github --net api.github.com --env GITHUB_TOKEN
    mcp-jail grant filesystem --remove --read ~/notes
    mcp-jail grant github --remove --tool delete_repository`
	cmd.Flags().BoolVar(&g.last, "last", false, "Allow what the last failure of the server needed")
	cmd.Flags().BoolVar(&g.remove, "remove", false, "Take the flags away, in place of adding them")
	cli.AddFlags(cmd, slices.DeleteFunc(g.PolicyFlags.Flags(), func(f cmdline.Flag) bool { return f.Name == "name" || f.Name == "id" })...)
	cli.AddFlags(cmd, cmdline.Flag{Name: "tool", Value: "NAME", Many: &g.tools, Usage: `Switch it on, or off with --remove. Beside rules: only for it`})
	cmd.Flags().BoolVar(&g.perCall, "per-call", false, "Give each call a process of its own, or one to all with --remove")
	cmd.Flags().BoolVar(&g.dryRun, "dry-run", false, "Show what would change, and change nothing")
	cli.AddFlags(cmd, cli.FormatFlag(&g.format))
	cmd.Flags().BoolVar(&g.yes, "yes", false, "Write the file without asking, for scripts")
	return cmd
}

// check returns the error about flags that do not go together.
func (g *grantCmd) check(words []string) error {
	switch {
	case g.server == "":
		return terminal.UsageErrorf("name a server. To see your servers:\n  mcp-jail status")
	case g.perCall && (g.last || len(words) > 0 || len(g.tools) > 0):
		return terminal.UsageErrorf("--per-call is about the whole server: leave the other flags out")
	case g.last && len(words) > 0:
		return terminal.UsageErrorf("--last takes the grants from the last failure: leave %s out, or --last", words[0])
	case g.last && g.remove:
		return terminal.UsageErrorf("--last cannot be taken back: name the flags that --remove takes away")
	case len(g.tools) > 1 && (g.last || len(words) > 0):
		return terminal.UsageErrorf("rules are for one tool: name one with --tool")
	case g.remove && len(words) == 0 && len(g.tools) == 0 && !g.perCall:
		return terminal.UsageErrorf("say what to take back, such as --read PATH, --net HOST or --env NAME")
	}
	return nil
}

// Run finds the server, adds what is wanted to its file, and writes that after a question. For a table it prints that.
func (g *grantCmd) Run(c terminal.Console) error {
	words := g.PolicyFlags.Words()
	if err := g.check(words); err != nil {
		return err
	}
	x, err := index.Read()
	if err != nil {
		return err
	}
	x.NoteStarted()
	e, err := Begin(x, g.server)
	if err != nil {
		return err
	}
	e.remove = g.remove
	before := string(e.was.Encode())
	how := How{Yes: g.yes, DryRun: g.dryRun, Named: g.last, By: "grant" + map[bool]string{true: " --last"}[g.last] + map[bool]string{true: " --remove"}[g.remove]}
	defer func() {
		files, _ := config.ReadServers(e.host.ConfigDir)()
		changed := slices.ContainsFunc(files, func(f *config.ServerFile) bool { return f.Path == e.now.Path && string(f.Encode()) != before })
		g.result = grantResult{e.Name, e.now.Path, changed, cli.NonNil(typed(e.asked())), cli.NonNil(how.left)}
		if e.setting != nil {
			g.result.Asked = append(g.result.Asked, show.Spelled(e.setting.words))
		}
		if g.remove {
			g.result.Asked = slices.Insert(g.result.Asked, 0, "--remove")
		}
	}()
	switch {
	case g.perCall:
		return e.setPerCall(c, how)
	case !g.last && len(words) == 0 && len(g.tools) > 0:
		return e.switchTools(c, g.tools, how)
	case !g.last && len(words) == 0:
		return e.offer(c, g.yes)
	case len(g.tools) > 0:
		g.tool = g.tools[0]
	}
	var wanted []change.Object
	if g.last {
		how.choice, err = g.lastOf(c, e, how)
		wanted = how.taken
	} else if wanted, err = e.spelled(words); err == nil {
		e.files, e.notes, err = e.findVariables(g.tool, wanted)
	}
	if err == nil {
		err = e.want(g.tool, wanted)
	}
	if err == nil {
		err = e.Write(c, how)
	}
	if err != nil {
		return err
	}
	return how.choice.status(c)
}

// want adds objects, and notes what the server has already.
func (e *Edit) want(tool string, wanted []change.Object) error {
	if t, err := e.tableOf(tool, wanted); err != nil {
		return err
	} else if tool == "" && !e.policy().Stateful && t.Access != nil {
		return terminal.UsageErrorf("each tool of %s has its own process and rules: name the tool with --tool TOOL; --tool '*' means all that have none of their own", show.Name(e.word))
	}
	for _, o := range wanted {
		by, err := e.Add(tool, o)
		if err != nil {
			return err
		}
		if _, set := os.LookupEnv(o.Env); o.Env != "" && !set && !e.remove && e.files[o.Env] == "" && !strings.Contains(o.Env, "*") {
			e.notes = append(e.notes, fmt.Sprintf("%s is not set. %s gets it when its client sets it.", show.Name(o.Env), show.Name(e.word)))
		}
		if by != "" {
			e.notes = append(e.notes, fmt.Sprintf("%s is allowed already, by %s", change.AsTyped(o.Words()), show.Line(cli.ShortPath(by, e.host.Home))))
		}
	}
	return nil
}

// spelled returns what the user typed with paths that mean the same wherever a client starts the server.
func (e *Edit) spelled(typed []string) ([]change.Object, error) {
	if _, err := session.TableOf(typed); err != nil {
		return nil, err
	}
	objects, err := change.Read(typed)
	if err != nil {
		return nil, terminal.UsageErrorf("%s", err)
	}
	p := person{runtime.GOOS, e.host.Home, e.host.Dir}
	for i, o := range objects {
		at := &objects[i].Fs.Path
		if o.Setting.Key == "workspace" {
			at = &objects[i].Setting.Value
		}
		if *at != "" {
			path, err := p.path(*at)
			if err != nil {
				return nil, terminal.UsageErrorf("%s", err)
			}
			isHome := e.host.Home != "" && hostfs.Within(runtime.GOOS, e.host.Home, p.absolute(path))
			if isHome && !e.remove && o.Fs.Deny == 0 && !slices.Contains([]string{"/", "~", "~/", e.host.Home, e.host.Home + "/"}, *at) {
				return nil, terminal.UsageErrorf("%s is your whole home directory here, or more. To grant all of that, write it as %s. The project folder needs no flag", change.AsTyped(o.Words()), path)
			}
			*at = path
		}
	}
	return objects, nil
}

// person is the user who types a path, in a directory of a system as in runtime.GOOS.
type person struct{ system, home, dir string }

// path returns a path that a person typed as every directory reads it alike: it begins with "/", with a
// drive of Windows, or with "~/". A slash at its end stays: it asks mcp-jail to create the directory.
func (p person) path(typed string) (string, error) {
	slash := ""
	if ends := strings.TrimRight(typed, p.slashes()); len(ends) < len(typed) && ends != "" {
		slash = "/"
	}
	path, err := p.whole(typed)
	if err != nil {
		return "", err
	}
	if p.system == "windows" { // which takes ".." out of a path before it follows a link
		return p.short(path, slash), nil
	}
	if link := hostfs.UpFromLink(path); link != "" {
		return "", fmt.Errorf("%s can be read in two ways: %s is a symbolic link, and .. comes after it; type the path without that", show.Line(typed), show.Line(link))
	}
	return p.short(filepath.Clean(path), slash), nil
}

// slashes are the characters that end a name.
func (p person) slashes() string {
	if p.system == "windows" {
		return `/\`
	}
	return "/"
}

// whole returns an absolute path. That of Windows is clean.
func (p person) whole(typed string) (string, error) {
	rest, isHome := hostfs.CutHome(p.system, typed)
	switch {
	case typed == "~":
		typed = p.home
	case isHome:
		typed = p.home + p.slashes()[:1] + rest
	}
	if p.system == "windows" {
		if err := hostfs.CheckWindowsVariable(typed); err != nil {
			return "", err
		}
		return hostfs.CleanWindows(hostfs.JoinWindows(p.dir, typed))
	}
	if !strings.HasPrefix(typed, "/") {
		typed = p.dir + "/" + typed
	}
	return typed, nil
}

func (p person) short(path, slash string) string {
	if p.system == "windows" {
		if slash != "" && !strings.HasSuffix(path, `\`) {
			return path + `\`
		}
		return path
	}
	switch rest, below := strings.CutPrefix(path, p.home+"/"); {
	case p.home == "" || p.home == "/" || path == "/":
	case path == p.home:
		return "~/"
	case below:
		return "~/" + rest + slash
	}
	if path == "/" {
		return path
	}
	return path + slash
}

// absolute returns a path as path returns it, as an absolute one.
func (p person) absolute(path string) string {
	if p.system == "windows" {
		if whole, err := p.whole(path); err == nil {
			return whole
		}
		return path
	}
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		return filepath.Join(p.home, rest)
	}
	if !filepath.IsAbs(path) {
		return filepath.Join(p.dir, path)
	}
	return filepath.Clean(path)
}
