package wrapcmd

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/cmd/internal/gaps"
	"github.com/mcp-jail/mcp-jail/cmd/internal/identity"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/shown"
	"github.com/mcp-jail/mcp-jail/cmd/internal/stored"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/presets"
)

type statusCmd struct {
	index.Choice
	format string

	finder     *gaps.Finder
	namespaces confine.Feature // whether this host has user namespaces
}

func Status(line *cli.CommandLine) *cobra.Command {
	s := &statusCmd{}
	cmd := line.Command("status [flags]", "Show the servers of MCP clients: which start in a jail, and how they fare.", 0, false, func([]string) error {
		return s.Run(line.Console)
	})
	cmd.Long = `Without a selection, the same files as for wrap are meant. JAIL says whether a server
starts in mcp-jail ("?": that is not clear, and a note says why; "-": it starts no
program), POLICY what it gets there: a preset, flags, or the default policy. PINNED
is the version in mcp-jail.lock, FAILED when the last session began, if something
failed in it. Notes say which servers accept that this host cannot enforce all of
their policy (--waive), and which do not start for that reason. Below a file is what its client or you have changed since wrap wrote it.

If the configuration of mcp-jail has an error, a line says so, and the exit status is 2.

Servers of plugins and extensions are among them. If a plugin was wrapped and its update
brought its own file again, a note says so.

On WSL, the files of clients on Windows are among them: ` + "`mcp-jail wrap --windows`" + ` puts
their servers into a jail.

Then come the files from which a client takes servers and which mcp-jail does not read:
those of all users, of administrators, of extensions whose code starts servers. The last
line counts all servers.

With --format json, the output is an object with the lists files and unread (client, path,
why, starts), summary (servers, jailed, granted, not, elsewhere, off, and reasons),
without_namespaces (detail and fix) if this host refuses user namespaces, and
config_problem if the configuration has an error. Of each file:

    client, path, problem       whose it is; problem is why it cannot be read
    wrapped                     when wrap or unwrap wrote it last; missing if never
    removed                     entries that are gone since then
    windows                     true: its client runs on Windows, outside of this WSL
    plugin, updated             what brings the file, if a plugin does; updated: it was
                                wrapped, and its own file is there again
    servers                     name, project, command, wrapped, left (why not), state
                                (jailed, granted, unwrapped, container, unclear, open, local,
                                windows, elsewhere, off, none), unclear
                                (its command line starts mcp-jail, and left says what
                                could make that untrue), repair (it starts another
                                mcp-jail, or one that is gone, and wrap mends that),
                                policy, kept (its name in mcp-jail list), pinned,
                                last_used, last_client, last_failure (time, what, and
                                past: a later session had none), outdated (it runs,
                                and not under the policy that the files have now),
                                since (added or changed since then), waived (axis, and
                                whether it is open: this host has such a gap), gaps
                                (axes that this host cannot enforce, and that are not
                                waived: the server does not start)

Times are as in RFC 3339. New members may be added.`
	cmd.Example = `    mcp-jail status
    mcp-jail status --client claude-code
    mcp-jail status --format json`
	s.Choice.AddFlags(cmd)
	cli.AddFlags(cmd, cli.FormatFlag(&s.format))
	return cmd
}

// fileStatus is a file of a client, for the JSON form and the table.
type fileStatus struct {
	Client  string         `json:"client"`
	Path    string         `json:"path"`
	Plugin  string         `json:"plugin,omitempty"`
	Windows bool           `json:"windows,omitempty"`
	Updated bool           `json:"updated,omitempty"`
	Problem string         `json:"problem,omitempty"`
	Wrapped *time.Time     `json:"wrapped,omitempty"`
	Removed []string       `json:"removed,omitempty"`
	Servers []serverStatus `json:"servers"`

	title string
}

type serverStatus struct {
	Name        string          `json:"name"`
	Project     string          `json:"project,omitempty"`
	Command     []string        `json:"command,omitempty"`
	Wrapped     bool            `json:"wrapped"`
	State       state           `json:"state"`
	Left        string          `json:"left,omitempty"`
	Granted     []string        `json:"granted,omitempty"` // by the file of a project or plugin
	Unclear     bool            `json:"unclear,omitempty"`
	Repair      bool            `json:"repair,omitempty"`
	Problem     string          `json:"problem,omitempty"`
	Policy      string          `json:"policy,omitempty"`
	Kept        string          `json:"kept,omitempty"`
	Pinned      string          `json:"pinned,omitempty"`
	LastUsed    *time.Time      `json:"last_used,omitempty"`
	LastClient  string          `json:"last_client,omitempty"`
	LastFailure *stored.Failure `json:"last_failure,omitempty"`
	Outdated    string          `json:"outdated,omitempty"`
	Since       string          `json:"since,omitempty"`
	Waived      []waivedAxis    `json:"waived,omitempty"`
	Gaps        []policy.Axis   `json:"gaps,omitempty"`

	open bool // it starts without a jail, and wrap leaves it
	gone bool // the mcp-jail that it starts does not exist

	unclear string // what makes it unclear, for a note
	called  string // its name in the index
}

