// Package policy defines what one MCP server may touch. It contains the rules, the resolved
// profile and every decision about them. It does not read the disk and it enforces nothing:
// it imports neither os nor syscall.
//
// Data flows in one direction:
//
//	files → config.Load → Config → Policy → resolve.Resolve(hostfs.Host) → Profile
//
// A [Policy] is merged and validated, but knows nothing of the host. Package policy/config
// makes it from TOML files or from the command line. Package policy/resolve asks the host
// once, through the functions of a hostfs.Host, and returns an immutable [Profile] of
// canonical paths. All later stages read this one profile: enforcement, plan, the statement
// for the server, and diagnoses.
//
// # Reading a profile
//
// Profile.Entries is flat: rules, the runtime baseline, the private HOME, masks over
// sensitive paths and protected names are all entries. The entry with the longest matching
// path decides in full. The directory that holds a name decides whether the name may be
// created or deleted; the entry of the path decides everything else. [Profile.Allows] does
// this evaluation, and [Profile.Mediate] decides what mounts and Landlock cannot enforce.
//
// # Limits
//
//   - A profile is a snapshot. If the user creates a sensitive file inside a granted tree
//     while the server runs, the file is visible until the next start.
//   - Sensitive names are compared byte for byte. Protected names are compared as
//     case-insensitive filesystems compare them.
//   - A hard link inside a granted tree reaches its inode, wherever its other names are.
package policy

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"sort"
	"strings"
	"time"
)

// Policy is what one server, or one tool of a stateless server, may do: merged, validated,
// with all defaults filled in. It does not know the host. Package policy/config makes it.
type Policy struct {
	Server string
	Tool   string // "" for the whole server, or for the process that lists the tools of a stateless one

	Command   string
	Arguments []string
	Workspace string // as written; "" is the client's working directory
	ID        string // of a server with a file of its own; "" for others
	StartIn   string // where the server starts: "" or StartInWorkspace, StartInHome, or a path

	Stateful     bool
	Warm         int
	Startup      time.Duration // first request to first answer, and to build the jail; 0 waits for ever
	Call         time.Duration // 0 is no limit
	Roots        string        // "off", "narrow" or "advertise"
	HomeReal     bool          // home = "real"
	Packages     Packages
	Undo         Undo
	Leaks        string // what happens to a secret that the server sends: LeaksOff, LeaksWarn or LeaksBlock
	LeakPatterns bool   // well-known kinds of tokens are looked for too
	Ask          bool   // the user is asked in the client about what was refused
	Log          bool   // what the server does is written down
	Project      string // the project's file that changes the program; "" if none does
	Key          string // under which mcp-jail keeps the server, if it is not the name: see KeptName

	// Default tells that no access table replaces the default policy. Fs then begins with the
	// rules of the default policy. They are rules like any other, so no later stage must know
	// a second kind of policy.
	Default   bool
	Fs        []FsRule
	Net       []NetRule
	Inbound   []InboundRule
	Env       []EnvRule
	Commands  []CommandRule // nil: any program; sorted by name
	Sensitive []string      // beyond the built-in list
	Limits    Limits
	Waive     []Axis   // sorted
	Tools     Switches // of the whole server

	// FromCommandLine reports that the policy comes from the command line: a relative
	// command is then meant from the working directory, as a shell reads it.
	FromCommandLine bool
	Where           string // the server's table, the tool's access table, or the command line

	// Others are the policies of the server's other processes, and of the other servers
	// of the configuration: see Reach.
	Others []*Policy
	// Noted are the rights of servers that no configuration has, as their last starts noted.
	Noted      []WriterRules
	Kept       []string  // files of secrets of a configuration that this server is not in
	UnusedKeys []Warning // of keys in the configuration that have no effect on this policy
	Settings   []Setting // the written values that are no rules, with their places
	// Narrow has the axes of another policy of the server, or is nil. What is in force is what both allow: see
	// Narrowed and Meet.
	Narrow *Policy
}

// Narrowed returns the policy with the axes of Narrow in place of its own.
func (p *Policy) Narrowed() *Policy {
	out, by := *p, p.Narrow
	out.Default, out.Fs, out.Sensitive, out.Net, out.Inbound, out.Env, out.Commands = by.Default, by.Fs, by.Sensitive, by.Net, by.Inbound, by.Env, by.Commands
	out.Narrow, out.Where = nil, by.Where
	return &out
}

