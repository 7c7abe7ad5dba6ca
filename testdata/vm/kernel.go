package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// A kernel is an image that can be booted. Debian's cloud flavour has all that a
// virtual machine needs built in, so that there are no modules to load.
type kernel struct {
	name    string // as it was asked for
	image   string
	release string
}

// flavour returns the metapackage of the newest image for an architecture.
func flavour(arch string) string { return "linux-image-cloud-" + arch }

// findKernel returns a kernel from the cache. It downloads the kernel first if the cache
// does not have it.
func findKernel(cache, name, arch string) (kernel, error) {
	if strings.HasSuffix(name, ".deb") {
		return unpack(filepath.Join(cache, "unpacked", filepath.Base(strings.Split(name, ",")[0])), name, strings.Split(name, ","))
	}
	a, err := newApt(cache, name, arch)
	if err != nil {
		return kernel{}, err
	}
	// The metapackage depends on the image, and in newer releases the image depends on others.
	var debs []string
	todo := []string{flavour(arch)}
	for len(todo) > 0 {
		pkg := todo[0]
		todo = todo[1:]
		depends, err := a.depends(pkg)
		if err != nil {
			return kernel{}, err
		}
		todo = append(todo, depends...)
		if pkg == flavour(arch) {
			continue
		}
		deb, err := a.download(pkg)
		if err != nil {
			return kernel{}, err
		}
		debs = append(debs, deb)
	}
	if debs == nil {
		return kernel{}, fmt.Errorf("%s: %s names no image", name, flavour(arch))
	}
	return unpack(filepath.Join(cache, "unpacked", filepath.Base(debs[0])), name, debs)
}

func unpack(dir, name string, debs []string) (kernel, error) {
	find := func() (kernel, bool) {
		old, _ := filepath.Glob(filepath.Join(dir, "boot", "vmlinuz-*"))
		merged, _ := filepath.Glob(filepath.Join(dir, "usr/lib/modules/*/vmlinuz"))
		switch {
		case len(old) > 0:
			return kernel{name, old[0], strings.TrimPrefix(filepath.Base(old[0]), "vmlinuz-")}, true
		case len(merged) > 0:
			return kernel{name, merged[0], filepath.Base(filepath.Dir(merged[0]))}, true
		}
		return kernel{}, false
	}
	if k, ok := find(); ok {
		return k, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return kernel{}, err
	}
	for _, deb := range debs {
		if out, err := exec.Command("dpkg-deb", "-x", deb, dir).CombinedOutput(); err != nil {
			return kernel{}, fmt.Errorf("%s: %w\n%s", deb, err, out)
		}
	}
	if k, ok := find(); ok {
		return k, nil
	}
	return kernel{}, fmt.Errorf("%s: there is no vmlinuz in %s", name, strings.Join(debs, ", "))
}

// debianKeys is the key ring of the package debian-archive-keyring. Without that package
// apt uses its own keys.
const debianKeys = "/usr/share/keyrings/debian-archive-keyring.gpg"

// apt is an apt configuration with one suite, one architecture and nothing installed. The
// configuration of this machine only says which mirror to use.
type apt struct{ dir, suite string }

func newApt(cache, suite, arch string) (*apt, error) {
	dir := filepath.Join(cache, "apt-"+suite)
	if arch != hostArch {
		dir += "-" + arch
	}
	out, err := exec.Command("apt-get", "indextargets", "--format", "$(SITE)", "Created-By: Packages", "Label: Debian").Output()
	site, _, _ := strings.Cut(strings.TrimSpace(string(out)), "\n")
	if err != nil || site == "" {
		return nil, errors.New("apt on this machine knows no Debian mirror to take kernels from: name .deb files instead")
	}
	keys := ""
	if _, err := os.Stat(debianKeys); err == nil {
		keys = "[signed-by=" + debianKeys + "] "
	}
	a := &apt{dir, suite}
	for _, d := range []string{"state/lists/partial", "cache/archives/partial", "debs"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			return nil, err
		}
	}
	for file, content := range map[string]string{
		"status":  "",
		"sources": fmt.Sprintf("deb %s%s %s main\n", keys, site, suite),
		"config": fmt.Sprintf("Dir::State %q;\nDir::State::status %q;\nDir::Cache %q;\nDir::Etc::sourcelist %q;\nDir::Etc::sourceparts \"-\";\nAPT::Sandbox::User \"root\";\nAPT::Architecture %q;\nAPT::Architectures { %q; };\n",
			dir+"/state", dir+"/status", dir+"/cache", dir+"/sources", arch, arch),
	} {
		if err := os.WriteFile(filepath.Join(dir, file), []byte(content), 0o644); err != nil {
			return nil, err
		}
	}
	_, err = a.command("apt-get", "update", "-qq")
	return a, err
}

func (a *apt) command(name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	cmd.Dir = filepath.Join(a.dir, "debs")
	cmd.Env = append(os.Environ(), "APT_CONFIG="+a.dir+"/config", "LC_ALL=C.UTF-8")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s (suite %s): %w\n%s", name, strings.Join(args, " "), a.suite, err, stderr.String())
	}
	return string(out), nil
}

var kernelPart = regexp.MustCompile(`^linux-(image|binary)-\S+`)

// depends lists the packages that hold parts of the image.
func (a *apt) depends(pkg string) (parts []string, err error) {
	out, err := a.command("apt-cache", "--no-all-versions", "show", pkg)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(out) {
		list, found := strings.CutPrefix(line, "Depends: ")
		for d := range strings.SplitSeq(strings.TrimSpace(list), ", ") {
			if part := kernelPart.FindString(d); found && part != "" {
				parts = append(parts, part)
			}
		}
	}
	return parts, nil
}

func (a *apt) download(pkg string) (deb string, err error) {
	pattern := filepath.Join(a.dir, "debs", pkg+"_*.deb")
	if found, _ := filepath.Glob(pattern); len(found) > 0 {
		return found[0], nil
	}
	if _, err := a.command("apt-get", "download", "-qq", pkg); err != nil {
		return "", err
	}
	found, _ := filepath.Glob(pattern)
	if len(found) == 0 {
		return "", fmt.Errorf("apt-get download %s gave no file", pkg)
	}
	return found[0], nil
}

// install unpacks packages, and all that they depend on, below root. It runs nothing of
// them, so they may be of another architecture.
func (a *apt) install(root string, packages []string) error {
	args := append([]string{"install", "-qq", "-y", "--no-install-recommends", "--download-only"}, packages...)
	if _, err := a.command("apt-get", args...); err != nil {
		return err
	}
	debs, err := filepath.Glob(filepath.Join(a.dir, "cache/archives/*.deb"))
	if err != nil {
		return err
	}
	for _, deb := range debs {
		if out, err := exec.Command("dpkg-deb", "-x", deb, root).CombinedOutput(); err != nil {
			return fmt.Errorf("%s: %w\n%s", deb, err, out)
		}
	}
	return nil
}
