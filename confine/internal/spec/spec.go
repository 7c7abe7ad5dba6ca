package spec

import (
	"encoding/binary"
	"errors"
	"io"
	"slices"

	"github.com/mcp-jail/mcp-jail/confine/internal/landlock"
	"github.com/mcp-jail/mcp-jail/policy"
)

// order is what the launcher tells the shim: a compiled plan, nothing left to
// decide. It crosses a pipe in a flat form of its own, because decoding is part
// of every start and reflection costs more than the mounts do.
type Spec struct {
	HostNS    bool // there are no namespaces: no mounts, and nothing of the jail's own below
	HostPID   int  // the launcher's, for the self-test
	Mounts    []Mount
	Links     []policy.Link
	Files     []MadeFile
	Devices   []string
	FreshProc bool
	HostNames bool // Bare: the whole network of the host
	Network   Network

	Landlock landlock.Ruleset
	Seccomp  []byte // struct sock_filter records
	// Hooks is a second filter, for the server alone: what it hands over is decided
	// by the init, which knows what follows. Empty: nobody is asked.
	Hooks []byte
	// Profile is the part of the profile by which the mediator decides: Entries (with Path,
	// Kind, Rights and Origin, and with the jail's own places), Unprotected, Folded and
	// Programs. Its other fields are empty.
	Profile     policy.Profile
	WorkerRules landlock.Ruleset // of the init's workers, where it is not Landlock

	Limits       policy.Limits
	SampleMemory bool     // the sampler holds Limits.MemoryMB, because no cgroup does
	PidMax       bool     // limit processes by the PID namespace's pid_max (root)
	Inotify      Inotify  // zero: not limited
	Shared       int      // what the host had of shared memory before there was the server; 0: unknown
	MustFail     []string // directories of the host that the self-test tries to list

	Program string
	Argv    []string
	Env     []string
	Dir     string
	TempDir string // Bare: the directory for TMPDIR, made by the shim and removed at the end
	Home    string // Bare: one in it, in place of the server's; "" where HOME is what it is
}

// hostRoot reports whether the jail's root is the host's: "/" is granted.
func (o *Spec) HostRoot() bool {
	if o.HostNS {
		return slices.ContainsFunc(o.Landlock.Rules, func(r landlock.Rule) bool { return r.Path == "/" })
	}
	return len(o.Mounts) > 0 && o.Mounts[0].Path == "/"
}

// inotify are limits of inotify(7), "/proc interfaces".
type Inotify struct{ Instances, Watches int }

// madeFile is a file that the jail gets instead of the host's.
type MadeFile struct {
	Path, Content string
	Over          bool // in a granted directory: it covers what is there
}

// specMagic changes with the form, that of the messages below too, so that a shim of
// another version refuses.
const specMagic = "mcp-jail-order-10"

// codec writes or reads the fields of an order; one function, field, lists them
// for both directions, so that they cannot disagree.
type codec struct {
	buf  []byte
	text string // of a reader: what it reads, of which its strings are parts
	read bool
	err  error
}

func reader(b []byte) codec { return codec{buf: b, text: string(b), read: true} }

var ErrSpec = errors.New("the order of the launcher cannot be read")

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

func (c *codec) str(s *string) {
	n := uint64(len(*s))
	c.num(&n)
	if !c.read {
		c.buf = append(c.buf, *s...)
		return
	}
	if n > uint64(len(c.buf)) {
		c.err, c.buf = ErrSpec, nil
		return
	}
	at := len(c.text) - len(c.buf)
	*s, c.buf = c.text[at:at+int(n)], c.buf[n:]
}

// bytes that were read are a part of what is read.
func (c *codec) bytes(b *[]byte) {
	n := uint64(len(*b))
	c.num(&n)
	if !c.read {
		c.buf = append(c.buf, *b...)
		return
	}
	if n > uint64(len(c.buf)) {
		c.err, c.buf = ErrSpec, nil
		return
	}
	*b, c.buf = c.buf[:n:n], c.buf[n:]
}

