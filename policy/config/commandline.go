package config

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// CommandLineOptions are the flags of `run -- COMMAND`. If any of Read, Write, Execute and
// Net is set, they form an access table. Env and Limit are not part of it.
type CommandLineOptions struct {
	Command   []string      // the program and its arguments
	Workspace string        // --workspace; "" is the working directory
	Read      []string      // --read PATH
	Write     []string      // --write PATH, which also reads
	Execute   []string      // --execute PATH, which also reads
	Net       []string      // --net HOST[:PORT]
	Env       []string      // --env NAME
	Limit     []string      // --limit KEY=NUMBER
	Home      string        // --home: "", "private" or "real"
	Name      string        // --name; "" derives one from Command
	Startup   string        // --startup-timeout, in seconds; "" is the default
	Waive     []policy.Axis // --waive
	Dir       string        // the working directory
}

// FromCommandLine returns the policy of a server that is given on the command line. Its
// error is [policy.Problems], whose File is the flag.
func FromCommandLine(o CommandLineOptions) (*policy.Policy, error) {
	s, err := o.server()
	if err != nil {
		return nil, err
	}
	p := s.policy()
	p.FromCommandLine, p.Net, p.Fs = true, s.Access.Net, s.Access.Fs
	if len(p.Fs)+len(p.Net) == 0 {
		p.Default, p.Fs = true, policy.DefaultFsRules()
	}
	return p, p.Validate()
}

// Declaration returns the lines of a configuration that declare the same server, with the
// same name and policy.
func (o CommandLineOptions) Declaration() []string {
	s, err := o.server()
	if err != nil {
		return nil
	}
	if c := s.Command; strings.Contains(c, "/") && !path.IsAbs(c) && !strings.HasPrefix(c, "~/") {
		s.Command = path.Join(o.Dir, c) // in a file it belongs to the workspace
	}
	if len(s.Access.Fs)+len(s.Access.Net) == 0 {
		s.Access = nil
	}
	c := Config{Servers: map[string]*Server{s.Name: s}}
	return strings.Split(strings.TrimSpace(string(c.Encode())), "\n")
}

// server returns the server that the flags describe. Its access table may be empty.
func (o CommandLineOptions) server() (*Server, error) {
	var ps policy.Problems
	bad := func(flag, format string, args ...any) {
		ps = append(ps, policy.Problem{File: flag, Message: fmt.Sprintf(format, args...)})
	}
	if len(o.Command) == 0 || o.Command[0] == "" {
		return nil, policy.Problems{{Message: "there is no command: mcp-jail run [flags] -- COMMAND [ARG...]"}}
	}
	for _, arg := range o.Command {
		if strings.ContainsRune(arg, 0) {
			bad("COMMAND", "the command contains a NUL")
			break
		}
	}
	name := o.Name
	if name == "" {
		name = DefaultName(o.Command, o.Dir)
	} else if !policy.ValidServerName(name) {
		bad("--name "+policy.Abbreviate(name), "a name consists of letters, digits, '.', '_' and '-', and does not begin with '.'")
	}
	s := &Server{Name: name, Command: o.Command[0], Arguments: slices.Clone(o.Command[1:]), Workspace: o.Workspace, Home: o.Home, Waive: o.Waive, Where: "the command line"}
	if o.Home != "" && o.Home != "private" && o.Home != "real" {
		bad("--home "+policy.Abbreviate(o.Home), `must be "private" or "real"`)
	}
	if o.Startup != "" {
		secs, err := strconv.Atoi(o.Startup)
		if err != nil || secs < 0 || secs > maxSeconds {
			bad("--startup-timeout "+policy.Abbreviate(o.Startup), "must be a number of seconds between 0 (for ever) and %d", maxSeconds)
		}
		s.StartupTimeoutSecs = &secs
	}
	for _, a := range o.Waive {
		if !slices.Contains(policy.Axes(), a) {
			bad("--waive "+policy.Abbreviate(string(a)), "must be one of %s", strings.Join(axisNames(), ", "))
		}
	}
	for _, v := range o.Env {
		r := policy.EnvRule{Name: v, Read: true, Where: "--env " + v}
		if err := policy.CheckEnvName(v); err != nil {
			bad("--env "+policy.Abbreviate(v), "%s", err)
		}
		s.Variables = append(s.Variables, r)
	}
	for _, l := range o.Limit {
		table, problems := limitFlag(l)
		for _, p := range problems {
			bad("--limit "+policy.Abbreviate(l), "%s", p.Message)
		}
		s.Limits.overlay(table)
	}
	var fs []policy.FsRule
	// One path may be given to several flags: it has the rights of all of them.
	rule := func(flag, p string, write, execute bool) {
		if err := policy.CheckPath(p); err != nil {
			bad(flag+" "+policy.Abbreviate(p), "%s", err)
		}
		r := policy.FsRule{Path: p, Read: true, Create: write, Update: write, Delete: write, Execute: execute, Where: flag + " " + p}
		if i := slices.IndexFunc(fs, func(e policy.FsRule) bool { return e.Path == p }); i >= 0 {
			write = write || fs[i].Update
			r.Create, r.Update, r.Delete, r.Execute = write, write, write, execute || fs[i].Execute
			if fs[i].Where != r.Where {
				r.Where = fs[i].Where + " " + r.Where
			}
			fs = slices.Delete(fs, i, i+1)
		}
		fs = append(fs, r)
	}
	for _, p := range o.Read {
		rule("--read", p, false, false)
	}
	for _, p := range o.Write {
		rule("--write", p, true, false)
	}
	for _, p := range o.Execute {
		rule("--execute", p, false, true)
	}
	net := []policy.NetRule{}
	for _, n := range o.Net {
		host, port, err := policy.ParseHostPort(n)
		if err != nil {
			bad("--net "+policy.Abbreviate(n), "%s", err)
		}
		net = append(net, policy.NetRule{Host: host, Port: port, Allow: true, Where: "--net " + n})
	}
	if err := ps.Err(); err != nil {
		return nil, err
	}
	s.Access = &Access{Fs: fs, Net: net}
	return s, nil
}

