// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package databases

import (
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/fairlead-dev/fairlead/test/externalnet"
)

// folders are where Debian has servers that need not be in PATH.
var folders = []string{"/usr/lib/postgresql/*/bin", "/usr/sbin"}

// program returns the path of a program: the last one in the folders of servers, or the first in PATH.
func (s *suite) program(name string) string {
	s.Helper()
	for _, folder := range folders {
		found, err := filepath.Glob(filepath.Join(folder, name))
		s.Must(err)
		if len(found) > 0 {
			return found[len(found)-1]
		}
	}
	path, err := exec.LookPath(name)
	if err != nil {
		s.Fatalf("%s is neither in %s nor in PATH: install the Debian packages postgresql, redis-server and mariadb-server",
			name, strings.Join(folders, ", "))
	}
	return path
}

// host is a server that databases run on, as the user of the package postgresql: it refuses to run as root.
type host struct {
	*suite
	address string // outside
	local   string
	folder  string
	account *syscall.Credential
}

func (s *suite) newHost() host {
	s.Helper()
	h := host{suite: s, address: s.Servers.Address()}
	local, err := externalnet.Local(netip.MustParseAddr(h.address))
	s.Must(err)
	h.local = local.String()
	h.folder, err = os.MkdirTemp("", "fairlead-databases-")
	s.Must(err)
	s.Cleanup(func() { _ = os.RemoveAll(h.folder) })
	if os.Geteuid() != 0 {
		return h
	}
	found, err := user.Lookup("postgres")
	s.Must(err)
	uid, err := strconv.ParseUint(found.Uid, 10, 32)
	s.Must(err)
	gid, err := strconv.ParseUint(found.Gid, 10, 32)
	s.Must(err)
	s.Must(os.Chown(h.folder, int(uid), int(gid)))
	h.account = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return h
}

// command is killed when the test ends.
func (h *host) command(name string, args ...string) *exec.Cmd {
	h.Helper()
	command := exec.CommandContext(h.Context(), h.program(name), args...)
	command.Dir = h.folder
	// A server with MariaDB that starts removes the temporary tables of others from their common folder.
	command.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "HOME=" + h.folder, "TMPDIR=" + h.folder}
	command.SysProcAttr = &syscall.SysProcAttr{Credential: h.account}
	return command
}

// run runs a program to its end.
func (h *host) run(name string, args ...string) {
	h.Helper()
	if output, err := h.command(name, args...).CombinedOutput(); err != nil {
		h.Fatalf("%s %s: %v: %s", name, strings.Join(args, " "), err, output)
	}
}

// process is a server that runs.
type process struct {
	command *exec.Cmd
	ended   chan struct{}
	output  strings.Builder // complete once it has ended
}

// launch starts a server, which ends with the test by the signal with which it ends its own children.
func (h *host) launch(end syscall.Signal, name string, args ...string) *process {
	h.Helper()
	p := &process{command: h.command(name, args...), ended: make(chan struct{})}
	p.command.Stdout, p.command.Stderr = &p.output, &p.output
	p.command.Cancel = func() error { return p.command.Process.Signal(end) }
	h.Must(p.command.Start())
	go func() {
		_ = p.command.Wait()
		close(p.ended)
	}()
	h.Cleanup(func() { p.stop(end) })
	return p
}

// stop sends a signal, and returns when the server has ended.
func (p *process) stop(end syscall.Signal) {
	_ = p.command.Process.Signal(end)
	<-p.ended
}

// failure is nil while the server runs.
func (p *process) failure() error {
	select {
	case <-p.ended:
		return fmt.Errorf("%s has ended: %s", p.command.Path, p.output.String())
	default:
		return nil
	}
}
