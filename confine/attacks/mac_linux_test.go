package attacks

import (
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/confine/internal/plan"
	"github.com/mcp-jail/mcp-jail/confine/internal/plan/plantest"
	"github.com/mcp-jail/mcp-jail/confine/internal/seatbelt/seatbelttest"
	"github.com/mcp-jail/mcp-jail/confine/internal/selftest"
	"github.com/mcp-jail/mcp-jail/policy"
)

// A macAnswer says what an attack meets on macOS: tests of the self-test, operations of Seatbelt that no
// rule of a text lets through there, a gap of the platform, or words.
type macAnswer struct {
	tests  string
	closed string
	gap    string
	words  string
}

func (a macAnswer) String() string {
	var parts []string
	if a.tests != "" {
		parts = append(parts, "by self-test ("+strings.ReplaceAll(a.tests, " ", ", ")+")")
	}
	var why []string
	if a.closed != "" {
		why = append(why, "no rule lets `"+strings.ReplaceAll(a.closed, " ", "`, `")+"` through")
	}
	if a.words != "" {
		why = append(why, a.words)
	}
	if why != nil {
		parts = append(parts, "not yet run on a Mac: "+strings.Join(why, "; "))
	}
	if a.gap != "" {
		parts = append(parts, "gap: "+a.gap)
	}
	return strings.Join(parts, "; ")
}

func probed(tests string) macAnswer             { return macAnswer{tests: tests} }
func closed(operations string) macAnswer        { return macAnswer{closed: operations} }
func words(s string) macAnswer                  { return macAnswer{words: s} }
func (a macAnswer) but(gap string) macAnswer    { a.gap = gap; return a }
func (a macAnswer) also(words string) macAnswer { a.words = words; return a }

const (
	noProc     = "macOS has no /proc"
	noSuchCall = "macOS has no such call"
	forRoot    = "macOS lets only root do it"
	noPowers   = "macOS has no capabilities, and a server of root has the sandbox of any other"
	shows      = "what is not granted is hidden"
	byName     = "sockets and links that other programs make in a grant during the session"
	moved      = "protected names inside a directory that is moved to /home/u/work"
)

