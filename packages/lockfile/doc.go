// Package lockfile reads and writes mcp-jail.lock. For each spec of a launcher's line, the file
// names the exact package that mcp-jail installed, its whole tree and the definitions of its tools.
//
// The file is JSON, with its packages in a stable order and indented, so that a merge or a comparison
// of two versions reads well. [Find] reads one entry, [Load] reads all, [Update] changes the file, and [Diff]
// tells in words what an update changes.
//
//	{
//	  "version": 1,
//	  "packages": [
//	    {
//	      "ecosystem": "npm",
//	      "spec": "server-files@latest",
//	      "name": "server-files",
//	      "version": "1.2.3",
//	      "file": "node_modules/server-files/dist/index.js",
//	      …
//	      "lock": { npm's package-lock.json },
//	      "pins": { "default": { "tools": [ { "name": "read_file", "definition": { … } } ] } }
//	    }
//	  ]
//	}
//
// # What is kept
//
// The user's "note" in a package is kept, and so is npm's package-lock.json as npm has written it, but
// for its white space. The order of the user's own is lost at the next change. A member that this
// version does not know is an error, so nothing is dropped. A format with more members has another
// version number.
//
// # Limits
//
//   - [Find] does not check what the other entries say, and [Load] not what npm's lock files in them
//     say: [Entry.List] does.
//   - A file has at most 32 MiB.
//   - [Update] takes an advisory lock of the directory. Without such locks, it only compares the
//     file shortly before it replaces it, and a change in between is lost.
//   - On Windows, owners and modes are not checked.
//   - Whether a jailed server could write the file is for the caller to decide.
package lockfile
