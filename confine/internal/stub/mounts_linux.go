package stub

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

func Chdir(t *Task, path string) error {
	t.prepareArena()
	return t.do(unix.SYS_CHDIR, t.arena.path(path))
}

func Fchdir(t *Task, fd int) error { return t.do(unix.SYS_FCHDIR, uintptr(fd)) }

func PivotRoot(t *Task, newRoot, putOld string) error {
	t.prepareArena()
	return t.do(unix.SYS_PIVOT_ROOT, t.arena.path(newRoot), t.arena.path(putOld))
}

func Mount(t *Task, source, target, kind string, flags uintptr) error {
	t.prepareArena()
	return t.do(unix.SYS_MOUNT, t.arena.path(source), t.arena.path(target), t.arena.path(kind), flags, 0)
}

func Unmount(t *Task, path string, flags int) error {
	t.prepareArena()
	return t.do(unix.SYS_UMOUNT2, t.arena.path(path), uintptr(flags))
}

func MountSetattr(t *Task, dir int, path string, flags uint, attr *unix.MountAttr) error {
	t.prepareArena()
	return t.do(unix.SYS_MOUNT_SETATTR, uintptr(dir), t.arena.path(path), uintptr(flags), copyStruct(t, attr), unsafe.Sizeof(*attr))
}

func MoveMount(t *Task, fromDir int, from string, toDir int, to string, flags int) error {
	t.prepareArena()
	return t.do(unix.SYS_MOVE_MOUNT, uintptr(fromDir), t.arena.path(from), uintptr(toDir), t.arena.path(to), uintptr(flags))
}

func OpenTree(t *Task, dir int, path string, flags uint) (int, error) {
	t.prepareArena()
	return t.call(unix.SYS_OPEN_TREE, uintptr(dir), t.arena.path(path), uintptr(flags))
}

func OpenTreeAttr(t *Task, dir int, path string, flags uint, attr *unix.MountAttr) (int, error) {
	t.prepareArena()
	return t.call(unix.SYS_OPEN_TREE_ATTR, uintptr(dir), t.arena.path(path), uintptr(flags), copyStruct(t, attr), unsafe.Sizeof(*attr))
}

func Fsopen(t *Task, kind string, flags int) (int, error) {
	t.prepareArena()
	return t.call(unix.SYS_FSOPEN, t.arena.path(kind), uintptr(flags))
}

func FsconfigSetString(t *Task, fd int, key, value string) error {
	t.prepareArena()
	return t.do(unix.SYS_FSCONFIG, uintptr(fd), unix.FSCONFIG_SET_STRING, t.arena.path(key), t.arena.path(value), 0)
}

func FsconfigSetFlag(t *Task, fd int, key string) error {
	t.prepareArena()
	return t.do(unix.SYS_FSCONFIG, uintptr(fd), unix.FSCONFIG_SET_FLAG, t.arena.path(key), 0, 0)
}

func FsconfigCreate(t *Task, fd int) error {
	return t.do(unix.SYS_FSCONFIG, uintptr(fd), unix.FSCONFIG_CMD_CREATE, 0, 0, 0)
}

func Fsmount(t *Task, fd, flags, attr int) (int, error) {
	return t.call(unix.SYS_FSMOUNT, uintptr(fd), uintptr(flags), uintptr(attr))
}
