package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/rs/zerolog"

	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/lifecycle"
	"github.com/mcp-jail/mcp-jail/lifecycle/catalog"
	"github.com/mcp-jail/mcp-jail/policy"
)

type runCmd struct {
	commonFlags
	policyFlags
	LogLevel  string `long:"log-level" value-name:"LEVEL" unquote:"false" enum:"trace,debug,info,warn,error,off" description:"Write a log about mcp-jail itself: trace, debug, info, warn, error or off (default)."`
	LogFile   string `long:"log-file" value-name:"FILE" unquote:"false" description:"Append the log to a file instead of standard error. The default level is then info."`
	serverArg `positional-args:"yes"`
}

func (*runCmd) Help() string {
	return `mcp-jail run SERVER, or  mcp-jail run [policy flags] -- COMMAND [ARG...]

    mcp-jail run -- npx -y @modelcontextprotocol/server-memory
    mcp-jail run --read ~/notes --env NOTES_TOKEN -- notes-server ~/notes

Without --read, --write, --execute or --net the server gets the default policy:
it may read and write the workspace and has no network. Standard output carries
only MCP. mcp-jail ends as the server does, with its exit status or its signal.`
}

// Run relays one client session.
func (r *runCmd) Run(c console, server serverCommand, launcher confine.Launcher) error {
	log, closeLog, err := r.logger(c)
	if err != nil {
		return r.refuse(c, nil, err)
	}
	defer closeLog()
	for i, f := range r.Config {
		if !strings.HasPrefix(f, "~/") { // the client may have another working directory
			r.Config[i], _ = filepath.Abs(f)
		}
	}
	t, err := resolveTarget(r.commonFlags, r.policyFlags, r.Server, "", server)
	if err == nil && t.needsInstall() {
		err = t.install(c, t.given)
		if err == nil {
			t, err = resolveTarget(r.commonFlags, r.policyFlags, r.Server, "", server)
		}
	}
	if err == nil {
		err = t.preparePackage(c)
	}
	if err != nil {
		return r.refuse(c, t, err)
	}
	defer t.close()
	if e := log.Info(); e.Enabled() {
		e.Str("server", t.profile.Server).Str("program", t.profile.Program).Str("profile", t.profile.Key()).Msg("resolved")
	}
	session := t.session(c, launcher)
	session.Log = log
	t.pinTools(&session)
	records := newRecorder(t.host, t.profile.Server)
	records.markStart()
	session.Sink, session.Lost = records.save, records.lastError
	if !t.policy.Stateful {
		return c.exitAs(lifecycle.RunStateless(context.Background(), session, t.statelessOptions()))
	}
	exit, err := lifecycle.RunStateful(context.Background(), session)
	if err != nil {
		log.Error().Err(err).Msg("start failed")
	}
	return c.exitAs(exit)
}

// resolveLinks resolves the symbolic links in path. The last components may be missing.
func resolveLinks(path string) string {
	for dir := path; ; dir = filepath.Dir(dir) {
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, path[len(dir):])
		}
		if dir == filepath.Dir(dir) {
			return path
		}
	}
}

// session returns the lifecycle session of a target.
func (t *target) session(c console, launcher confine.Launcher) lifecycle.Session {
	s := lifecycle.Session{
		Profile:         t.profile,
		In:              c.in,
		Out:             c.out,
		Err:             c.err,
		FromCommandLine: t.policy.FromCommandLine,
		Line:            t.invocation,
		Declare:         t.declaration,
		UserHome:        t.host.Home,
		SearchPath:      os.Getenv("PATH"),
		Exists:          pathExists,
		Executable:      isExecutable,
		Canonical:       resolveLinks,
		Launcher: lifecycle.LauncherFunc(func(ctx context.Context, p *policy.Profile, stdio confine.Stdio) (lifecycle.Process, error) {
			process, err := t.startWithRetry(ctx, p, func(p *policy.Profile) (*confine.Process, error) { return launcher.Start(ctx, p, stdio) })
			if err != nil {
				return nil, err
			}
			if err := confine.Undumpable(); err != nil {
				process.Kill()
				return nil, err
			}
			return process, nil
		}),
		Earlier: recordReader(t.host, t.profile.Server),
	}
	for _, w := range t.warningTexts() {
		s.Warnings = append(s.Warnings, "warning: "+w)
	}
	s.Unset = unsetVariables(t.policy, t.profile)
	return s
}

