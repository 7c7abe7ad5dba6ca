package sockets

import (
	"sync"
)

// socketState is what the kernel does not know of a socket, since it was told
// something else.
type SocketState struct {
	Family   int
	peer     []byte // struct sockaddr, as the program gave it; nil: not connected
	IsUDP    bool   // it is no socket of the network: see datagrams_linux.go
	local    []byte // of those: the address that it was bound to
	last     []byte // of those: whom something was sent to last
	number   uint16 // of those: its port
	reported bool   // of those: the launcher knows that it is connected to no DNS

	mu sync.Mutex // of peer and last, which others than the receiver read
}

// sender is whom a message of such a socket comes from.
func (s *SocketState) sender() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last != nil {
		return s.last
	}
	return s.peer
}

// setPeer sets whom the socket is connected to, and whom something was sent to.
func (s *SocketState) setPeer(peer, last []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.peer, s.last = peer, last
}

func (s *SocketState) datagrams() bool { return s != nil && s.IsUDP }

// socketTable remembers sockets by their cookie, which no other socket ever gets.
// Nobody tells when one is closed, so those that were not asked for in a long time are
// forgotten.
type socketTable struct {
	recent, older map[uint64]*SocketState
}

const recentSockets = 4096

func (k *socketTable) get(cookie uint64) *SocketState {
	if s, ok := k.recent[cookie]; ok {
		return s
	}
	s, ok := k.older[cookie]
	if !ok {
		return nil
	}
	k.put(cookie, s)
	return s
}

func (k *socketTable) put(cookie uint64, s *SocketState) {
	if k.recent == nil || len(k.recent) >= recentSockets {
		k.recent, k.older = make(map[uint64]*SocketState), k.recent
	}
	k.recent[cookie] = s
}

func (k *socketTable) forget(cookie uint64) {
	delete(k.recent, cookie)
	delete(k.older, cookie)
}
