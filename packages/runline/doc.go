// Package runline takes apart the command lines of launchers, which fetch a package and run its
// program: npx, npm exec, bunx, pnpm dlx, yarn dlx, uvx, uv tool run, pipx run.
//
//	line, err := runline.Parse([]string{"npx", "-y", "@modelcontextprotocol/server-memory", "--debug"})
//	line.Packages[0].Name // @modelcontextprotocol/server-memory
//	line.Args             // --debug
//
// [Parse] has three outcomes:
//
//   - A [Line]: the packages, the program and its arguments, for the words and variables of
//     the line alone.
//   - An error that matches [ErrNotLauncher]: the command starts a program directly. Parse
//     finds this out without an allocation. An [*ElsewhereError] is such an error, too: the command
//     has another process start the server.
//   - A [*NotUnderstoodError]: the command is a launcher, and the error names the word whose
//     meaning this package does not know for certain. The caller runs the line as it is given.
//
// The result decides which code runs. So no word is guessed: an option that is not in the
// table of its launcher, an abbreviation, a value that begins with a hyphen and a shell
// command that needs a shell all lead to a NotUnderstoodError. Each word of Args is a word
// of the command line, or a word of its quoted shell command.
//
// The package reads neither files nor the environment. A launcher prefers some things on
// the disk to the package that its line names. [Line.Shadows] lists them, and the caller looks for
// them. Variables outside of the line can also change its meaning; the package does not see them.
//
// # Limits
//
//   - The tables describe npm 7 to 11, bun 1.2 and later, pnpm 10 to 12, yarn 2 to 4,
//     uv 0.5 and later, pipx 1.0 and later. The npx of npm 6 and earlier has other rules,
//     and the line does not tell which version it meets.
//   - A program is recognised by its file name: Parse takes /opt/bin/npx for the npx of npm. It
//     does not accept a relative path.
//   - npm 7 and 8 have a shell expand "$" and "`" in a program's arguments. Args has them
//     as they were written, as later versions pass them on.
//   - Commands that fetch a generator (npm init, yarn create, bun create) are no launchers
//     of servers, and count as other programs.
//   - The package does not tell which version a tag or a range stands for. A [Spec] only tells
//     whether the line names one exact version.
package runline
