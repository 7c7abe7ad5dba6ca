package policy

import "time"

// Observation is something that a server did, or tried to do, while its jail was told to watch it. A
// refusal alone is a Denial. Its JSON form is that of the records of learning.
type Observation struct {
	Axis Axis `json:"axis"`
	// Operation is the name of an Op, "list" for the names of a directory, "connect", "resolve", or
	// "request" for a request of HTTP.
	Operation string   `json:"operation"`
	Target    string   `json:"target"`              // path, host:port, or name
	Arguments []string `json:"arguments,omitempty"` // of a program; the first is its name
	Scheme    string   `json:"scheme,omitempty"`    // of a connection, if its first bytes told it
	Request   string   `json:"request,omitempty"`   // method and path of a request of HTTP
	Absent    bool     `json:"absent,omitempty"`    // there is nothing at the path
	Dir       bool     `json:"dir,omitempty"`       // a directory is at the path
	Refused   bool     `json:"refused,omitempty"`   // the jail refused it
	// Discarded tells that the server wrote to a copy of the file, which ends with its process.
	Discarded bool      `json:"discarded,omitempty"`
	Program   string    `json:"program,omitempty"` // the program that did it
	PID       int       `json:"pid,omitempty"`
	Count     int       `json:"count"`
	Time      time.Time `json:"time"`           // of the first
	Tool      string    `json:"tool,omitempty"` // of the call that was under way
}
