package resolve

import (
	"strings"
	"testing"

	"github.com/mcp-jail/mcp-jail/policy"
)

// renderNode returns a render node with its directories in /sys.
func renderNode(number, address, vendor, driver string) string {
	device := "/sys/devices/pci0000:00/" + address
	return strings.NewReplacer("N", number, "ADDR", address, "DEVICE", device, "DRIVER", driver).Replace(`
c /dev/dri/renderDN
f DEVICE/vendor ` + vendor + `\n
d DEVICE/drm/renderDN
l DEVICE/drm/renderDN/device ../..
l /sys/class/drm/renderDN ../../devices/pci0000:00/ADDR/drm/renderDN
l /sys/dev/char/226:N ../../devices/pci0000:00/ADDR/drm/renderDN
l /sys/bus/pci/devices/ADDR ../../../devices/pci0000:00/ADDR
l /sys/bus/pci/drivers/DRIVER/ADDR ../../../../devices/pci0000:00/ADDR
d /sys/module/DRIVER
`)
}

const (
	aNvidia = `
c /dev/nvidia0
c /dev/nvidia12
c /dev/nvidiactl
c /dev/nvidia-uvm
c /dev/nvidia-uvm-tools
c /dev/nvidia-modeset
c /dev/nvidia-caps/nvidia-cap1
c /dev/nvidia-caps/nvidia-capx
f /dev/nvidia1
b /dev/nvidia2
c /dev/nvidia-other
c /dev/nvidia
l /dev/nvidia3 /home/u/proj/node
c /home/u/proj/node
l /dev/nvidia4 nvidia0
l /sys/bus/pci/drivers/nvidia/0000:01:00.0 ../../../../devices/pci0000:00/0000:00:01.0/0000:01:00.0
l /sys/bus/pci/devices/0000:01:00.0 ../../../devices/pci0000:00/0000:00:01.0/0000:01:00.0
d /sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0
f /sys/bus/pci/drivers/nvidia/bind
d /sys/module/nvidia
f /etc/vulkan/icd.d/nvidia.json
f /etc/OpenCL/vendors/nvidia.icd
f /opt/cuda-12.4/lib64/libcudart.so
f /usr/lib/libcuda.so.1
f /opt/rocm-6.2/lib/librocm.so`
	nvidiaNodes = "/dev/nvidia-caps/nvidia-cap1 /dev/nvidia-modeset /dev/nvidia-uvm /dev/nvidia-uvm-tools /dev/nvidia0 /dev/nvidia12 /dev/nvidiactl"
)

