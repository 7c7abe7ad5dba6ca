package plan

import (
	"encoding/binary"
	"fmt"
	"math/rand"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/features"
	"github.com/mcp-jail/mcp-jail/confine/internal/plan/plantest"
	"github.com/mcp-jail/mcp-jail/policy"
	"golang.org/x/net/bpf"
)

func recordProfile(n int) (*policy.Profile, features.Facts) {
	g := rand.New(rand.NewSource(int64(n)))
	p, f := plantest.Profile(), plantest.Kernel()
	if n == 0 {
		return p, f
	}
	one := func(k int) bool { return g.Intn(k) == 0 }
	f.LandlockABI = 1 + g.Intn(9)
	if one(6) {
		f.UID = 0
	}
	if one(2) {
		f.FullCopies = features.Available("")
	}
	if one(8) {
		f.Overlay = features.Unavailable("no overlay", "load it")
	} else {
		f.Overlay = features.Available("")
	}
	names := []string{"/", "/home/u", "/home/u/work", "/home/u/work/.env", "/home/u/work/.git", "/home/u/work/.git/hooks", "/home/u/work/a", "/home/u/work/a/b", "/home/u/notes", "/home/u/notes/db.sqlite", "/usr", "/usr/lib", "/etc/ssl", "/etc/hosts", "/srv/data", "/run/x.sock", "/tmp", "/opt/tool", "/var/lib/thing"}
	p.Entries = nil
	for _, name := range names {
		if name == "/" && !one(12) || name != "/usr" && one(2) {
			continue
		}
		e := policy.Entry{Path: name, Named: name, Rule: "path = " + name, Kind: policy.KindDir, Origin: policy.OriginRule, Rights: policy.Rights(g.Intn(int(policy.AllRights) + 1))}
		switch {
		case name == "/usr":
			e.Rights = policy.Read | policy.Execute
		case strings.Contains(name, ".env"):
			e.Kind, e.Rights, e.Origin = policy.KindFile, 0, policy.OriginSensitive
		case strings.Contains(name, ".sqlite") || name == "/etc/hosts":
			e.Kind = policy.KindFile
		case name == "/run/x.sock":
			e.Kind, e.Rights = policy.KindSpecial, policy.Read|policy.Update
		case name == "/home/u/work/.git/hooks":
			e.Origin, e.Rights = policy.OriginProtected, policy.Read
		case one(3):
			e.Rights = policy.AllRights
		}
		p.Entries = append(p.Entries, e)
	}
	if one(3) {
		p.Tool, p.Home, p.HomePrivate, p.Dir = "search", "/home/u/state/home", true, "/home/u/state/home"
		p.Entries = append(p.Entries, policy.Entry{Path: p.Home, Named: p.Home, Kind: policy.KindDir, Rights: policy.AllRights, Origin: policy.OriginHome, Rule: "the private HOME", Make: true, Ephemeral: true})
		if one(2) {
			p.HomeLinks = []policy.HomeLink{{Path: ".npmrc", Target: "/home/u/.npmrc"}}
		}
	} else if one(2) {
		p.Home, p.HomePrivate = "/home/u/state/home", true
		p.Entries = append(p.Entries, policy.Entry{Path: p.Home, Named: p.Home, Kind: policy.KindDir, Rights: policy.AllRights, Origin: policy.OriginHome, Rule: "the private HOME", Make: true})
	}
	slices.SortFunc(p.Entries, func(a, b policy.Entry) int { return strings.Compare(a.Path, b.Path) })
	if one(3) {
		p.Unprotected = []string{"/home/u/work/.mcp.json", "/home/u/work/.vscode"}
	}
	if one(3) {
		p.HiddenLater = []string{"/home/u/work/.env.local"}
	}
	if one(4) {
		p.GitDirs = []string{"/home/u/work/.git/modules/x"}
	}
	if one(5) {
		p.Folded = []policy.FoldedName{{Path: "/home/u/work/.env"}}
	}
	p.LinksAstray = one(4)
	if one(4) {
		p.Programs, p.CommandArgs, p.Commands = []string{"/usr/bin/git", "/usr/bin/node", "/usr/lib64/ld.so"}, []string{"git"}, aCommand
		p.Loaders = []string{"/usr/lib64/ld.so"}
	} else if one(4) {
		p.Programs = []string{"/usr/bin/node"}
	}
	if one(2) {
		p.Net = []policy.NetRule{{Host: "api.example.org", Allow: true}, {Host: "bad.example.org"}}
		if one(2) {
			p.Net = append(p.Net, policy.NetRule{Host: "*.example.net", Port: 8443, Allow: true, Scheme: "https", Methods: []string{"GET"}})
			if one(2) {
				f.TLSProgram, f.Bundles = features.Available("/usr/bin/mcp-jail-tls"), []string{"/etc/ssl/certs/ca-certificates.crt"}
			}
		}
	}
	if one(4) {
		p.Inbound = []int{3000, 8080}
	}
	if one(6) {
		f.SeccompNotify = features.Unavailable("left out", "")
	}
	if one(8) {
		f.Traces = features.Unavailable("a filter refuses it", "allow ptrace")
	}
	if one(8) {
		f.PtraceScope = features.Unavailable("the scope is 3", "set it to 2")
	}
	if one(10) {
		f.FreshProc = features.Unavailable("masked", "unmask")
	}
	return p, f
}

