package session

// Refreshed is what Session.Refresh has found.
type Refreshed struct {
	// Changed says that processes which start from now on have another policy than those
	// before. It is true once for each change.
	Changed bool
	// Notice tells the user of a change, once; "" if there is nothing to tell.
	Notice string
	// Problem says why the configuration cannot be used as it is now, and what is used in its
	// place. It is told at every call of a tool.
	Problem string
}

// TellRefreshed tells the user and the client what a refresh has found. asked says that the
// request at hand has asked for log messages.
func (c *Client) TellRefreshed(r Refreshed, asked bool) {
	if r.Notice != "" {
		c.Warn(r.Notice)
		c.recordChanged()
		c.notify(asked, r.Notice)
	}
	if r.Problem != "" {
		c.Stderr.SayLine(r.Problem)
		c.notify(asked, r.Problem)
	}
}
