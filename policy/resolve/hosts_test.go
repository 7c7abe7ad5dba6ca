package resolve

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/show"
	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
	"github.com/mcp-jail/mcp-jail/policy/policytest"
)

// TestProfilesOfHosts plays testdata/hosts/*.txt: hosts, policies, and what comes of them. Below a line that begins with a word
// of the following, those that begin with two spaces belong to it:
//
//	host linux|mac        a new host; lines of newFake with its files
//	with KEY VALUE...     a change of that host; none
//	file LINE             one file more, or another text of it
//	server WORD...        its line; none: "server", on a Mac /usr/bin/true
//	toml                  more of its table
//	tool NAME             its process of a tool; none
//	of SERVER             a process of another server of the configuration
//	rules PATH:RIGHTS...  a policy in the form of fsRules, without any the default policy, and paths
//	flags --read PATH...  the same of a command line
//	preset PATH...        the same of a preset that reads and writes there
//	workspace DIR         the workspace of what follows; none
//	beside DIR FILE PATH...
//	                      the same of a preset that writes in the directory of a file, with rules of the user that read
//	sensitive, guarded, shared, reasons RIGHTS, host-reasons, start
//	                      a question about each path; start: does a server that starts there get it as its workspace?
//
// An answer follows " = ". For a path below a policy, it is what a server may do there: r(ead), w(rite), c(reate),
// m(kdir), d(elete), e(xecute), move it a(way) and put another file o(ver) it.
func TestProfilesOfHosts(t *testing.T) {
	files, err := filepath.Glob("testdata/hosts/*.txt")
	testkit.Must(t, err)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			h := &hostPlayer{t: t}
			var out strings.Builder
			for line := range strings.Lines(testkit.ReadFile(t, file)) {
				if !strings.HasPrefix(line, "  = ") {
					out.WriteString(h.play(strings.TrimSuffix(line, "\n")))
				}
			}
			testkit.Golden(t, strings.TrimPrefix(file, "testdata/"), out.String())
		})
	}
}

type hostPlayer struct {
	t          *testing.T
	verb, rest string // the line in force
	files      fakeHost
	edits      []func(*hostfs.Host)
	base       string // the table of the server without a line of its own
	toml, tool string
	of         string
	workspace  string
	policy     *policy.Policy  // in force
	profile    *policy.Profile // of it, nil after an error
	host       hostfs.Host
	resolved   int
}

// play returns a line with its answers.
func (h *hostPlayer) play(line string) string {
	asked, _, _ := strings.Cut(line, " = ")
	below, isBelow := strings.CutPrefix(asked, "  ")
	switch {
	case line == "" || line[0] == '#' || h.verb == "toml" && isBelow:
		if isBelow {
			h.toml += strings.TrimPrefix(line, "  ") + "\n"
		}
		return line + "\n"
	case h.verb == "host" && isBelow:
		h.files.add(strings.TrimSpace(line))
		return line + "\n"
	case isBelow:
		return asked + " = " + cmp.Or(h.answer(below), "-") + "\n"
	}
	h.verb, h.rest, _ = strings.Cut(line, " ")
	return line + "\n" + h.begin(strings.Fields(h.rest))
}