func (c *codec) gate(g *Network) {
	c.bool(&g.Open)
	c.bool(&g.Asked)
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

// list codes a slice: each is called once for every element.
func list[T any](c *codec, s *[]T, each func(*T)) {
	n := uint64(len(*s))
	c.num(&n)
	if c.read {
		if n > uint64(len(c.buf)) { // every element takes a byte at least
			c.err, c.buf = ErrSpec, nil
			return
		}
		*s = make([]T, n)
		// Memory that is first written to: a fresh page that is read before is all
		// zeroes' page, and getting one of its own then interrupts every processor that
		// runs a thread of this process.
		clear(*s)
	}
	for i := range *s {
		each(&(*s)[i])
	}
}

// profile codes the fields that Spec.Profile has.
func (c *codec) profile(p *policy.Profile) {
	list(c, &p.Entries, func(e *policy.Entry) {
		kind, rights, origin := uint64(e.Kind), uint64(e.Rights), uint64(e.Origin)
		c.str(&e.Path)
		c.num(&kind)
		c.num(&rights)
		c.num(&origin)
		e.Kind, e.Rights, e.Origin = policy.Kind(kind), policy.Rights(rights), policy.Origin(origin)
	})
	list(c, &p.Unprotected, c.str)
	list(c, &p.Folded, func(f *policy.FoldedName) {
		c.str(&f.Path)
		c.id(&f.ID)
		c.str(&f.OtherSpelling)
		c.bool(&f.BypassesMount)
	})
	anyProgram := p.Programs == nil // an empty list grants none
	list(c, &p.Programs, c.str)
	if c.bool(&anyProgram); anyProgram {
		p.Programs = nil
	}
}

func (c *codec) fields(o *Spec) {
	magic := specMagic
	if c.str(&magic); magic != specMagic {
		c.err, c.buf = ErrSpec, nil
	}
	c.bool(&o.HostNS)
	c.int(&o.HostPID)
	list(c, &o.Mounts, func(m *Mount) {
		kind := uint64(m.Kind)
		c.num(&kind)
		m.Kind = mountKind(kind)
		c.str(&m.Path)
		for _, b := range []*bool{&m.IsDir, &m.ReadOnly, &m.NoExec, &m.Dev, &m.OnExisting, &m.InOverlay, &m.UnderMask, &m.Traversable} {
			c.bool(b)
		}
		c.id(&m.ID)
	})
	list(c, &o.Links, func(l *policy.Link) { c.str(&l.Path); c.str(&l.Target) })
	list(c, &o.Files, func(f *MadeFile) { c.str(&f.Path); c.str(&f.Content); c.bool(&f.Over) })
	list(c, &o.Devices, c.str)
	c.bool(&o.FreshProc)
	c.bool(&o.HostNames)
	c.gate(&o.Network)
	for _, rules := range []*landlock.Ruleset{&o.Landlock, &o.WorkerRules} {
		c.num(&rules.FS)
		c.num(&rules.Net)
		c.num(&rules.Scoped)
		list(c, &rules.Rules, func(r *landlock.Rule) { c.str(&r.Path); c.num(&r.Access); c.id(&r.ID) })
	}
	c.bytes(&o.Seccomp)
	c.bytes(&o.Hooks)
	c.profile(&o.Profile)
	for _, n := range []*int{&o.Limits.MemoryMB, &o.Limits.Processes, &o.Limits.OpenFiles, &o.Limits.FileSizeMB, &o.Limits.MessageMB, &o.Limits.NetOutMB, &o.Limits.Connections} {
		c.int(n)
	}
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
}

func (o *Spec) Encode() []byte {
	c := codec{buf: make([]byte, 0, 8<<10)}
	c.fields(o)
	return c.buf
}

// decodeOrder reads an order, which keeps b.
func Decode(b []byte) (*Spec, error) {
	c := reader(b)
	o := &Spec{}
	c.fields(o)
	if c.err == nil && len(c.buf) != 0 {
		c.err = ErrSpec
	}
	return o, c.err
}

// Messages of the shim on the status pipe: a letter, then strings. They follow
// each other in one stream, each with its length in front.
const (
	EventStarted    = 'S' // the program was executed
	EventSupervisor = 'H' // there is a supervisor from now on, who answers the server's calls
	EventFailed     = 'E' // step, errno, detail: nothing runs
	EventNote       = 'N' // something worth showing: text
	EventLimit      = 'L' // key of the limit, what reached it, its value, pid, program
	EventRefused    = 'R' // axis, operation, target, count, pid, program
	EventAbsent     = 'A' // the same of a name that the jail does not have: perhaps nobody has
	EventExit       = 'X' // code, signal of the program; exitedAlone in detail
)

// exitedAlone: with the program nobody was left in the jail but its init.
const ExitedAlone = "alone"

type Event struct {
	Kind    byte
	Step    string
	Num     int
	Detail  string
	Target  string
	Pid     int
	Program string
	Held    bool // of a refusal: there may be more of it, which is told later
}

func (c *codec) message(m *Event) {
	kind := uint64(m.Kind)
	c.num(&kind)
	m.Kind = byte(kind)
	c.str(&m.Step)
	c.int(&m.Num)
	c.str(&m.Detail)
	c.str(&m.Target)
	c.int(&m.Pid)
	c.str(&m.Program)
	c.bool(&m.Held)
}

func (m Event) Encode() []byte {
	c := codec{}
	c.message(&m)
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(c.buf))), c.buf...)
}

func decodeEvent(b []byte) (m Event, err error) {
	c := reader(b)
	c.message(&m)
	return m, c.err
}

// nextMessage takes the first message off what was read; io.ErrUnexpectedEOF means
// that there is more to come of it.
func NextEvent(b []byte) (m Event, rest []byte, err error) {
	if len(b) < 4 {
		return Event{}, b, io.ErrUnexpectedEOF
	}
	n := binary.BigEndian.Uint32(b)
	if n > 64<<10 {
		return Event{}, b, ErrSpec
	}
	if uint64(len(b)) < 4+uint64(n) {
		return Event{}, b, io.ErrUnexpectedEOF
	}
	m, err = decodeEvent(b[4 : 4+n])
	return m, b[4+n:], err
}
