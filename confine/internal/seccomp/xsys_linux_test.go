package seccomp

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// xsysConstants returns the constants of golang.org/x/sys/unix for Linux on goarch.
func xsysConstants(t *testing.T, goarch string) map[string]uint64 {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "golang.org/x/sys").Output()
	if err != nil {
		testkit.Skip(t, "go", "the sources of golang.org/x/sys cannot be found: %v", err)
	}
	row := regexp.MustCompile(`(?m)^\s+([A-Za-z_]\w+)\s+= (0x[0-9a-f]+|\d+)$`)
	all := make(map[string]uint64)
	for _, name := range []string{"zerrors_linux", "zerrors_linux_" + goarch, "ztypes_linux", "ztypes_linux_" + goarch} {
		b, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(out)), "unix", name+".go"))
		if err != nil {
			testkit.Skip(t, "go", "the sources of golang.org/x/sys cannot be read: %v", err)
		}
		for _, m := range row.FindAllStringSubmatch(string(b), -1) {
			all[m[1]], _ = strconv.ParseUint(m[2], 0, 64)
		}
	}
	if len(all) < 3000 {
		t.Fatalf("only %d constants were read", len(all))
	}
	return all
}

// A family is a set of constants that the filter refuses, and why.
type family struct{ names, why string }

// familiesOf returns the families of a name.
func familiesOf(families []family, name string) (why []string) {
	for _, f := range families {
		if regexp.MustCompile("^(" + f.names + ")$").MatchString(name) {
			why = append(why, f.why)
		}
	}
	return why
}

// TestPrctlsAgainstXSys: each option of prctl in golang.org/x/sys/unix is either allowed or of one
// refused family.
func TestPrctlsAgainstXSys(t *testing.T) {
	families := []family{
		{`PR_SET_MM`, "rewrites what /proc shows of the process"},
		{`PR_FUTEX_HASH`, "takes kernel memory that no limit counts"},
		{`PR_[GS]ET_(UNALIGN|FPEMU|FPEXC|ENDIAN|FP_MODE|TIMING)|PR_MPX_\w+_MANAGEMENT|PR_PPC_[GS]ET_DEXCR|PR_RISCV_\w+`, "not of these machines, or removed"},
		{`PR_[GS]ET_TSC|PR_[GS]ET_MDWE|PR_SET_SYSCALL_USER_DISPATCH|PR_PAC_\w+|PR_SME_[GS]ET_VL|PR_[GS]ET_CFI|PR_RSEQ_SLICE_EXTENSION`, "no runtime needs it so far"},
		{`PR_TASK_PERF_EVENTS_\w+|PR_MCE_KILL(_GET)?|PR_[GS]ET_IO_FLUSHER|PR_SCHED_CORE|PR_[GS]ET_MEMORY_MERGE`, "of machines, storage and virtual machines"},
		{`PR_GET_TID_ADDRESS|PR_TIMER_CREATE_RESTORE_IDS`, "of programs that restore processes"},
	}
	// The other constants are values of an option.
	values := regexp.MustCompile(`^PR_(CAP_AMBIENT|CFI|ENDIAN|FPEMU|FP_EXC|FP_MODE|FUTEX_HASH|MCE_KILL|MDWE|MTE|PAC|PMLEN|PPC_DEXCR|RISCV_CTX|RISCV_SCOPE|RISCV_V_VSTATE|` +
		`RSEQ_SLICE_EXT|SCHED_CORE|SET_MM|SET_PTRACER|SET_VMA|SHADOW_STACK|SME|SPEC|SVE|SYS_DISPATCH|TAGGED_ADDR|THP_DISABLE|TIMER_CREATE_RESTORE_IDS|TIMING|TSC|UNALIGN)_`)
	options := regexp.MustCompile(`^PR_(SVE|SME)_[GS]ET_VL$|^PR_MCE_KILL_GET$|^PR_PAC_(RESET|[GS]ET_ENABLED)_KEYS$|^PR_RISCV_\w+_(CONTROL|CTX)$|^PR_RSEQ_SLICE_EXTENSION$`)
	for _, arch := range bothArchs {
		n, vm := 0, filterVM(t, arch, filterModes["supervised"])
		nr, _ := CallNumber(arch, "prctl")
		for name, value := range xsysConstants(t, arch.String()) {
			if !strings.HasPrefix(name, "PR_") || values.MatchString(name) && !options.MatchString(name) {
				continue
			}
			n++
			checkFamily(t, name, familiesOf(families, name), vm(seccompData(arch.audit(), nr, [6]uint64{value})))
		}
		if n < 60 {
			t.Errorf("%s: only %d options", arch, n)
		}
	}
}