// begin takes a line that begins with a verb, and returns the answers to it alone.
func (h *hostPlayer) begin(words []string) string {
	switch h.verb {
	case "host":
		*h = hostPlayer{t: h.t, verb: h.verb, rest: h.rest, files: newFake(aSystem), base: aServer, of: "s"}
		if h.rest == "mac" {
			h.files, h.base = newFake(aMac), "[servers.s]\ncommand = \"/usr/bin/true\"\n"
			h.edits = append(h.edits, func(at *hostfs.Host) { *at = h.files.mac() })
		}
		h.toml = h.base
	case "server":
		if h.toml = h.base; len(words) == 0 {
			break
		}
		for i := range words {
			words[i] = show.TOML(words[i])
		}
		h.toml = "[servers.s]\ncommand = " + words[0] + "\narguments = [" + strings.Join(words[1:], ", ") + "]\n"
	case "file":
		h.files.add(h.rest)
	case "with":
		h.with(words)
	case "tool":
		h.tool = h.rest
	case "of":
		h.of = h.rest
	case "rules":
		text := h.toml
		if len(words) > 0 {
			text += fsTables(words...)
		}
		c, err := config.Decode([]byte(text), "c.toml")
		if err != nil {
			return h.said(nil, err)
		}
		return h.resolve(c.Policy(h.of, h.tool))
	case "flags":
		o := config.CommandLineOptions{Command: []string{"/usr/bin/server"}, Name: "s", Dir: "/home/u/proj"}
		for i := 0; i+1 < len(words); i += 2 {
			list := map[string]*[]string{"--read": &o.Read, "--write": &o.Write, "--execute": &o.Execute, "--deny": &o.Deny, "--net": &o.Net}[words[i]]
			*list = append(*list, words[i+1])
		}
		return h.resolve(config.FromCommandLine(o))
	case "workspace":
		h.workspace = h.rest
	case "beside":
		rule := policy.FsRule{Path: words[0], Read: true, Create: true, Update: true, Delete: true, Where: "preset x: --db", Preset: true, Beside: words[1]}
		p := &policy.Policy{Server: "s", Command: "server", Workspace: h.workspace, Fs: []policy.FsRule{rule}, Limits: policy.DefaultLimits}
		for _, at := range words[2:] {
			p.Fs = append(p.Fs, policy.FsRule{Path: at, Read: true, Where: "c.toml:1"})
		}
		return h.resolve(p, nil)
	case "preset":
		p := &policy.Policy{Server: "s", Command: "server", Limits: policy.DefaultLimits}
		for _, at := range words {
			p.Fs = append(p.Fs, policy.FsRule{Path: at, Read: true, Update: true, Where: "preset x:1", Preset: true})
		}
		return h.resolve(p, nil)
	}
	return ""
}

// with changes the host.
func (h *hostPlayer) with(words []string) {
	if len(words) == 0 {
		h.edits = nil
		return
	}
	value := strings.Join(words[1:], " ")
	number := func(i int) (n int) {
		if len(words) > i {
			n, _ = strconv.Atoi(words[i])
		}
		return n
	}
	h.edits = append(h.edits, func(at *hostfs.Host) {
		lstat := at.Lstat
		switch words[0] {
		case "nothing-there":
			at.Lstat = func(string) (hostfs.FileInfo, error) { return hostfs.FileInfo{}, fs.ErrNotExist }
			at.ReadDir = func(string) ([]hostfs.DirEntry, error) { return nil, fs.ErrNotExist }
		case "dir":
			at.Dir = value
		case "home":
			at.Home = value
		case "state":
			at.StateDir = value
		case "data":
			at.DataDir = value
		case "exe":
			at.Executable = value
		case "uid":
			at.UID = number(1)
		case "env":
			at.Environ = append(at.Environ, value)
		case "places":
			at.Places = append(at.Places, value)
		case "config":
			at.Configs = append(at.Configs, value)
		case "folds": // it ignores case there
			at.Lstat = func(p string) (hostfs.FileInfo, error) {
				for real := range h.files {
					if policy.Within(real, value) && strings.EqualFold(real, p) {
						return lstat(real)
					}
				}
				return lstat(p)
			}
		case "composes": // it takes a letter with its accent in one for the same in two
			at.Lstat = func(p string) (hostfs.FileInfo, error) {
				return lstat(strings.ReplaceAll(p, "\u00e9", "e\u0301"))
			}
		case "pseudo":
			at.PseudoMounts = append(at.PseudoMounts, value)
		case "ancestor":
			at.Ancestors = func() []string { return []string{value} }
		case "unmapped":
			at.SelfUnmapped = true
		case "mount": // PATH PATH: the second is seen at the first, too
			at.Lstat = func(p string) (hostfs.FileInfo, error) {
				info, err := lstat(p)
				if rest, ok := strings.CutPrefix(p, words[1]); ok && err == nil {
					if of, found := lstat(words[2] + rest); found == nil {
						info.ID = of.ID
					}
				}
				return info, err
			}
		case "owner": // PATH UID GID MODE
			at.OwnGroup = func(gid int) bool { return gid == 1000 }
			at.Unmapped = func(uid int) bool { return uid == 65534 }
			at.Lstat = func(p string) (hostfs.FileInfo, error) {
				info, err := lstat(p)
				if p == words[1] && err == nil {
					info.UID, info.GID = number(2), number(3)
					if len(words) > 4 {
						mode, _ := strconv.ParseUint(words[4], 8, 32)
						info.Mode = info.Mode.Type() | fs.FileMode(mode&0o777)
						if mode&0o1000 != 0 {
							info.Mode |= fs.ModeSticky
						}
					}
				}
				return info, err
			}
		default:
			h.t.Fatalf("with %s is not known", words[0])
		}
	})
}

