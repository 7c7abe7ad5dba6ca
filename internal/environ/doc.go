// Package environ has the one table of the environment variables that act outside of a server's
// jail: on mcp-jail itself, and on the programs that it runs for the user.
//
//   - [Build] makes the environment of a program from the table. A program gets the variables of
//     its reader, and no others.
//   - [MaySet] reports whether an entry of a client's file may set a variable: the client gives it
//     to mcp-jail too, and not to the server alone. A project may have brought the file. What acts
//     only on fetching packages does not act on a line for which mcp-jail fetches none.
//   - [Loads] reports whether a variable brings code into a server, which a preset is not for.
//   - [Rows] is the table, for docs/reference.md.
//
// A name that the table does not have is read by nothing outside, so every entry may set it, if it
// is one name for all programs: see [IsName]. The table therefore also has families of variables
// that nothing reads today, such as DESTDIR: the programs in question would obey them.
//
// What a jail gives to its server is decided elsewhere, by the rules of docs/policy.md.
package environ
