// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/test/stage"
)

// turnLease is the Lease of the commands, in the operator's namespace so that newScene clears it.
const turnLease = "turn"

// once is a command that runs until it is killed, and says in a file that it runs, or that another
// of it does. The kernel drops its lock when the last process of it has ended.
const once = `trap '' TERM; exec 9>>"$0"; flock -n 9 || { echo twice >>"$0"; exit 1; }; echo runs >>"$0"; while :; do sleep 1; done`

// elector is one `fairlead elect`.
type elector struct {
	id    string
	cmd   *exec.Cmd
	logs  *os.File
	ended chan struct{}
}

// elect starts one more candidate, by a ServiceAccount that has the rights the guide names and no
// others. It ends with the test.
func (s *scene) elect(id, kubeconfig, file string) *elector {
	s.Helper()
	logs, err := os.Create(filepath.Join(s.TempDir(), id+".log"))
	s.must(err)
	e := &elector{id: id, logs: logs, ended: make(chan struct{})}
	e.cmd = exec.Command(filepath.Join(root, "bin", "fairlead"), "elect", "--kubeconfig="+kubeconfig, "--id="+id,
		"--lease-lock-namespace="+stage.Namespace, "--lease-lock-name="+turnLease, "--on-lost-lease=demote",
		"--leader-elect-lease-duration=8s", "--leader-elect-renew-deadline=5s", "--leader-elect-retry-period=500ms", "--grace=2s",
		"--", "sh", "-c", once, file)
	e.cmd.Stdout, e.cmd.Stderr = logs, logs
	s.must(e.cmd.Start())
	go func() { defer close(e.ended); _ = e.cmd.Wait() }()
	s.Cleanup(func() {
		_ = e.cmd.Process.Kill()
		<-e.ended
		if content, err := os.ReadFile(logs.Name()); err == nil && s.Failed() {
			s.Logf("%s:\n%s", id, content)
		}
		_ = logs.Close()
	})
	return e
}

// turns is a ServiceAccount with the Role of docs/guides/elect.md, made once.
var turns = sync.OnceValues(func() (string, error) {
	s, err := open()
	if err != nil {
		return "", err
	}
	user, err := s.ServiceAccount(stage.Namespace, "turn-taker")
	if err != nil {
		return "", err
	}
	for _, args := range [][]string{
		{"create", "serviceaccount", "turn-taker"},
		{"create", "role", "turn", "--verb=get,watch,update", "--resource=leases.coordination.k8s.io", "--resource-name=" + turnLease},
		{"create", "role", "turn-create", "--verb=create", "--resource=leases.coordination.k8s.io"},
		{"create", "rolebinding", "turn", "--role=turn", "--serviceaccount=" + stage.Namespace + ":turn-taker"},
		{"create", "rolebinding", "turn-create", "--role=turn-create", "--serviceaccount=" + stage.Namespace + ":turn-taker"},
	} {
		if _, err := s.Kubectl(suite, append(args, "-n", stage.Namespace)...); err != nil {
			return "", err
		}
	}
	return user.Kubeconfig, nil
})

func TestElectNeverRunsACommandTwiceHoweverItsHolderEnds(t *testing.T) {
	s := newScene(t)
	kubeconfig, err := turns()
	s.must(err)
	file := filepath.Join(t.TempDir(), "runs")
	running := func(count int) time.Time {
		s.eventually(func() error {
			content, err := os.ReadFile(file)
			if got := strings.Count(string(content), "runs\n"); err != nil || got != count {
				return fmt.Errorf("the command ran %d times, not %d (%v)", got, count, err)
			}
			return nil
		})
		return time.Now()
	}
	candidates := map[string]*elector{}
	for _, id := range []string{"first", "second"} {
		candidates[id] = s.elect(id, kubeconfig, file)
	}
	running(1)
	for round, end := range []syscall.Signal{syscall.SIGKILL, syscall.SIGSTOP, syscall.SIGKILL} {
		lease, err := s.kube.CoordinationV1().Leases(stage.Namespace).Get(t.Context(), turnLease, metav1.GetOptions{})
		s.must(err)
		holder := candidates[ptr.Deref(lease.Spec.HolderIdentity, "")]
		if holder == nil {
			t.Fatalf("the Lease is held by %q", ptr.Deref(lease.Spec.HolderIdentity, ""))
		}
		ended := time.Now()
		s.must(holder.cmd.Process.Signal(end))
		id := fmt.Sprintf("next-%d", round)
		candidates[id] = s.elect(id, kubeconfig, file)
		t.Logf("%s to the holder: the command runs again after %d ms, with a lease of 8 s", end, running(round+2).Sub(ended).Milliseconds())
		if end == syscall.SIGSTOP {
			s.must(holder.cmd.Process.Signal(syscall.SIGCONT)) // it finds that it lost, and is a candidate again
		}
	}
	content, err := os.ReadFile(file)
	s.must(err)
	if strings.Contains(string(content), "twice") {
		t.Errorf("the command ran twice at once:\n%s", content)
	}
}
