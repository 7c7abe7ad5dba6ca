package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path"
	"reflect"
	"slices"
	"sort"
	"strings"
	"time"
)

// Profile is a policy resolved against one host: absolute canonical paths,
// concrete variables, nothing left to look up. It is immutable; every later
// stage (enforcement, plan, statement, diagnoses) reads the same one.
type Profile struct {
	Server string // the server's name in the configuration or from --name
	Tool   string // the tool this profile is for; "" for the whole server

	Program string   // canonical path of the file that is started
	Argv    []string // Argv[0] is the command as written; for the path of a shim, its program
	Dir     string   // working directory of the server, absolute

	// InPath are the programs that PATH has for the names in the server's line, in #! lines and in
	// command rules, before links are followed. A start compares them with those of the last one.
	InPath map[string]string

	// Parts are the paths of which the program consists, sorted. Diagnoses take what
	// lies there for the program. They grant nothing.
	Parts []Part

	Workspace   string // canonical; "" when the server runs without one
	Home        string // the server's HOME, absolute, same path inside and outside
	HomePrivate bool   // Home is the server's alone, not the user's
	Default     bool   // no access table replaces the default policy

	// Entries is the whole filesystem of the server, sorted by Path, one entry
	// a path: the entry with the longest matching path decides, in full.
	Entries []Entry
	// Links are symbolic links outside every entry that must exist for
	// names to resolve as they do on the host (/bin, a shim, ~/notes).
	Links []Link
	// ListOnly are directories of which the server may read the names and nothing else, sorted: bun on
	// macOS lists each directory above its working directory. They grant nothing in the directories.
	ListOnly []string
	// HomeLinks are the symbolic links in the private HOME to what rules grant below the user's home,
	// sorted by Path. The start makes them.
	HomeLinks []HomeLink
	// Unprotected are names inside a grant that writes which the server should not
	// be able to make or change, and that no mount can hold: protected names, sensitive paths and
	// narrower rules whose path does not exist yet, and protected names that are
	// symbolic links, which must not be replaced. Sorted.
	Unprotected []string
	// Hidden are the names that are hidden at any depth, which no server may make: the patterns of
	// sensitive paths, without "**/". One that begins with "!" is an exception to those before it.
	Hidden []string
	// GitDirs are the git directories that have another name than .git: where a .git that is a file
	// or a link leads, and grants that are one. Sorted. Their parts are protected like those of .git.
	GitDirs []string
	// IgnoreCase are directories with entries that take rights away, in which a filesystem finds each name
	// under other spellings, too. Sorted.
	IgnoreCase []string

	// GitConfig is the text of the system's configuration of git in the jail, with settings of the
	// user. It is "" for none.
	GitConfig string

	// LinksAstray reports whether a symbolic link inside a grant leads to a sensitive
	// path that is not granted. Mediation then looks at each open for reading too, so that a
	// refusal is recorded.
	LinksAstray bool

	// Reach lists where the processes of this server, and the other servers, may write. It is
	// part of no output.
	Reach *Reach

	// Programs are the files that may be started; nil means any that Entries
	// lets execute. Loaders are the dynamic loaders (ld.so) among Programs: each can be told to
	// run any dynamically linked program that the server can read.
	Programs []string
	Loaders  []string
	// CommandArgs are the names of command rules with args or envs. Where there are any, each
	// start is matched against Commands, and OwnPrograms are those files of the server's own
	// program that may be started without a rule: see MatchStart.
	CommandArgs []string
	Commands    []Command
	OwnPrograms []string
	// AndCommands are the rules of a trusted project's file, which must allow each start as well; nil: there are none.
	AndCommands []Command

	Net     []NetRule // normalised; empty is no network
	OneHost bool      // the server's own rules allow exactly one host: what a project's file takes away does not count
	Inbound []int     // ports of the host's loopback that lead into the jail, sorted
	// OptionalInbound are those of Inbound that presets alone name. A jail into which no port can lead
	// starts without them.
	OptionalInbound []int
	// Secrets are the secrets of Net that are not missing on this host, sorted by their
	// variable, each variable once. The profile has their placeholders, not their values.
	Secrets []Secret

	Env      []Variable // complete and sorted by name
	Withheld []string   // names that are set on the host and were not granted, sorted

	Limits  Limits
	Waive   []Axis        // axes whose gaps the user accepted, sorted
	Startup time.Duration // first request to first answer, and to build the jail; 0 waits for ever
	Call    time.Duration // one call; 0 is no limit
	Roots   string        // "off", "narrow" or "advertise"
	Undo    Undo
	// Leaks is what happens to a secret that the server sends: LeaksOff, LeaksWarn or
	// LeaksBlock. LeakPatterns: well-known kinds of tokens are looked for too.
	Leaks        string
	LeakPatterns bool
}

