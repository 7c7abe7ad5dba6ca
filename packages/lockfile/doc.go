// Package lockfile reads and writes mcp-jail.lock. For each spec of a launcher's line, the file
// names the exact package that mcp-jail installed, its whole tree and the definitions of its tools.
//
// The file is TOML. Each package has a section [ECOSYSTEM."SPEC"], in a stable order, and
// each package of its tree has one line, so that a merge or a comparison of two versions
// reads well. [Find] decodes one section. [Load] decodes all, [Update] changes the file, and
// [Diff] tells in words what an update changes.
//
//	[npm."server-files@latest"]
//	name = "server-files"
//	version = "1.2.3"
//	file = "node_modules/server-files/dist/index.js"
//	…
//	[npm."server-files@latest".packages]
//	"node_modules/zod" = { version = "4.1.0", integrity = "sha512-…" }
//
//	[npm."server-files@latest".pins.default.tools.read_file]
//	hash = "sha256:…"
//	description = "Reads a file."
//
// # What is kept
//
// The user's note = "…" in a section is kept. Comments, and an order or spelling of the
// user's own, are lost at the next change. A key that this version does not know is an
// error, so nothing is dropped. A format with more keys has another version number.
//
// # Limits
//
//   - [Find] does not check what the other sections say: [Load] reports a fault there.
//   - A file has at most 8 MiB.
//   - [Update] takes an advisory lock of the directory. Without such locks, it only compares the
//     file shortly before it replaces it, and a change in between is lost.
//   - On Windows, owners and modes are not checked.
//   - Whether a jailed server could write the file is for the caller to decide.
package lockfile
