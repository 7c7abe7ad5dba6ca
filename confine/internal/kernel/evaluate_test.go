package kernel

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
)

func TestFeatureNames(t *testing.T) {
	f := Features{LandlockABI: 5, Landlock: Available("ABI 7"), UserNamespaces: Unavailable("why", "fix")}
	for name, want := range map[string]Answer{
		"landlock": Yes, "landlock:1": Yes, "landlock:5": Yes, "landlock:6": No, "userns": No, "cgroup": Unknown,
	} {
		testkit.Equal(t, name, testkit.Get(f.Has(name))(t).Answer, want)
	}
	for _, name := range []string{"", "landlok", "userns:2", "landlock:x", "landlock:"} {
		testkit.Fails(t, fmt.Sprintf("%q is accepted as a feature", name), testkit.ErrorOf(f.Has(name)), "")
	}
	f.Landlock = Undetermined("")
	if got, _ := f.Has("landlock:1"); got.Answer != Unknown {
		t.Errorf("an unknown level is said to be %v", got.Answer)
	}
}

func TestKernelAtLeast(t *testing.T) {
	for release, want := range map[string]Answer{
		"6.14.0": Yes, "6.18.44-fc": Yes, "7.0-rc1": Yes, "10.1": Yes, "6.13.9": No, "5.15.0-100-generic": No, "": Unknown, "six": Unknown, "6": Unknown, "6.": Unknown, "6-15": Unknown,
	} {
		testkit.Equal(t, release, kernelAtLeast(release, 6, 14).Answer, want)
	}
}

func TestLandlockFeature(t *testing.T) {
	for _, c := range []struct {
		abi    int
		errata uint32
		want   string
	}{
		{4, 0, "ABI 4"},
		{7, 3, "ABI 7"},
		{7, 1, "ABI 7, used as 5: the scope of signals is not repaired (erratum 2)"},
		{40, 3, "ABI 40, used as 11, the newest that is known"},
	} {
		if got := landlockFeature(c.abi, c.errata); got.Detail != c.want || got.Answer != Yes {
			t.Errorf("ABI %d, errata %d: %+v", c.abi, c.errata, got)
		}
	}
}

// TestUnderFilter checks that what a filter can hide is not taken for a fault of the kernel alone.
func TestUnderFilter(t *testing.T) {
	for _, f := range []Feature{Unavailable("absent", "a kernel"), Available("ABI 7"), Undetermined("EIO")} {
		for mode, hides := range map[string]bool{"0": false, "": false, "2": f.Answer == No} {
			got := underFilter(mode, f)
			if strings.Contains(got.Detail, "or a seccomp filter around this process hides it") != hides || got.Answer != f.Answer || !hides && got != f {
				t.Errorf("mode %q, %+v: %+v", mode, f, got)
			}
		}
	}
}

func TestFreshProcFeature(t *testing.T) {
	const (
		proc   = "22 1 0:20 / /proc rw,relatime shared:5 - proc proc rw\n"
		misc   = "30 22 0:30 / /proc/sys/fs/binfmt_misc rw shared:9 - autofs systemd-1 rw\n"
		masked = "31 22 0:31 / /proc/kcore ro - tmpfs tmpfs rw\n"
		sys    = "32 22 0:20 /sys /proc/sys ro,relatime - proc proc rw\n"
		bound  = "33 1 0:20 /1 /proc rw - proc proc rw\n"
		ro     = "35 1 0:20 / /proc ro,nosuid - proc proc rw\n"
		subset = "36 1 0:20 / /proc rw - proc proc rw,subset=pid\n"
		other  = "34 1 0:40 / /process rw - ext4 /dev/sda rw\n"
	)
	for mountinfo, want := range map[string]Answer{
		proc: Yes, proc + misc + other: Yes, proc + masked: No, proc + sys: No, bound: No, ro: No, subset: No, "": No, other: No,
	} {
		testkit.Equal(t, mountinfo, freshProcFeature(mountinfo).Answer, want)
	}
}

func TestOverlayFeature(t *testing.T) {
	const without, with = "nodev\ttmpfs\n\text4\n", "nodev\ttmpfs\n\text4\nnodev\toverlay\n"
	for _, c := range []struct {
		release, filesystems string
		want                 Answer
	}{{"6.18.44", with, Yes}, {"5.11.0-generic", with, Yes}, {"5.10.0", with, No}, {"6.18.44", without, Unknown}, {"6.18.44", "", Unknown}, {"", with, Unknown}} {
		if got := overlayFeature(c.release, c.filesystems); got.Answer != c.want {
			t.Errorf("%s with %q: %+v", c.release, c.filesystems, got)
		}
	}
}

// TestProbe checks that the answers about this host are consistent.
func TestProbe(t *testing.T) {
	f := Probe()
	for _, n := range f.List() {
		t.Logf("%-15s %-8s %s", n.Name, n.Answer, n.Detail)
		if n.Answer == No && (n.Detail == "" || n.Fix == "") {
			t.Errorf("%s is missing without a reason or a way out", n.Name)
		}
	}
	if (f.Landlock.Answer == Yes) != (f.LandlockABI > 0) {
		t.Errorf("Landlock %v with ABI %d", f.Landlock.Answer, f.LandlockABI)
	}
}