// Run prints the state of the selected files.
func (s *statusCmd) Run(c terminal.Console) error {
	s.OfWindows = true
	x, err := s.Read()
	if err != nil {
		return err
	}
	if x.ProgramErr != nil {
		return x.ProgramErr
	}
	host := x.Host
	all, err := stored.Look(host)
	if err != nil {
		return err
	}
	status := []fileStatus{}
	s.finder, s.namespaces = gaps.NewFinder(index.ClientsHost(host)), confine.Probe().UserNamespaces
	for _, f := range x.Files {
		status = append(status, s.fileStatus(c, x, f, all))
	}
	problems := x.ConfigurationProblems()
	noteChosen(status, problems)
	noteUpdates(status, host.StateDir)
	unread := unreadOf(host, s.Selection)
	broken := firstProblem(all.ConfigErr)
	if s.format == "json" {
		out := struct {
			Files   []fileStatus     `json:"files"`
			Unread  []unreadFile     `json:"unread"`
			Summary summary          `json:"summary"`
			Refused *confine.Feature `json:"without_namespaces,omitempty"` // why user namespaces are refused
			Problem string           `json:"config_problem,omitempty"`
		}{Files: status, Unread: unread, Summary: summaryOf(status, unread)}
		if s.namespaces.Answer == confine.No {
			out.Refused = &s.namespaces
		}
		if broken != nil {
			out.Problem = broken.Error()
		}
		cli.PrintJSON(c, out)
		return broken
	}
	s.print(c, status)
	printUnread(c, unread)
	for _, p := range problems {
		if p.Entries == nil && p.Fix != "" {
			c.Notef("%s %s", c.Paint(terminal.Yellow, "warning:"), p.Warning())
		}
	}
	if text := summaryOf(status, unread).text(); text != "" {
		c.Printf("\n%s\n", text)
	}
	return broken
}

// noteChosen notes at each server what is wrong with the configuration that its entry chooses.
func noteChosen(status []fileStatus, problems []index.ConfigurationProblem) {
	for _, f := range status {
		for i, s := range f.Servers {
			for _, p := range problems {
				if (s.Wrapped || s.Unclear) && s.Problem == "" && s.Kept != "" && slices.Contains(p.Entries, s.Name) {
					f.Servers[i].Problem = p.What
				}
			}
		}
	}
}

// unreadFile is a file from which a client takes servers, and which mcp-jail does not read.
type unreadFile struct {
	Client string `json:"client"`
	Path   string `json:"path"`
	Why    string `json:"why"`
	More   int    `json:"more,omitempty"`   // of the same kind
	Starts bool   `json:"starts,omitempty"` // a server, as is known

	title string
}

func unreadOf(host hostfs.Host, sel wrapping.Selection) []unreadFile {
	all := []unreadFile{}
	for _, b := range wrapping.Unread(index.ClientsHost(host), sel) {
		all = append(all, unreadFile{b.Client.Name, b.Path, b.Why, b.More, b.Starts, b.Client.Title + "  " + show.Name(cli.ShortPath(b.Path, host.Home))})
	}
	return all
}

func printUnread(c terminal.Console, files []unreadFile) {
	for i, f := range files {
		if i == 0 {
			c.Printf("\n")
		}
		more := ""
		if f.More > 0 {
			more = fmt.Sprintf(" (and %d more)", f.More)
		}
		c.PrintText(fmt.Sprintf("not read: %s%s: %s\n", f.title, more, f.Why))
	}
}

func firstProblem(err error) error {
	var problems policy.Problems
	if !errors.As(err, &problems) || len(problems) < 2 {
		return err
	}
	first := problems[0]
	first.Message += fmt.Sprintf(" (and %d more: `mcp-jail check`)", len(problems)-1)
	return policy.Problems{first}
}

func (s *statusCmd) print(c terminal.Console, status []fileStatus) {
	if len(status) == 0 {
		c.Printf("no client with servers was found: looked for the files of %d clients, and in the working directory\n", len(clients.All()))
		return
	}
	if len(s.Servers) > 0 {
		status = slices.DeleteFunc(status, func(f fileStatus) bool { return len(f.Servers) == 0 && f.Problem == "" })
	}
	bare, there, open, repairs := 0, 0, 0, 0
	for i, f := range status {
		for _, s := range f.Servers {
			switch {
			case s.Repair:
				repairs++
			case s.open || s.Unclear:
				open++
			}
		}
		if i > 0 {
			c.Printf("\n")
		}
		if n := f.print(c, time.Now()); f.Windows {
			there += n
		} else {
			bare += n
		}
	}
	if bare > 0 {
		c.Printf("\n%s without a jail: `mcp-jail wrap` puts them into one\n", cli.Plural(bare, "server"))
	}
	if there > 0 {
		c.PrintText("\n" + onWindows(there) + "\n")
	}
	if repairs > 0 {
		c.PrintText(fmt.Sprintf("\n%s with another mcp-jail, or one that does not exist any more: `mcp-jail wrap` puts this program there, and keeps the flags\n", cli.Plural(repairs, "server")))
	}
	if open > 0 {
		c.Printf("\n%s\n", staysOpen(open))
	}
}

