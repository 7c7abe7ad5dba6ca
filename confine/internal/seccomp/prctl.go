package seccomp

// This file lists the options of prctl(2) that pass. Options are new calls under one number:
// PR_FUTEX_HASH takes 1 GiB of kernel memory for a process, which no limit of the jail counts.
// So an option that is not listed gets EINVAL, as from an older kernel, and programs do without.
// PR_SET_MM, which rewrites the command line that /proc shows, gets EPERM.

// processOptions are what runtimes, their libraries, and sandboxes within the jail ask for.
var processOptions = []uint32{
	1, 2, // PR_SET_PDEATHSIG, PR_GET_PDEATHSIG
	3, 4, // PR_GET_DUMPABLE, PR_SET_DUMPABLE
	7, 8, // PR_GET_KEEPCAPS, PR_SET_KEEPCAPS
	15, 16, // PR_SET_NAME, PR_GET_NAME
	21, 22, // PR_GET_SECCOMP, PR_SET_SECCOMP: no option for a listener
	23, 24, // PR_CAPBSET_READ, PR_CAPBSET_DROP
	27, 28, // PR_GET_SECUREBITS, PR_SET_SECUREBITS: locked
	29, 30, // PR_SET_TIMERSLACK, PR_GET_TIMERSLACK
	36, 37, // PR_SET_CHILD_SUBREAPER, PR_GET_CHILD_SUBREAPER
	38, 39, // PR_SET_NO_NEW_PRIVS, PR_GET_NO_NEW_PRIVS
	41, 42, // PR_SET_THP_DISABLE, PR_GET_THP_DISABLE
	47,     // PR_CAP_AMBIENT
	50, 51, // PR_SVE_SET_VL, PR_SVE_GET_VL: Java on arm64
	52, 53, // PR_GET_SPECULATION_CTRL, PR_SET_SPECULATION_CTRL
	55, 56, // PR_SET_TAGGED_ADDR_CTRL, PR_GET_TAGGED_ADDR_CTRL: malloc of glibc on arm64
	74, 75, 76, // PR_GET_, PR_SET_, PR_LOCK_SHADOW_STACK_STATUS: glibc on arm64
	0x41555856, // PR_GET_AUXV
	0x53564d41, // PR_SET_VMA: names of mappings
	0x59616d61, // PR_SET_PTRACER: crash handlers
}

// prctlRule decides prctl by its option. The kernel reads 32 bits of it.
func prctlRule() *Node {
	nodes := map[uint32]*Node{prSetMM: ErrnoNode(LinuxEPERM)}
	for _, o := range processOptions {
		nodes[o] = AllowNode
	}
	return search(Low(0), overlay([]segment{{0, ErrnoNode(linuxEINVAL)}}, nodes))
}
