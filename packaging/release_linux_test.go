package packaging_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

// archives are the systems and processors, as Go names them, of the archives that other ways of
// installation take their programs from.
var archives = []string{"linux_amd64", "linux_arm64", "darwin_amd64", "darwin_arm64"}

// TestFormula renders the formula of a release. Each archive must come with its own checksum, and
// the formula must be Ruby, where there is one.
func TestFormula(t *testing.T) {
	dir := directory(t)
	var sums strings.Builder
	for i, name := range archives {
		fmt.Fprintf(&sums, "%064d  mcp-jail_%s_%s.tar.gz\n", i+1, version, name)
	}
	write(t, dir+"/checksums.txt", sums.String())
	formula := run(t, exec.Command("bash", "formula.sh", version, dir+"/checksums.txt"))
	for i, name := range archives {
		want := fmt.Sprintf("/v%s/mcp-jail_%s_%s.tar.gz\"\n      sha256 \"%064d\"\n", version, version, name, i+1)
		if strings.Count(formula, want) != 1 {
			t.Errorf("the formula lacks %s in\n%s", want, formula)
		}
		if strings.Index(formula, "on_macos") < strings.Index(formula, "on_linux") != (strings.Index(formula, "darwin_") < strings.Index(formula, "linux_")) {
			t.Error("an archive is in the part of another system")
		}
		write(t, dir+"/fewer.txt", strings.Replace(sums.String(), name, "other", 1))
		if out, err := exec.Command("bash", "formula.sh", version, dir+"/fewer.txt").CombinedOutput(); err == nil || !strings.Contains(string(out), "no archive for "+name) {
			t.Errorf("without the archive for %s: %v\n%s", name, err, out)
		}
	}
	if _, err := exec.LookPath("ruby"); err != nil {
		testkit.Skip(t, "ruby", "%v", err)
	}
	write(t, dir+"/mcp-jail.rb", formula)
	run(t, exec.Command("ruby", "-c", dir+"/mcp-jail.rb"))
}

// TestComplete has an archive that is whole, and the same without each of its parts.
func TestComplete(t *testing.T) {
	dir := directory(t)
	text := testkit.ReadFile(t, "complete.sh")
	_, list, _ := strings.Cut(text, "for name in ")
	list, _, _ = strings.Cut(list, "; do")
	parts := strings.Fields(strings.ReplaceAll(list, "\\\n", " "))
	if !slices.Contains(parts, "mcp-jail-tls") || len(parts) < 10 {
		t.Fatalf("the parts are %q", parts)
	}
	for _, name := range parts {
		testkit.Must(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		write(t, filepath.Join(dir, name), "x")
	}
	for _, name := range []string{"mcp-jail", "mcp-jail-cli", "mcp-jail-tls"} {
		testkit.Must(t, os.Chmod(filepath.Join(dir, name), 0o755))
	}
	run(t, exec.Command("bash", "complete.sh", dir))
	for _, name := range parts {
		file := filepath.Join(dir, name)
		testkit.Must(t, os.Rename(file, dir+"/away"))
		if out, err := exec.Command("bash", "complete.sh", dir).CombinedOutput(); err == nil || !strings.Contains(string(out), " "+name+"\n") {
			t.Errorf("without %s: %v\n%s", name, err, out)
		}
		testkit.Must(t, os.Rename(dir+"/away", file))
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
	for _, name := range []string{"mcp-jail", "mcp-jail-cli", "mcp-jail-tls"} {
		write(t, ownDirectory(t, dir+"/programs")+"/"+name, "x")
	}
	args := []string{"npm/stage.mjs", version, dir + "/staged"}
	for _, name := range npmTargets {
		args = append(args, name+"="+dir+"/programs")
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
