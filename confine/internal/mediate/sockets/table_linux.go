package sockets

import "sync"

// socketState holds the facts about a socket that the server sees and the kernel does not know.
type socketState struct {
	family   int
	peer     []byte // struct sockaddr, as the server passed it; nil when not connected
	isUDP    bool   // it is a UDP socket for the server: see udp_linux.go
	local    []byte // UDP: the address of bind
	last     []byte // UDP: the last destination
	number   uint16 // UDP: the local port
	reported bool   // UDP: the launcher knows that the peer is not a DNS server

	mu sync.Mutex // guards peer and last, which waiting receives read too
}

func (s *socketState) sender() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.last != nil {
		return s.last
	}
	return s.peer
}

func (s *socketState) setPeer(peer, last []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.peer, s.last = peer, last
}

func (s *socketState) datagrams() bool { return s != nil && s.isUDP }

// socketTable stores the states of sockets by their cookie (SO_COOKIE), which is unique. The
// mediator does not see a close, so the table forgets the sockets that were not used lately. When
// recent holds recentSockets entries, it becomes older, and the previous older is dropped.
type socketTable struct {
	recent, older map[uint64]*socketState
}

const recentSockets = 4096

func (k *socketTable) get(cookie uint64) *socketState {
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

func (k *socketTable) put(cookie uint64, s *socketState) {
	if k.recent == nil || len(k.recent) >= recentSockets {
		k.recent, k.older = make(map[uint64]*socketState), k.recent
	}
	k.recent[cookie] = s
}

func (k *socketTable) forget(cookie uint64) {
	delete(k.recent, cookie)
	delete(k.older, cookie)
}
