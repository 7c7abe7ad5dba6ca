package spec

import (
	"encoding/binary"
	"errors"
	"net/netip"

	"github.com/mcp-jail/mcp-jail/confine/internal/landlock"
	"github.com/mcp-jail/mcp-jail/policy"
)

// specMagic changes with the encoding of a Spec and of an Event, and with what a launcher may ask of
// a supervisor, so that a process of another version refuses it.
const specMagic = "mcp-jail-spec-16"

// codec encodes or decodes. Both directions use the same list of fields (codec.fields,
// codec.event), so they cannot disagree.
type codec struct {
	buf  []byte // the output so far, or the input that is left
	text string // of a reader: the whole input; decoded strings are parts of it
	read bool
	err  error
}

func reader(b []byte) codec { return codec{buf: b, text: string(b), read: true} }

// ErrSpec says that a message is malformed, or of another version.
var ErrSpec = errors.New("a message between the launcher and the jail cannot be decoded")

func (c *codec) num(n *uint64) {
	if !c.read {
		c.buf = binary.AppendUvarint(c.buf, *n)
		return
	}
	v, size := binary.Uvarint(c.buf)
	if size <= 0 {
		c.err, c.buf = ErrSpec, nil
		return
	}
	*n, c.buf = v, c.buf[size:]
}

func (c *codec) int(n *int) {
	v := uint64(int64(*n))
	c.num(&v)
	*n = int(int64(v))
}

func (c *codec) bool(b *bool) {
	var v uint64
	if *b {
		v = 1
	}
	c.num(&v)
	*b = v == 1
}

// length codes the length of a text or a list, each element of which takes at least one byte.
func (c *codec) length(of int) int {
	n := uint64(of)
	if c.num(&n); c.read && n > uint64(len(c.buf)) {
		c.err, c.buf, n = ErrSpec, nil, 0
	}
	return int(n)
}

func (c *codec) str(s *string) {
	n := c.length(len(*s))
	if !c.read {
		c.buf = append(c.buf, *s...)
		return
	}
	at := len(c.text) - len(c.buf)
	*s, c.buf = c.text[at:at+n], c.buf[n:]
}

// bytes codes a byte slice. A decoded one is a part of the input.
func (c *codec) bytes(b *[]byte) {
	n := c.length(len(*b))
	if !c.read {
		c.buf = append(c.buf, *b...)
		return
	}
	*b, c.buf = c.buf[:n:n], c.buf[n:]
}

func (c *codec) network(g *Network) {
	c.bool(&g.Brokered)
	c.bool(&g.Inbound)
	list(c, &g.Ports, func(p *uint16) {
		port := uint64(*p)
		c.num(&port)
		*p = uint16(port)
	})
	c.bytes(&g.Refused)
}

func (c *codec) id(f *policy.FileID) {
	c.num(&f.Dev)
	c.num(&f.Ino)
	birth := uint64(f.Birth)
	c.num(&birth)
	f.Birth = int64(birth)
}

// list codes a slice. It calls each once for every element.
func list[T any](c *codec, s *[]T, each func(*T)) {
	if n := c.length(len(*s)); c.read {
		*s = make([]T, n)
		// Write to each page before reading it. Reading a fresh page maps the shared zero
		// page, and replacing that later interrupts every processor that runs a thread of
		// this process.
		clear(*s)
	}
	for i := range *s {
		each(&(*s)[i])
	}
}

// optional is list for one that may be nil, which is not the same as an empty one.
func optional[T any](c *codec, s *[]T, each func(*T)) {
	isNil := *s == nil
	list(c, s, each)
	if c.bool(&isNil); isNil {
		*s = nil
	}
}

func (c *codec) profile(p *policy.Profile) {
	list(c, &p.Entries, func(e *policy.Entry) {
		kind, rights, origin := uint64(e.Kind), uint64(e.Rights), uint64(e.Origin)
		c.str(&e.Path)
		c.num(&kind)
		c.num(&rights)
		c.num(&origin)
		c.bool(&e.Ephemeral)
		e.Kind, e.Rights, e.Origin = policy.Kind(kind), policy.Rights(rights), policy.Origin(origin)
	})
	list(c, &p.Unprotected, c.str)
	list(c, &p.Hidden, c.str)
	list(c, &p.GitDirs, c.str)
	optional(c, &p.Programs, c.str) // an empty list grants none
	list(c, &p.CommandArgs, c.str)
	list(c, &p.Commands, c.command)
	list(c, &p.OwnPrograms, c.str)
	optional(c, &p.AndCommands, c.command) // an empty second list allows none
}

func (c *codec) command(r *policy.Command) {
	c.str(&r.Name)
	optional(c, &r.Args, func(words *[]string) { list(c, words, c.str) })
	optional(c, &r.Envs, c.str)
	list(c, &r.Starts, func(s *policy.Start) {
		c.str(&s.File)
		c.str(&s.Name)
		list(c, &s.Paths, c.str)
		list(c, &s.Lead, c.str)
		c.str(&s.Script)
	})
}

func (c *codec) mount(m *Mount) {
	kind := uint64(m.Kind)
	c.num(&kind)
	m.Kind = mountKind(kind)
	c.str(&m.Path)
	for _, b := range []*bool{&m.IsDir, &m.ReadOnly, &m.NoExec, &m.Dev, &m.OnExisting, &m.InOverlay, &m.UnderMask, &m.Traversable} {
		c.bool(b)
	}
	c.id(&m.ID)
}

