package mac

import (
	"runtime"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
)

// A probe is some attempts that show the same thing. It fails with the first of them that fails.
type probe struct {
	ID    string
	Axis  policy.Axis // which does not hold if it fails
	Fatal bool        // no jail can be trusted, or none works, if it fails
	What  string      // that does not hold if it fails
	Jail  Jail
	// Attempts has lines: "+" if they must work in the jail, "-" if they must fail with EPERM, "~" if they must
	// fail; then what each does, and its arguments, in which the runner replaces the names in braces.
	// After the sign, "mac" is for macOS alone, and "case" for volumes that ignore case.
	Attempts string
}

// A Jail is one of those in which probes are made.
type Jail int

// The jails.
const (
	plain  Jail = iota // no hosts
	Hosts              // a proxy
	noFork             // limits.processes = 1
	jails
)

// probes are in the order in which they are made: what moves directories away comes last.
var probes = []probe{
	{"S1", policy.AxisProcess, true, "programs start in a jail", plain, `
			+ exec /bin/sh -c :; exec /usr/bin/true`},
	{"R1", policy.AxisFs, false, "what is granted can be read, and nothing else", plain, `
			+ read {t}/g/file; list {t}/g; read {t}/g/a/b/file
			- read {t}/u/file; read {t}/g/hidden/file; read {t}/g/Secret.key; list {t}/u; list {t}`},
	{"R2", policy.AxisFs, false, "narrower rules hold, and a symbolic link gives no more than what it leads to", plain, `
			+ read {t}/g/hidden/again/file
			- list {t}/g/hidden; read {t}/g/link; write {t}/w/link
			+ read {alias}/t/file`},
	{"F1", policy.AxisFs, false, "files and directories can be changed where all rights are granted", plain, `
			+ write {t}/w/file; create {t}/w/new; mkdir {t}/w/newdir; rename {t}/w/from {t}/w/to; unlink {t}/w/unlink
			+ chmod {t}/w/file; rmdir {t}/w/rmdir; rename {t}/w/dir {t}/w/dir2; create {t}/w/node_modules/p/.vscode/new`},
	{"F2", policy.AxisFs, false, "nothing can be changed where only reading is granted", plain, `
			- write {t}/w/ro/file; create {t}/w/ro/new; mkdir {t}/w/ro/newdir; unlink {t}/w/ro/unlink
			- chmod {t}/w/ro/file; rename {t}/w/ro/away {t}/w/away; rename {t}/w/over {t}/w/ro/over
			- swap {t}/w/swap {t}/w/ro/swap; write {t}/g/file; create {t}/u/new`},
	{"F3", policy.AxisFs, false, "protected files cannot be made or changed", plain, `
			- create {t}/w/x1/.vscode; create {t}/w/x2/.VSCode; create {t}/w/x3/.v` + "\u017f" + `code; create {t}/w/x4/.mcp.json
			- movenew {t}/w/prepared {t}/w/x5/.claude; write {t}/w/.git/hooks/old; create {t}/w/x6/.git/hooks/new
			- symlink ../u {t}/w/.git/modules/m/made; movenew {t}/w/prepared2 {t}/w/.git/modules/m/submodule
			- create {t}/w/later.key; create {t}/w/Third.KEY; mkdir {t}/w/way`},
	{"F4", policy.AxisFs, false, "no second name and no copy can be made of a file that may not be read or changed", plain, `
			- link {t}/g/file {t}/w/linked; link {t}/u/file {t}/w/linked-u
			-mac clone {t}/u/file {t}/w/cloned; clone {t}/w/file {t}/g/cloned`},
	{"F5", policy.AxisFs, false, "the rights to create, update and delete hold one by one", plain, `
			+ write {t}/update/file
			- create {t}/update/new; unlink {t}/update/file
			+ mkdir {t}/create/newdir
			- write {t}/create/file; unlink {t}/create/file; rename {t}/w/over-create {t}/create/file
			- write {t}/delete/write; create {t}/delete/new
			+ unlink {t}/delete/file`},
	{"F6", policy.AxisFs, false, "rules hold for umlauts, quotes, backslashes and long paths, in every spelling", plain, `
			+ create {nfc}/new
			- create {nfc}-u/new
			+ create {nfd}/new
			- create {nfd}-u/new
			+ create {odd}/new
			- create {odd}-u/new
			+ create {long}/w/new
			- create {long}/u/new
			-case read {t}/g/sECRET.KEY; read {t}/U/FILE; write {t}/w/RO/file; read {t}/g/HIDDEN/file
			-case write {t}/w/.GIT/Hooks/old`},
	{"X1", policy.AxisProcess, false, "only what may be executed is executed, and nothing as another user", plain, `
			+ exec {t}/ex/run
			- exec {t}/g/run; exec {t}/w/run; setuid {t}/w/run`},
	{"X2", policy.AxisLimits, false, "a server that may have one process starts no other", noFork, `
			- exec /usr/bin/true`},
	{"N1", policy.AxisNet, false, "nothing can be reached where no host is granted", plain, `
			- tcp {tcp4}; tcp {tcp6}; udp {udp4}; tcp {own}`},
	{"N2", policy.AxisNet, false, "with granted hosts, the proxy of the session is all that can be reached", Hosts, `
			+ tcp {proxy4}; tcp {proxy6}
			- tcp {tcp4}; tcp {tcp6}; tcp {own}; udp {udp4}; boundtcp {tcp4}; boundtcp {own}`},
	{"I1", policy.AxisIPC, false, "sockets of other programs and the keychain cannot be reached, and its own sockets can", Hosts, `
			- unix {s}/u/socket; bindunix {s}/u/new
			+ unix {s}/t/socket; bindunix {s}/t/new
			-mac unix /private/var/run/mDNSResponder
			~mac exec /usr/bin/security list-keychains`},
	{"I2", policy.AxisProcess, false, "other processes can be neither seen nor signalled, and directories around narrower rules stay", plain, `
			- kill {launcher}
			~ procargs {launcher}
			+ killchild /bin/sleep 10
			-case rename {t}/w/ASIDE {t}/w/aside2
			- rename {t}/w/around {t}/w/around2; rename {t}/deep {t}/deep2; rename {t}/v {t}/w/v2; rmdir {t}/empty`},
}

