package diagnostics

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/internal/show"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/resolve"
)

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
func evidence(text string) Evidence {
	return Evidence{
		Stage: StageCall, Server: "github", Tool: "search", Method: "tools/call", Profile: fixture(nil), Text: text,
		UserHome: "/home/u", SearchPath: "/usr/bin:/bin:/opt/tools/bin", Exists: someHost.exists, May: someMay, Harm: judge(&policy.Policy{}, fakeHost(hostFiles)), HarmOfHost: func(r policy.NetRule) policy.Harm { return resolve.HarmOfHost(&hostfs.Host{}, r) },
	}
}

// judge returns Evidence.Harm of a policy on a host. It remembers its answers.
func judge(p *policy.Policy, host hostfs.Host) func(string, policy.Rights) policy.Harm {
	said := map[string]policy.Harm{}
	return func(path string, rights policy.Rights) policy.Harm {
		key := path + "\x00" + rights.String()
		if _, known := said[key]; !known {
			said[key] = resolve.HarmOf(&host, p, path, rights)
		}
		return said[key]
	}
}

// blockText returns the text of a diagnosis in an answer.
func blockText(d Diagnosis) string {
	var block struct{ Text string }
	if err := json.Unmarshal(d.ResultBlock(), &block); err != nil {
		panic(err)
	}
	return block.Text
}

// told returns all that a diagnosis knows: its text, the other refusals, and what a grant would expose.
func told(d Diagnosis) string {
	text := d.Text()
	for i, h := range d.Hints {
		if i > 0 || d.Cause == "" {
			text += "also (" + string(h.Attribution) + "): " + h.Cause + "\n"
		}
		text += fixOf(h.Fix, h)
	}
	return text
}

// advised returns what a diagnosis says that the user can do, with what that would expose.
func advised(d Diagnosis) string {
	if len(d.Hints) == 0 {
		return fixOf(d.Fix, Hint{Words: d.Words})
	}
	return fixOf(d.Fix, d.Hints[0])
}

func fixOf(fix string, h Hint) string {
	parts := []string{fix}
	if len(h.Words) > 0 {
		parts = append(parts, "grant "+strings.Join(h.Words, " "))
	}
	if h.Warning != "" {
		parts = append(parts, "careful: "+h.Warning)
	}
	return strings.TrimPrefix(strings.Join(parts, "; "), "; ")
}

// someMay gives the user all rights, but that only programs can be started.
func someMay(path string, rights policy.Rights) bool {
	return !rights.Has(policy.Execute) || strings.Contains(path, "bin/") || strings.HasSuffix(path, "/out.txt")
}

// whyText returns a record as why prints it with --verbose.
func whyText(r Record) string {
	return r.Text(func(r Record) string { return show.Line(r.Server) }, true)
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