// unsetVariables returns the variables that a policy grants and that are not set on the host.
func unsetVariables(p *policy.Policy, profile *policy.Profile) (names []string) {
	for _, r := range p.Env {
		if r.Read && !slices.ContainsFunc(profile.Env, func(v policy.Variable) bool { return v.Name == r.Name }) {
			names = append(names, r.Name)
		}
	}
	return names
}

// statelessOptions returns the options of a stateless server, whose calls each get a
// process.
func (t *target) statelessOptions() lifecycle.Stateless {
	server := t.policy.Server
	tools := &toolCache{server: t}
	o := lifecycle.Stateless{
		Declared: t.config.DeclaredTools(server),
		MaxCalls: t.policy.MaxConcurrentCalls,
		Version:  version,
		Tool: func(name string) (lifecycle.Tool, error) {
			tool, err := tools.get(name)
			if err != nil {
				return lifecycle.Tool{}, err
			}
			lt := lifecycle.Tool{Profile: tool.profile, Unset: unsetVariables(tool.policy, tool.profile)}
			for _, w := range tool.warningTexts() {
				lt.Warnings = append(lt.Warnings, "warning: "+w)
			}
			return lt, nil
		},
		Warm: func(name string) int {
			p, err := t.policyOf(name)
			if err != nil {
				return 0
			}
			return p.Warm
		},
	}
	if t.host.CacheDir != "" {
		o.Catalog = &catalog.Catalog{Dir: filepath.Join(t.host.CacheDir, "catalog")}
	}
	return o
}

// refuse reports to the client why no server was started.
func (r *runCmd) refuse(c console, t *target, err error) error {
	refuseSession(c, t, r.Server, err)
	return reportedStatus(exitStatusOf(err))
}

// logger returns the log that the flags ask for. It never writes to standard output.
func (r *runCmd) logger(c console) (log zerolog.Logger, done func(), err error) {
	done = func() {}
	if r.LogLevel == "" && r.LogFile != "" {
		r.LogLevel = "info"
	}
	level, err := zerolog.ParseLevel(r.LogLevel)
	if r.LogLevel == "" || r.LogLevel == "off" || err != nil {
		return zerolog.Nop(), done, nil
	}
	zerolog.TimeFieldFormat = "2006-01-02T15:04:05.000Z07:00" // RFC 3339 with milliseconds: the default drops them
	var to io.Writer = zerolog.ConsoleWriter{Out: c.err, NoColor: !c.errTTY, TimeFormat: "15:04:05.000"}
	if r.LogFile != "" {
		f, err := openLog(r.LogFile)
		if err != nil {
			return zerolog.Nop(), done, usageErrorf("--log-file: %s", strings.TrimPrefix(err.Error(), "open "))
		}
		to, done = f, func() { f.Close() }
	}
	return zerolog.New(to).Level(level).With().Timestamp().Logger(), done, nil
}

// openLog opens a log file. A server may be able to write to its directory, so openLog
// does not wait for a reader of a FIFO and does not follow a symbolic link: otherwise the
// server could choose a file of the user's that gets log lines with text of its own.
func openLog(name string) (*os.File, error) {
	file, err := absolutePath(name)
	if err != nil {
		return nil, err
	}
	flags := os.O_CREATE | os.O_APPEND | os.O_WRONLY | syscall.O_NONBLOCK | syscall.O_NOCTTY
	if !isDescriptorPath(file) {
		flags |= noFollow
	}
	f, err := os.OpenFile(file, flags, 0o600)
	if err != nil {
		if target, linkErr := os.Readlink(file); linkErr == nil && flags&noFollow != 0 {
			return nil, fmt.Errorf("%s is a symbolic link (to %s). It is not followed, because a server may have made it: remove it, or name the target itself", file, printable(target))
		}
	}
	return f, err
}

// isDescriptorPath reports whether a path names an open descriptor of this process, such as
// /dev/stderr.
func isDescriptorPath(file string) bool {
	return slices.Contains([]string{"/dev", "/dev/fd", "/proc/self/fd"}, filepath.Dir(file))
}
