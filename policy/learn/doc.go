// Package learn turns what a watched server did into the smallest policy that lets it do that again.
// It is pure: it imports neither os nor syscall, and what it must know of the host it asks by [Facts].
//
// [Learn] takes observations and returns a [Result]: rules with a comment each, and what it left out
// with the reason. Result.TOML writes both as the table of a server, Result.Server as package config
// has it. [Judge] tells whether a profile would have refused an observation. [Mentions] finds the
// variables that a source file names.
//
// # What is never granted
//
// A sensitive path, a name that the host runs or trusts, a socket of another program, an address, and
// a host that only counts its users. Each is named in a comment, with the tool that wanted it. A
// directory that holds more than the server's own work is not granted for the sake of files in it.
//
// # Limits
//
//   - All text of an observation comes from the server. It is quoted in comments, and the document has
//     a bounded number of lines. What is capped is counted, never granted.
//   - What was not seen is not guessed: a tool that was not called has no rule.
//   - The order of the observations makes no difference, and Learn reads no clock.
package learn