// Part is a path that belongs to the program: the file of the command, an interpreter, a
// script, or the package, environment or installation around it.
type Part struct {
	Path string // canonical
	// Work is a directory with the program's own files (a package, a project) and
	// not an installation that holds more than them.
	Work bool
}

// Kind is the kind of object that was at a path when it was resolved.
type Kind uint8

const (
	KindDir     Kind = iota + 1
	KindFile         // regular file
	KindSpecial      // device, fifo or socket
)

var kindNames = [...]string{KindDir: "directory", KindFile: "file", KindSpecial: "special"}

// String names the kind.
func (k Kind) String() string {
	return nameOf(kindNames[:], k)
}

// MarshalText names the kind in JSON.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

func nameOf[T ~uint8](names []string, of T) string {
	if of == 0 || int(of) >= len(names) {
		return "unknown"
	}
	return names[of]
}

// Origin says why an entry is there.
type Origin uint8

const (
	OriginBaseline  Origin = iota + 1 // needed by every program, or by this server's
	OriginRule                        // a rule of the user, or the default policy's workspace
	OriginHome                        // the server's own HOME
	OriginSensitive                   // masked inside a wider grant
	OriginProtected                   // read-only inside a writable grant
)

var originNames = [...]string{OriginBaseline: "baseline", OriginRule: "rule", OriginHome: "home", OriginSensitive: "sensitive", OriginProtected: "protected"}

// String names the origin.
func (o Origin) String() string {
	return nameOf(originNames[:], o)
}

// MarshalText names the origin in JSON.
func (o Origin) MarshalText() ([]byte, error) { return []byte(o.String()), nil }

// Entry is one path with the rights that hold there and below, up to the next
// longer entry.
type Entry struct {
	Path   string `json:"path"` // absolute, canonical; only an entry that hides may be a symbolic link itself
	Kind   Kind   `json:"kind"`
	Rights Rights `json:"rights"`
	Origin Origin `json:"origin"`
	// Named is the path as the configuration wrote it ("~/notes"), or Path.
	Named string `json:"named,omitempty"`
	// Rule locates what put the entry there, for messages:
	// `mcp-jail.toml:14: path = "src"`, `--write .`, `the runtime baseline`.
	Rule string `json:"rule"`
	// ID pins the object: confinement refuses to start when another object is
	// found at Path. Zero when Make is set.
	ID FileID `json:"-"`
	// Make asks for the directory to be created before the start (a rule with a
	// trailing slash, the private HOME).
	Make bool `json:"make,omitempty"`
	// Ephemeral, of the private HOME alone: the server sees a copy of the directory, which is its own
	// and gone when it ends. It never writes to Path itself. Where no copy can be made, it sees an empty
	// directory.
	Ephemeral bool `json:"ephemeral,omitempty"`
}

// FileID identifies an object of the host beyond its name. Birth is in
// nanoseconds since 1970 and 0 where the filesystem does not record it.
type FileID struct {
	Dev, Ino uint64
	Birth    int64
}

