// Package packaging_test installs the packages of a release as users do, tries them, and
// removes them. The programs in them are built by the tests.
package packaging_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/internal/testkit/container"
)

// archives are the systems and processors, as Go names them, of the archives from which the formula for
// Homebrew and the manifest for winget are made.
var archives = map[string][]string{
	"formula.sh": {"linux_amd64.tar.gz", "linux_arm64.tar.gz", "darwin_amd64.tar.gz", "darwin_arm64.tar.gz"},
	"winget.sh":  {"windows_amd64.zip", "windows_arm64.zip"},
}

// TestManifests renders the formula and the manifest of a release. Each archive must come with its own checksum,
// and without one of them there is neither.
func TestManifests(t *testing.T) {
	dir := directory(t)
	var sums strings.Builder
	for i, name := range slices.Concat(archives["formula.sh"], archives["winget.sh"]) {
		fmt.Fprintf(&sums, "%064x  mcp-jail_%s_%s\n", 0xa1+i, version, name)
	}
	write(t, dir+"/checksums.txt", sums.String())
	formula := run(t, exec.Command("bash", "formula.sh", version, dir+"/checksums.txt"))
	testkit.Golden(t, "mcp-jail.rb", formula)
	run(t, exec.Command("bash", "winget.sh", version, dir+"/checksums.txt", dir+"/winget"))
	for _, name := range []string{"mcp-jail.mcp-jail.yaml", "mcp-jail.mcp-jail.installer.yaml", "mcp-jail.mcp-jail.locale.en-US.yaml"} {
		testkit.Golden(t, "winget/"+name, testkit.ReadFile(t, dir+"/winget/"+name))
	}
	for script, names := range archives {
		for _, name := range names {
			target, _, _ := strings.Cut(name, ".")
			write(t, dir+"/fewer.txt", strings.Replace(sums.String(), target, "other", 1))
			out, err := exec.Command("bash", script, version, dir+"/fewer.txt", dir+"/none").CombinedOutput()
			if err == nil || !strings.Contains(string(out), "no archive for "+target) {
				t.Errorf("without the archive for %s: %v\n%s", target, err, out)
			}
		}
	}
	if _, err := exec.LookPath("ruby"); err != nil {
		testkit.NeedsLong(t) // which installs it
		testkit.Skip(t, "ruby", "%v", err)
	}
	write(t, dir+"/mcp-jail.rb", formula)
	run(t, exec.Command("ruby", "-c", dir+"/mcp-jail.rb"))
}

// TestComplete has an archive that is whole, and the same without each of its parts.
func TestComplete(t *testing.T) {
	t.Run("unix", func(t *testing.T) { testComplete(t, "") })
	t.Run("windows", func(t *testing.T) { testComplete(t, ".exe") })
}

func testComplete(t *testing.T, ending string) {
	dir := directory(t)
	text := testkit.ReadFile(t, "complete.sh")
	_, list, _ := strings.Cut(text, "for name in ")
	list, _, _ = strings.Cut(list, "; do")
	parts := strings.Fields(strings.NewReplacer("\\\n", " ", `"`, "", "$ending", ending).Replace(list))
	if !slices.Contains(parts, "mcp-jail-tls"+ending) || len(parts) < 10 {
		t.Fatalf("the parts are %q", parts)
	}
	for _, name := range parts {
		testkit.Must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		write(t, filepath.Join(dir, name), "x")
	}
	for _, name := range []string{"mcp-jail", "mcp-jail-cli", "mcp-jail-tls"} {
		testkit.Must(t, os.Chmod(filepath.Join(dir, name+ending), 0o755))
	}
	run(t, exec.Command("bash", "complete.sh", dir, ending))
	for _, name := range parts {
		file := filepath.Join(dir, name)
		testkit.Must(t, os.Rename(file, dir+"/away"))
		if out, err := exec.Command("bash", "complete.sh", dir, ending).CombinedOutput(); err == nil || !strings.Contains(string(out), " "+name+"\n") {
			t.Errorf("without %s: %v\n%s", name, err, out)
		}
		testkit.Must(t, os.Rename(dir+"/away", file))
	}
	if ending != "" {
		return // Windows has no mode that says what a program is
	}
	testkit.Must(t, os.Chmod(dir+"/mcp-jail-tls", 0o644))
	if out, err := exec.Command("bash", "complete.sh", dir).CombinedOutput(); err == nil || !strings.Contains(string(out), "mcp-jail-tls(executable)") {
		t.Errorf("a program that cannot start: %v\n%s", err, out)
	}
}

