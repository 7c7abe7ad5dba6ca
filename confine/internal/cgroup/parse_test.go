package cgroup

import (
	"testing"
)

func TestPathAndMount(t *testing.T) {
	if p, ok := Path("5:cpu:/x\n0::/user.slice/a.scope\n"); !ok || p != "/user.slice/a.scope" {
		t.Errorf("path %q, %v", p, ok)
	}
	if _, ok := Path("5:cpu:/x\n"); ok {
		t.Error("a v1 hierarchy is taken for v2")
	}
	for cgroups, want := range map[string]bool{
		"4:memory:/x\n0::/\n": true, "5:cpu,pids:/\n0::/\n": true, "0::/\n": false, "": false,
		"5:cpu,cpuacct:/memory\n1:name=memory:/\n0::/a:memory:b\n": false,
	} {
		if got := isVersion1(cgroups); got != want {
			t.Errorf("%q: %v", cgroups, got)
		}
	}
	const v1 = "40 25 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
	if d, top := Mount(v1 + "41 25 0:27 / /sys/fs/cgroup/unified rw shared:1 - cgroup2 cgroup2 rw\n"); d != "/sys/fs/cgroup/unified" || top != "/" {
		t.Errorf("mount %q of %q", d, top)
	}
	if d, _ := Mount(v1); d != "" {
		t.Error("a v1 mount is taken for v2")
	}
}
