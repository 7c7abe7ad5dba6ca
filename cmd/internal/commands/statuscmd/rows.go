package statuscmd

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"github.com/mcp-jail/mcp-jail/clients"
	"github.com/mcp-jail/mcp-jail/cmd/internal/cmdline"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/cli"
	"github.com/mcp-jail/mcp-jail/cmd/internal/commands/index"
	"github.com/mcp-jail/mcp-jail/cmd/internal/meaning"
	"github.com/mcp-jail/mcp-jail/cmd/internal/records"
	"github.com/mcp-jail/mcp-jail/cmd/internal/session"
	"github.com/mcp-jail/mcp-jail/cmd/internal/terminal"
	"github.com/mcp-jail/mcp-jail/cmd/internal/wrapping"
	"github.com/mcp-jail/mcp-jail/confine"
	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/internal/wrapper"
	"github.com/mcp-jail/mcp-jail/packages/runline"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// A row is a server as a client starts it, or one that no client has.
type row struct {
	Name        string            `json:"name"`             // of the server in all commands
	Called      string            `json:"called,omitempty"` // by its client, or by run --name
	Client      string            `json:"client,omitempty"`
	File        string            `json:"file,omitempty"`
	Project     string            `json:"project,omitempty"` // for which the client starts it
	Jail        jail              `json:"jail"`
	Why         string            `json:"why,omitempty"`  // of no, unclear and none
	Wrap        bool              `json:"wrap,omitempty"` // wrap puts it into a jail
	Windows     bool              `json:"windows,omitempty"`
	Command     []string          `json:"command,omitempty"`
	Policy      string            `json:"policy,omitempty"`  // its file
	Version     string            `json:"version,omitempty"` // that is pinned
	LastUsed    *time.Time        `json:"last_used,omitempty"`
	LastClient  *records.Client   `json:"last_client,omitempty"`
	LastFailure *index.Failure    `json:"last_failure,omitempty"`
	Waived      []policy.Axis     `json:"waived,omitempty"`            // the user accepts that these are not enforced
	Lacks       []policy.Axis     `json:"lacks,omitempty"`             // of which this machine cannot enforce all: it does not start
	Granted     []string          `json:"granted,omitempty"`           // by the file of a project or a plugin
	MayChange   []changeable      `json:"may_change,omitempty"`        // what other servers are started from
	Fault       string            `json:"fault,omitempty"`             // why it cannot start
	Switches    policy.Switches   `json:"switches,omitempty"`          // of its tools
	Allowed     []string          `json:"allowed_in_client,omitempty"` // for the session that runs
	Earlier     *diagnostics.Kept `json:"earlier_policy,omitempty"`    // has the session that runs; else nil
	Stored      *storedPart       `json:"stored,omitempty"`

	title   string // of its client
	running bool
	changed bool   // its line has another command than its file
	copied  bool   // and another entry has that command, with the same id
	own     string // what it is, without a pinned version
}

// A changeable is a path from which a server is started.
type changeable struct {
	Server string `json:"server"`
	Path   string `json:"path"`
}

// A jail says whether a server starts in a jail of this mcp-jail.
type jail string

const (
	inJail  jail = "yes"
	weaker  jail = "weaker"
	noJail  jail = "no"
	unclear jail = "unclear"
	nothing jail = "none" // it starts no program here, or no client has it
)

// rows returns the rows of the servers that were asked for.
func (s *statusCmd) rows(x *index.Index) ([]*row, error) {
	here := lacking(index.ClientsHost(x.Host))
	all := []*row{}
	of := map[*row]*index.Server{}
	for _, f := range x.Files {
		for _, e := range f.Entries {
			server := x.Of(f, e)
			r := entryRow(x, server.Entry(f, e), server, here)
			all, of[r] = append(all, r), server
		}
	}
	if s.Everything() && (s.all || len(s.names) > 0) {
		for _, server := range x.Servers {
			if len(server.Entries) == 0 && server.Kept != nil {
				r := &row{Name: server.Name, Called: server.Kept.About.Name, Jail: nothing, Command: terminal.ShownWords(server.Words), Project: server.Kept.About.Project}
				r.addStored(x, server)
				r.setVersion(x, server)
				all, of[r] = append(all, r), server
			}
		}
	}
	if s.all {
		for _, r := range all {
			r.Stored = partOf(of[r].Kept)
		}
	}
	return s.named(x, all, of)
}