// TestSocketOptionsAgainstXSys: each option of SOL_SOCKET in golang.org/x/sys/unix is either allowed or of one
// refused family.
func TestSocketOptionsAgainstXSys(t *testing.T) {
	families := []family{
		{`SO_(ATTACH|DETACH|LOCK|GET)_\w*(FILTER|BPF)`, "code, which takes room that all users share"},
		{`SO_ZEROCOPY|SO_RESERVE_MEM|SO_(SND|RCV)BUFFORCE|SO_BUF_LOCK|SO_DEVMEM_\w+`, "memory of the kernel"},
		{`SO_TXTIME|SO_MAX_PACING_RATE|SO_TIMESTAMPING\w*|SO_TIMESTAMP(NS)?_NEW|SO_(RCV|SND)TIMEO_NEW|SO_WIFI_STATUS|SO_SELECT_ERR_QUEUE`, "times of packets, and forms of 32-bit programs"},
		{`SO_DEBUG|SO_MARK|SO_RCVMARK|SO_RCVPRIORITY|SO_(PREFER_)?BUSY_POLL\w*|SO_INCOMING_CPU|SO_CNX_ADVICE|SO_TXREHASH|SO_NO_CHECK|SO_NOFCS`, "of routers and network cards"},
		{`SO_BSDCOMPAT|SO_SECURITY_\w+|SO_SNDLOWAT|SO_PEEK_OFF|SO_INQ`, "without effect, or no program needs it so far"},
		{`SO_TYPE|SO_ERROR|SO_PEER\w+|SO_ACCEPTCONN|SO_PROTOCOL|SO_DOMAIN|SO_BPF_EXTENSIONS|SO_MEMINFO|SO_INCOMING_NAPI_ID|SO_(NETNS_)?COOKIE`, "can only be read"},
	}
	other := regexp.MustCompile(`^SO_(EE|VM|ORIGINAL)`)
	for _, arch := range bothArchs {
		n, vm := 0, filterVM(t, arch, filterModes["supervised"])
		nr, _ := CallNumber(arch, "setsockopt")
		for name, value := range xsysConstants(t, arch.String()) {
			if !strings.HasPrefix(name, "SO_") || other.MatchString(name) {
				continue
			}
			n++
			checkFamily(t, name, familiesOf(families, name), vm(seccompData(arch.audit(), nr, [6]uint64{3, solSocket, value})))
		}
		if n < 60 {
			t.Errorf("%s: only %d options", arch, n)
		}
	}
}

// checkFamily checks that a constant is either allowed or of one family.
func checkFamily(t *testing.T, name string, why []string, verdict uint32) {
	t.Helper()
	switch allowed := verdict == VerdictAllow; {
	case allowed && len(why) > 0:
		t.Errorf("%s is allowed, though it should be refused: %q", name, why)
	case !allowed && len(why) != 1:
		t.Errorf("%s is refused (%#x), and its families are %q: judge it", name, verdict, why)
	}
}

// ioctlNames are names of commands that have no direction and size in their number.
var ioctlNames = regexp.MustCompile(`^(SIOC|TIOC[A-LN-Z]|TIOCM(GET|BI|SET|IWAIT)|TCGET|TCSET|TCSBRK|TCXONC|TCFLSH|FIO|FI[BCDGF][A-Z]+|HDIO_|LOOP_|KD[A-Z]|VT_[A-Z])`)

