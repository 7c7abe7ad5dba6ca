package hostfs

import (
	"path"
	"slices"
	"strings"
)

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