// Words for Policy.StartIn that are no paths.
const (
	StartInWorkspace = "workspace"
	StartInHome      = "home"
)

// A Setting is a value that a configuration has for a server, or for all servers.
type Setting struct {
	Key     string `json:"key"`
	Value   string `json:"value"`             // as TOML writes it
	Where   string `json:"where,omitempty"`   // file and line; "" for that of a flag or a preset
	Default bool   `json:"default,omitempty"` // from [defaults]
}

func (s Setting) String() string {
	text := s.Key + " = " + s.Value
	switch {
	case s.Default:
		return text + "  " + s.Where + " [defaults]"
	case s.Where != "":
		return text + "  " + s.Where
	}
	return text
}

// DefaultStartup is that of a server that does not say otherwise (docs/reference.md).
const DefaultStartup = 60 * time.Second

// Packages says how a server gets the package that a launcher such as npx is asked for.
type Packages struct {
	PinTools string // what happens if the tools differ from the pinned ones: PinOff, PinWarn or PinEnforce
	// Tree is the directory of an installed package, which its program reads and executes; "" if
	// there is none. No file in Tree widens the server's grants.
	Tree  string
	Bin   string   // a directory of Tree after those of PATH, for the server alone
	Env   []string // NAME=value that files of Tree set, for the server alone
	Outer int      // how many of the first arguments are the command line's: of timeout 30 node FILE they are 30 and node
}

// The values of pin_tools.
const (
	PinOff     = "off"
	PinWarn    = "warn"
	PinEnforce = "enforce"
)

// Undo says whether mcp-jail keeps the former state of the user's files that a server changes,
// so that the changes can be undone.
type Undo struct {
	Mode    string `json:"mode"`     // UndoSession or UndoCall; "" keeps nothing
	TotalMB int    `json:"total_mb"` // MiB that are kept for all sessions of a server together
}

// The values of undo.
const (
	UndoOff     = "off"
	UndoSession = "session" // keeps the state of a file before the first change of a session
	UndoCall    = "call"    // keeps the state of a file before the first change of each call of a tool
)

// The bounds of undo.
const (
	UndoFileMB         = 64   // MiB of the largest file that is kept
	UndoDays           = 14   // how long a session is kept
	DefaultUndoTotalMB = 2048 // of a server that declares none
)

// On reports whether anything is kept.
func (u Undo) On() bool { return u.Mode != "" }

// The values of leaks.
const (
	LeaksOff   = "off"
	LeaksWarn  = "warn"
	LeaksBlock = "block"
)

const DefaultSource = "the default policy"

// WorkspaceRule returns the rule of access.workspace = "write", or "read". That of the default policy is
// the first, at DefaultSource (docs/policy.md "Default and explicit policy").
func WorkspaceRule(word, where string) FsRule {
	write := word == "write"
	return FsRule{Path: ".", Read: true, Create: write, Update: write, Delete: write, Workspace: true, Where: where}
}

func (r FsRule) workspaceWord() string {
	if r.Create {
		return "write"
	}
	return "read"
}

func SortAxes(axes []Axis) []Axis {
	out := slices.Clone(axes)
	sort.Slice(out, func(i, j int) bool { return out[i] < out[j] })
	return slices.Compact(out)
}

// Validate refuses rules that say nothing, and rules for ports that contradict each other. Resolve refuses
// rules for files that contradict each other.
func (p *Policy) Validate() error {
	_, ps := p.AllSecrets()
	ps = append(ps, p.inboundConflicts()...)
	if n := len(p.InboundPorts()); n > maxInbound {
		ps = append(ps, ProblemAt(p.Where, "inbound", "%d ports; more than %d are refused", n, maxInbound))
	}
	return ps.Err()
}

// maxInbound bounds the ports of one jail that can be reached from outside.
const maxInbound = 64

// inboundConflicts returns a problem for each port that leads both into the jail and out of
// it: both directions need the same listener inside.
func (p *Policy) inboundConflicts() (ps Problems) {
	for _, in := range p.Inbound {
		for _, r := range p.Net {
			use := "leads to " + r.Host
			if in.Port == 53 {
				use = "is where names are looked up"
			}
			if r.Allow && (in.Port == 53 || slices.Contains(r.Ports(), in.Port)) {
				ps = append(ps, ProblemAt(in.Where, "inbound", "port %d %s as well (%s): the server cannot listen on it", in.Port, use, r.Where))
			}
		}
	}
	return ps
}