func (c *codec) fields(o *Spec) {
	magic := specMagic
	if c.str(&magic); magic != specMagic {
		c.err, c.buf = ErrSpec, nil
	}
	c.bool(&o.HostNS)
	c.int(&o.HostPID)
	list(c, &o.Mounts, c.mount)
	list(c, &o.Links, func(l *policy.Link) { c.str(&l.Path); c.str(&l.Target) })
	list(c, &o.Files, func(f *MadeFile) { c.str(&f.Path); c.str(&f.Content); c.bool(&f.Over) })
	list(c, &o.Devices, c.str)
	c.bool(&o.FreshProc)
	c.bool(&o.HostNames)
	c.network(&o.Network)
	for _, rules := range []*landlock.Ruleset{&o.Landlock, &o.WorkerRules} {
		c.num(&rules.FS)
		c.num(&rules.Net)
		c.num(&rules.Scoped)
		list(c, &rules.Rules, func(r *landlock.Rule) { c.str(&r.Path); c.num(&r.Access); c.id(&r.ID) })
	}
	c.bytes(&o.Seccomp)
	c.bytes(&o.ListenerFilter)
	c.profile(&o.Profile)
	for _, n := range []*int{&o.Limits.MemoryMB, &o.Limits.Processes, &o.Limits.OpenFiles, &o.Limits.FileSizeMB, &o.Limits.MessageMB} {
		c.int(n)
	}
	c.bool(&o.Once)
	c.bool(&o.Keep.On)
	c.bool(&o.Keep.PerCall)
	c.int(&o.Keep.TotalMB)
	c.bool(&o.SampleMemory)
	c.bool(&o.PidMax)
	c.int(&o.Inotify.Instances)
	c.int(&o.Inotify.Watches)
	c.int(&o.Shared)
	list(c, &o.MustFail, c.str)
	c.str(&o.Program)
	list(c, &o.Argv, c.str)
	list(c, &o.Env, c.str)
	c.str(&o.Dir)
	c.str(&o.TempDir)
	c.str(&o.Home)
	c.str(&o.HomeCopy)
	c.int(&o.Umask)
}

// Encode returns the Spec as bytes.
func (o *Spec) Encode() []byte {
	c := codec{buf: make([]byte, 0, 8<<10)}
	c.fields(o)
	return c.buf
}

// Decode reads what Encode made. The Spec keeps b.
func Decode(b []byte) (*Spec, error) {
	c := reader(b)
	o := &Spec{}
	c.fields(o)
	if c.err == nil && len(c.buf) != 0 {
		c.err = ErrSpec
	}
	return o, c.err
}

// The kinds of a BrokerRequest. The launcher answers each with one byte.
const (
	RequestConnect = 'c' // asks whether a connection is allowed; the launcher records a refusal
	RequestRefused = 'r' // asks the launcher to record a refused packet
	PassTCP        = 'a' // passes the other end of a TCP connection, as a descriptor
	PassUDP        = 'd' // passes the other end of a socket that the server uses as UDP
)

// The answers to a BrokerRequest.
const (
	AnswerNo  = 0
	AnswerYes = 1
)

// BrokerRequest is a message about one of the server's sockets. The supervisor of a jail without a
// network namespace sends it to the launcher.
type BrokerRequest struct {
	Kind byte
	To   netip.AddrPort
}

// MaxBrokerRequest is the size of the buffer in which a request arrives.
const MaxBrokerRequest = 64

// Encode returns the request as one message: its kind, then the address.
func (a BrokerRequest) Encode() []byte {
	b, _ := a.To.AppendBinary([]byte{a.Kind}) // never fails
	return b
}

// DecodeBrokerRequest reads a message that Encode made.
func DecodeBrokerRequest(b []byte) (a BrokerRequest, err error) {
	if len(b) == 0 {
		return a, ErrSpec
	}
	a.Kind = b[0]
	if len(b) > 1 {
		err = a.To.UnmarshalBinary(b[1:])
	}
	return a, err
}

// Mount is one mount in the jail's root. Mounts are attached in the order of the list, so a
// later one lies over an earlier one.
type Mount struct {
	Kind     mountKind
	Path     string // absolute, the same name inside and outside
	IsDir    bool
	ReadOnly bool
	NoExec   bool
	Dev      bool          // without nodev: device nodes keep working
	ID       policy.FileID // of the object that must be at Path; zero: not checked
	// OnExisting: Path lies in an earlier mount. The object must exist already, because the
	// jail creates nothing on the host. Otherwise the name is created in the jail's own root.
	OnExisting bool
	// InOverlay: Path lies in an overlay. The object there has another identity than the
	// host's.
	InOverlay bool
	// UnderMask: Path lies in a traversable mask. Directories that are created on the way to
	// it have the mode of that mask.
	UnderMask bool
	// Traversable: something below this mask is granted again. The server can pass through
	// the mask but cannot list it.
	Traversable bool
}

type mountKind uint8

const (
	MountBind    mountKind = iota + 1 // the host's object
	MountMask                         // an empty object without permissions, over one of the host's
	MountTmpfs                        // a private, size-limited directory
	MountOverlay                      // the host's directory; only the jail sees the changes
	MountPin                          // the object at Path bound onto itself, so that it cannot be renamed
)

// Cloned reports whether the mount shows an object of the host. Such objects are cloned
// before the first mount is attached.
func (op *Mount) Cloned() bool { return op.Kind == MountBind || op.Kind == MountOverlay }

// InMemory returns a path in each filesystem in memory that the server can fill.
func (o *Spec) InMemory() (paths []string) {
	for _, m := range o.Mounts {
		if m.Kind == MountTmpfs || m.Kind == MountOverlay {
			paths = append(paths, m.Path)
		}
	}
	return paths
}

// PrivateDirs are the directories that every jail has for itself.
var PrivateDirs = []string{"/tmp", "/dev/shm"}

// DeviceNodes are the device nodes that the jail binds from the host. A user namespace
// cannot create device nodes.
var DeviceNodes = []string{"null", "zero", "full", "random", "urandom", "tty"}
