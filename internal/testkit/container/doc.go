// Package container makes what a container runtime makes, for tests: namespaces, a root, a /proc
// with covered paths, the default capabilities, and a seccomp filter. The filters come from the
// JSON profile that Debian's golang-github-containers-common installs, which is read when a test
// runs.
//
// A test binary registers Main under Name, and starts a command with Container.Around:
//
//	testkit.Programs{container.Name: container.Main}.Dispatch()
//	cmd = container.Container{Filter: container.Moby(t)}.Around(t, cmd)
//
// The kernel removes all of it with the last process of the container. The covered paths, mounts
// and capabilities are those of github.com/moby/moby/oci/defaults.go.
//
// Limits: no cgroup is made, and no AppArmor profile is loaded. The root is the host's or a
// directory, never an image.
package container
