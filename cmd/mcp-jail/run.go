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
	LogLevel  string `long:"log-level" value-name:"LEVEL" unquote:"false" enum:"trace,debug,info,warn,error,off" description:"Log of mcp-jail about itself: trace, debug, info, warn, error or off (default)."`
	LogFile   string `long:"log-file" value-name:"FILE" unquote:"false" description:"Append that log to a file instead of standard error; the level is then info if none is given."`
	serverArg `positional-args:"yes"`
}

func (*runCmd) Help() string {
	return `mcp-jail run SERVER, or  mcp-jail run [policy flags] -- COMMAND [ARG...]

    mcp-jail run -- npx -y @modelcontextprotocol/server-memory
    mcp-jail run --read ~/notes --env NOTES_TOKEN -- notes-server ~/notes

Without --read, --write, --execute or --net the server gets the default policy: the
workspace, read and write, and no network. Standard output carries MCP and
nothing else. It ends as the server does, with its exit status or by its signal.`
}

// Run relays one client session.
func (r *runCmd) Run(c console, server serverCommand, launcher confine.Launcher) error {
	log, closeLog, err := r.logger(c)
	if err != nil {
		return r.refuse(c, nil, err)
	}
	defer closeLog()
	for i, f := range r.Config {
		if !strings.HasPrefix(f, "~/") { // errors go to a client that is somewhere else
			r.Config[i], _ = filepath.Abs(f)
		}
	}
	t, err := resolveTarget(r.commonFlags, r.policyFlags, r.Server, "", server)
	if err != nil {
		return r.refuse(c, t, err)
	}
	if e := log.Info(); e.Enabled() {
		e.Str("server", t.profile.Server).Str("program", t.profile.Program).Str("profile", t.profile.Key()).Msg("resolved")
	}
	session := t.session(c, launcher)
	session.Log = log
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

// resolveLinks is where the links of path lead, also where its end does not exist.
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

// session wires the parts together for one profile.
func (t *target) session(c console, launcher confine.Launcher) lifecycle.Session {
	s := lifecycle.Session{
		Profile:    t.profile,
		In:         c.in,
		Out:        c.out,
		Err:        c.err,
		InPlace:    t.policy.InPlace,
		Line:       t.invocation,
		Declare:    t.declaration,
		UserHome:   t.host.Home,
		SearchPath: os.Getenv("PATH"),
		Exists:     pathExists,
		Executable: isExecutable,
		Canonical:  resolveLinks,
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

// unsetVariables are the variables that a policy grants and the host does not have.
func unsetVariables(p *policy.Policy, profile *policy.Profile) (names []string) {
	for _, r := range p.Env {
		if r.Read && !slices.ContainsFunc(profile.Env, func(v policy.Variable) bool { return v.Name == r.Name }) {
			names = append(names, r.Name)
		}
	}
	return names
}

// statelessOptions is what a server needs each of whose calls has a process of its own.
func (t *target) statelessOptions() lifecycle.Stateless {
	server := t.policy.Server
	tools := &toolCache{server: t}
	o := lifecycle.Stateless{
		Declared: t.config.Declared(server),
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

// refuse ends a run that never started a server, and tells the client.
func (r *runCmd) refuse(c console, t *target, err error) error {
	refuseSession(c, t, r.Server, err)
	return reportedStatus(exitStatusOf(err))
}

// logger is off unless asked for. It never writes to standard output.
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

// openLog opens the log where its user said. A server may be able to write there: a fifo
// that it put in its place is not waited for, and a link not followed, or it would choose
// which of the user's files gets lines with its words in them.
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
			return nil, fmt.Errorf("%s is a symbolic link (to %s), which a server may have put there, so it is not followed: remove it, or name the file that is meant", file, printable(target))
		}
	}
	return f, err
}

// isDescriptorPath tells whether a path is one of the links by which the system names what
// this process has open, such as /dev/stderr.
func isDescriptorPath(file string) bool {
	return slices.Contains([]string{"/dev", "/dev/fd", "/proc/self/fd"}, filepath.Dir(file))
}
