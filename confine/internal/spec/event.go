package spec

import (
	"encoding/binary"
	"io"
	"strings"
	"time"

	"github.com/mcp-jail/mcp-jail/policy"
)

// The kinds of an Event, with the fields that each uses.
const (
	EventStarted    = 'S' // the program was executed
	EventSupervisor = 'H' // the supervisor runs, and answers mediated calls from now on
	EventFailed     = 'E' // the start failed and nothing runs, or the running supervisor gives up and ends the jail: Step, Num (errno), Detail
	EventNote       = 'N' // a text to show: Detail, Step (NoteWarning or "")
	EventLimit      = 'L' // a limit was exceeded: Step (its key), Detail (by what), Num (its value), Pid, Program
	EventRefused    = 'R' // a call was refused: Step (axis), Detail (operation), Target, Arguments, Num (how often), Pid, Program
	EventAbsent     = 'A' // as EventRefused; the jail has no such name, and perhaps the host has none either
	EventBind       = 'B' // the program binds a TCP socket and waits for RequestBound: Target (address), Num (port)
	EventKept       = 'K' // what RequestBegin or RequestEnd asks for is done
	EventExit       = 'X' // the program ended: Num (exit code), Pid (signal), Detail (ExitedAlone or "")
)

// NoteWarning marks a note that the user is to see, and not only the log.
const NoteWarning = "warning"

// ExitedAlone says that no process but the init (with host namespaces: the supervisor) was
// left in the jail when the program ended.
const ExitedAlone = "alone"

// Event is a message of the supervisor to the launcher. Events form one stream,
// each with its length in front.
type Event struct {
	Kind    byte
	Step    string
	Num     int
	Detail  string
	Target  string
	Pid     int
	Program string
	// Arguments are those of a refused start of a program, as JoinArguments writes them; "": the
	// program itself was refused.
	Arguments string
	Held      bool // of a refusal: later equal ones are reported together, at the end of the window
}

func (c *codec) event(m *Event) {
	kind := uint64(m.Kind)
	c.num(&kind)
	m.Kind = byte(kind)
	c.str(&m.Step)
	c.int(&m.Num)
	c.str(&m.Detail)
	c.str(&m.Target)
	c.int(&m.Pid)
	c.str(&m.Program)
	c.str(&m.Arguments)
	c.bool(&m.Held)
}

// Encode returns the event with its length in front.
func (m Event) Encode() []byte {
	c := codec{}
	c.event(&m)
	return append(binary.BigEndian.AppendUint32(nil, uint32(len(c.buf))), c.buf...)
}

func decodeEvent(b []byte) (m Event, err error) {
	c := reader(b)
	c.event(&m)
	return m, c.err
}

// NextEvent decodes the first event of b and returns the rest. The error is
// io.ErrUnexpectedEOF if the event is incomplete.
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

// Refusal is a refusal as the supervisor sees it.
type Refusal struct {
	Axis      policy.Axis
	Operation string
	Target    string // policy.DenialOthers if there are too many different targets
	Arguments string // of a start: see Event
	Absent    bool   // the jail has no such name; only the launcher can tell whether the host has it
}

// How many refusals the supervisor reports.
const (
	Window      = time.Second // after which repeated refusals are reported as one count
	MaxRefusals = 1000        // different ones in one window, and in one session
	MaxAbsents  = 250         // of those with Absent set; the launcher looks up each of them
	MaxAgain    = 100         // repeats in one window that are reported at once
)

// Event returns the event that reports the refusal, which happened so many times.
func (s Refusal) Event(times int) Event {
	m := Event{Kind: EventRefused, Step: string(s.Axis), Detail: s.Operation, Target: s.Target, Arguments: s.Arguments, Num: times}
	if s.Absent {
		m.Kind = EventAbsent
	}
	return m
}

// Refusal returns the refusal that the event reports. Absent is set only for the sum of the
// others, because the launcher has looked up all other names by then.
func (m Event) Refusal() Refusal {
	return Refusal{policy.Axis(m.Step), m.Detail, m.Target, m.Arguments, m.Kind == EventAbsent && m.Target == policy.DenialOthers}
}

// maxArguments is how many bytes of the arguments of a refused start are recorded.
const maxArguments = 4096

// UnknownArguments stands for arguments that could not be read.
const UnknownArguments = "p"

// JoinArguments returns the arguments of a refused start as one string. It leaves out the first
// argument that does not fit, and all after it.
func JoinArguments(args []string) string {
	joined := "a" // all of them
	for _, a := range args {
		if len(joined)+len(a) >= maxArguments {
			return "p" + joined[1:] // a part
		}
		joined += a + "\x00"
	}
	return joined
}

// SplitArguments returns the arguments in a result of JoinArguments, and whether they are all.
func SplitArguments(joined string) (args []string, all bool) {
	if joined == "" {
		return nil, false
	}
	args = strings.Split(joined[1:], "\x00")
	return args[:len(args)-1], joined[0] == 'a'
}