// InboundPorts returns the ports of the inbound rules, sorted, without duplicates.
func (p *Policy) InboundPorts() (ports []int) {
	for _, r := range p.Inbound {
		ports = append(ports, r.Port)
	}
	slices.Sort(ports)
	return slices.Compact(ports)
}

// OptionalInboundPorts returns the ports of the inbound rules that presets alone name, sorted.
func (p *Policy) OptionalInboundPorts() (ports []int) {
	for _, port := range p.InboundPorts() {
		if !slices.ContainsFunc(p.Inbound, func(r InboundRule) bool { return r.Port == port && !r.Preset }) {
			ports = append(ports, port)
		}
	}
	return ports
}

// Normalize validates the rules for hosts and paths of a policy again, because mcp-jail makes some of them itself, and
// returns its network rules with normalised hosts.
func (p *Policy) Normalize() ([]NetRule, error) {
	var ps Problems
	bad := func(where, key string, err error) {
		if err != nil {
			ps = append(ps, ProblemAt(where, key, "%s", err))
		}
	}
	net := make([]NetRule, len(p.Net))
	for i, r := range p.Net {
		host, err := NormalizeHost(r.Host)
		if err == nil {
			err = CheckNetRule(r)
		}
		bad(r.Where, "host", err)
		net[i], net[i].Host = r, host
	}
	for _, r := range p.Fs {
		bad(r.Where, "path", CheckPath(r.Path))
	}
	if !ValidServerName(p.Server) {
		bad(p.Where, "server", fmt.Errorf("the server name %q is refused: a name consists of letters, digits, '.', '_' and '-', and does not begin with '.'", Abbreviate(p.Server)))
	}
	_, err := p.Limits.OrDefault()
	bad(p.Where, "limits", err)
	if err := ps.Err(); err != nil {
		return nil, err
	}
	return net, p.Validate()
}

// SystemConfigDir holds the configuration of the administrator.
const SystemConfigDir = "/etc/mcp-jail"

// Axis is one of the independent questions that a policy answers. The names
// are the ones that --waive, `waive = [...]`, plan and doctor use.
type Axis string

const (
	AxisFs      Axis = "fs"      // which paths
	AxisNet     Axis = "net"     // which hosts
	AxisIPC     Axis = "ipc"     // which other processes can be talked to
	AxisProcess Axis = "process" // which programs start, and what a process may do to others
	AxisEnv     Axis = "env"     // which variables
	AxisLimits  Axis = "limits"  // how much
)

// Each of these words waives the gaps that its operating system has under every policy. waive and
// --waive take them like axes; Axes does not list them.
const (
	WaiveMacOS   Axis = "macos"
	WaiveWindows Axis = "windows"
)

// IsPlatform reports whether the word waives gaps of an operating system.
func (a Axis) IsPlatform() bool { return a == WaiveMacOS || a == WaiveWindows }

// Waivers lists every word that waive and --waive take, in the order in which reports print them.
func Waivers() []Axis { return append(Axes(), WaiveMacOS, WaiveWindows) }

// OrderWaivers returns words in the order of Waivers, each once.
func OrderWaivers(words []Axis) (ordered []Axis) {
	for _, a := range Waivers() {
		if slices.Contains(words, a) {
			ordered = append(ordered, a)
		}
	}
	return ordered
}

// Axes lists every axis in the order in which reports print them.
func Axes() []Axis {
	return []Axis{AxisFs, AxisNet, AxisIPC, AxisProcess, AxisEnv, AxisLimits}
}

// ValidServerName reports whether a server can have this name. It becomes the name of a
// directory and a word on command lines.
func ValidServerName(name string) bool {
	if name == "" || name[0] == '.' || len(name) > 100 {
		return false
	}
	return strings.IndexFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '.' && r != '_' && r != '-'
	}) < 0
}

// KeptName returns the name under which mcp-jail keeps what belongs to the server: its HOME, its
// records and what can be undone. It is the key of a server that is in no table, such as its id.
func (p *Policy) KeptName() string { return cmp.Or(p.Key, KeptName(p.Server, p.Project)) }

// KeptName returns the name under which the server of a table is kept. A project's server may have the
// name of one of the user's, and gets the hash of the project's file, which is "" for the user's.
func KeptName(server, project string) string {
	if project == "" {
		return server
	}
	return server + "-" + ShortHash(project)
}

// ShortHash returns a digest of 128 bits: two texts with one digest are not found.
func ShortHash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}
