// Package store keeps the installed packages of one user: for each package that a launcher
// such as npx was asked for, the tree of files that its installer made.
//
// # Layout
//
//	DIR/npm/@scope+name/1.2.3-0123456789abcdef/tree/     the files, read-only
//	DIR/npm/@scope+name/1.2.3-0123456789abcdef/seal      the files as they were installed
//	DIR/staging/KEY/                                     an installation that is not finished; locked as long as it works
//	DIR/trash/                                           removed trees that are being deleted
//
// The digits are the first ones of a digest of the list of the tree's packages. So two trees with
// one version of a package and different dependencies lie beside one another. All servers and all
// arguments use the same tree.
//
// # A start
//
// Store.Open takes a shared lock on a tree, so that it is not removed while a server runs.
// Tree.Check reports whether the files are those that were sealed. It reads no file: it
// compares the name, mode, size, times, inode and owner of each with the seal. It lists no
// directory: a name that was added or removed changes the times of its directory. If one of them
// differs, for example after a backup was restored, Tree.Check reads all files. Then only other
// names, contents or kinds are a difference: directory, link, executable file or other file.
//
// # An installation
//
// Store.Stage returns the directory of an unfinished installation, with an exclusive lock.
// Stages have a name, so the next installation of the same package continues in the same
// directory, with the files that an interrupted one has fetched. Stage.Seal makes the files
// read-only and seals them in a store inside the stage, from which they can be tried.
// Sealed.Commit moves them to their place by one rename. A tree is therefore complete or not
// there. Store.Sweep deletes old stages.
//
// # Limits
//
//   - The check is against accidents and against programs that the user runs without a jail
//     and that rewrite files as any program does. A program with the user's rights can also
//     rewrite the seal and the lock file.
//   - A power failure shortly after an installation may lose the contents of files that the seal
//     has. Most filesystems then show another size, which the check finds.
//   - Locks are advisory (flock(2)). Where a filesystem has none, the store is not used.
//   - On other systems than Linux, Tree.Check reads all files each time.
//   - On Windows read-only is an attribute of files. Any program of the user can take it away, and
//     files can be added. Tree.Check finds both.
package store