// named returns the rows that the arguments name.
func (s *statusCmd) named(x *index.Index, all []*row, of map[*row]*index.Server) ([]*row, error) {
	if len(s.names) == 0 {
		return all, nil
	}
	found := []*row{}
	for _, name := range s.names {
		means := func(r *row) bool { return r.Name == name || r.Called == name }
		if !slices.ContainsFunc(all, means) {
			server, err := x.Pick(name, nil)
			if err != nil {
				return nil, err
			}
			means = func(r *row) bool { return of[r] == server }
		}
		for _, r := range all {
			if means(r) && !slices.Contains(found, r) {
				found = append(found, r)
			}
		}
	}
	return found, nil
}

func entryRow(x *index.Index, e *index.Entry, of *index.Server, here index.GapNeed) *row {
	f, v := e.File, e.Verdict()
	r := &row{Name: nameOf(e, of), Called: e.Server, Client: f.Client.Name, File: f.Path, Project: e.For, Command: terminal.ShownWords(e.Argv()), Windows: wrapping.OnWindows(f), Granted: e.Brings(), title: f.Client.Title}
	switch v.State {
	case wrapping.Jailed:
		r.Jail = inJail
	case wrapping.Unjailed:
		r.Jail, r.Wrap = noJail, true
	case wrapping.Skipped:
		r.Jail, r.Why = noJail, string(v.Why)
	case wrapping.Inactive:
		r.Jail, r.Why = nothing, string(v.Why)
	default:
		r.Jail, r.Why, r.Wrap = unclear, index.WhyUnclear(v, x.Host.Home), v.IsRepaired()
	}
	if e.Left == clients.Remote && v.State != wrapping.Skipped {
		r.own = "a URL"
	}
	if !v.IsWrapped() {
		r.setVersion(x, of)
		r.Version = "" // without the jail its launcher takes the newest
		return r
	}
	if of.File != nil {
		r.Policy = of.File.Path
	}
	r.Switches = of.Switches()
	for _, o := range x.MayChange(of) {
		r.MayChange = append(r.MayChange, changeable{o.Names[0], o.Names[1]})
	}
	w := v.Line
	if r.Command = terminal.ShownWords(w.Argv); w.Argv == nil {
		r.Command = terminal.ShownWords(of.Words)
	}
	r.Waived = index.HasWaivers(of.File, w)
	r.Lacks = index.WithoutAxes(here.Waivers(r.Waived), r.Waived)
	if v.State == wrapping.Jailed && slices.ContainsFunc(here.Waivers(nil), func(a policy.Axis) bool { return slices.Contains(r.Waived, a) }) {
		r.Jail = weaker
	}
	switch err := startError(x, of, f, e.Entry, w); {
	case errors.As(err, new(*records.WordsError)):
		r.changed, r.Fault = true, "its command is not the one that you wrapped"
		r.copied = of.File != nil && slices.ContainsFunc(of.Entries, func(o *index.Entry) bool {
			return o != e && !o.File.IsProject() && records.SameWords(of.File.Words(), o.Line().Argv)
		})
	case err != nil:
		r.Fault = err.Error()
	}
	if of.Kept != nil {
		r.addStored(x, of)
	}
	r.setVersion(x, of)
	return r
}

// nameOf returns the name of a server. One that this mcp-jail does not start has none but what its client calls it.
func nameOf(e *index.Entry, of *index.Server) string {
	if of.File == nil && (of.Key == "" || e.Verdict().State != wrapping.Jailed) {
		return e.Server
	}
	return of.Name
}

