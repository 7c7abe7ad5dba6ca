// Package download installs the packages of npm's registry faster than npm does alone. It runs inside
// of the jail in which packages are fetched, in place of npm:
//
//	mcp-jail-cli fetch-in-jail NPM DIRECTORY SPEC...
//
// npm decides what the tree consists of. It asks for the metadata of one level of the tree after the
// other, and unpacks with one processor. So this package walks through the metadata ahead of npm, all
// branches at once, puts them into npm's cache, and fetches the archives of the versions that npm will
// probably choose. npm then resolves from the cache, and writes its lock file and no tree. By that
// lock file the archives are put into their places.
//
// An archive is unpacked if its SHA-512 is the one that the registry names, and put into a place if it
// is the one that the lock file names for it. What npm does with an archive is done here in the same
// way: modes, .gitignore, links of programs. For what this package cannot do (archives in
// archives, links, two programs of one name), npm installs the tree, from its cache. The same happens
// after every error.
//
// # Limits
//
//   - Logins are tokens or name and password. With certificates of a client, strict-ssl=false or a
//     setting ca, all is npm's.
//   - A version may be fetched that npm does not choose.
//   - An archive of which a part has arrived is fetched again by the next installation.
package download
