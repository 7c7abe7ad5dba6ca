// Package seatbelt compiles a profile to the language of macOS's sandbox. It is pure.
//
// A text denies everything, then allows the tree of each entry for each operation, and denies what is not granted
// in it: of the rules about an operation, the last that matches decides. Operations are named one by one, because
// a rule about a group of them and a rule about one of it do not override each other as one expects. An allow has
// a path and no condition, because one with a condition may be taken for more precise than a later deny.
//
// Probe F1 of the self-test tells whether a system removes and renames directories under such texts. It did
// not where codex wrote patterns (openai/codex#40565): a deny of each directory that might hold a match,
// and "**" matches all of them. No text here has that.
//
// The text is as strict as [policy.Profile.Allows], and stricter in these places:
//   - The directories on the way to a name that must not come into being cannot be made.
//   - A directory with the name .github or .hg cannot be made, because one with contents could be
//     moved there.
//   - Names are judged in every spelling that some disk might take for them, also where the disk
//     does not.
//   - Packages in node_modules are exempt from the rules about names, but not where the node_modules
//     is below a protected name, or in what a rule grants below one.
//   - In the git directories of submodules and worktrees, a name inside the name of a branch counts
//     if a protected name is before it, or .git behind it.
//   - In the git directories of submodules and worktrees, no directory can be made but for objects,
//     references and their logs: Seatbelt cannot tell it from one that is moved there with contents.
//   - A file in the git directory of a submodule that a rule names is written, but not replaced: a link
//     could take its place.
//   - A rule for /tmp, or for what is around it, does not reach the TMPDIR of another server.
//
// Begin at [Compile].
package seatbelt

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcp-jail/mcp-jail/policy"
)

// Compile returns the text of a profile. An error is a [PathError].
func Compile(in Input) (Text, error) {
	p := in.Profile
	if in.TempDir != "" {
		p = withTempDir(p, in.TempDir)
	}
	if err := checkPaths(p, in.Self); err != nil {
		return Text{}, err
	}
	rest := ""
	if !in.NoFork {
		rest += fork
	}
	if p.RightsAt("/dev/ptmx").Has(policy.Read | policy.Update) {
		rest += pty
	}
	f := newFiles(p)
	sockets := f.sockets()
	if len(sockets) > 0 {
		rest += unixSockets
	}
	return write(rest+network(in), append(f.all(), append(sockets, self(in.Self)...)...), in.Without)
}

// Optional are the operations that a text names only where the system knows them.
var Optional = []string{"file-test-existence", "mach-task-name", "system-fsctl", "system-info", "system-mac-syscall"}

// write joins a text.
func write(rest string, rules []rule, without []string) (Text, error) {
	w := &writer{names: map[string]string{}}
	w.WriteString("(version 1)\n(deny default)\n")
	for _, r := range rules {
		w.rule(r, without)
	}
	if w.err != nil {
		return Text{}, w.err
	}
	w.WriteString(dropped(start+rest, without))
	return Text{Profile: w.String(), Params: w.params}, nil
}

// checkPaths returns an error for a path of the profile that no text can name.
func checkPaths(p *policy.Profile, self string) error {
	list := append([]string{self}, p.Unprotected...)
	for _, e := range p.Entries {
		list = append(list, e.Path)
	}
	for _, l := range p.Links {
		list = append(list, l.Path)
	}
	for _, paths := range [][]string{p.ListOnly, p.GitDirs, p.Programs} {
		list = append(list, paths...)
	}
	for _, name := range list {
		why := unfit(name)
		if why == "" && strings.Contains(name, "//") {
			why = "it has two slashes"
		}
		if why != "" {
			return &PathError{name, why}
		}
	}
	return nil
}

// dropped returns a text of the base without some operations: without the rule if it has no other.
func dropped(text string, ops []string) string {
	if len(ops) == 0 {
		return text
	}
	head, rest, _ := strings.Cut(text, "(allow ")
	for rule := range strings.SplitSeq(rest, "\n(allow ") {
		end := strings.IndexAny(rule, "(\n)")
		kept := slices.DeleteFunc(strings.Fields(rule[:end]), func(op string) bool { return slices.Contains(ops, op) })
		if comment := strings.Index(rule, "\n;"); len(kept) > 0 {
			space := strings.Repeat(" ", strings.Count(rule[end:end+1], "("))
			head += "(allow " + strings.Join(kept, " ") + space + strings.TrimRight(rule[end:], "\n") + "\n"
		} else if comment >= 0 {
			head += rule[comment+1:] + "\n"
		}
	}
	return head
}

// network returns the text of what is granted of the network. Without hosts and without sockets it is
// nothing: each call fails.
func network(in Input) string {
	out := ""
	if in.ProxyPort != 0 || in.Inbound {
		out += `(allow system-socket
  (require-all (socket-domain AF_INET) (socket-type SOCK_STREAM))
  (require-all (socket-domain AF_INET6) (socket-type SOCK_STREAM)))
`
	}
	if in.ProxyPort != 0 {
		// A filter (local ip ...) here would match every connection.
		out += fmt.Sprintf("; hosts, by the session's own proxy only; Go and Swift ask trustd about certificates\n"+
			"(allow network-outbound (remote ip \"localhost:%d\"))\n"+
			"(allow mach-lookup (global-name \"com.apple.trustd\") (global-name \"com.apple.trustd.agent\"))\n", in.ProxyPort)
	}
	if in.Inbound {
		out += "(allow network-inbound (local ip \"localhost:*\"))\n"
	}
	return out
}

// unixSockets lets a server have UNIX sockets at all. Where is a matter of their paths.
const unixSockets = "(allow system-socket (require-all (socket-domain AF_UNIX) (socket-type SOCK_STREAM)))\n"

// Version changes with each change of the text that Compile writes for the same Input. The
// self-test of a Mac counts for one version only.
const Version = 6

// Input is all that a text depends on.
type Input struct {
	Profile *policy.Profile
	Self    string // the running program, which executes the server from inside
	TempDir string // the server's own TMPDIR, with all rights; "" for none
	// ProxyPort is the port of the session's own proxy on 127.0.0.1 and ::1. 0: no hosts are granted.
	ProxyPort int
	Inbound   bool     // the server may listen on ports
	NoFork    bool     // it may start no process
	Without   []string // optional operations that this system does not know
}

// Text is a profile for sandbox-exec: the text for -f, and NAME=value for each -D.
type Text struct {
	Profile string
	Params  []string
}

// PathError reports a path that no text can name.
type PathError struct{ Path, Why string }

func (e *PathError) Error() string {
	return fmt.Sprintf("the path %q cannot be written in a profile for macOS's sandbox: %s", e.Path, e.Why)
}

// unfit returns why a path cannot be written, or "".
func unfit(p string) string {
	switch {
	case !strings.HasPrefix(p, "/"):
		return "it is not absolute"
	case !utf8.ValidString(p):
		return "it is not UTF-8"
	case strings.ContainsFunc(p, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "it has a control character"
	}
	return ""
}