// An attempt is one of a probe, with the place of its probe in the table.
type attempt struct {
	Probe int      `json:"-"`
	Sign  string   `json:"-"`
	If    string   `json:"-"`
	Do    string   `json:"do"`
	Args  []string `json:"args"`
}

// attempts returns those of the table for this system. Their arguments are as written.
func attempts() (all []attempt) {
	for i, p := range probes {
		for line := range strings.Lines(strings.TrimSpace(p.Attempts)) {
			sign, list, _ := strings.Cut(strings.TrimSpace(line), " ")
			for one := range strings.SplitSeq(list, ";") {
				words := strings.Fields(one)
				if a := (attempt{i, sign[:1], sign[1:], words[0], words[1:]}); a.If != "mac" || runtime.GOOS == "darwin" {
					all = append(all, a)
				}
			}
		}
	}
	return all
}

// objects are what a tree consists of, in the order in which they are made: "name/" is a directory, "name!" a
// script, "name>target" a symbolic link, all else a file.
var objects = strings.Fields(`
	{t}/g/ {t}/g/file {t}/g/run! {t}/g/a/ {t}/g/a/b/ {t}/g/a/b/file
	{t}/g/hidden/ {t}/g/hidden/file {t}/g/hidden/again/ {t}/g/hidden/again/file {t}/g/Secret.key
	{t}/u/ {t}/u/file {t}/g/link>../u/file
	{t}/w/ {t}/w/file {t}/w/from {t}/w/unlink {t}/w/over {t}/w/swap {t}/w/over-create {t}/w/run! {t}/w/rmdir/ {t}/w/dir/ {t}/w/dir/file
	{t}/w/link>../u/file {t}/w/ro/ {t}/w/ro/file {t}/w/ro/unlink {t}/w/ro/away {t}/w/ro/over {t}/w/ro/swap
	{t}/w/x1/ {t}/w/x2/ {t}/w/x3/ {t}/w/x4/ {t}/w/x5/ {t}/w/x6/ {t}/w/x6/.git/ {t}/w/x6/.git/hooks/
	{t}/w/.git/ {t}/w/.git/hooks/ {t}/w/.git/hooks/old {t}/w/.git/modules/ {t}/w/.git/modules/m/
	{t}/w/around/ {t}/w/around/kept/ {t}/w/aside/ {t}/w/aside/kept/ {t}/w/node_modules/ {t}/w/node_modules/p/ {t}/w/node_modules/p/.vscode/
	{t}/v/ {t}/v/file {t}/empty/ {t}/deep/ {t}/deep/e/ {t}/deep/e/file
	{t}/create/ {t}/create/file {t}/update/ {t}/update/file {t}/delete/ {t}/delete/file {t}/delete/write
	{t}/ex/ {t}/ex/run! {t}/home/
	{nfc}/ {nfc}-u/ {nfd}/ {nfd}-u/ {odd}/ {odd}-u/ {long}/w/ {long}/u/
	{s}/t/ {s}/t/file {s}/u/
`)

// entries are the rights in a tree. A letter is a right (policy.Rights); "-" is none. The origin is that of a
// rule where none is given.
var entries = strings.Fields(`
	{t}/g=r {t}/g/Secret.key=-:file {t}/g/hidden=- {t}/g/hidden/again=r
	{t}/w=rcud {t}/w/ro=r {t}/w/.git/hooks=r:protected {t}/w/around/kept=r {t}/w/aside/kept=r
	{t}/v=rcud {t}/empty=rcud {t}/deep/e=rcud
	{t}/create=rc {t}/update=ru {t}/delete=rd {t}/ex=rx {t}/home=rcud:home
	{nfc}=rcud {nfd}=rcud {odd}=rcud {long}/w=rcud
`)

// unprotected are the paths of policy.Profile.Unprotected.
var unprotected = strings.Fields(`{t}/w/later.key {t}/w/third.key {t}/w/way/later`)

// systemDirs are where the programs of a probe and their libraries are.
var systemDirs = map[string][]string{
	"darwin": {"/System/Cryptexes", "/System/Library", "/System/Volumes/Preboot/Cryptexes", "/bin", "/private/var/db/dyld", "/private/var/select", "/sbin", "/usr"},
	"linux":  {"/bin", "/etc", "/lib", "/lib64", "/sbin", "/usr"},
}