// TestGPU: gpu = true grants the nodes of GPUs, which are character devices, and what their drivers
// read, by name.
func TestGPU(t *testing.T) {
	const on = aServer + "gpu = true\n"
	for _, c := range []struct {
		name, toml, host string
		nodes            string // with read and update
		others           string
		warnings         string
	}{
		{"off", aServer, aNvidia, "", "", ""},
		{"refused", aServer + "gpu = false\n", aNvidia, "", "", ""},
		{"NVIDIA", on, aNvidia, nvidiaNodes,
			"/etc/OpenCL read|/etc/vulkan read|/opt/cuda-12.4 read execute|/sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0 read|/sys/module/nvidia read", ""},
		{"AMD", on, renderNode("128", "0000:03:00.0", "0x1002", "amdgpu") + "c /dev/kfd\nc /dev/dri/card0\nf /opt/rocm-6.2/lib/x\nl /opt/rocm rocm-6.2\nl /sys/class/kfd/kfd ../../devices/virtual/kfd/kfd\nd /sys/devices/virtual/kfd/kfd/topology",
			"/dev/dri/renderD128 /dev/kfd", "/opt/rocm-6.2 read execute|/sys/devices/pci0000:00/0000:03:00.0/drm/renderD128 read|/sys/devices/pci0000:00/0000:03:00.0 read|/sys/devices/virtual/kfd/kfd read|/sys/module/amdgpu read", ""},
		{"Intel", on, renderNode("129", "0000:00:02.0", "0x8086", "i915") + "d /opt/intel/oneapi/lib",
			"/dev/dri/renderD129", "/opt/intel/oneapi read execute|/sys/devices/pci0000:00/0000:00:02.0/drm/renderD129 read|/sys/devices/pci0000:00/0000:00:02.0 read|/sys/module/i915 read", ""},
		{"two makers", on, renderNode("128", "0000:00:02.0", "0x8086", "xe") + renderNode("129", "0000:01:00.0", "0x10de", "nvidia") + aNvidia,
			"/dev/dri/renderD128 /dev/dri/renderD129 " + nvidiaNodes, "", ""},
		{"another maker", on, renderNode("128", "0000:00:02.0", "0x1af4", "virtio"), "", "", "gpu gpu"},
		{"a render node without a device", on, "c /dev/dri/renderD128", "", "", "gpu gpu"},
		{"a render node by another name", on, strings.ReplaceAll(renderNode("128", "0000:00:02.0", "0x8086", "i915"), "renderD128", "renderD128x"), "", "", "gpu"},
		{"a file by the name of a render node", on, strings.Replace(renderNode("128", "0000:03:00.0", "0x1002", "amdgpu"), "c /dev/dri", "f /dev/dri", 1) + "c /dev/kfd",
			"/dev/kfd", "/sys/devices/pci0000:00/0000:03:00.0 read|/sys/module/amdgpu read", ""},
		{"a rule that grants more", on + "[[servers.s.access.fs]]\npath = \"/opt/cuda\"\nread = true\nwrite = true\n", "c /dev/nvidiactl\nd /opt/cuda", "/dev/nvidiactl", "/opt/cuda read write execute", ""},
		{"a rule that grants as much", on + "[[servers.s.access.fs]]\npath = \"/opt/cuda\"\nread = true\nexecute = true\n", "c /dev/nvidiactl\nd /opt/cuda\nd /sys/module/nvidia", "/dev/nvidiactl", "/sys/module/nvidia read", ""},
		{"WSL", on, "c /dev/dxg\nf /usr/lib/wsl/lib/libcuda.so", "/dev/dxg", "", ""},
		{"NixOS", on, "c /dev/kfd\nl /run/opengl-driver /nix/store/abc-graphics-drivers\nl /nix/store/abc-graphics-drivers/lib ../def-mesa/lib\nd /nix/store/def-mesa/lib", "/dev/kfd", "/nix/store/abc-graphics-drivers read execute|/nix/store read execute", ""},
		{"none", on, "", "", "", "gpu"},
		{"a file by the name of a node", on, "f /dev/nvidia0\nf /dev/kfd\np /dev/dxg", "", "", "gpu"},
		{"a rule that refuses one", on + "[[servers.s.access.fs]]\npath = \"/dev\"\nread = true\n[[servers.s.access.fs]]\npath = \"/dev/nvidia0\"\ndeny = true\n", "c /dev/nvidia0\nc /dev/nvidiactl", "/dev/nvidiactl", "", "gpu"},
		{"a sensitive path", on + "[servers.s.access]\nsensitive_paths = [\"/dev/nvidia0\"]\n", "c /dev/nvidia0\nc /dev/nvidiactl", "/dev/nvidiactl", "", "gpu"},
		{"a rule that grants it to read", on + "[[servers.s.access.fs]]\npath = \"/dev/kfd\"\nread = true\n", "c /dev/kfd", "/dev/kfd", "", ""},
	} {
		p, ws := mustResolve(t, newFake(aSystem, strings.ReplaceAll(c.host, `\n/`, "/")), c.toml)
		var nodes, others []string
		for _, e := range p.Entries {
			switch {
			case !strings.HasPrefix(e.Rule, "gpu = true"):
			case strings.HasPrefix(e.Path, "/dev/"):
				nodes = append(nodes, e.Path)
				if e.Rights != policy.Read|policy.Update || e.Kind != policy.KindSpecial {
					t.Errorf("%s: %s: %s", c.name, e.Path, e.Rights)
				}
			default:
				others = append(others, e.Path+" "+e.Rights.String())
			}
		}
		if got := strings.Join(nodes, " "); got != c.nodes {
			t.Errorf("%s: nodes %s, want %s", c.name, got, c.nodes)
		}
		if c.others != "" {
			for _, want := range strings.Split(c.others, "|") {
				if !strings.Contains("|"+strings.Join(others, "|")+"|", "|"+want+"|") {
					t.Errorf("%s: %s is missing among %s", c.name, want, others)
				}
			}
			if n := strings.Count(c.others, "|") + 1; n != len(others) {
				t.Errorf("%s: %d of %s", c.name, n, others)
			}
		} else if c.nodes == "" && len(others) > 0 {
			t.Errorf("%s: without a node: %s", c.name, others)
		}
		if codes(ws) != c.warnings {
			t.Errorf("%s: warnings %v", c.name, ws)
		}
		for _, l := range p.Links {
			if strings.HasPrefix(l.Path, "/dev/") && l.Path != "/dev/nvidia4" {
				t.Errorf("%s: link %s", c.name, l.Path)
			}
		}
	}
}

// TestGPUNames: the names by which libdrm and ROCm look for a device lead there in the jail too.
func TestGPUNames(t *testing.T) {
	p, _ := mustResolve(t, newFake(aSystem, renderNode("128", "0000:03:00.0", "0x1002", "amdgpu"), "c /dev/kfd\nl /opt/rocm rocm-6.2\nd /opt/rocm-6.2/lib"), aServer+"gpu = true\n")
	has := map[string]bool{}
	for _, l := range p.Links {
		has[l.Path] = true
	}
	for _, name := range []string{"/sys/dev/char/226:128", "/sys/class/drm/renderD128", "/sys/bus/pci/devices/0000:03:00.0", "/opt/rocm"} {
		if !has[name] {
			t.Errorf("no link %s among %v", name, p.Links)
		}
	}
}
