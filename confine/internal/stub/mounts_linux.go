package stub

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

func Chdir(t *Task, path string) error {
	return t.do(unix.SYS_CHDIR, t.Path(path))
}

func Fchdir(t *Task, fd int) error { return t.do(unix.SYS_FCHDIR, uintptr(fd)) }

func PivotRoot(t *Task, newRoot, putOld string) error {
	return t.do(unix.SYS_PIVOT_ROOT, t.Path(newRoot), t.Path(putOld))
}

func Mount(t *Task, source, target, kind string, flags uintptr) error {
	return t.do(unix.SYS_MOUNT, t.Path(source), t.Path(target), t.Path(kind), flags, 0)
}

func Unmount(t *Task, path string, flags int) error {
	return t.do(unix.SYS_UMOUNT2, t.Path(path), uintptr(flags))
}

func MountSetattr(t *Task, dir int, path string, flags uint, attr *unix.MountAttr) error {
	return t.do(unix.SYS_MOUNT_SETATTR, uintptr(dir), t.Path(path), uintptr(flags), copyStruct(t, attr), unsafe.Sizeof(*attr))
}

func MoveMount(t *Task, fromDir int, from string, toDir int, to string, flags int) error {
	return t.do(unix.SYS_MOVE_MOUNT, uintptr(fromDir), t.Path(from), uintptr(toDir), t.Path(to), uintptr(flags))
}

func OpenTree(t *Task, dir int, path string, flags uint) (int, error) {
	return t.call(unix.SYS_OPEN_TREE, uintptr(dir), t.Path(path), uintptr(flags))
}

func OpenTreeAttr(t *Task, dir int, path string, flags uint, attr *unix.MountAttr) (int, error) {
	return t.call(unix.SYS_OPEN_TREE_ATTR, uintptr(dir), t.Path(path), uintptr(flags), copyStruct(t, attr), unsafe.Sizeof(*attr))
}

func Fsopen(t *Task, kind string, flags int) (int, error) {
	return t.call(unix.SYS_FSOPEN, t.Path(kind), uintptr(flags))
}

func FsconfigSetString(t *Task, fd int, key, value string) error {
	return t.do(unix.SYS_FSCONFIG, uintptr(fd), unix.FSCONFIG_SET_STRING, t.Path(key), t.Path(value), 0)
}

func FsconfigSetFlag(t *Task, fd int, key string) error {
	return t.do(unix.SYS_FSCONFIG, uintptr(fd), unix.FSCONFIG_SET_FLAG, t.Path(key), 0, 0)
}

func FsconfigCreate(t *Task, fd int) error {
	return t.do(unix.SYS_FSCONFIG, uintptr(fd), unix.FSCONFIG_CMD_CREATE, 0, 0, 0)
}

func Fsmount(t *Task, fd, flags, attr int) (int, error) {
	return t.call(unix.SYS_FSMOUNT, uintptr(fd), uintptr(flags), uintptr(attr))
}
