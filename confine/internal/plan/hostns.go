package plan

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/mcp-jail/mcp-jail/confine/internal/kernel"
	"github.com/mcp-jail/mcp-jail/confine/internal/landlock"
	"github.com/mcp-jail/mcp-jail/confine/internal/seccomp"
	"github.com/mcp-jail/mcp-jail/confine/internal/spec"
	"github.com/mcp-jail/mcp-jail/policy"
)

// compileHostNS compiles for a host that refuses user namespaces. Landlock and the filter
// stand alone, and what they cannot express is a gap. The filter is stricter than inside
// namespaces where that avoids a gap.
func compileHostNS(c *compiler) {
	c.plan.HostNamespaces, c.canMediate = c.f.UserNamespaces, canMediateHostNS(c.f)
	home := Ephemeral(c.plan.Profile)
	o := &c.plan.Spec
	*o = spec.Spec{
		HostNS: true, TempDir: c.f.TempDir, HostPID: c.f.PID, Limits: c.p.Limits,
		Devices: slices.DeleteFunc(slices.Clone(c.f.Devices), func(d string) bool { return d == "/dev/tty" }),
		Program: c.p.Program, Argv: c.p.Argv, Dir: c.p.Dir, MustFail: mustFail(c.p),
	}
	if home != "" {
		o.Home = path.Join(o.TempDir, "home")
		o.Links = homeLinks(c.p.HomeLinks, o.Home)
		if policy.Within(o.Dir, home) {
			o.Dir = o.Home
		}
	}
	c.ownPlaces(o, home, wholeNetwork(c))
	hostNSNetwork(c, o)
	hostNSMediation(c, o)
	c.keep(o)
	hostNSFiles(c, o)
	hostNSProcesses(c, o)
	c.limits(o)
	if c.traced {
		c.ownEnv(o)
	}
	gone := "/tmp, /dev/shm, terminals and /proc are"
	if grantsProc(c.p) {
		gone = "terminals are"
	}
	c.plan.Notes = append(c.plan.Notes, "TMPDIR is a directory of the server's own; "+gone+" not there for it")
	if home != "" {
		c.addEnforced(policy.AxisFs, "a directory made for it", "what is written to HOME is the process's own, and removed when it ends")
		c.plan.Notes = append(c.plan.Notes, "HOME is an empty directory in TMPDIR at the start of every call: without mounts there is no copy of what the server keeps in "+home)
	}
}

// ownPlaces sets the environment of a jail without mounts. It replaces TMPDIR by the TMPDIR of this jail
// and, if home is not "", HOME by a directory in it. home is the profile's ephemeral directory. The
// server is told that it has the whole network if it has.
func (c *compiler) ownPlaces(o *spec.Spec, home string, wholeNet bool) {
	for _, v := range c.p.Env {
		value := v.Value
		switch {
		case v.Name == "TMPDIR":
			value = o.TempDir
		case v.Name == "HOME" && home != "":
			value = o.Home
		case v.Name == policy.StatementVar:
			value = string(ownStatement(c.plan.Profile, o, home, wholeNet))
		}
		o.Env = append(o.Env, v.Name+"="+value)
	}
	if hasEnv(o, gitNoSystem) || c.gitIdentity(o) {
		return
	}
	o.Env = append(o.Env, gitNoSystem+"=1")
}

// wholeNetwork reports whether the jail gets all of the host's network, because nothing can hold its
// hosts and the user accepts that.
func wholeNetwork(c *compiler) bool {
	return grantedHosts(c.p.Net) != nil && canBroker(c.f).Answer != kernel.Yes && slices.Contains(c.p.Waive, policy.AxisNet)
}

func ownStatement(p *policy.Profile, o *spec.Spec, home string, wholeNet bool) []byte {
	s := policy.NewStatement(p)
	s.Temporary = o.TempDir
	if home != "" {
		s.Home = o.Home
		for i := range s.Fs {
			if s.Fs[i].Path == home {
				s.Fs[i].Path = o.Home
			}
		}
	}
	if wholeNet {
		s.Net.Access, s.Net.Hosts = "all", []policy.StatedHost{}
	}
	return s.Encode()
}

