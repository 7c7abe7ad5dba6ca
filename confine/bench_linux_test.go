package confine

import (
	"os/exec"
	"testing"
)

// BenchmarkLaunch is what a jail costs: true in one, against a bare spawn. The
// shim here is the test binary, which starts slower than mcp-jail itself.
func BenchmarkLaunch(b *testing.B) {
	needsJail(b)
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command("/usr/bin/true").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("jail", func(b *testing.B) {
		p := jailProfile(b)
		p.Program, p.Argv = "/usr/bin/true", []string{"true"}
		for b.Loop() {
			proc, err := Launcher{}.Start(b.Context(), p, Stdio{})
			if err != nil {
				b.Fatal(err)
			}
			if exit, err := proc.Wait(); err != nil || exit != (Exit{}) {
				b.Fatal(exit, err)
			}
		}
	})
}
