// Package launcher takes a command line apart that has a package fetched and its program
// run: npx, npm exec, bunx, pnpm dlx, yarn dlx, uvx, uv tool run, pipx run.
//
//	line, err := launcher.Parse([]string{"npx", "-y", "@modelcontextprotocol/server-memory", "--debug"})
//	line.Packages[0].Name // @modelcontextprotocol/server-memory
//	line.Args             // --debug
//
// [Parse] has three outcomes:
//
//   - A [Line]: the packages, the program and its arguments, for the words and variables of
//     the line alone.
//   - An error that matches [ErrNotLauncher]: the command starts a program directly. This is
//     found out without an allocation. A [*ContainerError] is one of them.
//   - A [*NotUnderstoodError]: the command is a launcher, and the error names the word that
//     has another meaning than this package knows, or several. The caller runs the line as
//     it is given.
//
// The result decides which code runs. So no word is guessed: an option that is not in the
// table of its launcher, an abbreviation, a value that begins with a hyphen and a shell
// command that needs a shell all lead to a NotUnderstoodError. Each word of Args is a word
// of the command line, or a word of its quoted shell command.
//
// The package reads neither files nor the environment. A launcher prefers some things on
// the disk to the package that its line names; [Line.Shadows] lists them, and the caller
// looks. Variables outside of the line can also change its
// meaning, which the package does not see.
//
// # Limits
//
//   - The tables describe npm 7 to 11, bun 1.2 and later, pnpm 10 to 12, yarn 2 to 4,
//     uv 0.5 and later, pipx 1.0 and later. The npx of npm 6 and earlier has other rules,
//     and the line does not tell which version it meets.
//   - A program is recognised by its file name. That /opt/bin/npx is npm's is taken from the
//     line; a relative path is not accepted.
//   - npm 7 and 8 have a shell expand "$" and "`" in a program's arguments. Args has them
//     as they were written, as later versions pass them on.
//   - Commands that fetch a generator (npm init, yarn create, bun create) are no launchers
//     of servers, and count as other programs.
//   - Whether a tag or range is satisfied by a version is the business of the registry's
//     client. A [Spec] only tells whether one exact version is named.
package launcher