func (h *hostPlayer) make() hostfs.Host {
	at := h.files.host()
	for _, e := range h.edits {
		e(&at)
	}
	return at
}

func (h *hostPlayer) resolve(p *policy.Policy, err error) string {
	if h.profile = nil; err != nil {
		return h.said(nil, err)
	}
	h.host, h.policy = h.make(), p
	var asked map[string]int
	of := h.host
	if asked = map[string]int{}; h.verb == "rules" && len(h.edits) == 0 {
		of.Lstat = func(name string) (hostfs.FileInfo, error) {
			asked[name]++
			return h.host.Lstat(name)
		}
	}
	out, ws, err := Resolve(p, of)
	if len(asked) > 160+len(h.files) {
		h.t.Errorf("%s %s: %d questions", h.verb, h.rest, len(asked))
	}
	for name, times := range asked {
		if _, exists := h.files[path.Dir(name)]; times > 1 || !exists {
			h.t.Errorf("%s %s: %s is asked for %d times, its directory exists: %t", h.verb, h.rest, name, times, exists)
		}
	}
	if err == nil {
		checkProfile(h.t, out)
		h.profile = out
	}
	if h.resolved++; err == nil && len(ws) == 0 && h.resolved%4 != 0 && !testkit.Long() {
		return "" // a fourth of them is enough to see what CheckFiles alone says
	}
	_, early, errEarly := CheckFiles(p, h.host)
	for _, w := range early {
		if err == nil && !slices.Contains(ws, w) {
			h.t.Errorf("%s %s: CheckFiles alone warns: %s", h.verb, h.rest, w)
		}
	}
	if (errEarly != nil || h.verb == "beside") && fmt.Sprint(err) != fmt.Sprint(errEarly) {
		h.t.Errorf("%s %s: %v, and CheckFiles says %v", h.verb, h.rest, err, errEarly)
	}
	return h.said(ws, err)
}

func (h *hostPlayer) said(ws []policy.Warning, err error) (text string) {
	for _, w := range ws {
		text += "  = " + w.Code + ": " + w.String() + "\n"
	}
	if err != nil {
		text += "  = error: " + strings.ReplaceAll(err.Error(), "\n", "\n  = ") + "\n"
	}
	return text
}

// said returns reasons with their names.
func said(reasons []policy.Reason) string {
	var all []string
	for _, r := range reasons {
		all = append(all, strings.TrimSuffix(string(r.Kind)+" ("+strings.Join(r.Names, "; ")+")", " ()"))
	}
	return strings.Join(all, ", ")
}

// answer answers a line below the verb.
func (h *hostPlayer) answer(about string) string {
	at := h.make()
	secret := func(file string) []policy.NetRule {
		return []policy.NetRule{{Secrets: []policy.Secret{{Env: "T", File: file}}}}
	}
	none := &policy.Policy{
		Server: "s", Sensitive: []string{"~/vault", "keys/*.pem", "**/*.kdbx", `D:\Vault`, "~/Keys/*.key", "**/Secret.txt", `own\dir`},
		Net: secret("~/.config/gitlab-token"), Others: []*policy.Policy{{Net: secret("~/other-token")}}, Kept: []string{"~/kept-token", `E:\token`},
	}
	switch h.verb {
	case "sensitive":
		return Sensitive(&at, none, about)
	case "guarded":
		if read, write := Guarded(&at, about, false), Guarded(&at, about, true); read != write {
			return strings.TrimPrefix(read+"; ", "; ") + "with write " + write
		}
		return Guarded(&at, about, false)
	case "shared":
		return Shared(&at, &policy.Policy{}, about)
	case "reasons":
		rights := policy.Read
		switch h.rest {
		case "w":
			rights |= policy.Write
		case "x":
			rights = policy.Execute
		}
		return said(Reasons(&at, &policy.Policy{}, about, rights))
	case "host-reasons":
		return said(ReasonsOfHost(&at, policy.NetRule{Host: about, Allow: true}))
	case "start":
		return h.startsIn(about)
	}
	if h.profile == nil {
		return "no profile"
	}
	return h.fact(about)
}