// gitNoSystem keeps git from reading /etc/gitconfig. Landlock and Seatbelt refuse to open it, where
// mounts would hide it, and git ends if it exists and cannot be opened.
const gitNoSystem = "GIT_CONFIG_NOSYSTEM"

func hostNSNetwork(c *compiler, o *spec.Spec) {
	noInbound(c)
	if granted := grantedHosts(c.p.Net); granted != nil {
		brokeredNetwork(c, o, granted)
		return
	}
	by := "seccomp"
	if c.f.LandlockABI >= 4 {
		by = "seccomp, Landlock"
	}
	c.addEnforced(policy.AxisNet, by, "no network, not even a loopback: no socket can be made but connected pairs")
}

func setEnv(o *spec.Spec, name, value string) {
	o.Env = slices.Clone(o.Env)
	for i, v := range o.Env {
		if strings.HasPrefix(v, name+"=") {
			o.Env[i] = name + "=" + value
		}
	}
}

func hasEnv(o *spec.Spec, name string) bool {
	return slices.ContainsFunc(o.Env, func(v string) bool { return strings.HasPrefix(v, name+"=") })
}

func ensureEnv(o *spec.Spec, name, value string) {
	if hasEnv(o, name) {
		setEnv(o, name, value)
		return
	}
	o.Env = append(slices.Clone(o.Env), name+"="+value)
}

// hostNSMediation hands calls that write or change attributes to the supervisor. If that is
// not possible, the missing decisions are gaps.
func hostNSMediation(c *compiler, o *spec.Spec) {
	if c.canMediate.Answer != kernel.Yes {
		c.unmediated(c.canMediate)
		return
	}
	c.mediated = true
	c.decideTracing()
	c.commands(o)
	o.Profile.Unprotected, o.Profile.Hidden, o.Profile.GitDirs, o.Profile.Programs = c.p.Unprotected, c.p.Hidden, c.p.GitDirs, c.p.Programs
	c.addEnforced(policy.AxisFs, "mcp-jail, asked by seccomp",
		"narrower rules and protected files hold inside of wider grants; modes, owners and times change where the server may write")
}

func canMediateHostNS(f kernel.Facts) kernel.Feature {
	switch {
	case f.SeccompNotify.Answer != kernel.Yes:
		return f.SeccompNotify
	case !f.ReadsProc:
		return kernel.Unavailable("there is no /proc here", "mount /proc")
	}
	return f.TracesOwn
}

func builtinEntriesHostNS(f kernel.Facts, o *spec.Spec) []policy.Entry {
	own := []policy.Entry{{Path: o.TempDir, Kind: policy.KindDir, Rights: policy.AllRights}}
	for _, d := range f.Devices {
		own = append(own, policy.Entry{Path: d, Kind: policy.KindSpecial, Rights: policy.Read | policy.Update})
	}
	for _, file := range f.KernelFiles {
		own = append(own, policy.Entry{Path: file, Kind: policy.KindFile, Rights: policy.Read})
	}
	names := f.HostNames
	if o.Network.Brokered {
		names = f.Resolver // not /etc/hosts: the launcher looks the names up, and decides by them
	}
	if o.Network.Brokered || o.HostNames {
		for _, file := range names {
			own = append(own, policy.Entry{Path: file, Kind: policy.KindFile, Rights: policy.Read})
		}
	}
	return own
}

