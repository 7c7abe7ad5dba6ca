package seccomp

import (
	"fmt"

	"golang.org/x/net/bpf"
)

// schedulingCalls take a thread by its number. Programs use them on their own threads, so
// the deny list allows them in a PID namespace. The init belongs to the same user and needs a
// guard.
var schedulingCalls = []string{"sched_setscheduler", "sched_setparam", "sched_setattr", "sched_setaffinity"}

// CompileServerGuard returns a filter for the server of a jail whose init is thread 1. It refuses what the
// init and the supervisor may do: to change the scheduling of the init, and to share a table of descriptors with
// another process (Options.Guarded). It allows everything else.
func CompileServerGuard(arch Arch) ([]bpf.RawInstruction, error) {
	number := Word{DataNr, AllBits}
	var numbers []uint32
	for _, call := range schedulingCalls {
		if nr, ok := CallNumber(arch, call); ok {
			numbers = append(numbers, nr)
		}
	}
	clone, ok := CallNumber(arch, "clone")
	if !ok {
		return nil, fmt.Errorf("seccomp: no number for the call %q", "clone")
	}
	tree := WhenOneOf(number, numbers, WhenEqual(Low(0), 1, ErrnoNode(LinuxEPERM), AllowNode), WhenEqual(number, clone, sharedTable(), AllowNode))
	return Assemble(WhenEqual(Word{dataArch, AllBits}, arch.audit(), tree, AllowNode))
}

// CompileSignalGuard returns a filter that refuses to signal one thread of a supervisor in
// the host's namespaces. That thread is in the server's Landlock domain, so that it can signal
// every process in the domain when the jail ends. Without the guard the processes in the domain
// could signal that thread too.
//
// A signal reaches a thread by its number, by a pidfd, or as the owner of a file. The guard
// refuses every call that sets an owner through a pointer.
func CompileSignalGuard(arch Arch, tid uint32) ([]bpf.RawInstruction, error) {
	const (
		setOwner, setOwnerEx = 8, 15          // F_SETOWN, F_SETOWN_EX
		fioSetOwn, siocSPGRP = 0x8901, 0x8902 // the same for a socket
	)
	eperm := ErrnoNode(LinuxEPERM)
	first, second := WhenEqual(Low(0), tid, eperm, AllowNode), WhenEqual(Low(1), tid, eperm, AllowNode)
	node := AllowNode
	for _, rule := range []rule{
		{"kill", first}, {"tkill", first}, {"tgkill", second},
		{"rt_sigqueueinfo", first}, {"rt_tgsigqueueinfo", second}, {"pidfd_open", first},
		{"fcntl", WhenEqual(Low(1), setOwner, WhenEqual(Low(2), tid, eperm, AllowNode), WhenEqual(Low(1), setOwnerEx, eperm, AllowNode))},
		{"ioctl", WhenOneOf(Low(1), []uint32{fioSetOwn, siocSPGRP}, eperm, AllowNode)},
	} {
		if nr, ok := CallNumber(arch, rule.call); ok {
			node = WhenEqual(Word{DataNr, AllBits}, nr, rule.node, node)
		}
	}
	return Assemble(WhenEqual(Word{dataArch, AllBits}, arch.audit(), node, AllowNode))
}
