package diagnose_test

import (
	"cmp"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pelletier/go-toml/v2"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/diagnostics/change"
	"github.com/mcp-jail/mcp-jail/diagnostics/diagnose"
	"github.com/mcp-jail/mcp-jail/diagnostics/diagnostest"
	"github.com/mcp-jail/mcp-jail/diagnostics/internal/analysis"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

// failure is a row of testdata/failures: what is known of a failure under the fixture's profile, and what
// is said of it. Without sure, nothing is said. The keys above a file's first row hold for all of its rows that do not have
// them, and a row with each is one row for each of these words, which $EACH stands for.
type failure struct {
	Name, Text string

	Stage                   diagnostics.Stage // of a call where it is not said
	Tool, Method            string
	Stderr                  string
	Ends                    bool // the server ended at its start; the text is on stderr
	Started, Waiting        bool
	Exit, Signal            int
	Why                     string // the jail ended it
	Seconds                 int    // the time limit that passed
	Start                   *start
	Denied                  []policy.Denial
	Unreached               []policy.HostFailure
	Unanswered              []policy.Unanswered
	Listening, Listens      []int // the ports at which programs of the jail, and of the host, listen
	System                  string
	Exists, Absent          []string
	Links, Shared           map[string]string
	Unmakeable, Executables []string // where the user may not write; what may be started

	Argv, Roots, Replaced, Withheld, Unset, Programs, Unprotected []string
	Default, Stateless                                            bool
	CommandLine                                                   bool              `toml:"command_line"`
	CommandArgs                                                   []string          `toml:"command_args"`
	StartDir                                                      string            `toml:"start_dir"`
	NoHome                                                        bool              `toml:"no_home"`
	Holds                                                         map[string]string // a file, and the variable in it
	Sources                                                       map[string]string // a variable, and the file of its rule
	Values                                                        map[string]string // of the user's variables
	Dir, Install, Unfit                                           string
	Warnings, Stale                                               []string
	Env, Secrets                                                  map[string]string
	Net                                                           []policy.NetRule
	Inbound, Elsewhere                                            []int // ports that lead in; those of them that another session has
	TypicalHome                                                   bool  `toml:"typical_home"` // of homeHost
	Rules                                                         []rule
	Commands                                                      []policy.Command
	Limits                                                        *policy.Limits

	Sure            diagnostics.Attribution
	Target, Missing string // of the first hint
	Targets         string // of all hints
	Words           string // for mcp-jail grant
	Verdict, Kind   string // of the first hint's proposal, and of what weighs most against it
	Note            string // part of the cause, where nothing is proposed
	Unexplained     string // part of what why says without a cause
	Fix, What       string // parts of them
	Page            diagnostics.Page
	Code            diagnostics.Code
}

// ownFault is said where nothing is otherwise than without a jail.
const ownFault = "The jail recorded no refusal then. The cause is probably in github itself."

// start is a program that could not be started, with the name of the error.
type start struct{ Step, Error, Detail string }

var errnos = map[string]syscall.Errno{
	"EPERM": syscall.EPERM, "EACCES": syscall.EACCES, "ENOENT": syscall.ENOENT, "EROFS": syscall.EROFS, "ENOEXEC": syscall.ENOEXEC,
	"EMFILE": syscall.EMFILE, "ETOOMANYREFS": syscall.ETOOMANYREFS, "ENOTSUPP": 524,
	"ERROR_ACCESS_DENIED": 5, "ERROR_BAD_EXE_FORMAT": 193, "ERROR_ELEVATION_REQUIRED": 740, "ERROR_FILE_NOT_FOUND": 2,
}

// rule is an entry of the profile. It takes the place of one that the fixture has at its path.
type rule struct {
	Path, Rights, Rule string
	Dir                bool
	Hides              bool // as a sensitive path
}

func rightsOf(words string) (r policy.Rights) {
	for _, word := range strings.Fields(words) {
		r |= map[string]policy.Rights{"read": policy.Read, "write": policy.Write, "execute": policy.Execute}[word]
	}
	return r
}

// profile changes the fixture's profile as the row says.
func (f failure) profile(p *policy.Profile) {
	if f.Default {
		defaultProfile(p)
	}
	for _, r := range f.Rules {
		e := policy.Entry{Path: r.Path, Rights: rightsOf(r.Rights), Kind: policy.KindFile, Origin: policy.OriginRule, Rule: r.Rule}
		if r.Dir {
			e.Kind = policy.KindDir
		}
		if r.Hides {
			e.Origin = policy.OriginSensitive
		}
		p.Entries = slices.DeleteFunc(p.Entries, func(old policy.Entry) bool { return old.Path == e.Path })
		p.Entries = append(p.Entries, e)
	}
	if f.Net != nil {
		p.Net = f.Net
	}
	if f.Argv != nil {
		p.Argv = f.Argv
	}
	if f.Limits != nil {
		p.Limits = *f.Limits
	}
	for _, name := range slices.Sorted(maps.Keys(f.Env)) {
		p.Env = append(p.Env, policy.Variable{Name: name, Value: f.Env[name], Rule: "test"})
	}
	for _, name := range slices.Sorted(maps.Keys(f.Secrets)) {
		p.Env = append(p.Env, policy.Variable{Name: name, Value: f.Secrets[name], Secret: true, Rule: "--env " + name})
	}
	p.Withheld = append(p.Withheld, f.Withheld...)
	p.Unprotected = append(p.Unprotected, f.Unprotected...)
	p.Programs, p.Commands, p.CommandArgs, p.Inbound = f.Programs, f.Commands, f.CommandArgs, f.Inbound
	if f.StartDir != "" {
		p.Dir = p.Home
	}
	p.Dir = cmp.Or(f.Dir, p.Dir)
}

func (f failure) evidence() diagnostics.Evidence {
	ev := evidence(f.Text)
	ev.Profile = fixture(f.profile)
	if f.Stage != "" && f.Stage != diagnostics.StageCall {
		ev.Stage, ev.Tool, ev.Method = f.Stage, "", f.Method
	}
	if f.Ends {
		ev.Stage, ev.Tool, ev.Method, ev.Exit = diagnostics.StageStartup, "", "", &diagnostics.Exit{Code: 1}
		ev.Text, ev.Stderr = "", strings.Split(f.Text, "\n")
	}
	if f.Stderr != "" {
		ev.Stderr = strings.Split(f.Stderr, "\n")
	}
	if f.Exit+f.Signal != 0 {
		ev.Exit = &diagnostics.Exit{Code: f.Exit, Signal: syscall.Signal(f.Signal), Why: f.Why}
	}
	if f.Start != nil {
		ev.Start = &diagnostics.Start{Step: f.Start.Step, Errno: errnos[f.Start.Error], Detail: f.Start.Detail}
	}
	if f.Stateless {
		ev.Stateless = true
		if ev.Stage == diagnostics.StageCall {
			ev.Profile.Tool = ev.Tool
		}
	}
	ev.Timeout = time.Duration(f.Seconds) * time.Second
	ev.Started, ev.Waiting, ev.Denials, ev.HostFailures, ev.Unanswered = f.Started, f.Waiting, f.Denied, f.Unreached, f.Unanswered
	ev.FromCommandLine, ev.InstallScripts, ev.Unfit, ev.Replaced, ev.Warnings = f.CommandLine, f.Install, f.Unfit, f.Replaced, f.Warnings
	ev.Roots, ev.Unset, ev.StartDir, ev.System = f.Roots, f.Unset, f.StartDir, f.System
	if f.NoHome {
		ev.UserHome = ""
	}
	f.host(&ev)
	deciding(&ev, usualJudge())
	if f.TypicalHome {
		onHomeHost(&ev)
	}
	return ev
}

// host is the fixture's host as the row changes it.
func (f failure) host(ev *diagnostics.Evidence) {
	known, more := diagnostest.Of(ev), host{}
	for _, path := range f.Exists {
		more[path] = true
	}
	known.Exists = func(path string) bool {
		return !slices.Contains(f.Absent, path) && (someHost.exists(path) || more.exists(path) && path != "/")
	}
	if f.Links != nil {
		known.Canonical = func(path string) string {
			for range len(f.Links) {
				for from, to := range f.Links {
					if rest, ok := strings.CutPrefix(path, from); ok {
						path = to + rest
					}
				}
			}
			return path
		}
	}
	known.May = func(path string, r policy.Rights) bool {
		return !slices.Contains(f.Unmakeable, path) && (someMay(path, r) || slices.Contains(f.Executables, path))
	}
	known.Holds = func(file, name string) bool { return f.Holds[file] == name }
	known.Source = func(name string) string { return f.Sources[name] }
	if f.Shared != nil {
		known.Shared = func(dir string) string { return f.Shared[dir] }
	}
	if f.Values != nil {
		known.Variable = func(name string) string { return f.Values[name] }
	}
	if f.Listens != nil {
		known.Listens = func(_ string, port int) bool { return slices.Contains(f.Listens, port) }
	}
	if f.Stale != nil {
		known.Stale = func(path string) bool { return slices.Contains(f.Stale, path) }
	}
	if f.Elsewhere != nil {
		known.Elsewhere = func(port int) bool { return slices.Contains(f.Elsewhere, port) }
	}
	if f.Listening != nil {
		known.Listening = func() []int { return f.Listening }
	}
}

// TestFailures: each row has its cause, and the least grant that helps. The words of a grant are such as
// mcp-jail grant takes. Words of a server alone are never certain, and lead to no grant of keys.
func TestFailures(t *testing.T) {
	files, err := filepath.Glob("testdata/failures/*.toml")
	testkit.Must(t, err)
	if len(files) == 0 {
		t.Fatal("no rows")
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		testkit.Must(t, err)
		common, rows, _ := strings.Cut(string(data), "[[failure]]\n")
		t.Run(strings.TrimSuffix(filepath.Base(file), ".toml"), func(t *testing.T) {
			for row := range strings.SplitSeq(rows, "[[failure]]\n") {
				var same struct{ Each []string }
				testkit.Must(t, toml.Unmarshal([]byte(row), &same))
				if same.Each == nil {
					same.Each = []string{""}
				}
				for _, word := range same.Each {
					var f failure
					testkit.Must(t, toml.Unmarshal([]byte(common), &f))
					testkit.Must(t, toml.Unmarshal([]byte(strings.ReplaceAll(row, "$EACH", word)), &f))
					f.check(t)
				}
			}
		})
	}
}

func (f failure) check(t *testing.T) {
	if signal := syscall.Signal(f.Signal); signal != 0 && analysis.SignalName(signal) == "" {
		return // Windows has no such signal
	}
	ev := f.evidence()
	d := diagnose.Failure(ev)
	got := failure{Sure: d.Attribution, Words: strings.Join(wordsOf(d), " ")}
	var targets []string
	for _, h := range d.Hints {
		targets = append(targets, h.Target)
	}
	if len(d.Hints) > 0 {
		got.Target, got.Missing = d.Hints[0].Target, d.Hints[0].Missing
	}
	if got.Sure != cmp.Or(f.Sure, diagnostics.None) || got.Target != f.Target || got.Missing != f.Missing || got.Words != f.Words || !strings.Contains(d.Cause, f.Note) || f.Sure == "" && f.Note == "" && d.Cause != "" {
		t.Errorf("%s: %q\n got %s, %s %q: %s\nwant %s, %s %q: %s\n%s", f.Name, f.Text, got.Sure, got.Missing, got.Target, got.Words, cmp.Or(f.Sure, diagnostics.None), f.Missing, f.Target, f.Words, d.Cause)
	}
	if !strings.Contains(advised(d), f.Fix) || !strings.Contains(d.What, f.What) || f.Page != "" && d.Explain != f.Page || f.Targets != "" && strings.Join(targets, " ") != f.Targets {
		t.Errorf("%s: want %q, %q, page %q and targets %q; got %q\n%s", f.Name, f.Fix, f.What, f.Page, f.Targets, targets, told(d))
	}
	if got.Verdict, got.Kind = decidedOf(d); got.Verdict != f.Verdict || got.Kind != f.Kind {
		t.Errorf("%s: decided %q for %q, want %q for %q", f.Name, got.Verdict, got.Kind, f.Verdict, f.Kind)
	}
	for _, p := range d.Proposals() {
		data, err := json.Marshal(p)
		testkit.Must(t, err)
		var kept change.Proposal
		testkit.Must(t, json.Unmarshal(data, &kept))
		if !slices.Equal(kept.Object.Words(), p.Object.Words()) || kept.Object.Program != p.Object.Program || kept.IsOpen() {
			t.Errorf("%s: %s is read as %+v", f.Name, data, kept)
		}
	}
	for _, text := range append([]string{d.Advised(), d.Fix}, remedies(d)...) {
		if strings.Contains(text, "mcp-jail why") || strings.Contains(text, "--last") {
			t.Errorf("%s: a remedy leads back to where it is shown: %s", f.Name, text)
		}
	}
	why := (diagnostics.Record{Server: "github", Diagnoses: []diagnostics.Diagnosis{d}}).Text(func(diagnostics.Record) string { return "" }, false)
	if !strings.Contains(why, f.Unexplained) || f.Unexplained != "" && f.Unexplained != ownFault && strings.Contains(why, ownFault) {
		t.Errorf("%s: %q: why says\n%s", f.Name, f.Text, why)
	}
	if f.Code != 0 && d.Code != f.Code || ev.Exit != nil && (d.Signal == "") == (d.Exit == nil) {
		t.Errorf("%s: code %d, want %d; exit %v, signal %q", f.Name, d.Code, f.Code, d.Exit, d.Signal)
	}
	if f.TypicalHome && f.Fix == "" && f.Missing != "variable" && strings.Contains(told(d), "careful: ") {
		t.Errorf("%s: a warning: %s", f.Name, told(d))
	}
	for name, value := range f.Secrets {
		if strings.Contains(told(d), value) {
			t.Errorf("%s: shows %s: %s", f.Name, name, told(d))
		}
	}
	if d.Attribution != diagnostics.Certain && slices.ContainsFunc(wordsOf(d), func(w string) bool { return strings.Contains(w, ".ssh") }) {
		t.Errorf("%s: words of the server lead to a grant of keys", f.Name)
	}
	objects, err := change.Read(wordsOf(d))
	var again []string
	for _, o := range objects {
		again = append(again, o.Words()...)
	}
	if err != nil || !slices.Equal(again, wordsOf(d)) {
		t.Errorf("%s: %q is read as %q: %v", f.Name, wordsOf(d), again, err)
	}
	if err := granting(&config.Server{Name: "github", Command: "x"}, "", wordsOf(d)); err != nil {
		t.Errorf("%s: %q: %v", f.Name, wordsOf(d), err)
	}
}

// decidedOf returns what is decided about the first hint, and the kind of reason that weighs most.
func decidedOf(d diagnostics.Diagnosis) (verdict, kind string) {
	if len(d.Hints) == 0 || d.Hints[0].Proposal.IsZero() {
		return "", ""
	}
	p := d.Hints[0].Proposal
	if len(p.Reasons) > 0 {
		kind = string(p.Reasons[0].Kind)
	}
	return map[change.Verdict]string{change.Never: "never", change.Cannot: "cannot", change.Apart: "apart", change.Ask: "ask", change.Fine: "fine"}[p.Verdict()], kind
}

// remedies returns what each hint says that helps.
func remedies(d diagnostics.Diagnosis) (all []string) {
	for _, h := range d.Hints {
		all = append(all, h.Fix, h.Proposal.Refused())
	}
	return all
}