func hostNSFiles(c *compiler, o *spec.Spec) {
	if c.withoutLandlock("every rule about files", "there are no namespaces, and ") {
		return
	}
	for _, e := range c.p.Entries {
		if policy.Within(e.Path, "/proc") {
			c.addGap(Gap{Axis: policy.AxisFs, What: e.Rule, Fatal: true, Why: neverProc, Fix: "remove the rule"})
		}
	}
	// The jail has the devices of its spec only, without the terminal.
	f := c.f
	f.Devices = o.Devices
	entries := entriesHostNS(c.p.Entries)
	input := landlock.Input{
		ABI: c.f.LandlockABI, Entries: entries, Own: builtinEntriesHostNS(f, o), Programs: c.p.Programs,
		DenyPorts: !o.HostNames, Identify: true,
	}
	compiled := landlock.Compile(input)
	o.Landlock = compiled.Ruleset
	c.addEnforced(policy.AxisFs, fmt.Sprintf("Landlock ABI %d", c.f.LandlockABI),
		"nothing but the listed paths can be read, listed, written, made, removed or executed")
	c.addGap(Gap{
		Axis: policy.AxisFs, What: "what is not granted is hidden",
		Why: "the server can find out whether a file exists whose name it guesses, its size, owner and times, and watch it change; it cannot open it",
		Fix: FixNamespaces,
	})
	// What is hidden in a grant is refused by the supervisor, which decides nothing yet when the jail tests itself.
	o.MustFail = slices.DeleteFunc(o.MustFail, func(dir string) bool {
		return slices.ContainsFunc(compiled.Carved, func(k landlock.Carve) bool { return policy.Within(dir, k.Entry.Path) })
	})
	hostNSCarveOuts(c, compiled.Carved)
	if c.mediated {
		o.Profile.Entries = mediatedEntries(c.p.Entries, builtinEntriesHostNS(f, o))
		o.WorkerRules = workerRuleset(input)
		c.mediatesReads = c.watch || grantsProc(c.p) || slices.ContainsFunc(compiled.Carved, func(k landlock.Carve) bool { return k.Taken.Has(policy.Read) })
	}
	for _, p := range compiled.Unreadable {
		c.plan.Notes = append(c.plan.Notes, p+": execute without read starts nothing, since the kernel reads a program to start it")
	}
}

// grantsProc reports whether a rule grants /proc. Only a rule for "/" can. No mount covers it here.
func grantsProc(p *policy.Profile) bool { return p.RightsAt("/proc") != 0 }

// entriesHostNS returns the entries without the baseline's right to execute in /etc. Nothing
// there is a program, and without the right a hidden file in it is no gap.
func entriesHostNS(entries []policy.Entry) []policy.Entry {
	entries = slices.Clone(entries)
	for i := range entries {
		if e := &entries[i]; e.Origin == policy.OriginBaseline && policy.Within(e.Path, "/etc") {
			e.Rights &^= policy.Execute
		}
	}
	return entries
}

// hostNSCarveOuts adds the gaps of entries inside a wider grant. Landlock adds rights along a
// path; only a mount could take them away. The supervisor can decide calls that open, make,
// change and remove instead, but not execution.
func hostNSCarveOuts(c *compiler, carved []landlock.Carve) {
	const why = "Landlock cannot take away inside a grant, and without namespaces there are no mounts that could"
	var hidden, narrower, executable []string
	whyExecutable := why
	for _, k := range carved {
		switch {
		// An entry is listed once, by the gravest right that cannot be taken from it.
		case k.Taken.Has(policy.Read):
			hidden = append(hidden, k.Entry.Path)
		case k.Taken&policy.Write != 0:
			narrower = append(narrower, k.Entry.Path+" (no "+strings.ReplaceAll(k.Taken.String(), " ", ", ")+")")
		}
		if k.Taken.Has(policy.Execute) {
			executable = append(executable, k.Entry.Path)
			if k.Taken.Has(policy.Read) {
				whyExecutable = why + ": the server can also start a program that is hidden there, and read it through a library that is loaded into it (LD_PRELOAD)"
			}
		}
	}
	c.addPathsGap("not executable inside a wider grant: ", whyExecutable, FixNamespaces, executable)
	if grantsProc(c.p) {
		c.addPathsGap("the host's ", why+": mcp-jail blocks the files of other processes there, and no others", FixNamespaces, []string{"/proc"})
	}
	if c.mediated {
		c.otherSpellings()
		return
	}
	c.addPathsGap("hidden inside a wider grant: ", why+": the server can read them", FixNamespaces, hidden)
	c.addPathsGap("less than around them: ", why, FixNamespaces, narrower)
	c.addGap(Gap{
		Axis: policy.AxisFs, What: "modes, owners, times and attributes of files that may not be written",
		Why: "Landlock does not restrict such changes: the server can make them to every file that you own",
		Fix: FixNamespaces,
	})
}

