// Copyright The Fairlead Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build nightly

package lifecycle

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/fairlead-dev/fairlead/test/framework"
)

// turnLease is the Lease of the commands, in the operator's namespace so that newSuite clears it.
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
func (s *suite) elect(id, kubeconfig, file string) *elector {
	s.Helper()
	logs, err := os.Create(filepath.Join(s.TempDir(), id+".log"))
	s.Must(err)
	e := &elector{id: id, logs: logs, ended: make(chan struct{})}
	e.cmd = exec.Command(filepath.Join(framework.Root, "bin", "fairlead"), "elect", "--kubeconfig="+kubeconfig, "--id="+id,
		"--lease-lock-namespace="+framework.Namespace, "--lease-lock-name="+turnLease,
		"--leader-elect-lease-duration=8s", "--leader-elect-renew-deadline=5s", "--leader-elect-retry-period=500ms", "--grace=2s",
		"--", "sh", "-c", once, file)
	e.cmd.Stdout, e.cmd.Stderr = logs, logs
	s.Must(e.cmd.Start())
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

// turns is the kubeconfig of an account with the Role of docs/guides/elect.md.
func (s *suite) turns() string {
	s.Helper()
	user, err := s.ServiceAccount(framework.Namespace, "turn-taker")
	s.Must(err)
	if _, err := s.Cluster.Kubectl(s.Context(), "get", "rolebinding", "turn-create", "-n", framework.Namespace); err == nil {
		return user.Kubeconfig // an earlier test on the cluster made them
	}
	for _, args := range [][]string{
		{"create", "serviceaccount", "turn-taker"},
		{"create", "role", "turn", "--verb=get,update", "--resource=leases.coordination.k8s.io", "--resource-name=" + turnLease},
		{"create", "role", "turn-create", "--verb=create", "--resource=leases.coordination.k8s.io"},
		{"create", "rolebinding", "turn", "--role=turn", "--serviceaccount=" + framework.Namespace + ":turn-taker"},
		{"create", "rolebinding", "turn-create", "--role=turn-create", "--serviceaccount=" + framework.Namespace + ":turn-taker"},
	} {
		s.Kubectl(append(args, "-n", framework.Namespace)...)
	}
	return user.Kubeconfig
}

func TestElectNeverRunsACommandTwiceHoweverItsHolderEnds(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	kubeconfig := s.turns()
	file := filepath.Join(t.TempDir(), "runs")
	runs := func() int {
		content, err := os.ReadFile(file)
		if err != nil && !os.IsNotExist(err) {
			t.Fatal(err)
		}
		return strings.Count(string(content), "runs\n")
	}
	running := func(before int) time.Time {
		s.Eventually(func() error {
			if got := runs(); got <= before {
				return fmt.Errorf("the command ran %d times, and %d before", got, before)
			}
			return nil
		})
		return time.Now()
	}
	candidates := map[string]*elector{}
	for _, id := range []string{"first", "second"} {
		candidates[id] = s.elect(id, kubeconfig, file)
	}
	running(0)
	for round, end := range []syscall.Signal{syscall.SIGKILL, syscall.SIGSTOP, syscall.SIGKILL} {
		lease, err := s.Kube.CoordinationV1().Leases(framework.Namespace).Get(t.Context(), turnLease, metav1.GetOptions{})
		s.Must(err)
		holder := candidates[ptr.Deref(lease.Spec.HolderIdentity, "")]
		if holder == nil {
			t.Fatalf("the Lease is held by %q", ptr.Deref(lease.Spec.HolderIdentity, ""))
		}
		ended, before := time.Now(), runs()
		s.Must(holder.cmd.Process.Signal(end))
		id := fmt.Sprintf("next-%d", round)
		candidates[id] = s.elect(id, kubeconfig, file)
		t.Logf("%s to the holder: the command runs again after %d ms, with a lease of 8 s", end, running(before).Sub(ended).Milliseconds())
		if end == syscall.SIGSTOP {
			s.Must(holder.cmd.Process.Signal(syscall.SIGCONT)) // it finds that it lost
			<-holder.ended
			if code := holder.cmd.ProcessState.ExitCode(); code != 124 {
				t.Errorf("the exit code of one that lost the Lease is %d, want 124", code)
			}
		}
	}
	content, err := os.ReadFile(file)
	s.Must(err)
	if strings.Contains(string(content), "twice") {
		t.Errorf("the command ran twice at once:\n%s", content)
	}
}

// A job must not hang on a typo, nor give up where a Role is a moment late.
func TestElectEndsOnWhatCannotSucceed(t *testing.T) {
	t.Parallel()
	s := newSuite(t)
	limited := s.turns()
	for name, c := range map[string]struct {
		kubeconfig, namespace, lease string
		code                         int
		wanted                       []string
	}{
		"a name that no Lease can have":       {s.Kubeconfig(), framework.Namespace, "Bad Name", 125, []string{"Bad Name", "lower case"}},
		"a namespace that does not exist":     {s.Kubeconfig(), "nowhere", turnLease, 125, []string{"nowhere/turn", "create its namespace", "--lease-lock-namespace"}},
		"a Lease that the user may not read":  {limited, "default", turnLease, 125, []string{"default/turn", "forbidden", "grant the rights"}},
		"a Lease that the user may not write": {s.reader(), framework.Namespace, turnLease + "-other", 125, []string{"turn-other", "forbidden", "grant the rights"}},
		"nothing":                             {limited, framework.Namespace, turnLease, 0, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(t.Context(), framework.Patience)
			defer cancel()
			cmd := exec.CommandContext(ctx, filepath.Join(framework.Root, "bin", "fairlead"), "elect", "--kubeconfig="+c.kubeconfig,
				"--lease-lock-namespace="+c.namespace, "--lease-lock-name="+c.lease, "--", "sh", "-c", `echo "token $FAIRLEAD_FENCING_TOKEN of $FAIRLEAD_LEASE_NAMESPACE/$FAIRLEAD_LEASE_NAME"`)
			output, _ := cmd.CombinedOutput() // the code is what counts
			if code := cmd.ProcessState.ExitCode(); code != c.code {
				t.Errorf("exit code %d, want %d:\n%s", code, c.code, output)
			}
			if err := framework.Holds(string(output), c.wanted...); err != nil {
				t.Error(err)
			}
			if ran := strings.Contains(string(output), "token "); ran != (c.code == 0) {
				t.Errorf("the command ran: %t\n%s", ran, output)
			}
		})
	}
}

// reader is the kubeconfig of an account that may read Leases of the operator's namespace and write none.
func (s *suite) reader() string {
	s.Helper()
	const name = "turn-reader"
	user, err := s.ServiceAccount(framework.Namespace, name)
	s.Must(err)
	if _, err := s.Cluster.Kubectl(s.Context(), "get", "role", name, "-n", framework.Namespace); err != nil {
		s.Kubectl("create", "role", name, "-n", framework.Namespace, "--verb=get", "--resource=leases.coordination.k8s.io")
		s.Kubectl("create", "rolebinding", name, "-n", framework.Namespace, "--role="+name, "--serviceaccount="+framework.Namespace+":"+name)
	}
	return user.Kubeconfig
}
