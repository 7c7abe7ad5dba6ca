package kernel

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sys/windows"
)

// Detect asks the host what compiling a plan needs. It starts nothing. The caller adds the Proof.
func Detect() Facts {
	f := Facts{Features: Probe(), Supported: true, UID: os.Getuid(), PID: os.Getpid()}
	var random [8]byte
	rand.Read(random[:])
	f.TempDir = filepath.Join(os.TempDir(), fmt.Sprintf("mcp-jail-%x", random))
	return f
}

// Probe asks the host for its version.
func Probe() Features {
	f := probeForStart()
	v := windows.RtlGetVersion()
	f.Kernel = fmt.Sprintf("%d.%d.%d", v.MajorVersion, v.MinorVersion, v.BuildNumber)
	return f
}

// probeForStart names the system, and answers nothing else.
func probeForStart() Features { return Features{OS: runtime.GOOS, Arch: runtime.GOARCH} }

// UserNamespaces knows nothing here.
func UserNamespaces() Feature { return Feature{} }

func (*Facts) detectHostNS() {}