// Link is a symbolic link to recreate: readlink(Path) == Target.
type Link struct {
	Path   string `json:"path"`
	Target string `json:"target"`
}

// HomeLink is a symbolic link in the private HOME.
type HomeLink struct {
	Path   string `json:"path"`   // relative to the private HOME, and to the user's home
	Target string `json:"target"` // canonical
	Dir    bool   `json:"-"`      // Target is a directory whose names the server may read
	ID     FileID `json:"-"`      // of Target; zero if the start makes it
}

const (
	// StatementVar is the variable that tells a server its limits.
	StatementVar = "MCP_JAIL_POLICY"
	// OwnVariable begins the Rule of a variable that mcp-jail sets by itself.
	OwnVariable = "mcp-jail: "
	// MinimalEnvironment is the Rule of a variable that every server gets.
	MinimalEnvironment = "the minimal environment"
	// AuthorityRule is the Rule of the AuthorityVariables of the user, and begins that of their files.
	AuthorityRule = "your certificate authorities, with granted hosts"
	// PackageEnvironment is the Rule of a variable that an installed package brings.
	PackageEnvironment = "the installed package"
)

// Variable is one entry of the server's environment.
type Variable struct {
	Name   string `json:"name"`
	Value  string `json:"value,omitempty"`
	Secret bool   `json:"secret,omitempty"` // granted by the user by name: redact its value in output
	Rule   string `json:"rule"`             // what granted it, for messages
}

// Find returns the entry that decides about a path, which must be absolute and
// clean: the one with the most path components that is the path itself or an
// ancestor of it. ok is false where no entry covers the path. Paths have slashes on every
// system; a path without one, as Windows writes it, has no ancestor.
func (p *Profile) Find(name string) (e Entry, ok bool) {
	for {
		i := sort.Search(len(p.Entries), func(i int) bool { return p.Entries[i].Path >= name })
		if i < len(p.Entries) && p.Entries[i].Path == name {
			return p.Entries[i], true
		}
		parent := path.Dir(name)
		if parent == name || parent == "." {
			return Entry{}, false
		}
		name = parent
	}
}

// RightsAt returns the rights of the entry that decides about a path, which must be canonical
// and absolute. It returns no rights if no entry covers the path.
func (p *Profile) RightsAt(name string) Rights {
	e, _ := p.Find(path.Clean(name))
	return e.Rights
}

// RestrictsFiles reports whether the entries of the profile hold. No profile for Windows restricts files:
// there the working directory begins with a drive.
func (p *Profile) RestrictsFiles() bool { return len(p.Dir) < 2 || p.Dir[1] != ':' }

// Within reports whether path is dir or lies below it, by component. Both must
// be clean and absolute.
func Within(path, dir string) bool {
	if path == dir || dir == "/" {
		return true
	}
	return strings.HasPrefix(path, dir) && path[len(dir)] == '/'
}

// UnsearchableRule is the Rule of an entry that hides a directory which cannot be searched.
const UnsearchableRule = "cannot be searched"

// Unset returns the variables that the policy grants by name and that the profile does not have, because they
// are not set.
func (p *Policy) Unset(profile *Profile) (names []string) {
	for _, r := range p.Env {
		if r.Read && !slices.ContainsFunc(profile.Env, func(v Variable) bool { return v.Name == r.Name }) {
			names = append(names, r.Name)
		}
	}
	return names
}

// FileOf returns the file from which a rule gives a variable, or "".
func (p *Policy) FileOf(name string) string {
	rule, _ := MatchEnv(p.Env, name)
	return rule.File
}

// SameJail reports whether two profiles are equal but for the names of their tools.
func (p *Profile) SameJail(other *Profile) bool {
	if p == other {
		return true
	}
	mine, theirs := *p, *other
	mine.Tool, theirs.Tool = "", ""
	return reflect.DeepEqual(mine, theirs)
}

