// Package runtime finds the interpreters of this machine, node and python, and chooses one
// for what a package asks. [Finder.Find] looks in PATH, on macOS in Homebrew, and in the
// directories of version managers (nvm, fnm, volta, asdf, mise, nodenv and n for node; pyenv,
// asdf, mise and uv for python); [Found.Choose] prefers the one that PATH gives, which npx would have used.
//
// # Which interpreters are used
//
// The package runs no program. If the path of an interpreter in the directory of a version manager
// names its version, Find reads it from there. Otherwise it asks Finder.Version. An interpreter must meet
// these conditions, and is no candidate at all if it does not:
//
//   - Its path is absolute. Relative entries of PATH do not count.
//   - Only the user or root could have put it there: every directory and link on the way,
//     and the file, belong to one of them, and no other user may write them.
//   - The caller knows no server that may write it: see [Finder].
//   - Its name, after all links, is that of an interpreter. Shims of version managers are
//     no candidates; the program that they would start is looked up in their files. The
//     stand-ins of macOS in /usr/bin, such as python3, count as the developer tool that they
//     start, and are refused where there is none: they would open a dialog.
//
// # Limits
//
//   - It is for Linux and macOS. On Windows no packages are fetched.
//   - mise.toml is not read: a shim of mise counts as .tool-versions says, or as the newest version.
//   - Virtual environments count as the interpreter that they are made from.
package runtime
