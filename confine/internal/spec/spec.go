// Package spec defines what the launcher and the processes of a jail tell each other.
//
// [Spec] is a compiled plan. The launcher builds a jail with namespaces by it, through a stub
// (package jail), and encodes it for the supervisor process. That process decodes it, and mediates
// calls and samples limits by it. In a jail with host namespaces it also builds the jail by it.
// [Event] is a message in the other direction: the start, a refusal, a limit that was reached, the
// exit. [BrokerRequest] is a message of the supervisor of a jail with host namespaces about a
// socket of the server. The package also numbers the descriptors that these processes inherit.
//
// # Limits
//
// The encoding has no compatibility between versions: both ends are the same binary, and a
// magic string refuses anything else. The package checks that a message is well formed. It
// does not check what a Spec says; package plan decides that.
package spec

import (
	"slices"

	"github.com/mcp-jail/mcp-jail/confine/internal/landlock"
	"github.com/mcp-jail/mcp-jail/policy"
)

// Spec is a compiled plan: steps to carry out, without decisions. The launcher carries it out
// with namespaces, the supervisor process without. A supervisor also mediates calls and samples
// limits by it. The encoding is flat and uses no reflection, because each supervisor process
// decodes a Spec when it starts.
type Spec struct {
	HostNS    bool // the jail has no namespaces, so no mounts and no private directories
	HostPID   int  // of the launcher, for the self-test
	Mounts    []Mount
	Links     []policy.Link
	Files     []MadeFile
	Devices   []string
	FreshProc bool
	HostNames bool // HostNS: the server uses the host's network without limits
	Network   Network

	Landlock landlock.Ruleset
	Seccomp  []byte // struct sock_filter records
	// ListenerFilter is a second filter, for the server alone. It passes calls to the supervisor by
	// user notification (seccomp_unotify(2)). Empty: no call is mediated.
	ListenerFilter []byte
	// Profile is the part of the profile by which the supervisor decides: Entries (with Path,
	// Kind, Rights and Origin, and with the private directories), Unprotected, Hidden, GitDirs
	// and Programs. CommandArgs, Commands and OwnPrograms are set if each start of a program is
	// traced. Its other fields are empty.
	Profile     policy.Profile
	WorkerRules landlock.Ruleset // of the supervisor's workers, if it differs from Landlock

	// Once: each start of a program after the server's own is refused.
	Once bool

	// Keep tells the supervisor to keep the state before each change of the server, for package
	// undo. The supervisor then gets two descriptors with the spec.
	Keep Keep

	Limits       policy.Limits
	SampleMemory bool     // no cgroup holds Limits.MemoryMB, so the supervisor samples memory
	PidMax       bool     // limit processes by the PID namespace's pid_max (for root)
	Inotify      Inotify  // zero: not limited
	Shared       int      // the host's shared memory before the server started; 0: unknown
	MustFail     []string // directories of the host that the self-test tries to list

	Program string
	Argv    []string
	Env     []string
	Dir     string
	TempDir string // HostNS: the directory for TMPDIR; the supervisor makes it and removes it at the end
	Home    string // HostNS: a directory in TempDir for HOME; "": HOME stays
	// HomeCopy is the directory of which Home is made a copy, where that is possible without copying
	// its files (clonefile). Links are then made only where the copy has no such name. "": Home is empty.
	HomeCopy string

	Umask int // macOS: the program's; UnknownUmask: that of the launcher
}

// Keep says whether the supervisor keeps the state before the server's changes, and how much of it.
type Keep struct {
	On      bool
	PerCall bool // the state is kept anew for each call
	TotalMB int
}

// HostRoot reports whether the jail's root is the host's, because "/" is granted.
func (o *Spec) HostRoot() bool {
	if o.HostNS {
		return slices.ContainsFunc(o.Landlock.Rules, func(r landlock.Rule) bool { return r.Path == "/" })
	}
	return len(o.Mounts) > 0 && o.Mounts[0].Path == "/"
}

// Inotify holds the limits of inotify(7), "/proc interfaces".
type Inotify struct{ Instances, Watches int }

// MadeFile is a file that the jail gets instead of the host's.
type MadeFile struct {
	Path, Content string
	Over          bool // it lies in a granted directory, so it is mounted over the host's file
}

// The policy keys of the limits that the jail itself sees exceeded.
const (
	KeyMemory    = "memory_mb"
	KeyProcesses = "processes"
)

// SupervisorThreads is how many threads the limits of processes allow for the supervisor.
const SupervisorThreads = 20

// OtherTasks is how many tasks of a jail with namespaces are neither the supervisor's nor the server's: the
// init, and the parent of the server.
const OtherTasks = 2

// UnknownUmask stands for the umask of a caller once any process of the jail has called
// umask(2). The supervisor then reads the caller's umask from /proc. For jail.Restrictor.Umask it
// stands for the umask with which the stub was started.
const UnknownUmask = -1

// Network says which sockets the jail opens and passes to the launcher.
//
// A jail with namespaces has an empty network namespace, where every address is local. So a lookup,
// and a connection that would leave the jail, arrives at a socket that the stub opened in the
// namespace and passed to the launcher. A Gateway in the launcher decides about it (package egress).
// The jail keeps no end of these sockets. Without granted hosts there are no Ports: the kernel refuses
// each connection, and the gateway answers that no name exists.
type Network struct {
	Brokered bool     // hosts are granted, without namespaces: the supervisor makes the server's sockets and asks the launcher
	Inbound  bool     // ports of the host lead into the jail
	Ports    []uint16 // the TCP ports to listen on, besides DNS
	Refused  []byte   // the BPF filter of the packet socket, struct sock_filter records
}

// Relays reports whether connections may leave the jail or enter it.
func (n *Network) Relays() bool { return n.Brokered || n.Inbound || len(n.Ports) > 0 }

// The kinds of the sockets that the jail passes to the launcher: one byte for each, in the
// data of the message that carries the descriptors.
const (
	SocketDNS     = 'd' // UDP, [::]:53
	SocketDNSTCP  = 'D' // TCP, [::]:53
	SocketTCP     = 't' // a listener on one of Ports
	SocketPackets = 'r' // the packet socket, which sees refused packets
	SocketInbound = 's' // an unconnected TCP socket, for one connection into the jail
	SocketBroker  = 'a' // a UNIX socket; each message on it is a BrokerRequest
	SocketsEnd    = '.' // without a descriptor: no more sockets follow
)

// MaxSockets is how many descriptors one message carries (SCM_MAX_FD).
const MaxSockets = 253

// GatewayPort is the port of DNS.
const GatewayPort = 53
