package selftest

import "github.com/mcp-jail/mcp-jail/policy"

// A Test is some probes that show the same thing.
type Test struct {
	ID   string
	Axis policy.Axis // which does not hold if a probe fails
	// Fatal: no jail can be trusted, or none works, if a probe fails.
	Fatal bool
	// Form: if a probe fails, the other form of the text may still pass.
	Form bool
	// Info: a failure is shown, and has no consequence.
	Info   bool
	What   string // that does not hold if a probe fails
	Probes []Probe
}

// A Probe is one attempt. Names in braces in Args are replaced by what the runner has set up.
type Probe struct {
	Do   string // of package attempt
	Args []string
	// Want is the outcome inside the jail. Refused is any but attempt.Works.
	Want string
	// Control is the outcome outside of it.
	Control string
	Group   Group
	When    Condition
}

// Refused is a Want: any outcome but attempt.Works.
const Refused = "refused"

// A Group is the probes that one jail makes.
type Group string

// The groups.
const (
	Plain    Group = "plain"    // no hosts, all programs
	Hosts    Group = "hosts"    // a proxy
	NoFork   Group = "nofork"   // limits.processes = 1
	Programs Group = "programs" // a list of programs
	Inbound  Group = "inbound"  // the server may listen; and a proxy
)

// A Condition is what a probe needs to be one.
type Condition string

// The conditions.
const (
	Always Condition = ""
	Darwin Condition = "macOS"
	Folds  Condition = "a volume that ignores case"
)

const (
	works = "works"
	eperm = "EPERM"
)

func allowed(do string, args ...string) Probe {
	return Probe{Do: do, Args: args, Want: works, Control: works, Group: Plain}
}

func denied(do string, args ...string) Probe {
	return Probe{Do: do, Args: args, Want: eperm, Control: works, Group: Plain}
}

func (p Probe) in(g Group) Probe       { p.Group = g; return p }
func (p Probe) when(c Condition) Probe { p.When = c; return p }
func (p Probe) is(outcome string) Probe {
	p.Want, p.Control = outcome, outcome
	return p
}
func (p Probe) wants(outcome string) Probe { p.Want = outcome; return p }

// Table returns all tests but S1 and S4, which are about the start of a jail itself. Package
// documentation says what is left out, and why. Probes that move directories away come last in
// their group.
func Table() []Test {
	var all []Test
	for _, part := range [][]Test{starts, reading, writing, shapes, spelling, programs, network, processes} {
		all = append(all, part...)
	}
	return all
}

var starts = []Test{
	{ID: "S2", Axis: policy.AxisProcess, Fatal: true, What: "programs start in a jail", Probes: []Probe{
		allowed("exec", "/bin/sh", "-c", ":"),
		allowed("exec", "/usr/bin/true"),
	}},
	{ID: "S3", Axis: policy.AxisProcess, Fatal: true, What: "statuses and signals of programs come out of a jail", Probes: []Probe{
		allowed("exec", "/bin/sh", "-c", "exit 7").is("exit 7"),
		allowed("exec", "/bin/sh", "-c", "kill -TERM $$").is("signal SIGTERM"),
	}},
}

var reading = []Test{
	{ID: "R1", Axis: policy.AxisFs, Form: true, What: "what is granted for reading can be read", Probes: []Probe{
		allowed("read", "{t}/g/file"),
		allowed("list", "{t}/g"),
		allowed("read", "{t}/g/a/b/file"),
	}},
	{ID: "R2", Axis: policy.AxisFs, Form: true, What: "what is not granted cannot be read", Probes: []Probe{
		denied("read", "{t}/u/file"),
		denied("read", "{t}/g/hidden/file"),
		denied("read", "{t}/g/Secret.key"),
		denied("list", "{t}/g/hidden"),
		denied("list", "{t}/u"),
		denied("list", "{t}"),
	}},
	{ID: "R3", Axis: policy.AxisFs, Form: true, What: "a grant inside a refused directory holds", Probes: []Probe{
		allowed("read", "{t}/g/hidden/again/file"),
		allowed("list", "{t}/g/hidden/again"),
	}},
	{ID: "R4", Axis: policy.AxisFs, What: "a symbolic link gives no more than the file it leads to", Probes: []Probe{
		denied("read", "{t}/g/link"),
		denied("write", "{t}/w/link"),
		allowed("read", "{alias}/t/file"),
	}},
	{ID: "R5", Axis: policy.AxisFs, What: "the way to a granted directory can be found", Probes: []Probe{
		allowed("stat", "{t}"),
		allowed("readlink", "/tmp").when(Darwin),
		allowed("getcwd", "{t}/g/a"),
	}},
}

