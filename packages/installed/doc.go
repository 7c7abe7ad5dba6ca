// Package installed replaces the command line of a package launcher by that of the program that
// the launcher would run.
//
//	finder := installed.Finder{Store: ..., LockFile: ..., Host: &host}
//	program, err := finder.Find(ctx, line)
//	...
//	err = program.Check(ctx) // before the first instruction of the program
//
// The program is the one that the lock file pins, from the store. Nothing is fetched, and no
// launcher runs: ErrNotInstalled says that package install has work to do. It is an error if npx
// would run a package of the project instead, or ask another registry. For a line of the user's own
// configuration the pinned package runs all the same, and Program.Local names what npx would have
// run: a project could otherwise put its own program in the place of the pinned one.
//
// Find begins the comparison of the installed files with the lock file and does not wait for
// it. Check waits.
//
// # Interpreters
//
// An [InterpreterFinder] finds node and python on this machine. It looks in
// PATH, on macOS in Homebrew, and in the directories of version managers (nvm, fnm, volta, asdf, mise,
// nodenv and n for node; pyenv, asdf, mise and uv for python); [Found.Choose] prefers the one that
// PATH gives, which npx would have used.
//
// The finder runs no program. If the path of an interpreter in the directory of a version manager
// names its version, Find reads it from there. Otherwise it asks InterpreterFinder.Version. An interpreter must meet
// these conditions, and is no candidate at all if it does not:
//
//   - Its path is absolute. Relative entries of PATH do not count.
//   - Only the user or root could have put it there: every directory and link on the way,
//     and the file, belong to one of them, and no other user may write them.
//   - The caller knows no server that may write it: see [InterpreterFinder].
//   - Its name, after all links, is that of an interpreter. Shims of version managers are
//     no candidates; the program that they would start is looked up in their files. The
//     stand-ins of macOS in /usr/bin, such as python3, count as the developer tool that they
//     start, and are refused where there is none: they would open a dialog.
//
// Limits:
//
//   - It is for Linux and macOS. On Windows no packages are fetched.
//   - mise.toml is not read: a shim of mise counts as .tool-versions says, or as the newest version.
//   - Virtual environments count as the interpreter that they are made from.
//
// # Programs that work for mcp-jail
//
// A [Jail] runs npm, pip and uv, the scripts of packages, and interpreters that are asked for their
// version. Each gets a jail of package confine, with less than a server has: no workspace, no variable
// of the user's, one directory to write, and no host but the registries that are named.
//
// The jail is strict. Where this host cannot make it, the program does not run.
//
// # Limits
//
//   - What npm or uv has installed globally is not looked at, although npx and uvx would run it. Nor
//     is a package inside another one's node_modules.
//   - A package of the project stops a line also if it has another version than the line asks for.
package installed