// MarshalJSON returns the profile in the form that plan prints. The value of a secret
// variable never appears in it.
func (p *Profile) MarshalJSON() ([]byte, error) { return json.Marshal(p.document()) }

// profileJSON is the form of a profile that plan prints, for encoding/json. Its names
// are stable: plan prints them, and [Profile.Key] is made of them. Package json asks a type for the
// members of all types in it, and a start waits for that. Behind any it asks for what is there.
type profileJSON struct {
	Server      string     `json:"server"`
	Tool        string     `json:"tool,omitempty"`
	Program     string     `json:"program"`
	Argv        []string   `json:"argv"`
	Dir         string     `json:"dir"`
	Workspace   string     `json:"workspace,omitempty"`
	Home        string     `json:"home"`
	HomePrivate bool       `json:"home_private"`
	Default     bool       `json:"default_policy"`
	Entries     []Entry    `json:"fs"`
	Links       []Link     `json:"links"`
	ListOnly    []string   `json:"list_only,omitempty"`
	HomeLinks   []HomeLink `json:"home_links,omitempty"`
	Unprotected []string   `json:"unprotected_names"`
	GitDirs     []string   `json:"git_dirs,omitempty"`
	GitConfig   string     `json:"git_config,omitempty"`
	IgnoreCase  []string   `json:"ignore_case,omitempty"`
	Programs    []string   `json:"programs"` // null: any
	Loaders     []string   `json:"loaders,omitempty"`
	CommandArgs []string   `json:"command_args,omitempty"`
	Commands    any        `json:"commands,omitempty"`
	AndCommands any        `json:"and_commands,omitempty"`
	Net         any        `json:"net"`
	Inbound     []int      `json:"inbound,omitempty"`
	Optional    []int      `json:"inbound_optional,omitempty"`
	Secrets     any        `json:"secrets,omitempty"`
	Env         []Variable `json:"env"`
	Withheld    []string   `json:"withheld"`
	Limits      Limits     `json:"limits"`
	Waive       []Axis     `json:"waive"`
	Startup     float64    `json:"startup_timeout_secs"`
	Call        float64    `json:"call_timeout_secs"`
	Roots       string     `json:"roots"`
	Undo        *Undo      `json:"undo,omitempty"`  // nil: off
	Leaks       string     `json:"leaks,omitempty"` // "": "warn"
	Patterns    bool       `json:"leak_patterns,omitempty"`
}

type commandJSON struct {
	Name string     `json:"name"`
	Args [][]string `json:"args,omitempty"` // none: any
	Envs []string   `json:"envs,omitzero"`  // nil: all variables
	Rule string     `json:"rule,omitempty"`
}

type netJSON struct {
	Host       string `json:"host"`
	Scheme     string `json:"scheme,omitempty"`
	Ports      []int  `json:"ports,omitempty"` // none: every one
	PathPrefix string `json:"path_prefix,omitempty"`

	Methods []string `json:"methods,omitempty"`
	Secrets []string `json:"secrets,omitempty"` // names of variables

	Allow bool   `json:"allow"`
	Rule  string `json:"rule"`
}

type secretJSON struct {
	Env     string   `json:"env"`
	File    string   `json:"file,omitempty"`
	Command []string `json:"command,omitempty"`
	Rule    string   `json:"rule"`
}

