package learncmd

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/asclient"
	"github.com/mcp-jail/mcp-jail/cmd/internal/exit"
	"github.com/mcp-jail/mcp-jail/cmd/internal/programs"
	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/stored"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/packages/lockfile"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// lacksPackage reports whether the command after -- is a launcher such as npx without a package. It would wait
// for input, as long as it may.
func (k *learnCmd) lacksPackage() bool {
	if !k.command.Given {
		return false
	}
	_, err := runline.Parse(k.command.Argv)
	var unclear *runline.NotUnderstoodError
	return errors.As(err, &unclear) && unclear.Word == "" && unclear.Why == runline.NoPackage
}

// unset returns a note for each variable of --env that has no value to hand over.
func (k *learnCmd) unset(t *asclient.Target) (notes []string) {
	for _, name := range k.env {
		_, set := os.LookupEnv(name)
		if !set && !slices.ContainsFunc(t.Env, func(v clients.Variable) bool { return v.Name == name }) {
			notes = append(notes, "--env "+show.Name(name)+": this variable is not set, so the server does not have it")
		}
	}
	return notes
}

// handOver returns the arguments of mcp-jail run with the variables of --env, so that each round has them. What a
// server of the configuration gets is in its table: if that lacks one, handOver returns an error.
func (k *learnCmd) handOver(argv []string) ([]string, error) {
	if len(k.env) == 0 {
		return argv, nil
	}
	args, server := cmdline.Split(programs.Main, argv)
	flags, err := cmdline.ParseRun(args)
	if err != nil {
		return nil, exit.UsageErrorf("%s", err)
	}
	if server.Given {
		var added []string
		for _, name := range k.env {
			if !slices.Contains(flags.Env, name) {
				added = append(added, "--env", name)
			}
		}
		return slices.Concat(argv[:1], added, argv[1:]), nil
	}
	t, err := session.Load(flags.ConfigFlags, flags.PolicyFlags, flags.Server, "", server)
	if err != nil {
		return nil, err
	}
	for _, name := range k.env {
		if _, granted := policy.MatchEnv(t.Policy.Env, name); !granted {
			return nil, exit.UsageErrorf("--env %s: the policy of %s is in your configuration, and does not hand this variable over. Put it there first:  %s", show.Name(name), show.Name(flags.Server), show.Typed("mcp-jail grant", "--env", name, flags.Server))
		}
	}
	return argv, nil
}

// isUnknown reports whether mcp-jail has nothing of a server yet.
func isUnknown(host hostfs.Host, server string) bool {
	_, err := os.Lstat(records.Path(host, server))
	return errors.Is(err, fs.ErrNotExist)
}

// forget removes what is kept of a server that is new since began, as mcp-jail rm does. The files of its package
// stay until rm --unused: the user may try once more. So does a pin that was there before.
func forget(l *lesson, began time.Time) {
	all, err := stored.Look(l.host)
	if err != nil {
		return
	}
	i := slices.IndexFunc(all.Servers, func(s *stored.Server) bool { return s.Name == l.t.Stored })
	if i < 0 {
		return
	}
	removal, err := all.Removal(all.Servers[i : i+1])
	if err == nil {
		removal.Trees = nil
		removal.Pins = slices.DeleteFunc(removal.Pins, func(e *lockfile.Entry) bool { return e.Pinned.Before(began.Truncate(time.Second)) })
		err = removal.Do()
	}
	if err != nil {
		l.c.Notef("%s is in the list of mcp-jail list: %s", l.name(), show.Line(err.Error()))
	}
}

// ofSession returns an error with the status of the mcp-jail run that has started no server. code is that of its
// answer.
func ofSession(code int, err error) error {
	switch diagnostics.Code(code) {
	case diagnostics.CodeJail:
		return &exit.HostError{Err: err}
	case diagnostics.CodeConfig:
		return exit.ConfigErrorf("%s", err)
	}
	return err
}