func hostNSProcesses(c *compiler, o *spec.Spec) {
	// From ABI 9 on Landlock decides about sockets by their path, from 6 on about
	// abstract ones.
	sockets := c.f.LandlockABI >= 9 && !o.Network.Brokered
	if !c.filters(o, seccomp.NotifyRulesHostNS(c.mediatesReads), seccomp.Options{
		Unix: sockets, Inet: o.HostNames, Truncate: c.mediated || c.f.LandlockABI >= 3,
		Programs: c.p.Programs != nil, Supervised: c.mediated, Sockets: o.Network.Brokered, Traced: c.traced, Devices: deviceTypes(c.p.Entries),
	}) {
		return
	}
	by, what := "seccomp", "no UNIX socket can be made but connected pairs; no queue, shared memory or key of this machine can be reached"
	if sockets {
		by, what = "seccomp, Landlock", "no socket, queue, shared memory or key of this machine can be reached, but for sockets that a rule names"
	}
	c.addEnforced(policy.AxisIPC, by, "%s", what)
	hostNSLifetime(c)
	c.programs("Landlock", "the kernel", c.canMediate)
	c.addEnforced(policy.AxisEnv, "an environment made anew", "%d variables, %d of yours withheld", len(c.p.Env), len(c.p.Withheld))
}

func hostNSLifetime(c *compiler) {
	if !c.f.ReadsProc {
		c.addGap(Gap{
			Axis: policy.AxisProcess, What: "core dumps are empty",
			Why: "there is no /proc here, through which mcp-jail keeps memory out of them, and no limit keeps the kernel from sending them to a socket (kernel.core_pattern)",
			Fix: "mount /proc",
		})
	}
	if c.f.LandlockABI >= 6 {
		c.addEnforced(policy.AxisProcess, "seccomp, Landlock, no_new_privs, no capability", "no privilege, no tracing, no signal to others, no new namespace")
		c.addGap(Gap{
			Axis: policy.AxisProcess, What: "no process survives",
			Why: "what the server has started goes on after its end if another program kills the part of mcp-jail that watches it first",
			Fix: FixNamespaces,
		})
		return
	}
	c.addEnforced(policy.AxisProcess, "seccomp, Landlock, no_new_privs, no capability", "no privilege, no tracing, no new namespace")
	c.addGap(Gap{
		Axis: policy.AxisProcess, What: "no signal to your other processes, and no process survives",
		Why: "the server can end any of your processes, and also the part of mcp-jail that watches it, and what it has started then goes on: Landlock restricts signals only since Linux 6.12",
		Fix: FixNamespaces,
	})
}

// otherSpellings adds the gaps of entries in directories that ignore case. A mount may lie on one spelling
// only, and the supervisor goes by names. It compares without case what is protected by its name.
func (c *compiler) otherSpellings() {
	var hidden, executable, narrower []string
	for _, e := range c.p.Entries {
		around, _ := c.p.Find(path.Dir(e.Path))
		taken := around.Rights &^ e.Rights
		switch {
		case !c.p.IgnoresCase(e.Path):
		case taken.Has(policy.Read):
			hidden = append(hidden, e.Path)
		case taken.Has(policy.Execute):
			executable = append(executable, e.Path)
		case taken&policy.Write != 0 && !(c.mediated && c.p.Protects(policy.OpWrite, path.Join(path.Dir(e.Path), strings.ToUpper(path.Base(e.Path))))):
			narrower = append(narrower, e.Path)
		}
	}
	const why = "that filesystem finds its names under other spellings too (it ignores case), and what the jail mounts on one of them may not lie on the others"
	const fix = `move it to a filesystem that tells spellings apart, or out of the grant, or accept it for this server with waive = ["fs"] (--waive fs)`
	c.addPathsGap("hidden inside a wider grant: ", why, fix, hidden)
	c.addPathsGap("not executable inside a wider grant: ", why, fix, executable)
	c.addPathsGap("less than around them: ", why, fix, narrower)
}

// maxGapPaths is how many paths Gap.What names. Gap.Paths has all of them.
const maxGapPaths = 12

// addPathsGap adds a gap about paths, if there are any.
func (c *compiler) addPathsGap(what, why, fix string, paths []string) {
	if paths != nil {
		c.addGap(Gap{Axis: policy.AxisFs, What: what + strings.Join(shorten(paths, maxGapPaths), ", "), Why: why, Fix: fix, Paths: paths})
	}
}

