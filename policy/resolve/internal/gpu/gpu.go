// Package gpu finds the device nodes of a host's GPUs, and what their drivers read besides.
//
// A node counts by its name and by being a character device. A render node belongs to the maker that
// its PCI device names. The nodes /dev/dri/card* are left out: they control the screen, and show what
// others draw on it.
package gpu

import (
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/policy"
	"github.com/mcp-jail/mcp-jail/policy/hostfs"
)

// A Place is a file, a directory or a device that programs on a GPU need.
type Place struct {
	Path   string
	Rights policy.Rights
	Maker  string
}

// Makers, as a plan names them.
const (
	nvidia = "NVIDIA"
	amd    = "AMD"
	intel  = "Intel"
	wsl    = "WSL"
)

// makers are the makers by the vendor of a PCI device.
var makers = map[string]string{"0x10de": nvidia, "0x1002": amd, "0x8086": intel}

const (
	reads = policy.Read
	runs  = policy.Read | policy.Execute
	uses  = policy.Read | policy.Update
)

// files are what the drivers of each maker read, beside what every server may read. A name may end in
// "*".
var files = []struct {
	maker string // "" for every maker
	right policy.Rights
	names []string
}{
	{"", reads, []string{"/etc/vulkan", "/etc/OpenCL", "/etc/glvnd", "/etc/drirc", "/sys/devices/system/node", "/sys/devices/system/cpu"}},
	{"", runs, []string{"/run/opengl-driver", "/run/opengl-driver-32"}}, // NixOS
	{nvidia, reads, []string{"/etc/nvidia", "/sys/module/nvidia", "/sys/module/nvidia_uvm"}},
	{nvidia, runs, []string{"/opt/cuda*", "/opt/nvidia"}},
	{amd, reads, []string{"/sys/class/kfd/kfd", "/sys/module/amdgpu"}},
	{amd, runs, []string{"/opt/rocm*", "/opt/amdgpu"}},
	{intel, reads, []string{"/sys/module/i915", "/sys/module/xe"}},
	{intel, runs, []string{"/opt/intel/oneapi"}},
}

// Find returns the places, those of devices first. unknown are the render nodes of other makers.
func Find(h *hostfs.Host, paths *hostfs.LinkResolver) (places []Place, unknown []string) {
	f := &finder{h: h, paths: paths}
	f.nvidiaNodes()
	f.node("/dev/kfd", amd)
	f.node("/dev/dxg", wsl)
	f.renderNodes()
	if len(f.makers) == 0 {
		return nil, f.unknown
	}
	for _, driver := range []struct{ name, maker string }{{"nvidia", nvidia}, {"amdgpu", amd}, {"i915", intel}, {"xe", intel}} {
		if slices.Contains(f.makers, driver.maker) {
			f.pciDevices(path.Join("/sys/bus/pci/drivers", driver.name), driver.maker)
		}
	}
	for _, group := range files {
		if group.maker != "" && !slices.Contains(f.makers, group.maker) {
			continue
		}
		for _, name := range group.names {
			f.add(name, group.right, group.maker)
		}
	}
	return f.places, f.unknown
}

type finder struct {
	h       *hostfs.Host
	paths   *hostfs.LinkResolver
	places  []Place
	makers  []string // those of which there is a node
	unknown []string
}

// node adds a device node.
func (f *finder) node(name, maker string) {
	at, err := f.paths.Resolve(name)
	if err != nil || !at.Exists() || at.Info.Mode&fs.ModeCharDevice == 0 || !policy.Within(at.Path, "/dev") {
		return
	}
	f.places = append(f.places, Place{name, uses, maker})
	if !slices.Contains(f.makers, maker) {
		f.makers = append(f.makers, maker)
	}
}

func (f *finder) names(dir string) (names []string) {
	at, err := f.paths.Resolve(dir)
	if err != nil || !at.Exists() || !at.Info.Mode.IsDir() {
		return nil
	}
	names, _ = f.paths.Names(at.Path)
	return names
}

func (f *finder) nvidiaNodes() {
	for _, name := range f.names("/dev") {
		rest, ok := strings.CutPrefix(name, "nvidia")
		if ok && (isNumber(rest) || slices.Contains([]string{"ctl", "-uvm", "-uvm-tools", "-modeset"}, rest)) {
			f.node("/dev/"+name, nvidia)
		}
	}
	for _, name := range f.names("/dev/nvidia-caps") {
		if rest, ok := strings.CutPrefix(name, "nvidia-cap"); ok && isNumber(rest) {
			f.node("/dev/nvidia-caps/"+name, nvidia)
		}
	}
}

func (f *finder) renderNodes() {
	for _, name := range f.names("/dev/dri") {
		number, ok := strings.CutPrefix(name, "renderD")
		if !ok || !isNumber(number) {
			continue
		}
		node := "/dev/dri/" + name
		maker := makers[strings.TrimSpace(f.paths.ReadStart("/sys/class/drm/"+name+"/device/vendor"))]
		if maker == "" {
			f.unknown = append(f.unknown, node)
			continue
		}
		before := len(f.places)
		f.node(node, maker)
		if len(f.places) == before {
			continue
		}
		f.add("/sys/dev/char/226:"+number, reads, maker) // the numbers of DRM: the minor one is that of the name
		f.add("/sys/class/drm/"+name, reads, maker)
		f.add("/sys/class/drm/"+name+"/device", reads, maker)
	}
}

// pciDevices adds the directories of the devices that a driver has.
func (f *finder) pciDevices(driver, maker string) {
	for _, name := range f.names(driver) {
		if domain, _, ok := strings.Cut(name, ":"); ok && len(domain) == 4 {
			f.add("/sys/bus/pci/devices/"+name, reads, maker)
		}
	}
}

func (f *finder) add(name string, rights policy.Rights, maker string) {
	if prefix, wild := strings.CutSuffix(name, "*"); wild {
		dir, base := path.Split(prefix)
		for _, entry := range f.names(path.Clean(dir)) {
			if strings.HasPrefix(entry, base) {
				f.add(dir+entry, rights, maker)
			}
		}
		return
	}
	at, err := f.paths.Resolve(name)
	if err != nil || !at.Exists() {
		return
	}
	f.places = append(f.places, Place{name, rights, maker})
	if policy.Within(at.Path, "/nix/store") { // links lead on from there
		f.places = append(f.places, Place{"/nix/store", runs, maker})
	}
}

func isNumber(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
