package features

import (
	"github.com/mcp-jail/mcp-jail/confine/internal/cgroup"
	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
)

// Facts are the facts about the kernel, the host and this process that compiling a plan needs. A
// plan depends on the host only through them.
type Facts struct {
	Features
	Supported bool // this operating system has a backend
	Machine   seccomp.Arch
	UID       int
	PID       int
	Devices   []string     // the device nodes that can be lent to a jail
	Inotify   spec.Inotify // the kernel's limits for each user; zero: not known
	// The fields from KernelFiles to TempDir are set only for a jail with host namespaces.
	KernelFiles []string // files of /proc about the kernel, none about a process
	HostNames   []string // the canonical paths of /etc/hosts and /etc/resolv.conf
	Resolver    []string // of these, that of /etc/resolv.conf
	ReadsProc   bool     // processes can be found below /proc
	TracesOwn   Feature  // a process can read the memory of its descendants
	TempDir     string   // the name for the TMPDIR of one jail, which does not exist yet
	Traces      Feature  // ptrace can be called; PtraceScope and TracesOwn tell which processes it can trace
	Cgroup      cgroup.Location
	Overlay     Feature  // the private HOME of the profile can have an overlay
	TLSProgram  Feature  // mcp-jail-tls can be started; Detail is its path
	Bundles     []string // files of the host with certificate authorities
	FullCopies  Feature  // everything in an overlay can be removed
}

// WithUserNS returns the facts for a known answer about user namespaces.
func (f Facts) WithUserNS(userns Feature) Facts {
	f.UserNamespaces = userns
	if userns.Answer == No {
		f.detectHostNS()
	}
	return f
}
