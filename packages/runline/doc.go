// Package runline takes apart the command lines of four launchers, which fetch a package and run its
// program: npx, npm exec, uvx and uv tool run.
//
//	line, err := runline.Parse([]string{"npx", "-y", "@modelcontextprotocol/server-memory", "--debug"})
//	line.Packages[0].Name // @modelcontextprotocol/server-memory
//	line.Args             // --debug
//
// Understood are the plain forms, after the wrappers that package wrapper knows:
//
//	npx [-y] [-q] [-p PACKAGE]… NAME[@VERSION] ARGUMENTS
//	npm exec [-y] [-q] [--package=PACKAGE]… [--] NAME[@VERSION] ARGUMENTS
//	uvx [-q] [--from PACKAGE] [--with PACKAGE]… [--python VERSION] NAME[@VERSION] ARGUMENTS
//	uv tool run, as uvx
//
// [Parse] has three outcomes:
//
//   - A [Line]: the packages, the program and its arguments. Each package is one of the registry: NAME
//     and VERSION match its grammar, so that no word can be an address, a file or an alias.
//   - An error that matches [ErrNotLauncher]: the command starts a program directly. Parse finds this
//     out without an allocation.
//   - A [*NotUnderstoodError]: the command is the line of a launcher, and has something else: another
//     option, a variable of npm or uv, another launcher. It runs as it is given, and nothing of it is
//     pinned.
//
// The result decides which code runs, so no word is guessed. The package reads neither files nor the
// environment. The forms are those of npm 7 to 11 and of uv 0.5 and later.
package runline