// startsIn tells whether the default policy and a preset grant a directory, as the working directory and as the
// workspace, and a rule of the user for "." in it.
func (h *hostPlayer) startsIn(dir string) string {
	said := map[string]bool{}
	var first string
	for _, c := range []struct{ cwd, workspace, where string }{{dir, "", ""}, {dir, "", "preset x:1"}, {dir, "", "c.toml:3"}, {"/work", dir, ""}} {
		at := h.make()
		at.Dir = c.cwd
		p := &policy.Policy{Server: "s", Command: "server", Workspace: c.workspace, Default: c.where == "", Limits: policy.DefaultLimits, Sensitive: []string{"~/vault", "**/moved/vault"}}
		p.Fs = []policy.FsRule{policy.WorkspaceRule("write", policy.DefaultSource)}
		if c.where != "" {
			p.Fs = []policy.FsRule{{Path: ".", Read: true, Update: true, Where: c.where, Preset: strings.HasPrefix(c.where, "preset")}}
		}
		if h.rest == "mac" {
			p.Command = "/usr/bin/true"
		}
		out, ws, err := Resolve(p, at)
		text := fmt.Sprint(err)
		if err == nil {
			real, _ := hostfs.NewLinkResolver(&at).Resolve(dir)
			e, ok := out.Find(real.Path)
			text = fmt.Sprint(ok && e.Origin == policy.OriginRule && e.Rights != 0)
			for _, w := range ws {
				_, why, _ := strings.Cut(strings.ReplaceAll(w.Message, real.Path+", which ", "because "+real.Path+" "), "because "+real.Path+" ")
				why, _, _ = strings.Cut(why, ": it allows nothing")
				why, _, _ = strings.Cut(why, ". If it needs")
				text += " " + w.Code + ": " + why
			}
		}
		if first == "" {
			first = text
		}
		said[text] = true
	}
	if len(said) > 1 {
		return strings.Join(slices.Sorted(maps.Keys(said)), " | ")
	}
	return first
}

// fact tells something of the profile in force.
func (h *hostPlayer) fact(about string) string {
	p := h.profile
	switch about {
	case "program":
		return p.Program
	case "workspace":
		return p.Workspace
	case "dir":
		return p.Dir
	case "folded":
		return strings.Join(p.IgnoreCase, " ")
	case "astray":
		return fmt.Sprint(p.LinksAstray)
	case "unprotected":
		return strings.Join(p.Unprotected, " ")
	case "git":
		return fmt.Sprintf("%q", p.GitConfig)
	case "lists":
		return strings.Join(p.ListOnly, " ")
	case "profile":
		return strings.TrimSuffix(strings.ReplaceAll("\n"+printProfile(p), "\n", "\n  = "), "\n  = ")
	case "links":
		var all []string
		for _, l := range p.Links {
			all = append(all, l.Path+" -> "+l.Target)
		}
		return strings.Join(all, ", ")
	case "rules", "protected": // the entries of these
		var all []string
		for _, e := range p.Entries {
			if e.Origin == map[string]policy.Origin{"rules": policy.OriginRule, "protected": policy.OriginProtected}[about] {
				all = append(all, e.Path)
			}
		}
		return strings.Join(all, ", ")
	}
	if file, ok := strings.CutPrefix(about, "change "); ok {
		return WhyChangeable(ReachOf(h.policy, h.host), hostfs.NewLinkResolver(&h.host), file)
	}
	if file, ok := strings.CutPrefix(about, "writer "); ok {
		w, _ := p.Writer(file, policy.Write)
		return strings.TrimSpace(w.Name + " " + w.Rule)
	}
	if name, ok := strings.CutPrefix(about, "env "); ok {
		for _, v := range p.Env {
			if v.Name == name {
				return v.Value
			}
		}
		return "unset"
	}
	return h.may(about)
}

func (h *hostPlayer) may(file string) string {
	p := h.profile
	if rest, ok := strings.CutPrefix(file, "~"); ok {
		file = h.host.Home + rest
	}
	if !path.IsAbs(file) {
		file = path.Join(h.host.Dir, file)
	}
	beside := path.Join(path.Dir(file), "another-name")
	can := []byte("--------")
	for i, allowed := range []bool{
		p.Allows(policy.OpRead, file), p.Allows(policy.OpWrite, file), p.Allows(policy.OpCreate, file), p.Allows(policy.OpMkdir, file), p.Allows(policy.OpRemove, file), p.Allows(policy.OpExec, file),
		policytest.AllowsRename(p, file, beside), policytest.AllowsReplace(p, beside, file),
	} {
		if allowed {
			can[i] = "rwcmdeao"[i]
		}
	}
	return string(can)
}
