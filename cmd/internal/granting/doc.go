// Package granting adds grants to the policy of a server, and takes them away, as mcp-jail grant
// does. A grant is a [Flag] of mcp-jail run.
//
//   - [Split] and [Add] take apart and change the flags of a command line.
//   - A [Scope] is a policy on this host: [Scope.Grants] reports whether it grants a flag already.
//   - A [Person] has the directory and the home of the user who typed a path: [Person.Path] returns
//     the path as every directory reads it alike.
//
// The package reads the file system, and writes nothing.
package granting
