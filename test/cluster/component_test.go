// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-dev/fairlead/test/cluster/loopback"
)

// bare is a cluster without a control plane: folder, supervisor and certificates only.
func bare(t *testing.T, options Options) *Cluster {
	t.Helper()
	if options.StartTimeout == 0 {
		options.StartTimeout = patience
	}
	programs, err := locate(t.Context(), BuildOptions{Programs: []string{Etcd}})
	if err != nil {
		t.Fatal(err)
	}
	c, err := newCluster(t.Context(), options, programs)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func shell(name, script string) Spec {
	return Spec{Name: name, Path: "/bin/sh", Args: func() ([]string, error) { return []string{"-c", script}, nil }}
}

func TestTakenPortIsTriedAgainWithAnother(t *testing.T) {
	c := bare(t, Options{})
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = taken.Close() }()
	spec, attempts := etcd(c), 0
	args := spec.Args
	spec.Args = func() ([]string, error) {
		list, err := args()
		if attempts++; attempts > 1 || err != nil {
			return list, err
		}
		url := "https://" + taken.Addr().String()
		return append(list, "--listen-client-urls="+url, "--advertise-client-urls="+url), nil
	}
	if _, err := c.Run(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	if attempts != 2 {
		t.Errorf("%d attempts, want 2", attempts)
	}
}

func TestPortThatStaysTakenIsAnErrorInTheEnd(t *testing.T) {
	c := bare(t, Options{})
	spec, attempts := shell("unlucky", "echo bind: address already in use; exit 1"), 0
	args := spec.Args
	spec.Args = func() ([]string, error) { attempts++; return args() }
	spec.Ready = func(context.Context) error { return errors.New("no") }
	_, err := c.Run(t.Context(), spec)
	if !errors.Is(err, errPortTaken) || attempts != portAttempts {
		t.Errorf("%d attempts, then %v", attempts, err)
	}
	if c.Component("unlucky") != nil {
		t.Error("the failed component is still listed")
	}
}

func TestComponentThatIsNeverReadyIsEnded(t *testing.T) {
	c := bare(t, Options{StartTimeout: 6 * time.Second})
	spec := shell("sleeper", "echo $$ >pid; echo half way; exec sleep 1000")
	spec.Ready = func(context.Context) error { return errors.New("still asleep") }
	_, err := c.Run(t.Context(), spec)
	for _, want := range []string{"sleeper: not ready after 6s", "still asleep", "half way"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("no %q in: %v", want, err)
		}
	}
	var pid int
	b, err := os.ReadFile(filepath.Join(c.Folder(), "pid"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Sscan(string(b), &pid); err != nil || alive(pid) {
		t.Errorf("process %d: %v, alive %v", pid, err, alive(pid))
	}
}

func TestStopInterruptsAStart(t *testing.T) {
	c := bare(t, Options{})
	asked := make(chan struct{}, 1000)
	spec := shell("slow", "exec sleep 1000")
	spec.Ready = func(context.Context) error { asked <- struct{}{}; return errors.New("not yet") }
	failed := make(chan error, 1)
	go func() { _, err := c.Run(context.Background(), spec); failed <- err }()
	<-asked
	if err := c.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := <-failed; !errors.Is(err, errStopped) {
		t.Errorf("got %v", err)
	}
}

func TestDeathOfAReadyComponentIsReportedOnce(t *testing.T) {
	said := make(chan string, 100)
	c := bare(t, Options{Output: writer(func(p []byte) { said <- string(p) })})
	k, err := c.Run(t.Context(), shell("mortal", "read -r never; echo last words; exit 3"))
	if err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := k.Wait(t.Context()); !errors.As(err, &exit) || exit.ExitCode() != 3 {
		t.Errorf("Wait: %v", err)
	}
	if first := <-said; !strings.Contains(first, "mortal is ready") && !strings.Contains(first, "last words") {
		t.Errorf("said %q", first)
	}
	if second := <-said; !strings.Contains(second, "mortal") {
		t.Errorf("said %q", second)
	}
}

func TestEndInsistsAndTakesGrandchildrenAlong(t *testing.T) {
	c := bare(t, Options{})
	spec := shell("stubborn", `trap '' TERM; sleep 1000 & echo $! >grandchild; while :; do sleep 1; done`)
	spec.Grace = 100 * time.Millisecond
	file := filepath.Join(c.Folder(), "grandchild")
	var grandchild int
	spec.Ready = func(context.Context) error {
		b, err := os.ReadFile(file)
		if err == nil {
			_, err = fmt.Sscan(string(b), &grandchild)
		}
		return err
	}
	k, err := c.Run(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	k.Stop()
	eventually(t, patience, func() error { return nothingLeft(filepath.Join(c.Folder(), "none"), []int{grandchild}) })
	if k.PID() != 0 {
		t.Error("still running")
	}
}

// The owner's end is the end of the pipe, whatever else is going on; here the pipe ends while the
// owner, this test, lives on and can watch.
func TestSupervisorEndsWhatIgnoresSIGTERM(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "owned")
	s, err := newSupervisor(folder)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/bin/sh", "-c", `trap '' TERM; echo >ready; while :; do sleep 1; done`)
	cmd.Dir = folder
	p, err := s.start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, patience, func() error { _, err := os.Stat(filepath.Join(folder, "ready")); return err })
	if err := s.lines.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Wait(); err != nil {
		t.Errorf("the supervisor: %v", err)
	}
	eventually(t, patience, func() error { return nothingLeft(folder, []int{p.pid()}) })
}

func TestProcessThatItsOwnerNeverReleasedDoesNotRun(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "owned")
	s, err := newSupervisor(folder)
	if err != nil {
		t.Fatal(err)
	}
	// A supervisor that is gone is as good as an owner who dies before it could tell it.
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = s.cmd.Wait()
	cmd := exec.Command("/bin/sh", "-c", "echo >ran")
	cmd.Dir = folder
	if _, err := s.start(cmd); err == nil || !strings.Contains(err.Error(), "tell the supervisor") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(filepath.Join(folder, "ran")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the program ran: %v", err)
	}
}

func TestFreePortsLieOutsideTheRangeOfOutgoingConnections(t *testing.T) {
	for range 50 {
		port, err := loopback.FreePort()
		if err != nil || port < 20000 || port > 29999 {
			t.Fatalf("port %d, %v", port, err)
		}
	}
}

func TestTailStartsAtALineAndAtTheOffset(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, bytes.Join([][]byte{[]byte("one"), []byte("two"), []byte("three\n")}, []byte("\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		from, limit int64
		want        string
	}{
		{0, 100, "one\ntwo\nthree\n"},
		{4, 100, "two\nthree\n"},
		{0, 9, "three\n"},
		{14, 100, ""},
	} {
		if got, err := tail(path, test.from, test.limit); err != nil || got != test.want {
			t.Errorf("tail(%d, %d) = %q, %v; want %q", test.from, test.limit, got, err, test.want)
		}
	}
}

type writer func([]byte)

func (w writer) Write(p []byte) (int, error) { w(p); return len(p), nil }
