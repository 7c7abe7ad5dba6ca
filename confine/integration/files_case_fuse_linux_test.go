package integration

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// foldFS is a filesystem in memory that ignores case and keeps it, as the disk of a Mac or
// of Windows does that is seen from Linux: the kernel asks for a name in the spelling that
// a program uses, and does not know that two of them are the same (fuse(4)).
type foldFS struct {
	dev   *os.File
	anew  bool // a number of its own for each spelling, so that not even directories are known again
	nodes map[uint64]*foldNode
	names map[string]uint64 // anew: of parent and spelling
	next  uint64
}

type foldNode struct {
	number        uint64
	mode          uint32
	uid, gid      uint32
	data          []byte // of a file; the target of a symlink
	names         map[string]foldName
	links         uint32
	changed, read int64
}

type foldName struct {
	as   string // as it was made
	node *foldNode
}

// The requests that are answered, of linux/fuse.h.
const (
	fuseLookup, fuseGetattr, fuseSetattr, fuseReadlink, fuseSymlink = 1, 3, 4, 5, 6
	fuseMknod, fuseMkdir, fuseUnlink, fuseRmdir, fuseRename         = 8, 9, 10, 11, 12
	fuseLink, fuseOpen, fuseRead, fuseWrite, fuseStatfs             = 13, 14, 15, 16, 17
	fuseRelease, fuseInit, fuseOpendir, fuseReaddir, fuseReleasedir = 18, 26, 27, 28, 29
	fuseForget, fuseFlush, fuseCreate, fuseBatchForget, fuseRename2 = 2, 25, 35, 42, 45
)

// mountFoldFS mounts one on a directory, and serves it from then on.
func mountFoldFS(dir string, anew bool) error {
	dev, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err != nil {
		return err
	}
	data := fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other,default_permissions", dev.Fd())
	if err := unix.Mount("fold", dir, "fuse.fold", unix.MS_NOSUID|unix.MS_NODEV, data); err != nil {
		return err
	}
	f := &foldFS{dev: dev, anew: anew, nodes: map[uint64]*foldNode{}, names: map[string]uint64{}, next: 1}
	f.nodes[1] = &foldNode{number: 1, mode: unix.S_IFDIR | 0o777, names: map[string]foldName{}, links: 1}
	go f.serve()
	return nil
}

func (f *foldFS) serve() {
	buf := make([]byte, 1<<18)
	for {
		n, err := unix.Read(int(f.dev.Fd()), buf)
		if err == unix.EINTR || err == unix.ENOENT || err == unix.EAGAIN {
			continue
		}
		if err != nil {
			return
		}
		le := binary.NativeEndian
		op, unique, id := le.Uint32(buf[4:]), le.Uint64(buf[8:]), le.Uint64(buf[16:])
		if op == fuseForget || op == fuseBatchForget {
			continue
		}
		out, errno := f.answer(op, f.nodes[id], id, buf[40:n], [2]uint32{le.Uint32(buf[24:]), le.Uint32(buf[28:])})
		head := make([]byte, 16, 16+len(out))
		le.PutUint32(head, uint32(16+len(out)))
		le.PutUint32(head[4:], uint32(-int32(errno)))
		le.PutUint64(head[8:], unique)
		unix.Write(int(f.dev.Fd()), append(head, out...))
	}
}

func (f *foldFS) answer(op uint32, node *foldNode, id uint64, in []byte, user [2]uint32) (out []byte, errno syscall.Errno) {
	if node == nil && op != fuseInit {
		return nil, unix.ESTALE
	}
	le := binary.NativeEndian
	switch op {
	case fuseInit:
		out = make([]byte, 64)
		le.PutUint32(out, 7)
		le.PutUint32(out[4:], 31)
		le.PutUint32(out[8:], le.Uint32(in[8:]))
		le.PutUint32(out[20:], 1<<17) // max_write
		return out, 0
	case fuseLookup:
		name, _ := cutName(in)
		found, ok := node.names[strings.ToLower(name)]
		if !ok {
			return nil, unix.ENOENT
		}
		return f.entry(id, name, found.node), 0
	case fuseGetattr:
		return append(make([]byte, 16), node.attr()...), 0
	case fuseSetattr:
		node.set(in)
		return append(make([]byte, 16), node.attr()...), 0
	case fuseMkdir, fuseMknod, fuseCreate:
		return f.create(op, node, id, in, user)
	case fuseSymlink:
		name, rest := cutName(in)
		target, _ := cutName(rest)
		made := f.node(unix.S_IFLNK|0o777, user)
		made.data = []byte(target)
		return f.put(node, id, name, made)
	case fuseReadlink:
		return node.data, 0
	case fuseLink:
		name, _ := cutName(in[8:])
		other := f.nodes[le.Uint64(in)]
		other.links++
		return f.put(node, id, name, other)
	case fuseUnlink, fuseRmdir:
		name, _ := cutName(in)
		return nil, node.remove(name)
	case fuseRename, fuseRename2:
		head := 8
		if op == fuseRename2 {
			head = 16
		}
		from, rest := cutName(in[head:])
		to, _ := cutName(rest)
		return nil, node.rename(from, f.nodes[le.Uint64(in)], to, op == fuseRename2 && le.Uint32(in[8:])&unix.RENAME_EXCHANGE != 0)
	case fuseOpen, fuseOpendir:
		return make([]byte, 16), 0
	case fuseRead:
		at, size := le.Uint64(in[8:]), uint64(le.Uint32(in[16:]))
		at = min(at, uint64(len(node.data)))
		return node.data[at:min(at+size, uint64(len(node.data)))], 0
	case fuseWrite:
		at, size := le.Uint64(in[8:]), uint64(le.Uint32(in[16:]))
		if grown := at + size; grown > uint64(len(node.data)) {
			node.data = append(node.data, make([]byte, grown-uint64(len(node.data)))...)
		}
		copy(node.data[at:], in[40:])
		out = make([]byte, 8)
		le.PutUint32(out, uint32(size))
		return out, 0
	case fuseReaddir:
		return node.list(le.Uint64(in[8:])), 0
	case fuseStatfs:
		out = make([]byte, 80)
		le.PutUint32(out[40:], 4096)
		le.PutUint32(out[44:], 255)
		return out, 0
	case fuseRelease, fuseReleasedir, fuseFlush:
		return nil, 0
	}
	return nil, unix.ENOSYS
}

