package packaging_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/internal/testkit/container"
)

const feature = "devcontainer/src/mcp-jail"

// build is an image while a feature is installed: read-only, except for /usr/local and /tmp, which
// are empty, and without a network. The programs in PATH are those of a slim image.
type build struct {
	t       *testing.T
	base    string
	feature string
}

func newBuild(t *testing.T) *build {
	b := &build{t: t, base: directory(t)}
	b.feature = b.base + "/feature"
	run(t, exec.Command("cp", "-R", feature, b.feature))
	for _, name := range []string{"sh", "id", "uname", "mktemp", "rm", "mkdir", "tar", "gzip", "cp", "chmod", "mv", "dirname", "grep", "sha256sum", "cat", "ls"} {
		b.has(name)
	}
	return b
}

// has puts a program of the host into PATH.
func (b *build) has(name string) {
	file, err := exec.LookPath(name)
	if err != nil {
		b.t.Fatal(err)
	}
	testkit.Must(b.t, os.MkdirAll(b.base+"/path", 0o755), os.Symlink(file, filepath.Join(b.base, "path", name)))
}

// install runs the scripts one after the other, in one image, and returns what they write and say.
func (b *build) install(env []string, then ...string) (said string, ok bool) {
	b.t.Helper()
	cmd := exec.Command("/bin/sh", "-euc", "./install.sh && "+strings.Join(append([]string{"true"}, then...), " && "))
	cmd.Dir, cmd.Env = b.feature, append([]string{"PATH=" + b.base + "/path", "_REMOTE_USER=vscode", "_REMOTE_USER_HOME=/home/vscode", "_CONTAINER_USER=root"}, env...)
	image := container.Container{UserNS: true, ReadOnly: true, Tmpfs: []string{"/usr/local", "/tmp"}, OwnNetwork: true}
	out, err := image.Around(b.t, cmd).CombinedOutput()
	return string(out), err == nil
}

// standIns returns the directory of programs, which only print their version in make test.
func standIns(t *testing.T, base string) string {
	if testkit.Long() {
		return programs(t)
	}
	dir := base + "/programs"
	testkit.Must(t, os.Mkdir(dir, 0o755))
	for _, name := range []string{"mcp-jail", "mcp-jail-cli", "mcp-jail-tls"} {
		testkit.Must(t, testkit.WriteProgram(filepath.Join(dir, name), []byte("#!/bin/sh\ntest \"$*\" = --version && echo mcp-jail "+version+"\n")))
	}
	return dir
}

// TestDevcontainerFeature installs the feature of dev containers as the specification says: as root,
// with the options and the users in the environment.
func TestDevcontainerFeature(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("root installs a feature, as dev containers do: install.sh refuses others")
	}
	b := newBuild(t)
	built := standIns(t, b.base)
	archive := b.base + "/mcp-jail_" + version + "_linux.tar.gz"
	packed := b.base + "/mcp-jail_" + version + "_linux"
	run(t, exec.Command("cp", "-R", built, packed))
	write(t, packed+"/LICENSE", "a licence")
	run(t, exec.Command("tar", "-C", b.base, "-czf", archive, filepath.Base(packed)))
	run(t, exec.Command("cp", "-R", built, b.feature+"/programs"))
	again := "./install.sh"
	installed := "ls -lA /usr/local/bin"
	works := regexp.MustCompile(`(?s)mcp-jail ` + regexp.QuoteMeta(version) + `\n.*installed in /usr/local/bin. Put the servers of a client into jails as vscode`)
	for name, source := range map[string]string{"a directory": built, "an archive": archive, "a folder of the feature": "programs"} {
		said, ok := b.install([]string{"SOURCE=" + source, "VERSION="}, again, installed)
		if !ok || !works.MatchString(said) || strings.Count(said, "\n-rwxr-xr-x") != 3 || strings.Contains(said, ".new") {
			t.Errorf("%s: %v\n%s", name, ok, said)
		}
	}
	said, ok := b.install([]string{"SOURCE=" + archive}, "cat /usr/local/share/doc/mcp-jail/LICENSE")
	if !ok || !strings.Contains(said, "a licence") {
		t.Errorf("the licence: %s", said)
	}
	testkit.Must(t, os.Remove(b.feature+"/programs/mcp-jail-tls"))
	write(t, b.base+"/text.tar.gz", "no archive")
	run(t, exec.Command("tar", "-C", b.base, "-czf", b.base+"/other.tar.gz", "text.tar.gz"))
	for _, c := range []struct {
		env  []string
		want string
	}{
		{nil, "mcp-jail: nothing says where its programs are.\n  \"source\": \"PATH\" names"},
		{[]string{"SOURCE=" + b.base + "/absent"}, b.base + "/absent does not exist."},
		{[]string{"SOURCE=absent"}, "A relative source is relative to the folder of this feature, " + b.feature},
		{[]string{"SOURCE=programs"}, "mcp-jail-tls is not in " + b.feature + "/programs."},
		{[]string{"SOURCE=" + b.base + "/text.tar.gz"}, "it must be a tar archive, packed by gzip"},
		{[]string{"SOURCE=" + b.base + "/other.tar.gz"}, "there is no mcp-jail in "},
		{[]string{"VERSION=1.2.3"}, "neither curl nor wget is in this image."},
	} {
		said, ok := b.install(c.env)
		if ok || !strings.Contains(said, c.want) {
			t.Errorf("%s: %v, %s", c.env, ok, said)
		}
	}
}