func recordFilter(b *strings.Builder, what string, records []byte) {
	fmt.Fprintf(b, "%s: %d records\n", what, len(records)/8)
	for i := 0; i+8 <= len(records); i += 8 {
		r := bpf.RawInstruction{Op: binary.NativeEndian.Uint16(records[i:]), Jt: records[i+2], Jf: records[i+3], K: binary.NativeEndian.Uint32(records[i+4:])}
		fmt.Fprintf(b, "  %3d %v\n", i/8, r.Disassemble())
	}
}

func recordPlan(p *Plan) string {
	var b strings.Builder
	recordFilter(&b, "seccomp", p.Spec.Seccomp)
	recordFilter(&b, "listener", p.Spec.ListenerFilter)
	recordFilter(&b, "packets", p.Spec.Network.Refused)
	o := *p
	o.Spec.Seccomp, o.Spec.ListenerFilter, o.Spec.Network.Refused = nil, nil, nil
	var all func(name string, v reflect.Value)
	all = func(name string, v reflect.Value) {
		for i := range v.NumField() {
			f, field := v.Field(i), v.Type().Field(i)
			switch at := name + "." + field.Name; {
			case at == ".Spec" || at == ".Profile" || at == ".Spec.Profile":
				if f.Kind() == reflect.Pointer {
					f = f.Elem()
				}
				all(at, f)
			case f.Kind() == reflect.Slice && f.Type().Elem().Kind() == reflect.Struct:
				fmt.Fprintf(&b, "%s: %d\n", at, f.Len())
				for j := range f.Len() {
					fmt.Fprintf(&b, "  %+v\n", f.Index(j))
				}
			default:
				fmt.Fprintf(&b, "%s: %+v\n", at, f)
			}
		}
	}
	all("", reflect.ValueOf(o))
	return b.String()
}

// TestRecord writes the plans and filters of 60 profiles in three kinds of jail, and as they are with refused reads on record.
func TestRecord(t *testing.T) {
	file := os.Getenv("MCPJAIL_RECORD")
	if file == "" {
		t.Skip("no MCPJAIL_RECORD")
	}
	var b strings.Builder
	for n := range 60 {
		for _, kind := range []string{"namespaces", "none", "undo"} {
			for _, w := range recordWatching {
				p, f := recordProfile(n)
				switch kind {
				case "none":
					refuseNamespaces(&f)
				case "undo":
					p.Undo = policy.Undo{Mode: policy.UndoCall, FileMB: 8, TotalMB: 5000, Days: 1}
				}
				plan := Compile(p, f, w)
				fmt.Fprintf(&b, "=== profile %d, %s, %s\n%s", n, kind, recordWord(w), recordPlan(plan))
			}
		}
	}
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
}
