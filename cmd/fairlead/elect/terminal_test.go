// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package elect

import (
	"fmt"
	"os"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// pty opens a terminal: what is typed, and what reads it.
func pty(t *testing.T) (keyboard, screen *os.File) {
	t.Helper()
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = keyboard.Close() })
	if err := unix.IoctlSetPointerInt(int(keyboard.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(keyboard.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	screen, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = screen.Close() })
	return keyboard, screen
}

func TestACommandReadsFromTheTerminalAndGetsItsInterrupt(t *testing.T) {
	t.Parallel()
	keyboard, screen := pty(t)
	c := startCandidateOn(t, screen, newAPI(t), "--", "sh", "-c",
		`trap 'echo interrupted; exit 4' INT; read word; echo "read-$word"; while :; do sleep 0.02; done`)
	if _, err := keyboard.WriteString("hello\n"); err != nil {
		t.Fatal(err)
	}
	c.waitFor("read-hello")
	if _, err := keyboard.Write([]byte{26, 3}); err != nil { // Ctrl-Z, which stops nothing, and Ctrl-C
		t.Fatal(err)
	}
	c.waitFor("interrupted")
	c.exits(4)
}