// limitFlag reads KEY=NUMBER as the limits table of a file is read.
func limitFlag(s string) (l LimitsTable, problems policy.Problems) {
	if key, value, ok := strings.Cut(s, "="); !ok || key == "" || strings.Trim(value, "0123456789") != "" || value == "" {
		return l, policy.Problems{{Message: "write KEY=NUMBER, as in memory_mb=8192"}}
	}
	root, problems := parseDocument([]byte(s), "")
	d := &decoder{problems: problems}
	l = d.limits(root, "")
	return l, d.problems
}

// DefaultName returns a name for a server that is given on the command line: the base name
// of the program, or of the package that npx or uvx starts, and a short hash of the whole
// command. The hash keeps two servers from sharing a private HOME. It includes the working
// directory if the program or its script is looked for there. The result is always a valid
// server name.
func DefaultName(argv []string, dir string) string {
	text := strings.Join(argv, "\x00")
	if hasRelativeCode(argv) {
		text += "\x00\x00" + dir
	}
	return sanitizeName(serverBaseName(argv)) + "-" + policy.ShortHash(text)
}

// hasRelativeCode reports whether the program, or the script that it interprets, depends on
// the working directory.
func hasRelativeCode(argv []string) bool {
	if len(argv) == 0 {
		return false
	}
	outside := func(p string) bool { return strings.HasPrefix(p, "/") || strings.HasPrefix(p, "~/") }
	if strings.Contains(argv[0], "/") && !outside(argv[0]) {
		return true
	}
	name := path.Base(argv[0])
	lang := policy.InterpreterFamily(name)
	if lang == "" && !policy.IsShell(name) {
		return false
	}
	script := policy.ScriptArgument(lang, argv[1:])
	return script != "" && !strings.HasPrefix(script, "/")
}

func serverBaseName(argv []string) string {
	if len(argv) == 0 {
		return "server"
	}
	program := path.Base(argv[0])
	var rest []string
	for i := 1; i < len(argv); i++ {
		if argv[i] == "--" {
			continue
		}
		if strings.HasPrefix(argv[i], "-") {
			// The package may be the value of an option.
			if name, ok := strings.CutPrefix(argv[i], "--package="); ok {
				rest = append(rest, name)
			}
			continue
		}
		rest = append(rest, argv[i])
	}
	switch program {
	case "npx", "uvx", "bunx", "pnpx":
		if len(rest) > 0 {
			return packageName(rest[0])
		}
	case "npm", "pnpm", "bun", "yarn", "uv", "pipx", "deno":
		if len(rest) > 1 && slices.Contains([]string{"exec", "x", "dlx", "tool", "run"}, rest[0]) {
			return packageName(rest[len(rest)-1])
		}
	case "node", "python", "python3", "java", "ruby", "php":
		if len(rest) > 0 {
			return scriptName(rest[0])
		}
	}
	return program
}

// PackageName returns the first part of the name that DefaultName gives to the server of a
// package, written with or without scope and version.
func PackageName(spec string) string {
	if strings.Trim(spec, "@/.") == "" {
		return ""
	}
	return sanitizeName(packageName(spec))
}

// packageName removes scope and version: "@scope/server-github@1.2.3" becomes
// "server-github".
func packageName(spec string) string {
	if i := strings.LastIndexByte(spec, '@'); i > 0 {
		spec = spec[:i]
	}
	spec, _, _ = strings.Cut(spec, "==")
	return path.Base(spec)
}

// scriptName returns the name of a script, or of the directory around it if the script has
// a generic name such as index.js.
func scriptName(script string) string {
	base := path.Base(script)
	base = strings.TrimSuffix(base, path.Ext(base))
	if slices.Contains([]string{"index", "main", "server", "cli", "bin", "__main__"}, base) {
		dir := path.Dir(path.Clean(script))
		for slices.Contains([]string{"dist", "build", "src", "lib", "bin", "out"}, path.Base(dir)) {
			dir = path.Dir(dir)
		}
		if name := path.Base(dir); name != "." && name != "/" && name != ".." {
			return name
		}
	}
	return base
}

func sanitizeName(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '_', r == '-':
			return r
		}
		return '-'
	}, s)
	s = strings.Trim(s, ".-")
	if len(s) > 40 {
		s = s[:40]
	}
	if s == "" {
		return "server"
	}
	return s
}