// onMac has the answer for each attack. A change of an attack is a reason to look at its answer.
var onMac = map[string]macAnswer{
	// Files that are not granted
	"read a file":                                         probed("R2"),
	"the same by the links of /proc":                      words(noProc),
	"read where the name only begins like a grant":        probed("F13"),
	"see whether a file is there":                         {gap: shows},
	"read what its extended attributes hold":              closed("file-read-xattr"),
	"enter or list a directory":                           probed("R2"),
	"make something":                                      probed("F2"),
	"change content":                                      probed("F2").also("what is not granted has the rules of what is read-only"),
	"remove or move":                                      closed("file-write-unlink"),
	"change mode, owner, times, attributes":               closed("file-write-mode file-write-owner file-write-times file-write-xattr"),
	"watch what happens to them":                          words("to be told of a file's changes, it must be opened").but(shows),
	"a hard link to one, made in the workspace":           probed("F7"),
	"a symlink in the workspace, there before the start":  probed("R4"),
	"a symlink made during the run":                       probed("R4"),
	"a directory that becomes a symlink while it is read": words("the kernel asks the sandbox for the path of what it has found"),
	"the descriptor of a directory that the host moves out of the grant, and from there upwards": words("the kernel asks the sandbox for the path at the time of each call"),
	"open by file handle, also a guessed one":                                                    words(forRoot),
	"have io_uring open it":                       words(noSuchCall),
	"start a program":                             probed("X1"),
	"the host's /tmp and /dev/shm":                closed("file-read-data file-write-data").also("/private/tmp is not granted, and there is no /dev/shm"),
	"passwords, identity and state of the system": closed("file-read-data").also("files of passwords are root's, and the names of users can be looked up"),

	// What is taken out of a grant
	"read keys, credentials, histories":                              probed("R2 K1"),
	"move, replace, remove, chmod them":                              probed("F2 F4"),
	"a .env at any depth: read, move, replace, link":                 probed("R2 F4 F7"),
	"a path without rights inside a granted one":                     probed("R2").but(shows),
	"write to a part that is read-only":                              probed("F2 K2"),
	"its mode, owner, times, attributes":                             probed("F2"),
	"move the parent of such a part away and make it anew":           probed("F4 K3"),
	"git's hooks and configuration: write, replace, swap .git":       probed("F3 F14 F15"),
	"files that editors, clients and CI run or believe":              probed("F3"),
	"start-up files of the user's shells, session, git and editors":  probed("F2"),
	"the same where they do not exist yet":                           probed("F3 F5").but(moved),
	"a socket under such a name":                                     words("a socket is made like a file, so it is refused"),
	"mcp-jail's own configuration, trust store and records":          probed("R2 F2"),
	"what other servers answered, in mcp-jail's cache":               probed("R2 F2"),
	"the private HOME of another server":                             probed("R2"),
	"the launcher itself, in a place that is granted to write":       probed("F2"),
	"start a program from a grant without execute":                   probed("X1"),
	"the same by the dynamic loader or from a copy in memory":        words("to map code of a file needs the right to execute it, which X3 of the self-test tells without consequence; a copy in memory can run"),
	"write to the programs of an executable part":                    probed("F2"),
	"a hidden file by its other, hard-linked name in the same grant": {gap: byName},

	// What a writable grant must not be turned into
	"a set-id program":                 probed("F11"),
	"a program with file capabilities": words(noPowers),
	"a file of another user":           words(forRoot),
	"a device node or a whiteout":      closed("file-mknod"),

	// Processes of the host
	"signal one, also by thread and by descriptor":                            probed("I1"),
	"see that it is there":                                                    words("its arguments and memory stay closed, and a number that is in use answers otherwise than one that is not"),
	"trace it":                                                                closed("mach-priv-task-port").also("a debugger needs a right of Apple's too"),
	"read or write its memory":                                                closed("mach-priv-task-port"),
	"its environment, descriptors, root and directory":                        probed("I1"),
	"compare it with oneself (kcmp)":                                          words(noSuchCall),
	"its limits, priority and processors":                                     words("macOS lets a program change the priority of the user's other processes, and no rule of a text is about it"),
	"the priority of all processes of the user":                               words("macOS lets a program lower the priority of the user's other processes, and no rule of a text is about it"),
	"what the kernel does to it (oom_score_adj, coredump_filter, timerslack)": words(noProc),
	"enter its namespaces":                                                    words("macOS has no namespaces"),
	"measure it (perf)":                                                       words(noSuchCall),

	// The jail's own init
	"signal it":                                             probed("I1"),
	"trace it, read or write its memory":                    closed("mach-priv-task-port"),
	"its descriptors: the spec, the status pipe":            words("there is no init, and the supervisor is outside of the sandbox"),
	"its root, directory, environment, program, namespaces": probed("I1"),
	"its limits, its priority":                              words("macOS lets a program lower the priority of the user's other processes, and no rule of a text is about it"),
	"which numbers its descriptors have":                    words("there is no init, and the supervisor is outside of the sandbox"),
	"on which processors its thread runs, and when":         words(noSuchCall),

	// Privileges
	"become another user":                                 words(forRoot),
	"get a capability back":                               words(noPowers),
	"run a set-id program, or one with file capabilities": words("the kernel starts no set-id program in a sandbox that does not say so"),
	"change the host's name or clock":                     words(forRoot),
	"raise one's own limits":                              words(forRoot),

	// What was left open
	"a directory outside, an open socket, the user's terminal: inherited descriptors": words("mcp-jail closes them before the server starts, which tests show on Linux"),
	"the descriptors on which the spec came and the status goes":                      words("mcp-jail closes them before the server starts, which tests show on Linux"),
	"a token in the environment of the launcher":                                      words("the environment is made anew by the same code as on Linux"),

	// What belongs to a user, not to a path
	"shared memory of System V and POSIX":                           closed("ipc-sysv-shm ipc-posix-shm-write-create"),
	"semaphores and message queues of System V, queues of POSIX":    closed("ipc-sysv-sem ipc-sysv-msg").also("semaphores of POSIX with a name are those of all the user's programs"),
	"a queue of POSIX of one's own, which is counted as the user's": words(noSuchCall),
	"the user's keys":                                  probed("I2"),
	"type into a terminal":                             closed("pseudo-tty").also("the server's session has no terminal"),
	"the user's terminals by name":                     words("no rule grants a terminal's name in /dev").but(shows),
	"paste from the console, change a line discipline": words(noSuchCall),

	// Namespaces, mounts and roots
	"a new namespace by unshare": words("macOS has no namespaces"),
	"by clone":                   words("macOS has no namespaces"),
	"by clone3, which no filter can look into": words("macOS has no namespaces"),
	"enter another (setns)":                    words("macOS has no namespaces"),
	"mount":                                    closed("file-mount"),
	"mount by the newer calls":                 words(noSuchCall),
	"make a read-only mount writable, a mount without devices one with": closed("file-mount-update"),
	"unmount what hides something":                                      closed("file-unmount").also("nothing is hidden by a mount"),
	"another root: chroot and climb, pivot_root":                        closed("file-chroot"),
	"list mounts and namespaces past /proc":                             words("the list of mounts can be read"),
	"a jail in the jail":                                                words("a program in a sandbox cannot apply another one"),

	// /proc and /sys
	"have the host's kernel start a program":                       words(noProc),
	"change the host's settings":                                   closed("system-set-time").also("two settings of the own process alone can be written"),
	"restart or crash it, meddle with its processors":              closed("system-reboot"),
	"read the kernel's memory, log, keys and timers":               words(noProc),
	"sysfs, debugfs, tracefs, cgroups, EFI":                        closed("nvram-get iokit-open"),
	"devices: disks, memory, kvm, fuse, loop, tun, console, input": closed("iokit-open file-write-data"),

	// System calls that reach past every path
	"io_uring, whose requests no filter sees":                                    words(noSuchCall),
	"asynchronous input and output, of whose contexts a host has so many":        words("aio works on descriptors that are open already, and its limits are those of all programs of the user"),
	"a lease on a file that may only be read, for which the host's writers wait": words(noSuchCall),
	"huge pages, which no limit of memory counts":                                words(noSuchCall),
	"eBPF and perf":                                                                words(noSuchCall),
	"userfaultfd":                                                                  words(noSuchCall),
	"a seccomp listener of one's own":                                              words(noSuchCall),
	"openat2, whose mode no filter sees":                                           words(noSuchCall),
	"rewrite what /proc shows as one's command line":                               words("a program can rewrite its own arguments, which only deceives those who list processes"),
	"others' memory by advice (process_madvise)":                                   words(noSuchCall),
	"others' descriptors (pidfd_getfd)":                                            words(noSuchCall),
	"calls that are out of use":                                                    words(noSuchCall),
	"file-change notification for a whole filesystem":                              words("a client of the service of file events (fseventsd) needs its name, and no rule grants it"),
	"code on a socket, which takes room that all users share":                      words(noSuchCall),
	"messages that keep the pages that are sent":                                   words(noSuchCall),
	"flow labels and options of packets, which are counted for the whole host":     words(noSuchCall),
	"a table of futexes, kernel memory that no limit counts":                       words(noSuchCall),
	"snapshots of btrfs, with what is hidden in them":                              words("snapshots of APFS are for root"),
	"keys of an encrypted directory (fscrypt), and flags of files and filesystems": probed("F2").also("flags of files are refused like modes, and keys of directories do not exist"),
	"kernel modules, another kernel, restart":                                      closed("system-kext-load system-reboot"),
	"swap, accounting, quotas":                                                     closed("system-swap system-acct"),
	"the kernel's log":                                                             words(forRoot),
	"ports of the machine, segments of the processor":                              words(noSuchCall),
	"personality: no address randomisation, the lowest page":                       words("a program can start another one without address randomisation: it is its own memory alone"),
	"a program of 32 bits, whose calls have other numbers":                         words("macOS starts no program of 32 bits"),
	"a core dump, which the host's kernel may pipe into a program":                 words("the limit of core files is 0, and reports of crashes are the system's"),
	"TIOCSTI, TIOCLINUX, TIOCSETD on any descriptor":                               words("the server's session has no terminal"),

	// Network
	"a service on the host's loopback: 127.0.0.1, ::1, 0.0.0.0, ::, v4-mapped": probed("N1 N2"),
	"the local network":                             probed("N1 N2"),
	"a cloud's metadata service, 169.254.169.254":   probed("N1 N2"),
	"an address of the Internet, v4 and v6":         probed("N1 N2").but(trust),
	"UDP to the loopback":                           probed("N1 N2"),
	"DNS, to any resolver":                          probed("N1 N4"),
	"QUIC":                                          probed("N1 N2"),
	"TCP Fast Open, which connects without connect": words("no socket of the internet can be made"),
	"MPTCP":                     words("no socket of the internet can be made"),
	"SCTP, DCCP, UDP-Lite, SMC": words(noSuchCall),
	"ICMP and raw IP":           words("no socket of the internet can be made"),
	"packet sockets":            words("devices of packets (bpf) are for root, and no rule grants them"),
	"vsock, to the hypervisor":  words("no rule for `system-socket` is about this family"),
	"netlink, every kind but the one that lists interfaces": words(noSuchCall),
	"every other family of sockets":                         words("no rule for `system-socket` is about these families, but for messages of the kernel (AF_SYSTEM), which libraries of the system need"),
	"see the host's interfaces, addresses and connections":  words("no rule for `sysctl-read` is about the network"),
	"administer the network":                                words(forRoot),
	"talk to oneself over 127.0.0.1":                        probed("N1").also("stricter than on Linux"),
	"ask for the interfaces (NETLINK_ROUTE)":                words(noSuchCall),

	// UNIX sockets of the host
	"by path":                                 probed("N4"),
	"by a link in the workspace":              probed("N4"),
	"by abstract name":                        words("macOS has no such names"),
	"one that lies in a granted directory":    words("a socket that is there at the start is taken out of the grant"),
	"take a descriptor over one (SCM_RIGHTS)": probed("N4"),
	"one that a process of the host makes in a granted directory after the start": {gap: byName},
}

