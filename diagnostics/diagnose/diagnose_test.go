package diagnose_test

import (
	"encoding/json"
	"os"
	"path"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mcp-jail/mcp-jail/diagnostics"
	"github.com/mcp-jail/mcp-jail/diagnostics/change"
	"github.com/mcp-jail/mcp-jail/diagnostics/diagnose"
	"github.com/mcp-jail/mcp-jail/diagnostics/diagnostest"
	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

// TestAnalyzeBeforeRedacting checks that a secret in the middle of a path neither changes
// the analyzed path nor is shown.
func TestAnalyzeBeforeRedacting(t *testing.T) {
	ev := evidence("EACCES: permission denied, open '/var/lib/postgres/x'")
	ev.Profile.Env = append(ev.Profile.Env, policy.Variable{Name: "DB_USER", Value: "postgres", Secret: true})
	diagnostest.Of(&ev).Exists = host{"/var/lib/postgres/x": true}.exists
	d := diagnose.Failure(ev)
	if d.Attribution != diagnostics.Likely || d.Hints[0].Missing != "read" || strings.Contains(told(d), "postgres") || len(wordsOf(d)) > 0 || !strings.Contains(advised(d), "the value of a secret variable") {
		t.Errorf("%s", d.Text())
	}
	ev.Profile.Env = append(ev.Profile.Env[:len(ev.Profile.Env)-1], policy.Variable{Name: "DATA_DIR", Value: "/data/notes", Secret: true})
	ev.Text, diagnostest.Of(&ev).Exists = "EACCES: permission denied, open '/data/notes/x.md'", someHost.exists
	if d := diagnose.Failure(ev); strings.Join(wordsOf(d), " ") != `--read /data/notes/x.md` {
		t.Errorf("%s", d.Text())
	}
	// The analyzer reads the unredacted stderr.
	tail := diagnostics.NewTail(diagnostics.NewRedactor([]policy.Variable{{Name: "DATABASE", Value: "postgres", Secret: true}}))
	tail.Write([]byte("open '/var/lib/postgres/x'\nlast"))
	if _, got, _ := tail.Since(time.Time{}, 0); !slices.Equal(got, []string{"open '/var/lib/postgres/x'", "last"}) {
		t.Errorf("heard %q", got)
	}
	ev.Profile.Env[len(ev.Profile.Env)-1] = policy.Variable{Name: "DB_USER", Value: "postgres", Secret: true}
	ev.Stage, ev.Text, diagnostest.Of(&ev).Exists = diagnostics.StageStartup, "", host{"/var/lib/postgres/x": true}.exists
	ev.Exit = &diagnostics.Exit{Code: 1}
	ev.RawStderr, ev.Stderr = []string{"EACCES: permission denied, open '/var/lib/postgres/x'"}, []string{"EACCES: permission denied, open '/var/lib/[redacted DB_USER]/x'"}
	if d := diagnose.Failure(ev); d.Attribution != diagnostics.Likely || strings.Contains(string(d.ErrorFrame([]byte("1")))+d.Text(), "postgres") {
		t.Errorf("%s", d.Text())
	}
}

// TestAwaited checks what a running server is said to wait for.
func TestAwaited(t *testing.T) {
	ev := evidence("")
	ev.Stage, ev.Tool, ev.Method, ev.Stderr = diagnostics.StageStartup, "", "", []string{"OAuth callback server running at http://127.0.0.1:16774", "Waiting for authorization..."}
	diagnostest.Of(&ev).Listening = func() []int { return []int{16774} }
	defaultProfile(ev.Profile)
	d, ok := diagnose.Awaited(ev)
	want := "--inbound 16774"
	if !ok || strings.Join(wordsOf(d), " ") != want || !strings.Contains(d.What, "has not answered yet") {
		t.Errorf("%v\n%s", ok, d.Text())
	}
	ev.Stderr = []string{"OAuth is configured with redirect_uri=http://localhost:9999/"}
	if d, ok := diagnose.Awaited(ev); ok {
		t.Errorf("a port at which it does not listen\n%s", d.Text())
	}
}

func TestBuildFix(t *testing.T) {
	for _, system := range []string{"linux", "darwin"} {
		if got := diagnose.BuildFix(&os.SyscallError{Syscall: "pipe2", Err: syscall.EMFILE}, system); !strings.Contains(got, "ulimit -n") {
			t.Errorf("EMFILE on %s: %q", system, got)
		}
	}
	for _, err := range []error{nil, os.ErrPermission, syscall.EPERM} {
		if got := diagnose.BuildFix(err, "linux"); got != "" {
			t.Errorf("%v: %q", err, got)
		}
	}
}

// TestBrief tests that a brief sentence has all words but the server's name.
func TestBrief(t *testing.T) {
	for _, c := range []struct {
		evidence diagnostics.Evidence
		what     string
		brief    string
	}{
		{diagnostics.Evidence{Server: "%s", Tool: "read%s", Stage: diagnostics.StageCall}, `read%s of %s failed`, `read%s failed`},
		{diagnostics.Evidence{Server: "s", Stage: diagnostics.StageStartup}, `s ended before its first answer`, `s ended before its first answer`},
		{diagnostics.Evidence{Server: "s", Stage: diagnostics.StageExec, Start: &diagnostics.Start{Step: diagnostics.StepExec, Errno: syscall.ENOENT}}, `s could not be started`, `s could not be started`},
	} {
		if d := diagnose.Failure(c.evidence); d.What != c.what || d.Brief() != c.brief {
			t.Errorf("%q and %q, want %q and %q", d.What, d.Brief(), c.what, c.brief)
		}
	}
	if got := (diagnostics.Tools{Server: "s", Accept: "a", Refused: true}).Diagnosis().Brief(); got != `the tools are not those that mcp-jail.lock pins, and pin_tools is "enforce"` {
		t.Errorf("%q", got)
	}
}

// host is a fake host: the set of its paths.
type host map[string]bool

func (h host) exists(path string) bool {
	dir, isDir := strings.CutSuffix(path, "/.")
	if h[path] || path == "/" || isDir && slices.Contains([]string{"/home/u/docs", "/home/u/work/.git/hooks", "/work/elsewhere"}, dir) {
		return true
	}
	path = dir
	for p := range h { // a directory of something that exists
		if strings.HasPrefix(p, path+"/") {
			return true
		}
	}
	return false
}

var someHost = host{
	"/home/u/notes/a.md": true, "/home/u/.ssh/id_rsa": true, "/home/u/work/out.txt": true, "/home/u/work/.git/hooks": true,
	"/home/u/work/.env": true, "/home/u/work/src/lib.rs": true, "/home/u/docs": true, "/home/u/it's here/b": true,
	"/home/u/.config/app/app.toml": true, "/data/notes/x.md": true, "/tmp/shared.sock": true, "/run/docker.sock": true,
	"/usr/bin/git": true, "/opt/tools/bin/rg": true, "/usr/bin/node": true, "/srv/models/m.bin": true, "/work/elsewhere": true,
	"/home/u/\"q\"\\b.txt": true, "/home/u/zażółć.txt": true, "/home/u/work/node_modules/.bin/tsc": true,
	"/home/u/work/env/pyvenv.cfg": true, "/home/u/work/env/bin/tool": true,
}

// fixture returns a profile as Resolve makes it: a writable workspace with a read-only
// tree in it, the baseline, two hosts and a secret.
func fixture(change func(*policy.Profile)) *policy.Profile {
	rw := policy.Read | policy.Write
	rx := policy.Read | policy.Execute
	p := &policy.Profile{
		Server: "github", Program: "/usr/bin/node", Argv: []string{"node", "server.js"}, Dir: "/home/u/work",
		Workspace: "/home/u/work", Home: "/home/u/.local/state/mcp-jail/homes/github", HomePrivate: true,
		Entries: []policy.Entry{
			{Path: "/home/u/.local/state/mcp-jail/homes/github", Kind: policy.KindDir, Rights: rw, Origin: policy.OriginHome},
			{Path: "/home/u/work", Kind: policy.KindDir, Rights: rw, Origin: policy.OriginRule, Named: "."},
			{Path: "/home/u/work/.env", Kind: policy.KindFile, Origin: policy.OriginSensitive},
			{Path: "/home/u/work/.git/hooks", Kind: policy.KindDir, Rights: policy.Read, Origin: policy.OriginProtected},
			{Path: "/home/u/work/src", Kind: policy.KindDir, Rights: policy.Read, Origin: policy.OriginRule},
			{Path: "/usr", Kind: policy.KindDir, Rights: rx, Origin: policy.OriginBaseline},
		},
		Unprotected: []string{"/home/u/work/.mcp.json"},
		Links:       []policy.Link{{Path: "/bin", Target: "usr/bin"}},
		Net: []policy.NetRule{
			{Host: "api.github.com", Scheme: "https", Allow: true},
			{Host: "*.githubusercontent.com", Allow: true},
		},
		Env: []policy.Variable{
			{Name: "GITHUB_TOKEN", Value: "ghp_0123456789abcdef", Secret: true},
			{Name: "PATH", Value: "/usr/bin:/bin"},
		},
		Withheld: []string{"AWS_REGION", "DEBUG", "FOO_TOKEN", "NODE_EXTRA_CA_CERTS", "SLACK_BOT_TOKEN"},
		Limits:   policy.DefaultLimits,
	}
	if change != nil {
		change(p)
	}
	slices.SortFunc(p.Entries, func(a, b policy.Entry) int { return strings.Compare(a.Path, b.Path) })
	return p
}

// evidence returns the evidence of a failed call with text under the fixture's profile.
func evidence(text string) diagnostics.Evidence {
	ev := diagnostics.Evidence{
		Stage: diagnostics.StageCall, Server: "github", Tool: "search", Method: "tools/call", Profile: fixture(nil), Text: text,
		UserHome: "/home/u", SearchPath: "/usr/bin:/bin:/opt/tools/bin",
	}
	host := diagnostest.Of(&ev)
	host.Exists, host.May = someHost.exists, someMay
	deciding(&ev, usualJudge())
	return ev
}

// deciding gives evidence a Decide for its profile, as that of a session decides where nothing is tried.
func deciding(ev *diagnostics.Evidence, reasons func(string, policy.Rights) []policy.Reason) {
	profile, perCall := ev.Profile, ev.Stateless
	diagnostest.Of(ev).Decide = func(wants ...change.Want) (all []change.Proposal) {
		for _, w := range wants {
			o, known := w.Object, change.ReasonsOf(w, perCall)
			switch rights := o.Fs.Rights(); {
			case rights != 0:
				at := path.Clean(strings.Replace(o.At(), "~", "/home/u", 1))
				gained := change.Gained(profile, at, rights)
				known = slices.Concat(known, change.ReasonsIn(profile, at, gained), reasons(at, gained))
			case o.Net.Host != "":
				known = append(known, resolve.ReasonsOfHost(&hostfs.Host{}, o.Net)...)
			case o.Env != "":
				known = append(known, policy.ReasonsOfVariable(o.Env)...)
			}
			all = append(all, change.Judge(w, known, nil))
		}
		return all
	}
}

// judge returns resolve.Reasons of a policy on a host. It remembers its answers.
func judge(p *policy.Policy, host hostfs.Host) func(string, policy.Rights) []policy.Reason {
	said := map[string][]policy.Reason{}
	return func(path string, rights policy.Rights) []policy.Reason {
		key := path + "\x00" + rights.String()
		if _, known := said[key]; !known {
			said[key] = resolve.Reasons(&host, p, path, rights)
		}
		return said[key]
	}
}

// usualJudge is the judge of the default policy on the fixture's host, which most rows share.
var usualJudge = sync.OnceValue(func() func(string, policy.Rights) []policy.Reason {
	return judge(&policy.Policy{}, fakeHost(hostFiles))
})

// wordsOf returns what mcp-jail grant would be given for what a diagnosis proposes.
func wordsOf(d diagnostics.Diagnosis) (words []string) {
	var objects []change.Object
	for _, p := range d.Proposals() {
		if p.IsOpen() {
			objects = append(objects, p.Object)
		}
	}
	for _, o := range change.Merge(objects) {
		words = append(words, o.Words()...)
	}
	return words
}

// blockText returns the text of a diagnosis in an answer.
func blockText(d diagnostics.Diagnosis) string {
	var block struct{ Text string }
	if err := json.Unmarshal(d.ResultBlock(), &block); err != nil {
		panic(err)
	}
	return block.Text
}

// told returns all that a diagnosis knows: its text, the other refusals, and what a grant would expose.
func told(d diagnostics.Diagnosis) string {
	text := d.Text()
	for i, h := range d.Hints {
		if i > 0 || d.Cause == "" {
			text += "also (" + string(h.Attribution) + "): " + h.Cause + "\n"
		}
		text += fixOf(h.Fix, h.Proposal)
	}
	return text
}

// advised returns what a diagnosis says that the user can do, with what that would expose.
func advised(d diagnostics.Diagnosis) string {
	if len(d.Hints) == 0 {
		return fixOf(d.Fix, d.Longer)
	}
	return fixOf(d.Fix, d.Hints[0].Proposal)
}

func fixOf(fix string, p change.Proposal) string {
	parts := []string{p.Refused(), fix}
	if p.IsOpen() {
		parts = append(parts, "grant "+strings.Join(p.Object.Words(), " "))
		if because := p.Because(show.InSentence(p.Object.Name())); because != "" {
			parts = append(parts, "careful: "+because)
		}
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "; ")
}

// someMay gives the user all rights, but that only programs can be started.
func someMay(path string, rights policy.Rights) bool {
	return !rights.Has(policy.Execute) || strings.Contains(path, "bin/") || strings.HasSuffix(path, "/out.txt")
}

// whyText returns a record as why prints it with --verbose.
func whyText(r diagnostics.Record) string {
	return r.Text(func(r diagnostics.Record) string { return show.Line(r.Server) }, true)
}

// defaultProfile makes the fixture one of the default policy.
func defaultProfile(p *policy.Profile) {
	p.Default, p.Net = true, nil
	p.Entries = slices.DeleteFunc(p.Entries, func(e policy.Entry) bool { return e.Path == "/home/u/work/src" })
}

// refusals returns denials of files, each given as "operation path", in the order of time.
func refusals(all ...string) (denials []policy.Denial) {
	for _, each := range all {
		operation, path, _ := strings.Cut(each, " ")
		denials = append(denials, policy.Denial{Axis: policy.AxisFs, Operation: operation, Target: path, Program: "/usr/bin/dash"})
	}
	return denials
}

func TestRecord(t *testing.T) {
	in := diagnostics.Record{
		Version: diagnostics.RecordVersion, Time: time.Date(2026, 1, 2, 3, 4, 5, 6, time.UTC), Server: "github", Tool: "search",
		Warnings: []string{"w"}, Waived: []string{"net: x"},
		Denials:   []policy.Denial{{Axis: policy.AxisFs, Operation: "open", Target: "/x", PID: 3, Program: "/usr/bin/node", Count: 1, Time: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}},
		Diagnoses: []diagnostics.Diagnosis{bootFailure()},
	}
	data, err := in.Encode()
	testkit.Must(t, err)
	out, err := diagnostics.DecodeRecord(data)
	testkit.Must(t, err)
	for _, p := range in.Diagnoses[0].Proposals() {
		*p = change.Proposal{Want: p.Want} // who reads it decides anew
	}
	if !reflect.DeepEqual(in, out) {
		t.Errorf("decode(encode)\n got %+v\nwant %+v", out, in)
	}
	for _, bad := range []string{"", "{}", `{"version":1}`, `{"version":3}`, "[]"} {
		if _, err := diagnostics.DecodeRecord([]byte(bad)); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
	in.Denials = make([]policy.Denial, 5000)
	if data, _ = in.Encode(); len(data) > 1<<20 {
		t.Errorf("a record of %d bytes", len(data))
	}
	if w := whyText((diagnostics.Record{Server: "x"})); !strings.Contains(w, "Nothing was blocked") {
		t.Error(w)
	}
	if w := whyText((diagnostics.Record{Server: "x", Unfinished: true})); strings.Contains(w, "Nothing was blocked") || !strings.Contains(w, "still running") {
		t.Error(w)
	}
}

// TestNewerSession checks that the text of a record that is not of the last session
// begins with that fact, and that the stored record has no such member.
func TestNewerSession(t *testing.T) {
	r := diagnostics.Record{Server: "s", Newer: &diagnostics.LostRecord{Time: time.Now()}}
	if words := whyText(r); !strings.HasPrefix(words, "the session that began 20") || !strings.Contains(words, "\nThis is the session before it.\n\ns\n") ||
		!strings.Contains(words, " has no record yet: it is still running, or mcp-jail was killed or could not write it, or a session that began earlier ended later\n") {
		t.Errorf("%q", words)
	}
	r.Newer = nil
	if b, err := r.Encode(); err != nil || strings.Contains(string(b), "newer") || !strings.HasPrefix(whyText(r), "s\n") {
		t.Errorf("%s, %v", b, err)
	}
}