// TestNPMStage checks which systems the packages of npm say they are for.
func TestNPMStage(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil {
		testkit.Skip(t, "npm", "%v", err)
	}
	dir := directory(t)
	args := []string{"npm/stage.mjs", version, dir + "/staged"}
	for _, name := range npmTargets {
		args = append(args, name+"="+otherPrograms(t, dir, name))
	}
	run(t, exec.Command("node", args...))
	var all struct{ OptionalDependencies map[string]string }
	testkit.Must(t, json.Unmarshal([]byte(testkit.ReadFile(t, dir+"/staged/mcp-jail/package.json")), &all))
	if len(all.OptionalDependencies) != len(npmTargets) {
		t.Errorf("the launcher depends on %v", all.OptionalDependencies)
	}
	for _, name := range npmTargets {
		var about struct{ OS, CPU []string }
		testkit.Must(t, json.Unmarshal([]byte(testkit.ReadFile(t, dir+"/staged/"+name+"/package.json")), &about))
		if len(about.OS) != 1 || len(about.CPU) != 1 || about.OS[0]+"-"+about.CPU[0] != name || all.OptionalDependencies["@mcp-jail/"+name] != version {
			t.Errorf("%s is for %+v", name, about)
		}
		program := "mcp-jail"
		if strings.HasPrefix(name, "win32-") {
			program += ".exe"
		}
		if _, err := os.Stat(dir + "/staged/" + name + "/bin/" + program); err != nil {
			t.Error(err)
		}
	}
	for _, wrong := range []string{"x64=" + dir, "windows-x64=" + dir, "linux-x64"} {
		if exec.Command("node", "npm/stage.mjs", version, dir+"/wrong", wrong).Run() == nil {
			t.Errorf("%s is taken", wrong)
		}
	}
}

// TestReleaseUnsigned: a release without one of the secrets of Apple fails before it builds, and a
// snapshot says that it is unsigned.
func TestReleaseUnsigned(t *testing.T) {
	dir := directory(t)
	write(t, dir+"/goreleaser", "#!/bin/sh\necho built >&2\nexit 9\n")
	testkit.Must(t, os.Chmod(dir+"/goreleaser", 0o755))
	secrets := []string{"MACOS_SIGN_P12=x", "MACOS_SIGN_PASSWORD=x", "MACOS_NOTARY_ISSUER_ID=x", "MACOS_NOTARY_KEY_ID=x", "MACOS_NOTARY_KEY=x"}
	release := func(env []string, args ...string) string {
		cmd := exec.Command("bash", append([]string{"release.sh"}, args...)...)
		cmd.Env = append(env, "PATH="+dir+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		if err == nil {
			t.Errorf("%s: it succeeds: %s", args, out)
		}
		return string(out)
	}
	for i, secret := range secrets {
		name, _, _ := strings.Cut(secret, "=")
		if said := release(slices.Delete(slices.Clone(secrets), i, i+1)); !strings.Contains(said, name+" is not set") || strings.Contains(said, "built") {
			t.Errorf("without %s: %s", name, said)
		}
	}
	if said := release(secrets); said != "built\n" {
		t.Errorf("with all: %s", said)
	}
	if said := release(nil, "--snapshot", "--skip=sign,docker"); !strings.Contains(said, "neither signed nor notarised") || !strings.Contains(said, "built") {
		t.Errorf("a snapshot: %s", said)
	}
}

// TestReleasePacks runs release.sh after a goreleaser that is a script, which makes small archives of each
// system. The packages of npm must have the programs of their own systems, and the manifests their checksums.
func TestReleasePacks(t *testing.T) {
	testkit.NeedsLong(t)
	if _, err := exec.LookPath("npm"); err != nil {
		testkit.Skip(t, "npm", "%v", err)
	}
	dir := directory(t)
	run(t, exec.Command("cp", "-r", ".", ownDirectory(t, dir+"/packaging")))
	run(t, exec.Command("cp", "../LICENSE", "../THIRD_PARTY_LICENSES", "../README.md", dir))
	write(t, ownDirectory(t, dir+"/bin")+"/goreleaser", testkit.Archive(t, "programs.txt")["goreleaser"])
	testkit.Must(t, os.Chmod(dir+"/bin/goreleaser", 0o755))
	cmd := exec.Command("bash", dir+"/packaging/release.sh", "--snapshot")
	cmd.Env = append(os.Environ(), "PATH="+dir+"/bin:"+os.Getenv("PATH"), "npm_config_update_notifier=false", "npm_config_cache="+dir+"/npm-cache")
	run(t, cmd)
	for npm, goes := range map[string]string{"linux-x64": "linux_amd64", "linux-arm64": "linux_arm64", "darwin-x64": "darwin_amd64", "darwin-arm64": "darwin_arm64", "win32-x64": "windows_amd64", "win32-arm64": "windows_arm64"} {
		ending := ""
		if strings.HasPrefix(npm, "win32") {
			ending = ".exe"
		}
		for _, program := range []string{"mcp-jail", "mcp-jail-cli", "mcp-jail-tls"} {
			if got := run(t, exec.Command("tar", "-xOzf", dir+"/dist/npm/mcp-jail-"+npm+"-1.2.3.tgz", "package/bin/"+program+ending)); got != goes {
				t.Errorf("%s has the %s of %s", npm, program, got)
			}
		}
	}
	installer := testkit.ReadFile(t, dir+"/dist/winget/mcp-jail.mcp-jail.installer.yaml")
	for _, name := range []string{"amd64", "arm64"} {
		sum := strings.Fields(run(t, exec.Command("sha256sum", dir+"/dist/mcp-jail_1.2.3_windows_"+name+".zip")))[0]
		if !strings.Contains(installer, "windows_"+name+".zip\n  InstallerSha256: "+strings.ToUpper(sum)+"\n") {
			t.Errorf("winget has not the checksum %s of %s in\n%s", sum, name, installer)
		}
	}
	workflow := testkit.ReadFile(t, "../.github/workflows/release.yml")
	for _, name := range npmTargets {
		system, _, _ := strings.Cut(name, "-")
		if !strings.Contains(workflow, "dist/npm/mcp-jail-"+system+"-*.tgz ") {
			t.Errorf("release.yml does not publish %s", name)
		}
	}
}

// version is the version of the packages that the tests build.
const version = "9.9.9-test.1"

// stranger is the user and group as whom root's tests start programs.
const stranger = 64123

// directory returns a directory that every user can read, and that the test removes.
func directory(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp(testkit.VarTmp(), "mcp-jail-packaging-")
	testkit.Must(t, err)
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	testkit.Must(t, os.Chmod(dir, 0o755))
	return dir
}

// ownDirectory makes a directory that belongs to the user of the tests.
func ownDirectory(t *testing.T, name string) string {
	t.Helper()
	testkit.Must(t, os.MkdirAll(name, 0o755))
	if os.Getuid() == 0 {
		testkit.Must(t, os.Chown(name, stranger, stranger))
	}
	return name
}

// asUser makes a command run as an ordinary user, if root runs the tests.
func asUser(cmd *exec.Cmd) *exec.Cmd {
	if os.Getuid() == 0 {
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: stranger, Gid: stranger}}
	}
	return cmd
}

