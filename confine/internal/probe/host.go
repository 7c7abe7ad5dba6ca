package probe

import (
	"github.com/mcp-jail/mcp-jail/confine/internal/cgroup"
	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
)

// facts are what compile must know of the kernel and of this process: the one
// door through which the host comes into a plan.
type Host struct {
	Features
	Supported bool // this operating system has a backend
	Machine   seccomp.Arch
	UID       int
	PID       int
	Devices   []string     // the device nodes that can be lent to a jail
	Inotify   spec.Inotify // what the kernel lets each user have; zero: not known
	// What only a jail without namespaces needs to know:
	KernelFiles []string // files of /proc that tell of the kernel and of no process
	HostNames   []string // where the host's names are looked up, canonical
	Resolver    []string // of these, what says whom to ask
	ReadsProc   bool     // processes can be found below /proc
	TracesOwn   Feature  // memory of one's own descendants can be read
	TempDir     string   // the name for the TMPDIR of one jail, which does not exist yet
	Cgroup      cgroup.Location
	Overlay     Feature  // the directory that the profile wants a copy of can have one
	TLSProgram  Feature  // somebody who ends TLS can be started; yes: the program
	Bundles     []string // files of the host with all authorities
	FullCopies  Feature  // where what it holds can be removed
}

// with is what holds for a host that was asked about user namespaces.
func (f Host) WithUserNS(userns Feature) Host {
	f.UserNamespaces = userns
	if userns.Answer == No {
		f.detectHostNS()
	}
	return f
}