var writing = []Test{
	{ID: "F1", Axis: policy.AxisFs, Form: true, What: "files can be changed where all rights are granted", Probes: []Probe{
		allowed("append", "{t}/w/append"),
		allowed("truncate", "{t}/w/truncate"),
		allowed("create", "{t}/w/new"),
		allowed("mkdir", "{t}/w/newdir"),
		allowed("rename", "{t}/w/from", "{t}/w/to"),
		allowed("unlink", "{t}/w/unlink"),
		allowed("chmod", "{t}/w/chmod"),
	}},
	{ID: "F2", Axis: policy.AxisFs, What: "nothing can be changed where only reading is granted", Probes: []Probe{
		denied("write", "{t}/w/ro/write"),
		denied("append", "{t}/w/ro/append"),
		denied("truncate", "{t}/w/ro/truncate"),
		denied("create", "{t}/w/ro/new"),
		denied("mkdir", "{t}/w/ro/newdir"),
		denied("unlink", "{t}/w/ro/unlink"),
		denied("chmod", "{t}/w/ro/chmod"),
		denied("utimes", "{t}/w/ro/utimes"),
		denied("setxattr", "{t}/w/ro/setxattr"),
		denied("chflags", "{t}/w/ro/chflags").when(Darwin),
		denied("rename", "{t}/w/ro/away", "{t}/w/away"),
		denied("rename", "{t}/w/over", "{t}/w/ro/over"),
		denied("write", "{t}/g/write"),
		denied("create", "{t}/u/new"),
	}},
	{ID: "F3", Axis: policy.AxisFs, What: "protected names cannot be made or changed", Probes: []Probe{
		denied("create", "{t}/w/x1/.vscode"),
		denied("create", "{t}/w/x2/.VSCode"),
		denied("create", "{t}/w/x3/.v\u017fcode"),
		denied("create", "{t}/w/x4/.git"),
		denied("create", "{t}/w/x4/.mcp.json"),
		denied("movenew", "{t}/w/prepared", "{t}/w/x5/.claude"),
		denied("write", "{t}/w/.git/hooks/old"),
		denied("create", "{t}/w/.git/hooks/new"),
		denied("create", "{t}/w/x6/.git/hooks/new"),
		denied("create", "{t}/w/x7/.GIT").when(Folds),
	}},
	{ID: "F4", Axis: policy.AxisFs, What: "directories around narrower rules cannot be moved away", Probes: []Probe{
		denied("rename", "{t}/w/parent/kept", "{t}/w/kept2"),
		denied("rename", "{t}/w/parent", "{t}/w/parent2"),
		denied("rename", "{t}/deep", "{t}/deep2"),
		denied("rename", "{t}/v", "{t}/w/v2"),
		denied("rmdir", "{t}/empty"),
	}},
	{ID: "F5", Axis: policy.AxisFs, What: "protected paths that do not exist cannot be made", Probes: []Probe{
		denied("create", "{t}/w/later.key"),
		denied("create", "{t}/w/Third.KEY"),
		denied("mkdir", "{t}/w/way"),
	}},
	{ID: "F6", Info: true, What: "packages may have protected names below node_modules", Probes: []Probe{
		allowed("create", "{t}/w/node_modules/p/.vscode/new"),
	}},
	{ID: "F7", Axis: policy.AxisFs, What: "no second name (hard link) can be given to a file", Probes: []Probe{
		denied("link", "{t}/g/link-me", "{t}/w/linked"),
		denied("link", "{t}/u/link-me", "{t}/w/linked-u"),
		denied("link", "{t}/w/link-me", "{t}/w/linked-w"),
	}},
	{ID: "F8", Axis: policy.AxisFs, What: "a copy of a file (clonefile) needs the right to read it", Probes: []Probe{
		denied("clone", "{t}/u/file", "{t}/w/cloned").when(Darwin),
		denied("clone", "{t}/w/ro/write", "{t}/g/cloned").when(Darwin),
	}},
	{ID: "F9", Axis: policy.AxisFs, What: "a file cannot be replaced where creating is granted and deleting is not", Probes: []Probe{
		denied("rename", "{t}/w/over-create", "{t}/create/file"),
	}},
	{ID: "F10", Axis: policy.AxisFs, What: "the rights to create, update and delete hold one by one", Probes: []Probe{
		allowed("write", "{t}/update/file"),
		denied("create", "{t}/update/new"),
		denied("unlink", "{t}/update/unlink"),
		allowed("unlink", "{t}/delete/file"),
		denied("create", "{t}/delete/new"),
		denied("write", "{t}/delete/write"),
		allowed("mkdir", "{t}/create/newdir"),
		denied("unlink", "{t}/create/unlink"),
		denied("write", "{t}/create/write"),
	}},
	{ID: "F11", Axis: policy.AxisProcess, What: "no program can be made that runs as another user", Probes: []Probe{
		denied("setuid", "{t}/w/setuid"),
	}},
	{ID: "F12", Axis: policy.AxisFs, Form: true, What: "directories can be removed and renamed where all rights are granted", Probes: []Probe{
		allowed("rmdir", "{t}/w/rmdir"),
		allowed("rename", "{t}/w/dir", "{t}/w/dir2"),
	}},
	{ID: "F14", Axis: policy.AxisFs, What: "names of two files cannot be exchanged where only one may change", Probes: []Probe{
		denied("swap", "{t}/w/swap", "{t}/w/ro/swap"),
		denied("swap", "{t}/w/swapdir", "{t}/w/x6/.git/hooks"),
	}},
	{ID: "F15", Axis: policy.AxisFs, What: "no link and no directory gets into the git directories of submodules", Probes: []Probe{
		denied("symlink", "../u", "{t}/w/.git/modules/m/made"),
		denied("rename", "{t}/w/tomove", "{t}/w/.git/modules/m/moved"),
		denied("movenew", "{t}/w/prepared2", "{t}/w/.git/modules/m/submodule"),
		denied("swap", "{t}/w/swapdir2", "{t}/w/.git/modules/m/file"),
	}},
	// No expression is about HOME. Where F12 fails and this passes, the expressions are the cause.
	{ID: "F16", Axis: policy.AxisFs, Form: true, What: "directories can be removed and renamed in HOME", Probes: []Probe{
		allowed("rmdir", "{t}/home/rmdir"),
		allowed("rename", "{t}/home/dir", "{t}/home/dir2"),
	}},
}

