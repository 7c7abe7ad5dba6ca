package seccomp

import (
	"golang.org/x/net/bpf"
)

// schedulingCalls take a thread by its number. Programs set their own threads'
// scheduling that way, so the filter lets them, and the init's threads, which
// belong to the same user, need a guard of their own.
var schedulingCalls = []string{"sched_setscheduler", "sched_setparam", "sched_setattr", "sched_setaffinity"}

// compileGuard is a filter that refuses to change how the threads with the
// numbers 1 to last are scheduled. Everything else passes it. It stands beside the
// filter of the plan, because last is known inside the jail only.
func CompileSchedulingGuard(arch Arch, last uint32) ([]bpf.RawInstruction, error) {
	thread := Low(0)
	guard := WhenEqual(thread, 0, AllowNode, whenGreater(thread, last, AllowNode, ErrnoNode(LinuxEPERM)))
	var numbers []uint32
	for _, call := range schedulingCalls {
		if nr, ok := CallNumber(arch, call); ok {
			numbers = append(numbers, nr)
		}
	}
	root := WhenEqual(Word{dataArch, AllBits}, arch.audit(), WhenOneOf(Word{DataNr, AllBits}, numbers, guard, AllowNode), AllowNode)
	return Assemble(root)
}

// compileSignalGuard is a filter that refuses to signal one thread of the init: the
// one that is in the server's Landlock domain, so that it alone reaches everybody in
// it at the end, and everybody in it would reach the init through that thread.
// A signal's way to a thread is its number, at once, in a pidfd, or as the owner of
// a file. Owners that stand in memory are refused altogether.
func CompileSignalGuard(arch Arch, tid uint32) ([]bpf.RawInstruction, error) {
	const (
		setOwner, setOwnerEx = 8, 15          // F_SETOWN, F_SETOWN_EX
		fioSetOwn, siocSPGRP = 0x8901, 0x8902 // the same of a socket
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