func (s *statusCmd) fileStatus(c terminal.Console, x *index.Index, f *wrapping.File, all *stored.All) fileStatus {
	host := x.Host
	out := fileStatus{Client: f.Client.Name, Path: f.Path, Servers: []serverStatus{}, title: fileTitle(c, f, host.Home)}
	if p := f.Plugin(); p != nil {
		out.Plugin = p.ID
	}
	out.Windows = wrapping.OnWindows(f)
	if f.Err != nil {
		out.Problem = f.Err.Error()
		return out
	}
	record, err := f.Backup(host.StateDir)
	if err != nil {
		out.Problem = "what wrap wrote is not known: " + err.Error()
	}
	since, gone := f.Compare(record)
	if record != nil {
		out.Wrapped, out.Removed = &record.Time, gone
	}
	for _, e := range f.Entries {
		if s.Has(e.Server) {
			of := x.Of(f, e)
			entry := of.Entry(f, e)
			v := entry.Verdict()
			one := entryStatus(host, f, entry, of, all)
			one.Since = string(since[e.Key()])
			one.addGaps(of.File, s.finder, s.namespaces, f, e, v)
			out.Servers = append(out.Servers, one)
		}
	}
	return out
}

func entryStatus(host hostfs.Host, f *wrapping.File, entry *index.Entry, of *index.Server, all *stored.All) serverStatus {
	e, v := entry.Entry, entry.Verdict()
	out := serverStatus{Name: e.Server, Project: e.For, Command: shown.Words(e.Argv()), Wrapped: v.Jailed, Unclear: v.Unclear, Left: string(v.Why), State: stateOf(f, entry), open: v.Open, Granted: entry.Brings()}
	if !v.Jailed && !v.Unclear {
		return out
	}
	if v.Unclear {
		out.unclear = index.WhyUnclear(v, host.Home)
	}
	out.Repair, out.gone = v.Repair != nil, v.Repair != nil && v.Repair.Gone
	w := v.Line
	out.Policy, out.Kept, out.called, out.Command = policyText(of, w), of.Key, of.Name, shown.Words(w.Argv)
	if err := checkFlags(host, of, f, e, w); err != nil {
		out.Problem = err.Error()
	}
	if e := all.PinOf(w.Argv); e != nil {
		out.Pinned = e.Version
	}
	s := all.Server(out.Kept)
	if s == nil {
		return out
	}
	if w.Argv == nil {
		out.Command = shown.Words(s.About.Command)
	}
	out.Pinned = cmp.Or(out.Pinned, s.Pinned())
	if !s.Used.IsZero() && len(s.About.Command) > 0 {
		out.LastUsed, out.LastClient = &s.Used, s.About.Client.Name
		// Clients greet with names other than those that --client takes.
		if c, known := clients.ByGreeting(s.About.Client.Name); known {
			out.LastClient = c.Name
		}
	}
	if s.Running {
		out.Outdated = session.Outdated(host, w.Name, s.About.Configuration)
	}
	out.LastFailure = s.Failure
	return out
}

// checkFlags returns the error with which each start of a wrapped server ends because of its
// flags, or nil.
func checkFlags(host hostfs.Host, of *index.Server, f *wrapping.File, e wrapping.Entry, w clients.Wrapped) error {
	if w.Argv == nil {
		return nil
	}
	if w.ID != "" {
		own, err := of.File, error(nil)
		if own == nil || of.TwoFiles {
			own, err = config.FindServerFile(host.ConfigDir, w.ID) // it says what is wrong
		}
		if given := f.Started(e, w.Argv, index.ClientsHost(host)); err == nil && !identity.Same(own.Words(), given) {
			err = &identity.WordsError{ID: w.ID, Name: own.Server.Name, Saved: own.Words(), Given: given}
		}
		return err
	}
	flags, err := cmdline.ParseRun(append([]string{"run"}, w.Flags...))
	if err == nil && flags.Preset != "" {
		var p *presets.Preset
		if p, err = presets.Find(flags.Preset); err == nil {
			err = p.Lists(f.Started(e, w.Argv, index.ClientsHost(host)))
		}
	}
	return err
}
