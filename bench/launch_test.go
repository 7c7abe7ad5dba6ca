package main

import (
	"errors"
	"os"
	"os/exec"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine"
)

func TestMain(m *testing.M) {
	confine.ShimMain()
	os.Exit(m.Run())
}

// BenchmarkLaunch is the launcher alone, next to a bare spawn: true, from its
// start to its end. The shim is this test binary, whose own start is a part of
// it.
func BenchmarkLaunch(b *testing.B) {
	program, err := exec.LookPath("true")
	if err != nil {
		b.Skip(err)
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer null.Close()
	b.Setenv("XDG_STATE_HOME", b.TempDir())
	b.Setenv("XDG_CONFIG_HOME", b.TempDir())
	s := &site{workspace: b.TempDir(), stderr: null}
	b.Run("bare", func(b *testing.B) {
		for b.Loop() {
			if err := s.spawn(b.Context(), []string{program}); err != nil {
				b.Fatal(err)
			}
		}
	})
	profile, err := s.profile([]string{program})
	if err != nil {
		b.Fatal(err)
	}
	b.Run("jailed", func(b *testing.B) {
		for b.Loop() {
			err := runJailed(b.Context(), profile)
			if errors.Is(err, confine.ErrGaps) {
				b.Skip(err)
			}
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}