func cutName(b []byte) (string, []byte) {
	name, rest, _ := bytes.Cut(b, []byte{0})
	return string(name), rest
}

func (f *foldFS) node(mode uint32, user [2]uint32) *foldNode {
	f.next++
	n := &foldNode{number: f.next, mode: mode, uid: user[0], gid: user[1], links: 1, changed: time.Now().Unix()}
	if mode&unix.S_IFMT == unix.S_IFDIR {
		n.names = map[string]foldName{}
	}
	f.nodes[n.number] = n
	return n
}

func (f *foldFS) create(op uint32, dir *foldNode, id uint64, in []byte, user [2]uint32) ([]byte, syscall.Errno) {
	le := binary.NativeEndian
	mode, head := le.Uint32(in), 16 // mknod
	switch op {
	case fuseMkdir:
		mode, head = mode|unix.S_IFDIR, 8
	case fuseCreate:
		mode = le.Uint32(in[4:])
	}
	name, _ := cutName(in[head:])
	out, errno := f.put(dir, id, name, f.node(mode, user))
	if op == fuseCreate && errno == 0 {
		out = append(out, make([]byte, 16)...)
	}
	return out, errno
}

func (f *foldFS) put(dir *foldNode, id uint64, name string, n *foldNode) ([]byte, syscall.Errno) {
	if _, ok := dir.names[strings.ToLower(name)]; ok {
		return nil, unix.EEXIST
	}
	dir.names[strings.ToLower(name)] = foldName{name, n}
	return f.entry(id, name, n), 0
}

// entry is struct fuse_entry_out.
func (f *foldFS) entry(parent uint64, name string, n *foldNode) []byte {
	id := n.number
	if f.anew {
		at := fmt.Sprint(parent, "/", name, "/", n.number)
		if f.names[at] == 0 {
			f.next++
			f.names[at] = f.next
			f.nodes[f.next] = n
		}
		id = f.names[at]
	}
	out := make([]byte, 40)
	binary.NativeEndian.PutUint64(out, id)
	binary.NativeEndian.PutUint64(out[16:], 3600) // for which it is believed, in seconds
	return append(out, n.attr()...)
}

// attr is struct fuse_attr.
func (n *foldNode) attr() []byte {
	out, le := make([]byte, 88), binary.NativeEndian
	le.PutUint64(out, n.number)
	le.PutUint64(out[8:], uint64(len(n.data)))
	le.PutUint64(out[24:], uint64(n.read))
	le.PutUint64(out[32:], uint64(n.changed))
	for i, v := range []uint32{n.mode, n.links, n.uid, n.gid, 0, 4096} {
		le.PutUint32(out[60+4*i:], v)
	}
	return out
}

// set is struct fuse_setattr_in.
func (n *foldNode) set(in []byte) {
	le := binary.NativeEndian
	valid := le.Uint32(in)
	if valid&1 != 0 {
		n.mode = n.mode&unix.S_IFMT | le.Uint32(in[68:])&0o7777
	}
	if valid&2 != 0 {
		n.uid = le.Uint32(in[76:])
	}
	if valid&4 != 0 {
		n.gid = le.Uint32(in[80:])
	}
	if valid&8 != 0 {
		n.data = append(n.data, make([]byte, max(0, int(le.Uint64(in[16:]))-len(n.data)))...)[:le.Uint64(in[16:])]
	}
	if valid&32 != 0 {
		n.changed = int64(le.Uint64(in[40:]))
	}
}

func (n *foldNode) remove(name string) syscall.Errno {
	found, ok := n.names[strings.ToLower(name)]
	switch {
	case !ok:
		return unix.ENOENT
	case len(found.node.names) > 0:
		return unix.ENOTEMPTY
	}
	found.node.links--
	delete(n.names, strings.ToLower(name))
	return 0
}

func (n *foldNode) rename(from string, dir *foldNode, to string, exchange bool) syscall.Errno {
	moved, ok := n.names[strings.ToLower(from)]
	if !ok {
		return unix.ENOENT
	}
	other, there := dir.names[strings.ToLower(to)]
	delete(n.names, strings.ToLower(from))
	dir.names[strings.ToLower(to)] = foldName{to, moved.node}
	if exchange && there {
		n.names[strings.ToLower(from)] = foldName{from, other.node}
	}
	return 0
}

// list is struct fuse_dirent of each name after the first skip.
func (n *foldNode) list(skip uint64) (out []byte) {
	if skip > 0 {
		return nil // they fit into one answer
	}
	le := binary.NativeEndian
	for _, found := range n.names {
		head := make([]byte, 24)
		le.PutUint64(head, found.node.number)
		le.PutUint64(head[8:], 1)
		le.PutUint32(head[16:], uint32(len(found.as)))
		le.PutUint32(head[20:], found.node.mode>>12)
		out = append(append(out, head...), found.as...)
		out = append(out, make([]byte, (8-len(found.as)%8)%8)...)
	}
	return out
}
