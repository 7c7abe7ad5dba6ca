package sockets

import "sync"

// socketState holds the facts about a socket that the server sees and the kernel does not know.
type socketState struct {
	family   int
	peer     []byte // struct sockaddr, as the server passed it; nil when not connected
	pending  bool   // TCP: connect has answered EINPROGRESS, and not yet that it is done
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

// socketTable stores the states of sockets by object.id, which is unique. The
// mediator does not see a close, so the table forgets the sockets that were not used lately. When
// recent holds recentSockets entries, it becomes older, and the previous older is dropped.
type socketTable struct {
	recent, older map[uint64]*socketState
}

const recentSockets = 4096

func (k *socketTable) get(id uint64) *socketState {
	if s, ok := k.recent[id]; ok {
		return s
	}
	s, ok := k.older[id]
	if !ok {
		return nil
	}
	k.put(id, s)
	return s
}

func (k *socketTable) put(id uint64, s *socketState) {
	if k.recent == nil || len(k.recent) >= recentSockets {
		k.recent, k.older = make(map[uint64]*socketState), k.recent
	}
	k.recent[id] = s
}

func (k *socketTable) forget(id uint64) {
	delete(k.recent, id)
	delete(k.older, id)
}
