package egress

import (
	"io"
	"net/netip"
	"testing"

	"golang.org/x/net/dns/dnsmessage"

	"github.com/mcp-jail/mcp-jail/internal/testkit"
	"github.com/mcp-jail/mcp-jail/policy"
)

func TestClose(t *testing.T) {
	listen(t, "198.51.100.7:1000", echo("hello"))
	g, _ := testGateway(t, map[string][]string{"x.test": {"198.51.100.7"}}, allowPort("x.test", "tcp", 1000), allow("x.test"))
	at := resolve(t, g, "x.test").String()
	c, silent := client(t, g, at+":1000"), client(t, g, at+":443")
	io.ReadFull(c, make([]byte, 5))
	g.Refuse("tcp", netip.MustParseAddrPort("198.51.100.9:22"))
	g.Close()
	g.Close()
	wasReset(t, c)
	wasReset(t, silent)
	late, jail := pair(t)
	g.Accept(jail, netip.MustParseAddrPort(at+":1000"))
	wasReset(t, late)
	if d := onlyDenial(t, g); d.Target != "198.51.100.9:22" || d.Reason != policy.DeniedNotGranted {
		t.Errorf("after Close: %+v", d)
	}
	var m dnsmessage.Message
	testkit.Works(t, "a question after Close", m.Unpack(g.answer(question(t, "x.test.", dnsmessage.TypeA))))
}
