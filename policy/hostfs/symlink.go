package hostfs

import (
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path"
	"runtime"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/mcp-jail/mcp-jail/policy"
)

// maxLinks is the bound of the kernel (path_resolution(7)).
const maxLinks = 40

// errLoop is the error for a chain of symbolic links that does not end.
var errLoop = errors.New("too many symbolic links: the path is a loop")

// A ResolvedPath is the result of following a path.
type ResolvedPath struct {
	Path string // canonical; where the tail is missing, the nearest existing ancestor and the tail
	// missing is the first component that does not exist, "" when all do.
	missing string
	// Reason says why the component counts as missing; "" if it does not exist.
	Reason string
	// Unsearchable is the directory that could not be searched, if that is the reason.
	Unsearchable string
	Info         FileInfo      // of Path; zero if a component is missing
	Links        []policy.Link // every symbolic link that was crossed, in order
}

func (p ResolvedPath) Exists() bool { return p.missing == "" }

// A LinkResolver follows paths on a host and remembers the answers, because one start asks
// about the same few directories many times.
type LinkResolver struct {
	host      *Host
	stats     map[string]*lstatResult
	followed  map[string]ResolvedPath // the answers of Resolve: a start asks three times for most of some 600 paths
	spellings map[string][]DirEntry   // of directories: see spelled
	// Listings are the entries of directories about which a start asks many questions, most
	// of them about files that do not exist. One listing answers all of these.
	Listings map[string][]DirEntry
}

type lstatResult struct {
	Info   FileInfo
	target string // of a symbolic link
	Err    error  // fs.ErrNotExist itself if the path does not exist
	// canonical reports that Resolve came here and found the path canonical as it was asked for.
	canonical bool
}

// absent is the answer of Lstat for a path that isMissing. It must not be changed.
var absent = lstatResult{Err: fs.ErrNotExist}

func NewLinkResolver(h *Host) *LinkResolver {
	return &LinkResolver{host: h, stats: map[string]*lstatResult{}, followed: map[string]ResolvedPath{}, Listings: map[string][]DirEntry{}}
}

// ReadAhead lists a canonical directory, so that later questions about its names need no
// system call. It does so on Linux only, and not where case is ignored (vfat, a Windows
// drive in WSL, ext4 with casefold): such a directory finds names that it does not list.
func (f *LinkResolver) ReadAhead(dir string) {
	if _, known := f.Listings[dir]; known || f.host.OS != "linux" {
		return
	}
	// A listing that was read in part proves nothing about the names that it lacks.
	if entries, err := f.List(dir); err == nil && !f.isCaseInsensitive(dir, entries) {
		f.Listings[dir] = entries
	}
}

// isCaseInsensitive reports whether a directory may find a name under another case. It takes the
// first name that contains a letter, and asks for it with the case of its first letter changed.
func (f *LinkResolver) isCaseInsensitive(dir string, entries []DirEntry) bool {
	for _, e := range entries {
		if other := OtherCase(e.Name); other != e.Name {
			return f.Lstat(path.Join(dir, other)).Err != fs.ErrNotExist && !contains(entries, other)
		}
	}
	return false
}

// OtherCase returns a name with the case of its first letter changed.
func OtherCase(name string) string {
	for i, c := range []byte(name) {
		if c|0x20 >= 'a' && c|0x20 <= 'z' {
			return name[:i] + string(c^0x20) + name[i+1:]
		}
	}
	return name
}

func contains(entries []DirEntry, name string) bool {
	return slices.ContainsFunc(entries, func(e DirEntry) bool { return e.Name == name })
}

// Lstat returns the attributes of p and, for a symbolic link, its target.
func (f *LinkResolver) Lstat(p string) *lstatResult {
	if s, ok := f.stats[p]; ok {
		return s
	}
	if f.isMissing(p) {
		return &absent
	}
	s := new(lstatResult)
	if s.Info, s.Err = f.host.Lstat(p); s.Err == nil && s.Info.Mode&fs.ModeSymlink != 0 {
		s.target, s.Err = f.host.Readlink(p)
	}
	if s.Err != nil && errors.Is(s.Err, fs.ErrNotExist) {
		s.Err = fs.ErrNotExist
	}
	f.stats[p] = s
	return s
}

// isMissing reports whether the answers so far show that p does not exist. They do, on every
// filesystem, if a directory above does not exist.
func (f *LinkResolver) isMissing(p string) bool {
	for p := range Upward(p) {
		if s, asked := f.stats[p]; asked {
			return s.Err == fs.ErrNotExist // if it exists, so do the directories above
		}
		dir, name := Split(p)
		if entries, listed := f.Listings[dir]; listed {
			// Beyond ASCII, one name has several spellings on some filesystems.
			return !contains(entries, name) && !strings.ContainsFunc(name, func(r rune) bool { return r >= utf8.RuneSelf })
		}
	}
	return false
}

