// Package catalog keeps what a server answered to discovery, so that a session
// with a process for each call need not start one to say which tools there are.
//
// A [Catalog] is a directory with one file for each server and [Key]. The key
// holds all that such answers may depend on: the version of mcp-jail, the profile
// of the discovery process with the values of its variables, the [Fingerprint] of
// the program and its package, the era of the protocol, and what the server knows
// of the client. What changes one of them leads to another file; nothing has to be
// invalidated. Within an [Entry], [Request] names an answer by its method and
// params, and [TTL] says whether and how long a result may be kept.
//
//	print, err := catalog.Fingerprint(profile) // before the process is started
//	key := catalog.Key(catalog.Facts{Version: version, Profile: profile, Fingerprint: print, Era: "legacy", Client: params})
//	entry, ok := c.Get(server, key)            // only what is fresh
//	err = c.Put(server, key, entry)            // whole, and prunes
//
// # What is trusted
//
// A file is used only if it and its directory belong to the user, nobody else may
// write them, neither is a symbolic link, and the content is to the letter what
// [Catalog.Put] writes, under the name that it says it has. Everything else is not
// there, without an error: discovery is then made again. policy.Resolve keeps the
// directory out of every server's reach. Files are replaced by a rename, so that a
// reader sees the old or the new one, and of two writers the last one wins.
//
// # Bounds
//
//	file       8 MiB, mode 0600; the directory has 0700
//	files      32 a server, 256 and 64 MiB in all; the least recently used go first
//	time       a day for what has a TTL, 30 days for what has none; a clock that
//	           was set back makes everything expire
//	survey     4096 files and 3 s for a fingerprint
//
// What is looked at for a fingerprint has names that the server may have chosen. Fifos
// are not waited for, devices not opened, and neither a line of a Python path file nor a
// symbolic link leads to what the profile does not let the server read.
//
// # Limits
//
//   - A fingerprint is of what is on this machine: path, size, times and inode of
//     each file. The dependencies of a package count by their lock file, or by the
//     directory and package.json of each: an edit by hand inside of one is not
//     seen. Nor are libraries that a binary loads, code behind a symbolic link to a
//     directory, and what a registry would deliver today to npx or uvx.
//   - What a server reads beside its program (the network, a directory of data,
//     the workspace) may change its answers too. So what has no TTL is to be used
//     and verified in the background, by the caller.
//   - Programs of which it is not known where their code is (shells, containers,
//     Ruby, deno and others) are not cacheable: [ErrNotCacheable].
//   - Answers keep their bytes, a ttlMs in them included: a client that gets one
//     counts it from then on.
//   - The values of secret variables enter a key. Whoever can read the directory
//     and knows all the rest can test a guess of one.
//   - On systems other than Linux, macOS and FreeBSD nothing is cacheable.
package catalog