// startError returns the error with which each start of a wrapped server ends because of its line, or nil.
func startError(x *index.Index, of *index.Server, f *wrapping.File, e wrapping.Entry, w clients.Wrapped) error {
	if w.Argv == nil {
		return nil
	}
	given := f.Started(e, w.Argv, index.ClientsHost(x.Host))
	if w.ID != "" {
		own, err := of.File, error(nil)
		if own == nil || of.TwoFiles {
			own, err = config.FindServerFile(x.Host.ConfigDir, w.ID) // it says what is wrong
		}
		if err == nil && !records.SameWords(own.Words(), given) {
			err = &records.WordsError{ID: w.ID, Name: own.Server.Name, Saved: own.Words(), Given: given}
		}
		return err
	}
	flags, err := cmdline.ParseRun(append([]string{"run"}, w.Flags...))
	if err == nil && flags.Preset != "" {
		err = session.PresetError(flags.Preset)
	}
	return err
}

// setVersion sets the pinned version of a server, or what the server is.
func (r *row) setVersion(x *index.Index, of *index.Server) {
	argv := of.Words
	if t := of.Table; len(argv) == 0 && t != nil && t.Command != "" {
		argv = append([]string{t.Command}, t.Arguments...)
	}
	switch _, where := wrapper.Elsewhere(argv); {
	case r.own != "" || len(argv) == 0:
	case where == wrapper.InContainer:
		r.own = "container"
	default:
		r.own = "own code"
	}
	if e := x.Stored.PinOf(argv); e != nil {
		r.Version = e.Version
	} else if of.Kept != nil && len(of.Kept.Pins) > 0 {
		r.Version = of.Kept.Pins[0].Version
	}
	if _, err := runline.Parse(argv); !errors.Is(err, runline.ErrNotLauncher) || meaning.Fetched(argv) != nil {
		r.own = "not pinned"
	}
}

// addStored adds what the records tell of the server.
func (r *row) addStored(x *index.Index, of *index.Server) {
	kept := of.Kept
	x.Stored.ReadSessions(kept)
	about := kept.About
	r.running, r.LastFailure, r.Allowed, r.Earlier = kept.Running, kept.Failure, kept.Allowed, kept.Earlier
	if !kept.Used.IsZero() && len(about.Command) > 0 {
		r.LastUsed = &kept.Used
	}
	if about.Client.Name != "" {
		r.LastClient = &about.Client
	}
}

// failed returns the failure of the last session, or nil.
func (r *row) failed() *index.Failure {
	if r.LastFailure == nil || r.LastFailure.Past {
		return nil
	}
	return r.LastFailure
}

// lacking returns what this machine cannot enforce of any policy, if it cannot enforce something of each.
func lacking(host clients.Host) index.GapNeed {
	if host.OS == "linux" && confine.Probe().UserNamespaces.Answer != confine.No {
		return index.GapNeed{}
	}
	return index.NewGapFinder(host, nil).Standard()
}

// A storedPart is what mcp-jail has stored of a server.
type storedPart struct {
	Key          string             `json:"key"` // the name of its folder
	Package      string             `json:"package,omitempty"`
	Bytes        int64              `json:"bytes"`
	HomeBytes    int64              `json:"home_bytes"`
	PackageBytes int64              `json:"package_bytes"`
	RecordBytes  int64              `json:"record_bytes"`
	Homes        []index.StoredHome `json:"homes,omitempty"`
}

func partOf(s *index.StoredServer) *storedPart {
	if s == nil {
		return nil
	}
	part := &storedPart{Key: s.Name, Bytes: s.Bytes(), HomeBytes: s.HomeBytes(), PackageBytes: s.PackageBytes(), RecordBytes: s.Records, Homes: s.Homes}
	if len(s.Pins) > 0 {
		part.Package = s.Pins[0].Name + "@" + s.Pins[0].Version
	}
	return part
}

