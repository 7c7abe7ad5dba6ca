// Package install fetches the packages that launchers such as npx are asked for, and pins
// them. Only the companion program uses it.
//
//	i := &install.Installer{Store: ..., LockFile: ..., Host: host}
//	r, err := i.Install(ctx, &line) // unless it is installed
//	u, err := i.Update(ctx, &line)  // the newest, beside the pinned one
//	err = i.Accept(u)               // after the user has agreed
//	r, err = i.Repair(ctx, &line)   // the pinned one again
//
// npm itself resolves, fetches and unpacks. It runs in a jail that reaches the registries of
// the user's npm configuration and no other host, with a HOME of its own, without a workspace,
// and without the user's variables. The credentials of those registries are the only secrets
// there.
//
// Scripts of packages run only if Installer.Scripts is set, or if they ran when the line was
// pinned: each package's in a jail of its own without a network, without credentials and without npm's cache. The Result lists the
// attempts that the jail refused, with the package that made them.
//
// An installation works in a stage of package store. If it is interrupted, the next one goes on
// with the files that this one has fetched. Nothing outside of the stage changes before the tree is
// complete, and before it is known that it is the pinned one.
//
// The user's own cache of npm may save the download of an archive, and decides nothing: a server
// may have written it. The jail sees its content, read-only, and no index. npm asks the registry
// for the metadata of each package, and takes an archive from the cache only by the integrity in
// them. The caches of pip and uv are not used.
//
// Packages of a Python index are resolved and fetched by uv if the user has it, and otherwise by
// the pip of the user's Python. The jail reaches the indexes of the user's configuration. Wheels are
// installed, which runs none of their code: the kernel starts nothing after pip, and after uv only the
// Python that it asks about itself. pip builds a source distribution only if scripts may run, in a jail
// of its own without a network. With uv, none is built. The modules are compiled when they are
// installed, because a server cannot write beside them. On Windows nothing is fetched.
//
// # Limits
//
//   - npm 7 or newer. Its configuration and pip's are read from their files and variables, as these
//     programs read them in HOME. For npm, the variables PREFIX and DESTDIR do not count: they would
//     name another global file. If a server may write one of the files, nothing is installed.
//   - A jail with namespaces does not record refused reads: a script that looks for keys finds none,
//     and is not named for it.
//   - The egress of the jail uses the proxy of npm's configuration, which becomes a variable of
//     this process. A proxy that needs another form than a URL is not used.
//   - uv is tested with a stand-in only. With pip, all indexes count alike, also those that uv would
//     ask one after the other.
//   - On a system with musl, pip starts the loader to learn its version, and fails.
//   - Packages from git are not fetched: the jail reaches registries only.
//   - Metadata that an interrupted installation has fetched may be old. The next one then takes the
//     version that was the newest at that time; an update always asks the registry.
//   - Without a network nothing is installed, also if the user's cache has everything.
//   - For a package that is pinned, npm takes only versions that were published before the pin. If
//     a registry does not tell when they were published, npm takes the newest ones, and the
//     installation is refused if they differ from the pinned ones.
package install
