package confine

import "golang.org/x/net/bpf"

// schedulingCalls take a thread by its number. Programs set their own threads'
// scheduling that way, so the filter lets them, and the init's threads, which
// belong to the same user, need a guard of their own.
var schedulingCalls = []string{"sched_setscheduler", "sched_setparam", "sched_setattr", "sched_setaffinity"}

// compileGuard is a filter that refuses to change how the threads with the
// numbers 1 to last are scheduled. Everything else passes it. It stands beside the
// filter of the plan, because last is known inside the jail only.
func compileGuard(arch Arch, last uint32) ([]bpf.RawInstruction, error) {
	thread := low(0)
	guard := whenEqual(thread, 0, allow, &filterNode{
		word: &thread, op: bpf.JumpGreaterThan, k: last, yes: allow, no: errnoNode(linuxEPERM),
	})
	var numbers []uint32
	for _, call := range schedulingCalls {
		if nr, ok := callNumber(arch, call); ok {
			numbers = append(numbers, nr)
		}
	}
	root := whenEqual(filterWord{dataArch, allBits}, arch.audit(), whenOneOf(filterWord{dataNr, allBits}, numbers, guard, allow), allow)
	return bpf.Assemble(emitFilter(root, nil))
}