// Saw forgets answers that deny p, which the host was just found to have: it may have been made
// since it was asked for.
func (f *LinkResolver) Saw(p string) {
	clear(f.followed)
	for p := range Upward(p) {
		if s, asked := f.stats[p]; asked {
			if s.Err != fs.ErrNotExist {
				return // so the directories above were found, too
			}
			delete(f.stats, p)
		}
		dir, name := Split(p)
		if entries, listed := f.Listings[dir]; listed && !contains(entries, name) {
			delete(f.Listings, dir)
		}
	}
}

// Split returns path.Dir and path.Base of a clean absolute path. The base of "/" is "". A path
// without a slash is in the directory ".".
func Split(p string) (dir, name string) {
	i := strings.LastIndexByte(p, '/')
	if i < 0 {
		return ".", p
	}
	return p[:max(i, 1)], p[i+1:]
}

// Upward returns a clean path and the directories above it, without the root. It ends for every
// path: one of Windows has no slash, and a relative one ends before ".".
func Upward(p string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for p != "/" && p != "." && p != "" && yield(p) {
			p, _ = Split(p)
		}
	}
}

// Resolve follows an absolute path as docs/policy.md "Filesystem rules" defines: it cleans
// the text, then goes through symbolic links component by component, as long as the
// components exist, and appends the rest. The only error is a loop.
func (f *LinkResolver) Resolve(p string) (ResolvedPath, error) {
	if at, known := f.followed[p]; known {
		return at, nil
	}
	at, err := f.follow(p)
	if err == nil {
		at.Links = slices.Clip(at.Links) // so that no caller appends to those of another
		f.followed[p] = at
	}
	return at, err
}

// follow is Resolve without the earlier answers of it.
func (f *LinkResolver) follow(p string) (ResolvedPath, error) {
	p = path.Clean(p)
	out, todo := f.from(p)
	for crossed, asWritten := 0, true; todo != ""; { // asWritten: out.Path is a part of p
		var name string
		name, todo, _ = strings.Cut(todo, "/")
		switch name {
		case "", ".":
			continue
		case "..":
			out.Path = path.Dir(out.Path) // canonical so far: lexical is right
			out.Info = f.Lstat(out.Path).Info
			continue
		}
		next := path.Join(out.Path, name)
		s := f.Lstat(next)
		err := s.Err
		if err != nil && err != fs.ErrNotExist {
			out.Unsearchable = out.Path
		}
		if err == nil && !out.Info.Mode.IsDir() {
			err = fmt.Errorf("%s is not a directory", out.Path)
		}
		if err != nil {
			// No link can be followed after a missing component, so dots there are
			// resolved as text.
			return out.without(next, path.Join(next, todo), err), nil
		}
		if listed := f.spelled(out.Path, name, s.Info); listed != name {
			next, asWritten = path.Join(out.Path, listed), false
		}
		if s.Info.Mode&fs.ModeSymlink != 0 {
			asWritten = false
			if crossed++; crossed > maxLinks {
				return out, errLoop
			}
			out.Links = append(out.Links, policy.Link{Path: next, Target: s.target})
			todo = s.target + "/" + todo
			if strings.HasPrefix(s.target, "/") {
				out.Path = "/"
			}
			out.Info = f.Lstat(out.Path).Info
			continue
		}
		out.Path, out.Info = f.firmlinked(next, s.Info), s.Info
		asWritten = asWritten && out.Path == next
		s.canonical = s.canonical || asWritten
	}
	return out, nil
}

// from returns where Resolve begins: at the directory of a clean path if an earlier answer shows that
// this directory is canonical, else at the root. todo is the rest of the path.
func (f *LinkResolver) from(p string) (out ResolvedPath, todo string) {
	dir, name := Split(p)
	if s := f.stats[dir]; s != nil && s.canonical {
		return ResolvedPath{Path: dir, Info: s.Info}, name
	}
	return ResolvedPath{Path: "/", Info: f.Lstat("/").Info}, p[1:]
}

// without returns the result for a path of which a component is missing.
func (p ResolvedPath) without(missing, whole string, err error) ResolvedPath {
	p.Path, p.missing, p.Info = whole, missing, FileInfo{}
	if err != fs.ErrNotExist {
		p.Reason = err.Error()
	}
	return p
}

// Canonical returns the canonical form of a path, or the path itself if its links form a loop.
func (f *LinkResolver) Canonical(p string) string {
	at, err := f.Resolve(p)
	if err != nil {
		return path.Clean(p)
	}
	return at.Path
}