func (r *row) size() string {
	if r.Stored == nil {
		return "-"
	}
	return cli.SizeText(r.Stored.Bytes)
}

// storedRest is what is stored, of everything.
type storedRest struct {
	Bytes int64 `json:"bytes"` // each file once
}

func leftOf(all *index.Stored) *storedRest {
	rest := &storedRest{}
	for _, l := range all.Leftovers {
		rest.Bytes += l.Bytes
	}
	for _, s := range all.Servers {
		rest.Bytes += s.HomeBytes() + s.Records
	}
	for _, t := range all.Trees() {
		rest.Bytes += t.Bytes
	}
	return rest
}

// The columns that become narrower where the table is too wide, each with its least width.
var leastWidths = map[int]int{0: 20, 1: 14, 3: 12, 5: 20}

// table returns the table, for a width; 0 is any width.
func (s *statusCmd) table(rows []*row, now time.Time, width int) string {
	names := []string{"SERVER", "CLIENT", "JAIL", "VERSION", "LAST USED", "LAST FAILURE"}
	calls := slices.ContainsFunc(rows, func(r *row) bool { return r.otherName() != "" })
	if calls {
		names = append(names, "CALLED")
	}
	if s.all {
		names = append(names, "SIZE")
	}
	table := [][]cli.Cell{cli.Heading(names...)}
	for _, r := range rows {
		cells := []cli.Cell{cli.Words(cmp.Or(r.Name, "(no name)")), cli.Words(r.client()), cli.Words(r.Jail.shown()), cli.Words(cmp.Or(r.Version, r.own)), cli.Whole(r.used(now)), r.failure()}
		switch {
		case calls && r.otherName() == "":
			cells = append(cells, cli.Cell{})
		case calls:
			cells = append(cells, cli.Words(r.otherName()))
		}
		if s.all {
			cells = append(cells, cli.Amount(r.size()))
		}
		table = append(table, cells)
	}
	return cli.Columns(table, width, leastWidths, []int{1, 5, 0, 3})
}

func (j jail) shown() string {
	switch j {
	case noJail:
		return "NO"
	case nothing:
		return "-"
	}
	return string(j)
}

// otherName returns what a client calls the server, if that is not its name.
func (r *row) otherName() string {
	if r.Called == r.Name {
		return ""
	}
	return r.Called
}

func (r *row) client() string {
	if r.Windows {
		return r.title + " on Windows"
	}
	return r.title
}

func (r *row) used(now time.Time) string {
	switch {
	case r.running:
		return "now"
	case r.LastUsed != nil:
		return whenText(now, *r.LastUsed)
	case r.Jail == inJail || r.Jail == weaker:
		return "never"
	case r.Jail == nothing:
		return "-"
	}
	return "not known"
}

// whenText returns a time of today or yesterday as such, and how long ago any other one was.
func whenText(now, at time.Time) string {
	at, now = at.Local(), now.Local()
	for i, day := range []string{"today", "yesterday"} {
		if y, m, d := now.AddDate(0, 0, -i).Date(); at.Year() == y && at.Month() == m && at.Day() == d {
			return day + at.Format(" 15:04")
		}
	}
	return cli.AgoText(now, at)
}

func (r *row) failure() cli.Cell {
	failed := r.failed()
	switch {
	case failed == nil && r.LastUsed == nil:
		return cli.Cell{}
	case failed == nil:
		return cli.Words("none")
	}
	return cli.Words(failedStep(failed.Tool, failed.Stage) + ": " + failedHow(failed.Blocked))
}

func failedStep(tool string, stage diagnostics.Stage) string {
	switch {
	case tool != "":
		return show.InSentence(tool)
	case stage == diagnostics.StageList:
		return "tools"
	case stage == diagnostics.StageCall:
		return "call"
	}
	return "start"
}

func failedHow(blocked bool) string {
	if blocked {
		return "blocked"
	}
	return "failed"
}
