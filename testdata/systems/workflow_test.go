package main

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestWorkflow: the workflow runs steps that run.sh has, scripts that bash can read, and packages with
// tests for Windows.
func TestWorkflow(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	workflow, run := read("../../.github/workflows/systems.yml"), read("run.sh")
	steps := 0
	for _, line := range regexp.MustCompile(`run\.sh ([a-z ]+)\n`).FindAllStringSubmatch(workflow, -1) {
		for _, step := range strings.Fields(line[1]) {
			steps++
			if !regexp.MustCompile(`(?m)^\t(test|build \|.*\b` + step + `\b.*)\) `).MatchString(run) {
				t.Errorf("run.sh has no step %s", step)
			}
		}
	}
	for _, name := range []string{"macos:", "windows:", "wsl:", "windows-2022, windows-2025", "macos-15, macos-26, macos-15-intel"} {
		if !strings.Contains(workflow, name) || steps < 10 {
			t.Errorf("the workflow has no %s, or %d steps", name, steps)
		}
	}
	if strings.Contains(workflow, "continue-on-error") {
		t.Error("a step may fail")
	}
	for _, script := range []string{"run.sh", "servers.sh", "wsl.sh"} {
		if out, err := exec.Command("bash", "-n", script).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", script, err, out)
		}
	}
	var packages []string
	for line := range strings.Lines(read("windows.txt")) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			name, _, _ := strings.Cut(line, " ") // of some packages, a pattern for tests follows
			packages = append(packages, name)
		}
	}
	list := exec.Command("go", append([]string{"list", "-f", "{{if or .TestGoFiles .XTestGoFiles}}tested{{end}}"}, packages...)...)
	list.Dir, list.Env = "../..", append(os.Environ(), "GOOS=windows")
	if out, err := list.Output(); err != nil || strings.Count(string(out), "tested") < len(packages) {
		t.Errorf("%d of %d packages have tests for Windows: %v", strings.Count(string(out), "tested"), len(packages), err)
	}
}
