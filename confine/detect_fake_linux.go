//go:build seatbelt

package confine

import (
	"crypto/rand"
	"encoding/hex"
	"os"
	"strings"

	"github.com/mcp-jail/mcp-jail/confine/internal/features"
	"github.com/mcp-jail/mcp-jail/confine/internal/sandboxexec"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
)

// hostFacts returns the facts of a Mac whose self-test has passed. This file is in no release: the tag
// seatbelt lets the tests on Linux start servers by the code for macOS, and then nothing confines
// them.
func hostFacts() features.Facts {
	var b [4]byte
	rand.Read(b[:])
	f := features.Facts{Supported: true, UID: os.Getuid(), PID: os.Getpid()}
	f.OS, f.Arch = "darwin", "arm64"
	f.Seatbelt, f.Proof = features.Available("a program that stands for it"), features.Proof{Made: true}
	f.TempDir = sandboxexec.FakeTemp() + hex.EncodeToString(b[:])
	return f
}

// Canary makes every start try a canary that is named like this, which nothing refuses here.
var Canary string

// enforces reports whether a canary is tried: nothing refuses one here.
func enforces(k spec.Canary) bool { return k.Attempt == Canary }

// fakeVariables returns the variables that tell the program that stands for sandbox-exec what to do.
func fakeVariables() (vars []string) {
	for _, v := range os.Environ() {
		if strings.HasPrefix(v, sandboxexec.FakeEnv) {
			vars = append(vars, v)
		}
	}
	return vars
}
