// Package rootfs builds the root filesystem of a jail with namespaces.
//
// A [Builder] starts with an empty tmpfs and attaches only what the spec lists: clones of
// granted files and directories, the jail's own /dev, /proc and temporary directories,
// overlays, and masks over hidden paths. It works on descriptors. [Builder.OpenSources] opens
// each source without following a symlink, checks that it is the object that the profile was
// resolved to, and clones it, all before anything is attached. So no name is looked up twice.
//
// # Order
//
//	PrivateFS.Make   /dev, /dev/pts, /proc and the root, the same for every jail
//	OpenSources      clone the granted objects
//	MountOverlays    put an overlay in the place of a clone
//	Build            attach all of it, and make it the root (pivot_root(2))
//	SealProc         set the sysctls of the namespaces, make /proc read-only
//
// Every step makes its system calls through a task of package stub, in the jail's mount
// namespace. The methods work with tasks that make each call at once, and with tasks that
// record a batch.
//
// # Limits
//
// The package needs the mount API of Linux 5.12 (mount_setattr(2)). A file that the host
// replaces by a rename loses its mask.
package rootfs