// trust is the gap of every policy that grants a host.
const trust = "no data goes to other hosts by way of the system's own programs"

// withMac returns the text of a table with the column of macOS, which replaces one that is
// there.
func withMac(table string) string {
	var b strings.Builder
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) < 7 {
			b.WriteString(line)
			continue
		}
		last := " " + onMac[cell(line, 1)].String() + " "
		switch cell(line, 1) {
		case "attack":
			last = " macOS "
		case "---":
			last = "---"
		}
		b.WriteString(strings.Join(cells[:6], "|") + "|" + last + "|\n")
	}
	return b.String()
}

// TestAttacksOnMac tests that each attack has an answer, and that the tests, the operations and the gaps
// are those of the self-test, of a text and of a plan. A text grants a directory with all rights, hosts
// and ports.
func TestAttacksOnMac(t *testing.T) {
	tests := []string{"S1", "S4"}
	for _, test := range selftest.Table() {
		if !test.Info {
			tests = append(tests, test.ID)
		}
	}
	p := plantest.Profile()
	p.Entries[0].Rights = policy.AllRights
	p.Net, p.Inbound = []policy.NetRule{{Host: "api.example.org", Allow: true}}, []int{3000}
	made := plan.Compile(p, plantest.Mac(), plan.Watching{})
	var gaps []string
	for _, g := range made.Gaps {
		if g.Platform == policy.WaiveMacOS {
			gaps = append(gaps, g.What)
		}
	}
	rules := textOf(t, made)
	left := map[string]bool{}
	for what := range onMac {
		left[what] = true
	}
	for _, g := range allAttacks() {
		for _, a := range g.attacks {
			answer, ok := onMac[a.what]
			if !ok || answer == (macAnswer{}) {
				t.Errorf("%s: %s has no answer for macOS", g.title, a.what)
				continue
			}
			delete(left, a.what)
			for _, id := range strings.Fields(answer.tests) {
				if !slices.Contains(tests, id) {
					t.Errorf("%s: the self-test has no %s that holds anything", a.what, id)
				}
			}
			for _, op := range strings.Fields(answer.closed) {
				if seatbelttest.Allowed(rules, op, "/Users/u/elsewhere/x", "") || !strings.HasPrefix(op, "file-") && named(rules, op) {
					t.Errorf("%s: a text allows %s", a.what, op)
				}
			}
			if answer.gap != "" && !slices.Contains(gaps, answer.gap) {
				t.Errorf("%s: no plan has the gap %q", a.what, answer.gap)
			}
		}
	}
	for what := range left {
		t.Errorf("there is no attack %q", what)
	}
}

// named reports whether a rule allows an operation, about anything.
func named(rules []seatbelttest.Rule, op string) bool {
	return slices.ContainsFunc(rules, func(r seatbelttest.Rule) bool {
		return !r.Deny && slices.ContainsFunc(r.Ops, func(o string) bool {
			group, isGroup := strings.CutSuffix(o, "*")
			return o == op || isGroup && strings.HasPrefix(op, group)
		})
	})
}

// textOf returns the rules of a plan's text.
func textOf(t *testing.T, made *plan.Plan) []seatbelttest.Rule {
	t.Helper()
	text, err := made.SeatbeltText("/opt/mcp-jail")
	if err != nil {
		t.Fatal(err)
	}
	rules, err := seatbelttest.Read(text.Profile, text.Params)
	if err != nil {
		t.Fatal(err)
	}
	return rules
}
