package front

import (
	"bufio"
	"encoding/binary"
	"io"
	"net/netip"

	"github.com/mcp-jail/mcp-jail/policy"
)

// The numbers of SOCKS5 (RFC 1928), and of its passwords (RFC 1929).
const (
	socksVersion         = 5
	socksPasswordVersion = 1
	socksByPassword      = 2    // a method
	socksNoMethod        = 0xff // none of the client's
	socksConnect         = 1    // a command
	socksIPv4            = 1    // types of addresses
	socksName            = 3
	socksIPv6            = 4

	socksGranted            = 0 // replies
	socksFailed             = 1
	socksRefused            = 2
	socksUnreachable        = 4
	socksUnsupportedCommand = 7
	socksUnsupportedType    = 8
)

// socksCommands is why the proxy does nothing else.
const socksCommands = "of SOCKS5, only the command CONNECT is supported, not BIND and UDP ASSOCIATE"

// greetSOCKS reads and answers the messages of a SOCKS5 client up to its request.
func (f *Front) greetSOCKS(b *bufio.Reader, c *Client) bool {
	methods, err := readSOCKSMethods(b)
	if err != nil {
		return false
	}
	if !methods[socksByPassword] {
		f.admits("", "", false)
		c.Conn.Write([]byte{socksVersion, socksNoMethod})
		return false
	}
	c.Conn.Write([]byte{socksVersion, socksByPassword})
	user, password, err := readSOCKSPassword(b)
	if err != nil {
		return false
	}
	if !f.admits(user, password, true) {
		c.Conn.Write([]byte{socksPasswordVersion, socksFailed})
		return false
	}
	c.Conn.Write([]byte{socksPasswordVersion, socksGranted})
	command, reply, err := readSOCKSRequest(b, c)
	switch {
	case err != nil:
		return false
	case reply != socksGranted:
		c.writeSOCKS(reply)
		return false
	case command != socksConnect:
		f.deny(c.Host, c.Port, policy.DeniedUnsupported, socksCommands)
		c.writeSOCKS(socksUnsupportedCommand)
		return false
	}
	c.tell = func(err *Error) {
		switch {
		case err == nil:
			c.writeSOCKS(socksGranted)
		case err.Kind == Refused:
			c.writeSOCKS(socksRefused)
		default:
			c.writeSOCKS(socksUnreachable)
		}
	}
	return true
}

// writeSOCKS answers a request. The address that it could hold says nothing to a client.
func (c *Client) writeSOCKS(reply byte) {
	c.Conn.Write([]byte{socksVersion, reply, 0, socksIPv4, 0, 0, 0, 0, 0, 0})
}

func readSOCKSMethods(b *bufio.Reader) (methods map[byte]bool, err error) {
	var head [2]byte // version, number of methods
	if _, err := io.ReadFull(b, head[:]); err != nil {
		return nil, err
	}
	methods = map[byte]bool{}
	for range head[1] {
		m, err := b.ReadByte()
		if err != nil {
			return nil, err
		}
		methods[m] = true
	}
	return methods, nil
}

func readSOCKSPassword(b *bufio.Reader) (user, password string, err error) {
	version, err := b.ReadByte()
	if err != nil {
		return "", "", err
	}
	if version != socksPasswordVersion {
		return "", "", errNoPassword
	}
	if user, err = readSOCKSText(b); err == nil {
		password, err = readSOCKSText(b)
	}
	return user, password, err
}

// readSOCKSText reads a text after its length of one byte.
func readSOCKSText(b *bufio.Reader) (string, error) {
	n, err := b.ReadByte()
	if err != nil {
		return "", err
	}
	text := make([]byte, n)
	_, err = io.ReadFull(b, text)
	return string(text), err
}

// readSOCKSRequest reads the host and port that a client asks for. reply is not socksGranted if the
// request cannot be read.
func readSOCKSRequest(b *bufio.Reader, c *Client) (command, reply byte, err error) {
	var head [4]byte // version, command, 0, type of the address
	if _, err := io.ReadFull(b, head[:]); err != nil {
		return 0, 0, err
	}
	if head[0] != socksVersion || head[2] != 0 {
		return 0, socksFailed, nil
	}
	switch head[3] {
	case socksName:
		c.Host, err = readSOCKSText(b)
	case socksIPv4, socksIPv6:
		address := make([]byte, map[byte]int{socksIPv4: 4, socksIPv6: 16}[head[3]])
		_, err = io.ReadFull(b, address)
		addr, _ := netip.AddrFromSlice(address)
		c.Host = addr.Unmap().String()
	default:
		return 0, socksUnsupportedType, nil
	}
	var port [2]byte
	if err == nil {
		_, err = io.ReadFull(b, port[:])
	}
	if err != nil {
		return 0, 0, err
	}
	if c.Port = int(binary.BigEndian.Uint16(port[:])); c.Port == 0 && head[1] == socksConnect || c.Host == "" {
		return 0, socksFailed, nil
	}
	return head[1], socksGranted, nil
}
