package resolve

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/config"
)

func brought(p *policy.Profile) string {
	var out []string
	for _, e := range p.Entries {
		if e.Origin == policy.OriginBaseline && e.Rule != BaselineRule {
			out = append(out, e.Path)
		}
	}
	return strings.Join(out, " ")
}

// TestFromCommandLineElsewhere checks that the command of a server given on the command line is
// relative to the user's working directory. Its arguments are relative to the server's working
// directory.
func TestFromCommandLineElsewhere(t *testing.T) {
	h := newFake(aSystem, "x /home/u/proj/node\nf /home/u/other/app/x.js\nf /home/u/proj/app/x.js")
	p, err := config.FromCommandLine(config.CommandLineOptions{Command: []string{"./node", "app/x.js"}, Workspace: "/home/u/other", Net: []string{"a"}})
	testkit.Must(t, err)
	out, _, err := Resolve(p, h.host())
	if err != nil || out.Program != "/home/u/proj/node" || brought(out) != "/home/u/other/app /home/u/proj/node" {
		t.Errorf("%v, %v", out, err)
	}
	// In a configuration both are relative to the workspace.
	p = &policy.Policy{Server: "s", Command: "./node", Workspace: "/home/u/other"}
	if _, _, err = Resolve(p, h.host()); err == nil || !strings.Contains(err.Error(), "that is /home/u/other/node") {
		t.Errorf("%v", err)
	}
}

// elfWith builds the head of an ELF file that names a loader.
func elfWith(loader string) []byte {
	b := make([]byte, 64+56)
	copy(b, "\x7fELF\x02\x01\x01")
	binary.LittleEndian.PutUint64(b[32:], 64)
	binary.LittleEndian.PutUint16(b[54:], 56)
	binary.LittleEndian.PutUint16(b[56:], 1)
	binary.LittleEndian.PutUint32(b[64:], 3)
	binary.LittleEndian.PutUint64(b[64+8:], uint64(len(b)))
	binary.LittleEndian.PutUint64(b[64+32:], uint64(len(loader)+1))
	return append(append(b, loader...), 0)
}

func TestLoaderIsAProgram(t *testing.T) {
	h := newFake(aSystem, "l /lib64 usr/lib64\nx /usr/lib64/ld.so")
	h["/usr/bin/server"] = fakeFile{mode: 0o755, text: string(elfWith("/lib64/ld.so"))}
	p, _ := mustResolve(t, h, aServer+"[servers.s.access.commands]\n")
	if got := strings.Join(p.Programs, " "); got != "/usr/bin/server /usr/lib64/ld.so" {
		t.Errorf("programs %s", got)
	}
	if got := strings.Join(p.Loaders, " "); got != "/usr/lib64/ld.so" {
		t.Errorf("loaders %s", got)
	}
	// A file gets no grant for a directory that it names as its loader.
	h["/home/u/proj/bad"] = fakeFile{mode: 0o755, text: string(elfWith("/home/u/notes"))}
	h.add("f /home/u/notes/plan")
	if bad, _ := mustResolve(t, h, strings.Replace(aServer, "server\"", "./bad\"", 1)); bad.RightsAt("/home/u/notes") != 0 {
		t.Errorf("a loader that is a directory: %s", bad.RightsAt("/home/u/notes"))
	}
	if !p.Allows(policy.OpExec, "/usr/bin/server") || p.Allows(policy.OpExec, "/usr/bin/node") {
		t.Error("a list of programs is not respected")
	}
	for _, head := range []string{elf, "\x7fELF\x02\x01" + strings.Repeat("\xff", 200), string(elfWith("relative")), string(elfWith("/lib64/ld.so"))[:100]} {
		h["/usr/bin/server"] = fakeFile{mode: 0o755, text: head}
		if p, _ := mustResolve(t, h, aServer+"[servers.s.access.commands]\n"); len(p.Loaders) > 0 {
			t.Errorf("%q: loaders %s", head, p.Loaders)
		}
	}
}
