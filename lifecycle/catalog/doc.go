// Package catalog keeps the answers of a server to initialize, server/discover and
// requests for lists. A session with a process for each call can then list the
// tools without starting a process.
//
// A [Catalog] is a directory with one file for each server and [Key]. The key
// digests everything that such answers may depend on: the version of mcp-jail, the
// profile of the discovery process with the values of its variables, the
// [Fingerprint] of the program and its package, the era of the protocol, and the
// client's description of itself. If one of them changes, another file is used, so
// no file must be invalidated. Within an [Entry], [Request] names an answer by its
// method and params, and [TTL] says whether and how long a result may be kept.
//
//	print, err := catalog.Fingerprint(profile) // before the process is started
//	key := catalog.Key(catalog.Facts{Version: version, Profile: profile, Fingerprint: print, Era: "legacy", Client: params})
//	entry, ok := c.Get(server, key)            // only the fresh answers
//	err = c.Put(server, key, entry)            // replaces the whole entry, and prunes
//
// # What is trusted
//
// A file is used only if package private opens it, it belongs to the user and not to
// root, and the content has the form that [Catalog.Put] writes for this name. Any other
// file counts as missing, without an error, and the server is asked again.
// resolve.Resolve keeps the directory out of every server's reach. Files are replaced by
// a rename, so that a reader sees the old or the new one, and of two writers the last one
// wins.
//
// # Bounds
//
//	file       8 MiB, mode 0600; the directory has 0700
//	files      32 a server, 256 and 64 MiB in all; the least recently used go first
//	time       at most a day for an answer with a TTL, 30 days for one without; a
//	           clock that was set back makes everything expire
//
// # Limits
//
//   - A fingerprint sees files that the profile counts to the program, files that arguments name, and
//     the manifests around them. An edit inside a package is not seen, nor a library that a binary loads.
//   - Data that a server reads beside its program (the network, a directory, the
//     workspace) may change its answers too. So the caller must revalidate answers
//     without a TTL in the background.
//   - Answers keep their bytes, a ttlMs in them included. A client counts a ttlMs
//     from when it gets the answer, so the caller must lower it.
//   - A key depends on the values of secret variables. A reader of the directory who
//     knows all other facts can test a guess of such a value.
//   - On systems other than Linux, macOS and FreeBSD nothing is cacheable.
package catalog