// isIoctl reports whether a constant is a command. MIPS encodes the direction in other bits, so
// the macros of ioctl.h give another number there. Both directions together have the same.
func isIoctl(name string, here, mips uint64) bool {
	if ioctlNames.MatchString(name) {
		return true
	}
	direction := map[uint64]uint64{0: 1, 1: 4, 2: 2, 3: 6}[here>>30]
	size := here >> 16 & 0x1fff
	return here>>32 == 0 && here>>8 != 0 && mips>>32 == 0 && mips>>29 == direction && mips&0xffff == here&0xffff && (here>>30 == 0) == (size == 0) && (here != mips || here>>30 == 3)
}

// TestIoctlsAgainstXSys: each command in golang.org/x/sys/unix is either allowed or of one refused
// family.
func TestIoctlsAgainstXSys(t *testing.T) {
	families := []family{
		{`FS_IOC_(ADD|REMOVE|GET|SET)_ENCRYPTION\w+|FS_IOC_(ENABLE|MEASURE|READ)_VERITY\w*`, "state of a whole filesystem, or keys of the user"},
		{`BLK\w+|HDIO_\w+|LOOP_\w+|DM_\w+|MEM\w+|MTDFILEMODE|ECCGET\w+|OTP\w+|UBI_\w+`, "disks"},
		{`TIOCSTI|TIOCLINUX|TIOCSETD|TIOCCONS|TIOCVHANGUP`, "types into a terminal, changes what its bytes mean, or takes it away"},
		{`TIOC[GS](SERIAL|SOFTCAR|RS485|ISO7816|LCKTRMIOS)|TIOCSER\w+|TIOCMIWAIT|TIOCGICOUNT|TC[GS]ETX[FW]?`, "serial lines"},
		{`SIOC(ADD|D|S[IHRM]|BOND|BR|KCM|RT|GMII|GHW|PROTO|GPPP|GETLINK|GETNODE)\w+|SIOC[GS]R?ARP|SIOCWANDEV`, "sets up interfaces and routes, or is of one protocol"},
		{`SIOCGIF(BR|ENCAP|MEM|PFLAGS|SLAVE|VLAN)|SIOCETHTOOL|SIOCGSKNS`, "drivers of interfaces, and their namespace"},
		{`EPIOC\w+`, "polling of drivers"},
		{`HIDIOC\w+|_HIDIOC\w+|IOCTL_MEI_\w+|IPMICTL\w+|GPIO_\w+|PTP_\w+|PPS_\w+|RTC_\w+|WDIOC_\w+|PPPIOC\w+|TUN\w+|IOCTL_VM_SOCKETS\w+`, "other devices"},
		{`RND(ADDENTROPY|ADDTOENTCNT|CLEARPOOL|GETPOOL|RESEEDCRNG|ZAPENTCNT)`, "the host's random numbers"},
		{`NS_GET_\w+|PIDFD_GET_\w+`, "namespaces and other processes"},
		{`PERF_EVENT_IOC_\w+`, "perf_event_open is refused"},
		{`SECCOMP_IOCTL_NOTIF_\w+`, "a listener cannot be made"},
	}
	notIoctls := regexp.MustCompile(`^(TIOCPKT_|LINUX_REBOOT_|MS_MGC_VAL|\w+_MAGIC$)`)
	mips := xsysConstants(t, "mips64le")
	for _, arch := range bothArchs {
		n, vm := 0, filterVM(t, arch, filterModes["namespaces"])
		nr, _ := CallNumber(arch, "ioctl")
		for name, value := range xsysConstants(t, arch.String()) {
			if !isIoctl(name, value, mips[name]) || notIoctls.MatchString(name) {
				continue
			}
			n++
			checkFamily(t, name, familiesOf(families, name), vm(seccompData(arch.audit(), nr, [6]uint64{0, value})))
		}
		if n < 300 {
			t.Errorf("%s: only %d commands", arch, n)
		}
	}
}