// TestDevcontainerRelease downloads a release. Its curl copies from a directory.
func TestDevcontainerRelease(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("root installs a feature, as dev containers do: install.sh refuses others")
	}
	b := newBuild(t)
	arch := map[string]string{"x64": "amd64", "arm64": "arm64"}[processor()]
	file := "mcp-jail_" + version + "_linux_" + arch + ".tar.gz"
	testkit.Must(t, os.Mkdir(b.base+"/served", 0o755))
	run(t, exec.Command("cp", "-R", standIns(t, b.base), b.base+"/mcp-jail-x"))
	run(t, exec.Command("tar", "-C", b.base, "-czf", b.base+"/served/"+file, "mcp-jail-x"))
	sums := exec.Command("sha256sum", file)
	sums.Dir = b.base + "/served"
	good := run(t, sums)
	write(t, b.base+"/served/checksums.txt", good)
	testkit.Must(t, testkit.WriteProgram(b.base+"/path/curl", []byte("#!/bin/sh\nfor last; do :; done\nfrom=${last##*/releases/download/v"+version+"/}\n"+
		"while [ \"$1\" != -o ]; do shift; done\n[ \"$from\" != \"$last\" ] && cp "+b.base+"/served/$from \"$2\"\n")))
	for _, v := range []string{version, "v" + version} {
		if said, ok := b.install([]string{"VERSION=" + v}); !ok || !strings.Contains(said, "mcp-jail "+version+"\n") {
			t.Errorf("%s: %s", v, said)
		}
	}
	if said, ok := b.install([]string{"VERSION=0.0.1"}); ok || !strings.Contains(said, "cannot be downloaded") {
		t.Errorf("another version: %s", said)
	}
	// A release's own feature knows its version and digests. These count, and not what is downloaded.
	run(t, exec.Command("node", "devcontainer/stage.mjs", version, b.base+"/served/checksums.txt", b.base+"/staged"))
	b.feature = b.base + "/release"
	testkit.Must(t, os.Mkdir(b.feature, 0o755))
	run(t, exec.Command("tar", "-C", b.feature, "-xzf", b.base+"/staged/devcontainer-feature-mcp-jail.tgz"))
	if about := testkit.ReadFile(t, b.feature+"/devcontainer-feature.json"); strings.Count(about, `: "`+version+`"`) != 2 {
		t.Errorf("the staged feature: %s", about)
	}
	testkit.Must(t, os.Remove(b.base+"/served/checksums.txt"))
	if said, ok := b.install([]string{"VERSION=" + version}); !ok {
		t.Errorf("the staged feature: %s", said)
	}
	write(t, b.feature+"/checksums.txt", strings.Repeat("0", 64)+good[64:])
	if said, ok := b.install([]string{"VERSION=" + version}, "ls /usr/local/bin"); ok || !strings.Contains(said, "the digest of "+file+" is not that of checksums.txt") {
		t.Errorf("a wrong digest: %s", said)
	}
}

// TestDevcontainerMetadata holds the metadata to what the specification and docs/install.md say.
func TestDevcontainerMetadata(t *testing.T) {
	var about struct {
		ID, Version, Name string
		Options           map[string]struct{ Type, Default, Description string }
		Privileged        bool
		CapAdd            []string
		SecurityOpt       []string
		PostCreateCommand string
	}
	text := testkit.ReadFile(t, feature+"/devcontainer-feature.json")
	testkit.Must(t, json.Unmarshal([]byte(text), &about))
	if about.ID != filepath.Base(feature) || about.Name == "" || !regexp.MustCompile(`^\d+\.\d+\.\d+$`).MatchString(about.Version) {
		t.Errorf("%+v", about)
	}
	if about.Privileged || about.CapAdd != nil || about.SecurityOpt != nil {
		t.Error("the feature loosens the container of all programs")
	}
	for name, o := range about.Options {
		if o.Type != "string" || o.Description == "" || !strings.Contains(testkit.ReadFile(t, "../docs/install.md"), "`"+name+"`") {
			t.Errorf("option %s: %+v", name, o)
		}
	}
	if info, err := os.Stat(feature + "/install.sh"); err != nil || info.Mode().Perm() != 0o755 {
		t.Errorf("install.sh: %v, %v", info, err)
	}
}
