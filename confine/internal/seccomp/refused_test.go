package seccomp

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"golang.org/x/net/bpf"
)

// listing prints the rules in readable form, and then the program.
func listing(t *testing.T, arch Arch, opts Options) string {
	var b strings.Builder
	fmt.Fprintf(&b, "machine %s %#x\n\nrules\n", arch, arch.audit())
	rules := rules(opts)
	slices.SortFunc(rules, func(x, y rule) int { return strings.Compare(x.call, y.call) })
	for _, r := range rules {
		if nr, ok := CallNumber(arch, r.call); ok {
			fmt.Fprintf(&b, "%4d %-18s %s\n", nr, r.call, nodeText(r.node))
		}
	}
	raw, err := Compile(arch, opts)
	testkit.Must(t, err)
	prog, _ := bpf.Disassemble(raw)
	fmt.Fprintf(&b, "\nprogram, %d instructions\n", len(prog))
	for i, ins := range prog {
		fmt.Fprintf(&b, "%4d %v\n", i, ins)
	}
	return b.String()
}

func nodeText(n *Node) string {
	if n.leaf() {
		switch {
		case n.Verdict == VerdictAllow:
			return "allow"
		case n.Verdict == verdictNotify:
			return "notify"
		}
		return map[uint32]string{
			LinuxEPERM: "EPERM", LinuxENOSYS: "ENOSYS", linuxEAFNOSUPPORT: "EAFNOSUPPORT",
			linuxEPROTONOSUPPORT: "EPROTONOSUPPORT", linuxEOPNOTSUPP: "EOPNOTSUPP",
			linuxENOTTY: "ENOTTY", linuxENOPROTOOPT: "ENOPROTOOPT", linuxEINVAL: "EINVAL", linuxENOMEM: "ENOMEM",
		}[n.Verdict&0xffff]
	}
	word := fmt.Sprintf("arg%d", (n.word.Off-dataArgs)/8)
	if n.word.Off%8 == 4 {
		word += ".high"
	}
	if n.word.Mask != AllBits {
		word += fmt.Sprintf("&%#x", n.word.Mask)
	}
	op := map[bpf.JumpTest]string{bpf.JumpBitsSet: "has any of", bpf.JumpEqual: "is", bpf.JumpGreaterOrEqual: "from", bpf.JumpGreaterThan: "above"}[n.op]
	return fmt.Sprintf("(%s %s %#x? %s: %s)", word, op, n.k, nodeText(n.yes), nodeText(n.no))
}

func TestRulesGolden(t *testing.T) {
	for _, arch := range bothArchs {
		for _, mode := range []string{"namespaces", "strict", "hostns", "hostns-net"} {
			testkit.Golden(t, fmt.Sprintf("seccomp_%s_%s.golden", mode, arch), listing(t, arch, filterModes[mode]))
		}
	}
}
