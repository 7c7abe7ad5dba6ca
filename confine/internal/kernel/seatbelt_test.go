package kernel

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

// TestSeatbeltFeature: sandbox-exec is used only as Apple ships it: a program that belongs to root and that only root can write.
func TestSeatbeltFeature(t *testing.T) {
	for _, c := range []struct {
		name  string
		mode  fs.FileMode
		owner int
		err   error
		want  Answer
		why   string
	}{
		{"as Apple ships it", 0o755, 0, nil, Yes, ""},
		{"of another user", 0o755, 501, nil, No, "belongs to user 501"},
		{"of an unknown user", 0o755, -1, nil, No, "belongs to user"},
		{"of a group that may write", 0o775, 0, nil, No, "written by others"},
		{"that all may write", 0o757, 0, nil, No, "written by others"},
		{"no program", 0o644, 0, nil, No, "no program"},
		{"a link", fs.ModeSymlink | 0o777, 0, nil, No, "no program"},
		{"a directory", fs.ModeDir | 0o755, 0, nil, No, "no program"},
		{"missing", 0, 0, fs.ErrNotExist, No, "has no"},
		{"hidden", 0, 0, fs.ErrPermission, No, "another sandbox"},
		{"with an error", 0o755, 0, fs.ErrInvalid, No, "cannot be looked at"},
	} {
		if got := seatbeltFeature(c.mode, c.owner, c.err); got.Answer != c.want || !strings.Contains(got.Detail, c.why) || got.Answer == No && got.Fix == "" {
			t.Errorf("%s: %+v", c.name, got)
		}
	}
}

func TestProofFeature(t *testing.T) {
	failed := []ProbeResult{{ID: "R2", Axis: policy.AxisFs, What: "what is not granted cannot be read"}}
	for _, c := range []struct {
		proof Proof
		want  Answer
		text  string
	}{
		{Proof{}, Unknown, "has not run"},
		{Proof{Why: "no space"}, Unknown, "no space"},
		{Proof{Made: true}, Yes, "passed"},
		{Proof{Made: true, Failed: failed}, No, "R2: what is not granted"},
		{Proof{Failed: failed}, Unknown, "has not run"},
	} {
		if got := c.proof.Feature(); got.Answer != c.want || !strings.Contains(got.Detail, c.text) {
			t.Errorf("%+v: %+v", c.proof, got)
		}
	}
}

// TestSeatbeltTempDir: a socket in the directory has a name that fits into 104 bytes.
func TestSeatbeltTempDir(t *testing.T) {
	got := seatbeltTempDir(501, [4]byte{0, 1, 0xab, 0xff})
	testkit.Equal(t, "", got, "/private/tmp/mj-501-0001abff")
}

// TestFeaturesOfSystems: a report names the features of its own system and those of no other.
func TestFeaturesOfSystems(t *testing.T) {
	for os, want := range map[string]int{"linux": 12, "darwin": 2, "windows": 0, "freebsd": 0} {
		f := Features{OS: os, Arch: "arm64", Product: "15.2", Build: "24C101", Seatbelt: Available("x"), SelfTest: Available("y")}
		testkit.Equal(t, fmt.Sprintf("%s features", os), len(f.List()), want)
	}
	testkit.Equal(t, "", (Features{OS: "darwin", Product: "15.2", Build: "24C101"}).System(), "macOS 15.2 (24C101)")
	testkit.Equal(t, "", (Features{OS: "linux", Kernel: "6.18"}).System(), "linux 6.18")
}