func (p *Profile) document() profileJSON {
	out := profileJSON{
		Server: p.Server, Tool: p.Tool, Program: p.Program, Argv: list(p.Argv), Dir: p.Dir, Workspace: p.Workspace,
		Home: p.Home, HomePrivate: p.HomePrivate, Default: p.Default,
		Entries: append([]Entry{}, p.Entries...), Links: list(p.Links), HomeLinks: p.HomeLinks, Env: append([]Variable{}, p.Env...),
		Net: p.netDocument(), Secrets: p.secretsDocument(), Commands: commandsDocument(p.Commands),
		AndCommands: commandsDocument(p.AndCommands),
		Unprotected: list(p.Unprotected), ListOnly: p.ListOnly, GitDirs: p.GitDirs, GitConfig: p.GitConfig, IgnoreCase: p.IgnoreCase,
		Programs: p.Programs, Loaders: p.Loaders, CommandArgs: p.CommandArgs, Withheld: list(p.Withheld),
		Inbound: p.Inbound, Optional: p.OptionalInbound, Limits: p.Limits, Waive: list(p.Waive),
		Startup: p.Startup.Seconds(), Call: p.Call.Seconds(), Roots: p.Roots, Patterns: p.LeakPatterns,
	}
	if p.Leaks != LeaksWarn {
		out.Leaks = p.Leaks
	}
	if p.Undo.On() {
		out.Undo = &p.Undo
	}
	for i, e := range out.Entries {
		if e.Named == e.Path {
			out.Entries[i].Named = ""
		}
	}
	for i, v := range out.Env {
		if v.Secret {
			out.Env[i].Value = ""
		}
	}
	return out
}

func (p *Profile) netDocument() any {
	out := make([]netJSON, 0, len(p.Net))
	for _, r := range p.Net {
		ports := r.Ports()
		if !r.Allow && r.Port == 0 {
			ports = nil
		}
		out = append(out, netJSON{r.Host, r.Scheme, ports, r.PathPrefix, r.Methods, r.SecretNames(), r.Allow, r.Where})
	}
	if len(out) == 0 {
		return []string{}
	}
	return out
}

func (p *Profile) secretsDocument() any {
	var out []secretJSON
	for _, s := range p.Secrets {
		out = append(out, secretJSON{s.Env, s.File, s.Command, s.Where})
	}
	return unlessEmpty(out)
}

func commandsDocument(commands []Command) any {
	if commands == nil {
		return nil
	}
	out := make([]commandJSON, 0, len(commands))
	for _, c := range commands {
		out = append(out, commandJSON{Name: c.Name, Args: c.Args, Envs: c.Envs, Rule: c.Where})
	}
	return out
}

func unlessEmpty[T any](s []T) any {
	if len(s) == 0 {
		return nil
	}
	return s
}

// list makes sure that JSON says [] and not null.
func list[T any](in []T) []T {
	if in == nil {
		return []T{}
	}
	return in
}

// Key returns a digest by which equal profiles can be found again: the same on every
// run. Files enter with their identity. The values of secret variables do not enter, so
// that the digest can be printed.
func (p *Profile) Key() string {
	ids := make([]FileID, len(p.Entries))
	for i, e := range p.Entries {
		ids[i] = e.ID
	}
	text, err := json.Marshal(struct {
		P        profileJSON
		IDs      []FileID
		Commands any
		And      any
		Own      []string
		Hidden   []string
		OneHost  bool
	}{p.document(), ids, unlessEmpty(p.Commands), unlessEmpty(p.AndCommands), p.OwnPrograms, p.Hidden, p.OneHost})
	if err != nil {
		panic(err) // no float but those of durations, no cycle, no channel
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// ListItems returns what a word of a command line, or the value of a variable, lists on a system as in
// runtime.GOOS: the paths and URLs between commas or between the separators of PATH, and dir for "dir/*".
// A word that lists nothing is its only item.
func ListItems(system, word string) []string {
	items, separators := []string{word}, []string{":", ","}
	if system == "windows" {
		separators[0] = ";"
	}
	for _, separator := range separators {
		list := slices.DeleteFunc(strings.Split(word, separator), func(item string) bool { return item == "" })
		if len(list) > 1 && !slices.ContainsFunc(list, func(item string) bool { return !strings.ContainsAny(item, `/\`) }) {
			items = list
		}
	}
	for i, item := range items {
		items[i] = strings.TrimSuffix(strings.TrimSuffix(item, "/*"), `\*`)
	}
	return items
}