// built is the directory that TestMain removes. The programs in it are linked once for all tests,
// which copy them.
var built struct {
	once sync.Once
	dir  string
	err  error
}

func TestMain(m *testing.M) {
	testkit.Programs{container.Name: container.Main}.Dispatch()
	status := m.Run()
	if built.dir != "" {
		os.RemoveAll(built.dir)
	}
	os.Exit(status)
}

// programs builds the three programs as a release does, and returns their directory.
func programs(t *testing.T) string {
	t.Helper()
	built.once.Do(func() {
		if built.dir, built.err = os.MkdirTemp(testkit.VarTmp(), "mcp-jail-packaging-programs-"); built.err != nil {
			return
		}
		const variables = "github.com/mcp-jail/mcp-jail/cmd/internal/cmdline."
		flags := "-s -w -X " + variables + "release=" + version + " -X " + variables + "releaseCommit=0123456789"
		build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", flags, "-o", built.dir+"/", "../cmd/...")
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if out, err := build.CombinedOutput(); err != nil {
			built.err = fmt.Errorf("%w\n%s", err, out)
			return
		}
		built.err = os.Chmod(built.dir, 0o755)
	})
	if built.err != nil {
		t.Fatal(built.err)
	}
	return built.dir
}

// run runs a command that must succeed, and returns what it wrote to standard output.
func run(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	var out, problems bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problems
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s%s", strings.Join(cmd.Args, " "), err, &out, &problems)
	}
	return out.String()
}

// write writes a file that every user can read.
func write(t *testing.T, name, text string) {
	t.Helper()
	testkit.Must(t, os.WriteFile(name, []byte(text), 0o644))
}

// processor returns node's name of this machine's processor.
func processor() string {
	if runtime.GOARCH == "amd64" {
		return "x64"
	}
	return runtime.GOARCH
}