var shapes = []Test{
	{ID: "F13", Axis: policy.AxisFs, What: "rules hold for paths with umlauts, quotes, backslashes and for long ones", Probes: []Probe{
		allowed("create", "{nfc}/new"),
		denied("create", "{nfc}-u/new"),
		allowed("create", "{nfd}/new"),
		denied("create", "{nfd}-u/new"),
		allowed("create", "{odd}/new"),
		denied("create", "{odd}-u/new"),
		allowed("create", "{long}/w/new"),
		denied("create", "{long}/u/new"),
	}},
}

var spelling = []Test{
	{ID: "K1", Axis: policy.AxisFs, What: "a refused file is refused in every spelling of its name", Probes: []Probe{
		denied("read", "{t}/g/sECRET.KEY").when(Folds),
		denied("read", "{t}/U/FILE").when(Folds),
	}},
	{ID: "K2", Axis: policy.AxisFs, What: "a read-only directory is read-only in every spelling of its name", Probes: []Probe{
		denied("write", "{t}/w/RO/case").when(Folds),
		denied("read", "{t}/g/HIDDEN/file").when(Folds),
		denied("write", "{t}/w/.GIT/Hooks/old").when(Folds),
	}},
	{ID: "K3", Axis: policy.AxisFs, What: "a directory around a narrower rule stays in its place in every spelling", Probes: []Probe{
		denied("rename", "{t}/w/AROUND", "{t}/w/around2").when(Folds),
	}},
	{ID: "K4", Info: true, What: "a granted file can be read in every spelling of its name", Probes: []Probe{
		allowed("read", "{t}/G/FILE").when(Folds),
	}},
}