// List returns the entries of a canonical directory in any order, as [Host].ReadDir does.
func (f *LinkResolver) List(dir string) ([]DirEntry, error) {
	if entries, known := f.Listings[dir]; known {
		return entries, nil
	}
	if f.isMissing(dir) {
		return nil, fs.ErrNotExist
	}
	return f.host.ReadDir(dir)
}

// Names returns the names in a canonical directory, sorted. It may return those that it could read
// together with an error.
func (f *LinkResolver) Names(dir string) (names []string, err error) {
	entries, err := f.List(dir)
	for _, e := range entries {
		names = append(names, e.Name)
	}
	slices.Sort(names)
	return names, err
}

// ReadStart follows a path and returns the first 4096 bytes of the regular file there, or none.
func (f *LinkResolver) ReadStart(p string) string {
	at, err := f.Resolve(p)
	if err != nil || !at.Exists() || !at.Info.Mode.IsRegular() {
		return ""
	}
	head, err := f.host.ReadHead(at.Path, 4096)
	if err != nil {
		return ""
	}
	return string(head)
}

// UpFromLink returns the first symbolic link in an absolute path after which ".." leads elsewhere
// than the text says, or "". Resolve, and most programs, take ".." out of the text. The kernel goes up
// from where the link leads.
func (f *LinkResolver) UpFromLink(p string) string {
	at := "/"
	for name := range strings.SplitSeq(p, "/") {
		if name != ".." {
			at = path.Join(at, name)
			continue
		}
		from, err := f.Resolve(at)
		up, errUp := f.Resolve(path.Dir(at))
		if err != nil || errUp != nil || path.Dir(from.Path) != up.Path {
			return at
		}
		at = path.Dir(at)
	}
	return ""
}

// Exists reports whether a path leads to an object.
func (f *LinkResolver) Exists(p string) bool {
	at, err := f.Resolve(p)
	return err == nil && at.Exists()
}

// ResolveLinks follows a path of this machine. It returns the canonical path and every
// symbolic link on the way.
func ResolveLinks(p string) (real string, links []policy.Link, err error) {
	at, err := localLinks().Resolve(p)
	if err == nil && !at.Exists() {
		err = fs.ErrNotExist
	}
	return at.Path, at.Links, err
}

// UpFromLink is [LinkResolver.UpFromLink] on this machine.
func UpFromLink(p string) string { return localLinks().UpFromLink(p) }

func localLinks() *LinkResolver {
	return NewLinkResolver(&Host{Lstat: lstat, Readlink: os.Readlink, ReadDir: readDir, OS: runtime.GOOS})
}

// SelectedTools is the link of macOS to the developer tools that the programs in /usr/bin start.
const SelectedTools = "/private/var/db/xcode_select_link"

// developerDirs are where the developer tools of macOS are, the selected ones first.
var developerDirs = []string{SelectedTools, "/Applications/Xcode.app/Contents/Developer", "/Library/Developer/CommandLineTools"}

// standIns are the programs in /usr/bin of macOS that only start those of the developer tools. Where
// there are no tools, they open a dialog that asks to install them, and wait.
var standIns = strings.Fields("git git-receive-pack git-shell git-upload-archive git-upload-pack python3 pip3 pydoc3 2to3 make gnumake " +
	"cc c++ c89 c99 gcc g++ clang clang++ clangd cpp ld lldb swift swiftc ar as nm otool lipo ranlib strip strings size libtool dwarfdump dsymutil install_name_tool codesign_allocate " +
	"m4 gm4 bison yacc flex lex indent gperf ctags rpcgen mig xcodebuild xed xcrun actool ibtool genstrings desdp sdef sdp")

// StandIn reports whether a program is one of macOS that only starts a developer tool. real is that
// tool; it is "" if the tools are not installed.
func (f *LinkResolver) StandIn(program string) (real string, ok bool) {
	if f.host.OS != "darwin" {
		return "", false
	}
	at, err := f.Resolve(program)
	name := path.Base(at.Path)
	if err != nil || path.Dir(at.Path) != "/usr/bin" || !slices.Contains(standIns, name) {
		return "", false
	}
	for _, dir := range developerDirs {
		for _, below := range [...]string{"usr/bin", "Toolchains/XcodeDefault.xctoolchain/usr/bin"} {
			bin := f.Canonical(path.Join(dir, below))
			if f.IsProgram(path.Join(bin, name)) {
				return path.Join(bin, name), true
			}
		}
	}
	return "", true
}

// NoTools says why a stand-in is not started, and what to do.
const NoTools = "is a stand-in of macOS that asks in a dialog to install Apple's developer tools, which are not installed: run xcode-select --install, or install the program by Homebrew"