// deviceCommands are the type bytes of the commands of devices, by the beginning of the path
// (Documentation/userspace-api/ioctl/ioctl-number.rst). The longest beginning counts. No byte is
// one of a filesystem.
var deviceCommands = []struct{ path, types string }{
	{"/dev/null", ""}, {"/dev/zero", ""}, {"/dev/full", ""}, {"/dev/random", ""}, {"/dev/urandom", ""},
	{"/dev/ptmx", ""}, {"/dev/pts", ""}, {"/dev/shm", ""}, {"/dev/mqueue", ""}, {"/dev/fd", ""}, {"/dev/std", ""}, {"/dev/log", ""},
	{"/dev/tty", "T"}, {"/dev/serial", "T"}, {"/dev/rfcomm", "T"}, // serial lines; tiocSTI and its like stay refused
	{"/dev/dri", "db>"}, {"/dev/accel", "dH"}, {"/dev/kfd", "K"}, {"/dev/nvidia", "\x00Fm"}, {"/dev/dxg", "G"}, {"/dev/fb", "F"},
	{"/dev/dma_heap", "Hb"}, {"/dev/udmabuf", "ub"}, {"/dev/apex", "\xdc"},
	{"/dev/snd", "ACHSTUW"}, {"/dev/dsp", "MPQ"}, {"/dev/mixer", "M"}, {"/dev/midi", "CMQ"},
	{"/dev/video", "V|"}, {"/dev/v4l", "V|"}, {"/dev/media", "|"}, {"/dev/dvb", "o"}, {"/dev/lirc", "i"}, {"/dev/cec", "a"},
	{"/dev/input", "Ej"}, {"/dev/uinput", "U"}, {"/dev/hidraw", "H"}, {"/dev/usb", "H\x06"}, {"/dev/bus/usb", "U"},
	{"/dev/kvm", "\xae"}, {"/dev/vhost", "\xaf"}, {"/dev/vsock", "\x07"}, {"/dev/vfio", ";"}, {"/dev/iommu", ";"}, {"/dev/net", "T"},
	{"/dev/i2c", "\x07"}, {"/dev/spidev", "k"}, {"/dev/gpio", "\xb4"}, {"/dev/rtc", "p"}, {"/dev/pps", "p"}, {"/dev/ptp", "="},
	{"/dev/watchdog", "W"}, {"/dev/tee", "\xa4"}, {"/dev/sgx", "\xa4"}, {"/dev/ipmi", "i"}, {"/dev/fuse", "\xe5"},
	{"/dev/sd", disk}, {"/dev/vd", disk}, {"/dev/xvd", disk}, {"/dev/nvme", disk}, {"/dev/mmcblk", disk}, {"/dev/loop", disk},
	{"/dev/dm-", disk}, {"/dev/mapper", disk}, {"/dev/md", disk}, {"/dev/nbd", disk}, {"/dev/disk", disk}, {"/dev/sr", disk}, {"/dev/sg", disk},
}

// disk are the bytes of disks: blocks, geometry, SCSI, and the drivers' own.
const disk = "\x12\x03\x22LNS\x09\xab\xb3\xfd"

// otherTypes reports whether commands of this type are those of terminals, sockets or filesystems,
// of seccomp listeners or of /proc. A device that deviceCommands does not know has all others.
func otherTypes(t byte) bool {
	return strings.IndexByte("T\x89\x8b"+"fvXrno\x94\xf5\xbc\x97\xcd\xcf"+"!\xb7\xff", t) >= 0
}

// deviceTypes returns the types of the commands that the granted devices take. On a device that is
// not granted Landlock refuses every command (ABI 5), so the types matter on other descriptors.
func deviceTypes(entries []policy.Entry) (d seccomp.DeviceTypes) {
	for _, e := range entries {
		below := policy.Within("/dev", e.Path)
		if e.Rights&(policy.Read|policy.Update) == 0 || !below && !policy.Within(e.Path, "/dev") {
			continue
		}
		longest, known := -1, false
		types := ""
		for _, c := range deviceCommands {
			switch {
			case policy.Within(c.path, e.Path):
				d.Add(c.types)
				known = known || e.Path == c.path
			case strings.HasPrefix(e.Path, c.path) && len(c.path) > longest:
				longest, types, known = len(c.path), c.types, true
			}
		}
		d.Add(types)
		if known {
			continue
		}
		for t := range 256 {
			if !otherTypes(byte(t)) {
				d.Add(string([]byte{byte(t)}))
			}
		}
	}
	return d
}