var programs = []Test{
	{ID: "X1", Axis: policy.AxisProcess, What: "only what may be executed is executed", Probes: []Probe{
		allowed("exec", "{t}/ex/run"),
		denied("exec", "{t}/g/run"),
		denied("exec", "{t}/w/run"),
		allowed("exec", "{t}/ex/run").in(Programs),
		denied("exec", "{t}/ex/other").in(Programs),
	}},
	{ID: "X2", Axis: policy.AxisLimits, What: "a server that may have one process starts no other", Probes: []Probe{
		denied("exec", "/usr/bin/true").in(NoFork),
	}},
	{ID: "X3", Info: true, What: "code of a file without the right to execute cannot be mapped", Probes: []Probe{
		denied("map", "{t}/g/file"),
	}},
}

var network = []Test{
	{ID: "N1", Axis: policy.AxisNet, What: "nothing can be reached where no host is granted", Probes: []Probe{
		denied("tcp", "{tcp4}"),
		denied("tcp", "{tcp6}"),
		denied("udp", "{udp4}"),
		denied("tcp", "{own}"),
	}},
	{ID: "N2", Axis: policy.AxisNet, What: "with granted hosts, the proxy of the session is all that can be reached", Probes: []Probe{
		allowed("tcp", "{proxy4}").in(Hosts),
		allowed("tcp", "{proxy6}").in(Hosts),
		denied("tcp", "{tcp4}").in(Hosts),
		denied("tcp", "{tcp6}").in(Hosts),
		denied("tcp", "{own}").in(Hosts),
		denied("udp", "{udp4}").in(Hosts),
		denied("boundtcp", "{tcp4}").in(Hosts),
		denied("boundtcp", "{own}").in(Hosts),
	}},
	{ID: "N6", Axis: policy.AxisNet, What: "a server that may listen reaches no host by that", Probes: []Probe{
		allowed("tcp", "{proxy4}").in(Inbound),
		denied("tcp", "{tcp4}").in(Inbound),
		denied("tcp", "{tcp6}").in(Inbound),
		denied("tcp", "{own}").in(Inbound),
		denied("udp", "{udp4}").in(Inbound),
		denied("boundtcp", "{tcp4}").in(Inbound),
		denied("boundtcp", "{own}").in(Inbound),
	}},
	{ID: "N5", Info: true, What: "the own machine is found by its name", Probes: []Probe{
		allowed("tcpname", "{proxyname}").in(Hosts),
	}},
	{ID: "N4", Axis: policy.AxisIPC, What: "sockets of other programs cannot be reached, and its own can", Probes: []Probe{
		denied("unix", "{s}/u/socket"),
		denied("bindunix", "{s}/u/new"),
		denied("unix", "/private/var/run/mDNSResponder").when(Darwin),
		allowed("unix", "{s}/t/socket"),
		allowed("bindunix", "{s}/t/new"),
		denied("unix", "{s}/u/socket").in(Hosts),
		denied("unix", "/private/var/run/mDNSResponder").in(Hosts).when(Darwin),
	}},
}

var processes = []Test{
	{ID: "I1", Axis: policy.AxisProcess, What: "other processes can be neither seen nor signalled", Probes: []Probe{
		denied("kill", "{launcher}"),
		denied("procargs", "{launcher}").wants(Refused),
		allowed("killchild", "/bin/sleep", "10"),
	}},
	{ID: "I2", Axis: policy.AxisIPC, What: "the keychain cannot be reached", Probes: []Probe{
		denied("exec", "/usr/bin/security", "list-keychains").wants(Refused).when(Darwin),
	}},
	// It only informs until a Mac has shown that the control works.
	{ID: "P1", Info: true, What: "the service of preferences writes no file that is not granted", Probes: []Probe{
		allowed("exec", "/usr/bin/defaults", "write", "{t}/u/preferences", "key", "value").wants(Refused).when(Darwin),
	}},
	{ID: "L1", Axis: policy.AxisLimits, What: "limits of file sizes and descriptors hold", Probes: []Probe{
		allowed("fsize", "{t}/w/fsize").is("EFBIG"),
		allowed("nofile").is("EMFILE"),
	}},
}
